"""What a source turns out to hold, and which parts of it cannot be read; of every form."""

from __future__ import annotations

from dataclasses import dataclass

from failgraph.losses import Loss

_MAX_BAD_LINES = 20
"""Broken parts that are named one by one; the rest are counted in one loss."""
_SIGNALS = {"logs": "logs", "metrics": "metrics", "profiles": "profiles", "spans": "traces"}


@dataclass(slots=True)
class Found:
    """What a source turned out to hold; for the message where that is no trace."""

    spans: int = 0
    documents: int = 0
    bad: int = 0
    signals: frozenset[str] = frozenset()
    protobuf: bool = False
    damaged: bool = False

    def see(self, document: object) -> None:
        """Count a JSON document."""
        self.documents += 1
        if isinstance(document, dict):
            names = (str(key).lower().replace("_", "").removeprefix("resource") for key in document)
            self.signals |= {_SIGNALS[name] for name in names if name in _SIGNALS}

    def instead(self) -> str:
        """What it holds instead, in a sentence."""
        if self.damaged:
            return "its gzip data is damaged"
        if self.protobuf:
            return f"it looks like protobuf, but holds no span that can be read{', and is damaged' if self.bad else ''}"
        if not self.documents and not self.bad:
            return "it is empty"
        if not self.documents:
            return f"{_lines(self.bad)} of it and none is JSON; give OTLP JSON or OTLP protobuf"
        bad = f" and {_lines(self.bad)} that cannot be read" if self.bad else ""
        with_what = f" with {' and '.join(sorted(self.signals))}" if self.signals else " of another kind"
        return f"it holds {self.documents} JSON document{'' if self.documents == 1 else 's'}{with_what}{bad}"


def _lines(count: int) -> str:
    return f"{count} line{'' if count == 1 else 's'}"


class BadLines:
    """Broken lines of one pass: the first few are named, the rest counted."""

    def __init__(self, found: Found, losses: list[Loss]) -> None:
        self._found = found
        self._losses = losses
        self._unnamed = 0

    def add(self, where: str) -> None:
        """A line, or what stands for one, that cannot be read."""
        self._found.bad += 1
        if self._found.bad <= _MAX_BAD_LINES:
            self._losses.append(Loss("bad_line", where))
        else:
            self._unnamed += 1

    def close(self) -> None:
        """Count those that were not named."""
        if self._unnamed:
            self._losses.append(Loss("bad_line", f"{self._unnamed} more that cannot be read"))
