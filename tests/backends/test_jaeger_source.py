"""Jaeger as a source: a real one, and a stand-in for a Jaeger after 2.20, whose search differs."""

from __future__ import annotations

import json
import re

import pytest

pytest.importorskip("httpx", reason="backends are read with httpx, which this environment lacks")

from builders import event
from dialects import jaeger_v1, merged, text
from failgraph.backends import (
    BackendRequest,
    address_of,
    client as client_module,
    jaeger as jaeger_module,
    read_backends,
)
from failgraph.backends.client import ClientLimits
from failgraph.cli import main
from failgraph.codec import CauseSpan
from failgraph.settings import Settings
from failgraph.traces.query import Query
from http_stand_in import Reply, serving
from later_jaeger_stand_in import PAGE, later_jaeger_stand_in
from otlp_file import SECOND, T0, TRACE, failure_span, process, reported, seen, span, write
from real_backends import jaeger, post
from recent import NOW, failing, ids, moved, runner

pytestmark = pytest.mark.once

A, B, C, D, E, F, G = (letter * 32 for letter in "abcdef9")


def chained(event_id: str, cause_id: str, trace_id: str):
    """Return a failure whose cause is in another trace."""
    return seen(
        event(event_id, cause_id=cause_id), 5000, cause=CauseSpan(trace_id, "0000000000000001")
    )


LONG_AGO = NOW - 7200 * SECOND
KIND = 'a "quoted" \\ kind\n'
FLEET = [
    failing(A, kind="judge_failed", boundary="resources_server", service="judge", rollout="r-1"),
    failing(B, SECOND, kind=KIND, boundary="sandbox", service="shell", rollout='r"2'),
    moved(process(span(1, None, trace=C), service="gym")),
    moved(
        process(
            span(1, None, trace=D),
            failure_span(
                2,
                1,
                seen(event("x", kind="late", boundary="model"), 9000),
                trace=D,
                start=2 * SECOND,
            ),
            service="script",
        )
    ),
    # A trace that begins at a service which does not mention the failure.
    moved(process(span(1, None, trace=E, start=3 * SECOND), service="front")),
    moved(process(span(2, 1, seen(event("y"), 9000), trace=E, start=3 * SECOND), service="back")),
]
CHAIN = [
    # An effect, its cause in another trace, and the cause of that in a third; too old for a search.
    moved(
        process(
            span(
                1, None, chained("z3", "z2", F), trace=G, attributes=reported("z3", "z2", own="z3")
            )
        ),
        LONG_AGO,
    ),
    moved(
        process(span(1, None, chained("z2", "z1", "8" * 32), trace=F, attributes=reported("z2"))),
        LONG_AGO,
    ),
    moved(
        process(
            span(1, None, chained("z1", "z0", "7" * 32), trace="8" * 32, attributes=reported("z1"))
        ),
        LONG_AGO,
    ),
]
MANY = {
    f"{number:032x}": failing(f"{number:032x}", -(1800 + number) * SECOND, service="many")
    for number in range(1, 131)
}
"""Traces of half an hour ago."""


@pytest.fixture(
    scope="module",
    params=[pytest.param("real", marks=pytest.mark.needs("jaeger")), "later_jaeger_stand_in"],
)
def fleet(request, tmp_path_factory):
    """Return the URL of a Jaeger with those traces."""
    if request.param == "real":
        with jaeger(tmp_path_factory.mktemp("jaeger")) as running:
            for document in (*FLEET, *CHAIN, *MANY.values()):
                post(running.otlp_http, json.dumps(document).encode())
            yield running.query
    else:
        with later_jaeger_stand_in(*FLEET, *CHAIN, *MANY.values()) as server:
            yield server.url


@pytest.fixture
def run(setting, capsys):
    """Return a function that runs a command against a URL: exit code, JSON rows, stderr."""
    return runner("JAEGER_URL", setting, capsys)


def test_one_trace(fleet, run, tmp_path):
    """Every way to name a trace gives what a file of it gives."""
    _, expected, _ = run(fleet, "show", str(write(tmp_path / "f", FLEET[0])))
    for source in [
        ("jaeger", A),
        ("jaeger", A.upper()),
        (fleet, A),
        (f"{fleet}/", A),
        (f"{fleet}/search?service=judge", A),
        (f"{fleet}/trace/{A}",),
        (f"{fleet}/trace/{A}?uiFind=0000000000000001",),
        (f"{fleet}/api/v3/traces/{A}",),
        (f"{fleet}/api/traces/{A}",),
    ]:
        assert run(fleet, "show", *source) == (0, expected, ""), source


