"""`failgraph export` of spans: whole, once, in every format, to a file and to an endpoint."""

from __future__ import annotations

import base64
import json
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from builders import event
from failgraph.cli import main
from failgraph.export.otlp_documents import span_groups
from failgraph.export.otlp_spans import lost_fields
from failgraph.readers import read
from failgraph.view import show_row
from gym_rows import FAILING, lines
from journals import line
from otlp_file import process, seen, span, write
from otlp_server import Receiver

pytestmark = pytest.mark.once

GOLDEN = Path(__file__).parent.parent / "cli" / "golden" / "sources"
SPAN_FILES = sorted(
    path
    for path in GOLDEN.iterdir()
    if path.name.split(".")[0] not in ("journal", "rows", "jaeger-v1")
)
VALUES = [
    {"key": "text", "value": {"stringValue": ""}},
    {"key": "flag", "value": {"boolValue": False}},
    {"key": "number", "value": {"intValue": "0"}},
    {"key": "large", "value": {"intValue": "-9007199254740993"}},
    {"key": "ratio", "value": {"doubleValue": 0.25}},
    {"key": "data", "value": {"bytesValue": "AAEC"}},
    {"key": "list", "value": {"arrayValue": {"values": [{"stringValue": "a"}, {"intValue": "7"}]}}},
    {"key": "empty", "value": {"arrayValue": {}}},
    {
        "key": "map",
        "value": {"kvlistValue": {"values": [{"key": "k", "value": {"boolValue": True}}]}},
    },
]
JAEGER = b'{"data": [{"traceID": "ab", "spans": [], "processes": {}}]}'
FULL: dict[str, Any] = {
    "resourceSpans": [
        {
            "resource": {"attributes": VALUES},
            "schemaUrl": "https://example.org/resource",
            "scopeSpans": [
                {
                    "scope": {"name": "scope", "version": "1", "attributes": VALUES},
                    "schemaUrl": "https://example.org/scope",
                    "spans": [
                        {
                            "traceId": "ab" * 16,
                            "spanId": "cd" * 8,
                            "parentSpanId": "ef" * 8,
                            "traceState": "vendor=one,other=two",
                            "flags": 0x300,
                            "name": "work",
                            "kind": 3,
                            "startTimeUnixNano": "1750000000000000001",
                            "endTimeUnixNano": "1750000000000000002",
                            "attributes": VALUES,
                            "droppedAttributesCount": 1,
                            "events": [
                                {
                                    "name": "happened",
                                    "timeUnixNano": "1750000000000000001",
                                    "attributes": VALUES,
                                    "droppedAttributesCount": 2,
                                }
                            ],
                            "droppedEventsCount": 3,
                            "links": [
                                {
                                    "traceId": "12" * 16,
                                    "spanId": "34" * 8,
                                    "attributes": VALUES,
                                    "droppedAttributesCount": 4,
                                    "flags": 0x100,
                                }
                            ],
                            "droppedLinksCount": 5,
                            "status": {"code": 2, "message": "broken"},
                        }
                    ],
                }
            ],
        }
    ]
}


class Done(NamedTuple):
    """The exit code and the output of the command."""

    code: int
    out: str
    err: str


