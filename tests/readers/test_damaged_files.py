"""Files as they come in practice: large messages, cut lines, damage in the middle."""

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
from json_output import source_in
from otlp_file import (
    SECOND,
    T0,
    TRACE,
    process,
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
    """Return OTLP protobuf of one process with this many spans, the first of which fails."""
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
    """The length of a message takes one to four bytes, with limits at 128, 16 Ki and 2 Mi bytes."""
    data = message(spans, note)
    result = reading(len(data).to_bytes(4, "big") + data if framed else data)
    assert list(result.traces[0].report.events) == ["e1"]
    assert result.losses == ()


@pytest.mark.parametrize("damage", [b"\xff" * 11, b"\x0d\x00", b"\x0a", b"\x0a\xff\x01x", b"\x0b"])
def test_damage_in_protobuf_is_a_loss(reading, damage):
    """What comes before an endless varint, a cut field or an invalid wire type is read."""
    result = reading(message(3), damage)
    assert list(result.traces[0].report.events) == ["e1"]
    assert kinds(result.losses) == ["bad_line"]


def test_a_frame_with_a_wrong_length_ends_the_reading(reading):
    """It is one loss, not one for every four bytes."""
    good = message(2)
    result = reading(len(good).to_bytes(4, "big") + good + (10**6).to_bytes(4, "big") + b"x" * 100)
    assert kinds(result.losses) == ["bad_line"]


def growth(make: Callable[[int], bytes], size: int, reading: Callable[..., Reading]) -> float:
    """Return how much longer eight times the size takes, the best of three pairs."""
    ratios = []
    for _ in range(3):
        times = []
        for factor in (1, 8):
            data = make(size * factor)
            start = time.process_time()
            reading(data)
            times.append(time.process_time() - start)
        ratios.append(times[1] / times[0])
    return min(ratios)


def test_a_cut_line_full_of_quotes_takes_linear_time(reading):
    """A worker killed while writing a prompt leaves such a line."""

    def cut(size: int) -> bytes:
        text = json.dumps({"resourceSpans": json.dumps({"role": "user"}) * size}).encode()
        return json.dumps(process(span(1, None, seen(event("e"))))).encode() + b"\n" + text[:-20]

    assert growth(cut, 20_000, reading) < 24  # 64 would be quadratic


@pytest.mark.slow
def test_documents_behind_one_another_take_linear_time(reading):
    """Also without line feeds between them."""

    def concatenated(size: int) -> bytes:
        return json.dumps(process(span(1, None, seen(event("e"))))).encode() * size

    assert growth(concatenated, 1_000, reading) < 24


def test_an_array_with_a_document_on_each_line_is_read(reading):
    """Every complete document is read, also if the end of the array is missing."""
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
    """A hundred broken lines leave the others readable, whatever an API wraps around each."""
    lines = []
    for number in range(1, 1001):
        line = json.dumps(wrap(process(span(number, None, seen(event(f"e{number}"))))))
        lines.append(line[:60] if number % 10 == 0 else line)
    result = reading("\n".join(lines).encode())
    assert len(result.traces[0].report.events) == 900
    assert len(result.losses) == 21


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
    """It is left out, and named by its line."""
    result = reading(process(span(1, None, seen(event("e"))), {**span(2, 1), **change}))
    assert kinds(result.losses) == ["bad_line"]
    assert result.losses[0].detail.startswith("line 1: ")


@pytest.mark.parametrize("place", ["resourceSpans", "scopeSpans", "spans", "resource"])
def test_a_container_of_the_wrong_type_is_a_loss(reading, place):
    """What would be inside a map for a list, or a text for an object, is lost."""
    broken = json.loads(json.dumps(process(span(9))))
    holder = {
        "resourceSpans": broken,
        "scopeSpans": broken["resourceSpans"][0],
        "spans": broken["resourceSpans"][0]["scopeSpans"][0],
        "resource": broken["resourceSpans"][0],
    }[place]
    holder[place] = "x" if place == "resource" else {"x": 1}
    result = reading(process(span(1, None, seen(event("e")))), broken)
    assert kinds(result.losses) == ["bad_line"]


def test_protobuf_reports_invalid_fields_as_json_does(reading):
    """An invalid parent id is a missing parent, and an unknown kind is a loss."""
    data = TracesData.FromString(message(1))
    made = data.resource_spans[0].scope_spans[0].spans[0]
    made.parent_span_id, made.kind = b"\x01\x02", 77
    result = reading(data.SerializeToString())
    assert result.traces[0].root is None
    assert kinds(result.traces[0].losses) == ["span_missing"]
    assert kinds(result.losses) == ["bad_line"]


@given(st.data())
@hypothesis_settings(max_examples=300, deadline=None)
def test_any_bytes_are_read_or_refused(data):
    """Protobuf, framed protobuf, JSON or gzip with changed bytes raise no error but SourceError."""
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
            result = read(file.name)
        except SourceError:
            return
    assert sum(len(trace.report.events) for trace in result.traces) <= 2


def failgraph(*words: str, **options: Any) -> subprocess.CompletedProcess[bytes]:
    """Run failgraph in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "failgraph", *words], capture_output=True, check=False, **options
    )


def test_a_closed_standard_input_and_a_full_disk_are_errors_in_a_sentence(tmp_path):
    """Nobody gets a traceback."""
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
        assert full.stderr.startswith(b"failgraph: cannot write the output: ")


def test_a_file_that_shrinks_while_it_is_read_is_a_loss(tmp_path, monkeypatch):
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
    result = read(path)
    assert result.traces == []
    assert kinds(result.losses) == ["partial_trace"]


def test_every_loss_of_the_source_is_printed(tmp_path):
    """On stderr, the first one by one, also with --json; there the last line has all of them."""
    path = tmp_path / "traces"
    write(path, process(span(1, None, seen(event("e")))))
    path.write_text(path.read_text() + "broken\n" * 30)
    shown = failgraph("list", "--json", str(path))
    assert shown.stderr.count(b"unreadable data: ") == 10
    assert b"11 more losses; --full lists all" in shown.stderr
    assert failgraph("list", "--full", str(path)).stderr.count(b"unreadable data: ") == 21
    assert len(source_in(shown.stdout)["losses"]) == 21


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
    """It runs with a proxy, a sampler or one of our switches in the environment."""
    pytest.importorskip("fastapi", reason="the demo needs failgraph[demo]")
    pytest.importorskip(
        "opentelemetry.exporter.otlp.json.file", reason="the demo needs failgraph[demo]"
    )
    ran = failgraph("demo", "-o", str(tmp_path / "traces"), env={**os.environ, **environ})
    assert (ran.returncode, ran.stderr) == (0, b"")
    off = failgraph("demo", env={**os.environ, "OTEL_SDK_DISABLED": "true"})
    assert off.returncode == 2
    assert b"OTEL_SDK_DISABLED" in off.stderr
