"""Spans of OpenTelemetry's SDK: their limits and room, failure spans, and writing an event.

The only module that writes span events, and that reads private names of the SDK: `_limits`,
`_events` and `_span_processor`. Each read is guarded, since another SDK version may not have them.
"""

from __future__ import annotations

import functools
import time
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import NonRecordingSpan, Span, SpanContext, SpanKind, TracerProvider

from failgraph.codec import AttributeLimits
from failgraph.codec.attributes import Attributes, text_attributes
from failgraph.semconv import CAUSE_ID, EVENT_NAME, FAILURE_SPAN, ROLLOUT_ID

_MAX_PIPELINES = 8


class SpanLimits(NamedTuple):
    """What the provider of a span allows; None is no limit, or one that cannot be read.

    Attributes:
        events: Events of the span.
        links: Links of the span.
        event: Attributes of an event.
        span: Attributes of the span.
        link: Attributes of a link.
    """

    events: int | None
    links: int | None
    event: AttributeLimits
    span: AttributeLimits
    link: AttributeLimits


_NO_LIMITS = SpanLimits(None, None, AttributeLimits(), AttributeLimits(), AttributeLimits())


def span_limits(span: Span) -> SpanLimits:
    """Return the limits of `span`, as far as its class shows them."""
    limits = getattr(span, "_limits", None)
    if limits is None:
        return _NO_LIMITS
    try:
        return _read_limits(limits)
    except TypeError:  # limits that compare by value have no hash
        return _read_limits.__wrapped__(limits)


@functools.lru_cache(maxsize=8)  # the spans of a provider share one object
def _read_limits(limits: Any) -> SpanLimits:
    def read(name: str) -> int | None:
        value = getattr(limits, name, None)
        return value if isinstance(value, int) else None

    length = read("max_attribute_length")
    return SpanLimits(
        events=read("max_events"),
        links=read("max_links"),
        event=AttributeLimits(read("max_event_attributes"), length),
        span=AttributeLimits(read("max_span_attributes"), read("max_span_attribute_length")),
        link=AttributeLimits(read("max_link_attributes"), length),
    )


def is_live(span: Span) -> bool:
    """Return True if what is written on `span` now will be exported."""
    return span.is_recording() and span.get_span_context().trace_flags.sampled


def has_event_room(span: Span, limit: int | None) -> bool:
    """Return True if one more event on `span` evicts none. `limit` is its limit of events."""
    # The public property copies all events.
    events: Any = getattr(span, "_events", None) or getattr(span, "events", ())
    return limit is None or len(events) < limit


def has_link_room(span: Span) -> bool:
    """Return True if one more link on `span` evicts none."""
    limit = span_limits(span).links
    return hasattr(span, "add_link") and (limit is None or len(getattr(span, "links", ())) < limit)


def has_link(span: Span, target: SpanContext) -> bool:
    """Return True if `span` already links to `target`, by a link of the program's own."""
    return any(is_same_span(link.context, target) for link in getattr(span, "links", ()))


def is_local_root(span: Span) -> bool:
    """Return True if no span of this process is above `span`, as far as it shows."""
    parent = getattr(span, "parent", None)
    return parent is None or parent.is_remote


def is_same_span(one: SpanContext, other: SpanContext) -> bool:
    """Return True if two contexts belong to one span."""
    return (one.trace_id, one.span_id) == (other.trace_id, other.span_id)


def attributes_of(span: Span) -> Mapping[str, object]:
    """Return the attributes of `span`; empty if its class does not show them."""
    attributes = getattr(span, "attributes", None)
    return attributes if isinstance(attributes, Mapping) else {}


def start_time(span: Span) -> int:
    """Return when `span` started, in ns since the epoch; 0 if its class does not show it."""
    value = getattr(span, "start_time", None)
    return value if isinstance(value, int) else 0


def emit(span: Span, attributes: Attributes, time_unix_nano: int) -> None:
    """Write one failure event.

    Every event passes here: the span-event API is to be deprecated in favour of log records (OTEP
    4430).
    """
    span.add_event(EVENT_NAME, attributes, timestamp=time_unix_nano)


def link_attributes(span: Span, cause_id: str) -> Attributes:
    """Return the attributes of a link to the span of a cause, as far as the span's limits allow."""
    limit, length = span_limits(span).link
    attributes = text_attributes(CAUSE_ID, cause_id, length)
    return attributes if limit is None or len(attributes) <= limit else {}


