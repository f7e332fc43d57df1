"""Stand-in: the report of a request, and its header."""

from __future__ import annotations

import base64
from contextvars import ContextVar

from nemo_gym.core.failure_records import FailureReport
from nemo_gym.core.typed_exceptions import failure_report_for

HEADER = "X-NG-Failure-Report"


class RequestFailureLog:
    def __init__(self) -> None:
        self.report = FailureReport()

    def add(self, report: FailureReport) -> None:
        self.report = FailureReport(events={**report.events, **self.report.events})


log: ContextVar[RequestFailureLog] = ContextVar("log")


class FailureHeader:
    @staticmethod
    def encode(report: FailureReport) -> str:
        return (
            "made-up."
            + base64.b64encode(report.model_dump_json(exclude_none=True).encode()).decode()
        )

    @staticmethod
    def decode(value: str) -> FailureReport:
        return FailureReport.model_validate_json(base64.b64decode(value.removeprefix("made-up.")))


def observe_failure(error: BaseException) -> None:
    log.get().add(failure_report_for(error))


def observe_reply(report: FailureReport) -> None:
    log.get().add(report)
