"""Lines that say what was lost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from failgraph.losses import Loss, LossKind
from failgraph.redaction.display import display
from failgraph.view.lines import Line, Segment

_NAMES: Final[Mapping[LossKind, str]] = MappingProxyType(
    {
        "text_cut": "shortened text",
        "attribute_missing": "missing attribute",
        "event_missing": "missing failure",
        "id_missing": "failure without an id",
        "cause_missing": "missing cause",
        "duplicate": "duplicate",
        "cycle": "cycle of causes",
        "dropped_events": "dropped events",
        "span_missing": "missing span",
        "unended": "unfinished span",
        "partial_trace": "incomplete trace",
        "bad_line": "unreadable data",
        "unknown_kind": "unknown kind",
        "unknown_field": "unknown field",
    }
)


def loss_lines(losses: Sequence[Loss], limit: int | None = None) -> Iterator[Line]:
    """Yield a line for each loss, and one with the number of the others if there are too many.

    Args:
        losses: What was lost.
        limit: The number of losses to name; None names all.
    """
    for loss in losses[:limit]:
        yield [Segment(f"{_NAMES[loss.kind]}: ", "lost"), Segment(display(loss.detail))]
    if limit is not None and len(losses) > limit:
        yield [Segment(f"{len(losses) - limit} more losses; --full lists all", "lost")]
