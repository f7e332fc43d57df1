"""What a `_ng_failure_class` of Gym's releases means, and what a server of each type fails with.

The classes are those that the core, the agents and the resources servers of 0.5.1 to 0.7.0 write. Several are older
than Gym's registered kinds; the class itself is kept in the record's `operation` wherever the kind is another name.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from failgraph.failure.boundary import FailureBoundary as Boundary
from failgraph.failure.kinds import REGISTERED, UNHANDLED, fits_pattern
from failgraph.failure.records import FailureStage


class ClassMeaning(NamedTuple):
    """A failure as a record says it."""

    boundary: Boundary
    kind: str
    stage: FailureStage | None = None


def _agent(kind: str, stage: FailureStage | None = "agent") -> ClassMeaning:
    return ClassMeaning(Boundary.AGENT, kind, stage)


def _verifier(kind: str) -> ClassMeaning:
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
"""The classes that are known. Names without a registered kind keep their own, or get the one Gym's comments propose."""


def class_meaning(name: str) -> ClassMeaning:
    """What a class means; an unknown one keeps its name, observed by the collection that met it."""
    return CLASSES.get(name) or ClassMeaning(Boundary.COLLECTION, name)


def is_known_class(name: str) -> bool:
    """Whether a class is one of these, a registered kind, or a server's own (`server:kind`)."""
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
"""Gym's server types (`nemo.gym.server.type`), and the boundary that such a server observes at."""

_ESCAPED: Mapping[Boundary, str] = MappingProxyType(
    {
        Boundary.AGENT: "agent_run_error",
        Boundary.ENVIRONMENT: "environment_server_failed",
        Boundary.COLLECTION: "agent_request_failed",
    }
)


def kind_of_error_reply(boundary: Boundary) -> str:
    """The kind of a failure of which only the server is known that answered 500 for it."""
    return _ESCAPED.get(boundary, UNHANDLED)