@pytest.fixture
def exported(capsys: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    """Return a function that runs the command in this process."""

    def run_command(*arguments: object) -> Done:
        code = main(["export", *map(str, arguments)])
        return Done(code, *capsys.readouterr())

    return run_command


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """The file that traces are exported to."""
    pytest.importorskip("opentelemetry.exporter.otlp.json.file", reason="-o FILE needs it")
    return tmp_path / "out.jsonl"


def groups(document: dict[str, Any]) -> list[Any]:
    """Return the spans of a document in canonical form."""
    return list(span_groups(document, pytest.fail))


def with_base64_ids(value: Any) -> Any:
    """Return OTLP JSON as protobuf's own JSON has it."""
    if isinstance(value, dict):
        return {
            name: base64.b64encode(bytes.fromhex(item)).decode()
            if name.endswith(("traceId", "spanId", "SpanId"))
            else with_base64_ids(item)
            for name, item in value.items()
        }
    return [with_base64_ids(item) for item in value] if isinstance(value, list) else value


def as_protobuf(document: dict[str, Any]) -> bytes:
    from google.protobuf.json_format import ParseDict

    return ParseDict(with_base64_ids(document), TracesData()).SerializeToString()


@pytest.mark.parametrize("source", SPAN_FILES, ids=lambda path: path.name)
def test_an_exported_file_reads_as_its_source(source, exported, out) -> None:
    """The traces of the new file equal those of the source, and a second export adds nothing."""
    done = exported(source, "-o", out)
    assert done.code == 0
    first, second = (
        {trace.trace_id: show_row(trace) for trace in read(path).traces} for path in (source, out)
    )
    assert second == first
    before = out.read_bytes()
    assert " 0 exported, " in exported(source, "-o", out).out
    assert out.read_bytes() == before


def test_a_file_gets_every_field(exported, out, tmp_path) -> None:
    """Nothing that a document holds is missing, also what failgraph does not know."""
    full = json.loads(json.dumps(FULL))
    full["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["ofTomorrow"] = {"a": [1, "b"]}
    exported(write(tmp_path / "full.jsonl", full), "-o", out)
    assert json.loads(out.read_text()) == full


def test_protobuf_and_other_spellings_become_the_same_span(exported, out, tmp_path) -> None:
    """Protobuf, base64 ids, snake_case and enum names: each is the same span."""
    exported(write(tmp_path / "full.jsonl", FULL), "-o", out)
    text = json.dumps(with_base64_ids(FULL))
    for old, new in (
        ("traceId", "trace_id"),
        ("scopeSpans", "scope_spans"),
        ('"kind": 3', '"kind": "SPAN_KIND_CLIENT"'),
        ('"code": 2', '"code": "STATUS_CODE_ERROR"'),
    ):
        text = text.replace(old, new)
    (tmp_path / "odd.json").write_text(json.dumps(json.loads(text), indent=1))
    (tmp_path / "full.pb").write_bytes(as_protobuf(FULL))
    done = exported(tmp_path / "odd.json", tmp_path / "full.pb", "-o", out)
    assert (done.out, done.err) == ("2 spans: 0 exported, 2 already there\n", "")


@pytest.mark.parametrize("path", ["/v1/traces", ""], ids=["http", "grpc"])
def test_an_endpoint_gets_every_field(path, exported, tmp_path, request) -> None:
    """What arrives equals the source. A field that was not sent is named."""
    source = write(tmp_path / "full.jsonl", FULL)
    if path:
        with Receiver() as receiver:
            done = exported(source, "-o", receiver.endpoint + path)
            (body,) = receiver.bodies
    else:
        collector = request.getfixturevalue("collector")
        done = exported(source, "-o", f"http://127.0.0.1:{collector.port}")
        body = collector.requests[0].SerializeToString()
    assert done.out == "1 span: 1 exported, 0 already there\n"
    arrived = groups(
        MessageToDict(ExportTraceServiceRequest.FromString(body), use_integers_for_enums=True)
    )
    missing = lost_fields(groups(FULL)[0])
    assert (arrived == groups(FULL)) is not bool(missing)
    assert ("do not send" in done.err) is bool(missing)


def test_a_field_that_is_not_sent_is_named(exported, tmp_path) -> None:
    """A trace state of a link, say: no exporter of the SDK sends it."""
    full = json.loads(json.dumps(FULL))
    full["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["links"][0]["traceState"] = "a=b"
    with Receiver() as receiver:
        done = exported(write(tmp_path / "f.jsonl", full), "-o", f"{receiver.endpoint}/v1/traces")
    assert "resourceSpans.scopeSpans.spans.links.traceState" in done.err
    assert "Export to a file to keep them." in done.err


def test_two_versions_of_a_span_are_both_exported(exported, out, tmp_path) -> None:
    """Readers join them, as they do in the source."""
    first = process(span(1, None, seen(event("a")), end=None))
    second = process(span(1, None, seen(event("b"))))
    source = write(tmp_path / "both.jsonl", first, second, second)
    assert exported(source, "-o", out).out == "3 spans: 2 exported, 1 already there\n"
    (trace,) = read(out).traces
    assert set(trace.failures) == {"a", "b"}


def test_a_journal_adds_what_the_spans_lack(exported, out, tmp_path) -> None:
    """The spans are taken first, whatever the order of the sources."""
    trace = write(tmp_path / "trace.jsonl", process(span(1, None, seen(event("a")))))
    journal = tmp_path / "a-journal.jsonl"
    journal.write_bytes(line("a") + line("lost"))
    done = exported(journal, trace, "-o", out)
    assert done.out == (
        "1 span: 1 exported, 0 already there\n"
        "2 rows: 1 exported, 1 already there, 0 not a failure, 0 malformed\n"
    )


def test_rows_are_not_added_to_their_own_spans(exported, out, tmp_path) -> None:
    """Rows that were exported before are there already, as spans."""
    rows = tmp_path / "rollouts.jsonl"
    rows.write_bytes(lines(*(case.row for case in FAILING)))
    exported(rows, "-o", tmp_path / "before.jsonl")
    done = exported(rows, tmp_path / "before.jsonl", "-o", out)
    count = len(FAILING)
    assert done.out.splitlines()[0] == f"{count} spans: {count} exported, 0 already there"
    assert f"{count} rows: 0 exported, {count} already there" in done.out


def test_a_row_may_have_the_keys_of_a_span(exported, out, tmp_path) -> None:
    """Rows are told from spans by how a document begins; a row among spans is named."""
    row = {"notes": {"spans": [], "resourceSpans": [], "traceID": "a"}, **FAILING[0].row}
    (tmp_path / "rows.jsonl").write_bytes(lines(row))
    assert exported(tmp_path / "rows.jsonl", "-o", out).out.startswith("1 row: 1 exported")
    mixed = write(tmp_path / "mixed.jsonl", process(span(1, None)), json.dumps(row).encode())
    done = exported(mixed, "-o", out)
    assert done.out == "1 span: 1 exported, 0 already there\n"
    assert "line 2: a saved row or journal line among spans" in done.err


def test_spans_that_begin_strangely_are_found(exported, out, tmp_path) -> None:
    """Behind a broken line, or with other keys in front."""
    broken = write(tmp_path / "broken.jsonl", b"broken", process(span(1, None)))
    strange = write(tmp_path / "strange.jsonl", {"status": "COMPLETE", "trace": process(span(2))})
    done = exported(broken, strange, "-o", out)
    assert (done.code, done.out) == (0, "2 spans: 2 exported, 0 already there\n")


def test_what_cannot_be_read_is_named(exported, out, tmp_path) -> None:
    """A broken line and a span without ids are named, the rest is exported."""
    good = process(span(1, None))
    bad = process({**span(2, None), "spanId": "xyz"})
    source = write(tmp_path / "f.jsonl", good, b"broken", bad)
    done = exported(source, "-o", out)
    assert (done.code, done.out) == (0, "1 span: 1 exported, 0 already there\n")
    assert done.err.splitlines() == [
        f"failgraph: {source}: line 2 is not JSON",
        f"failgraph: {source}: line 3: a span without a valid id",
    ]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (JAEGER, "/api/v3/traces/ID"),
        (b'{"resourceSpans": []}', "f: 1 JSON document of OTLP without any span"),
        (b'{"resourceSpans": [{"scopeSp', "f: line 1 is incomplete JSON. Is the file cut"),
        (b"\x0a\x05\x01\x02\x03", "f: looks like damaged protobuf"),
    ],
)
def test_a_file_without_spans_is_reported(content, says, exported, out, tmp_path) -> None:
    """Exit code 3, and no file."""
    (tmp_path / "f").write_bytes(content)
    done = exported(tmp_path / "f", "-o", out)
    assert done.code == 3
    assert says in done.err
    assert not out.exists()


def test_a_refused_batch_of_spans_is_counted(exported, tmp_path) -> None:
    """The reason is shown once, and the counts add up."""
    source = write(tmp_path / "f.jsonl", process(span(1, None), span(2)))
    with Receiver(status=400) as receiver:
        done = exported(source, "-o", f"{receiver.endpoint}/v1/traces")
    assert done.code == 3
    assert done.out == "2 spans: 0 exported, 0 already there, 2 not sent\n"
    assert "0 of 2 spans sent; safe to repeat." in done.err


def test_spans_behind_a_refused_batch_are_counted(exported, tmp_path) -> None:
    """The counts add up to the spans read, also if a group has more than one batch holds."""
    document = process(*(span(number, None) for number in range(1, 601)))
    with Receiver(status=400) as receiver:
        source = write(tmp_path / "f.jsonl", document)
        done = exported(source, "-o", f"{receiver.endpoint}/v1/traces")
        assert len(receiver.bodies) == 1
    assert done.out == "600 spans: 0 exported, 0 already there, 600 not sent\n"
    assert "0 of 600 spans sent; safe to repeat." in done.err


def test_rows_before_refused_spans_are_counted(out, tmp_path) -> None:
    """Rows wait for a batch; if the file takes nothing more, they are counted as not sent too."""
    (tmp_path / "rows.jsonl").write_bytes(lines(FAILING[0].row))
    strange = write(tmp_path / "spans.jsonl", {"first": 1, **process(span(1, None))})
    command = [sys.executable, "-m", "failgraph", "export", str(tmp_path / "rows.jsonl")]
    done = subprocess.run(
        [*command, str(strange), "-o", str(out)],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10)),
    )
    assert done.returncode == 3
    assert done.stdout.splitlines() == [
        "1 span: 0 exported, 0 already there, 1 not sent",
        "1 row: 0 exported, 0 already there, 0 not a failure, 0 malformed, 1 not sent",
    ]
    assert "0 of 2 rows and spans sent" in done.stderr


