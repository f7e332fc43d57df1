"""OTLP JSON files: what is read, what is a loss, and what a file without a trace contains."""

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
from failgraph.readers import read, spans
from failgraph.view import show_row
from otlp_file import (
    PREFIX,
    T0,
    TRACE,
    pairs,
    process,
    raw_event,
    reported,
    seen,
    span,
    write,
)
from trace_reading import OTHER_TRACE, failing_span, hop_of, loss_kinds, read_documents, read_trace


def forms() -> dict[str, bytes]:
    """Return the same two spans in each layout of a file."""
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
def test_each_layout_of_a_file_is_read(form: str, tmp_path: Path) -> None:
    """JSON lines and one document, also pretty-printed, give the same spans without a loss."""
    (tmp_path / "f").write_bytes(forms()[form])
    reading = read(tmp_path / "f")
    assert (reading.trace_count, reading.losses) == (1, ())
    assert list(reading.traces[0].report.events) == ["e1"]
    assert [each.name for each in spans(tmp_path / "f")] == ["span-1", "span-2"]


def test_what_the_sdk_writes_is_read(
    make_provider: Callable[..., TracerProvider], tmp_path: Path, exporter: Any
) -> None:
    """A report written by the SDK's OTLP JSON file exporter comes back as the hop knew it."""
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
    assert hop_of(trace, by_name["rollout"].context.span_id).report == wanted
    assert trace.losses == ()
    assert trace.start_unix_nano == by_name["rollout"].start_time
    assert trace.duration_nano == by_name["rollout"].end_time - by_name["rollout"].start_time
    for key, name in (("root", "rollout"), ("effect", "inner")):
        assert trace.failures[key].span.name == name
        assert trace.failures[key].time_unix_nano == by_name[name].events[0].timestamp


def test_broken_lines_are_named_and_the_rest_is_read(tmp_path: Path) -> None:
    """Each broken line is a bad_line with its number, and without its content."""
    reading = read_documents(
        tmp_path,
        process(failing_span()),
        b'{"token": "hunter2',
        process(span(2, 1)),
        b"\xff\xfe",
        b"not json",
    )
    assert list(reading.traces[0].report.events) == ["e1"]
    assert loss_kinds(reading.losses) == ["bad_line"] * 3
    for number, loss in zip((2, 4, 5), reading.losses, strict=True):
        assert f"line {number} " in loss.detail + " "
    assert "hunter2" not in repr(reading)


def test_many_broken_lines_are_counted(tmp_path: Path) -> None:
    """The losses stay few, and together count all broken lines."""
    reading = read_documents(tmp_path, process(failing_span()), *[b"broken"] * 1000)
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
def test_a_span_without_an_id_is_a_bad_line(ids: dict[str, Any], tmp_path: Path) -> None:
    """It is named with its line, and the rest is read."""
    reading = read_documents(tmp_path, process(failing_span()), process({**span(2), **ids}))
    assert (len(reading.traces), loss_kinds(reading.losses)) == (1, ["bad_line"])
    assert "line 2" in reading.losses[0].detail


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "empty"),
        (b"\n \n", "empty"),
        (b"hello\nworld\n", "neither JSON nor protobuf"),
        (b'{"resourceLogs": []}\n{"resourceLogs": []}\n', "logs"),
        (b'{"resourceMetrics": []}', "metrics"),
        (b'{"data": []}', "1 JSON document"),
        (b"\x1f\x8b\x08\x00abc", "gzip"),
        (b"[]", "1 JSON document"),
        (json.dumps(process()).encode(), "1 JSON document"),
    ],
)
def test_a_file_without_a_trace_is_refused_with_its_content(
    content: bytes, reason: str, tmp_path: Path
) -> None:
    """The SourceError names the file, and what it contains instead."""
    path = tmp_path / "f"
    path.write_bytes(content)
    for reader in (read, lambda source: list(spans(source))):
        with pytest.raises(SourceError) as caught:
            reader(path)
        assert reason in str(caught.value)
        assert str(path) in str(caught.value)


def test_a_source_that_cannot_be_opened_is_a_source_error(tmp_path: Path) -> None:
    """For a missing file and a directory the error gives the reason."""
    for path, why in (
        (tmp_path / "missing", "no such file"),
        (tmp_path, "a directory without files to read"),
    ):
        with pytest.raises(SourceError, match=why):
            read(path)


