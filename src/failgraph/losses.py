"""What was lost between a failure and its reader, by kind. Nothing is left out without one of these."""

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
        "text_cut": "a text arrived shorter than it was written",
        "attribute_missing": "an attribute is gone or unreadable; an event without a boundary is left out",
        "event_missing": "a failure cannot be read, or a hop wrote down the id of one that the source does not hold",
        "id_missing": "a failure event has no id and is left out",
        "cause_missing": "a failure names a cause that the source does not hold; the edge is left out",
        "duplicate": "an observer wrote a failure twice (the first is kept), or two different spans have one id",
        "cycle": "causes form a ring; the edge that closes it is left out",
        "dropped_events": "a span dropped events or attributes at its limit, ours may be among them",
        "span_missing": "a span names a parent that the source does not hold",
        "unended": "a span has no end, or one before its start; its duration is unknown",
        "partial_trace": "a part of the trace was not returned, was lost during the reading, or is too much to list",
        "bad_line": "a part of the file (a line, a message, a span, a field) cannot be read and is left out",
        "unknown_kind": "a kind fits neither name pattern; it is kept as it is",
        "unknown_field": "a field is unknown, outside its limits, or not as it was written",
    }
)
"""Each kind of loss in a sentence."""
HIDDEN: Mapping[str, str] = MappingProxyType(
    {
        "`dropped_events`": "it has no counts of what a span dropped; `omitted` is then missing as well",
        "nanoseconds": "each time and each duration is cut to µs, so the end of a span comes up to 2 µs early; failures"
        " of one µs stand in the order of `seq`, hops in that of their ids",
        "arrays and maps where a text belongs": "it has only their JSON text, which is then taken for the text",
    }
)
"""What Jaeger's own JSON hides, and its OTLP API where a store keeps that form; nothing tells that it is gone."""


class Loss(NamedTuple):
    """One thing that is not as it was written."""

    kind: LossKind
    detail: str
    """Where, in words; may hold text from the record, so a view neutralises it."""


Losses = tuple[Loss, ...]
