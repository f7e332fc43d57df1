"""The entry point of the start-up files `failgraph.pth` and `failgraph.start`.

`start` waits for OpenTelemetry's SDK, or another hooked module, to be imported, and then attaches
failgraph. This runs in every process that has `FAILGRAPH_ENABLED` or `FAILGRAPH_AUTO_INSTRUMENT`
set, and most of those never load OpenTelemetry. It therefore imports next to nothing.
"""

from __future__ import annotations

import os
import sys

from failgraph.instrumentation import import_hooks

# The modules whose first import attaches failgraph. A test keeps them equal to `hooks.TARGETS`.
HOOKED = (
    "opentelemetry.sdk.trace",
    "starlette.applications",
    "starlette.middleware.errors",
    "starlette.middleware.exceptions",
    "starlette.middleware.opentelemetry",
    "aiohttp.client_reqrep",
    "httpx",
    "requests.adapters",
    "nemo_gym.server_utils",
    "nemo_gym.rollout_correlation",
    "nemo_gym.judge",
    "nemo_gym.sandbox.api",
    "nemo_gym.rollout_collection",
    "nemo_gym.base_environment_server",
    "nemo_gym.telemetry.endpoints",
    "nemo_gym.core.failure_transport",
    "nemo_gym.server_runtime.request_handling.exception_handling",
)
# The spellings of switches. A test keeps them equal to those of the settings.
TRUE = ("true", "1", "yes", "on")
FALSE = ("false", "0", "no", "off")

_SDK = HOOKED[0]
_loaded_before_start: set[str] = set()


def start() -> None:
    """Attach failgraph as soon as a hooked module is imported, if it is enabled.

    `FAILGRAPH_AUTO_INSTRUMENT` enables it too, unless `FAILGRAPH_ENABLED` says something else.
    Idempotent: a start-up file can be processed more than once.
    """
    automatic = _setting("FAILGRAPH_AUTO_INSTRUMENT")
    enabled = _setting("FAILGRAPH_ENABLED") or automatic
    if not enabled or enabled in FALSE:
        return
    if enabled not in TRUE:
        # Not at once: a command of failgraph's own says it itself.
        for module in HOOKED:
            import_hooks.when_imported(module, _report_settings)
        return
    if import_hooks.is_installed():
        return
    is_automatic = automatic in TRUE
    is_in_sitecustomize = "sitecustomize" in sys.modules
    if is_automatic and not is_in_sitecustomize:
        # `site` imports it once all paths are known, even if there is none.
        import_hooks.before_import("sitecustomize", _auto_instrument)
    if _setting("FAILGRAPH_LOG_LEVEL") == "debug":
        _log_start()
    _loaded_before_start.update(module for module in HOOKED if module in sys.modules)
    for module in HOOKED:
        import_hooks.when_imported(module, _attach)
    if is_automatic and is_in_sitecustomize:
        _auto_instrument()


def _setting(name: str) -> str:
    """Return a setting in lower case. The module `settings` is not loaded for it: it is slow."""
    return os.environ.get(name, "").strip().lower()


def _attach(module: str) -> None:
    """Attach failgraph, at the first import of a hooked module."""
    try:
        from failgraph.instrumentation.attach import attach

        # There can be a provider only if the SDK was loaded before the import hooks were in place.
        attach("start-up file", include_global=_SDK in _loaded_before_start)
    except Exception as error:  # noqa: BLE001 - whatever fails here, the user's program starts
        import_hooks.forget()
        _warn_of("failgraph: cannot attach (%s); the program goes on without it", error)


def _auto_instrument() -> None:
    """Start OpenTelemetry's auto-instrumentation, as `opentelemetry-instrument` does.

    Skip it under that command, which does it already.
    """
    marker = os.path.join("opentelemetry", "instrumentation", "auto_instrumentation")
    if any(marker in entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep)):
        return
    # Not in the Python processes that this step itself may start.
    value = os.environ.pop("FAILGRAPH_AUTO_INSTRUMENT", "")
    try:
        __import__("opentelemetry.instrumentation.auto_instrumentation.sitecustomize")
    except ImportError as error:
        _warn_of(
            "failgraph: FAILGRAPH_AUTO_INSTRUMENT needs OpenTelemetry's instrumentation (%s); "
            'run pip install "failgraph[auto]"',
            error,
        )
    except Exception as error:  # noqa: BLE001 - whatever fails here, the user's program starts
        _warn_of("failgraph: auto-instrumentation failed (%s); the program goes on", error)
    finally:
        os.environ["FAILGRAPH_AUTO_INSTRUMENT"] = value


def _report_settings(_: str) -> None:
    """Load the settings, which logs what is wrong with them, once."""
    try:
        from failgraph.settings import current

        current()
    except Exception as error:  # noqa: BLE001 - whatever fails here, the user's program starts
        _warn_of("failgraph: cannot read its settings (%s); the program goes on without it", error)


def _log_start() -> None:
    try:
        from failgraph.diagnostics import logger, set_level

        set_level("debug")
        logger.debug("failgraph: start-up file processed; waiting for %s", _SDK)
    except Exception as error:  # noqa: BLE001 - whatever fails here, the user's program starts
        _warn_of("failgraph: cannot log (%s); the program goes on", error)


def _warn_of(message: str, error: Exception) -> None:
    """Log `message`, which has a place for the text of `error`."""
    import logging

    from failgraph.instrumentation.error_description import describe_error

    logging.getLogger("failgraph").warning(message, describe_error(error))
