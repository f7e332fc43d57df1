"""A journal as a source and beside a trace: what only it has is shown in its place, what both have once."""

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
    """Read a trace, as OTLP JSON, with a journal beside it."""

    def make(document: dict[str, Any], *data: bytes) -> Trace:
        journal = tmp_path / "journal"
        journal.mkdir(exist_ok=True)
        (journal / "policy-7-1.jsonl").write_bytes(b"".join(data))
        (found,) = read(write(tmp_path / "trace.jsonl", document), journal=journal).traces
        return found

    return make


def losses(found: Trace) -> list[str]:
    return [loss.kind for loss in found.losses]


def test_what_both_have_is_there_once_and_the_trace_has_it(both):
    """No duplicate, no loss, and not marked as the journal's."""
    document = process(span(1, None, kind=SERVER), span(2, 1, seen(event("a"), 5 * MS)))
    found = both(document, line("a"))
    assert found.failures["a"].placement == "span"
    assert losses(found) == []
    assert show_row(found) == show_row(both(document))


def test_what_only_the_journal_has_is_in_its_place(both):
    """On its span where the trace has that, below the hop, and no span is made up beside it."""
    document = process(span(1, None, kind=SERVER, attributes=reported("a", own="a")), span(2, 1))
    found = both(document, line("a", cause="b"), line("b", at=4 * MS, seq=1))
    assert [failure.placement for failure in found.failures.values()] == ["journal"] * 2
    assert [failure.stands_on.name for failure in found.failures.values()] == ["span-2"] * 2
    assert found.failures["a"].span_id == f"{2:016x}"
    assert [hop.span.span_id for hop in found.hops] == [f"{1:016x}"]
    assert found.hops[0].failures == ["b", "a"]
    assert found.hops[0].unreported == {"b": "no_reply"}
    assert (found.report.failure_id, found.root_cause) == ("a", "b")
    assert losses(found) == []
    assert found.duration_nano == 1_000_000_000


def test_a_span_that_never_ended_is_shown_as_such(both):
    """Where it was, by its own name, below its parent; how long it took is unknown."""
    found = both(process(span(1, None, kind=SERVER), service="policy"), line("a", number=2))
    failure = found.failures["a"]
    assert (failure.stands_on.name, failure.stands_on.duration_nano) == ("span-2", None)
    assert [hop.span.name for hop in found.hops] == ["span-1"]
    assert [(loss.kind, loss.detail) for loss in found.losses] == [
        ("unended", f"span-2 {2:016x}, which the journal alone knows")
    ]


def test_a_server_that_was_killed_is_a_hop(both):
    """Its span is known from the journal alone; the client that called it is of another service."""
    called = span(1, None, kind=CLIENT)
    killed = line("a", number=2, span_kind="SERVER", service="model")
    found = both(process(called, service="policy"), killed)
    assert [(hop.span.name, hop.span.service, hop.failures) for hop in found.hops] == [
        ("span-1", "policy", []),
        ("span-2", "model", ["a"]),
    ]


def test_a_span_below_one_that_never_ended_is_no_hop(both):
    """It is of the same process, as far as a journal can tell."""
    document = process(span(3, 2, seen(event("b"), 6 * MS)), service="policy")
    found = both(document, line("a", number=2, span_kind="SERVER", parent_span_id=None))
    assert [hop.span.name for hop in found.hops] == ["span-2"]
    assert found.hops[0].failures == ["a", "b"]


