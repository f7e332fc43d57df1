"""The request of a Gym server that the running code serves, and what that request has seen."""

from __future__ import annotations

from contextvars import ContextVar

from failgraph.failure.boundary import FailureBoundary


class GymRequest:
    """A Gym server in this process, and what one request of it has seen; without one, the collector."""

    def __init__(self, boundary: FailureBoundary, address: str) -> None:
        self.boundary, self.address = boundary, address
        self.inner_failure_id: str | None = None
        """The failure that the reply of an inner server is, where this server may hand that reply on."""
        self.inner_reply_failed = False
        """Whether that reply is a failing one."""


gym_request: ContextVar[GymRequest | None] = ContextVar("failgraph_gym_server", default=None)
"""The server, and its request, that this code runs for."""


def current_gym_request() -> GymRequest:
    """Who observes what happens here."""
    return gym_request.get() or GymRequest(FailureBoundary.COLLECTION, "")
