"""A journal as a source, and beside a trace: what both have is read once."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from builders import event
from failgraph.cli import main
from failgraph.journal.lines import encode_removed_note
from failgraph.readers import Trace, read, spans
from failgraph.view.json_rows import show_row
from journals import line
from json_output import results_in
from otlp_file import (
    CLIENT,
    SERVER,
    TRACE,
    failure_span,
    process,
    raw_event,
    reported,
    seen,
    span,
    write,
)

MS = 1_000_000


@pytest.fixture
def both(tmp_path):
    """Read a run: a trace, as OTLP JSON, and a journal in the same directory."""

    def make(document: dict[str, Any], *data: bytes) -> Trace:
        run = tmp_path / "run"
        (run / "journal").mkdir(parents=True, exist_ok=True)
        (run / "journal" / "policy-7-1.jsonl").write_bytes(b"".join(data))
        write(run / "trace.jsonl", document)
        (trace,) = read(run).traces
        return trace

    return make


def losses(trace: Trace) -> list[str]:
    return [loss.kind for loss in trace.losses]


def test_a_failure_in_both_is_read_once_from_the_trace(both):
    """It is no duplicate and no loss, and is not marked as the journal's."""
    document = process(span(1, None, kind=SERVER), span(2, 1, seen(event("a"), 5 * MS)))
    trace = both(document, line("a"))
    assert trace.failures["a"].placement == "span"
    assert losses(trace) == []
    assert show_row(trace) == show_row(both(document))


def test_a_failure_only_in_the_journal_is_put_on_its_span(both):
    """If the trace has that span, no other one is made up."""
    document = process(span(1, None, kind=SERVER, attributes=reported("a", own="a")), span(2, 1))
    trace = both(document, line("a", cause="b"), line("b", at=4 * MS, seq=1))
    assert [failure.placement for failure in trace.failures.values()] == ["journal"] * 2
    assert [failure.stands_on.name for failure in trace.failures.values()] == ["span-2"] * 2
    assert trace.failures["a"].span_id == f"{2:016x}"
    assert [hop.span.span_id for hop in trace.hops] == [f"{1:016x}"]
    assert trace.hops[0].failures == ["b", "a"]
    assert trace.hops[0].unreported == {"b": "no_reply"}
    assert (trace.report.failure_id, trace.root_cause) == ("a", "b")
    assert losses(trace) == []
    assert trace.duration_nano == 1_000_000_000


def test_a_span_that_never_ended_has_no_duration(both):
    """It has its own name, and is below its parent."""
    trace = both(process(span(1, None, kind=SERVER), service="policy"), line("a", number=2))
    failure = trace.failures["a"]
    assert (failure.stands_on.name, failure.stands_on.duration_nano) == ("span-2", None)
    assert [hop.span.name for hop in trace.hops] == ["span-1"]
    assert [(loss.kind, loss.detail) for loss in trace.losses] == [
        ("unended", f"span-2 {2:016x}, seen only in the journal")
    ]


def test_a_server_that_was_killed_is_a_hop(both):
    """Only the journal knows its span; the client that called it is another service."""
    called = span(1, None, kind=CLIENT)
    killed = line("a", number=2, span_kind="SERVER", service="model")
    trace = both(process(called, service="policy"), killed)
    assert [(hop.span.name, hop.span.service, hop.failures) for hop in trace.hops] == [
        ("span-1", "policy", []),
        ("span-2", "model", ["a"]),
    ]


def test_a_span_below_one_that_never_ended_is_not_a_hop(both):
    """It is in the same process, as far as a journal can tell."""
    document = process(span(3, 2, seen(event("b"), 6 * MS)), service="policy")
    trace = both(document, line("a", number=2, span_kind="SERVER", parent_span_id=None))
    assert [hop.span.name for hop in trace.hops] == ["span-2"]
    assert trace.hops[0].failures == ["a", "b"]


