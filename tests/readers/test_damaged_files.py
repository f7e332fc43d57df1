"""Files as they really come: large first messages, cut lines, copies that differ, damage in the middle."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings as hypothesis_settings, strategies as st
from opentelemetry.proto.trace.v1.trace_pb2 import Span, TracesData

from builders import event
from failgraph.codec import encode_event
from failgraph.errors import SourceError
from failgraph.readers import Reading, read
from failgraph.view import show_row
from otlp_file import (
    PREFIX,
    SECOND,
    SERVER,
    T0,
    TRACE,
    failure_span,
    process,
    raw_event,
    reported,
    seen,
    span,
    write,
)

OTHER = "0af7651916cd43dd8448eb211c80319d"


@pytest.fixture
def reading(tmp_path: Path) -> Callable[..., Reading]:
    """Read documents, or bytes, from a file."""

    def make(*documents: Any) -> Reading:
        path = tmp_path / "traces"
        if isinstance(documents[0], bytes):
            path.write_bytes(b"".join(documents))
        else:
            write(path, *documents)
        return read(path)

    return make


def kinds(losses: Any) -> list[str]:
    return [loss.kind for loss in losses]


def message(spans: int, note: int = 0) -> bytes:
    """OTLP protobuf of one process with so many spans, the first of which fails."""
    data = TracesData()
    resource_spans = data.resource_spans.add()
    resource_spans.resource.attributes.add().key = "service.name"
    scope = resource_spans.scope_spans.add()
    for number in range(1, spans + 1):
        made: Span = scope.spans.add()
        made.trace_id, made.span_id = bytes.fromhex(TRACE), number.to_bytes(8, "big")
        made.name, made.start_time_unix_nano, made.end_time_unix_nano = "x" * note, T0, T0 + SECOND
        if number == 1:
            failure = made.events.add()
            failure.name, failure.time_unix_nano = "nemo.gym.failure", T0 + 5
            for key, value in encode_event(event("e1")).items():
                pair = failure.attributes.add()
                pair.key = key
                if isinstance(value, str):
                    pair.value.string_value = value
                else:
                    pair.value.int_value = int(value)
    return data.SerializeToString()


@pytest.mark.parametrize(("spans", "note"), [(1, 0), (40, 0), (600, 0), (3000, 1000)])
@pytest.mark.parametrize("framed", [False, True])
def test_protobuf_is_read_whatever_the_size_of_its_first_message(reading, spans, note, framed):
    """Below 128 bytes more, below 16 KiB, above it and above 2 MiB: its length takes one to four bytes."""
    data = message(spans, note)
    found = reading(len(data).to_bytes(4, "big") + data if framed else data)
    assert list(found.traces[0].report.events) == ["e1"]
    assert found.losses == ()


@pytest.mark.parametrize("damage", [b"\xff" * 11, b"\x0d\x00", b"\x0a", b"\x0a\xff\x01x", b"\x0b"])
def test_damage_in_protobuf_is_said(reading, damage):
    """A varint without an end, a field cut short, no wire type: what came before is read, the rest is a loss."""
    found = reading(message(3), damage)
    assert list(found.traces[0].report.events) == ["e1"]
    assert kinds(found.losses) == ["bad_line"]


def test_a_frame_that_lies_about_its_length_ends_the_reading(reading):
    """What cannot be a frame is said once, not four bytes at a time."""
    good = message(2)
    found = reading(len(good).to_bytes(4, "big") + good + (10**6).to_bytes(4, "big") + b"x" * 100)
    assert kinds(found.losses) == ["bad_line"]


def growth(make: Callable[[int], bytes], size: int, reading: Callable[..., Reading]) -> float:
    """How much longer four times the size takes, the better of three pairs."""
    ratios = []
    for _ in range(3):
        times = []
        for factor in (1, 4):
            data = make(size * factor)
            start = time.process_time()
            reading(data)
            times.append(time.process_time() - start)
        ratios.append(times[1] / times[0])
    return min(ratios)


def test_a_cut_line_full_of_quotes_takes_linear_time(reading):
    """A worker killed while it wrote a prompt: every character is looked at a few times only."""

    def cut(size: int) -> bytes:
        text = json.dumps({"resourceSpans": json.dumps({"role": "user"}) * size}).encode()
        return json.dumps(process(span(1, None, seen(event("e"))))).encode() + b"\n" + text[:-20]

    assert growth(cut, 20_000, reading) < 9  # 16 would be quadratic


@pytest.mark.slow
def test_documents_behind_one_another_take_linear_time(reading):
    """Without line feeds between them too."""

    def concatenated(size: int) -> bytes:
        return json.dumps(process(span(1, None, seen(event("e"))))).encode() * size

    assert growth(concatenated, 2_000, reading) < 9


def test_an_array_with_a_document_on_each_line(reading):
    """Every document is read, whole or with its end cut off."""
    documents = [
        json.dumps(process(span(number, None, seen(event(f"e{number}"))))) for number in (1, 2, 3)
    ]
    whole = ("[\n" + ",\n".join(documents) + "\n]").encode()
    assert set(reading(whole).traces[0].report.events) == {"e1", "e2", "e3"}
    assert reading(whole).losses == ()
    cut = reading(whole[:-40])
    assert set(cut.traces[0].report.events) == {"e1", "e2"}
    assert set(kinds(cut.losses)) == {"bad_line"}


@pytest.mark.parametrize(
    "wrap", [lambda each: {"result": each}, lambda each: [each], lambda each: each]
)
def test_many_cut_lines_cost_only_themselves(reading, wrap):
    """Whatever an API wraps around a line: a hundred broken ones leave the others."""
    lines = []
    for number in range(1, 1001):
        line = json.dumps(wrap(process(span(number, None, seen(event(f"e{number}"))))))
        lines.append(line[:60] if number % 10 == 0 else line)
    found = reading("\n".join(lines).encode())
    assert len(found.traces[0].report.events) == 900
    assert len(found.losses) == 21


def test_a_broken_chain_of_the_own_failure_makes_recovered_unknown(reading):
    """With a cause in the middle lost, the root cause below it must not pass for recovered."""
    root = span(
        1,
        None,
        seen(event("a", cause_id="b")),
        seen(event("c")),
        attributes=reported("a", "b", "c", own="a"),
    )
    (trace,) = reading(process(root)).traces
    assert trace.recovered is None
    assert set(kinds(trace.losses)) == {"cause_missing", "event_missing"}


@pytest.mark.parametrize(
    "attributes",
    [
        {PREFIX + "report.ids": ["a"]},
        {**reported("a", own="a"), PREFIX + "report.id": 5},
        {**reported("a", own="a"), PREFIX + "report.ids": "a"},
    ],
)
def test_a_report_that_cannot_be_read_tells_nothing(reading, attributes):
    """Evicted or unreadable: the loss is named, and nothing counts as recovered."""
    (trace,) = reading(process(span(1, None, seen(event("a")), attributes=attributes))).traces
    assert trace.recovered is None
    assert "attribute_missing" in kinds(trace.losses)


def test_each_trace_shows_its_own_copy_of_a_failure(tmp_path):
    """One failure written in two traces stands in each at its own place, always the same way."""
    path = tmp_path / "traces"
    one = span(1, None, seen(event("e"), 7))
    two = span(1, None, seen(event("e"), 9), trace=OTHER)
    write(path, process(one, two))
    outputs = set()
    for seed in ("1", "2", "3", "4"):
        command = [sys.executable, "-m", "failgraph", "show", "--json", str(path)]
        shown = subprocess.run(
            command, capture_output=True, check=True, env={**os.environ, "PYTHONHASHSEED": seed}
        )
        outputs.add(shown.stdout)
    assert len(outputs) == 1
    rows = [json.loads(line) for line in outputs.pop().splitlines()]
    assert {row["trace_id"]: row["failures"]["e"]["trace_id"] for row in rows} == {
        TRACE: TRACE,
        OTHER: OTHER,
    }
    assert [row["failures"]["e"]["offset_nano"] for row in rows] == [7, 9]


def test_copies_of_a_span_are_put_together(reading):
    """A partial and a later export of one span: every event and attribute of both, the end of the ended one."""
    early = span(1, None, seen(event("a"), 1), seen(event("b"), 2), end=None)
    late = span(
        1, None, seen(event("b"), 2), seen(event("c"), 3), attributes=reported("a", "b", "c")
    )
    for order in ((early, late), (late, early)):
        (trace,) = reading(process(*order)).traces
        assert list(trace.report.events) == ["a", "b", "c"]
        assert trace.duration_nano == SECOND
        assert trace.losses == ()


def test_two_spans_of_one_id_are_named(reading):
    """Of different names or processes they are no copies: all failures are kept, and the conflict is a loss."""
    found = reading(
        process(span(1, None, seen(event("a")))),
        process(span(1, None, seen(event("b")), name="other")),
    )
    assert set(found.traces[0].report.events) == {"a", "b"}
    assert kinds(found.losses) == ["duplicate"]


def test_a_parent_that_is_no_id_does_not_make_a_root(reading):
    """The span hangs in the air, and is not taken for the trace's own."""
    root = span(1, None, seen(event("a")), attributes=reported("a", own="a"))
    child = span(2, None, seen(event("b")), attributes=reported("b", own="b"), start=-5)
    child["parentSpanId"] = "zz"
    (trace,) = reading(process(root, child)).traces
    assert trace.report.failure_id == "a"
    assert "span_missing" in kinds(trace.losses)


