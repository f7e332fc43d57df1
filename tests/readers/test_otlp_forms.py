"""One trace gives one report in every form that exporters, Collectors and scripts write."""

from __future__ import annotations

import base64
import bz2
import copy
import gzip
import json
import lzma
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings as hypothesis_settings, strategies as st
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import SpanKind

import failgraph
from failgraph import NgFailureEvent
from failgraph.cli import main
from failgraph.errors import SourceError
from failgraph.losses import MEANING
from failgraph.readers import Reading, read, spans
from json_output import results_in
from json_paths import json_paths


@pytest.fixture
def finished(make_provider, exporter) -> tuple[ReadableSpan, ...]:
    """Return spans: a chain, a recovered failure, a long text, a failure span, a clean trace."""
    tracer = make_provider().get_tracer("test")
    with tracer.start_as_current_span("rollout"), failgraph.hop():
        with tracer.start_as_current_span("model", kind=SpanKind.SERVER), failgraph.hop():
            slow = NgFailureEvent(
                "transport_timeout", "日本 " * 600, boundary="model", http_status=504
            )
            failgraph.record(slow)
            failgraph.record(
                NgFailureEvent("provider_quota_exhausted", boundary="model", details={})
            )
            ended = NgFailureEvent("session_lost", boundary="environment")
        killed = NgFailureEvent(
            "sandbox:killed", boundary="sandbox", details={"exit_code": 2**70, "provider": "x"}
        )
        failgraph.record(ended)
        killed.__cause__ = slow
        failgraph.record(killed, own=True)
    with tracer.start_as_current_span("clean"):
        pass
    return exporter.get_finished_spans()


@pytest.fixture
def message(finished) -> TracesData:
    """Return the spans as an OTLP message, made by OpenTelemetry's encoder."""
    return TracesData.FromString(encode_spans(finished).SerializeToString())


@pytest.fixture
def document(message) -> dict[str, Any]:
    """Return the message as OTLP JSON to the letter: hex ids, enum numbers, integers as text."""
    from google.protobuf.json_format import MessageToDict

    converted = MessageToDict(message, use_integers_for_enums=True)

    def hex_ids(value: Any) -> Any:
        if isinstance(value, dict):
            return {
                key: to_hex(item) if key in ID_KEYS else hex_ids(item)
                for key, item in value.items()
            }
        return [hex_ids(item) for item in value] if isinstance(value, list) else value

    return hex_ids(converted)


ID_KEYS = {"traceId", "spanId", "parentSpanId"}


def to_hex(text: str) -> str:
    return base64.b64decode(text).hex()


def changed(
    value: Any,
    key: Callable[[str], str] = str,
    item: Callable[[str, Any], Any] = lambda _, value: value,
) -> Any:
    """Return a document with every key, and every value of certain keys, changed."""
    if isinstance(value, dict):
        return {key(name): changed(item(name, inner), key, item) for name, inner in value.items()}
    return [changed(inner, key, item) for inner in value] if isinstance(value, list) else value


def snake(name: str) -> str:
    return re.sub("([A-Z])", lambda upper: f"_{upper[1].lower()}", name)


