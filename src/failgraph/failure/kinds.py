"""Failure kinds: the registered names, the two patterns, and the kind of a foreign exception.

A kind says what went wrong and nothing else. Any non-empty kind is kept; one that fits neither pattern is flagged.
The names are those of `nemo_gym.failure_kinds`.
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
"""The 24 names that Gym registers."""

OTHER = "_OTHER"
"""OpenTelemetry's fallback value of `error.type`, for a kind that is no low-cardinality name."""

UNHANDLED = "unhandled_exception"
"""The kind of an exception that escapes under `FAILGRAPH_CAPTURE=all` and whose type stands for none."""

_PATTERN = re.compile(r"[a-z][a-z0-9_]*(:[a-z][a-z0-9_]*)?")

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
"""Class name, anywhere in the method resolution order, to kind; by name, so that no HTTP client is imported for it."""

_LOCAL_ERRNO = frozenset(
    {errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOSPC, errno.EADDRNOTAVAIL, errno.ENOBUFS}
)


def fits_pattern(kind: str) -> bool:
    """Whether the whole of `kind` is a shared name (`domain_condition`) or an extension (`server:kind`)."""
    return kind in REGISTERED or _PATTERN.fullmatch(kind) is not None


def flag_unknown(kind: str) -> None:
    """Count a kind that fits neither pattern, and say so once a kind."""
    if not fits_pattern(kind):
        count("unknown_kind")
        shown = ascii(kind[:80])
        warn_once(
            f"kind:{shown}",
            "failgraph: failure kind %s fits neither name pattern; it is kept as it is",
            shown,
        )


def kind_of(error: BaseException) -> str | None:
    """The kind that the type of a foreign exception stands for, or None where the table has none."""
    if isinstance(error, OSError) and error.errno in _LOCAL_ERRNO:
        return "transport_local_resource"
    return next(
        (_BY_CLASS[cls.__name__] for cls in type(error).__mro__ if cls.__name__ in _BY_CLASS), None
    )
