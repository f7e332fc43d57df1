"""Failure kinds: the registered names, the name patterns, and the kinds of foreign exceptions.

A kind says what went wrong and nothing else. Any kind that is not empty is kept; one that fits no
name pattern is flagged. The registered names are those of `nemo_gym.failure_kinds`.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Mapping
from types import MappingProxyType

from failgraph.diagnostics import count, warn_once

REGISTERED: frozenset[str] = frozenset(
    {
        "transport_unreachable",
        "transport_peer_drop",
        "transport_timeout",
        "transport_local_resource",
        "agent_run_error",
        "agent_request_failed",
        "agent_timeout",
        "agent_command_not_allowed",
        "judge_failed",
        "judge_unparseable",
        "verifier_error",
        "provider_unavailable",
        "provider_quota_exhausted",
        "provider_oom_killed",
        "session_lost",
        "session_expired",
        "session_release_failed",
        "cancelled",
        "kill_shaped",
        "shutdown",
        "persistence_failed",
        "cohort_incomplete",
        "environment_server_failed",
        "protocol_violation",
    }
)

# OpenTelemetry's fallback value of `error.type`, for a kind that is no low-cardinality name.
OTHER = "_OTHER"

# An exception that escapes under `FAILGRAPH_CAPTURE=all` and whose type has no kind below.
UNHANDLED = "unhandled_exception"

_PATTERN = re.compile(r"[a-z][a-z0-9_]*(:[a-z][a-z0-9_]*)?")

# By class name, anywhere in the method resolution order, so that no HTTP client must be imported.
_BY_CLASS: Mapping[str, str] = MappingProxyType(
    {
        "TimeoutError": "transport_timeout",
        "TimeoutException": "transport_timeout",
        "Timeout": "transport_timeout",
        "ConnectionRefusedError": "transport_unreachable",
        "gaierror": "transport_unreachable",
        "ConnectError": "transport_unreachable",
        "ClientConnectorError": "transport_unreachable",
        "NewConnectionError": "transport_unreachable",
        "ConnectionResetError": "transport_peer_drop",
        "ConnectionAbortedError": "transport_peer_drop",
        "BrokenPipeError": "transport_peer_drop",
        "IncompleteReadError": "transport_peer_drop",
        "IncompleteRead": "transport_peer_drop",
        "RemoteProtocolError": "transport_peer_drop",
        "ReadError": "transport_peer_drop",
        "WriteError": "transport_peer_drop",
        "ServerDisconnectedError": "transport_peer_drop",
        "ProtocolError": "transport_peer_drop",
        "CancelledError": "cancelled",
    }
)

_LOCAL_ERRNO = frozenset(
    {errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOSPC, errno.EADDRNOTAVAIL, errno.ENOBUFS}
)


def checked_kind(kind: str) -> str:
    """Return `kind`. Raise ValueError if it is empty."""
    if not kind:
        raise ValueError("failure_kind must not be empty; give a name such as 'transport_timeout'")
    return kind


def fits_pattern(kind: str) -> bool:
    """Return True if all of `kind` is a shared name (`domain_condition`) or `server:kind`."""
    return kind in REGISTERED or _PATTERN.fullmatch(kind) is not None


def flag_unknown(kind: str) -> None:
    """Count a kind that fits no name pattern, and log each such kind once."""
    if not fits_pattern(kind):
        count("unknown_kind")
        name = ascii(kind[:80])
        warn_once(
            f"kind:{name}",
            "failgraph: failure kind %s is kept, but fits no name pattern; "
            "use a name such as agent_timeout or my_server:out_of_disk",
            name,
        )


def kind_of(error: BaseException) -> str | None:
    """Return the kind of a foreign exception by its type, or None if its type has no kind."""
    if isinstance(error, OSError) and error.errno in _LOCAL_ERRNO:
        return "transport_local_resource"
    for cls in type(error).__mro__:
        if cls.__name__ in _BY_CLASS:
            return _BY_CLASS[cls.__name__]
    return None