def one_a_span(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for resource in document["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                yield {"resourceSpans": [{**resource, "scopeSpans": [{**scope, "spans": [span]}]}]}


def framed(*messages: bytes) -> bytes:
    return b"".join(len(each).to_bytes(4, "big") + each for each in messages)


def base64_ids(name: str, value: Any) -> Any:
    return base64.b64encode(bytes.fromhex(value)).decode() if name in ID_KEYS else value


def upper_ids(name: str, value: Any) -> Any:
    return value.upper() if name in ID_KEYS else value


def enum_names(name: str, value: Any) -> Any:
    kinds = ["UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER"]
    return f"SPAN_KIND_{kinds[value]}" if name == "kind" and isinstance(value, int) else value


def numbers(name: str, value: Any) -> Any:
    return int(value) if name.endswith("Nano") or name == "intValue" else value


def nulls(name: str, value: Any) -> Any:
    return (
        {**value, "links": None, "status": None, "flags": None}
        if isinstance(value, dict)
        else value
    )


def text(document: Any, **options: Any) -> bytes:
    return json.dumps(document, **options).encode()


def lines(document: dict[str, Any]) -> bytes:
    return b"\n".join(text(each) for each in one_a_span(document))


FORMS: dict[str, Callable[[dict[str, Any], TracesData], bytes]] = {
    "one document": lambda document, _: text(document),
    "pretty-printed": lambda document, _: text(document, indent=2),
    "pretty-printed without indentation": lambda document, _: text(document, indent=0),
    "several pretty-printed": lambda document, _: b"\n".join(
        text(each, indent=4) for each in one_a_span(document)
    ),
    "several on one line": lambda document, _: b" ".join(
        text(each) for each in one_a_span(document)
    ),
    "an array of documents": lambda document, _: text(list(one_a_span(document)), indent=1),
    "lines": lambda document, _: lines(document),
    "lines with windows ends and blanks": lambda document, _: (
        b"\r\n\r\n" + lines(document).replace(b"\n", b"\r\n\r\n")
    ),
    "a byte-order mark": lambda document, _: b"\xef\xbb\xbf" + lines(document),
    "every line twice": lambda document, _: lines(document) + b"\n" + lines(document),
    "other signals between": lambda document, _: (
        b'{"resourceMetrics":[]}\n' + lines(document) + b'\n{"resourceLogs":[]}'
    ),
    "gzip": lambda document, _: gzip.compress(lines(document)),
    "gzip in two members": lambda document, _: (
        gzip.compress(b'{"resourceLogs":[]}\n') + gzip.compress(lines(document))
    ),
    "snake_case": lambda document, _: text(changed(document, key=snake)),
    "base64 ids": lambda document, _: text(changed(document, item=base64_ids)),
    "upper-case ids": lambda document, _: text(changed(document, item=upper_ids)),
    "enums as names": lambda document, _: text(changed(document, item=enum_names)),
    "integers as numbers": lambda document, _: text(changed(document, item=numbers)),
    "nulls and unknown fields": lambda document, _: text(changed(document, item=nulls)),
    "batches": lambda document, _: text({"batches": document["resourceSpans"]}),
    "nested in trace": lambda document, _: text({"trace": document}),
    "instrumentationLibrarySpans": lambda document, _: text(
        changed(
            document,
            key=lambda name: "instrumentationLibrarySpans" if name == "scopeSpans" else name,
        )
    ),
    "protobuf": lambda _, message: message.SerializeToString(),
    "protobuf in pieces": lambda _, message: b"".join(
        TracesData(resource_spans=[each]).SerializeToString() for each in message.resource_spans
    ),
    "protobuf, length-prefixed": lambda _, message: framed(
        *(TracesData(resource_spans=[each]).SerializeToString() for each in message.resource_spans)
    ),
    "protobuf in gzip": lambda _, message: gzip.compress(message.SerializeToString()),
}


def essence(reading: Reading) -> list[Any]:
    """Return the content of a reading, without process numbers, which differ by form."""
    return [
        (
            trace.trace_id,
            trace.report,
            {
                key: (each.span.span_id, each.time_unix_nano, each.placement)
                for key, each in trace.failures.items()
            },
            [
                (hop.span.span_id, hop.span.duration_nano, hop.report, hop.unreported)
                for hop in trace.hops
            ],
            trace.root_cause,
            trace.recovered,
            trace.losses,
        )
        for trace in reading.traces
    ] + [reading.trace_ids, reading.losses]


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_one_report_at_the_same_places(form, document, message, tmp_path):
    """Report, places, times, hops and losses are those of the plain document."""
    reference, path = tmp_path / "reference", tmp_path / "traces"
    reference.write_bytes(text(document))
    path.write_bytes(FORMS[form](document, message))
    expected = essence(read(reference))
    assert essence(read(path)) == expected
    (trace,) = read(path).traces
    assert len(trace.report.events) == 4
    assert trace.losses == ()


def test_one_span_in_two_forms_is_one_span(document, message, tmp_path):
    """A Collector's JSON file and a backend's protobuf are read as one, without a loss."""
    paths = [tmp_path / name for name in ("json", "snake_case", "protobuf")]
    for path in paths:
        path.write_bytes(
            text(document) if path.name == "json" else FORMS[path.name](document, message)
        )
    assert main(["list", "--strict", "--quiet", *map(str, paths)]) == 0


def test_the_report_read_is_the_report_recorded(make_provider, exporter, tmp_path):
    """Through the SDK, its encoder and a file it comes back equal."""
    with make_provider().get_tracer("test").start_as_current_span("work"), failgraph.hop():
        failgraph.record(
            NgFailureEvent("judge_failed", "x" * 2000, boundary="resources_server"), own=True
        )
        recorded = failgraph.current_report()
    path = tmp_path / "traces.pb"
    path.write_bytes(encode_spans(exporter.get_finished_spans()).SerializeToString())
    assert read(path).traces[0].report == recorded


def test_standard_input_is_read_through_a_spool(document):
    """`-` also reads a pipe, which cannot be read twice."""
    command = [sys.executable, "-m", "failgraph", "list", "-", "--json"]
    for data in (lines(document), gzip.compress(text(document, indent=2))):
        done = subprocess.run(command, input=data, capture_output=True, check=True)
        assert [row["count"] for row in results_in(done.stdout)] == [4]
    empty = subprocess.run(command, input=b"", capture_output=True)
    assert (empty.returncode, empty.stderr) == (
        3,
        b"failgraph: standard input: empty\n",
    )


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (b"\x28\xb5\x2f\xfd" + b"x" * 20, "zstandard"),
        (b"PK\x03\x04" + b"x" * 20, "zip"),
        (bz2.compress(b"{}"), "bzip2"),
        (lzma.compress(b"{}"), "xz"),
        (b"\x04\x22\x4d\x18" + b"x" * 20, "lz4"),
        (b"\xff\x06\x00\x00sNaPpY" + b"x" * 20, "snappy"),
    ],
)
def test_an_unsupported_compression_is_named(tmp_path, data, name):
    """The error names it, and what to do."""
    path = tmp_path / "traces"
    path.write_bytes(data)
    with pytest.raises(SourceError, match=f"is compressed with {name}, which is not supported"):
        read(path)


