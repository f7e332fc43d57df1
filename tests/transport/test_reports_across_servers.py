"""Law 3 on real processes, at every hop of many.

The report that a trace holds of a hop equals the report that the hop's caller received.
"""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
import urllib.request
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pytest

pytest.importorskip("fastapi", reason="the fleet's servers are FastAPI's, which this set lacks")
pytest.importorskip(
    "opentelemetry.exporter.otlp.json.file",
    reason="the fleet writes OTLP JSON, which this set cannot",
)
pytest.importorskip(
    "opentelemetry.instrumentation.httpx", reason="the fleet's clients are traced by contrib"
)

from failgraph import FailureReport
from failgraph.readers import Trace, read
from failgraph.transport.header_decoder import decode_report
from programs import clean_environment

pytestmark = pytest.mark.slow  # four servers; make test has the demo

APPS = Path(__file__).parents[1] / "support" / "apps"
SERVERS = ("model", "agent", "resources", "environment")
P = "nemo.gym.failure."
SEED, ROLLOUTS = 20261129, 200


class Written(NamedTuple):
    """One failure event in the files."""

    event_id: str
    span_id: str
    attributes: dict[str, Any]


class Run(NamedTuple):
    """What a run wrote.

    Attributes:
        traces: As read from all files together.
        losses: What the reading lost.
        spans: By span id, as OTLP JSON.
        written: The failure events.
        received: By the number of a call, the report header that its caller received.
        made: By the id of each failure that was created, the server that created it.
    """

    traces: list[Trace]
    losses: list[Any]
    spans: dict[str, dict[str, Any]]
    written: list[Written]
    received: dict[str, str | None]
    made: dict[str, str]


def value(attribute: dict[str, Any]) -> Any:
    ((kind, content),) = attribute["value"].items()
    return int(content) if kind == "intValue" else content


def plain(attributes: list[dict[str, Any]]) -> dict[str, Any]:
    return {each["key"]: value(each) for each in attributes}


