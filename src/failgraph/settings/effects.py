"""Which settings have no effect, because of another one."""

from __future__ import annotations

import re
from collections.abc import Mapping

from failgraph.settings.environment import Settings
from failgraph.settings.names import (
    AUTO_INSTRUMENT,
    BOUNDARY,
    CAPTURE,
    ENABLED,
    EVENTS,
    JOURNAL,
    JOURNAL_MAX_BYTES,
    PEER_TOKEN,
    PEERS,
    REDACT,
    REDACT_PATTERNS,
    REDACT_WITH,
)

# Of no use to a process that records nothing. Not the boundary: exceptions say it by themselves.
_RECORDING = (AUTO_INSTRUMENT, CAPTURE, EVENTS, PEERS, PEER_TOKEN, JOURNAL, JOURNAL_MAX_BYTES)
# The text of an address, or a pattern for some.
_ADDRESSES = re.compile(r"[0-9a-f.:/*?\[\]!-]+|private")


def without_effect(settings: Settings) -> Mapping[str, str]:
    """Return the settings that have no effect if they are set, and why.

    Returns:
        By the name of the setting, what the reason is: `without FAILGRAPH_JOURNAL`.
    """
    reasons: dict[str, str] = {}
    if settings.journal is None:
        reasons[JOURNAL_MAX_BYTES] = f"without {JOURNAL}"
    if settings.redact == "false":
        reasons |= dict.fromkeys((REDACT_PATTERNS, REDACT_WITH), f"while {REDACT}=false")
    if not settings.peers:
        reasons[PEER_TOKEN] = f"while {PEERS}=none"
    elif settings.peer_token is None and all(map(_is_name, settings.peers)):
        reasons[PEERS] = (
            f"on clients, which are known by their address only: add a network, or set {PEER_TOKEN}"
        )
    if settings.capture == "all" and settings.boundary is None:
        reasons[CAPTURE] = f"without {BOUNDARY}, except in servers of NeMo Gym"
    if settings.enabled is False:
        reasons |= dict.fromkeys(_RECORDING, f"while {ENABLED}=false")
    return reasons


def _is_name(entry: str) -> bool:
    """Return True if an entry of `FAILGRAPH_PEERS` can be no address of a client."""
    return _ADDRESSES.fullmatch(entry) is None
