"""The journal: written when a failure is recorded, whatever happens to the trace; never raises."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from opentelemetry import trace
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import SpanKind

import failgraph
from builders import event
from failgraph import NgFailureEvent
from failgraph.journal import files as journal_files
from failgraph.journal.lines import encode_line, parse_line
from failgraph.recording import writer
from failgraph.recording.recorder import recorder
from failgraph.settings import current
from journals import files, ids, lines

SECRET = "sk-" + "4f9aB27cQ1xZ8mLk" * 2
KEYS = [
    *("time_unix_nano", "seq", "trace_id", "span_id", "parent_span_id", "span_name", "span_kind"),
    *("span_start_unix_nano", "service", "pid", "placement", "own", "event"),
]


@pytest.fixture
def directory(setting, tmp_path) -> Path:
    """Return the directory of a journal that is on."""
    setting("JOURNAL", str(tmp_path / "journal"))
    return tmp_path / "journal"


# --- lines


def test_the_fields_of_a_line(directory, make_provider):
    """Ids, span, service, process, placement, and the record as on the wire, with its id."""
    tracer = make_provider(resource=Resource({"service.name": "sol/ver"})).get_tracer("test")
    with tracer.start_as_current_span("outer") as outer:
        with tracer.start_as_current_span("call", kind=SpanKind.CLIENT) as span:
            failed = event("a", failure_reason="no answer", http_status=503)
            recorded = failgraph.record(failed, own=True)
    (line,) = lines(directory)
    assert list(line) == KEYS
    assert recorded.placement == line["placement"] == "span"
    context, parent = span.get_span_context(), outer.get_span_context()
    assert (line["trace_id"], line["span_id"]) == (
        f"{context.trace_id:032x}",
        f"{context.span_id:016x}",
    )
    assert line["parent_span_id"] == f"{parent.span_id:016x}"
    assert (line["span_name"], line["span_kind"], line["service"]) == ("call", "CLIENT", "sol/ver")
    assert (line["pid"], line["own"], line["span_start_unix_nano"]) == (
        os.getpid(),
        True,
        span.start_time,
    )
    assert line["time_unix_nano"] == span.events[0].timestamp
    assert line["event"] == {
        "event_id": "a",
        "failure_kind": "judge_failed",
        "boundary": "agent",
        "failure_reason": "no answer",
        "http_status": 503,
    }
    (file,) = files(directory)
    assert re.fullmatch(rf"sol_ver-{os.getpid()}-\d+\.jsonl", file.name)


def test_a_line_is_written_before_record_returns(directory, tracer):
    """It does not wait for the end of the span or the process."""
    with tracer.start_as_current_span("open"):
        for number in range(3):
            failgraph.record(event(str(number)))
            assert ids(directory)[-1] == str(number)


def test_a_failure_on_a_failure_span(directory, setting, tracer):
    """The line names the span that was running; its placement says that a failure span has it."""
    setting("EVENTS", "failure_span")
    with tracer.start_as_current_span("work") as span:
        assert failgraph.record(event("a")).placement == "failure_span"
    (line,) = lines(directory)
    assert (line["placement"], line["span_name"]) == ("failure_span", "work")
    assert line["span_id"] == f"{span.get_span_context().span_id:016x}"


def test_a_failure_without_a_place_in_a_trace(directory, make_provider):
    """Outside any trace the ids are null; in an unsampled trace they are its ids."""
    assert failgraph.record(event("outside")) == ("outside", "journal", None)
    with make_provider(sampler=ALWAYS_OFF).get_tracer("t").start_as_current_span("s") as span:
        assert failgraph.record(event("unsampled")) == ("unsampled", "journal", None)
    outside, unsampled = lines(directory)
    assert [outside[key] for key in ("trace_id", "span_id", "parent_span_id")] == [None, None, None]
    assert unsampled["trace_id"] == f"{span.get_span_context().trace_id:032x}"
    assert failgraph.stats() == {"recorded_journal": 2}


@pytest.mark.parametrize(
    "attributes",
    [
        "service.name=my%20judge",
        "a=b=c, service.name = x%3Dy%2Cz ,service.name",
        "service.name=%FF",
        "service.name=one,service.name=two",
        "service.names=a,service%2Ename=b",
        "",
    ],
)
def test_the_service_of_the_environment_is_read_as_the_sdk_reads_it(
    directory, monkeypatch, attributes
):
    """A failure outside any span has the service name that the spans of the process have."""
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", attributes)
    failgraph.record(event("outside"))
    of_spans = OTELResourceDetector().detect().attributes.get("service.name", "unknown_service")
    assert [line["service"] for line in lines(directory)] == [of_spans]


def test_each_failure_is_written_once_per_trace(directory, tracer):
    """However often it is recorded, with a place in a trace or without."""
    error = NgFailureEvent("a", boundary="model")
    assert failgraph.record(error).placement == "journal"
    assert failgraph.record(error).placement == "duplicate"
    with tracer.start_as_current_span("s"):
        assert failgraph.record(error).placement == "span"
        assert failgraph.record(error).placement == "duplicate"
    assert [line["placement"] for line in lines(directory)] == ["journal", "span"]


def test_a_failure_in_the_journal_may_get_a_place_later(directory, make_provider):
    """If it passes a live span, it is recorded there as well."""
    error = NgFailureEvent("a", boundary="model")
    tracer = make_provider().get_tracer("t")
    span = tracer.start_span("given")
    context = span.get_span_context()
    dead = trace.NonRecordingSpan(
        trace.SpanContext(context.trace_id, 7, False, trace.TraceFlags(0))
    )
    assert failgraph.record(error, span=dead).placement == "journal"
    assert failgraph.record(error, span=span).placement == "span"
    span.end()


def test_causes_come_before_their_effects(directory):
    """A reader of a line then knows its causes."""
    cause = NgFailureEvent("a", boundary="model")
    effect = NgFailureEvent("b", boundary="agent")
    effect.__cause__ = cause
    failgraph.record(effect)
    assert ids(directory) == [cause.event_id, effect.event_id]


def test_secrets_are_redacted(directory, make_provider):
    """In the record, and in the names of span and service."""
    tracer = make_provider(resource=Resource({"service.name": f"s {SECRET}"})).get_tracer("test")
    with tracer.start_as_current_span(f"call {SECRET}"):
        failgraph.record(event("a", failure_reason=f"key {SECRET}"))
        failgraph.record(ValueError(f"key {SECRET}"), boundary="agent", kind="x")
    assert len(ids(directory)) == 2
    for file in files(directory):
        assert SECRET[4:20].encode() not in file.read_bytes()
        assert SECRET[4:20] not in file.name


def test_reasons_can_be_off(directory, setting):
    """`FAILGRAPH_REDACT=all` applies to the journal too."""
    setting("REDACT", "all")
    failgraph.record(event("a", failure_reason="something private"))
    assert "private" not in files(directory)[0].read_text()


def test_without_the_setting_no_line_is_made(tmp_path, tracer, monkeypatch):
    """Its code does not run."""
    monkeypatch.setattr(writer, "journal_line", None)
    with tracer.start_as_current_span("s"):
        assert failgraph.record(event("a")).placement == "span"
    assert failgraph.record(event("b")).placement == "nowhere"


@pytest.mark.parametrize(
    "fields", [{}, {"exit_code": 10**5000}, {"exit_code": -(2**63)}], ids=["plain", "huge", "edge"]
)
def test_the_round_trip_of_a_line(directory, fields):
    """Every record comes back whole, even with an exit code of 5,000 digits."""
    details = failgraph.SandboxFailureDetails(sandbox_id="s\ud7ff\U0001f600\u2028\n", **fields)
    written = event("a", boundary="sandbox", details=details, failure_reason="é\u202e\x1b[0m")
    failgraph.record(written)
    (raw,) = lines(directory)
    line = parse_line(raw)
    assert line.event == written
    assert encode_line(line) == files(directory)[0].read_bytes()


# --- files


def test_files_are_private_whatever_the_umask(directory):
    """Mode 0600, and 0700 for a directory that is made for them."""
    before = os.umask(0)
    try:
        failgraph.record(event("a"))
    finally:
        os.umask(before)
    assert stat.S_IMODE(files(directory)[0].stat().st_mode) == 0o600
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700


def test_no_link_is_followed(directory, tmp_path, monkeypatch, caplog):
    """A link with the name of the file is not followed, and an existing file gets no lines."""
    directory.mkdir()
    monkeypatch.setattr(journal_files.time, "time_ns", lambda: 1)
    victim = tmp_path / "victim"
    victim.write_text("precious")
    planted = directory / f"unknown_service-{os.getpid()}-1.jsonl"
    planted.symlink_to(victim)
    assert failgraph.record(event("a")).placement == "nowhere"
    planted.unlink()
    planted.symlink_to(tmp_path / "not there")
    assert failgraph.record(event("b")).placement == "nowhere"
    planted.unlink()
    os.link(victim, planted)
    assert failgraph.record(event("c")).placement == "nowhere"
    assert victim.read_text() == "precious"
    assert not (tmp_path / "not there").exists()
    assert failgraph.stats()["journal_lost"] == 3


def test_a_forked_child_has_a_file_of_its_own(directory):
    """It closes the descriptor of its parent's file, and each process writes to its own file."""
    failgraph.record(event("parent"))
    pid = os.fork()
    if pid == 0:
        failgraph.record(event("child"))
        os._exit(0)
    os.waitpid(pid, 0)
    failgraph.record(event("parent again"))
    by_pid = {int(path.name.split("-")[1]): path.read_text() for path in files(directory)}
    assert by_pid.keys() == {os.getpid(), pid}
    assert [json.loads(line)["event"]["event_id"] for line in by_pid[os.getpid()].splitlines()] == [
        "parent",
        "parent again",
    ]
    assert [json.loads(line)["pid"] for line in by_pid[pid].splitlines()] == [pid]


