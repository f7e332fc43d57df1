"""Read OTLP documents as traces, and look up what the traces hold."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from builders import event
from failgraph.losses import Loss
from failgraph.readers import HopRecord, Reading, Trace, read
from otlp_file import seen, span, write

OTHER_TRACE = "f" * 32

CAUSE_CHAIN = [
    seen(event("a"), 1),
    seen(event("b", cause_id="a"), 2),
    seen(event("r"), 3),
    seen(event("c", cause_id="b"), 4),
]  # c was caused by b, b by a; r stands alone


def read_documents(folder: Path, *documents: object) -> Reading:
    """Read documents from a file of OTLP JSON lines."""
    return read(write(folder / "traces.jsonl", *documents))


def read_trace(folder: Path, *documents: object) -> Trace:
    """Read documents that hold one trace with failures."""
    (trace,) = read_documents(folder, *documents).traces
    return trace


def loss_kinds(losses: Iterable[Loss]) -> list[str]:
    """Return the kinds of losses, sorted."""
    return sorted(loss.kind for loss in losses)


def hop_of(trace: Trace, number: int) -> HopRecord:
    """Return the hop of the span with this number."""
    return next(hop for hop in trace.hops if hop.span.span_id == f"{number:016x}")


def failing_span(number: int = 1, **others: Any) -> dict[str, Any]:
    """Return a span with the failure e1. The options are those of `span`."""
    return span(number, None, seen(event("e1"), 5), **others)
