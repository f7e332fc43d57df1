"""OTLP JSON back to failure graphs: what is read, what is said to be lost, and which rule decides each field."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

import failgraph
from builders import event
from failgraph import FailureReport
from failgraph.codec import encode_event
from failgraph.errors import SourceError
from failgraph.losses import Loss
from failgraph.readers import HopRecord, Trace, read, spans
from failgraph.view import list_row, show_row
from otlp_file import (
    CLIENT,
    CONSUMER,
    INTERNAL,
    PREFIX,
    PRODUCER,
    SECOND,
    SERVER,
    T0,
    TRACE,
    failure_span,
    pairs,
    process,
    raw_event,
    reported,
    seen,
    span,
    write,
)

OTHER_TRACE = "f" * 32


@pytest.fixture
def file(tmp_path: Path) -> Callable[..., Path]:
    """Write documents as OTLP JSON lines."""
    return lambda *documents: write(tmp_path / "traces.jsonl", *documents)


@pytest.fixture
def one(file: Callable[..., Path]) -> Callable[..., Trace]:
    """Read documents that hold one trace with failures."""

    def read_one(*documents: object) -> Trace:
        (trace,) = read(file(*documents)).traces
        return trace

    return read_one


def kinds(losses: tuple[Loss, ...]) -> list[str]:
    """The kinds of losses, sorted."""
    return sorted(loss.kind for loss in losses)


def hop(trace: Trace, number: int) -> HopRecord:
    """The hop of a span."""
    return next(each for each in trace.hops if each.span.span_id == f"{number:016x}")


def failing(number: int = 1, **others: Any) -> dict[str, Any]:
    """A span with one failure."""
    return span(number, None, seen(event("e1"), 5), **others)


# --- files


def forms() -> dict[str, bytes]:
    """The same two spans in each form of a file."""
    first, second = process(span(1)), process(span(2, 1, seen(event("e1"), 5)))
    both = {"resourceSpans": first["resourceSpans"] + second["resourceSpans"]}
    lines = [json.dumps(first).encode(), json.dumps(second).encode()]
    return {
        "lines": b"\n".join(lines) + b"\n",
        "no newline at the end": b"\n".join(lines),
        "CRLF and empty lines": b"\r\n\r\n" + b"\r\n \r\n".join(lines),
        "one document": json.dumps(both).encode(),
        "one pretty-printed document": json.dumps(both, indent=2).encode(),
        "pretty-printed, empty line first": b"\n\n" + json.dumps(both, indent=4).encode() + b"\n\n",
        "a byte order mark": b"\xef\xbb\xbf" + json.dumps(both).encode(),
    }


@pytest.mark.parametrize("form", forms())
def test_each_form_of_a_file_is_read(form: str, tmp_path: Path) -> None:
    """JSON lines and one document, pretty-printed too, give the same spans without a loss."""
    (tmp_path / "f").write_bytes(forms()[form])
    reading = read(tmp_path / "f")
    assert (reading.trace_count, reading.losses) == (1, ())
    assert list(reading.traces[0].report.events) == ["e1"]
    assert [each.name for each in spans(tmp_path / "f")] == ["span-1", "span-2"]


def test_what_the_sdk_writes_is_read(
    make_provider: Callable[..., TracerProvider], tmp_path: Path, exporter: Any
) -> None:
    """A report written through the real SDK and its OTLP JSON file exporter comes back as the hop knew it."""
    module = pytest.importorskip("opentelemetry.exporter.otlp.json.file")
    provider = make_provider()
    provider.add_span_processor(SimpleSpanProcessor(module.FileSpanExporter(tmp_path / "f")))
    tracer = provider.get_tracer("test")
    root = event(
        "root",
        boundary="sandbox",
        kind="provider_oom_killed",
        details={"exit_code": 2**70, "provider": ""},
    )
    effect = event(
        "effect", cause_id="root", failure_reason="€" * 1500 + "\x00\x1b😀", http_status=502
    )
    with tracer.start_as_current_span("rollout"), failgraph.hop():
        failgraph.record(root)
        with tracer.start_as_current_span("inner"):
            failgraph.record(effect, own=True)
        wanted = failgraph.current_report()
    provider.force_flush()
    reading = read(tmp_path / "f")
    (trace,) = reading.traces
    by_name = {each.name: each for each in exporter.get_finished_spans()}
    assert wanted == FailureReport(events={"root": root, "effect": effect}, failure_id="effect")
    assert trace.report == wanted
    assert hop(trace, by_name["rollout"].context.span_id).report == wanted
    assert trace.losses == ()
    assert trace.start_unix_nano == by_name["rollout"].start_time
    assert trace.duration_nano == by_name["rollout"].end_time - by_name["rollout"].start_time
    for key, name in (("root", "rollout"), ("effect", "inner")):
        assert trace.failures[key].span.name == name
        assert trace.failures[key].time_unix_nano == by_name[name].events[0].timestamp


def test_broken_lines_are_named_and_the_rest_is_read(file: Callable[..., Path]) -> None:
    """A broken line is a bad_line with its number; the others are read."""
    reading = read(
        file(
            process(failing()), b'{"token": "hunter2', process(span(2, 1)), b"\xff\xfe", b"not json"
        )
    )
    assert list(reading.traces[0].report.events) == ["e1"]
    assert kinds(reading.losses) == ["bad_line"] * 3
    for number, loss in zip((2, 4, 5), reading.losses, strict=True):
        assert f"line {number} " in loss.detail + " "
    assert "hunter2" not in repr(reading)


def test_many_broken_lines_are_counted(file: Callable[..., Path]) -> None:
    """However many lines are broken, the losses stay few and together count them all."""
    reading = read(file(process(failing()), *[b"broken"] * 1000))
    assert len(reading.losses) < 100
    assert f"{1000 - (len(reading.losses) - 1)} " in reading.losses[-1].detail


@pytest.mark.parametrize(
    "ids",
    [
        {"traceId": None},
        {"traceId": "0" * 32},
        {"traceId": "xyz"},
        {"spanId": ""},
        {"spanId": "0" * 16},
        {"spanId": 7},
    ],
)
def test_a_span_without_an_id_is_a_bad_line(ids: dict[str, Any], file: Callable[..., Path]) -> None:
    """A span without a usable id is named with its line, and the rest is read."""
    reading = read(file(process(failing()), process({**span(2), **ids})))
    assert (len(reading.traces), kinds(reading.losses)) == (1, ["bad_line"])
    assert "line 2" in reading.losses[0].detail


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "empty"),
        (b"\n \n", "empty"),
        (b"hello\nworld\n", "2 lines"),
        (b'{"resourceLogs": []}\n{"resourceLogs": []}\n', "logs"),
        (b'{"resourceMetrics": []}', "metrics"),
        (b'{"data": []}', "1 JSON document"),
        (b"\x1f\x8b\x08\x00abc", "gzip"),
        (b"[]", "1 JSON document"),
        (json.dumps(process()).encode(), "1 JSON document"),
    ],
)
def test_a_file_without_a_trace_says_what_it_holds(
    content: bytes, said: str, tmp_path: Path
) -> None:
    """A file that holds no trace is a SourceError that names the file and what was found instead."""
    path = tmp_path / "f"
    path.write_bytes(content)
    for reader in (read, lambda source: list(spans(source))):
        with pytest.raises(SourceError) as caught:
            reader(path)
        assert said in str(caught.value)
        assert str(path) in str(caught.value)


def test_a_source_that_cannot_be_opened_is_a_source_error(tmp_path: Path) -> None:
    """A missing file and a directory are SourceErrors that say why."""
    for path, why in (
        (tmp_path / "missing", os.strerror(2)),
        (tmp_path, "a directory without .jsonl files"),
    ):
        with pytest.raises(SourceError, match=why):
            read(path)


def test_a_pipe_is_read_or_refused_with_a_reason(tmp_path: Path) -> None:
    """A source that can be read only once is read, or refused in words."""
    ends = os.pipe()
    with os.fdopen(ends[1], "wb") as writer:
        writer.write(json.dumps(process(failing())).encode())
    try:
        assert len(read(f"/dev/fd/{ends[0]}").traces) == 1
    except SourceError as error:
        assert "None" not in str(error)
    finally:
        os.close(ends[0])


def test_traces_without_failures_are_counted(file: Callable[..., Path]) -> None:
    """No failures in N traces is no error, and N is exact."""
    reading = read(
        file(*(process(span(1, trace=f"{number:032x}"), span(2, 1)) for number in range(1, 13)))
    )
    assert (reading.traces, reading.trace_count, reading.losses) == ([], 13, ())
    assert read(file(process(span(1)), process(failing(trace=OTHER_TRACE)))).trace_count == 2


def test_the_same_span_twice_is_one_span(one: Callable[..., Trace]) -> None:
    """A repeated span doubles nothing and is no duplicate; of two states the ended one is taken."""
    trace = one(
        process(failing(end=None)),
        process(failing()),
        process(failing(end=None)),
        process(failing()),
    )
    assert list(trace.report.events) == ["e1"]
    assert trace.losses == ()
    assert trace.duration_nano == SECOND


def test_a_failure_is_kept_once(one: Callable[..., Trace]) -> None:
    """Of the events only those are kept that say where a cause elsewhere is; what many failures say is one text."""
    named = raw_event(
        {**encode_event(event("a", cause_id="x")), PREFIX + "cause.trace_id": OTHER_TRACE}
    )
    trace = one(process(span(1, None, named, seen(event("b")), seen(event("c")))))
    (kept,) = trace.failures["a"].span.events
    assert kept.attributes[PREFIX + "id"] == "a"
    first, second, third = (trace.failures[key].event for key in "abc")
    assert first.failure_kind is second.failure_kind
    assert second.model_fields_set is third.model_fields_set
    changed = third.model_copy(update={"stage": "agent"})
    assert changed.model_fields_set - second.model_fields_set == {"stage"}


def test_traces_are_ordered_by_start(file: Callable[..., Path]) -> None:
    """Traces come by their start, whatever the order in the file."""
    reading = read(file(process(failing(start=9)), process(failing(trace=OTHER_TRACE, start=4))))
    assert [trace.trace_id for trace in reading.traces] == [OTHER_TRACE, TRACE]


def test_ids_are_lower_case(one: Callable[..., Trace]) -> None:
    """Ids in upper-case hex name the same spans."""
    child = {
        **span(0xBC, 0xAB, seen(event("e1"))),
        "traceId": TRACE.upper(),
        "parentSpanId": f"{0xAB:016X}",
    }
    trace = one(process(span(0xAB), child))
    assert trace.trace_id == TRACE
    assert trace.losses == ()


def test_secrets_are_not_kept(file: Callable[..., Path]) -> None:
    """Attributes that failgraph does not need, of resource, span and foreign events, are nowhere in the result."""
    secret = "hunter2"
    kept = failing(
        attributes={"http.request.header.authorization": secret, "nemo.gym.rollout.id": "r1"}
    )
    kept["events"] += [
        raw_event({"exception.message": secret}, name="exception"),
        raw_event({"other": secret}, 1),
    ]
    kept["status"] = {"message": secret}
    path = file(
        process(kept, token=secret, **{"service.instance.id": secret}), f'"{secret}'.encode()
    )
    assert secret not in repr(read(path))
    assert secret not in repr(list(spans(path)))
    assert "gym" in repr(list(spans(path)))
    assert "r1" in repr(list(spans(path)))


@pytest.mark.parametrize(
    "junk",
    [
        {"resourceSpans": [None, 5, {"scopeSpans": [None, {"spans": [None, [], "x"]}]}]},
        {"resourceSpans": {"a": 1}},
        process(
            {
                **span(9),
                "kind": "SERVER",
                "startTimeUnixNano": {},
                "events": [5, {"name": None}],
                "name": 3,
            }
        ),
        process(
            {
                **span(9),
                "attributes": [
                    {"key": 5},
                    {"key": PREFIX + "report.ids", "value": {"arrayValue": 4}},
                ],
            }
        ),
        process({**span(9), "startTimeUnixNano": "--5"}),
        process({**span(9), "startTimeUnixNano": "-" * 20, "endTimeUnixNano": 1e400, "kind": 99}),
        process({**span(9), "events": [raw_event({PREFIX + "id": "e9"}), raw_event({})]}),
        process({**span(9), "attributes": {"a": "b"}, "droppedEventsCount": "many", "flags": -1}),
        process(
            {
                **span(9),
                "attributes": pairs(
                    {PREFIX + "schema_version": 1, PREFIX + "report.id": "i" * 129}
                ),
            }
        ),
    ],
)
def test_junk_is_read_without_an_exception(junk: object, file: Callable[..., Path]) -> None:
    """Whatever JSON stands in the file, what can be read is read."""
    reading = read(file(junk, process(failing())))
    trace = next(trace for trace in reading.traces if "e1" in trace.report.events)
    json.dumps(show_row(trace))


@pytest.mark.parametrize("key", ["i" * 129, "x\ud800y"], ids=["too-long", "surrogate"])
def test_an_own_id_out_of_bounds_is_read(key: str, one: Callable[..., Trace]) -> None:
    """An own failure that no report can name is a loss, not the end of the command."""
    attributes = {**encode_event(event("e1")), PREFIX + "id": key}
    trace = one(process(span(1, None, raw_event(attributes), attributes=reported(key, own=key))))
    assert len(trace.report.events) == 1
    assert trace.report.failure_id is not None or trace.losses


@pytest.mark.parametrize("wrong", ["x", "", "1e3", "99999999999999999999999"])
def test_an_integer_that_is_none_is_not_made_up(wrong: str, one: Callable[..., Trace]) -> None:
    """An exit code that cannot be read is left out and named: 0 would be a lie."""
    encoded = seen(event("e1", boundary="sandbox", details={"exit_code": 137}))
    pair = next(pair for pair in encoded["attributes"] if pair["key"].endswith("exit_code"))
    pair["value"] = {"intValue": wrong}
    trace = one(process(span(1, None, encoded)))
    details = trace.report.events["e1"].details
    assert details is None or details.exit_code is None
    assert trace.losses


def test_integers_may_be_numbers(one: Callable[..., Trace]) -> None:
    """The JSON encoding allows 64-bit integers as numbers too."""
    encoded = seen(event("e1", boundary="sandbox", details={"exit_code": -9}))
    for pair in encoded["attributes"]:
        if "intValue" in pair["value"]:
            pair["value"] = {"intValue": int(pair["value"]["intValue"])}
    encoded["timeUnixNano"] = T0 + 3
    trace = one(process(span(1, None, encoded)))
    assert trace.losses == ()
    assert trace.report.events["e1"].details.exit_code == -9
    assert trace.failures["e1"].time_unix_nano == T0 + 3


# --- hops


@pytest.mark.parametrize(
    ("inner", "is_hop"),
    [
        ({"kind": INTERNAL}, False),
        ({"kind": CLIENT}, False),
        ({"kind": PRODUCER}, False),
        ({"kind": SERVER}, True),
        ({"kind": CONSUMER}, True),
        ({"kind": INTERNAL, "attributes": {PREFIX + "schema_version": 1}}, True),
    ],
)
def test_which_spans_are_hops(
    inner: dict[str, Any], is_hop: bool, one: Callable[..., Trace]
) -> None:
    """SERVER and CONSUMER spans and those with schema_version are hops; a failure belongs to the nearest above it."""
    trace = one(process(span(1), span(2, 1, **inner), span(3, 2, seen(event("e1")))))
    assert hop(trace, 2 if is_hop else 1).failures == ["e1"]
    assert [each.span.span_id for each in trace.hops if each.failures] == [
        f"{2 if is_hop else 1:016x}"
    ]


def test_where_a_process_begins_there_is_a_hop(one: Callable[..., Trace]) -> None:
    """A span whose parent is of another process, or not in the source, is a hop."""
    trace = one(process(span(1)), process(span(2, 1, seen(event("e1"))), service="other"))
    assert hop(trace, 2).failures == ["e1"]
    trace = one(process(span(1)), process(span(2, 99, seen(event("e1")))))
    assert hop(trace, 2).failures == ["e1"]


def test_two_processes_of_one_service_are_told_apart(one: Callable[..., Trace]) -> None:
    """Another process is another resource, not another service name."""
    named = {"service.instance.id": "two"}
    trace = one(process(span(1)), process(span(2, 1, seen(event("e1"))), **named))
    assert hop(trace, 2).failures == ["e1"]


def test_a_failure_span_is_no_hop(one: Callable[..., Trace]) -> None:
    """A failure span is never a hop: its failure belongs to the hop above, with its own placement."""
    held = failure_span(3, 2, seen(event("e1"), 7), kind=SERVER)
    trace = one(process(span(1), span(2, 1, kind=SERVER)), process(held, service="other"))
    assert hop(trace, 2).failures == ["e1"]
    assert not [each for each in trace.hops if each.span.name == "nemo.gym.failure"]
    assert trace.failures["e1"].placement == "failure_span"
    assert trace.failures["e1"].time_unix_nano == T0 + 7


def test_a_failure_span_is_not_the_root(one: Callable[..., Trace]) -> None:
    """A failure span without a parent does not stand for the trace."""
    lone = {**failure_span(3, 1, seen(event("e1"))), "parentSpanId": ""}
    trace = one(process(lone, span(2, None, start=5, attributes=reported("e1", own="e1"))))
    assert trace.root is not None
    assert trace.root.span_id == f"{2:016x}"
    assert trace.report.failure_id == "e1"


# --- reports


def test_a_hop_s_report_is_what_it_wrote(one: Callable[..., Trace]) -> None:
    """A hop's report holds the ids that it wrote down; a cause outside them is cleared in it and kept in the trace."""
    inner = span(
        2,
        1,
        seen(event("a")),
        seen(event("b", cause_id="a")),
        kind=SERVER,
        attributes=reported("b", own="b"),
    )
    trace = one(process(span(1, attributes=reported("b", "a")), inner))
    assert hop(trace, 2).report == FailureReport(events={"b": event("b")}, failure_id="b")
    assert hop(trace, 1).report == FailureReport(
        events={"a": event("a"), "b": event("b", cause_id="a")}
    )
    assert trace.report.events["b"].cause_id == "a"
    assert trace.report.failure_id is None
    assert trace.losses == ()