def test_the_size_of_the_files_is_limited(directory, setting):
    """The older of two files is removed; the removed failures are counted, also in the journal."""
    setting("JOURNAL_MAX_BYTES", "65536")
    for number in range(600):
        failgraph.record(event(str(number)))
        assert sum(path.stat().st_size for path in files(directory)) <= 65536
        assert len(files(directory)) <= 2
    kept = sorted(map(int, ids(directory)))
    removed = failgraph.stats()["journal_removed"]
    assert kept == list(range(removed, 600))
    assert removed > 100
    assert max(line["removed"] for line in lines(directory) if "removed" in line) == removed


def test_a_line_that_is_too_long_is_counted(directory, setting):
    """The next one is written."""
    setting("JOURNAL_MAX_BYTES", "65536")
    long = event(
        "long", boundary="sandbox", details=failgraph.SandboxFailureDetails(exit_code=10**40_000)
    )
    assert failgraph.record(long).placement == "nowhere"
    assert failgraph.record(event("a")).placement == "journal"
    assert (ids(directory), failgraph.stats()["journal_lost"]) == (["a"], 1)


# --- errors

FULL = """
import os, resource, sys, logging
logging.basicConfig(format="%(message)s")
import failgraph
from builders import event
resource.setrlimit(resource.RLIMIT_FSIZE, (4000, resource.RLIM_INFINITY))
full = [failgraph.record(event(f"full {n}")).placement for n in range(30)]
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
after = failgraph.record(event("after")).placement
print(full.count("journal"), full.count("nowhere"), after, dict(failgraph.stats()))
"""