def test_a_lost_failure_span_is_no_loss(both):
    """It stood for a span that the trace has."""
    document = process(span(1, None, kind=SERVER), span(2, 1))
    trace = both(document, line("a", placement="failure_span"))
    assert (trace.failures["a"].placement, trace.failures["a"].stands_on.name) == (
        "journal",
        "span-2",
    )
    document = process(
        span(1, None, kind=SERVER), span(2, 1), failure_span(3, 2, seen(event("a"), 5 * MS))
    )
    assert (
        both(document, line("a", placement="failure_span")).failures["a"].placement
        == "failure_span"
    )


def test_a_damaged_copy_is_repaired(both):
    """A text that was cut on its way is taken from the journal, the place from the trace."""
    cut = seen(event("a", failure_reason="x" * 1000), 5 * MS)
    for each in cut["attributes"]:
        if each["key"].endswith("reason"):
            each["value"]["stringValue"] = "x" * 10
    document = process(span(1, None, cut, kind=SERVER))
    assert losses(both(document)) == ["text_cut"]
    trace = both(document, line("a", number=1, record={"failure_reason": "x" * 1000}))
    assert trace.failures["a"].event.failure_reason == "x" * 1000
    assert (trace.failures["a"].placement, losses(trace)) == ("span", [])


def test_an_event_that_cannot_be_read_is_taken_from_the_journal(both):
    """It was dropped at a limit of its span, or has lost its boundary."""
    broken = raw_event({"nemo.gym.failure.id": "a"}, 5 * MS)
    trace = both(process(span(1, None, broken, kind=SERVER)), line("a", number=1))
    assert trace.failures["a"].placement == "journal"
    assert "event_missing" not in losses(trace)


def test_an_observers_line_wins_over_a_peers_copy(both):
    """The copy may be in the trace or in a journal."""
    copied = seen(event("a", failure_reason="a copy"), 5 * MS, remote=True)
    document = process(span(1, None, copied, kind=SERVER))
    own = line("a", number=2, record={"failure_reason": "as seen"})
    trace = both(document, line("a", number=1, remote=True, record={"failure_reason": "copy"}), own)
    assert trace.failures["a"].event.failure_reason == "as seen"
    trace = both(
        document,
        line("a", number=1, remote=True, record={"failure_reason": "the longest copy of all"}),
    )
    assert trace.failures["a"].event.failure_reason == "a copy"
    assert trace.failures["a"].decoded.remote


def test_a_late_line_is_late(both):
    """As a late event is."""
    document = process(
        span(1, None, kind=SERVER, attributes=reported("b")), span(2, 1, seen(event("b"), MS))
    )
    assert both(document, line("a", late=True)).hops[0].unreported == {"a": "late"}


# Failures outside any trace


def test_outside_any_trace_each_chain_is_one_incident(tmp_path):
    """Failures that cause each other are one trace, named after the first cause."""
    journal = tmp_path / "j.jsonl"
    chain = [
        line("b", None, 1 * MS),
        line("c", None, 2 * MS, cause="b"),
        line("d", None, 3 * MS, cause="c"),
    ]
    journal.write_bytes(b"".join([line("a", None, 0), *chain, line("e", None, 4 * MS, cause="a")]))
    result = read(journal)
    assert [list(each.failures) for each in result.traces] == [["a", "e"], ["b", "c", "d"]]
    assert [each.root_cause for each in result.traces] == ["a", "b"]
    for each in result.traces:
        assert (each.root, each.duration_nano, each.hops, each.losses) == (None, None, (), ())
        assert {failure.span_id for failure in each.failures.values()} == {None}
        assert {failure.placement for failure in each.failures.values()} == {"journal"}
    assert [each.trace_id for each in result.traces] == [
        each.trace_id for each in read(journal).traces
    ]


def test_what_was_recorded_outside_and_then_inside_a_trace_is_in_both(tmp_path):
    """An exception that is kept and raised again happened twice."""
    journal = tmp_path / "j.jsonl"
    journal.write_bytes(line("a", None) + line("a", 2))
    assert [list(each.failures) for each in read(journal).traces] == [["a"], ["a"]]


# A journal as the source


