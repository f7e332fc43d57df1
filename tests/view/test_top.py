"""`top`: failures counted once, recovered ones, and the time of the spans that ended in them."""

from __future__ import annotations

import pytest

from builders import event
from failgraph.cli import main
from failgraph.readers import read
from failgraph.traces.query import Query
from failgraph.view import line_text, top_lines, top_rows
from json_output import results_in
from otlp_file import SECOND, SERVER, TRACE, process, reported, seen, span, write

pytestmark = pytest.mark.once

OTHER, CLEAN = "b" * 32, "c" * 32
BROKEN = {"status": {"code": 2}}
EVERYTHING = Query()
KEYS = ("boundary", "kind", "service", "count", "root_cause_count", "recovered")
TIMES = ("time_lost_nano", "time_lost_ratio", "median_delay_nano")


@pytest.fixture
def rows(tmp_path):
    """Return a function that makes the rows of some documents, by kind."""

    def made(*documents, query=EVERYTHING):
        found = read(write(tmp_path / "file", *documents))
        listed = top_rows(query.select(found.traces), query, found.durations)
        return {row.kind: row for row in listed}

    return made


def rollout(trace=TRACE, own="b"):
    """Return a root hop of 100 ns that fails, and an inner span of 40 ns with the cause."""
    effect = seen(event("b" + trace[0], kind="run_failed", cause_id="a" + trace[0]), 95)
    cause = seen(event("a" + trace[0], kind="model_failed", boundary="model"), 90)
    attributes = reported("a" + trace[0], "b" + trace[0], own=own and own + trace[0])
    return process(
        span(1, None, effect, kind=SERVER, end=100, trace=trace, attributes=attributes),
        span(2, 1, cause, start=50, end=90, trace=trace, **BROKEN),
    )


def test_a_failure_costs_the_spans_that_ended_in_it(rows):
    """The root hop ended in its failure, the inner span in the cause; the share is of all."""
    found = rows(rollout(), process(span(9, None, end=300, trace=CLEAN)))
    times = {kind: [getattr(row, name) for name in TIMES] for kind, row in found.items()}
    assert times == {"run_failed": [100, 0.25, 5], "model_failed": [40, 0.1, 10]}
    assert {kind: row.root_cause_count for kind, row in found.items()} == {
        "run_failed": 0,
        "model_failed": 1,
    }


def test_a_recovered_failure_is_counted_separately(rows):
    """What the root hop reports beside its own chain is recovered; its span still cost time."""
    row = rows(rollout(own=None))["model_failed"]
    assert (row.count, row.recovered, row.time_lost_nano) == (1, 1, 40)


def test_recovered_is_unknown_without_a_root_report(rows):
    """It is None, not zero."""
    assert rows(process(span(1, None, seen(event("a")))))["judge_failed"].recovered is None


def test_nested_spans_of_one_failure_count_once(rows):
    """Two nested hops that ended in the same failure cost no more than the trace took."""
    own = reported("a", own="a")
    inner = span(2, 1, seen(event("a"), 60), start=20, end=60, kind=SERVER, attributes=own)
    row = rows(process(span(1, None, end=100, kind=SERVER, attributes=own), inner))["judge_failed"]
    assert (row.count, row.time_lost_nano, row.time_lost_ratio) == (1, 100, 1.0)


def test_a_span_that_did_not_end_in_a_failure_costs_nothing(rows):
    """It has no error, or it ended in a later failure."""
    went_on = span(1, None, seen(event("a", kind="first"), 5), end=100)
    assert rows(process(went_on))["first"].time_lost_nano == 0
    both = (seen(event("a", kind="first"), 5), seen(event("b", kind="last", cause_id="a"), 6))
    found = rows(process(span(1, None, *both, end=100, **BROKEN)))
    assert (found["first"].time_lost_nano, found["last"].time_lost_nano) == (0, 100)