def test_a_full_disk_is_logged_once_and_counted(tmp_path):
    """No call fails. A line written in part is unreadable; once there is room, others follow."""
    environ = {
        **os.environ,
        "FAILGRAPH_JOURNAL": str(tmp_path),
        "PYTHONPATH": str(Path(__file__).parents[1] / "support"),
    }
    done = subprocess.run(
        [sys.executable, "-c", FULL], env=environ, capture_output=True, text=True, check=True
    )
    kept = len(ids(tmp_path))
    lost = 31 - kept
    assert lost > 10
    assert done.stdout.split(" ", 3)[:3] == [str(kept - 1), str(lost), "journal"]
    assert f"'journal_lost': {lost}" in done.stdout
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"failgraph: cannot write to the journal in {tmp_path}: ")
    assert line.endswith("; lost failures count as journal_lost")
    reading = failgraph_readers().read(tmp_path)
    assert [loss.kind for loss in reading.losses] == ["bad_line"]
    assert sum(len(each.failures) for each in reading.traces) == kept


def failgraph_readers():
    from failgraph import readers

    return readers


@pytest.mark.parametrize(
    "folder", ["/proc", "/dev/null/journal", "{tmp}/not/there", "{tmp}/" + "x" * 300], ids=str
)
def test_a_directory_that_cannot_be_written_is_logged_once(
    setting, tmp_path, tracer, caplog, folder
):
    """Read-only, not a directory, without a parent, too long a name: only the journal lacks it."""
    setting("JOURNAL", folder.format(tmp=tmp_path))
    with tracer.start_as_current_span("s"):
        assert [failgraph.record(event(str(number))).placement for number in range(3)] == [
            "span"
        ] * 3
    assert failgraph.record(event("outside")).placement == "nowhere"
    assert failgraph.stats()["journal_lost"] == 4
    assert len([line for line in caplog.messages if "cannot write to the journal in " in line]) == 1


