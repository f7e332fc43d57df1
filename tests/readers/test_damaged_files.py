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
    assert shown.stderr.count(b"unreadable data: ") == 21
    assert b"--json lists all" not in shown.stderr


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