def test_a_lost_failure_span_is_not_missed(both):
    """It stood for a span that the trace has."""
    document = process(span(1, None, kind=SERVER), span(2, 1))
    found = both(document, line("a", placement="failure_span"))
    assert (found.failures["a"].placement, found.failures["a"].stands_on.name) == (
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


def test_a_damaged_copy_is_mended(both):
    """A text that was cut on its way is whole in the journal; the place is the trace's."""
    cut = seen(event("a", failure_reason="x" * 1000), 5 * MS)
    for each in cut["attributes"]:
        if each["key"].endswith("reason"):
            each["value"]["stringValue"] = "x" * 10
    document = process(span(1, None, cut, kind=SERVER))
    assert losses(both(document)) == ["text_cut"]
    found = both(document, line("a", number=1, record={"failure_reason": "x" * 1000}))
    assert found.failures["a"].event.failure_reason == "x" * 1000
    assert (found.failures["a"].placement, losses(found)) == ("span", [])


def test_an_event_that_cannot_be_read_is_taken_from_the_journal(both):
    """What a span dropped at its limits, or of which the boundary is gone."""
    broken = raw_event({"nemo.gym.failure.id": "a"}, 5 * MS)
    found = both(process(span(1, None, broken, kind=SERVER)), line("a", number=1))
    assert found.failures["a"].placement == "journal"
    assert "event_missing" not in losses(found)


def test_the_observers_line_goes_before_a_peers_copy(both):
    """On the wire or in a journal."""
    copied = seen(event("a", failure_reason="as told"), 5 * MS, remote=True)
    document = process(span(1, None, copied, kind=SERVER))
    own = line("a", number=2, record={"failure_reason": "as seen"})
    found = both(document, line("a", number=1, remote=True, record={"failure_reason": "told"}), own)
    assert found.failures["a"].event.failure_reason == "as seen"
    found = both(
        document,
        line("a", number=1, remote=True, record={"failure_reason": "told by far the most"}),
    )
    assert found.failures["a"].event.failure_reason == "as told"
    assert found.failures["a"].decoded.remote


def test_late_is_late(both):
    """The line says it as the event does."""
    document = process(
        span(1, None, kind=SERVER, attributes=reported("b")), span(2, 1, seen(event("b"), MS))
    )
    assert both(document, line("a", late=True)).hops[0].unreported == {"a": "late"}


# --- outside any trace


def test_outside_any_trace_each_chain_is_one_incident(tmp_path):
    """Failures that cause each other are together, by their first cause; those of another chain are not."""
    journal = tmp_path / "j.jsonl"
    chain = [
        line("b", None, 1 * MS),
        line("c", None, 2 * MS, cause="b"),
        line("d", None, 3 * MS, cause="c"),
    ]
    journal.write_bytes(b"".join([line("a", None, 0), *chain, line("e", None, 4 * MS, cause="a")]))
    found = read(journal)
    assert [list(each.failures) for each in found.traces] == [["a", "e"], ["b", "c", "d"]]
    assert [each.root_cause for each in found.traces] == ["a", "b"]
    for each in found.traces:
        assert (each.root, each.duration_nano, each.hops, each.losses) == (None, None, (), ())
        assert {failure.span_id for failure in each.failures.values()} == {None}
        assert {failure.placement for failure in each.failures.values()} == {"journal"}
    assert [each.trace_id for each in found.traces] == [
        each.trace_id for each in read(journal).traces
    ]


def test_what_was_recorded_outside_and_then_inside_a_trace_is_in_both(tmp_path):
    """An exception that is kept and raised again: each is true."""
    journal = tmp_path / "j.jsonl"
    journal.write_bytes(line("a", None) + line("a", 2))
    assert [list(each.failures) for each in read(journal).traces] == [["a"], ["a"]]


# --- as a source


def test_a_directory_is_read_as_its_files(tmp_path):
    """Files of several processes, one that was killed in the middle of a line, and nothing else that lies there."""
    (tmp_path / "a-1-1.jsonl").write_bytes(line("a") + line("b")[:-20])
    (tmp_path / "b-2-1.jsonl").write_bytes(line("c"))
    (tmp_path / "notes.txt").write_text("no line")
    (tmp_path / "folder.jsonl").mkdir()
    (tmp_path / "link.jsonl").symlink_to("/etc/passwd")
    found = read(tmp_path)
    assert [list(each.failures) for each in found.traces] == [["a", "c"]]
    assert [loss.kind for loss in found.losses] == ["bad_line"]
    assert sum(len(each.events) for each in spans(tmp_path)) == 2


def test_what_a_process_removed_is_said(tmp_path):
    """The journal is no longer whole, and says so."""
    (tmp_path / "a-1-1.jsonl").write_bytes(encode_removed_note(3, "policy", 7) + line("a"))
    (loss,) = read(tmp_path).losses
    assert loss == (
        "partial_trace",
        "3 failures of policy (process 7) were removed at the journal's size limit",
    )


@pytest.mark.parametrize("form", ["plain", "gzip", "crlf", "bom", "array", "indented"])
def test_lines_are_read_in_whichever_form_they_come(tmp_path, form):
    """As all sources are."""
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
    found = read(tmp_path / "j")
    assert [list(each.failures) for each in found.traces] == [["a", "b"]]
    assert found.losses == ()


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
def test_a_line_that_cannot_be_one_is_a_bad_line(tmp_path, change):
    """The others are read."""
    broken = {**json.loads(line("b")), **change}
    (tmp_path / "j").write_bytes(line("a") + json.dumps(broken).encode() + b"\n" + line("c"))
    found = read(tmp_path / "j")
    assert [list(each.failures) for each in found.traces] == [["a", "c"]]
    assert [loss.kind for loss in found.losses] == ["bad_line"]


@pytest.mark.parametrize(
    "change", [{"span_kind": 7}, {"service": None}, {"pid": 0}, {"placement": "moon"}], ids=str
)
def test_what_is_odd_beside_the_record_keeps_nothing_from_being_read(tmp_path, change):
    """The failure is what counts."""
    (tmp_path / "j").write_bytes(json.dumps({**json.loads(line("b")), **change}).encode())
    assert [list(each.failures) for each in read(tmp_path / "j").traces] == [["b"]]


# --- on the command line


def rows(capsys, *arguments: str) -> tuple[int, list[dict[str, Any]], str]:
    code = main([*arguments, "--json"])
    said = capsys.readouterr()
    return code, [json.loads(each) for each in said.out.splitlines()], said.err


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
    """By the option, by the setting, or as the source itself."""
    trace, journal = lost
    code, (row,), said = rows(capsys, "show", trace, "--journal", journal)
    assert (code, said) == (0, "")
    assert row["failures"]["a"]["placement"] == "journal"
    assert row["failures"]["a"]["span_id"] == f"{2:016x}"
    assert row["losses"] == []
    assert [loss.kind for loss in read(trace).traces[0].losses] == ["event_missing"]
    assert [each["count"] for each in rows(capsys, "list", journal)[1]] == [1]
    assert [each["count"] for each in rows(capsys, "top", trace, "--journal", journal)[1]] == [1]


def test_the_setting_is_the_default(lost, capsys, setting, tmp_path):
    """A directory that is not there yet, or has no file yet, is none; one that is named has to be there."""
    trace, journal = lost
    setting("JOURNAL", journal)
    assert rows(capsys, "show", trace)[1][0]["losses"] == []
    for empty in ("not there", "empty"):
        (tmp_path / "empty").mkdir(exist_ok=True)
        setting("JOURNAL", str(tmp_path / empty))
        assert rows(capsys, "list", trace)[0] == 0
    code, _, said = rows(capsys, "list", trace, "--journal", str(tmp_path / "not there"))
    assert (code, f"{tmp_path / 'not there'}: No such file" in said) == (3, True)


def test_the_picture_says_what_comes_from_the_journal(lost, capsys, tmp_path):
    """On its span, or outside any trace."""
    trace, journal = lost
    Path(journal, "b.jsonl").write_bytes(line("free", None) + line("free too", None, cause="free"))
    assert main(["show", trace, "--journal", journal]) == 0
    shown = capsys.readouterr().out
    assert shown.count("(from the journal)") == 1
    assert shown.count("(from the journal, outside any trace)") == 2
    assert "on no span" in shown


def test_import_sends_what_the_trace_has_lost(lost, capsys, tmp_path):
    """What the file has is not added; a second time nothing is; and the graph is the one that the journal gives."""
    trace, journal = lost
    Path(journal, "b.jsonl").write_bytes(line("free", None) + line("other", cause="a") + b'{"torn')
    pytest.importorskip("opentelemetry.exporter.otlp.json.file")
    expected = rows(capsys, "show", trace, "--journal", journal)[1]
    for row in expected:
        row["losses"] = []
    assert main(["import", journal, "--to", trace]) == 0
    assert capsys.readouterr().out.startswith(
        "4 rows: 3 imported, 0 already there, 0 not a failure, 1 malformed"
    )
    assert rows(capsys, "show", trace)[1] == expected
    size = Path(trace).stat().st_size
    assert main(["import", journal, "--to", trace]) == 0
    assert capsys.readouterr().out.startswith("4 rows: 0 imported, 3 already there")
    assert Path(trace).stat().st_size == size
    both = rows(capsys, "show", trace, "--journal", journal)[1]
    for row in both:
        row["losses"] = []
    assert both == expected


def test_import_adds_nothing_that_the_trace_has(capsys, tmp_path):
    """On whichever span it is; a peer's copy is not the observer's own."""
    pytest.importorskip("opentelemetry.exporter.otlp.json.file")
    copied, own = seen(event("a"), MS, remote=True), seen(event("b"), MS)
    trace = write(tmp_path / "trace.jsonl", process(span(1, None, copied, own, kind=SERVER)))
    (tmp_path / "j.jsonl").write_bytes(
        line("a") + line("b") + line("b", remote=True) + encode_removed_note(1, "policy", 7)
    )
    for expected in (
        "1 imported, 2 already there, 1 not a failure",
        "0 imported, 3 already there, 1 not a failure",
    ):
        assert main(["import", str(tmp_path / "j.jsonl"), "--to", str(trace)]) == 0
        assert expected in capsys.readouterr().out
    (found,) = read(trace).traces
    assert not found.failures["a"].decoded.remote


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
    """Whatever stands in its fields: the line before it is read, and nothing is raised."""
    strange = {**json.loads(line("b")), **changes}
    if isinstance(event, dict):
        strange["event"] = {**json.loads(line("b"))["event"], **event}
    noted = {"removed": note, "service": note, "pid": note}
    data = b"".join(json.dumps(each).encode() + b"\n" for each in (strange, noted))
    (tmp_path / "j").write_bytes(line("a") + data)
    found = read(tmp_path / "j")
    assert "a" in {key for each in found.traces for key in each.failures}
    for each in found.traces:
        json.dumps(show_row(each))
