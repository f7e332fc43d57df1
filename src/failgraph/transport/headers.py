"""The reply headers that carry a failure report: their names, their sizes, their limits.

`X-NG-Failure-Report` holds the report: compact ASCII JSON or, if that does not fit, base64url of
its zlib form. `X-NG-Failure-Spans` says where each failure was recorded:
`<trace id>;<percent-encoded event id>=<span id>,…`, several traces separated by `|`.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from failgraph.failure.records import FailureReport

REPORT: Final = "x-ng-failure-report"
SPANS: Final = "x-ng-failure-spans"
ACCEPT: Final = "x-ng-failure-accept"  # asks a server for its report

MAX_VALUE: Final = 65_536  # characters of a header value, and bytes that a compressed one may have
MAX_EVENTS: Final = 256  # failures in one report


class ReplyHeaders(NamedTuple):
    """The headers of one reply.

    Attributes:
        report: The report as it is sent, after cuts.
        report_value: The value of `X-NG-Failure-Report`.
        spans_value: The value of `X-NG-Failure-Spans`, or None if no span is known.
    """

    report: FailureReport
    report_value: str
    spans_value: str | None

    def size(self) -> int:
        """Return the bytes that both header lines take, with names and line ends."""
        spans_bytes = line_bytes(SPANS, self.spans_value) if self.spans_value else 0
        return line_bytes(REPORT, self.report_value) + spans_bytes


def line_bytes(name: str, value: str) -> int:
    """Return the bytes of one header line, with its line end."""
    return len(name) + len(value) + len(": \r\n")
