"""Putting one event on a span: on the live one while it has room, else on a failure span in the same trace.

The only module that emits, and that reads private names of the SDK: `_limits`, `_events` and `_span_processor`.
"""

from __future__ import annotations

import functools
import time
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, NamedTuple

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import NonRecordingSpan, Span, SpanContext, SpanKind, TracerProvider

from failgraph.codec import AttributeLimits as Limits
from failgraph.codec.attributes import Attributes, text_attributes
from failgraph.semconv import CAUSE_ID, EVENT_NAME, FAILURE_SPAN, ROLLOUT_ID

_MAX_PIPELINES = 8


class SpanLimits(NamedTuple):
    """What the provider of a span allows; None is no limit, or one that cannot be read."""

    events: int | None
    links: int | None
    event: Limits
    """Of the attributes of an event."""
    span: Limits
    """Of the attributes of the span."""
    link: Limits
    """Of the attributes of a link."""


def span_limits(span: Span) -> SpanLimits:
    """The limits of `span`, as far as its class shows them."""
    limits = getattr(span, "_limits", None)
    if limits is None:
        return _UNKNOWN
    try:
        return _limits_of(limits)
    except TypeError:  # of a class that compares by value
        return _limits_of.__wrapped__(limits)


@functools.lru_cache(maxsize=8)
def _limits_of(limits: Any) -> SpanLimits:
    """Of each provider once: its spans share one object."""

    def read(name: str) -> int | None:
        value = getattr(limits, name, None)
        return value if isinstance(value, int) else None

    length = read("max_attribute_length")
    return SpanLimits(
        events=read("max_events"),
        links=read("max_links"),
        event=Limits(read("max_event_attributes"), length),
        span=Limits(read("max_span_attributes"), read("max_span_attribute_length")),
        link=Limits(read("max_link_attributes"), length),
    )


_UNKNOWN = SpanLimits(None, None, Limits(), Limits(), Limits())


def is_live(span: Span) -> bool:
    """Whether what is written on `span` now is exported."""
    return span.is_recording() and span.get_span_context().trace_flags.sampled


def has_room(span: Span, most: int | None) -> bool:
    """Whether one more event on `span`, which takes at `most` so many, evicts none."""
    # What stands under the public name is a copy of all of them.
    events: Any = getattr(span, "_events", None) or getattr(span, "events", ())
    return most is None or len(events) < most


def has_link_room(span: Span) -> bool:
    """Whether one more link on `span` evicts none."""
    most = span_limits(span).links
    return hasattr(span, "add_link") and (most is None or len(getattr(span, "links", ())) < most)


def links_to(span: Span, target: SpanContext) -> bool:
    """Whether `span` has a link to `target` already, the user's own."""
    return any(same_span(link.context, target) for link in getattr(span, "links", ()))


def is_local_root(span: Span) -> bool:
    """Whether no span of this process is above `span`, as far as it says."""
    parent = getattr(span, "parent", None)
    return parent is None or parent.is_remote


def same_span(one: SpanContext, other: SpanContext) -> bool:
    """Whether two contexts are of one span."""
    return (one.trace_id, one.span_id) == (other.trace_id, other.span_id)


def attributes_of(span: Span) -> Mapping[str, object]:
    """What stands on `span` now; empty where it does not say."""
    attributes = getattr(span, "attributes", None)
    return attributes if isinstance(attributes, Mapping) else {}


def emit(span: Span, attributes: Attributes, time_unix_nano: int) -> None:
    """Write one failure event. All events pass here: the span-event API is on its way to named log records."""
    span.add_event(EVENT_NAME, attributes, timestamp=time_unix_nano)


def link_attributes(span: Span, cause_id: str) -> Attributes:
    """The attributes of a link to the span of the failure `cause_id`, as far as the span's limits allow."""
    most, length = span_limits(span).link
    attributes = text_attributes(CAUSE_ID, cause_id, length)
    return attributes if most is None or len(attributes) <= most else {}


def start_time(span: Span) -> int:
    """When `span` started, in ns since the epoch; 0 where it does not say."""
    value = getattr(span, "start_time", None)
    return value if isinstance(value, int) else 0


def failure_span(
    stands_for: Span, time_unix_nano: int, pipelines: Pipelines, rollout_id: str | None = None
) -> Span | None:
    """A started failure span below `stands_for`, through its pipeline; None where it would not be exported.

    It names its rollout itself: the spans that do may never come, if their process is killed.
    The caller writes its event and ends it with `end_failure_span`.
    """
    context = stands_for.get_span_context()
    if not context.is_valid or not context.trace_flags.sampled:
        return None
    span = (
        pipelines.provider_of(stands_for)
        .get_tracer("failgraph")
        .start_span(
            EVENT_NAME,
            context=trace.set_span_in_context(NonRecordingSpan(_local(context)), Context()),
            kind=SpanKind.INTERNAL,
            attributes={FAILURE_SPAN: True}
            | ({} if rollout_id is None else {ROLLOUT_ID: rollout_id}),
            start_time=time_unix_nano,
        )
    )
    return span if is_live(span) and span.get_span_context().trace_id == context.trace_id else None


def end_failure_span(span: Span, started: int) -> None:
    """End a failure span now."""
    span.end(max(time.time_ns(), started))


def _local(context: SpanContext) -> SpanContext:
    return SpanContext(
        context.trace_id, context.span_id, False, context.trace_flags, context.trace_state
    )


class Pipelines:
    """Providers that export through the pipeline and under the resource of a given span.

    A tracer of the global provider alone would lose the failure span of a span made by any other provider.
    """

    def __init__(self) -> None:
        self._providers: OrderedDict[tuple[int, int], tuple[Any, Any, TracerProvider]] = (
            OrderedDict()
        )

    def provider_of(self, span: Span) -> TracerProvider:
        """A provider with the processor, resource and limits of `span`; the global one where they cannot be read."""
        processor, resource = (
            getattr(span, "_span_processor", None),
            getattr(span, "resource", None),
        )
        if processor is None or resource is None:
            return trace.get_tracer_provider()
        key = (id(processor), id(resource))
        # The entry keeps both alive, so that their ids stay theirs.
        found = self._providers.get(key)
        if found is None:
            found = self._providers[key] = (
                processor,
                resource,
                _provider(processor, resource, span),
            )
            if len(self._providers) > _MAX_PIPELINES:
                self._providers.popitem(last=False)
        return found[2]

    def known(self) -> list[TracerProvider]:
        """The providers made so far."""
        return [provider for _, _, provider in list(self._providers.values())]


def shares_a_pipeline(provider: object) -> bool:
    """Whether `provider` is one of ours, which exports through the pipeline of another."""
    return getattr(type(provider), "_failgraph_shares", False) is True


@functools.cache
def _sharing() -> type[Any]:
    # The span has a processor, so the SDK is loaded.
    from opentelemetry.sdk.trace import TracerProvider as SdkTracerProvider

    return type("FailureSpanProvider", (SdkTracerProvider,), {"_failgraph_shares": True})


def _provider(processor: Any, resource: Any, span: Span) -> TracerProvider:
    from opentelemetry.sdk.trace.sampling import ALWAYS_ON

    return _sharing()(  # type: ignore[no-any-return]
        sampler=ALWAYS_ON,
        resource=resource,
        shutdown_on_exit=False,
        active_span_processor=processor,
        span_limits=getattr(span, "_limits", None),
    )
