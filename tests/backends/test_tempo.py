"""Tempo as a source: a stand-in with its documented API, since a real one cannot be built here."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest
from hypothesis import given, strategies as st

pytest.importorskip("httpx", reason="backends are read with httpx, which this environment lacks")

from builders import event
from failgraph import FailureBoundary
from failgraph.backends.tempo import traceql
from failgraph.readers import read
from failgraph.traces.query import Query
from http_stand_in import Reply, serving
from otlp_file import SECOND, T0, TRACE, failure_span, process, seen, span, write
from recent import NOW, failing, ids, moved, runner
from tempo_stand_in import parsed, tempo_stand_in

pytestmark = pytest.mark.once

HOUR_BEFORE = "failgraph: only the hour before --until was searched; use --since to search more\n"


@pytest.fixture
def run(setting, capsys):
    """Return a function that runs a command against a URL: exit code, JSON rows, stderr."""
    return runner("TEMPO_URL", setting, capsys)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"v2": False},
        {"protobuf": False},
        {"v2": False, "protobuf": False},
        {"prefix": "/tempo"},
    ],
)
def test_one_trace(options, run, tmp_path):
    """Both APIs and formats, and every way to name a trace, give what a file of it gives."""
    document = failing(TRACE)
    _, expected, _ = run("http://localhost:1", "show", str(write(tmp_path / "f", document)))
    with tempo_stand_in(document, **options) as tempo:
        url = tempo.url + options.get("prefix", "")
        page = f"https://grafana.example/explore?left=%5B%22now%22,%22Tempo%22,%7B%22query%22:%22{TRACE}%22%7D%5D"
        sources = (
            ("tempo", TRACE),
            ("tempo", TRACE.upper()),
            (url, TRACE),
            (f"{url}/api/traces/{TRACE}",),
            (page,),
        )
        for source in sources:
            assert run(url, "show", *source) == (0, expected, "")


@pytest.mark.parametrize("options", [{}, {"v2": False}, {"protobuf": False}])
def test_a_missing_trace(options, run):
    """v1 returns 404 and v2 an empty 200: one message, and exit code 3."""
    with tempo_stand_in(failing("f" * 32), **options) as tempo:
        message = (
            f"failgraph: tempo does not have trace {TRACE} (yet)."
            ' Run "failgraph list tempo" to see traces with failures.\n'
        )
        assert run(tempo.url, "show", "tempo", TRACE) == (3, [], message)
        code, _, err = run(tempo.url, "show", "tempo", "1234")
        assert (code, "no trace id in tempo starts with 1234. Only the last hour" in err) == (
            3,
            True,
        )
        assert ids(run(tempo.url, "show", "tempo", "f" * 20)[1]) == ["f" * 32]


@pytest.mark.parametrize("options", [{}, {"protobuf": False}])
def test_an_incomplete_trace_is_a_loss(options, run):
    """The loss has Tempo's words."""
    with tempo_stand_in(failing(TRACE), part="trace exceeds max size", **options) as tempo:
        code, (row,), err = run(tempo.url, "show", "tempo", TRACE, "--strict")
    assert (code, err) == (1, "")
    assert row["losses"] == [
        {"kind": "partial_trace", "detail": "only a part was returned (trace exceeds max size)"}
    ]


def test_a_trace_that_is_too_large(run):
    """The message says what to do."""
    with tempo_stand_in(failing(TRACE), v2=False, too_large=10) as tempo:
        code, _, err = run(tempo.url, "show", "tempo", TRACE)
    assert code == 3
    assert err.endswith(
        "does not return a trace of this size (HTTP 422): trace exceeds max size (max bytes: 10);"
        " raise max_bytes_per_trace in its overrides\n"
    )


