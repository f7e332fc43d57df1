"""The demo, run as a user runs it: real faults, and what is printed is what the file says."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator

import pytest

from readme_tables import README

pytest.importorskip("fastapi", reason="the demo needs failgraph[demo]")
pytest.importorskip("opentelemetry.instrumentation.fastapi", reason="the demo needs failgraph[demo]")
pytest.importorskip("opentelemetry.exporter.otlp.json.file", reason="the demo needs failgraph[demo]")


def command(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "failgraph", *words], capture_output=True, text=True, timeout=60)


@pytest.fixture(scope="module")
def demo(tmp_path_factory) -> tuple[str, str]:
    """The file that the demo wrote, and what it printed."""
    path = str(tmp_path_factory.mktemp("demo") / "traces.jsonl")
    ran = command("demo", "--out", path)
    assert (ran.returncode, ran.stderr) == (0, "")
    return path, ran.stdout


@pytest.fixture(scope="module")
def shown(demo) -> dict[str, dict]:
    """What `show --json` says of each rollout, by its id."""
    rollouts = dict(reversed(pair) for pair in re.findall(r"trace (\w+) · rollout (\S+)", demo[1]))
    traces = {row["trace_id"]: row for row in map(json.loads, command("show", demo[0], "--json").stdout.splitlines())}
    return {rollout: traces.get(trace_id) for rollout, trace_id in rollouts.items()}


def chain(row: dict) -> list[str]:
    """Boundaries and kinds from the own failure down to its root cause."""
    events, key, found = row["report"]["events"], row["failure_id"], []
    while key is not None:
        found.append(f"{events[key]['boundary']} {events[key]['failure_kind']}")
        key = events[key].get("cause_id")
    return found


def test_each_fault_is_in_its_trace_with_its_causes(shown):
    """Six rollouts: one clean, one that a retry recovered, four that failed, each with the chain that really was."""
    assert shown["clean"] is None
    assert (shown["rate-limited"]["failure_id"], shown["rate-limited"]["recovered"]) == (None, 1)
    above = ["collection agent_request_failed", "agent agent_run_error"]
    assert {rollout: chain(shown[rollout]) for rollout in shown if rollout not in ("clean", "rate-limited")} == {
        "model-refused": [*above, "model transport_unreachable"],
        "model-timeout": [*above, "model transport_timeout"],
        "sandbox-killed": [*above, "resources_server session_lost", "sandbox sandbox:killed"],
        "judge-unparseable": ["resources_server judge_unparseable"],
    }


def test_the_facts_of_each_fault_are_real(shown):
    """The exit code is of a killed process, the foreign errors are the HTTP client's own, the status is the reply's."""
    by_kind = {
        event["failure_kind"]: event for row in shown.values() if row for event in row["report"]["events"].values()
    }
    assert by_kind["sandbox:killed"]["details"] == {"provider": "subprocess", "exit_code": -9}
    assert by_kind["transport_unreachable"]["foreign_error"]["exception_type"] == "ConnectError"
    assert by_kind["transport_timeout"]["foreign_error"]["exception_type"] == "ReadTimeout"
    assert by_kind["provider_quota_exhausted"]["http_status"] == 429
    assert by_kind["judge_unparseable"]["foreign_error"]["exception_type"] == "JSONDecodeError"


def test_nothing_is_lost_and_nothing_is_written_twice(demo, shown):
    """No loss, no unreported failure, each event once in the file."""
    for row in filter(None, shown.values()):
        assert row["losses"] == []
        assert all(hop["unreported"] == {} for hop in row["hops"])
    ids = [event_id for _, event_id in written(demo[0])]
    assert len(ids) == len(set(ids))
    assert command("show", "--strict", demo[0]).returncode == 0


def written(path: str) -> Iterator[tuple[dict, str]]:
    """Each failure event of the file with its span, read without failgraph."""
    for span in file_spans(path):
        for event in span.get("events", []):
            attributes = {pair["key"]: pair["value"] for pair in event["attributes"]}
            if event["name"] == "nemo.gym.failure":
                yield span, attributes["nemo.gym.failure.id"]["stringValue"]


def file_spans(path: str) -> Iterator[dict]:
    with open(path) as file:
        for line in file:
            for resource in json.loads(line)["resourceSpans"]:
                for scope in resource["scopeSpans"]:
                    yield from scope["spans"]


def test_the_offsets_and_durations_printed_are_those_of_the_file(demo, shown):
    """Each hop line and each failure line carries the times that the file holds."""
    spans = list(file_spans(demo[0]))
    trees = demo[1].split("\n\n")
    for rollout, row in shown.items():
        if row is None:
            continue
        (tree,) = [tree for tree in trees if f"rollout {rollout} " in tree]
        here = [span for span in spans if span["traceId"] == row["trace_id"]]
        start = min(int(span["startTimeUnixNano"]) for span in here)
        expected = set()
        for span in here:
            if span["kind"] == 2 or not span.get("parentSpanId"):
                begin, end = int(span["startTimeUnixNano"]), int(span["endTimeUnixNano"])
                expected.add((milliseconds(begin - start), milliseconds(end - begin)))
            expected |= {
                (milliseconds(int(event["timeUnixNano"]) - start), None)
                for event in span.get("events", [])
                if event["name"] == "nemo.gym.failure"
            }
        printed = set(times(tree))
        assert printed
        assert printed <= expected
        assert {each for each in expected if each[1] is None} <= printed


def milliseconds(nano: int) -> str:
    if nano < 1_000_000:
        return f"{nano / 1e3:.0f} µs"
    return f"{nano / 1e6:.1f} ms" if nano < 1_000_000_000 else f"{nano / 1e9:.3f} s"


def times(tree: str) -> Iterator[tuple[str, str | None]]:
    for line in tree.splitlines():
        found = re.match(r" +([\d.]+ (?:µs|ms|s))(?: +([\d.]+ (?:µs|ms|s)))?  ", line)
        if found:
            yield found[1], found[2]


def shape(text: str) -> list[str]:
    """Lines without what differs from run to run."""
    text = re.sub(r"\b[0-9a-f]{32}\b", "ID", text)
    return [re.sub(r" *[\d.]+ (µs|ms|s)\b", " TIME", line) for line in text.strip().splitlines()]


def test_the_picture_in_the_readme_is_what_the_demo_prints(demo):
    """The README shows the real output, but for ids and times."""
    (picture,) = re.findall(r"```text\n(trace .*?)```", README.read_text(), re.DOTALL)
    (tree,) = [tree for tree in demo[1].split("\n\n") if "rollout sandbox-killed" in tree]
    assert shape(picture) == shape(tree)


def test_it_refuses_to_mix_its_traces_into_a_file_that_is_there(demo):
    """Nothing is overwritten and nothing is mixed: a file with content is refused, by name."""
    again = command("demo", "--out", demo[0])
    assert again.returncode == 2
    assert demo[0] in again.stderr
