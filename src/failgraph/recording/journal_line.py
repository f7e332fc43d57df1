"""What the journal says of a failure that was observed on a span."""

from __future__ import annotations

import functools
import os
from urllib.parse import unquote

from opentelemetry.trace import Span, SpanContext, SpanKind

from failgraph.journal.lines import JournalLine
from failgraph.recording import sdk_spans
from failgraph.recording.entry import Entry
from failgraph.redaction import redact_and_truncate
from failgraph.settings import Settings, current
from failgraph.text import sanitize

_MAX_NAME = 256


def journal_line(entry: Entry, placement: str) -> JournalLine:
    """Return the journal's line for a failure that went to `placement` in the trace."""
    observation, span, context = entry.observation, entry.span, entry.context
    parent, kind = getattr(span, "parent", None), getattr(span, "kind", None)
    started = sdk_spans.start_time(span)
    return JournalLine(
        time_unix_nano=max(observation.birth.time_unix_nano, started),
        seq=entry.seq,
        trace_id=f"{context.trace_id:032x}" if context.is_valid else None,
        span_id=f"{context.span_id:016x}" if context.is_valid else None,
        parent_span_id=f"{parent.span_id:016x}" if isinstance(parent, SpanContext) else None,
        span_name=_safe_name(str(getattr(span, "name", "")), current()),
        span_kind=kind.name if isinstance(kind, SpanKind) else "",
        span_start_unix_nano=started,
        service=_service_of(span),
        pid=os.getpid(),
        placement=placement,
        own=entry.is_own,
        event=observation.event,
        remote=observation.is_remote,
        late=entry.is_late,
    )


def _service_of(span: Span) -> str:
    """Return the service name of a span, else of the environment: an unsampled span has none."""
    attributes = getattr(getattr(span, "resource", None), "attributes", {})
    name = (
        attributes.get("service.name")
        or os.environ.get("OTEL_SERVICE_NAME")
        or _service_in_environment()
        or "unknown_service"
    )
    return _safe_name(str(name), current())


@functools.lru_cache(maxsize=1024)
def _safe_name(name: str, _: Settings) -> str:
    """Return a name as it may leave the process. Cached: few names stand in many lines."""
    return sanitize(redact_and_truncate(name, _MAX_NAME), _MAX_NAME)


def _service_in_environment() -> str:
    """Return the service name of `OTEL_RESOURCE_ATTRIBUTES`, read as the SDK reads it, or ""."""
    pairs = os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "").split(",")
    values = {
        name.strip(): value.strip()
        for name, is_pair, value in (each.partition("=") for each in pairs)
        if is_pair
    }
    return unquote(values.get("service.name", ""))