@pytest.mark.parametrize(
    ("happened", "inner", "middle", "reason"),
    [
        ({}, reported("x"), reported(), "no_reply"),
        ({}, None, None, "no_reply"),
        ({"late": True}, reported("x"), reported(), "late"),
        ({}, reported("x", omitted=True), reported(), "cut"),
        ({}, reported("x"), reported(omitted=True), "cut"),
        ({"late": True}, reported("x", omitted=True), reported(omitted=True), "late"),
    ],
)
def test_why_a_failure_is_unreported(
    happened: dict[str, bool],
    inner: dict[str, object] | None,
    middle: dict[str, object] | None,
    reason: str,
    one: Callable[..., Trace],
) -> None:
    """`late` where the event says so, else `cut` where a hop between wrote report.omitted, else `no_reply`."""
    trace = one(
        process(
            span(1, None, seen(event("own"), 2), attributes=reported("own", own="own")),
            span(2, 1, kind=SERVER, attributes=middle),
            span(
                3,
                2,
                seen(event("e1"), 5, **happened),
                seen(event("x"), 6),
                kind=SERVER,
                attributes=inner,
            ),
        )
    )
    assert hop(trace, 1).unreported["e1"] == reason
    assert "own" not in hop(trace, 1).unreported


def test_a_sibling_that_cut_is_not_between(one: Callable[..., Trace]) -> None:
    """Only a hop on the way from the failure cuts it."""
    trace = one(
        process(
            span(1, attributes=reported("s")),
            span(2, 1, seen(event("s")), kind=SERVER, attributes=reported("s", omitted=True)),
            span(3, 1, seen(event("e1")), kind=SERVER),
        )
    )
    assert hop(trace, 1).unreported == {"e1": "no_reply"}