def run_fleet(folder: Path, *, off: str = "") -> Run:
    """Start the servers, run the rollouts, stop everything and read what was written.

    Args:
        folder: Where the processes write.
        off: A server that is not instrumented.
    """
    env = {**clean_environment(), "FLEET_FOLDER": str(folder), "PYTHONPATH": str(APPS)}
    on = {**env, "FAILGRAPH_ENABLED": "true"}
    processes: list[subprocess.Popen] = []
    try:
        for name in SERVERS:
            processes.append(
                subprocess.Popen(
                    [sys.executable, "fleet.py", name],
                    cwd=APPS,
                    env=env if name == off else on,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
        ports = {
            name: int(process.stdout.readline())
            for name, process in zip(SERVERS, processes, strict=True)
        }
        for port in ports.values():
            body = json.dumps(ports).encode()
            urllib.request.urlopen(f"http://127.0.0.1:{port}/ports", body, timeout=30).read()
        command = [sys.executable, "rollouts.py", str(SEED), str(ROLLOUTS), json.dumps(ports)]
        subprocess.run(command, cwd=APPS, env=on, check=True, timeout=240)
        for process in processes:
            process.send_signal(signal.SIGTERM)
        for process in processes:
            process.wait(60)
    finally:
        for process in processes:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            process.wait()
            process.stdout.close()
    return gathered(folder)


def gathered(folder: Path) -> Run:
    whole = folder / "all.jsonl"
    whole.write_text("".join(file.read_text() for file in sorted(folder.glob("*.jsonl"))))
    spans = {
        span["spanId"]: span
        for line in whole.read_text().splitlines()
        for resource in json.loads(line)["resourceSpans"]
        for scope in resource["scopeSpans"]
        for span in scope["spans"]
    }
    written = [
        Written(plain(event["attributes"])[P + "id"], span_id, plain(event["attributes"]))
        for span_id, span in spans.items()
        for event in span.get("events", ())
        if event["name"] == "nemo.gym.failure"
    ]
    received: dict[str, str | None] = {}
    made = {}
    for file in folder.glob("*.captures"):
        for line in file.read_text().splitlines():
            noted = json.loads(line)
            if "made" in noted:
                made[noted["made"]] = noted["by"]
            else:
                received[noted["call"]] = noted["report"]
    reading = read(str(whole))
    return Run(list(reading.traces), list(reading.losses), spans, written, received, made)


@pytest.fixture(scope="module")
def fleet(tmp_path_factory) -> Run:
    """Two hundred rollouts over five processes."""
    return run_fleet(tmp_path_factory.mktemp("fleet"))


def number_of(span: dict[str, Any]) -> str | None:
    return plain(span.get("attributes", [])).get("call")


def same(ours: FailureReport, theirs: FailureReport) -> bool:
    """Return True if two reports are equal except for texts that the header had cut."""
    if list(ours.events) != list(theirs.events) and set(ours.events) != set(theirs.events):
        return False
    if (ours.failure_id, ours.omitted) != (theirs.failure_id, theirs.omitted):
        return False
    for key, cut in theirs.events.items():
        full = ours.events[key]
        if cut.failure_reason.endswith("…"):
            if not full.failure_reason.startswith(cut.failure_reason[:-1]):
                return False
            cut = cut.model_copy(update={"failure_reason": full.failure_reason})
        if cut != full:
            return False
    return True


def test_each_hop_reports_what_its_caller_received(fleet):
    """The report rebuilt from the trace equals the header of every reply that was received."""
    compared = 0
    by_span = {hop.span.span_id: hop for trace in fleet.traces for hop in trace.hops}
    for span_id, span in fleet.spans.items():
        number = number_of(span)
        if number not in fleet.received:
            continue  # it is no hop, or its reply was not received
        header = fleet.received[number]
        rebuilt = by_span[span_id].report if span_id in by_span else None
        if header is None or rebuilt is None:
            assert (header, rebuilt) == (None, None), number
            continue
        sent = decode_report(header)
        assert sent is not None
        assert same(rebuilt, sent), (number, rebuilt, sent)
        compared += 1
    assert compared > 200


def test_each_failure_is_written_once_by_its_observer(fleet):
    """Each failure that was created is in the trace once, and there is no other."""
    own = Counter(each.event_id for each in fleet.written if not each.attributes.get(P + "remote"))
    assert set(fleet.made) - set(own) == set()
    assert set(own) - set(fleet.made) == set()
    assert {key: count for key, count in own.items() if count != 1} == {}
    assert len(own) > 300
    assert not [each for each in fleet.written if each.attributes.get(P + "remote")]


def test_each_edge_names_the_span_of_its_cause(fleet):
    """An effect names the span of its cause, if that was recorded."""
    place = {
        each.event_id: each.span_id
        for each in fleet.written
        if not each.attributes.get(P + "remote")
    }
    edges = [each for each in fleet.written if each.attributes.get(P + "cause.id") in place]
    wrong = [
        (
            each.event_id,
            each.attributes.get(P + "cause.span_id"),
            place[each.attributes[P + "cause.id"]],
        )
        for each in edges
        if each.attributes.get(P + "cause.span_id") != place[each.attributes[P + "cause.id"]]
    ]
    assert wrong == []
    assert len(edges) > 100


def test_everything_else_in_a_subtree_is_unreported_with_its_reason(fleet):
    """A hop's reported and unreported failures are exactly its subtree; `late` ones say so."""
    late = {each.event_id for each in fleet.written if each.attributes.get(P + "late")}
    reasons = Counter()
    for trace in fleet.traces:
        below = subtrees(fleet, trace)
        for hop in trace.hops:
            reported = set(hop.report.events) if hop.report is not None else set()
            expected = below.get(hop.span.span_id, set())
            assert set(hop.unreported) == expected - reported, (trace.trace_id, hop.span.name)
            for key, reason in hop.unreported.items():
                reasons[reason] += 1
                assert (reason == "late") == (key in late), (key, reason)
    assert reasons["late"]
    assert reasons["no_reply"]
    assert reasons["cut"]


def subtrees(fleet: Run, trace: Trace) -> dict[str, set[str]]:
    """Return the failures on each span and below it, by span id."""
    below: dict[str, set[str]] = {}
    for each in fleet.written:
        span_id: str | None = each.span_id
        if fleet.spans[span_id]["traceId"] != trace.trace_id:
            continue
        while span_id is not None and span_id in fleet.spans:
            below.setdefault(span_id, set()).add(each.event_id)
            span_id = fleet.spans[span_id].get("parentSpanId")
    return below


def test_nothing_is_lost_on_the_way(fleet):
    """The files hold everything: no trace has a loss."""
    assert fleet.losses == []
    assert [loss for trace in fleet.traces for loss in trace.losses] == []


def test_the_own_failure_of_a_rollout_and_its_root(fleet):
    """The root cause of a failed rollout is a failure without a cause."""
    failed = [trace for trace in fleet.traces if trace.report.failure_id is not None]
    assert len(failed) > 50
    for trace in failed:
        root = trace.report.events[trace.root_cause]
        assert root.cause_id is None


@pytest.mark.slow
def test_with_a_server_in_the_middle_that_is_not_instrumented(tmp_path):
    """No failure that reached an instrumented process is lost or counted twice."""
    run = run_fleet(tmp_path, off="resources")
    own = Counter(each.event_id for each in run.written if not each.attributes.get(P + "remote"))
    there = {key for key, by in run.made.items() if by != "resources"}
    assert there - set(own) == set()
    assert {key: count for key, count in own.items() if count != 1} == {}
    for trace in run.traces:
        assert len(trace.report.events) == len(set(trace.report.events))