@pytest.mark.parametrize(
    "change",
    [
        {"attributes": {"a": 1}},
        {"events": {"name": "nemo.gym.failure"}},
        {"events": [[1]]},
        {"events": [{"name": 5}]},
        {"name": 5},
        {"kind": "SERVR"},
        {"kind": 2.5},
        {"droppedEventsCount": "many"},
    ],
)
def test_a_part_of_the_wrong_type_is_a_loss(reading, change):
    """What is left out for its type is named by its line."""
    found = reading(process(span(1, None, seen(event("e"))), {**span(2, 1), **change}))
    assert kinds(found.losses) == ["bad_line"]
    assert found.losses[0].detail.startswith("line 1: ")


@pytest.mark.parametrize("place", ["resourceSpans", "scopeSpans", "spans", "resource"])
def test_a_container_of_the_wrong_type_is_a_loss(reading, place):
    """A map for a list, a text for an object: what hangs below is lost, and that is said."""
    broken = json.loads(json.dumps(process(span(9))))
    holder = {
        "resourceSpans": broken,
        "scopeSpans": broken["resourceSpans"][0],
        "spans": broken["resourceSpans"][0]["scopeSpans"][0],
        "resource": broken["resourceSpans"][0],
    }[place]
    holder[place] = "x" if place == "resource" else {"x": 1}
    found = reading(process(span(1, None, seen(event("e")))), broken)
    assert kinds(found.losses) == ["bad_line"]