def test_a_failure_that_a_backend_lost_is_no_cut(one: Callable[..., Trace]) -> None:
    """A hop that wrote no report.omitted cut nothing, even where the source lost a failure that it reported."""
    trace = one(
        process(
            span(1, attributes=reported("gone")),
            span(2, 1, seen(event("e1")), kind=SERVER, attributes=reported("gone")),
        )
    )
    assert hop(trace, 1).unreported == {"e1": "no_reply"}
    assert kinds(trace.losses) == ["event_missing"]


def test_a_reported_failure_is_not_unreported(one: Callable[..., Trace]) -> None:
    """What every hop above reports is unreported nowhere."""
    trace = one(
        process(
            span(1, attributes=reported("e1")),
            span(2, 1, seen(event("e1")), attributes=reported("e1", own="e1")),
        )
    )
    assert [each.unreported for each in trace.hops] == [{}, {}]


CHAIN = [
    seen(event("a"), 1),
    seen(event("b", cause_id="a"), 2),
    seen(event("r"), 3),
    seen(event("c", cause_id="b"), 4),
]


@pytest.mark.parametrize(
    ("written", "recovered"),
    [
        (reported("a", "b", "c", "r", own="c"), {"r"}),
        (reported("a", "b", "c", "r", own="b"), {"c", "r"}),
        (reported("a", "b", "c", own="c"), set()),
        (reported("a", "r"), {"a", "r"}),
        (None, None),
        ({}, None),
    ],
)
def test_what_is_recovered(
    written: dict[str, object] | None, recovered: set[str] | None, one: Callable[..., Trace]
) -> None:
    """In the root hop's report but neither its own failure nor on its chain; unknown where it wrote no report."""
    trace = one(process(span(1, attributes=written), span(2, 1, *CHAIN, kind=SERVER)))
    assert trace.recovered == recovered
    assert list_row(trace)["recovered"] == (None if recovered is None else len(recovered))


