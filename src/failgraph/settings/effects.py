"""Which settings have no effect, because of another one."""

from __future__ import annotations

from collections.abc import Mapping

from failgraph.settings.environment import Settings
from failgraph.settings.names import (
    AUTO_INSTRUMENT,
    CAPTURE,
    ENABLED,
    JOURNAL,
    JOURNAL_MAX_BYTES,
    PEER_TOKEN,
    PEERS,
    REDACT,
    REDACT_PATTERNS,
    REDACT_WITH,
)

# Of no use to a process that records nothing. Not the boundary: exceptions say it by themselves.
_RECORDING = (AUTO_INSTRUMENT, CAPTURE, PEERS, PEER_TOKEN, JOURNAL, JOURNAL_MAX_BYTES)


def without_effect(settings: Settings) -> Mapping[str, str]:
    """Return the settings that have no effect if they are set, and why.

    Returns:
        By the name of the setting, what the reason is: `without FAILGRAPH_JOURNAL`.
    """
    reasons: dict[str, str] = {}
    if settings.journal is None:
        reasons[JOURNAL_MAX_BYTES] = f"without {JOURNAL}"
    if not settings.redact:
        reasons |= dict.fromkeys((REDACT_PATTERNS, REDACT_WITH), f"while {REDACT}=false")
    if settings.enabled is False:
        reasons |= dict.fromkeys(_RECORDING, f"while {ENABLED}=false")
    return reasons
