"""`failgraph export`: saved rows as traces in a file or at an endpoint, each of them once."""

from __future__ import annotations

import gzip
import json
import os
import resource
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from failgraph.cli import main
from failgraph.export.exporting import export_sources
from failgraph.readers import read, spans
from failgraph.view import show_row
from gym_rows import EVIDENCE, FAILING, INPUT, ROWS, attempt_row, lines, scored
from otlp_server import Receiver

pytestmark = pytest.mark.once

WRITTEN = 1_750_000_000
"""When the files were last written, in s since the epoch."""


class Done(NamedTuple):
    """The exit code and the output of the command."""

    code: int
    out: str
    err: str


@pytest.fixture
def file(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that writes rows to a file with a fixed time."""

    def write(*rows: object, name: str = "rollouts.jsonl") -> Path:
        path = tmp_path / name
        data = lines(*rows)
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        os.utime(path, (WRITTEN, WRITTEN))
        return path

    return write


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
    pytest.importorskip(
        "opentelemetry.exporter.otlp.json.file", reason="exports into files are written by it"
    )
    return tmp_path / "traces.jsonl"


def untimed(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row of `show --json` without its times."""
    return row | {
        "start_unix_nano": None,
        "hops": [hop | {"offset_nano": None} for hop in row["hops"]],
    }


def test_an_export_gives_the_same_graph_as_reading_the_rows(file, exported, out) -> None:
    """Each kind of row gives the same graph as when the rows are read directly."""
    path = file(*(case.row for case in ROWS))
    done = exported(path, "-o", out)
    recovered = sum(case.failure_id is None for case in FAILING)
    assert done.out == (
        f"{len(ROWS)} rows: {len(FAILING)} exported ({recovered} recovered), 0 already there,"
        f" {len(ROWS) - len(FAILING)} not a failure, 0 malformed\n"
    )
    assert done.err == "failgraph: unknown failure classes, kept unchanged: moon_phase (1)\n"
    direct = {trace.trace_id: show_row(trace) for trace in read(path).traces}
    through = {trace.trace_id: untimed(show_row(trace)) for trace in read(out).traces}
    assert through == direct


def test_exporting_twice_changes_nothing(file, exported, out) -> None:
    """Exporting a file, a copy of it or a repeated row again does not change the target."""
    path = file(*(case.row for case in FAILING))
    exported(path, "-o", out)
    before = out.read_bytes()
    assert exported(path, "-o", out).out.startswith(
        f"{len(FAILING)} rows: 0 exported, {len(FAILING)} already there"
    )
    copy = file(*(case.row for case in reversed(FAILING)), name="copy.jsonl")
    assert exported(copy, path, "-o", out).out.startswith(f"{2 * len(FAILING)} rows: 0 exported")
    assert out.read_bytes() == before
    again = out.with_name("again.jsonl")
    assert f"{len(FAILING)} already there" in exported(path, copy, "-o", again).out
    assert again.read_bytes() == before


def test_new_rows_are_appended_to_a_file(file, exported, out) -> None:
    """New rows are appended, also to a file whose last line is incomplete."""
    exported(file(FAILING[0].row), "-o", out)
    live = out.read_bytes().rstrip(b"\n")
    out.write_bytes(live + b'\n{"resourceSpans": [{"scopeSp')
    done = exported(file(FAILING[0].row, FAILING[1].row), "-o", out)
    assert done.out.startswith("2 rows: 1 exported, 1 already there")
    assert {trace.rollout_ids[0] for trace in read(out).traces} == {"1-0", "2-0"}


def test_a_span_has_the_time_of_the_response_or_of_the_file(file, exported, out) -> None:
    """A row's span is at the time of its response, or else of its file, and has no duration."""
    exported(file(FAILING[0].row, scored(5, 0.0, _ng_failure_class="judge_failed")), "-o", out)
    first, second = sorted(spans(out), key=lambda span: span.attributes["nemo.gym.rollout.id"])
    assert first.start_unix_nano == first.end_unix_nano == WRITTEN * 10**9
    assert second.start_unix_nano == second.end_unix_nano == 1_760_000_005_250_000_000
    for trace in read(out).traces:
        assert (trace.duration_nano, trace.losses) == (None, ())


def test_every_row_is_counted(file, exported, out) -> None:
    """The counts add up to the rows, and malformed rows are named with file and line."""
    sidecar = file(FAILING[3].row, b"{broken", FAILING[3].row, name="rollouts_failures.jsonl.gz")
    path = file(
        b"\xff\xfe", scored(1), {"hello": 1}, *EVIDENCE, INPUT, FAILING[0].row, b"", [1], b'{"_ng_'
    )
    done = exported(path, sidecar, "-o", out)
    assert done.out == "12 rows: 2 exported, 1 already there, 4 not a failure, 5 malformed\n"
    assert done.code == 0
    assert done.err.splitlines() == [
        f"failgraph: {path}: line 1 is not JSON",
        f"failgraph: {path}: line 3 is not a saved row",
        f"failgraph: {path}: line 9 is not a saved row",
        f"failgraph: {path}: line 10 is not JSON",
        f"failgraph: {sidecar}: line 2 is not JSON",
    ]


def test_many_malformed_rows_are_counted_and_some_named(file, exported, out) -> None:
    """Of many malformed rows, 20 are named, also those before the first valid row."""
    done = exported(file(*[b"no"] * 30, scored(1), *[b"no"] * 30), "-o", out)
    assert done.out == "61 rows: 0 exported, 0 already there, 1 not a failure, 60 malformed\n"
    assert len(done.err.splitlines()) == 21
    assert done.err.endswith("failgraph: 40 more malformed rows\n")
    assert not out.exists()


def test_each_kind_of_unusable_file_is_reported(file, exported, out) -> None:
    """Each kind of unusable file gets its own message, and the other files are exported."""
    clean, failing = file(scored(1), name="clean.jsonl"), file(FAILING[0].row, name="failing.jsonl")
    strange = {
        file(
            {"a": 1}, b"b", name="other.jsonl"
        ): ": 1 JSON document of another kind: no spans, saved rows or journal lines, and 1 line",
        file(
            {"resourceSpans": []}, name="live.jsonl"
        ): ": 1 JSON document of OTLP without any span",
        file({"a": 1}, name="one.jsonl"): ": 1 JSON document of another kind",
        file(b"<html>", name="page.jsonl"): ": an HTML page, perhaps a login, not traces",
        file(INPUT, name="inputs.jsonl"): ": the inputs of rollouts, not their results.",
        out.with_name("rows.zst"): " is compressed with zstandard, which is not supported;",
    }
    out.with_name("rows.zst").write_bytes(b"\x28\xb5\x2f\xfd123")
    for path, says in strange.items():
        done = exported(path, "-o", out)
        assert done.out == "0 rows: 0 exported, 0 already there, 0 not a failure, 0 malformed\n"
        assert done.err.startswith(f"failgraph: {path}{says}")
        assert done.code == 3
    target = out.with_name("target.jsonl")
    done = exported(clean, *strange, failing, "-o", target)
    assert done.out == "2 rows: 1 exported, 0 already there, 1 not a failure, 0 malformed\n"
    assert (done.code, len(done.err.splitlines())) == (3, len(strange))
    empty = file(name="empty.jsonl")
    done = exported(empty, "-o", out)
    assert done == (
        0,
        "0 rows: 0 exported, 0 already there, 0 not a failure, 0 malformed\n",
        f"failgraph: {empty}: empty\n",
    )
    assert exported(clean, "-o", target) == (
        0,
        "1 row: 0 exported, 0 already there, 1 not a failure, 0 malformed\n",
        "",
    )


def test_a_source_that_does_not_exist_stops_the_export(file, exported, out) -> None:
    """Nothing is written: the name may be mistyped."""
    missing = out.with_name("missing.jsonl")
    assert exported(file(FAILING[0].row), missing, "-o", out) == (
        3,
        "",
        f"failgraph: {missing}: no such file\n",
    )
    assert not out.exists()


def test_rows_before_damaged_gzip_data_are_exported(file, exported, out) -> None:
    """Rows before the damage are exported, and a message reports the damage."""
    path = file(
        *(case.row for case in FAILING),
        *(scored(number) for number in range(3000)),
        name="rows.jsonl.gz",
    )
    path.write_bytes(path.read_bytes()[:-2000])
    done = exported(path, "-o", out)
    assert done.code == 3
    assert f"{len(FAILING)} exported" in done.out
    assert "damaged or incomplete gzip data" in done.err


@pytest.mark.parametrize(
    ("to", "says"),
    [
        ("rollouts.jsonl", "is also a source"),
        ("other.jsonl", "exists and does not have OTLP JSON lines"),
        ("packed.gz", "exists and does not have OTLP JSON lines"),
        (".", "is not a regular file"),
        ("-", "is not supported"),
        ("localhost:4317", "Did you mean http://localhost:4317?"),
        ("ftp://localhost", "is not an OTLP endpoint"),
        ("http://", "is not an OTLP endpoint"),
        ("http://localhost:99999", "is not an OTLP endpoint"),
    ],
)
def test_an_invalid_target_is_rejected_before_anything_is_written(
    to, says, file, exported, out, tmp_path, monkeypatch
) -> None:
    """Nothing is written, above all not to a file of something else."""
    monkeypatch.chdir(tmp_path)
    file(FAILING[0].row)
    file(FAILING[1].row, name="other.jsonl")
    file({"resourceSpans": []}, name="packed.gz")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    done = exported("rollouts.jsonl", "-o", to)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"failgraph: -o {to} ")
    assert says in done.err
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_file_that_cannot_be_written_is_reported(file, exported, out, tmp_path) -> None:
    """One message, and exit code 3."""
    done = exported(file(FAILING[0].row), "-o", tmp_path / "no" / "where")
    assert done == (
        3,
        "",
        f"failgraph: cannot write {tmp_path}/no/where: no such file or directory\n",
    )