@pytest.mark.parametrize(
    ("own", "root"),
    [("c", "a"), ("b", "a"), ("r", "r"), (None, "a")],
)
def test_the_root_cause_ends_the_own_chain(
    own: str | None, root: str, one: Callable[..., Trace]
) -> None:
    """Root cause is the last event of the own failure's chain, else the earliest event without a cause."""
    trace = one(process(span(1, None, *CHAIN, attributes=reported("a", "b", "c", "r", own=own))))
    assert trace.report.failure_id == own
    assert trace.root_cause == root


@pytest.mark.parametrize(
    ("first", "second", "root"),
    [
        ((9, 0, "a"), (8, 5, "b"), "b"),
        ((8, 5, "a"), (8, 4, "b"), "b"),
        ((8, 5, "b"), (8, 5, "a"), "a"),
    ],
)
def test_the_earliest_is_by_time_seq_and_id(
    first: tuple[int, int, str], second: tuple[int, int, str], root: str, one: Callable[..., Trace]
) -> None:
    """Without an own failure the earliest decides: by time, then seq, then id."""
    found = [seen(event(key), at, seq=seq) for at, seq, key in (first, second)]
    trace = one(process(span(1, None, *found)))
    assert trace.root_cause == root
    assert next(iter(trace.failures)) == root