def test_a_directory_is_read_as_its_files(tmp_path):
    """Also a file with a cut last line; other files in it are ignored."""
    (tmp_path / "a-1-1.jsonl").write_bytes(line("a") + line("b")[:-20])
    (tmp_path / "b-2-1.jsonl").write_bytes(line("c"))
    (tmp_path / "notes.txt").write_text("no line")
    (tmp_path / "folder.jsonl").mkdir()
    (tmp_path / "link.jsonl").symlink_to("/etc/passwd")
    result = read(tmp_path)
    assert [list(each.failures) for each in result.traces] == [["a", "c"]]
    assert [loss.kind for loss in result.losses] == ["bad_line"]
    assert sum(len(each.events) for each in spans(tmp_path)) == 2


def test_removed_failures_are_a_loss(tmp_path):
    """The journal notes how many it removed."""
    (tmp_path / "a-1-1.jsonl").write_bytes(encode_removed_note(3, "policy", 7) + line("a"))
    (loss,) = read(tmp_path).losses
    assert loss == (
        "partial_trace",
        "3 failures of policy (process 7) were removed at the journal's size limit",
    )


@pytest.mark.parametrize("form", ["plain", "gzip", "crlf", "bom", "array", "indented"])
def test_lines_are_read_in_every_layout(tmp_path, form):
    """As those of all sources."""
    data = line("a") + line("b")
    documents = [json.loads(each) for each in data.splitlines()]
    forms = {
        "plain": data,
        "gzip": gzip.compress(data),
        "crlf": data.replace(b"\n", b"\r\n"),
        "bom": b"\xef\xbb\xbf" + data,
        "array": json.dumps(documents).encode(),
        "indented": b"\n".join(json.dumps(each, indent=2).encode() for each in documents),
    }
    (tmp_path / "j").write_bytes(forms[form])
    result = read(tmp_path / "j")
    assert [list(each.failures) for each in result.traces] == [["a", "b"]]
    assert result.losses == ()


BROKEN = {
    "half a place": {"span_id": None},
    "a trace id in capitals": {"trace_id": TRACE.upper()},
    "a short span id": {"span_id": "12"},
    "a time that is text": {"time_unix_nano": "1"},
    "a time that is huge": {"time_unix_nano": 2**64},
    "a time before all": {"time_unix_nano": -1},
    "a time that is true": {"time_unix_nano": True},
    "an event without an id": {"event": {"boundary": "model"}},
    "an event that is none": {"event": [1]},
    "an event without a boundary": {"event": {"event_id": "x"}},
}


@pytest.mark.parametrize("change", BROKEN.values(), ids=BROKEN)
def test_an_invalid_line_is_a_bad_line(tmp_path, change):
    """The others are read."""
    broken = {**json.loads(line("b")), **change}
    (tmp_path / "j").write_bytes(line("a") + json.dumps(broken).encode() + b"\n" + line("c"))
    result = read(tmp_path / "j")
    assert [list(each.failures) for each in result.traces] == [["a", "c"]]
    assert [loss.kind for loss in result.losses] == ["bad_line"]


@pytest.mark.parametrize(
    "change", [{"span_kind": 7}, {"service": None}, {"pid": 0}, {"placement": "moon"}], ids=str
)
def test_odd_values_beside_the_record_do_no_harm(tmp_path, change):
    """The failure is what counts."""
    (tmp_path / "j").write_bytes(json.dumps({**json.loads(line("b")), **change}).encode())
    assert [list(each.failures) for each in read(tmp_path / "j").traces] == [["b"]]


# On the command line


def rows(capsys, *arguments: str) -> tuple[int, list[dict[str, Any]], str]:
    """Run a command with --json. Return its exit code, its rows and what it wrote to stderr."""
    code = main([*arguments, "--json"])
    output = capsys.readouterr()
    return code, results_in(output.out), output.err


@pytest.fixture
def lost(tmp_path) -> tuple[str, str]:
    """A trace that has lost a failure, and the journal that has it."""
    journal = tmp_path / "journal"
    journal.mkdir()
    (journal / "policy-7-1.jsonl").write_bytes(line("a"))
    trace = write(
        tmp_path / "trace.jsonl",
        process(span(1, None, kind=SERVER, attributes=reported("a")), span(2, 1)),
    )
    return str(trace), str(journal)