def test_a_missing_file_exporter_is_reported(file, exported, tmp_path, monkeypatch) -> None:
    """The message says what to install."""
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.json.file", None)
    done = exported(file(FAILING[0].row), "-o", tmp_path / "traces.jsonl")
    assert (done.code, done.out) == (2, "")
    assert done.err.endswith(
        "needs OpenTelemetry's file exporter. Run: pip install 'failgraph[cli]'\n"
    )


@pytest.mark.slow
def test_a_full_disk_stops_the_export(file, out) -> None:
    """Rows that were not written are counted and the reason is shown; a second run adds them."""
    path = file(
        *(
            attempt_row(number, _ng_failure_class="judge_failed", error="x" * 500)
            for number in range(1500)
        )
    )
    command = [sys.executable, "-m", "failgraph", "export", str(path), "-o", str(out)]
    limit = 600_000
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    assert done.returncode == 3
    counts = dict(
        reversed(part.strip().split(" ", 1)) for part in done.stdout.partition(": ")[2].split(",")
    )
    assert int(counts["not sent"]) > 0
    assert sum(map(int, counts.values())) == int(done.stdout.split()[0])
    assert "File too large" in done.stderr
    assert "Traceback" not in done.stderr
    again = subprocess.run(command, capture_output=True, text=True, check=True)
    assert again.stdout.startswith("1500 rows: ")
    assert read(out).trace_count == 1500


