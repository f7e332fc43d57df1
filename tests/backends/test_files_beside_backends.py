"""Files and backends read together: traces and failures that one of them lacks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("httpx", reason="backends are read with httpx, which this environment lacks")

from builders import event
from journals import line
from otlp_file import SECOND, TRACE, process, seen, span, write
from recent import NOW, failing, ids, moved, runner
from tempo_stand_in import tempo_stand_in

A, B = "a" * 32, "b" * 32


@pytest.fixture
def run(setting, capsys):
    return runner("TEMPO_URL", setting, capsys)


def journal(tmp_path: Path, *data: bytes) -> str:
    (tmp_path / "journal").mkdir()
    (tmp_path / "journal" / "policy-7-1.jsonl").write_bytes(b"".join(data))
    return str(tmp_path / "journal")


def of(trace: str, event_id: str, number: int = 2, at: int = NOW, **fields: Any) -> bytes:
    return line(event_id, number, at, trace_id=trace, span_start_unix_nano=0, **fields)


def test_a_trace_that_only_the_journal_names_is_fetched(run, tmp_path):
    """Its failing span never ended; the rest of the trace is merged with the journal."""
    quiet = moved(process(span(1, None, trace=B), service="policy"))
    kept = journal(
        tmp_path, of(B, "lost", record={"kind": "transport_timeout"}), of(A, "e", number=1)
    )
    with tempo_stand_in(failing(A), quiet) as tempo:
        assert ids(run(tempo.url, "list", "tempo")[1]) == [A]
        assert sorted(ids(run(tempo.url, "list", "tempo", kept)[1])) == [A, B]
        for command in (("show", "tempo", B), ("show", "tempo", "--kind", "transport_timeout")):
            code, (row,), _ = run(tempo.url, *command, kept)
            assert code == 0
            assert row["failures"]["lost"]["placement"] == "journal"
            assert [hop["name"] for hop in row["hops"]] == ["span-1"]
            assert row["duration_nano"] == SECOND


def test_a_trace_that_is_only_in_the_journal(run, tmp_path):
    """It is found by id and by search, but not without the journal."""
    kept = journal(tmp_path, of(B, "lost"), line("free", None, NOW + SECOND))
    with tempo_stand_in(failing(A)) as tempo:
        rows = run(tempo.url, "list", "tempo", kept)[1]
        assert len(rows) == 3
        assert {A, B} < set(ids(rows))
        assert run(tempo.url, "show", "tempo", B)[0] == 3
        code, (row,), _ = run(tempo.url, "show", "tempo", B, kept)
        assert (code, list(row["failures"])) == (0, ["lost"])


def test_filters_apply_to_both(run, tmp_path):
    """`--since`, `--kind` and `--limit`. Without --since the journal is read as a whole."""
    old = of(B, "old", at=NOW - 7200 * SECOND)
    kept = journal(tmp_path, old, of(TRACE, "new", record={"kind": "odd_kind"}))
    with tempo_stand_in(failing(A, kind="judge_failed")) as tempo:
        assert sorted(ids(run(tempo.url, "list", "tempo", kept)[1])) == [TRACE, A, B]
        for options, expected in (
            (["--since", "1h"], [TRACE, A]),
            (["--since", "5h"], [TRACE, A, B]),
            (["--kind", "odd_kind"], [TRACE]),
        ):
            found = run(tempo.url, "list", "tempo", kept, *options)[1]
            assert sorted(ids(found)) == expected
        assert len(run(tempo.url, "list", "tempo", kept, "--limit", "1")[1]) == 1


def test_two_backends_and_a_file_are_read_as_one(run, tmp_path):
    """A trace whose halves are in two backends is one trace."""
    below = moved(process(span(2, 1, seen(event("below"), 9), trace=A), service="judge"))
    file = write(tmp_path / "t.jsonl", failing(B))
    with tempo_stand_in(failing(A)) as one, tempo_stand_in(below) as two:
        _, rows, _ = run(one.url, "list", one.url, two.url, str(file))
        assert sorted((row["trace_id"], row["count"]) for row in rows) == [(A, 2), (B, 1)]
        for id_text in (A, A[:4]):
            _, (row,), _ = run(one.url, "show", str(file), id_text, one.url, two.url)
            assert (row["trace_id"], row["count"]) == (A, 2)


def test_ids_of_rollouts_are_searched(run, tmp_path):
    """In the backend and in the files, also if they look like digits of a trace id."""
    file = write(tmp_path / "t.jsonl", failing(B, rollout="1184"))
    with tempo_stand_in(failing(A, rollout="7-1"), failing(TRACE, rollout="1184")) as tempo:
        assert ids(run(tempo.url, "show", "tempo", "7-1")[1]) == [A]
        assert ids(run(tempo.url, "show", "tempo", "1184", "7-1")[1]) == [TRACE, A]
        assert sorted(ids(run(tempo.url, "show", "tempo", str(file), "1184")[1])) == [TRACE, B]
        code, _, err = run(tempo.url, "show", "tempo", "7-2")
        assert (code, "no rollout 7-2 in tempo" in err, "the last hour" in err) == (3, True, True)


def test_pages_of_traces_select_these(run, tmp_path):
    """If every source is one; each trace is shown once. Beside a file, everything is shown."""
    kept = journal(tmp_path, of(B, "lost"))
    with tempo_stand_in(failing(A)) as tempo:
        pages = [f"{tempo.url}/api/v2/traces/{A}", f"{tempo.url}/api/v2/traces/{A}/"]
        assert ids(run(tempo.url, "show", *pages)[1]) == [A]
        assert sorted(ids(run(tempo.url, "show", *pages, kept)[1])) == [A, B]