def test_a_journal_beside_a_file(lost, capsys):
    """Given as another source, or as the only one."""
    trace, journal = lost
    code, (row,), err = rows(capsys, "show", trace, journal)
    assert (code, err) == (0, "")
    assert row["failures"]["a"]["placement"] == "journal"
    assert row["failures"]["a"]["span_id"] == f"{2:016x}"
    assert row["losses"] == []
    assert [loss.kind for loss in read(trace).traces[0].losses] == ["event_missing"]
    assert [each["count"] for each in rows(capsys, "list", journal)[1]] == [1]
    assert [each["count"] for each in rows(capsys, "top", trace, journal)[1]] == [1]


def test_reading_commands_ignore_the_setting(lost, capsys, setting):
    """A journal is read only if it is given; otherwise saved rows would be counted twice."""
    trace, journal = lost
    assert rows(capsys, "show", trace, journal)[1][0]["count"] == 1
    setting("JOURNAL", journal)
    assert rows(capsys, "show", trace)[1] == []


def test_the_picture_marks_failures_from_the_journal(lost, capsys, tmp_path):
    """On their span, or outside any trace."""
    trace, journal = lost
    Path(journal, "b.jsonl").write_bytes(line("free", None) + line("free too", None, cause="free"))
    assert main(["show", trace, journal]) == 0
    shown = capsys.readouterr().out
    assert shown.count("(from the journal)") == 1
    assert shown.count("(from the journal, outside any trace)") == 2
    assert "on no span" in shown


def test_export_sends_what_the_trace_has_lost(lost, capsys, tmp_path):
    """A second time nothing is added; the graph is the one that the journal gives."""
    trace, journal = lost
    Path(journal, "b.jsonl").write_bytes(line("free", None) + line("other", cause="a") + b'{"torn')
    pytest.importorskip("opentelemetry.exporter.otlp.json.file")
    expected = rows(capsys, "show", trace, journal)[1]
    for row in expected:
        row["losses"] = []
    assert main(["export", journal, "-o", trace]) == 0
    assert capsys.readouterr().out.startswith(
        "4 rows: 3 exported, 0 already there, 0 not a failure, 1 malformed"
    )
    assert rows(capsys, "show", trace)[1] == expected
    size = Path(trace).stat().st_size
    assert main(["export", journal, "-o", trace]) == 0
    assert capsys.readouterr().out.startswith("4 rows: 0 exported, 3 already there")
    assert Path(trace).stat().st_size == size
    both = rows(capsys, "show", trace, journal)[1]
    for row in both:
        row["losses"] = []
    assert both == expected


def test_export_adds_nothing_that_the_trace_has(capsys, tmp_path):
    """On whichever span it is; a peer's copy does not count."""
    pytest.importorskip("opentelemetry.exporter.otlp.json.file")
    copied, own = seen(event("a"), MS, remote=True), seen(event("b"), MS)
    trace = write(tmp_path / "trace.jsonl", process(span(1, None, copied, own, kind=SERVER)))
    (tmp_path / "j.jsonl").write_bytes(
        line("a") + line("b") + line("b", remote=True) + encode_removed_note(1, "policy", 7)
    )
    for expected in (
        "1 exported, 2 already there, 1 not a failure",
        "0 exported, 3 already there, 1 not a failure",
    ):
        assert main(["export", str(tmp_path / "j.jsonl"), "-o", str(trace)]) == 0
        assert expected in capsys.readouterr().out
    (trace,) = read(trace).traces
    assert not trace.failures["a"].decoded.remote


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)
FIELDS = sorted(json.loads(line("a")))


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    changes=st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=4),
    event=st.none() | JSON,
    note=JSON,
)
def test_any_line_is_read_or_is_a_bad_line(tmp_path, changes, event, note):
    """Whatever is in its fields, the line before it is read, and nothing raises."""
    strange = {**json.loads(line("b")), **changes}
    if isinstance(event, dict):
        strange["event"] = {**json.loads(line("b"))["event"], **event}
    noted = {"removed": note, "service": note, "pid": note}
    data = b"".join(json.dumps(each).encode() + b"\n" for each in (strange, noted))
    (tmp_path / "j").write_bytes(line("a") + data)
    result = read(tmp_path / "j")
    assert "a" in {key for each in result.traces for key in each.failures}
    for each in result.traces:
        json.dumps(show_row(each))