def test_a_cause_in_another_trace_is_fetched(fleet, run, tmp_path):
    """With its chain, up to a missing cause: what a file of all of them gives for that trace."""
    _, expected, _ = run(fleet, "show", str(write(tmp_path / "f", *CHAIN)), G)
    code, rows, err = run(fleet, "show", "jaeger", G)
    assert (code, rows, err) == (0, expected, "")
    assert set(rows[0]["report"]["events"]) == {"z1", "z2", "z3"}
    assert [loss["kind"] for loss in rows[0]["losses"]] == ["cause_missing"]


def test_a_trace_without_failures(fleet, run):
    """The message says that it has none."""
    assert run(fleet, "show", "jaeger", C) == (0, [], f"failgraph: trace {C}: no failures\n")


def test_a_missing_trace(fleet, run):
    """One message, and exit code 3."""
    message = (
        f"failgraph: jaeger does not have trace {TRACE} (yet)."
        ' Run "failgraph list jaeger" to see traces with failures.\n'
    )
    assert run(fleet, "show", "jaeger", TRACE) == (3, [], message)
    code, _, err = run(fleet, "show", f"{fleet}/trace/{TRACE}")
    assert (code, err) == (
        3,
        message.replace("jaeger does", f"{fleet} does").replace("list jaeger", f"list {fleet}"),
    )


def test_the_first_digits_and_a_rollout_are_searched(fleet, run):
    """The digits are looked for among the traces of the time; the messages say of which."""
    assert ids(run(fleet, "show", "jaeger", A[:8])[1]) == [A]
    assert ids(run(fleet, "show", "jaeger", B[:4], A)[1]) == [B, A]
    code, _, err = run(fleet, "show", "jaeger", "0123")
    assert code == 3
    assert err == (
        "failgraph: no trace id in jaeger starts with 0123. Only the last hour was searched; use"
        ' --since to search more. Run "failgraph list jaeger" to see traces with failures.\n'
    )


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([], {A, B, D, E}),
        (["--kind", "judge_failed"], {A, E}),
        (["--kind", KIND], {B}),
        (["--kind", KIND, "--kind", "late"], {B, D}),
        (["--kind", "judge_failed", "--boundary", "sandbox"], set()),
        (
            ["--kind", "judge_failed", "--boundary", "sandbox", "--boundary", "resources_server"],
            {A},
        ),
        (["--boundary", "model"], {D}),
        (["--service", "judge"], {A}),
        (["--service", "script", "--kind", "late"], {D}),
        (["--service", "front"], {E}),
        (["--service", "back", "--service", "shell"], {B, E}),
        (["--service", "nobody"], set()),
        (["--rollout", "r-1"], {A}),
        (["--rollout", 'r"2'], {B}),
        (["--rollout", "r-1", "--kind", "late"], set()),
    ],
)
def test_filters(options, expected, fleet, run):
    """Kinds, boundaries, services and rollouts; also for failures on spans without a hop."""
    code, rows, err = run(fleet, "list", "jaeger", "--since", "30m", "--limit", "1000", *options)
    assert (code, set(ids(rows)) - MANY.keys()) == (0, expected), err
    code, shown, err = run(fleet, "show", fleet, "--since", "30m", "--limit", "1000", *options)
    assert (code, ids(shown)) == (0, ids(rows)), err


@pytest.mark.slow
def test_more_traces_than_a_response_holds(fleet, run):
    """The newest are shown, and a note says that there are more."""
    asked = ("list", "jaeger", "--service", "many")
    code, rows, err = run(fleet, *asked, "--since", "1h", "--limit", "1000")
    assert (code, ids(rows), err) == (0, list(MANY)[::-1], "")
    code, rows, err = run(fleet, *asked)
    assert (code, ids(rows)) == (0, list(MANY)[99::-1])
    assert err == (
        "failgraph: there are more traces than the newest 100; raise --limit to see them\n"
        "failgraph: only the last hour was searched; use --since to search more\n"
    )
    _, rows, _ = run(fleet, *asked, "--limit", "3", "--since", "1h")
    assert ids(rows) == list(MANY)[2::-1]
    code, rows, err = run(fleet, *asked, "--since", "5m")
    assert (code, rows) == (0, [])
    assert re.fullmatch(
        r"failgraph: no failure in jaeger matches --since \S+ --service many\n", err
    )


@pytest.mark.needs("jaeger")
def test_traces_with_nearly_the_same_start(run, tmp_path):
    """Sixty traces start within sixty µs; a response holds fifty, in no order."""
    many = [f"{number:032x}" for number in range(1, 61)]
    with jaeger(tmp_path) as running:
        for number in sorted(range(1, 61), key=lambda number: number % 7):
            post(running.otlp_http, json.dumps(failing(many[number - 1], number * 1000)).encode())
        for limit in (3, 55, 60):
            code, rows, err = run(
                running.query, "list", "jaeger", "--since", "1h", "--limit", str(limit)
            )
            assert (code, ids(rows), "incomplete trace" in err) == (0, many[-limit:], False)


