"""Compare readings: the same traces must read the same through each dialect and backend."""

from __future__ import annotations

from typing import Any

from builders import event
from dialects import merged
from failgraph.codec import encode_event
from failgraph.readers import Reading, Trace
from otlp_file import (
    CLIENT,
    CONSUMER,
    PREFIX,
    SECOND,
    SERVER,
    TRACE,
    failure_span,
    process,
    raw_event,
    reported,
    seen,
    span,
)

SHORT = f"{7:032x}"  # a trace id that Jaeger prints with 16 digits
OTHER = "f" * 32
MICRO = 1000  # ns in 1 µs, the resolution of Jaeger


def essence(trace: Trace) -> dict[str, Any]:
    """Return what is known of a trace, without times and process ids."""
    return {
        "trace": (trace.trace_id, trace.service, trace.root.span_id if trace.root else None),
        "report": trace.report,
        "root cause": (trace.root_cause, trace.recovered),
        "order": list(trace.failures),
        "places": {
            key: (
                each.span.trace_id,
                each.span.span_id,
                each.stands_on.span_id,
                each.placement,
                each.decoded.remote,
            )
            for key, each in trace.failures.items()
        },
        "hops": {
            hop.span.span_id: (
                hop.report,
                hop.unreported,
                hop.failures,
                hop.parent and hop.parent.span.span_id,
            )
            for hop in trace.hops
        },
        "spans": {
            hop.span.span_id: (
                each.name,
                each.kind,
                each.status,
                each.service,
                each.parent_span_id,
                each.attributes,
            )
            for hop in trace.hops
            for each in [hop.span]
        },
        "losses": sorted(trace.losses),
    }


def times(trace: Trace) -> dict[str, int]:
    """Return each time of a trace and each duration of its hops, by what it is, in ns."""
    values = {"start": trace.start_unix_nano}
    values.update(
        (f"failure {key}", failure.time_unix_nano) for key, failure in trace.failures.items()
    )
    for hop in trace.hops:
        values[f"start of {hop.span.span_id}"] = hop.span.start_unix_nano
        values[f"duration of {hop.span.span_id}"] = (
            -1 if hop.span.duration_nano is None else hop.span.duration_nano
        )
    return values


def same(actual: Reading, expected: Reading) -> None:
    """Assert that both readings are the same, with times within 1 µs.

    The duration of a trace may differ by 2 µs: it is made of a start and a duration.
    """
    assert actual.losses == expected.losses
    assert actual.trace_ids == expected.trace_ids
    assert [essence(trace) for trace in actual.traces] == [
        essence(trace) for trace in expected.traces
    ]
    for ours, theirs in zip(actual.traces, expected.traces, strict=True):
        assert times(ours).keys() == times(theirs).keys()
        assert max(abs(times(ours)[key] - time) for key, time in times(theirs).items()) < MICRO
        assert abs((ours.duration_nano or 0) - (theirs.duration_nano or 0)) < 2 * MICRO


def shapes() -> dict[str, dict[str, Any]]:
    """Return documents by name: traces as of the demo, and the damage that backends do to them."""
    chain = [
        process(
            span(
                1,
                None,
                seen(event("d", cause_id="c"), 900),
                attributes=reported("a", "b", "c", "d", own="d"),
            ),
            service="collector",
        ),
        process(
            span(2, 1, kind=CLIENT, start=3),
            span(
                3,
                2,
                seen(event("c", cause_id="b"), 800),
                kind=SERVER,
                attributes=reported("a", "b", "c", own="c"),
            ),
            service="agent",
        ),
        process(
            span(
                4,
                3,
                *[
                    seen(
                        event(
                            "a",
                            kind="sandbox:killed",
                            boundary="sandbox",
                            details={"exit_code": 2**70},
                        ),
                        100_123,
                    )
                ],
                *[seen(event("b", cause_id="a", failure_reason="日本 " * 660), 200_456)],
                kind=SERVER,
                attributes=reported("a", "b", own="b"),
                status={"code": 2, "message": "session_lost"},
            ),
            service="environment",
        ),
    ]
    failing = seen(event("e"), 5)
    no_id = encode_event(event("e"))
    del no_id[PREFIX + "id"]
    link = {"traceId": TRACE, "spanId": f"{1:016x}"}
    odd = "<&>\u2028\x00"
    return {
        "a chain through three processes": merged(*chain),
        "a recovered failure": process(
            span(1, None, attributes=reported("a", "b", own="b")),
            span(2, 1, seen(event("a"), 100_000), seen(event("b"), 200_000)),
        ),
        "a failure span": process(span(1, attributes=reported("e")), failure_span(2, 1, failing)),
        "late, cut and no reply": process(
            span(1, attributes=reported("x", omitted=True)),
            span(
                2, 1, seen(event("x"), 1_000), kind=SERVER, attributes=reported("x", omitted=True)
            ),
            span(3, 2, seen(event("y"), 5_000), seen(event("z"), 9_000, late=True), kind=CONSUMER),
        ),
        "a peer's copy": merged(
            process(span(1, None, seen(event("e"), 7_000, remote=True)), service="one"),
            process(span(2, 1, failing)),
        ),
        "a span that has not ended": process(span(1, None, failing, end=None)),
        "a span that ends before it starts": process(span(1, None, failing, start=SECOND, end=5)),
        "a lost parent": process(span(2, 1, failing)),
        "no parent, but a link into another trace": process(
            span(1, None, failing, links=[{"traceId": OTHER, "spanId": f"{9:016x}"}])
        ),
        "links inside the trace": process(
            span(
                1, None, seen(event("e"), 5_000), links=[{"traceId": TRACE, "spanId": f"{3:016x}"}]
            ),
            span(2, 1, start=2_000),
            span(3, 2, seen(event("f"), 9_000), start=4_000, links=[link, link]),
        ),
        "a link to the parent": process(
            span(1, attributes=reported("e", own="e")),
            span(
                2,
                1,
                failing,
                start=2_000,
                kind=SERVER,
                attributes=reported("e", own="e"),
                links=[link],
            ),
        ),
        "two traces, the cause in the other": process(
            span(1, None, seen(event("e", cause_id="f"), 5)),
            span(1, None, seen(event("f"), 9), trace=SHORT),
        ),
        "a ring of causes": process(
            span(1, None, seen(event("a", cause_id="b"), 5), seen(event("b", cause_id="a"), 9_000))
        ),
        "a missing cause and a missing event": process(
            span(1, None, seen(event("a", cause_id="b"), 5), attributes=reported("a", "c", own="a"))
        ),
        "an event without an id": process(
            span(1, None, raw_event(no_id, 5), seen(event("f"), 9_000))
        ),
        "two observers": process(span(1, None, failing), span(2, 1, failing)),
        "no service": {
            "resourceSpans": [{"resource": {}, "scopeSpans": [{"spans": [span(1, None, failing)]}]}]
        },
        "lists that are none": process(
            span(1, None, failing, attributes={**reported(), PREFIX + "report.ids": "e"})
        ),
        "attributes of other types": process(
            span(
                1,
                None,
                failing,
                attributes={**reported("e"), PREFIX + "report.omitted": True, "other": 2**62},
            ),
            span(
                2,
                1,
                raw_event(
                    {**encode_event(event("g")), PREFIX + "seq": 2**60, PREFIX + "new": True}, 9_000
                ),
            ),
        ),
        "ids of many kinds": process(
            span(
                1,
                None,
                seen(event(odd), 5),
                seen(event("日本"), 9_000),
                attributes=reported(odd, "日本"),
            )
        ),
    }
