"""What is to be said in the journal of a failure that was observed on a span."""

from __future__ import annotations

import functools
import os

from opentelemetry.trace import Span, SpanContext, SpanKind

from failgraph.journal.lines import JournalLine
from failgraph.recording import sdk_spans
from failgraph.recording.observation import Observation
from failgraph.redaction import redact_and_truncate
from failgraph.settings import Settings, current
from failgraph.text import sanitize

_MAX_NAME = 256


def line_of(
    observation: Observation, span: Span, seq: int, placed: str, *, own: bool, late: bool
) -> JournalLine:
    """The line for a failure that belongs to `span`, an invalid one where it belongs to no trace."""
    context = span.get_span_context()
    parent, kind = getattr(span, "parent", None), getattr(span, "kind", None)
    started = sdk_spans.start_time(span)
    return JournalLine(
        time_unix_nano=max(observation.birth.time_unix_nano, started),
        seq=seq,
        trace_id=f"{context.trace_id:032x}" if context.is_valid else None,
        span_id=f"{context.span_id:016x}" if context.is_valid else None,
        parent_span_id=f"{parent.span_id:016x}" if isinstance(parent, SpanContext) else None,
        span_name=_shown(str(getattr(span, "name", "")), current()),
        span_kind=kind.name if isinstance(kind, SpanKind) else "",
        span_start_unix_nano=started,
        service=_service(span),
        pid=os.getpid(),
        placement=placed,
        own=own,
        event=observation.event,
        remote=observation.remote,
        late=late,
    )


def _service(span: Span) -> str:
    """The service of a span; what the environment says where that does not say one, as one that is not sampled."""
    attributes = getattr(getattr(span, "resource", None), "attributes", {})
    found = (
        attributes.get("service.name")
        or os.environ.get("OTEL_SERVICE_NAME")
        or _of_resource()
        or "unknown_service"
    )
    return _shown(str(found), current())


@functools.lru_cache(maxsize=1024)
def _shown(name: str, _: Settings) -> str:
    """A name as it may leave under these settings: there are few, each in many lines."""
    return sanitize(redact_and_truncate(name, _MAX_NAME), _MAX_NAME)


def _of_resource() -> str:
    pairs = (
        each.partition("=") for each in os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "").split(",")
    )
    return next((value.strip() for name, _, value in pairs if name.strip() == "service.name"), "")
