"""Who observes failures. Apart from the records, because settings must not load pydantic."""

from __future__ import annotations

from enum import Enum


class FailureBoundary(Enum):
    """Who observed a failure. None of them chooses retries, terminality or scores."""

    AGENT = "agent"
    COLLECTION = "collection"
    ENVIRONMENT = "environment"
    HARNESS = "harness"
    MODEL = "model"
    RESOURCES_SERVER = "resources_server"
    SANDBOX = "sandbox"


def parse_boundary(value: object) -> FailureBoundary | None:
    """Return the boundary that `value` names, or None if it names none. Never raises.

    Args:
        value: A boundary of ours or of Gym's own enumeration, or its text.
    """
    if value is None or type(value) is FailureBoundary:
        return value
    try:
        return FailureBoundary(value.value if isinstance(value, Enum) else str.__str__(value))
    except Exception:  # noqa: BLE001 - a user's object may raise anything when it is read
        return None
