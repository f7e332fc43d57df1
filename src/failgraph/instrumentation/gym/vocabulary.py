"""What the words of released NeMo Gym mean: its servers, statuses, exceptions and routes, as records.

Pure data and look-ups. What a table does not know keeps its own name, where it has one, and is flagged.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from failgraph.diagnostics import count, warn_once
from failgraph.failure.boundary import FailureBoundary as Boundary
from failgraph.failure.kinds import UNHANDLED, kind_of
from failgraph.gym_formats.failure_classes import (
    ClassMeaning,
    class_meaning,
    is_known_class,
    kind_of_error_reply,
)

_SERVERS: Mapping[str, Boundary] = MappingProxyType(
    {
        "SimpleResponsesAPIModel": Boundary.MODEL,
        "SimpleResponsesAPIAgent": Boundary.AGENT,
        "SimpleResourcesServer": Boundary.RESOURCES_SERVER,
        "BaseEnvironmentServer": Boundary.ENVIRONMENT,
    }
)
"""The class that a server is made of, by name: Gym's modules are not imported for it."""

_STAGES: Mapping[str, str] = MappingProxyType(
    {
        "/seed_session": "seed",
        "/v1/agent_sessions": "seed",
        "/verify": "verification",
        "/close_session": "cleanup",
        "/v1/agent_sessions/close": "cleanup",
    }
)

_EXCEPTIONS: Mapping[str, str] = MappingProxyType(
    {
        "JSONDecodeError": "protocol_violation",
        "ValidationError": "protocol_violation",
        "ClientPayloadError": "transport_peer_drop",
        "ClientOSError": "transport_peer_drop",
        "PermanentEndpointError": "provider_quota_exhausted",
        "SandboxCreateError": "provider_unavailable",
    }
)
"""By class name, anywhere in the method resolution order."""

_SANDBOX_ERRORS: Mapping[str, str] = MappingProxyType(
    {
        "timeout": "sandbox:timeout",
        "oom": "provider_oom_killed",
        "sandbox": "provider_unavailable",
        "pty": "sandbox:pty",
    }
)
"""`SandboxExecResult.error_type`."""


_GATEWAY_STATUSES = frozenset({429, 502, 503, 504})
"""Statuses of something before a Gym server, which itself answers 500."""
_ROLLOUT_PREFIX = re.compile(r"^/ng-rollout/[^/]+(?:/training-token-capture)?(?=/)")


def boundary_of_server(server: object) -> Boundary | None:
    """Who a server is, by the classes that it is made of."""
    names = (cls.__name__ for cls in type(server).__mro__)
    return next((_SERVERS[name] for name in names if name in _SERVERS), None)


def route(path: str) -> str:
    """A path without the rollout that Gym puts before it."""
    return _ROLLOUT_PREFIX.sub("", path, count=1)


def stage_of(boundary: Boundary, path: str) -> str | None:
    """The stage of an episode in which a route of such a server is called; None where that can be any."""
    if path in _STAGES:
        return _STAGES[path]
    return "agent" if boundary in (Boundary.AGENT, Boundary.RESOURCES_SERVER) else None


def kind_of_route(boundary: Boundary, path: str, error: BaseException | None) -> str:
    """The kind of a failure that leaves a route of such a server."""
    if boundary is Boundary.RESOURCES_SERVER and path == "/verify":
        return "verifier_error"
    kind = kind_of_error_reply(boundary)
    return kind_of_exception(error) if kind == UNHANDLED and error is not None else kind


def kind_of_exception(error: BaseException, otherwise: str = UNHANDLED) -> str:
    """The kind that the class of an exception stands for."""
    names = (cls.__name__ for cls in type(error).__mro__)
    return kind_of(error) or next(
        (_EXCEPTIONS[name] for name in names if name in _EXCEPTIONS), otherwise
    )


def kind_of_status(status: int) -> str:
    """The kind of a model's reply with an error status; a refusal keeps the name that Gym's log line gives it."""
    if status in (408, 504):
        return "transport_timeout"
    return "provider_unavailable" if status == 429 or status >= 500 else "upstream_request_failed"


def kind_of_run(status: int | None) -> str:
    """Gym's own label of a `/run` that gave no result."""
    return (
        "agent_request_failed"
        if status is None or status in _GATEWAY_STATUSES
        else "agent_run_error"
    )


def kind_of_sandbox(error_type: str) -> str:
    """The kind of a command that the sandbox could not run."""
    return _SANDBOX_ERRORS.get(error_type) or _keep_unknown("sandbox error", error_type)


def meaning_of_class(label: str) -> ClassMeaning:
    """What `_ng_failure_class` says."""
    if not is_known_class(label):
        _keep_unknown("failure class", label)
    return class_meaning(label)


def _keep_unknown(what: str, name: str) -> str:
    count("unmapped")
    shown = ascii(name[:80])
    warn_once(
        f"unmapped:{what}:{shown}",
        "failgraph: %s %s is in no table; it is kept as it is",
        what,
        shown,
    )
    return name