def test_the_own_failure_is_that_of_the_root(one: Callable[..., Trace]) -> None:
    """failure_id is report.id of the root hop, and null where that span is missing."""
    inner = span(2, 1, seen(event("e1")), kind=SERVER, attributes=reported("e1", own="e1"))
    assert one(process(inner, span(1, attributes=reported("e1")))).report.failure_id is None
    assert (
        one(process(inner, span(1, attributes=reported("e1", own="e1")))).report.failure_id == "e1"
    )
    alone = one(process(inner))
    assert alone.report.failure_id is None
    assert alone.recovered is None


# --- copies, causes, losses


@pytest.mark.parametrize("swap", [False, True])
def test_the_observers_copy_wins(swap: bool, one: Callable[..., Trace]) -> None:
    """Of copies of an id the observer's own is shown, and where it was observed."""
    copy = process(
        span(1, None, seen(event("e1", failure_reason="a much longer text"), 9, remote=True))
    )
    own = process(span(2, 1, seen(event("e1", failure_reason="own"), 3)), service="observer")
    trace = one(*([own, copy] if swap else [copy, own]))
    assert trace.report.events["e1"].failure_reason == "own"
    assert trace.failures["e1"].span.service == "observer"
    assert trace.losses == ()
    assert "remote" not in show_row(trace)["failures"]["e1"]