def test_a_pipe_is_read_or_refused_with_a_reason(tmp_path: Path) -> None:
    """A source that can be read only once is read, or refused in a sentence."""
    ends = os.pipe()
    with os.fdopen(ends[1], "wb") as writer:
        writer.write(json.dumps(process(failing_span())).encode())
    try:
        assert len(read(f"/dev/fd/{ends[0]}").traces) == 1
    except SourceError as error:
        assert "None" not in str(error)
    finally:
        os.close(ends[0])


def test_traces_without_failures_are_counted(tmp_path: Path) -> None:
    """The number of traces is exact, and having no failures is no error."""
    reading = read_documents(
        tmp_path, *(process(span(1, trace=f"{number:032x}"), span(2, 1)) for number in range(1, 13))
    )
    assert (reading.traces, reading.trace_count, reading.losses) == ([], 13, ())
    assert (
        read_documents(
            tmp_path, process(span(1)), process(failing_span(trace=OTHER_TRACE))
        ).trace_count
        == 2
    )


def test_ids_are_lower_case(tmp_path: Path) -> None:
    """Ids in upper-case hex name the same spans."""
    child = {
        **span(0xBC, 0xAB, seen(event("e1"))),
        "traceId": TRACE.upper(),
        "parentSpanId": f"{0xAB:016X}",
    }
    trace = read_trace(tmp_path, process(span(0xAB), child))
    assert trace.trace_id == TRACE
    assert trace.losses == ()


def test_secrets_are_not_kept(tmp_path: Path) -> None:
    """Attributes that are not needed, of resources, spans and other events, are not kept."""
    secret = "hunter2"
    kept = failing_span(
        attributes={"http.request.header.authorization": secret, "nemo.gym.rollout.id": "r1"}
    )
    kept["events"] += [
        raw_event({"exception.message": secret}, name="exception"),
        raw_event({"other": secret}, 1),
    ]
    kept["status"] = {"message": secret}
    path = write(
        tmp_path / "traces.jsonl",
        process(kept, token=secret, **{"service.instance.id": secret}),
        f'"{secret}'.encode(),
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
def test_junk_is_read_without_an_exception(junk: object, tmp_path: Path) -> None:
    """Whatever JSON is in the file, the rest of it is read."""
    reading = read_documents(tmp_path, junk, process(failing_span()))
    trace = next(trace for trace in reading.traces if "e1" in trace.report.events)
    json.dumps(show_row(trace))


@pytest.mark.parametrize("key", ["i" * 129, "x\ud800y"], ids=["too-long", "surrogate"])
def test_an_own_id_that_a_report_cannot_name_is_a_loss(key: str, tmp_path: Path) -> None:
    """An id that is too long or has a surrogate does not stop the command."""
    attributes = {**encode_event(event("e1")), PREFIX + "id": key}
    trace = read_trace(
        tmp_path, process(span(1, None, raw_event(attributes), attributes=reported(key, own=key)))
    )
    assert len(trace.report.events) == 1
    assert trace.report.failure_id is not None or trace.losses


@pytest.mark.parametrize("wrong", ["x", "", "1e3", "99999999999999999999999"])
def test_an_invalid_integer_is_a_loss(wrong: str, tmp_path: Path) -> None:
    """An exit code that cannot be read is left out: 0 would be wrong."""
    encoded = seen(event("e1", boundary="sandbox", details={"exit_code": 137}))
    pair = next(pair for pair in encoded["attributes"] if pair["key"].endswith("exit_code"))
    pair["value"] = {"intValue": wrong}
    trace = read_trace(tmp_path, process(span(1, None, encoded)))
    details = trace.report.events["e1"].details
    assert details is None or details.exit_code is None
    assert trace.losses


def test_integers_may_be_numbers(tmp_path: Path) -> None:
    """OTLP's JSON encoding allows 64-bit integers as numbers, too."""
    encoded = seen(event("e1", boundary="sandbox", details={"exit_code": -9}))
    for pair in encoded["attributes"]:
        if "intValue" in pair["value"]:
            pair["value"] = {"intValue": int(pair["value"]["intValue"])}
    encoded["timeUnixNano"] = T0 + 3
    trace = read_trace(tmp_path, process(span(1, None, encoded)))
    assert trace.losses == ()
    assert trace.report.events["e1"].details.exit_code == -9
    assert trace.failures["e1"].time_unix_nano == T0 + 3