def test_every_command_reads_a_backend(fleet, run, setting, capsys):
    """`top`, and `show` as text."""
    code, rows, _ = run(fleet, "top", "jaeger", "--kind", "late")
    assert (code, [(row["boundary"], row["kind"], row["count"]) for row in rows]) == (
        0,
        [("model", "late", 1)],
    )
    setting("JAEGER_URL", fleet)
    assert main(["show", "jaeger", A]) == 0
    assert "judge_failed" in capsys.readouterr().out


def test_the_share_of_too_many_traces_is_unknown(fleet, run, monkeypatch):
    """A note says why."""
    asked = ("top", "jaeger", "--kind", "late", "--since", "1h")
    _, rows, err = run(fleet, *asked)
    assert (rows[0]["time_lost_ratio"] is not None, err) == (True, "")
    monkeypatch.setattr("failgraph.backends.reading._MAX_DURATIONS", 3)
    _, rows, err = run(fleet, *asked)
    assert rows[0]["time_lost_ratio"] is None
    assert err == (
        "failgraph: unknown share of the time lost: there are more than 3 traces; use a later"
        " --since\n"
    )


@pytest.mark.slow
def test_a_very_early_since(fleet, run):
    """It finds all traces; no API gets a time that it cannot represent."""
    asked = ("list", "jaeger", "--limit", "3", "--since")
    wanted = run(fleet, *asked, "1h")
    assert len(wanted[1]) == 3
    assert run(fleet, *asked, "999999w") == wanted
    assert run(fleet, *asked, "999999w", "--until", "0s") == wanted
    code, rows, _ = run(fleet, *asked, "999999w", "--until", "2000-01-01")
    assert (code, rows) == (0, [])


def test_top_reads_the_whole_window(fleet, run, monkeypatch):
    """A limit counts rows there. Beyond a bound, the share of the time lost is unknown."""
    asked = ("top", "jaeger", "--since", "1h", "--limit", "1")
    _, rows, err = run(fleet, *asked)
    assert (rows[0]["count"] > 100, len(rows)) == (True, 1)
    assert rows[0]["time_lost_ratio"] is not None
    assert "showing the first 1 of " in err
    monkeypatch.setattr("failgraph.backends.reading._MAX_LIMIT", 3)
    _, rows, err = run(fleet, *asked)
    assert {row["time_lost_ratio"] for row in rows} == {None}
    assert "there are more traces than the newest 3; use a later --since\n" in err


def test_a_missing_rollout(fleet, run):
    """The message says what was searched."""
    message = (
        "failgraph: no rollout none in jaeger; only the last hour was searched; use"
        " --since to search more\n"
    )
    assert run(fleet, "show", "jaeger", "--rollout", "none") == (3, [], message)


def test_read_backends_returns_one_trace(fleet):
    """A missing trace is an empty reading, which `doctor` relies on."""
    settings = Settings(jaeger_url=fleet)
    address = address_of("jaeger", settings, lambda _: False)
    for trace_id, found in ((A, [A]), (TRACE, [])):
        one = address._replace(trace_id=trace_id)
        reading, notes = read_backends([one], BackendRequest(), settings)
        assert ([trace.trace_id for trace in reading.traces], notes, reading.losses) == (
            found,
            (),
            (),
        )


def test_progress(fleet):
    """The callback is called for the search, and for each trace with their number."""
    settings, calls = Settings(jaeger_url=fleet), []
    address = address_of("jaeger", settings, lambda _: False)
    since = T0 + NOW - 100 * SECOND
    read_backends(
        [address],
        BackendRequest(Query(kinds=frozenset({"late"}), since_unix_nano=since)),
        settings,
        lambda *counts: calls.append(counts),
    )
    assert calls == [(0, 0), (0, 1)]


# --- only with a stand-in


def test_a_jaeger_without_v3(run, tmp_path):
    """It returns the page of its UI for the path of v3, and v1 is used."""
    _, expected, _ = run("http://localhost:1", "show", str(write(tmp_path / "f", FLEET[0])))
    with later_jaeger_stand_in(FLEET[0], v3=False) as server:
        assert run(server.url, "show", "jaeger", A) == (0, expected, "")
        assert [asked.path for asked in server.requests] == [
            f"/api/v3/traces/{A}",
            f"/api/traces/{A}",
        ]


def test_a_gateway_without_v3(run, tmp_path):
    """It may say in JSON that it has no such path, and v1 is used."""
    _, expected, _ = run("http://localhost:1", "show", str(write(tmp_path / "f", FLEET[0])))
    body = json.dumps(jaeger_v1(FLEET[0])).encode()
    answers = {f"/api/traces/{A}": Reply(body)}
    with serving(
        lambda asked, _: answers.get(asked.path, Reply(b'{"message":"no route"}', 404))
    ) as server:
        assert run(server.url, "show", "jaeger", A) == (0, expected, "")