def test_filters(run):
    """Kinds, boundaries, services and rollouts; also for failures on spans without a hop."""
    traces = {
        "a" * 32: failing(
            "a" * 32,
            kind="judge_failed",
            boundary="resources_server",
            service="judge",
            rollout="r-1",
        ),
        "b" * 32: failing(
            "b" * 32, SECOND, kind='a "quoted" \\ kind\n', boundary="sandbox", rollout='r"2'
        ),
        "c" * 32: moved(process(span(1, None, start=5, trace="c" * 32))),
        "d" * 32: moved(
            process(
                span(1, None, trace="d" * 32),
                failure_span(
                    2,
                    1,
                    seen(event("x", kind="late", boundary="model"), 9),
                    trace="d" * 32,
                    start=2 * SECOND,
                ),
                service="script",
            )
        ),
    }
    a, b, _, d = traces
    with tempo_stand_in(*traces.values()) as tempo:
        for options, expected in [
            ([], {a, b, d}),
            (["--kind", "judge_failed"], {a}),
            (["--kind", 'a "quoted" \\ kind\n'], {b}),
            (["--kind", "judge_failed", "--kind", "late"], {a, d}),
            (["--kind", "judge_failed", "--boundary", "sandbox"], set()),
            (
                [
                    "--kind",
                    "judge_failed",
                    "--boundary",
                    "sandbox",
                    "--boundary",
                    "resources_server",
                ],
                {a},
            ),
            (["--boundary", "sandbox"], {b}),
            (["--service", "judge"], {a}),
            (["--service", "script", "--kind", "late"], {d}),
            (["--rollout", "r-1"], {a}),
            (["--rollout", 'r"2', "--kind", "judge_failed"], set()),
            (["--since", "1m"], set()),
        ]:
            for command in ("list", "show"):
                code, rows, err = run(tempo.url, command, "tempo", *options)
                assert (code, set(ids(rows))) == (0, expected), (options, err)


def test_a_missing_rollout(run):
    """The message says what was searched."""
    with tempo_stand_in(failing(TRACE)) as tempo:
        lag = "Tempo's search finds new traces only after some seconds"
        for more, where in (
            ([], "only the last hour was searched; use --since to search more; "),
            (["--since", "1d"], ""),
        ):
            message = f"failgraph: no rollout none in tempo; {where}{lag}\n"
            assert run(tempo.url, "list", "tempo", "--rollout", "none", *more) == (3, [], message)