def test_a_lone_remote_copy_is_marked(one: Callable[..., Trace]) -> None:
    """Where the original is missing the copy with more text stands in, with `remote`: true."""
    trace = one(
        process(
            span(1, None, seen(event("e1", failure_reason="cut…"), 9, remote=True)),
            span(2, 1, seen(event("e1", failure_reason="the whole text"), 8, remote=True)),
        )
    )
    assert trace.report.events["e1"].failure_reason == "the whole text"
    assert show_row(trace)["failures"]["e1"]["remote"] is True


def test_two_observers_copies_are_a_duplicate(one: Callable[..., Trace]) -> None:
    """A failure written twice by observers is one failure and a duplicate."""
    trace = one(process(span(1, None, seen(event("e1"), 1)), span(2, 1, seen(event("e1"), 2))))
    assert list(trace.report.events) == ["e1"]
    assert kinds(trace.losses) == ["duplicate"]


def test_a_cause_in_another_trace_comes_with_its_chain(file: Callable[..., Path]) -> None:
    """A cause that another trace of the source holds is added with its chain, placed in its own trace."""
    reading = read(
        file(
            process(span(1, None, seen(event("effect", cause_id="cause"), 9, cause=None))),
            process(
                span(7, None, seen(event("root"), 1), seen(event("other"), 2), trace=OTHER_TRACE),
                span(8, 7, seen(event("cause", cause_id="root"), 3), trace=OTHER_TRACE),
            ),
        )
    )
    trace = next(trace for trace in reading.traces if trace.trace_id == TRACE)
    assert set(trace.report.events) == {"root", "cause", "effect"}
    assert trace.report.events["effect"].cause_id == "cause"
    assert trace.root_cause == "root"
    assert trace.losses == ()
    rows = show_row(trace)["failures"]
    assert rows["cause"]["trace_id"] == OTHER_TRACE
    assert rows["cause"]["span_id"] == f"{8:016x}"
    assert rows["effect"]["trace_id"] == TRACE
    other = next(trace for trace in reading.traces if trace.trace_id == OTHER_TRACE)
    assert set(other.report.events) == {"root", "other", "cause"}