def test_a_login_page_on_every_path(run):
    """It has status 200."""
    with serving(lambda *_: PAGE) as server:
        for source in ("jaeger", f"{server.url}/x"):
            for wanted in ((), (A,)):
                code, _, err = run(server.url, "show", source, *wanted)
                assert (code, len(err.splitlines())) == (3, 1)
                assert "API (an HTML page). Give the address in front of /api" in err


@pytest.mark.parametrize(
    ("replies", "words"),
    [
        (
            {"/api/health": b'{"database":"ok","version":"12"}'},
            "is Grafana, which stores no traces. Set FAILGRAPH_TEMPO_URL to Tempo's address",
        ),
        (
            {"/": b"hello"},
            "is not a Jaeger or Tempo API (unexpected data). Give the address in front of /api",
        ),
        (
            {"/": b'{"name":"es","version":{}}', "/api/services": b"[]"},
            "is not a Jaeger or Tempo API",
        ),
    ],
)
def test_a_url_of_another_product(replies, words, run):
    """The message says what it is, if that is known."""
    with serving(
        lambda asked, _: Reply(replies[asked.path]) if asked.path in replies else Reply(b"no", 404)
    ) as server:
        code, _, err = run("http://localhost:1", "list", server.url)
    assert (code, err.count("\n")) == (3, 1)
    assert words in err


def test_a_trace_that_disappears_is_a_loss(run):
    """The search found it, but it cannot be fetched."""
    starts = str(T0 + NOW)
    summaries = json.dumps({"summaries": [{"traceId": A, "minStartTimeUnixNano": starts}]}).encode()
    answers = {"/api/v3/services": b'{"services":["judge"]}', "/api/v3/trace-summaries": summaries}
    gone = Reply(b'{"error":{"httpCode":404,"message":"No traces found"}}', 404)
    with serving(
        lambda asked, _: Reply(answers[asked.path]) if asked.path in answers else gone
    ) as server:
        code, rows, err = run(server.url, "list", "jaeger", "--since", "1h", "--strict")
    assert (code, rows) == (1, [])
    assert f"incomplete trace: {A} was found by the search, but is gone" in err


def test_a_response_that_is_too_large_is_divided(run, monkeypatch):
    """A search of v1 returns whole traces, of which a shorter window has fewer."""
    few = dict(list(MANY.items())[:16])
    monkeypatch.setattr(client_module, "DEFAULT_LIMITS", ClientLimits(max_bytes=3000))
    monkeypatch.setattr(jaeger_module, "_PAGE", 1000)

    def answer(asked, _):
        if asked.path == "/api/v3/services":
            return Reply(b'{"services":["many"]}')
        if asked.path == "/api/traces":
            start, end = (int(asked.fields[key]) * 1000 for key in ("start", "end"))
            inside = [
                document
                for document in few.values()
                if start
                <= int(
                    document["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["startTimeUnixNano"]
                )
                <= end
            ]
            return Reply(text(jaeger_v1(merged(*inside))))
        return Reply(text({"result": few[asked.path.rpartition("/")[2]]}))

    with serving(answer) as server:
        code, rows, err = run(server.url, "list", "jaeger", "--since", "1h")
    assert (code, ids(rows), err) == (0, list(few)[::-1], "")


def test_the_size_of_all_traces_is_limited(run, monkeypatch):
    """What exceeds the limit is a loss."""
    from failgraph.backends import fetching

    monkeypatch.setattr(fetching, "_MAX_BYTES", 5000)
    with later_jaeger_stand_in(*MANY.values()) as server:
        code, rows, err = run(
            server.url, "list", "jaeger", "--strict", "--since", "1h", "--limit", "50"
        )
    assert code == 1
    assert 0 < len(rows) < 10
    assert f"{50 - len(rows)} traces exceed the limit of " in err


def test_a_full_disk(run, monkeypatch):
    """The traces are kept in temporary files."""
    from failgraph.backends import spool

    def full(*_: object, **__: object):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(spool.tempfile, "TemporaryFile", full)
    with later_jaeger_stand_in(FLEET[0]) as server:
        code, _, err = run(server.url, "show", "jaeger", A)
    assert (code, err) == (
        3,
        (
            "failgraph: cannot write temporary files: no space left on device; set TMPDIR to"
            " another directory\n"
        ),
    )


def test_a_file_called_jaeger_is_read(run, tmp_path, monkeypatch):
    """No backend gets a request."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "jaeger", FLEET[0])
    code, rows, _ = run("http://localhost:1", "show", "jaeger")
    assert (code, ids(rows)) == (0, [A])
