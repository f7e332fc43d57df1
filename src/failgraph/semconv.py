"""Every name that failgraph writes into a trace: its events, its spans and their attributes.

The string below a constant is its row in the table of attributes in the documentation.
"""

from __future__ import annotations

from typing import Final

SCHEMA_VERSION: Final = 1
"""Version of these names, written on the span of each hop with failures."""

PREFIX: Final = "nemo.gym.failure."
"""The namespace of all attributes except `error.type`."""

EVENT_NAME: Final = "nemo.gym.failure"
"""Name of the span event that holds one failure, and of a failure span."""

REST: Final = "_rest"
"""Suffix of the string array that continues a long text: Tempo cuts strings at 2,048 bytes."""

CHUNK_BYTES: Final = 2000
"""The longest string written, in bytes of UTF-8."""

# --- the event

ID: Final = PREFIX + "id"
"""`event_id`: readers count each failure once by it."""

BOUNDARY: Final = PREFIX + "boundary"
"""`boundary`: who observed the failure."""

KIND: Final = PREFIX + "kind"
"""`failure_kind`: what went wrong."""

ERROR_TYPE: Final = "error.type"
"""The kind again, under OpenTelemetry's name; `_OTHER` if it fits no name pattern."""

REASON: Final = PREFIX + "reason"
"""`failure_reason`: free text."""

STAGE: Final = PREFIX + "stage"
"""`stage` of the rollout."""

CAUSE_ID: Final = PREFIX + "cause.id"
"""`cause_id`: the failure that caused this one."""

CAUSE_TRACE_ID: Final = PREFIX + "cause.trace_id"
"""Trace of the cause, 32 hex digits, if its span is known."""

CAUSE_SPAN_ID: Final = PREFIX + "cause.span_id"
"""Span of the cause, 16 hex digits, if it is known."""

OPERATION: Final = PREFIX + "operation.name"
"""`operation` that failed."""

OPERATION_ID: Final = PREFIX + "operation.id"
"""`operation_id`."""

ATTEMPT_ID: Final = PREFIX + "operation.attempt_id"
"""`attempt_id`."""

EXCEPTION_TYPE: Final = PREFIX + "exception.type"
"""`exception_type`."""

HTTP_STATUS: Final = PREFIX + "http_status"
"""`http_status`, 100 to 599."""

SANDBOX: Final = PREFIX + "sandbox."
"""Prefix of the fields of `SandboxFailureDetails`, named as in the schema."""

MODEL: Final = PREFIX + "model."
"""Prefix of the fields of `ModelFailureDetails`, named as in the schema."""

DETAILS: Final = PREFIX + "details"
"""`sandbox` or `model` if the event has details of which every field is absent."""

FOREIGN_TYPE: Final = PREFIX + "foreign.type"
"""`foreign_error.exception_type`."""

FOREIGN_MESSAGE: Final = PREFIX + "foreign.message"
"""`foreign_error.message`."""

FOREIGN_HTTP_STATUS: Final = PREFIX + "foreign.http_status"
"""`foreign_error.http_status`."""

SEQ: Final = PREFIX + "seq"
"""Order of the failure among those that its process wrote."""

TEXT_BYTES: Final = PREFIX + "text_bytes"
"""Bytes of UTF-8 of all texts of the record as written, so that a reader can detect a cut."""

REMOTE: Final = PREFIX + "remote"
"""True on a copy that a peer sent which did not record the failure itself."""

LATE: Final = PREFIX + "late"
"""True if the failure was recorded after the report of its hop was written."""

# --- a failure span

FAILURE_SPAN: Final = PREFIX + "failure_span"
"""True on a short span that was made only to hold a failure; views fold it into its parent."""

JOURNAL: Final = PREFIX + "journal"
"""True on a failure span that `failgraph export` made from a journal line; readers use it if the
trace has no other copy of the failure."""

# --- the span of a saved row

ROW: Final = PREFIX + "row"
"""True on the span of a row that Gym saved. It has no duration, and its time may be that of the
file."""

# --- the hop's span

REPORT_SCHEMA_VERSION: Final = PREFIX + "schema_version"
"""Version of these names; its presence marks a hop with failures."""

REPORT_ID: Final = PREFIX + "report.id"
"""The hop's own failure; absent on success."""

REPORT_IDS: Final = PREFIX + "report.ids"
"""Ids of the failures of the hop's report."""

REPORT_COUNT: Final = PREFIX + "report.count"
"""How many failures the hop saw."""

REPORT_OMITTED: Final = PREFIX + "report.omitted"
"""True if failures are missing from the report."""

REPORT_UNFINISHED: Final = PREFIX + "report.unfinished"
"""True if the hop has neither a result nor an own failure: it was cancelled, interrupted or left
by another exception. Whether its failures were recovered is then unknown."""

REPORT_KINDS: Final = PREFIX + "report.kinds"
"""The kinds in the report, for search."""

REPORT_BOUNDARIES: Final = PREFIX + "report.boundaries"
"""The boundaries in the report, for search."""

REPORT_ROOT_ID: Final = PREFIX + "report.root.id"
"""The root cause."""

REPORT_ROOT_KIND: Final = PREFIX + "report.root.kind"
"""Kind of the root cause."""

REPORT_ROOT_SPAN_ID: Final = PREFIX + "report.root.span_id"
"""Span of the root cause, 16 hex digits."""

_ARRAYS: Final = frozenset({REPORT_IDS, REPORT_KINDS, REPORT_BOUNDARIES})


def is_array(key: str) -> bool:
    """Return True if `key` is an attribute of failgraph that holds an array of texts."""
    return key in _ARRAYS or (key.startswith(PREFIX) and key.endswith(REST))


# --- written by Gym, read by failgraph

ROLLOUT_ID: Final = "nemo.gym.rollout.id"
"""The id of a rollout, as people know it. Gym's own span attribute."""

# --- the span of a rollout attempt

ROLLOUT_SPAN: Final = "nemo.gym.rollout_attempt"
"""Name of the span of one rollout attempt; Gym opens no span of its own where it collects."""

# --- for readers

NAMES: Final = {
    name: name
    for name in list(globals().values())
    if isinstance(name, str) and name.startswith(PREFIX)
}
"""Each attribute name to itself; a reader uses it to keep one object per name."""

REPEATED: Final = frozenset({BOUNDARY, KIND, STAGE, OPERATION, EXCEPTION_TYPE, FOREIGN_TYPE})
"""Attributes with few distinct values; a reader keeps one object per value."""