def test_a_ring_over_two_traces_is_a_cycle(file: Callable[..., Path]) -> None:
    """Causes that form a ring through another trace end, with one cycle named in each trace."""
    reading = read(
        file(
            process(span(1, None, seen(event("a", cause_id="b"), 1))),
            process(span(2, None, seen(event("b", cause_id="a"), 2), trace=OTHER_TRACE)),
        )
    )
    assert [kinds(trace.losses) for trace in reading.traces] == [["cycle"], ["cycle"]]


def test_a_cause_that_the_source_does_not_hold_is_named(one: Callable[..., Trace]) -> None:
    """cause_missing, and the failure stays without a cause."""
    trace = one(process(span(1, None, seen(event("e1", cause_id="gone")))))
    assert trace.report.events["e1"].cause_id is None
    assert kinds(trace.losses) == ["cause_missing"]


@pytest.mark.parametrize(
    ("document", "loss", "omitted"),
    [
        (process(span(2, 1, seen(event("e1")))), "span_missing", False),
        (process(failing(end=None)), "unended", False),
        (process(failing(droppedEventsCount=3)), "dropped_events", True),
        (process(failing(droppedAttributesCount=1)), "dropped_events", True),
        (process(failing(attributes=reported("e1", "gone"))), "event_missing", True),
        (process(failing(attributes=reported("e1", own="gone"))), "event_missing", True),
    ],
)
def test_what_was_lost_is_named(
    document: dict[str, Any], loss: str, omitted: bool, one: Callable[..., Trace]
) -> None:
    """A missing parent, an unended span, dropped events and ids that are not there are each one loss.

    The trace's report is `omitted` when a written id was not found or something was dropped.
    """
    trace = one(document)
    assert kinds(trace.losses) == [loss]
    assert trace.report.omitted is omitted
    assert list(trace.report.events) == ["e1"]


def test_a_lost_event_that_a_limit_took_is_named(one: Callable[..., Trace]) -> None:
    """Attributes that the SDK dropped from an event are attribute_missing; what stands is kept."""
    encoded = seen(event("e1", failure_reason="why", stage="agent"))
    encoded["attributes"] = encoded["attributes"][3:]
    encoded["droppedAttributesCount"] = 3
    trace = one(process(span(1, None, encoded)))
    assert list(trace.report.events) == ["e1"]
    assert set(kinds(trace.losses)) == {"attribute_missing"}


def test_an_event_without_an_id_is_a_loss_of_its_trace(one: Callable[..., Trace]) -> None:
    """A failure that cannot be counted is named, the trace is listed all the same, and its report is not whole."""
    attributes = {
        key: value for key, value in encode_event(event("e1")).items() if key != PREFIX + "id"
    }
    trace = one(process(span(1, None, raw_event(attributes))))
    assert trace.report == FailureReport(omitted=True)
    assert trace.root_cause is None
    assert "id_missing" in kinds(trace.losses)


def test_parents_in_a_ring_end(one: Callable[..., Trace]) -> None:
    """Spans that are each other's parents are read; their failures are in the report."""
    trace = one(
        process(
            span(1, 2, seen(event("e1"))), span(2, 1), span(3, 3, seen(event("e2")), kind=SERVER)
        )
    )
    assert set(trace.report.events) == {"e1", "e2"}
    assert trace.report.failure_id is None
    show_row(trace)


@pytest.mark.parametrize("kind", [INTERNAL, SERVER])
def test_5000_nested_spans_are_read(kind: int, one: Callable[..., Trace]) -> None:
    """However deep spans nest, nothing recurses; every hop above says that it did not report the failure."""
    nested = [span(number, number - 1 or None, kind=kind) for number in range(1, 5000)]
    trace = one(process(*reversed(nested), span(5000, 4999, seen(event("e1")))))
    assert set(trace.report.events) == {"e1"}
    assert len(trace.hops) == (4999 if kind == SERVER else 1)
    assert hop(trace, 1).unreported == {"e1": "no_reply"}
    assert json.loads(json.dumps(show_row(trace)))["count"] == 1


def test_a_chain_of_5000_causes_is_read(one: Callable[..., Trace]) -> None:
    """However long a chain of causes, its end is found."""
    chain = [seen(event(str(at), cause_id=str(at - 1) if at else None), at) for at in range(5000)]
    trace = one(process(span(1, None, *reversed(chain), attributes=reported("4999", own="4999"))))
    assert trace.root_cause == "0"
    assert trace.losses == ()


# --- the rows