def start_failure_span(
    stands_for: Span, time_unix_nano: int, pipelines: Pipelines, rollout_id: str | None = None
) -> Span | None:
    """Start a failure span below `stands_for`, through its pipeline.

    It names its rollout itself: the spans that do may never arrive if their process is killed. The
    caller writes its event and ends it with `end_failure_span`.

    Returns:
        The span, or None if it would not be exported.
    """
    context = stands_for.get_span_context()
    if not context.is_valid or not context.trace_flags.sampled:
        return None
    parent = NonRecordingSpan(_as_local(context))
    attributes: dict[str, str | bool] = {FAILURE_SPAN: True}
    if rollout_id is not None:
        attributes[ROLLOUT_ID] = rollout_id
    tracer = pipelines.provider_of(stands_for).get_tracer("failgraph")
    span = tracer.start_span(
        EVENT_NAME,
        context=trace.set_span_in_context(parent, Context()),
        kind=SpanKind.INTERNAL,
        attributes=attributes,
        start_time=time_unix_nano,
    )
    is_in_trace = span.get_span_context().trace_id == context.trace_id
    return span if is_live(span) and is_in_trace else None


def end_failure_span(span: Span, start_unix_nano: int) -> None:
    """End a failure span now, and not before its start."""
    span.end(max(time.time_ns(), start_unix_nano))


def _as_local(context: SpanContext) -> SpanContext:
    return SpanContext(
        context.trace_id, context.span_id, False, context.trace_flags, context.trace_state
    )


class Pipelines:
    """The pipelines of spans: providers that export through them, and what there is to flush.

    A tracer of the global provider would lose the failure span of a span that any other provider
    made.
    """

    def __init__(self) -> None:
        # Processor, resource and provider, by the ids of the first two. The entry keeps both alive,
        # so that no other object can get their ids.
        self._providers: OrderedDict[tuple[int, int], tuple[Any, Any, TracerProvider]] = (
            OrderedDict()
        )
        self._written: WeakValueDictionary[int, Any] = WeakValueDictionary()  # processors, by id

    def note_written(self, span: Span) -> None:
        """Remember, for as long as it lives, the processor of a span that a failure was written on.

        Does nothing if the class of the span does not show it.
        """
        processor = getattr(span, "_span_processor", None)
        if processor is not None and self._written.get(id(processor)) is not processor:
            with suppress(TypeError):  # its class may allow no weak reference
                self._written[id(processor)] = processor

    def provider_of(self, span: Span) -> TracerProvider:
        """Return a provider with the processor, resource and limits of `span`.

        If its class does not show them, that is the global provider.
        """
        processor = getattr(span, "_span_processor", None)
        resource = getattr(span, "resource", None)
        if processor is None or resource is None:
            return trace.get_tracer_provider()
        key = (id(processor), id(resource))
        entry = self._providers.get(key)
        if entry is None:
            entry = (processor, resource, _make_provider(processor, resource, span))
            self._providers[key] = entry
            if len(self._providers) > _MAX_PIPELINES:
                self._providers.popitem(last=False)
        return entry[2]

    def processors(self) -> list[Any]:
        """Return the processors of the spans that failures were written on."""
        return [each for ref in self._written.valuerefs() if (each := ref()) is not None]


def is_failure_span_provider(provider: object) -> bool:
    """Return True if failgraph made `provider` to share the pipeline of another one."""
    return getattr(type(provider), "_failgraph_shares", False) is True


@functools.cache
def _provider_class() -> type[Any]:
    # A span has a processor, so the SDK is loaded already.
    from opentelemetry.sdk.trace import TracerProvider as SdkTracerProvider

    return type("FailureSpanProvider", (SdkTracerProvider,), {"_failgraph_shares": True})


def _make_provider(processor: Any, resource: Any, span: Span) -> TracerProvider:
    from opentelemetry.sdk.trace.sampling import ALWAYS_ON

    return _provider_class()(  # type: ignore[no-any-return]
        sampler=ALWAYS_ON,
        resource=resource,
        shutdown_on_exit=False,
        active_span_processor=processor,
        span_limits=getattr(span, "_limits", None),
    )
