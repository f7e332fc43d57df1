"""Sends failures and spans to a target in batches, and counts what it took."""

from __future__ import annotations

from collections.abc import Iterator

from opentelemetry.sdk.trace import ReadableSpan

from failgraph.codec.attributes import text_bytes
from failgraph.export.inputs import FailureInput, SavedAttempt
from failgraph.export.known import key_of_input, keys_of_group
from failgraph.export.otlp_documents import Fields, SpanGroup, span_key, span_text
from failgraph.export.otlp_spans import exportable_spans, lost_fields
from failgraph.export.result import ExportResult
from failgraph.export.spans import span_of
from failgraph.export.targets import ExportTarget
from failgraph.readers.row_spans import attempt_failure_kind
from failgraph.view.lines import count_of

_BATCH_SPANS = 512
_BATCH_BYTES = 1 << 20  # of text; gRPC servers reject messages of more than 4 MiB


class Sender:
    """Sends to a target what it does not have, and adds to the counts of a result.

    Each method returns False if the target refused something. What was not sent is counted.
    """

    def __init__(self, target: ExportTarget, result: ExportResult) -> None:
        self._target = target
        self._result = result
        self._batch: list[ReadableSpan] = []
        self._bytes = self._rows_in_batch = self._recovered_in_batch = 0

    def add_failure(self, item: FailureInput) -> bool:
        """Add a saved attempt or a journal's failure to the batch."""
        key = key_of_input(item)
        if key in self._target.known_keys:
            self._result.already_there += 1
            return True
        self._target.known_keys.add(key)
        span = span_of(item)
        self._rows_in_batch += 1
        if isinstance(item, SavedAttempt) and attempt_failure_kind(item.attempt) is None:
            self._recovered_in_batch += 1
        size = sum(text_bytes(event.attributes or {}) for event in span.events)
        return self._add(span, size)

    def add_spans(self, group: SpanGroup) -> bool:
        """Add spans to the batch. A file gets them at once, with every field."""
        self._result.spans += len(group.spans)
        new = group._replace(spans=list(self._unknown(group)))
        if not new.spans:
            return True
        self._target.known_keys.update(keys_of_group(new))
        if self._target.is_file:
            return self._write(new)
        self._result.lost_fields |= lost_fields(new)
        waiting = len(new.spans)
        for fields, span in zip(new.spans, exportable_spans(new), strict=True):
            waiting -= 1
            if span is None:
                self._result.spans_malformed += 1
            elif not self._add(span, len(span_text(new.resource, fields)), waiting):
                return False
        return True

    def send(self, waiting: int = 0) -> bool:
        """Send the batch.

        Args:
            waiting: Spans after the batch that are not sent if the target refuses it.
        """
        if self._batch and not self._target.send(self._batch):
            self._count_refused(waiting)
            return False
        self._result.exported += self._rows_in_batch
        self._result.recovered += self._recovered_in_batch
        self._result.spans_exported += len(self._batch) - self._rows_in_batch
        self._empty_batch()
        return True

    def _write(self, group: SpanGroup) -> bool:
        if not self._target.write(group.document()):
            self._count_refused(len(group.spans))
            return False
        self._result.spans_exported += len(group.spans)
        return True

    def _add(self, span: ReadableSpan, size: int, waiting: int = 0) -> bool:
        self._batch.append(span)
        self._bytes += size
        is_full = len(self._batch) >= _BATCH_SPANS or self._bytes >= _BATCH_BYTES
        return self.send(waiting) if is_full else True

    def _unknown(self, group: SpanGroup) -> Iterator[Fields]:
        """Yield the spans that the target does not have, and count the others."""
        known = self._target.known_spans()
        for span in group.spans:
            key = span_key(group.resource, span)
            if key in known:
                self._result.spans_already_there += 1
            else:
                known.add(key)
                yield span

    def _count_refused(self, waiting: int) -> None:
        """Count the batch and the spans that wait as not sent, and say why."""
        self._result.not_sent += self._rows_in_batch
        self._result.spans_not_sent += len(self._batch) - self._rows_in_batch + waiting
        self._result.refused.append(self._refusal())
        self._empty_batch()

    def _empty_batch(self) -> None:
        self._batch = []
        self._bytes = self._rows_in_batch = self._recovered_in_batch = 0

    def _refusal(self) -> str:
        result, target = self._result, self._target
        verb = "write to" if target.is_file else "send to"
        sent = result.exported + result.spans_exported
        total = sent + result.not_sent + result.spans_not_sent
        reason = target.failure_reason().rstrip(".")
        return (
            f"cannot {verb} {target.name}: {reason}."
            f" {sent} of {count_of(total, *result.nouns)} sent; safe to repeat."
        )