def test_protobuf_says_what_it_cannot_take_too(reading):
    """A parent that is no id is a parent that is not here, and an unknown kind is a loss, as in JSON."""
    data = TracesData.FromString(message(1))
    made = data.resource_spans[0].scope_spans[0].spans[0]
    made.parent_span_id, made.kind = b"\x01\x02", 77
    found = reading(data.SerializeToString())
    assert found.traces[0].root is None
    assert kinds(found.traces[0].losses) == ["span_missing"]
    assert kinds(found.losses) == ["bad_line"]


def test_a_failure_span_that_lost_its_event_is_said(reading):
    """It was made only to hold a failure."""
    empty = failure_span(2, 1, seen(event("e")))
    empty["events"], empty["droppedEventsCount"] = [], 1
    (trace,) = reading(process(span(1), empty)).traces
    assert set(kinds(trace.losses)) == {"event_missing", "dropped_events"}
    assert trace.report.omitted


def test_a_damaged_copy_beside_a_whole_one_takes_nothing_away(reading):
    """The observer's event is there: its report is not omitted for a peer's broken copy."""
    broken = encode_event(event("e"), remote=True)
    del broken[PREFIX + "boundary"]
    (trace,) = reading(process(span(1, None, seen(event("e")), raw_event(broken)))).traces
    assert list(trace.report.events) == ["e"]
    assert not trace.report.omitted


