"""The request that a Gym server of this process is serving, and what that request has seen."""

from __future__ import annotations

from contextvars import ContextVar

from failgraph.failure.boundary import FailureBoundary


class GymRequest:
    """One request that a Gym server serves. The collector, which serves none, has an empty one.

    Attributes:
        boundary: Who observes the failures of the request.
        address: `host:port` of the server; empty for the collector.
        inner_failure_id: The failure of the last reply that this server may pass on as its own.
        inner_reply_failed: True if the status of that reply was 400 or more.
    """

    def __init__(self, boundary: FailureBoundary, address: str) -> None:
        self.boundary = boundary
        self.address = address
        self.inner_failure_id: str | None = None
        self.inner_reply_failed = False


# None outside of a request that a Gym server of this process serves.
gym_request: ContextVar[GymRequest | None] = ContextVar("failgraph_gym_server", default=None)


def current_gym_request() -> GymRequest:
    """Return the request that the running code serves, or a new one of the collector's."""
    return gym_request.get() or GymRequest(FailureBoundary.COLLECTION, "")