def test_gzip_that_ends_early_gives_what_came_before(document, tmp_path):
    """A file that is still being written is read as far as it goes; the rest is a loss."""
    path = tmp_path / "traces.gz"
    many = b"\n".join([lines(document)] * 200)
    path.write_bytes(gzip.compress(many)[:-40])
    reading = read(path)
    assert len(reading.traces) == 1
    assert reading.losses[-1] == ("bad_line", "the gzip data is damaged, or ends early")


@pytest.mark.parametrize("form", ["lines", "several pretty-printed"])
def test_a_broken_part_costs_only_itself(form, document, message, tmp_path):
    """A cut line is named by its number, and the rest is read."""
    path = tmp_path / "traces"
    whole = FORMS[form](document, message)
    path.write_bytes(text(document)[:150] + b"\n" + whole + b"\n" + text(document)[:50])
    reading = read(path)
    last = whole.count(b"\n") + 3
    if form == "lines":
        assert [loss.detail for loss in reading.losses] == [
            "line 1 is incomplete JSON",
            f"line {last} is incomplete JSON",
        ]
    assert {loss.kind for loss in reading.losses} == {"bad_line"}
    assert essence(reading)[0][1] == read_from(tmp_path, text(document)).traces[0].report


def read_from(folder: Path, data: bytes) -> Reading:
    path = folder / "read_from"
    path.write_bytes(data)
    return read(path)


@pytest.mark.parametrize("form", ["protobuf", "protobuf, length-prefixed"])
def test_protobuf_that_ends_early_is_read_up_to_there(form, document, message, tmp_path):
    """A message that cannot be parsed costs only itself."""
    extra = copy.deepcopy(message)
    extra.resource_spans[0].scope_spans[0].spans[0].name = "cut off"
    path = tmp_path / "traces"
    whole = FORMS[form](document, message)
    path.write_bytes(whole + FORMS[form](document, extra)[:-7])
    reading = read(path)
    assert reading.traces[0].report == read_from(tmp_path, whole).traces[0].report
    assert [loss.kind for loss in reading.losses] == ["bad_line"]


def test_only_what_is_needed_is_kept(document, tmp_path):
    """Of resources and spans: our attributes, the service's name and the rollout's id."""
    for resource in document["resourceSpans"]:
        resource["resource"]["attributes"].append(
            {"key": "Authorization", "value": {"stringValue": "s3cret-token"}}
        )
        for span in resource["scopeSpans"][0]["spans"]:
            span.setdefault("attributes", []).append(
                {"key": "password", "value": {"stringValue": "s3cret-token"}}
            )
    path = tmp_path / "traces"
    path.write_bytes(text(document))
    assert "s3cret" not in repr(read(path)) + repr(list(spans(path)))


JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=40),
    st.sampled_from(
        ["", "0" * 32, "zz" * 16, "--5", "1e3", "\x1b[31m", "nemo.gym.failure", "\ud800"]
    ),
    st.lists(st.integers(), max_size=3),
    st.dictionaries(st.text(max_size=5), st.integers(), max_size=3),
)


@pytest.mark.slow
@hypothesis_settings(
    max_examples=400,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data())
def test_a_damaged_document_never_raises_and_never_invents_a_failure(document, tmp_path, data):
    """With fields missing, repeated or of the wrong type, losses name what is not there."""
    original = read_from(tmp_path, text(document)).traces[0]
    damaged = copy.deepcopy(document)
    for _ in range(data.draw(st.integers(1, 3))):
        paths = list(json_paths(damaged))
        if not paths:
            break
        *path, last = data.draw(st.sampled_from(paths))
        parent = damaged
        for key in path:
            parent = parent[key]
        action = data.draw(st.sampled_from(["remove", "junk", "repeat"]))
        if action == "remove":
            del parent[last]
        elif action == "junk":
            parent[last] = data.draw(JUNK)
        elif isinstance(parent, list):
            parent.append(copy.deepcopy(parent[last]))
    try:
        reading = read_from(tmp_path, text(damaged))
    except SourceError:
        return
    for trace in reading.traces:
        known = {event.failure_kind for event in original.report.events.values()} | {"_OTHER"}
        assert len(trace.report.events) <= len(original.report.events) + 1
        assert {loss.kind for loss in trace.losses} <= set(MEANING)
        strange = [
            event for event in trace.report.events.values() if event.failure_kind not in known
        ]
        assert (
            not strange
            or trace.losses
            or any(char in json.dumps(damaged) for char in strange[0].failure_kind)
        )
        failgraph.FailureReport.model_validate_json(trace.report.model_dump_json())
        for failure in trace.failures.values():
            assert failure.span.span_id in {span.span_id for span in spans(tmp_path / "read_from")}


MEASURE = """
import resource, sys
from failgraph.readers import read
reading = read(sys.argv[1])
counts = (len(reading.traces), reading.trace_count)
assert counts == (100, 10000), counts
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def big_file(path: Path, length: int) -> None:
    """Write 200,000 spans in 10,000 traces, of which 1 % fail; each span has a long attribute."""
    from builders import event
    from otlp_file import pairs, seen, span

    note = pairs({"note": "x" * length})
    failing = seen(event("e"), 5)
    with path.open("w") as file:
        for batch in range(400):
            batch_spans = []
            for number in range(batch * 500, batch * 500 + 500):
                trace, place = divmod(number, 20)
                made = span(place + 1, 1 if place else None, trace=f"{trace + 1:032x}")
                made["attributes"] = note
                if trace % 100 == 0 and place == 7:
                    made["events"] = [failing]
                batch_spans.append(made)
            print(
                json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": batch_spans}]}]}), file=file
            )


@pytest.mark.slow
def test_memory_does_not_grow_with_what_is_not_needed(tmp_path):
    """Attributes ten times as long take no more memory than a line of the file."""
    peaks = []
    for length in (20, 200):
        path = tmp_path / f"big-{length}"
        big_file(path, length)
        done = subprocess.run(
            [sys.executable, "-c", MEASURE, str(path)], capture_output=True, text=True, check=True
        )
        peaks.append(int(done.stdout))
        path.unlink()
    assert peaks[1] <= 1.1 * peaks[0], peaks


def test_progress_counts_both_passes(document, tmp_path):
    """The last call has the total."""
    path = tmp_path / "traces"
    path.write_bytes(lines(document))
    calls: list[tuple[int, int]] = []
    read(path, progress=lambda done, size: calls.append((done, size)))
    assert calls == sorted(calls)
    assert calls[-1] == (2 * path.stat().st_size, 2 * path.stat().st_size)


def test_a_directory_or_a_missing_file_is_named(tmp_path):
    """What cannot be opened is an error that names it, and gives the reason."""
    for source, why in ((tmp_path, "directory"), (tmp_path / "nothing", "no such file")):
        with pytest.raises(SourceError, match=why) as caught:
            read(source)
        assert str(source) in str(caught.value)
