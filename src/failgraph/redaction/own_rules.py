"""The user's own rules of redaction: `FAILGRAPH_REDACT_PATTERNS` and `FAILGRAPH_REDACT_WITH`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from importlib import import_module
from typing import Any

from failgraph.diagnostics import count, warn_once
from failgraph.redaction.markers import HIDDEN, marker
from failgraph.settings import Settings, current
from failgraph.settings.names import REDACT_PATTERNS, REDACT_WITH


def apply_own_rules(text: str, settings: Settings) -> str:
    """Apply the user's patterns, then the user's function; hide the text if one of them fails."""
    setting = REDACT_PATTERNS
    try:
        for pattern in settings.redact_patterns:
            text = pattern.sub(marker("pattern"), text)
        if settings.redact_with is None:
            return text
        setting = f"{REDACT_WITH}={settings.redact_with}"
        redacted = load_function(settings.redact_with)(text)
        if isinstance(redacted, str):
            return redacted
        raise TypeError(f"it returned {type(redacted).__name__}, not a str")
    except Exception as error:  # noqa: BLE001 - the user's function may raise anything
        count("redact_failed")
        name = type(error).__name__
        warn_once(f"redact:{name}", "failgraph: %s failed (%s); the text is hidden", setting, name)
        return HIDDEN


@functools.lru_cache(maxsize=1)
def load_function(reference: str) -> Callable[[str], object]:
    """Import the user's function.

    Args:
        reference: `package.module:function`.
    """
    module, _, path = reference.partition(":")
    function: Any = import_module(module)
    for name in path.split("."):
        function = getattr(function, name)
    return function  # type: ignore[no-any-return]


def redact_with_problem() -> str | None:
    """Return what is wrong with the user's function, or None if it loads or is unset.

    For commands, which refuse to start instead of hiding every text.
    """
    reference = current().redact_with
    if reference is None:
        return None
    try:
        load_function(reference)
    except Exception as error:  # noqa: BLE001 - importing a user's module may raise anything
        return (
            f"{REDACT_WITH}={reference} cannot be loaded ({type(error).__name__});"
            " check that its directory is on PYTHONPATH"
        )
    return None