def test_a_chain_through_many_traces_is_bounded(reading):
    """A trace takes in so many causes of others and no more, and says where it stopped."""
    made = [
        span(
            1,
            None,
            seen(event(f"e{number}", cause_id=f"e{number + 1}")),
            trace=f"{number + 1:032x}",
        )
        for number in range(600)
    ]
    first = reading(process(*made)).traces[0]
    assert len(first.report.events) == 257
    assert "cause_missing" in kinds(first.losses)


def test_deep_nests_with_many_failures_are_bounded(reading, monkeypatch):
    """Past a bound only the innermost hops list what they did not report."""
    from failgraph.traces import hops

    monkeypatch.setattr(hops, "_MAX_UNREPORTED", 1000)
    nest = [
        span(n, n - 1 or None, seen(event(f"e{n}")), kind=SERVER, start=n) for n in range(1, 301)
    ]
    (trace,) = reading(process(*nest)).traces
    assert sum(len(hop.unreported) for hop in trace.hops) < 1000 + 300 + 300 * hops._INNERMOST
    assert "partial_trace" in kinds(trace.losses)
    assert all(f"e{int(hop.span.span_id, 16)}" in hop.unreported for hop in trace.hops)


def test_times_that_the_file_does_not_say_are_null(reading):
    """An event without a time, a span without a start: null, a loss, and no offset from 1970."""
    timeless = seen(event("e"))
    del timeless["timeUnixNano"]
    unstarted = span(2, None, seen(event("f")))
    del unstarted["startTimeUnixNano"]
    (trace,) = reading(
        process(span(1, None, timeless, attributes=reported("e", own="e")), unstarted)
    ).traces
    row = show_row(trace)
    assert (row["failures"]["e"]["time_unix_nano"], row["failures"]["e"]["offset_nano"]) == (
        None,
        None,
    )
    assert row["failure_id"] == "e"
    assert row["duration_nano"] == SECOND
    assert kinds(trace.losses).count("attribute_missing") == 2


def test_a_service_that_has_no_name_is_null(reading):
    """Unknown is null, never an empty text."""
    document = process(span(1, None, seen(event("e"))))
    document["resourceSpans"][0]["resource"] = {}
    row = show_row(reading(document).traces[0])
    assert (row["service"], row["hops"][0]["service"], row["failures"]["e"]["service"]) == (
        None,
        None,
        None,
    )


def test_text_that_was_not_written_so_is_no_cut(reading):
    """Bytes that are no UTF-8 make the text longer: it is named, and not as shorter."""
    line = json.dumps(process(span(1, None, seen(event("e", failure_reason="cafe"))))).encode()
    (trace,) = reading(line.replace(b"cafe", b"caf\xe9")).traces
    assert kinds(trace.losses) == ["unknown_field"]