def test_a_failure_in_two_reports_is_counted_once(rows):
    """A cause in another trace is in the reports of both; it counts where it happened."""
    effect = span(1, None, seen(event("b", cause_id="a", kind="effect"), 9), trace=OTHER)
    found = rows(process(span(1, None, seen(event("a", kind="cause"), 5))), process(effect))
    assert {kind: row.count for kind, row in found.items()} == {"cause": 1, "effect": 1}
    only = rows(
        process(
            span(
                1, None, seen(event("a", kind="cause"), 5), attributes={"nemo.gym.rollout.id": "r1"}
            )
        ),
        process(
            {
                **effect,
                "attributes": [{"key": "nemo.gym.rollout.id", "value": {"stringValue": "r2"}}],
            }
        ),
        query=Query(rollout_id="r2"),
    )
    assert {kind: row.count for kind, row in only.items()} == {"cause": 1, "effect": 1}


def test_the_median_delay(rows):
    """For an odd number of traces, it is the delay of the one in the middle."""
    spans = [
        span(1, None, seen(event(f"e{at}"), at), trace=f"{at:032x}", end=100) for at in (10, 20, 90)
    ]
    assert rows(process(*spans))["judge_failed"].median_delay_nano == 80


def test_only_matching_failures_are_counted(rows):
    """A failure must match the kind, the boundary and the service."""
    assert set(rows(rollout(), query=Query(kinds=frozenset({"model_failed"})))) == {"model_failed"}
    assert set(rows(rollout(), query=Query(boundaries=frozenset({"agent"})))) == {"run_failed"}
    assert (
        rows(
            rollout(),
            query=Query(kinds=frozenset({"model_failed"}), boundaries=frozenset({"agent"})),
        )
        == {}
    )
    assert rows(rollout(), query=Query(services=frozenset({"other"}))) == {}


def test_the_command_prints_a_table_and_the_same_as_json(tmp_path, capsys):
    """`top` prints one line per row, `--json` the documented keys, null for what is unknown."""
    file = write(tmp_path / "file", rollout(), rollout(OTHER))
    assert main(["top", str(file)]) == 0
    head, first, second = capsys.readouterr().out.splitlines()
    assert head.split("  ")[0] == "count"
    assert [line.split()[0] for line in (first, second)] == ["2", "2"]
    assert main(["top", str(file), "--json"]) == 0
    row, other = results_in(capsys.readouterr().out)
    assert list(row) == [*KEYS, *TIMES]
    assert [row[key] for key in KEYS] == ["agent", "run_failed", "gym", 2, 0, 0]
    assert [other[key] for key in TIMES] == [80, 0.4, 10]


def test_the_share_with_since_and_limit(tmp_path, capsys):
    """--since restricts the durations too; --limit leaves out rows, but no failures."""
    late = process(
        span(
            1,
            None,
            seen(event("late"), 5 * SECOND),
            start=5 * SECOND,
            end=6 * SECOND,
            trace=OTHER,
            **BROKEN,
        ),
        span(9, None, start=5 * SECOND, end=8 * SECOND, trace=CLEAN),
    )
    early = process(span(1, None, seen(event("early"), 1), end=SECOND, **BROKEN))

    def shares(*options):
        assert main(["top", str(write(tmp_path / "file", early, late)), "--json", *options]) == 0
        return [row["time_lost_ratio"] for row in results_in(capsys.readouterr().out)]

    assert shares() == [0.4]
    assert shares("--since", "2023-11-14T22:13:22Z") == [0.25]
    assert shares("--limit", "1") == [0.4]


def test_a_hostile_kind_and_service_are_sanitized(tmp_path):
    """Escape sequences in names reach no terminal, and the columns stay aligned."""
    happened = seen(event("a", kind="k\x1b[31m\n" + "x" * 500))
    found = read(
        write(
            tmp_path / "file", process(span(1, None, happened), service="s\x1b]0;t\x07" + "y" * 500)
        )
    )
    lines = [
        line_text(line) for line in top_lines(top_rows(found.traces, Query(), found.durations))
    ]
    assert len(lines) == 2
    assert all(line.isprintable() and len(line) < 250 for line in lines)


def test_without_times_the_time_lost_is_unknown(tmp_path):
    """If no span has both times, the time lost and its share are None, not zero."""
    found = read(write(tmp_path / "file", process(span(1, None, seen(event("a")), end=None))))
    (row,) = top_rows(found.traces, EVERYTHING, found.durations)
    assert (row.count, row.time_lost_nano, row.time_lost_ratio) == (1, None, None)