def with_field(path: str, value: object) -> dict[str, Any]:
    """Return a document with one span whose field `path` has another value."""
    document = json.loads(json.dumps(FULL))
    (resource_spans,) = document["resourceSpans"]
    (scope_spans,) = resource_spans["scopeSpans"]
    span_fields = scope_spans["spans"][0]
    *names, last = path.split(".")
    target = {
        "resource_spans": resource_spans,
        "scope_spans": scope_spans,
        "span": span_fields,
        "event": span_fields["events"][0],
        "link": span_fields["links"][0],
    }[names[0]]
    for name in names[1:]:
        target = target[name]
    target[last] = value
    return document


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("resource_spans.resource", "judge"),
        ("resource_spans.resource.attributes", 5),
        ("resource_spans.resource.attributes", [{"key": "service.name", "value": "judge"}]),
        ("resource_spans.schemaUrl", 5),
        ("scope_spans.scope", [1]),
        ("scope_spans.scope.name", 5),
        ("scope_spans.schemaUrl", 5),
    ],
)
def test_a_wrong_resource_or_scope_makes_its_spans_malformed(
    path, value, exported, tmp_path
) -> None:
    """They are counted as malformed, other spans are sent, and nothing is raised."""
    check_malformed(with_field(path, value), exported, tmp_path)