@given(st.data())
@hypothesis_settings(max_examples=300, deadline=None)
def test_any_bytes_are_read_or_refused(data):
    """Protobuf, framed protobuf, JSON or gzip with any bytes changed, cut or repeated: no error but SourceError."""
    plain = message(3)
    text = json.dumps(process(span(1, None, seen(event("e"))))).encode()
    forms = [
        plain,
        len(plain).to_bytes(4, "big") + plain,
        text,
        gzip.compress(text),
        gzip.compress(plain),
    ]
    damaged = bytearray(data.draw(st.sampled_from(forms)))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(damaged) - 1))
        damaged[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=6))
        damaged = damaged or bytearray(b"x")
    with tempfile.NamedTemporaryFile() as file:
        file.write(damaged)
        file.flush()
        try:
            found = read(file.name)
        except SourceError:
            return
    assert sum(len(trace.report.events) for trace in found.traces) <= 2


def failgraph(*words: str, **options: Any) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "failgraph", *words], capture_output=True, check=False, **options
    )


def test_a_closed_standard_input_and_a_full_disk_are_errors_in_a_sentence(tmp_path):
    """No traceback reaches anybody."""
    path = tmp_path / "traces"
    write(path, process(span(1, None, seen(event("e")))))
    closed = subprocess.run(
        f"{sys.executable} -m failgraph list - <&-", shell=True, capture_output=True, check=False
    )
    assert closed.returncode == 3
    assert b"Traceback" not in closed.stderr
    if os.path.exists("/dev/full"):
        command = f"{sys.executable} -m failgraph show {path} > /dev/full"
        full = subprocess.run(command, shell=True, capture_output=True, check=False)
        assert full.returncode == 3
        assert full.stderr.startswith(b"failgraph: the output cannot be written: ")


def test_a_file_that_shrinks_while_it_is_read_is_said(tmp_path, monkeypatch):
    """A log that is rotated between the two passes: what is gone is a loss."""
    from failgraph.readers import reading

    path = tmp_path / "traces"
    write(path, process(span(1, None, seen(event("e")))), process(span(1, trace=OTHER)))
    read_pass = reading.read_pass
    done = []

    def rotated(*arguments: Any) -> Any:
        spans = list(read_pass(*arguments))
        done.append(spans)
        return iter(spans if len(done) == 1 else [each for each in spans if each.trace_id == OTHER])

    monkeypatch.setattr(reading, "read_pass", rotated)
    found = read(path)
    assert found.traces == []
    assert kinds(found.losses) == ["partial_trace"]


def test_every_loss_of_the_source_is_printed(tmp_path):
    """They are on stderr one by one, with `--json` too, and never said to be elsewhere."""
    path = tmp_path / "traces"
    write(path, process(span(1, None, seen(event("e")))))
    path.write_text(path.read_text() + "broken\n" * 30)
    shown = failgraph("list", "--json", str(path))
    assert shown.stderr.count(b"bad_line") == 21
    assert b"--json has all" not in shown.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    "environ",
    [
        {"HTTP_PROXY": "http://127.0.0.1:9", "http_proxy": "http://127.0.0.1:9"},
        {
            "OTEL_TRACES_SAMPLER": "always_off",
            "OTEL_PROPAGATORS": "none",
            "FAILGRAPH_ENABLED": "false",
        },
        {"FAILGRAPH_AUTO_INSTRUMENT": "true", "FAILGRAPH_ENABLED": "true"},
    ],
)
def test_the_demo_does_not_depend_on_the_environment(tmp_path, environ):
    """Neither a proxy nor a sampler of the user's, nor a switch of ours, keeps it from running."""
    pytest.importorskip("fastapi", reason="the demo needs failgraph[demo]")
    pytest.importorskip(
        "opentelemetry.exporter.otlp.json.file", reason="the demo needs failgraph[demo]"
    )
    ran = failgraph("demo", "--out", str(tmp_path / "traces"), env={**os.environ, **environ})
    assert (ran.returncode, ran.stderr) == (0, b"")
    off = failgraph("demo", env={**os.environ, "OTEL_SDK_DISABLED": "true"})
    assert off.returncode == 2
    assert b"OTEL_SDK_DISABLED" in off.stderr