def test_secrets_are_redacted(file, exported, out, setting) -> None:
    """Messages, bodies and server names are redacted, and omitted with FAILGRAPH_REDACT=all."""
    secret = "sk-" + "a1B2" * 8
    row = FAILING[1].row | {
        "_ng_failure_message": f"api_key={secret}",
        "_ng_failure_response_body": json.dumps(repr(ValueError(f"Bearer {secret}"))),
        "_ng_environment_server": f"Bearer {secret}",
    }
    exported(file(row), "-o", out)
    written = out.read_text()
    assert "[redacted:" in written
    assert secret not in written
    setting("REDACT", "all")
    silent = out.with_name("silent.jsonl")
    exported(file(FAILING[1].row), "-o", silent)
    assert "verify exploded" not in silent.read_text()
    assert "ValueError" in silent.read_text()


# --- endpoints


ENDPOINT = (
    "an endpoint cannot tell which rows it already has; what is sent again has the same ids and"
    " is counted once"
)


@pytest.mark.parametrize(
    ("path", "environ"),
    [
        ("/v1/traces", {}),
        ("", {"OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}),
        (
            "/",
            {
                "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc",
                "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/protobuf",
            },
        ),
        ("/tenant/v1/traces", {}),
    ],
)
def test_rows_reach_an_endpoint_over_http(path, environ, file, exported, monkeypatch) -> None:
    """A path or the environment selects HTTP, and each run sends the same bytes."""
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    rows = file(*(case.row for case in FAILING))
    with Receiver() as receiver:
        for _ in range(2):
            done = exported(rows, "-o", receiver.endpoint + path)
            assert done.out.startswith(f"{len(FAILING)} rows: {len(FAILING)} exported")
            assert done.err.endswith(f"failgraph: {ENDPOINT}\n")
        first, second = receiver.bodies
        assert first == second
        assert len(receiver.spans()) == 2 * len(FAILING)
        assert set(receiver.failures().values()) <= {
            2,
            2 * len([case for case in FAILING if "e-1" in case.events]),
        }


def test_rows_reach_an_endpoint_over_grpc(file, exported, collector, monkeypatch) -> None:
    """Without a path and a protocol, gRPC is used."""
    monkeypatch.delenv("OTEL_EXPORTER_OTLP_PROTOCOL", raising=False)
    assert exported(file(FAILING[3].row), "-o", f"http://127.0.0.1:{collector.port}").code == 0
    (request,) = collector.requests
    (sent,) = request.resource_spans
    assert [(pair.key, pair.value.string_value) for pair in sent.resource.attributes] == [
        ("service.name", "nemo-gym/agent_env")
    ]
    (span,) = sent.scope_spans[0].spans
    attributes = {pair.key: pair.value for pair in span.attributes}
    assert attributes["nemo.gym.rollout.id"].string_value == "4-0-a1"
    assert (span.status.code, span.status.message) == (2, "agent_request_failed")
    assert sent.scope_spans[0].scope.name == "failgraph.export"


def test_batches_are_limited_in_spans_and_in_bytes(file, exported, collector) -> None:
    """No batch has more than 512 spans or 2 MiB: gRPC servers reject messages over 4 MiB."""
    wide = [
        attempt_row(number, _ng_failure_class="judge_failed", error="x" * 2000)
        for number in range(1200)
    ]
    narrow = [attempt_row(number, _ng_failure_class="judge_failed") for number in range(600)]
    assert exported(file(*wide, *narrow), "-o", f"http://127.0.0.1:{collector.port}").code == 0
    sizes = [
        sum(len(scope.spans) for sent in request.resource_spans for scope in sent.scope_spans)
        for request in collector.requests
    ]
    assert sum(sizes) == 1800
    assert max(sizes) <= 512
    assert max(request.ByteSize() for request in collector.requests) < 2 << 20


def test_an_unreachable_endpoint_stops_the_export(file, exported, monkeypatch) -> None:
    """One message has the exporter's reason, the exit code is 3, and the counts add up."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1")
    done = exported(file(FAILING[0].row, scored(1)), "-o", "http://127.0.0.1:1/v1/traces")
    assert done.code == 3
    assert (
        done.out
        == "2 rows: 0 exported, 0 already there, 1 not a failure, 0 malformed, 1 not sent\n"
    )
    (line,) = done.err.splitlines()
    assert line.startswith("failgraph: cannot send to http://127.0.0.1:1/v1/traces: ")
    assert line.endswith(". 0 of 1 row sent; safe to repeat.")


def test_an_unknown_host_is_told_from_a_closed_port(file, exported, monkeypatch) -> None:
    """The two have different fixes."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1")
    rows = file(FAILING[0].row)
    unknown = exported(rows, "-o", "http://no-such-host.invalid/v1/traces")
    closed = exported(rows, "-o", "http://127.0.0.1:1/v1/traces")
    assert "unknown host name. Check the address. 0 of 1 row sent" in unknown.err
    assert "nothing listens there. Start a Collector" in closed.err


def test_an_endpoint_that_does_not_speak_grpc_is_reported(file, exported, monkeypatch) -> None:
    """A gRPC exporter that reaches an HTTP server gives a hint instead of grpcio's text."""
    monkeypatch.delenv("OTEL_EXPORTER_OTLP_PROTOCOL", raising=False)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1")
    with Receiver() as receiver:
        done = exported(file(FAILING[0].row), "-o", receiver.endpoint)
    assert done.err == (
        f"failgraph: cannot send to {receiver.endpoint}: it does not speak gRPC."
        " Set OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf. 0 of 1 row sent; safe to repeat.\n"
    )


def test_an_unknown_protocol_is_rejected(file, exported, monkeypatch) -> None:
    """The message has the variable, its value and the valid values."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json")
    done = exported(file(FAILING[0].row), "-o", "http://127.0.0.1:1")
    assert done == (
        2,
        "",
        "failgraph: OTEL_EXPORTER_OTLP_PROTOCOL must be grpc or http/protobuf, not 'http/json'\n",
    )


# --- size


def many(path: Path, count: int) -> Path:
    """Write rows of which one in eight has a failure."""
    with path.open("w") as file:
        for number in range(count):
            failed = number % 8 == 0
            row = (
                attempt_row(number, _ng_failure_class="judge_failed")
                if failed
                else scored(number, text="y" * 300)
            )
            file.write(json.dumps(row) + "\n")
    return path


@pytest.mark.slow
def test_memory_is_constant_and_time_is_linear(tmp_path: Path, out: Path) -> None:
    """Three times the rows take about the same memory and three times the time."""
    peaks, times = [], []
    for count in (5000, 15_000):
        path = many(tmp_path / f"{count}.jsonl", count)
        tracemalloc.start()
        start = time.process_time()
        result = export_sources([str(path)], str(out.with_name(f"{count}-traces.jsonl")))
        times.append(time.process_time() - start)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert (result.rows, result.exported, result.not_a_failure) == (
            count,
            count // 8,
            count - count // 8,
        )
    assert peaks[1] < 1.2 * peaks[0]
    assert times[1] < 6 * times[0]


def test_progress_counts_the_bytes_of_all_files(file, out) -> None:
    """The progress never goes back, and ends with all bytes."""
    paths = [file(*(case.row for case in FAILING), name=f"{number}.jsonl") for number in range(3)]
    updates: list[tuple[int, int]] = []
    export_sources(
        [str(path) for path in paths], str(out), {}, lambda done, size: updates.append((done, size))
    )
    assert {size for _, size in updates} == {sum(path.stat().st_size for path in paths)}
    assert updates == sorted(updates)
    assert updates[-1][0] == updates[-1][1]