HEAD = {
    "trace_id",
    "start_unix_nano",
    "duration_nano",
    "service",
    "rollout_id",
    "root_cause",
    "failure_id",
} | {
    "count",
    "recovered",
}


def test_rows_have_exactly_the_keys_of_the_design(one: Callable[..., Trace]) -> None:
    """list and show have the design's keys and `rollout_id`, each with its value."""
    trace = one(
        process(
            span(1, None, name="rollout", end=100, attributes=reported("a", "b", own="b")),
            span(
                2,
                1,
                *CHAIN[:2],
                name="run",
                kind=SERVER,
                start=10,
                end=40,
                attributes=reported("b"),
            ),
        )
    )
    head = {
        "trace_id": TRACE,
        "start_unix_nano": T0,
        "duration_nano": 100,
        "service": "gym",
        "rollout_id": None,
        "root_cause": {"event_id": "a", "kind": "judge_failed", "boundary": "agent"},
        "failure_id": "b",
        "count": 2,
        "recovered": 0,
        "losses": [],
    }
    fields = {"failure_kind": "judge_failed", "boundary": "agent", "failure_reason": ""}
    whole = {
        "events": {"a": fields, "b": {**fields, "cause_id": "a"}},
        "failure_id": "b",
        "omitted": False,
    }
    place = {"trace_id": TRACE, "span_id": f"{2:016x}", "service": "gym", "placement": "span"}
    assert list_row(trace) == head
    assert show_row(trace) == {
        **head,
        "report": whole,
        "hops": [
            {
                "span_id": f"{1:016x}",
                "service": "gym",
                "name": "rollout",
                "offset_nano": 0,
                "duration_nano": 100,
                "report": whole,
                "unreported": {},
            },
            {
                "span_id": f"{2:016x}",
                "service": "gym",
                "name": "run",
                "offset_nano": 10,
                "duration_nano": 30,
                "report": {"events": {"b": fields}, "omitted": False},
                "unreported": {"a": "no_reply"},
            },
        ],
        "failures": {
            "a": {**place, "time_unix_nano": T0 + 1, "offset_nano": 1, "cause_delay_nano": None},
            "b": {**place, "time_unix_nano": T0 + 2, "offset_nano": 2, "cause_delay_nano": 1},
        },
    }


def test_what_is_unknown_is_null(one: Callable[..., Trace]) -> None:
    """Unknown values are null and no key is absent."""
    attributes = {
        key: value for key, value in encode_event(event("e1")).items() if key != PREFIX + "id"
    }
    row = show_row(one(process(span(1, 9, raw_event(attributes), end=None))))
    assert set(row) == {*HEAD, "report", "hops", "failures", "losses"}
    assert [row[key] for key in ("root_cause", "failure_id", "recovered")] == [None] * 3
    assert (row["count"], row["failures"]) == (0, {})
    assert {loss["kind"] for loss in row["losses"]} >= {"id_missing", "span_missing", "unended"}
    assert all(set(loss) == {"kind", "detail"} for loss in row["losses"])
    row = show_row(one(process(failing(end=None))))
    assert row["hops"] == [
        {
            "span_id": f"{1:016x}",
            "service": "gym",
            "name": "span-1",
            "offset_nano": 0,
            "duration_nano": None,
            "report": None,
            "unreported": {"e1": "no_reply"},
        }
    ]


def test_what_an_unfinished_root_met_is_not_known_to_be_recovered(
    one: Callable[..., Trace],
) -> None:
    """A root hop that was cancelled reports its failures, and recovered is unknown; finished, they are recovered."""
    finished = reported("a")
    unfinished = {**finished, PREFIX + "report.unfinished": True}
    seen_it = seen(event("a"), 5)
    assert one(process(span(1, None, seen_it, attributes=finished))).recovered == {"a"}
    assert one(process(span(1, None, seen_it, attributes=unfinished))).recovered is None


def test_what_an_unfinished_attempt_met_is_not_recovered_by_its_job(
    one: Callable[..., Trace],
) -> None:
    """In a job's trace only the failures of attempts that came to a result can be recovered."""
    attempts = (
        span(2, 1, seen(event("a"), 5), name="nemo.gym.rollout_attempt", attributes=reported("a")),
        span(
            3,
            1,
            seen(event("b"), 6),
            name="nemo.gym.rollout_attempt",
            attributes={**reported("b"), PREFIX + "report.unfinished": True},
        ),
    )
    assert one(process(span(1, None, attributes=reported("a", "b")), *attempts)).recovered == {"a"}
