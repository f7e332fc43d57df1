"""A journal read together with a backend: traces and failures that the backend lacks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("httpx", reason="backends are read with httpx, which this environment lacks")

from journals import line
from otlp_file import SECOND, TRACE, process, span
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