@pytest.mark.parametrize(
    ("path", "value", "name"),
    [
        ("resource_spans.resource", {"traceId": "zz"}, "resourceSpans"),
        ("scope_spans.scope", {"spanId": 5}, "scopeSpans"),
    ],
)
def test_a_resource_or_scope_that_cannot_be_read_is_named(
    path, value, name, exported, out, tmp_path
) -> None:
    """Its spans are left out, and the rest is exported."""
    source = write(tmp_path / "f.jsonl", with_field(path, value), process(span(1, None)))
    done = exported(source, "-o", out)
    assert (done.code, done.out) == (0, "1 span: 1 exported, 0 already there\n")
    assert f"line 1: {name} with an invalid id" in done.err


def check_malformed(document: dict[str, Any], exported: Callable[..., Done], folder: Path) -> None:
    """Check that an endpoint gets the one good span, and that the one of `document` is counted."""
    source = write(folder / "f.jsonl", document, process(span(1, None)))
    with Receiver() as receiver:
        done = exported(source, "-o", f"{receiver.endpoint}/v1/traces")
        assert len(receiver.spans()) == 1
    assert (done.code, done.out) == (0, "2 spans: 1 exported, 0 already there, 1 malformed\n")


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("span.name", "\ud800"),
        ("span.kind", "FOO"),
        ("span.traceState", 5),
        ("span.startTimeUnixNano", "now"),
        ("span.droppedEventsCount", 2**32),
        ("span.status.code", "FOO"),
        ("span.status.message", 5),
        ("span.attributes", [{"key": "a", "value": {"stringValue": 5}}]),
        ("span.attributes", [{"key": "a", "value": {"boolValue": "yes"}}]),
        ("span.attributes", [{"key": "a", "value": {"doubleValue": 10**400}}]),
        ("event.droppedAttributesCount", 2**32),
        ("link.flags", "x"),
    ],
)
def test_a_span_with_a_wrong_type_is_malformed_alone(path, value, exported, tmp_path) -> None:
    """An exporter would refuse the whole batch for it; the other spans of the batch are sent."""
    check_malformed(with_field(path, value), exported, tmp_path)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A directory with spans, a journal below it, saved rows, and a file of something else."""
    folder = tmp_path / "run"
    (folder / "journal").mkdir(parents=True)
    write(folder / "traces.jsonl", process(span(1, None, seen(event("a")))))
    (folder / "journal" / "a.jsonl").write_bytes(line("a") + line("lost"))
    (folder / "rollouts.jsonl").write_bytes(lines(*(case.row for case in FAILING)))
    (folder / "config.json").write_text('{"seed": 1}')
    return folder


def test_a_directory_is_a_run(run, exported, out) -> None:
    """Its traces, rows and journals are exported together; a file of something else is named."""
    done = exported(run, "-o", out)
    count = len(FAILING) + 2
    assert done.code == 0
    assert done.out.splitlines()[0] == "1 span: 1 exported, 0 already there"
    assert done.out.splitlines()[1].startswith(f"{count} rows: {count - 1} exported")
    assert f"not used: {run / 'config.json'}: " in done.err
    assert read(out).trace_ids == read(run).trace_ids


def test_a_directory_may_have_more_files_than_the_limit_of_open_files(out, tmp_path) -> None:
    """The command raises its limit, as those that read do."""
    folder = tmp_path / "run"
    folder.mkdir()
    for number in range(100):
        write(folder / f"{number}.jsonl", process(span(number + 1, None)))
    command = [sys.executable, "-m", "failgraph", "export", str(folder), "-o", str(out)]
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, most)),
    )
    assert (done.returncode, done.stdout) == (0, "100 spans: 100 exported, 0 already there\n")


def test_an_empty_directory_beside_a_good_file_is_fine(exported, out, tmp_path) -> None:
    """It is an error only if there is nothing else, as for commands that read."""
    (tmp_path / "empty").mkdir()
    source = write(tmp_path / "f.jsonl", process(span(1, None)))
    done = exported(tmp_path / "empty", source, "-o", out)
    assert (done.code, done.out) == (0, "1 span: 1 exported, 0 already there\n")


@pytest.mark.parametrize("content", [JAEGER, b'{"resourceSpans": [{"sc', b"\x1f\x8b\x08\x00"])
def test_traces_that_stay_behind_are_an_error(content, run, exported, out) -> None:
    """Of a directory too: only files of something else are expected in it."""
    (run / "more.json").write_bytes(content)
    done = exported(run, "-o", out)
    assert done.code == 3
    assert f"failgraph: {run / 'more.json'}: " in done.err
    assert done.out.startswith("1 span: 1 exported")


def test_the_output_may_be_in_the_directory(run, exported, out) -> None:
    """It is no source of itself, so that the export can be repeated."""
    target = run / "all.jsonl"
    assert exported(run, "-o", target).code == 0
    before = target.read_bytes()
    assert exported(run, "-o", target).code == 0
    assert target.read_bytes() == before


def test_a_directory_without_anything_to_export_is_an_error(exported, out, tmp_path) -> None:
    """Each of its files is named; so is a directory without files."""
    folder = tmp_path / "run"
    folder.mkdir()
    done = exported(folder, "-o", out)
    assert (done.code, f"{folder}: a directory without files" in done.err) == (3, True)
    (folder / "config.json").write_text('{"seed": 1}')
    done = exported(folder, "-o", out)
    assert (done.code, f"failgraph: {folder / 'config.json'}: " in done.err) == (3, True)
    assert not out.exists()


@pytest.mark.parametrize(
    ("source", "url"),
    [
        ("jaeger", "http://localhost:16686/api/v3/traces/ID"),
        ("tempo", "http://localhost:3200/api/v2/traces/ID"),
        (f"http://host/trace/{'ab' * 16}", f"http://host/api/v3/traces/{'ab' * 16}"),
    ],
)
def test_a_backend_is_no_source_of_an_export(source, url, exported, out) -> None:
    """The message says what to do, and nothing is written."""
    done = exported(source, "-o", out)
    assert (done.code, done.out) == (2, "")
    assert done.err.endswith(f"Save a trace first: curl {url} > trace.json\n")
    assert not out.exists()


def test_standard_input_is_exported(out, tmp_path) -> None:
    """Of any kind; a pipe is read once."""
    source = write(tmp_path / "f.jsonl", process(span(1, None)))
    command = [sys.executable, "-m", "failgraph", "export", "-", "-o", str(out)]
    done = subprocess.run(command, input=source.read_bytes(), capture_output=True, check=True)
    assert done.stdout == b"1 span: 1 exported, 0 already there\n"
