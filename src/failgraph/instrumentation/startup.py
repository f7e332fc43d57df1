"""What the start-up files `failgraph.pth` and `failgraph.start` call: wait for OpenTelemetry's SDK, then attach.

Of the standard library alone, and as little of it as can be: this runs in every process that has the variable set, most
of which never load OpenTelemetry.
"""

from __future__ import annotations

import os
import sys

from failgraph.instrumentation import import_hooks

WAY = "start-up file"
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
"""The modules at whose first import we attach."""
_loaded_before: set[str] = set()


def start() -> None:
    """Begin, where `FAILGRAPH_ENABLED` is `true`. Idempotent: a start-up file can be processed more than once."""
    said = os.environ.get("FAILGRAPH_ENABLED", "").strip().lower()
    if said != "true":
        if said not in ("", "false"):
            _tell_settings()
        return
    if import_hooks.is_installed():
        return
    automatic = os.environ.get("FAILGRAPH_AUTO_INSTRUMENT", "").strip().lower() == "true"
    from_sitecustomize = "sitecustomize" in sys.modules
    if automatic and not from_sitecustomize:
        # `site` imports it once all paths are known, whether there is one or not.
        import_hooks.before_import("sitecustomize", _auto_instrument)
    if os.environ.get("FAILGRAPH_LOG_LEVEL", "").strip().lower() == "debug":
        _debug()
    _loaded_before.update(module for module in HOOKED if module in sys.modules)
    for module in HOOKED:
        import_hooks.when_imported(module, _attach)
    if automatic and from_sitecustomize:
        _auto_instrument()


def _attach(module: str) -> None:
    """Attach at the first import of a module that is hooked."""
    try:
        from failgraph.instrumentation.attach import attach

        # A provider that is there already can be only where the SDK was loaded before us.
        attach(WAY, include_global=HOOKED[0] in _loaded_before)
    except Exception as error:  # noqa: BLE001 - whatever fails here, the user's program starts
        import_hooks.forget()
        _tell(
            "failgraph cannot attach itself (%s: %s); the program goes on",
            type(error).__name__,
            error,
        )


def _auto_instrument() -> None:
    """Start OpenTelemetry's auto-instrumentation, as `opentelemetry-instrument` does, unless that does it already."""
    marker = os.path.join("opentelemetry", "instrumentation", "auto_instrumentation")
    if any(marker in entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep)):
        return
    # Not in the Python processes that this step itself may start.
    said = os.environ.pop("FAILGRAPH_AUTO_INSTRUMENT", "")
    try:
        __import__("opentelemetry.instrumentation.auto_instrumentation.sitecustomize")
    except ImportError as error:
        fix = 'pip install "failgraph[auto]"'
        _tell(
            "failgraph: FAILGRAPH_AUTO_INSTRUMENT needs OpenTelemetry's instrumentation (%s): %s",
            error,
            fix,
        )
    except Exception as error:  # noqa: BLE001 - whatever fails here, the user's program starts
        _tell("failgraph: auto-instrumentation failed (%s: %s)", type(error).__name__, error)
    finally:
        os.environ["FAILGRAPH_AUTO_INSTRUMENT"] = said


def _tell_settings() -> None:
    try:
        from failgraph.settings import current

        current()  # says what is wrong with them
    except Exception as error:  # noqa: BLE001 - whatever fails here, the user's program starts
        _tell("failgraph cannot read its settings (%s)", type(error).__name__)


def _debug() -> None:
    try:
        from failgraph.diagnostics import logger, set_level

        set_level("debug")
        logger.debug("failgraph: start-up file processed; waiting for opentelemetry.sdk.trace")
    except Exception as error:  # noqa: BLE001 - whatever fails here, the user's program starts
        _tell("failgraph cannot log (%s)", type(error).__name__)


def _tell(message: str, *args: object) -> None:
    import logging

    logging.getLogger("failgraph").warning(message, *args)
