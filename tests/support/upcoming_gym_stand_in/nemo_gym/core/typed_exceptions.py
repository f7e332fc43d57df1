"""Stand-in: the failure as an exception."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from nemo_gym.core.failure_records import FailureBoundary, FailureEvent, FailureReport


class NgFailureEvent(Exception):
    def __init__(
        self,
        failure_kind: str,
        failure_reason: str,
        http_status: int | None = None,
        foreign_error: Any = None,
        boundary: FailureBoundary | None = None,
    ) -> None:
        super().__init__(failure_reason)
        self.failure_kind, self.failure_reason = failure_kind, failure_reason
        self.http_status, self.foreign_error, self.boundary = http_status, foreign_error, boundary
        self.event_id = uuid4().hex

    def to_record(self) -> FailureEvent:
        cause = self.__cause__
        return FailureEvent(
            event_id=self.event_id,
            failure_kind=self.failure_kind,
            failure_reason=self.failure_reason,
            http_status=self.http_status,
            boundary=self.boundary or FailureBoundary.AGENT,
            cause_id=cause.event_id if isinstance(cause, NgFailureEvent) else None,
        )


def failure_report_for(error: BaseException) -> FailureReport:
    events, here = {}, error
    while here is not None:
        if isinstance(here, NgFailureEvent):
            events[here.event_id] = here.to_record()
        here = here.__cause__
    return FailureReport(events=events, failure_id=next(iter(events), None))
