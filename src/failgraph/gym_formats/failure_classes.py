"""The kinds for Gym's failure classes (`_ng_failure_class`) and for its types of servers.

The classes are those that the core, the agents and the resources servers of Gym 0.5.1 to 0.7.0
write. Several are older than Gym's registered kinds; if the kind has another name, the record's
`operation` keeps the class.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from failgraph.failure.boundary import FailureBoundary as Boundary
from failgraph.failure.kinds import REGISTERED, UNHANDLED, fits_pattern
from failgraph.failure.records import FailureStage


class ClassMeaning(NamedTuple):
    """How a failure of some class is recorded."""

    boundary: Boundary
    kind: str
    stage: FailureStage | None = None


def _agent(kind: str, stage: FailureStage | None = "agent") -> ClassMeaning:
    """Return the meaning of a class of agents."""
    return ClassMeaning(Boundary.AGENT, kind, stage)


def _verifier(kind: str) -> ClassMeaning:
    """Return the meaning of a class of resources servers."""
    return ClassMeaning(Boundary.RESOURCES_SERVER, kind, "verification")


CLASSES: Mapping[str, ClassMeaning] = MappingProxyType(
    {
        # the core
        "agent_run_error": _agent("agent_run_error"),
        "agent_request_failed": ClassMeaning(Boundary.COLLECTION, "agent_request_failed"),
        "environment_server_failed": ClassMeaning(
            Boundary.ENVIRONMENT, "environment_server_failed"
        ),
        "judge_failed": _verifier("judge_failed"),
        "judge_invalid": _verifier("judge_unparseable"),
        "cancelled": ClassMeaning(Boundary.COLLECTION, "cancelled"),
        "kill_shaped": ClassMeaning(Boundary.COLLECTION, "kill_shaped"),
        # agents
        "timeout_exceeded": _agent("agent_timeout"),
        "legitimate": _agent("agent_run_error"),
        "remote_agent_error": _agent("agent_run_error"),
        "harbor_failed": _agent("agent_run_error"),
        "tau2_agent_error": _agent("agent_run_error"),
        "tau2_malformed_tool_call": _agent("tau2:malformed_tool_call"),
        "skipped": _agent("skipped", None),
        "incomplete": _agent("incomplete", None),
        "transient": _agent("transient", None),
        "permanent": _agent("permanent", "verification"),
        # resources servers
        "infrastructure_error": _verifier("infrastructure_error"),
        "reference_missing": _verifier("gdpval:reference_missing"),
        "eval_missing": _verifier("gdpval:eval_missing"),
        "transport_ineligible": _verifier("gdpval:transport_ineligible"),
    }
)
"""The known classes. Those without a registered kind keep their name, or have the kind that Gym's
comments propose."""


def class_meaning(name: str) -> ClassMeaning:
    """Return how a class is recorded; an unknown one under its own name, seen by the collection."""
    return CLASSES.get(name) or ClassMeaning(Boundary.COLLECTION, name)


def is_known_class(name: str) -> bool:
    """True if a class is in `CLASSES`, a registered kind, or a server's own (`server:kind`)."""
    return name in CLASSES or name in REGISTERED or (":" in name and fits_pattern(name))


SERVER_TYPES: Mapping[str, Boundary] = MappingProxyType(
    {
        "responses_api_agents": Boundary.AGENT,
        "responses_api_models": Boundary.MODEL,
        "resources_servers": Boundary.RESOURCES_SERVER,
        "environment_servers": Boundary.ENVIRONMENT,
        "orchestrator": Boundary.COLLECTION,
    }
)
"""The boundaries of Gym's server types (`nemo.gym.server.type`)."""

_ERROR_REPLIES: Mapping[Boundary, str] = MappingProxyType(
    {
        Boundary.AGENT: "agent_run_error",
        Boundary.ENVIRONMENT: "environment_server_failed",
        Boundary.COLLECTION: "agent_request_failed",
    }
)


def kind_of_error_reply(boundary: Boundary) -> str:
    """Return the kind of a failure of which only the boundary of the failed server is known."""
    return _ERROR_REPLIES.get(boundary, UNHANDLED)
