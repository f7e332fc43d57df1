"""What a source turns out to hold, and which parts of it cannot be read; of every form."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator
from dataclasses import dataclass, field

from failgraph.losses import Loss, LossKind
from failgraph.readers.origins import Origins

_MAX_BAD_LINES = 20
"""Broken parts that are named one by one; the rest are counted in one loss."""
MAX_REFUSALS = 3
"""Errors of a backend that are told in its words; the rest say the same, as a rule."""
_SIGNALS = {"logs": "logs", "metrics": "metrics", "profiles": "profiles", "spans": "traces"}
_TRACES = frozenset({"traces"})


@dataclass(slots=True)
class Found:
    """What a source turned out to hold; for the message where that is no trace."""

    spans: int = 0
    rows: int = 0
    """Saved rows of rollouts, whatever they tell."""
    documents: int = 0
    bad: int = 0
    signals: frozenset[str] = frozenset()
    protobuf: bool = False
    damaged: bool = False
    answered: bool = False
    """Whether it is what an API answers, rather than what somebody wrote down."""
    partial: dict[str, str] = field(default_factory=dict)
    """The traces of which the backend gave only a part, and what it says of that."""
    origins: Origins = field(default_factory=Origins)
    """Of what of a journal belongs to no trace."""
    refusals: list[str] = field(default_factory=list)
    """What the backend says went wrong."""

    @property
    def all_named(self) -> bool:
        """Whether each broken part was named."""
        return self.bad <= _MAX_BAD_LINES

    def refuse(self, words: str) -> None:
        """The backend says that something went wrong."""
        if len(self.refusals) < MAX_REFUSALS:
            self.refusals.append(words)

    def lost(self, besides: Container[str] = ()) -> Iterator[Loss]:
        """What the backend says is missing; of the traces not those that are `besides` told of by themselves."""
        for words in self.refusals:
            yield Loss("partial_trace", f"the backend answered: {words}")
        others = [trace_id for trace_id in self.partial if trace_id not in besides]
        for trace_id in others[:_MAX_BAD_LINES]:
            yield Loss("partial_trace", f"{trace_id}: {self.partial[trace_id]}")
        if others[_MAX_BAD_LINES:]:
            yield Loss(
                "partial_trace",
                f"{len(others) - _MAX_BAD_LINES} more traces of which there is only a part",
            )

    def see(self, document: object) -> None:
        """Count a JSON document."""
        self.documents += 1
        if isinstance(document, dict):
            names = (str(key).lower().replace("_", "").removeprefix("resource") for key in document)
            self.signals |= {_SIGNALS[name] for name in names if name in _SIGNALS}

    def see_traces(self, documents: int) -> None:
        """Count JSON documents of traces."""
        self.documents += documents
        if documents:
            self.signals |= _TRACES

    def instead(self) -> str:
        """What it holds instead, in a sentence."""
        if self.damaged:
            return "its gzip data is damaged"
        if self.refusals:
            return f"the backend answered: {'; '.join(self.refusals)}"
        if self.answered and not self.bad:
            return "it is the answer of a backend that does not have it, or not yet"
        if self.protobuf:
            return f"it looks like protobuf, but holds no span that can be read{', and is damaged' if self.bad else ''}"
        if not self.documents and not self.bad:
            return "it is empty"
        if not self.documents:
            return f"{_lines(self.bad)} of it and none is JSON; give JSON or protobuf of OTLP, Jaeger or Tempo"
        if self.rows and not self.bad:
            return f"of its {_rows(self.rows)} none tells of an attempt that was counted"
        bad = f" and {_lines(self.bad)} that cannot be read" if self.bad else ""
        with_what = (
            f" with {' and '.join(sorted(self.signals))}" if self.signals else " of another kind"
        )
        return f"it holds {self.documents} JSON document{'' if self.documents == 1 else 's'}{with_what}{bad}"


def _lines(count: int) -> str:
    return f"{count} line{'' if count == 1 else 's'}"


def _rows(count: int) -> str:
    return f"{count} saved row{'' if count == 1 else 's'}"


class BadLines:
    """Broken lines of one pass: the first few are named, the rest counted."""

    def __init__(self, found: Found, losses: list[Loss]) -> None:
        self.found = found
        self._losses = losses
        self._unnamed = 0
        self._lost: Counter[LossKind] = Counter()

    def add(self, where: str) -> None:
        """A line, or what stands for one, that cannot be read."""
        self.found.bad += 1
        if self.found.bad <= _MAX_BAD_LINES:
            self._losses.append(Loss("bad_line", where))
        else:
            self._unnamed += 1

    def lose(self, loss: Loss) -> None:
        """Something of a line that can be read otherwise; the first few of a kind are named."""
        self._lost[loss.kind] += 1
        if self._lost[loss.kind] <= _MAX_BAD_LINES:
            self._losses.append(loss)

    def close(self) -> None:
        """Count those that were not named."""
        for kind, count in self._lost.items():
            if count > _MAX_BAD_LINES:
                self._losses.append(Loss(kind, f"{count - _MAX_BAD_LINES} more in saved rows"))
        if self._unnamed:
            self._losses.append(Loss("bad_line", f"{self._unnamed} more that cannot be read"))