def test_more_traces_than_a_response_holds(run):
    """The newest are shown, and a note says that there are more."""
    many = {
        f"{number:032x}": failing(f"{number:032x}", number * SECOND) for number in range(1, 251)
    }
    with tempo_stand_in(*many.values()) as tempo:
        code, rows, err = run(tempo.url, "list", "tempo", "--since", "1h", "--limit", "1000")
        assert (code, ids(rows), err) == (0, list(many), "")
        code, rows, err = run(tempo.url, "list", "tempo")
        assert (code, ids(rows)) == (0, list(many)[-100:])
        assert err == (
            "failgraph: there are more traces than the newest 100; raise --limit to see them\n"
            "failgraph: only the last hour was searched; use --since to search more\n"
        )
        code, rows, err = run(tempo.url, "list", "tempo", "--limit", "3", "--since", "1h")
        assert ids(rows) == list(many)[-3:]
        since = datetime.fromtimestamp((T0 + NOW) // SECOND + 100, timezone.utc).isoformat()
        code, rows, err = run(tempo.url, "list", "tempo", "--since", since, "--limit", "1000")
        assert (code, ids(rows), err) == (0, list(many)[99:], "")
        code, rows, err = run(tempo.url, "list", "tempo", "--until", since, "--limit", "1000")
        assert (code, ids(rows), err) == (0, list(many)[:100], HOUR_BEFORE)
        code, rows, err = run(tempo.url, "list", "tempo", "--until", "3h")
        assert (code, rows) == (0, [])
        assert HOUR_BEFORE in err


def test_top_reads_all_traces_of_the_time(run):
    """Also more than 100, which is where `list` and `show` stop; a limit counts rows."""
    many = [failing(f"{number:032x}", number * SECOND) for number in range(1, 151)]
    with tempo_stand_in(*many) as tempo:
        for more in ((), ("--limit", "1")):
            code, (row,), err = run(tempo.url, "top", "tempo", "--since", "1h", *more)
            assert (code, row["count"], err) == (0, 150, "")


def test_the_share_is_of_all_traces(run):
    """`top` gets the durations of traces without failures too: one of four seconds was lost."""
    clean = (moved(process(span(1, None, trace=f"{number}" * 32))) for number in range(1, 4))
    with tempo_stand_in(failing(TRACE), *clean) as tempo:
        code, (row,), err = run(tempo.url, "top", "tempo", "--since", "1h")
    assert (code, err) == (0, "")
    assert (row["time_lost_nano"], row["time_lost_ratio"]) == (SECOND, 0.25)


def test_more_traces_in_a_second_than_a_response_holds_is_a_loss(run):
    """A window of a second cannot be divided."""
    many = [failing(f"{number:032x}") for number in range(1, 151)]
    with tempo_stand_in(*many) as tempo:
        code, rows, err = run(
            tempo.url, "list", "tempo", "--since", "1h", "--limit", "1000", "--strict"
        )
    assert (code, len(rows)) == (1, 100)
    assert "more traces with the same start than one response can hold" in err


def test_a_rejected_query(run):
    """A Tempo before 2.6 rejects queries for events."""
    with serving(
        lambda *_: Reply(b"invalid TraceQL query: parse error", 400, "text/plain")
    ) as tempo:
        code, _, err = run(tempo.url, "list", "tempo")
    assert (code, err) == (
        3,
        f"failgraph: Tempo at {tempo.url} returned HTTP 400: invalid TraceQL query: parse error\n",
    )


@given(
    st.text(max_size=30),
    st.sets(st.text(max_size=10), max_size=3),
    st.sets(st.sampled_from(FailureBoundary)),
)
def test_no_text_breaks_out_of_a_query(rollout, kinds, boundaries):
    """Whatever a name contains, it is one string literal of TraceQL with that value."""
    names = frozenset(each.value for each in boundaries)
    parsed(traceql(Query(kinds=frozenset(kinds), boundaries=names, services=frozenset({rollout}))))
    matches = parsed(traceql(Query(rollout_id=rollout)))
    document = process(span(1, None, attributes={"nemo.gym.rollout.id": rollout}))["resourceSpans"][
        0
    ]
    assert matches([(document["resource"], each) for each in document["scopeSpans"][0]["spans"]])


@pytest.mark.parametrize(
    ("query", "asked"),
    [
        (
            Query(),
            '{ event:name = "nemo.gym.failure" } || { span.nemo.gym.failure.schema_version = 1 }',
        ),
        (
            Query(kinds=frozenset({"b", "a"}), boundaries=frozenset({"model"})),
            (
                '{ event:name = "nemo.gym.failure" && (event.nemo.gym.failure.kind = "a"'
                ' || event.nemo.gym.failure.kind = "b")'
                ' && event.nemo.gym.failure.boundary = "model" }'
            ),
        ),
        (
            Query(services=frozenset({"judge"})),
            '{ event:name = "nemo.gym.failure" } && { resource.service.name = "judge" }',
        ),
        (Query(rollout_id="r"), '{ span.nemo.gym.rollout.id = "r" }'),
    ],
)
def test_traceql(query, asked):
    """All conditions on a failure are on one event."""
    assert traceql(query) == asked
    parsed(asked)


def test_a_search_gives_what_a_file_gives(run, tmp_path):
    """A search returns the traces of the file that have failures."""
    documents = [failing(f"{number:032x}", number) for number in range(1, 8)]
    of_file = read(write(tmp_path / "f", *documents)).traces
    _, expected, _ = run("http://localhost:1", "show", str(tmp_path / "f"))
    with tempo_stand_in(*documents) as tempo:
        _, rows, _ = run(tempo.url, "show", "tempo")
    assert rows == expected
    assert len(of_file) == 7
