"""Counts and losses of one pass over a source, and why it may contain no trace."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from failgraph.losses import Loss, LossKind

_MAX_NAMED = 20  # bad lines, losses of one kind and partial traces; the rest is only counted
INCOMPLETE = "incomplete JSON"  # how the text of a bad line that begins a document ends
MAX_REFUSALS = 3  # errors of a backend that are quoted; more of them tend to repeat the same
_SIGNALS = {"logs": "logs", "metrics": "metrics", "profiles": "profiles", "spans": "traces"}
_TRACES = frozenset({"traces"})


@dataclass(slots=True)
class SourceSummary:
    """What one pass over a source finds besides spans. The readers add to it while they read.

    Attributes:
        losses: Bad lines, and losses inside saved rows and journals, in the order of the source.
            At most 20 bad lines and 20 losses of each other kind, then a count of the rest.
        spans: Number of spans, including skipped ones.
        rows: Number of saved rows, including those that describe no attempt.
        documents: Number of JSON documents.
        bad_lines: Number of lines, messages, spans and fields that cannot be read.
        signals: OTLP signals found, by name: traces, logs, metrics, profiles.
        console_spans: Number of documents that OpenTelemetry's console exporter printed.
        is_protobuf: True if the source looks like protobuf.
        is_html: True if the source is an HTML page, such as a login.
        is_damaged_gzip: True if the gzip data is damaged or ends early.
        is_response: True if the API of a backend produced the source; if it then contains no
            trace, the backend has none.
        partial_traces: By trace id, why a backend returned only a part of the trace.
        refusals: The first errors that the backend reported.
    """

    losses: list[Loss] = field(default_factory=list)
    spans: int = 0
    rows: int = 0
    documents: int = 0
    bad_lines: int = 0
    signals: frozenset[str] = frozenset()
    console_spans: int = 0
    is_protobuf: bool = False
    is_html: bool = False
    is_damaged_gzip: bool = False
    is_response: bool = False
    partial_traces: dict[str, str] = field(default_factory=dict)
    refusals: list[str] = field(default_factory=list)
    _lost: Counter[LossKind] = field(default_factory=Counter)

    @property
    def names_every_bad_line(self) -> bool:
        """True if no bad line was only counted."""
        return self.bad_lines <= _MAX_NAMED

    def add_bad_line(self, detail: str) -> None:
        """Add a line, or a part of one, that cannot be read."""
        self.bad_lines += 1
        if self.bad_lines <= _MAX_NAMED:
            self.losses.append(Loss("bad_line", detail))

    def add_loss(self, loss: Loss) -> None:
        """Add a loss inside a line that can be read."""
        self._lost[loss.kind] += 1
        if self._lost[loss.kind] <= _MAX_NAMED:
            self.losses.append(loss)

    def add_refusal(self, error: str) -> None:
        """Add an error that the backend reported."""
        if len(self.refusals) < MAX_REFUSALS:
            self.refusals.append(error)

    def add_partial_trace(self, trace_id: str, reason: str) -> None:
        """Note that the backend returned only a part of a trace. The first reason is kept."""
        self.partial_traces.setdefault(trace_id, reason)

    def add_document(self, document: object) -> None:
        """Count a JSON document, and note which OTLP signals it holds."""
        self.documents += 1
        if isinstance(document, dict):
            names = (str(key).lower().replace("_", "").removeprefix("resource") for key in document)
            self.signals |= {_SIGNALS[name] for name in names if name in _SIGNALS}
            self.console_spans += _is_console_span(document)

    def add_trace_documents(self, count: int) -> None:
        """Count JSON documents that are known to hold traces."""
        self.documents += count
        if count:
            self.signals |= _TRACES

    def close(self) -> None:
        """End the pass: add the number of losses that were not named."""
        for kind, count in self._lost.items():
            if count > _MAX_NAMED:
                self.losses.append(Loss(kind, f"{count - _MAX_NAMED} more"))
        if not self.names_every_bad_line:
            rest = self.bad_lines - _MAX_NAMED
            self.losses.append(Loss("bad_line", f"{rest} more"))

    def partial_trace_losses(self, except_of: Container[str] = ()) -> Iterator[Loss]:
        """Yield what the backend refused or left out.

        Args:
            except_of: Ids of traces that carry this loss themselves.
        """
        for error in self.refusals:
            yield Loss("partial_trace", f"the backend reported: {error}")
        others = [trace_id for trace_id in self.partial_traces if trace_id not in except_of]
        for trace_id in others[:_MAX_NAMED]:
            yield Loss("partial_trace", f"{trace_id}: {self.partial_traces[trace_id]}")
        if others[_MAX_NAMED:]:
            rest = len(others) - _MAX_NAMED
            yield Loss("partial_trace", f"{rest} more")

    def no_trace_reason(self) -> str:
        """Return what the source contains in place of a trace, to be shown after its name."""
        if self.is_damaged_gzip:
            return "the gzip data is damaged, or ends early"
        if self.refusals:
            return f"the backend reported: {'; '.join(self.refusals)}"
        if self.is_response and not self.bad_lines:
            return "the backend does not have the trace, or not yet"
        if self.is_html:
            return "an HTML page, perhaps a login, not traces"
        if self.is_protobuf:
            damaged = "damaged " if self.bad_lines else ""
            return f"looks like {damaged}protobuf, in which no span can be read"
        if not self.documents and not self.bad_lines:
            return "empty"
        if not self.documents:
            return self.losses[0].detail if self._is_cut else "neither JSON nor protobuf"
        if self.rows and not self.bad_lines:
            rows = _counted(self.rows, "saved row")
            return f"{rows}, but no attempt that Gym counted"
        if self.console_spans:
            return "output of OpenTelemetry's console exporter, not OTLP"
        content = self._document_content()
        if not self.bad_lines:
            return content
        return f"{content}, and {_counted(self.bad_lines, 'line')} that cannot be read"

    def no_trace_text(self) -> str:
        """Return the same, with a sentence of advice if there is one."""
        advice = self._advice()
        return f"{self.no_trace_reason()}. {advice}" if advice else self.no_trace_reason()

    def _advice(self) -> str:
        if self.is_damaged_gzip:
            return "Is the file still being written?"
        if self.refusals or self.is_html or self.is_protobuf:
            return ""
        if self.console_spans:
            return "Use its OTLP file exporter instead."
        if self.documents or not self.bad_lines:
            return ""
        if self._is_cut:
            return "Is the file cut, or still being written?"
        return "Traces are JSON or protobuf from OTLP, Jaeger or Tempo."

    @property
    def _is_cut(self) -> bool:
        """True if the first thing that cannot be read is a document without an end."""
        return self.bad_lines > 0 and self.losses[0].detail.endswith(INCOMPLETE)

    def _document_content(self) -> str:
        others = sorted(self.signals - _TRACES)
        if others:
            return f"OTLP {' and '.join(others)}, not traces"
        documents = _counted(self.documents, "JSON document")
        if self.signals:
            return f"{documents} of OTLP without any span"
        return f"{documents} of another kind: no spans, saved rows or journal lines"


def _is_console_span(document: Mapping[Any, Any]) -> bool:
    """Return True for a span as OpenTelemetry's `ConsoleSpanExporter` prints it."""
    context = document.get("context")
    return (
        isinstance(context, dict)
        and str(context.get("trace_id")).startswith("0x")
        and str(document.get("kind")).startswith("SpanKind.")
    )


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
