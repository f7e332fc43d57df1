"""Losses: what of a failure did not reach its reader as it was written.

Nothing is left out without a loss.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple

__all__ = ["HIDDEN", "MEANING", "Loss", "LossKind", "Losses"]

LossKind = Literal[
    "text_cut",
    "attribute_missing",
    "event_missing",
    "id_missing",
    "cause_missing",
    "duplicate",
    "cycle",
    "dropped_events",
    "span_missing",
    "unended",
    "partial_trace",
    "bad_line",
    "unknown_kind",
    "unknown_field",
]
MEANING: Mapping[LossKind, str] = MappingProxyType(
    {
        "text_cut": "a text is shorter than it was written",
        "attribute_missing": (
            "an attribute is missing or unreadable; an event without a boundary is left out"
        ),
        "event_missing": (
            "a failure cannot be read, or a hop names a failure that the source does not contain"
        ),
        "id_missing": "a failure event has no id and is left out",
        "cause_missing": (
            "a failure names a cause that the source does not contain; the edge is left out"
        ),
        "duplicate": (
            "one observer wrote a failure twice (the first is kept), or two different spans share"
            " an id"
        ),
        "cycle": "causes form a cycle; the edge that closes it is left out",
        "dropped_events": (
            "a span dropped events or attributes at its limit; failures may be among them"
        ),
        "span_missing": "a span names a parent that the source does not contain",
        "unended": "a span has no end, or ends before it starts; its duration is unknown",
        "partial_trace": (
            "a part of the trace was not returned, disappeared while it was read, or is too large"
            " to list"
        ),
        "bad_line": (
            "a part of the file (a line, message, span or field) cannot be read and is left out"
        ),
        "unknown_kind": "a failure kind fits neither name pattern; it is kept as it is",
        "unknown_field": "a field is unknown, exceeds its limit, or is not as it was written",
    }
)
"""What each kind of loss means, in a sentence."""
HIDDEN: Mapping[str, str] = MappingProxyType(
    {
        "`dropped_events`": (
            "the numbers of dropped events and attributes are absent, so `omitted` is missing too"
        ),
        "nanoseconds": (
            "times and durations are cut to µs, so a span ends up to 2 µs early; failures of the"
            " same µs are ordered by `seq`, hops by their ids"
        ),
        "arrays and maps in place of a text": (
            "only their JSON text is stored, which is then read as the text"
        ),
    }
)
"""What Jaeger's v1 JSON loses without a trace of it.

Its OTLP API loses the same if the store keeps that format.
"""


class Loss(NamedTuple):
    """One thing that is missing, or is not as it was written.

    Attributes:
        kind: What kind of loss it is.
        detail: Where it is, in words. May hold text of a record, so it has to be redacted and
            sanitized before it is shown.
    """

    kind: LossKind
    detail: str


Losses = tuple[Loss, ...]