def test_a_removed_directory_is_made_again(directory, tmp_path, caplog):
    """A removed file is noticed at the next failure, so that no line goes into it."""
    failgraph.record(event("a"))
    shutil.rmtree(directory)
    assert failgraph.record(event("b")).placement == "journal"
    assert ids(directory) == ["b"]
    assert failgraph.stats()["journal_removed"] == 1
    shutil.rmtree(directory)
    directory.write_text("no directory")
    assert failgraph.record(event("c")).placement == "nowhere"
    directory.unlink()
    assert failgraph.record(event("d")).placement == "journal"
    assert failgraph.stats()["journal_lost"] == 1
    assert len(caplog.messages) == 1


def test_two_processes_that_make_the_directory_at_once(directory, monkeypatch):
    """The slower one finds the directory and uses it."""
    directory.mkdir()
    assert current().journal == str(directory)
    monkeypatch.setattr(journal_files.os.path, "isdir", lambda _: False)
    assert failgraph.record(event("a")).placement == "journal"


def test_a_descriptor_that_the_program_closed_is_not_written_to(directory, tmp_path):
    """A daemon closes all of them, and the number may be another file's by then."""
    failgraph.record(event("a"))
    file = recorder().writer.journal._current
    os.close(file._descriptor)
    other = os.open(tmp_path / "other", os.O_WRONLY | os.O_CREAT)
    assert other == file._descriptor
    failgraph.record(event("b"))
    os.write(other, b"whole")
    os.close(other)
    assert (tmp_path / "other").read_text() == "whole"
    assert ids(directory) == ["a", "b"]


def test_threads_that_record_at_once_lose_nothing(directory, setting, tracer, exporter):
    """8 threads record 100 failures each, each one twice: all are there once, in whole lines."""
    with tracer.start_as_current_span("one") as span:

        def work(number: int) -> None:
            for each in range(100):
                failgraph.record(event(f"{number // 2} {each}"), span=span)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    expected = sorted(f"{number} {each}" for number in range(4) for each in range(100))
    assert sorted(ids(directory)) == expected
    events = [each for ended in exporter.get_finished_spans() for each in ended.events]
    assert sorted(each.attributes["nemo.gym.failure.id"] for each in events) == expected


@pytest.mark.parametrize("bad", ["0", "65535", "1.5", "-1", "9" * 20, "much"])
def test_a_limit_out_of_bounds_is_a_clear_error(setting, bad, caplog):
    """It names the setting and the bounds; the default is used."""
    setting("JOURNAL_MAX_BYTES", bad)
    assert current().journal_max_bytes == 64 << 20
    assert (
        f"FAILGRAPH_JOURNAL_MAX_BYTES must be an integer from 65536 to 1099511627776, not {bad!r}"
        in caplog.text
    )


def test_a_journal_that_is_a_file_is_a_clear_error(setting, tmp_path, caplog):
    """There is no journal then."""
    (tmp_path / "file").write_text("")
    setting("JOURNAL", str(tmp_path / "file"))
    assert failgraph.record(event("a")).placement == "nowhere"
    assert "FAILGRAPH_JOURNAL must be the path of a directory" in caplog.text


def test_a_relative_path_is_resolved_once(setting, tmp_path, monkeypatch):
    """The program may change its directory."""
    monkeypatch.chdir(tmp_path)
    setting("JOURNAL", "journal")
    failgraph.record(event("a"))
    monkeypatch.chdir("/")
    failgraph.record(event("b"))
    assert ids(tmp_path / "journal") == ["a", "b"]
