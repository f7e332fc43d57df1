"""Tables of the words of released NeMo Gym: its servers, routes, statuses and exceptions.

A name that is in no table is kept as the kind, counted and logged once.
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
from failgraph.redaction.display import display

# The base class of a server, by name: Gym's modules are not imported for it.
_SERVERS: Mapping[str, Boundary] = MappingProxyType(
    {
        "SimpleResponsesAPIModel": Boundary.MODEL,
        "SimpleResponsesAPIAgent": Boundary.AGENT,
        "SimpleResourcesServer": Boundary.RESOURCES_SERVER,
        "BaseEnvironmentServer": Boundary.ENVIRONMENT,
    }
)

# The stage of an episode in which a route is called.
_STAGES: Mapping[str, str] = MappingProxyType(
    {
        "/seed_session": "seed",
        "/v1/agent_sessions": "seed",
        "/verify": "verification",
        "/close_session": "cleanup",
        "/v1/agent_sessions/close": "cleanup",
    }
)

# By class name, anywhere in the method resolution order.
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

# By `SandboxExecResult.error_type`.
_SANDBOX_ERRORS: Mapping[str, str] = MappingProxyType(
    {
        "timeout": "sandbox:timeout",
        "oom": "provider_oom_killed",
        "sandbox": "provider_unavailable",
        "pty": "sandbox:pty",
    }
)

# From a gateway in front of a Gym server: the server itself answers 500.
_GATEWAY_STATUSES = frozenset({429, 502, 503, 504})

_ROLLOUT_PREFIX = re.compile(r"^/ng-rollout/[^/]+(?:/training-token-capture)?(?=/)")


def boundary_of_server(server: object) -> Boundary | None:
    """Return who a server is by its base classes, or None if it has no known one."""
    names = (cls.__name__ for cls in type(server).__mro__)
    return next((_SERVERS[name] for name in names if name in _SERVERS), None)


def route(path: str) -> str:
    """Return a path without the rollout that Gym puts before it."""
    return _ROLLOUT_PREFIX.sub("", path, count=1)


def stage_of(boundary: Boundary, path: str) -> str | None:
    """Return the stage of an episode in which a server's route is called, or None if it varies."""
    if path in _STAGES:
        return _STAGES[path]
    return "agent" if boundary in (Boundary.AGENT, Boundary.RESOURCES_SERVER) else None


def kind_of_route(boundary: Boundary, path: str, error: BaseException | None) -> str:
    """Return the kind of a failure that leaves a server's route with `error`, or with none."""
    if boundary is Boundary.RESOURCES_SERVER and path == "/verify":
        return "verifier_error"
    kind = kind_of_error_reply(boundary)
    return kind_of_exception(error) if kind == UNHANDLED and error is not None else kind


def kind_of_exception(error: BaseException, default: str = UNHANDLED) -> str:
    """Return the kind that the class of an exception stands for, or `default`."""
    names = (cls.__name__ for cls in type(error).__mro__)
    known = next((_EXCEPTIONS[name] for name in names if name in _EXCEPTIONS), default)
    return kind_of(error) or known


def kind_of_status(status: int) -> str:
    """Return the kind of a model API's error status.

    A refusal (another 4xx) has the name that Gym's log line gives it.
    """
    if status in (408, 504):
        return "transport_timeout"
    return "provider_unavailable" if status == 429 or status >= 500 else "upstream_request_failed"


def kind_of_run(status: int | None) -> str:
    """Return Gym's own label of a `/run` without a result; a status of None means no reply."""
    if status is None or status in _GATEWAY_STATUSES:
        return "agent_request_failed"
    return "agent_run_error"


def kind_of_sandbox(error_type: str) -> str:
    """Return the kind of a command that the sandbox could not run."""
    return _SANDBOX_ERRORS.get(error_type) or _flag_unknown("sandbox error", error_type)


def meaning_of_class(label: str) -> ClassMeaning:
    """Return what the label `_ng_failure_class` means."""
    if not is_known_class(label):
        _flag_unknown("failure class", label)
    return class_meaning(label)


def _flag_unknown(what: str, name: str) -> str:
    """Count and log a name that is in no table. Return it unchanged."""
    count("unmapped")
    shown = display(name, 80)
    warn_once(
        f"unmapped:{what}:{shown}", "failgraph: unknown %s '%s' is kept as it is", what, shown
    )
    return name
