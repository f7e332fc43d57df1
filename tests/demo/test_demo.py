"""The demo, run as a user runs it: its output is what its file of traces says."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import parse_qs

import pytest

from doc_tables import README
from failgraph.readers import read
from json_output import results_in
from otlp_server import Receiver

pytest.importorskip("fastapi", reason="the demo needs failgraph[demo]")
pytest.importorskip(
    "opentelemetry.instrumentation.fastapi", reason="the demo needs failgraph[demo]"
)
pytest.importorskip(
    "opentelemetry.exporter.otlp.json.file", reason="the demo needs failgraph[demo]"
)

PROCESSES = {"agent", "collector", "environment", "model", "resources"}
ABOVE = ["collection agent_request_failed", "agent agent_run_error"]
CHAINS = {
    "clean": None,
    "rate-limited": [],
    "quota-exhausted": [*ABOVE, "model provider_quota_exhausted"],
    "model-refused": [*ABOVE, "model transport_unreachable"],
    "model-timeout": ["collection agent_request_failed", "agent transport_timeout"],
    "sandbox-killed": [*ABOVE, "environment session_lost", "sandbox sandbox:killed"],
    "judge-timeout": ["resources_server judge_failed"],
    "judge-unparseable": ["resources_server judge_unparseable"],
}
"""Boundaries and kinds by rollout, from its own failure to the root cause; None: no failures."""


def command(*words: str, **options) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "failgraph", *words],
        capture_output=True,
        text=True,
        timeout=60,
        **options,
    )


def environ(folder: Path) -> dict[str, str]:
    """Return an environment whose TMPDIR identifies the processes of a demo."""
    return {**os.environ, "TMPDIR": str(folder)}


def running_with(folder: Path) -> dict[int, str]:
    """Return the running processes with this TMPDIR, sandboxes too: command lines by process id."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            mark = f"TMPDIR={folder}\0".encode()
            if mark in (process / "environ").read_bytes() and (process / "cmdline").read_bytes():
                found[int(process.name)] = (
                    (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                )
        except OSError:
            continue  # it has ended
    return found


def wait(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.fixture(scope="module")
def temporary(tmp_path_factory) -> Path:
    """The TMPDIR of the demo that most tests share."""
    return tmp_path_factory.mktemp("tmp")


@pytest.fixture(scope="module")
def demo(tmp_path_factory, temporary) -> tuple[str, str]:
    """Run the demo once. Return its file and its output."""
    path = str(tmp_path_factory.mktemp("demo") / "traces.jsonl")
    ran = command("demo", "-o", path, env=environ(temporary))
    assert (ran.returncode, ran.stderr) == (0, "")
    return path, ran.stdout


@pytest.fixture(scope="module")
def shown(demo) -> dict[str, dict]:
    """What `show --json` prints of each rollout, by its id."""
    rollouts = dict(reversed(pair) for pair in re.findall(r"trace (\w+) · rollout (\S+)", demo[1]))
    traces = {row["trace_id"]: row for row in results_in(command("show", demo[0], "--json").stdout)}
    return {rollout: traces.get(trace_id) for rollout, trace_id in rollouts.items()}


def chain(row: dict) -> list[str]:
    """Return boundaries and kinds from the own failure to its root cause."""
    events, key, found = row["report"]["events"], row["failure_id"], []
    while key is not None:
        found.append(f"{events[key]['boundary']} {events[key]['failure_kind']}")
        key = events[key].get("cause_id")
    return found


def kinds(row: dict, ids) -> list[str]:
    return [row["report"]["events"][key]["failure_kind"] for key in ids]


def test_each_fault_has_its_causes(shown):
    """Each rollout has the causes that it really had, and recovered retries fail nothing."""
    assert {rollout: chain(row) if row else None for rollout, row in shown.items()} == CHAINS
    for row in shown.values():
        if row and row["failure_id"]:
            assert chain(row)[-1] == f"{row['root_cause']['boundary']} {row['root_cause']['kind']}"
    recovered = {
        rollout: row["recovered"] for rollout, row in shown.items() if row and row["recovered"]
    }
    assert recovered == {"rate-limited": 2, "quota-exhausted": 2}


def test_the_results_of_the_collector_are_printed(demo):
    """The demo prints each reward, or the status and body that there would be without failgraph."""
    (answers,) = re.findall(r"what the collector got:\n(.*?)\n\n", demo[1], re.DOTALL)
    got = dict(line.split(None, 1) for line in answers.splitlines())
    assert list(got) == list(CHAINS)
    rewards = {rollout: answer for rollout, answer in got.items() if answer.startswith("reward")}
    assert rewards == {
        "clean": "reward 1.0",
        "rate-limited": "reward 1.0",
        "judge-timeout": "reward 0.0",
        "judge-unparseable": "reward 0.0",
    }
    assert (
        got["sandbox-killed"]
        == """500 "NgFailureEvent('agent_run_error', '/step answered 500')\""""
    )


def test_the_facts_of_each_fault_are_real(shown):
    """Exit codes, foreign errors and statuses are those of the real faults."""
    by_kind = {
        (event["boundary"], event["failure_kind"]): event
        for row in shown.values()
        if row
        for event in row["report"]["events"].values()
    }
    foreign = {
        key: event["foreign_error"]["exception_type"]
        for key, event in by_kind.items()
        if "foreign_error" in event
    }
    assert by_kind["sandbox", "sandbox:killed"]["details"] == {
        "provider": "subprocess",
        "exit_code": -9,
    }
    assert by_kind["model", "provider_quota_exhausted"]["http_status"] == 429
    assert foreign == {
        ("model", "transport_unreachable"): "ConnectError",
        ("model", "transport_timeout"): "ReadTimeout",
        ("agent", "transport_timeout"): "ReadTimeout",
        ("resources_server", "judge_failed"): "ReadTimeout",
        ("resources_server", "judge_unparseable"): "JSONDecodeError",
    }


def test_the_tree_crosses_the_processes(shown):
    """The failures of a trace come from several processes, each effect after its cause."""
    services = {
        rollout: {failure["service"] for failure in row["failures"].values()}
        for rollout, row in shown.items()
        if row
    }
    assert services["sandbox-killed"] == {"environment", "agent", "collector"}
    for rollout in ("quota-exhausted", "model-refused", "model-timeout"):
        assert services[rollout] == {"model", "agent", "collector"}
    for row in filter(None, shown.values()):
        assert all(
            failure["cause_delay_nano"] is None or failure["cause_delay_nano"] >= 0
            for failure in row["failures"].values()
        )


def test_every_hop_reports_what_its_caller_got(shown):
    """Each hop has a report. Only a failure after its caller had given up is missing there."""
    for rollout, row in shown.items():
        unreported = (
            {hop["service"]: hop["unreported"] for hop in row["hops"] if hop["unreported"]}
            if row
            else {}
        )
        if rollout == "model-timeout":
            assert set(unreported) == {"agent", "collector"}
            for missing in unreported.values():
                assert list(missing.values()) == ["no_reply"]
                assert kinds(row, missing) == ["transport_timeout"]
        else:
            assert unreported == {}
        if row:
            assert row["losses"] == []
            assert {"collector", "agent"} <= {
                hop["service"] for hop in row["hops"] if hop["report"]
            }
            assert row["hops"][0]["report"].get("failure_id") == row["failure_id"]


def test_a_late_failure_is_marked_in_the_tree(demo):
    """The tree shows that such a failure did not reach the caller."""
    (tree,) = [tree for tree in demo[1].split("\n\n") if "rollout model-timeout " in tree]
    (line,) = [line for line in tree.splitlines() if "model transport_timeout" in line]
    assert line.endswith("(own failure)  (unreported by POST /run [agent]: no_reply)")


def test_each_failure_is_written_once_by_its_observer(demo):
    """Each failure is in the file once, on a span of the process that its boundary belongs to."""
    observers = {
        "model": "model",
        "agent": "agent",
        "environment": "environment",
        "sandbox": "environment",
        "resources_server": "resources",
        "collection": "collector",
    }
    found = list(written(demo[0]))
    ids = [attributes["nemo.gym.failure.id"] for _, attributes in found]
    assert len(ids) == len(set(ids)) == 19
    for service, attributes in found:
        assert service == observers[attributes["nemo.gym.failure.boundary"]]
        assert "nemo.gym.failure.remote" not in attributes
    assert command("show", "--strict", demo[0]).returncode == 0


def written(path: str) -> Iterator[tuple[str, dict]]:
    """Yield each failure event of a file with the service of its span, read without failgraph."""
    for service, span in file_spans(path):
        for event in span.get("events", []):
            if event["name"] == "nemo.gym.failure":
                yield (
                    service,
                    {
                        pair["key"]: next(iter(pair["value"].values()))
                        for pair in event["attributes"]
                    },
                )


def file_spans(path: str) -> Iterator[tuple[str, dict]]:
    with open(path) as file:
        for line in file:
            for resource in json.loads(line)["resourceSpans"]:
                attributes = {
                    pair["key"]: pair["value"] for pair in resource["resource"]["attributes"]
                }
                for scope in resource["scopeSpans"]:
                    for span in scope["spans"]:
                        yield attributes["service.name"]["stringValue"], span


def test_each_request_has_one_span(demo):
    """There are five services, one root per rollout, and one SERVER span per request."""
    spans = [(service, span) for service, span in file_spans(demo[0])]
    assert {service for service, _ in spans} == PROCESSES
    assert sum("parentSpanId" not in span or not span["parentSpanId"] for _, span in spans) == len(
        CHAINS
    )
    served = [span["parentSpanId"] for _, span in spans if span["kind"] == 2]
    assert len(served) == len(set(served)) == 25


def test_nothing_is_left(demo, temporary):
    """No process and no other file is left."""
    assert running_with(temporary) == {}
    assert list(temporary.iterdir()) == []


def test_the_printed_times_are_those_of_the_file(demo, shown):
    """The lines of hops and failures have the times of the file."""
    spans = [span for _, span in file_spans(demo[0])]
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
    """Return lines without ids and times."""
    text = re.sub(r"\b[0-9a-f]{32}\b", "ID", text)
    return [re.sub(r" *[\d.]+ (µs|ms|s)\b", " TIME", line) for line in text.strip().splitlines()]


def test_the_picture_in_the_readme_is_what_the_demo_prints(demo):
    """The picture in the README is the real output, apart from ids and times."""
    (picture,) = re.findall(r"```text\n(trace .*?)```", README.read_text(), re.DOTALL)
    (tree,) = [tree for tree in demo[1].split("\n\n") if "rollout sandbox-killed" in tree]
    assert shape(picture) == shape(tree)


def test_a_file_that_is_not_empty_is_rejected(demo):
    """The message names the file, and nothing is written to it."""
    again = command("demo", "-o", demo[0])
    assert again.returncode == 2
    assert demo[0] in again.stderr


@pytest.fixture
def started(tmp_path) -> Iterator[Callable[[], subprocess.Popen[str]]]:
    """Return a function that starts a demo and waits until all its processes run."""
    running: list[subprocess.Popen[str]] = []

    def start() -> subprocess.Popen[str]:
        words = [sys.executable, "-m", "failgraph", "demo"]
        process = subprocess.Popen(
            words, env=environ(tmp_path), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        running.append(process)
        wait(lambda: process.poll() is not None or fleet_of(tmp_path).keys() == PROCESSES)
        assert process.poll() is None
        return process

    yield start
    for process in running:
        process.kill()
        process.communicate()


def fleet_of(folder: Path) -> dict[str, int]:
    """Return the process ids of the fleet by name."""
    found = {
        re.search(r"-m failgraph\.demo\.(\w+)", words): pid
        for pid, words in running_with(folder).items()
    }
    return {match[1]: pid for match, pid in found.items() if match}


def rollouts_run(folder: Path) -> bool:
    """True if the collector traces itself, its last step before it runs the rollouts."""
    return bool(list(folder.glob("*/collector.jsonl")))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("moment", "number", "code"),
    [
        ("starting", signal.SIGINT, 130),
        ("rollouts run", signal.SIGINT, 130),
        ("rollouts run", signal.SIGTERM, 143),
    ],
)
def test_ctrl_c_leaves_nothing(started, tmp_path, moment, number, code):
    """Ctrl-C and SIGTERM leave no process, sandbox, file or traceback at any moment."""
    process = started()
    if moment == "rollouts run":
        wait(lambda: rollouts_run(tmp_path))
        time.sleep(0.3)
    process.send_signal(number)
    _, complaints = process.communicate(timeout=30)
    assert (process.returncode, complaints) == (code, "")
    assert running_with(tmp_path) == {}
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_killed_demo_leaves_no_process(started, tmp_path):
    """The processes of a killed demo end by themselves."""
    process = started()
    wait(lambda: rollouts_run(tmp_path))
    process.kill()
    wait(lambda: running_with(tmp_path) == {})


@pytest.mark.slow
def test_a_server_that_does_not_start_stops_the_demo(started, tmp_path):
    """It is named, no result is shown, and nothing is left."""
    process = started()
    os.kill(fleet_of(tmp_path)["model"], signal.SIGKILL)
    _, complaints = process.communicate(timeout=30)
    assert process.returncode == 3
    assert complaints.splitlines() == [
        "failgraph: the demo's model server did not start",
        "failgraph: the demo's collector exited with 1",
    ]
    assert running_with(tmp_path) == {}
    assert list(tmp_path.iterdir()) == []


def test_a_missing_package_is_named():
    """The message says what to install, before any process is started."""
    script = (
        "import sys; sys.modules['fastapi'] = None;"
        "from failgraph.cli import main; sys.exit(main(['demo']))"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "needs fastapi" in ran.stderr
    assert "pip install 'failgraph[demo]'" in ran.stderr


def endpoint(url: str, **more: str) -> dict[str, str]:
    return {
        **os.environ,
        "OTEL_EXPORTER_OTLP_ENDPOINT": url,
        "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
        **more,
    }


@pytest.mark.slow
def test_with_an_endpoint_the_traces_are_sent_and_their_pages_printed(tmp_path):
    """Each failure arrives once, the pages of its trace are printed, and no file is left."""
    with Receiver() as receiver:
        pages = {
            "FAILGRAPH_JAEGER_URL": "http://jaeger.example/base/",
            "FAILGRAPH_GRAFANA_URL": "http://grafana.example",
        }
        done = command("demo", env=endpoint(receiver.endpoint, TMPDIR=str(tmp_path), **pages))
        assert (done.returncode, done.stderr) == (0, "")
        failures, spans = receiver.failures(), receiver.spans()
    assert len(failures) > len(CHAINS)
    assert set(failures.values()) == {1}
    failing = {span.trace_id.hex() for span in spans if span.events}
    assert (
        set(
            re.findall(
                r"^    http://jaeger\.example/base/trace/(\w{32})$", done.stdout, re.MULTILINE
            )
        )
        == failing
    )
    grafana = re.findall(r"^    http://grafana\.example/explore\?(\S+)$", done.stdout, re.MULTILINE)
    panes = [json.loads(parse_qs(query)["panes"][0]) for query in grafana]
    assert {query["query"] for pane in panes for query in pane["trace"]["queries"]} == failing
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_with_an_endpoint_and_a_file_the_traces_are_in_both(tmp_path):
    """With -o, the traces are also in the file."""
    file = tmp_path / "traces.jsonl"
    with Receiver() as receiver:
        assert command("demo", "-o", str(file), env=endpoint(receiver.endpoint)).returncode == 0
        assert receiver.failures() == Counter(
            {key: 1 for trace in read(file).traces for key in trace.failures}
        )


@pytest.mark.slow
def test_rejected_spans_are_reported(tmp_path):
    """The demo names the processes, exits with 3, and shows the rollouts, but no traces' pages."""
    with Receiver(status=400) as receiver:
        done = command("demo", env=endpoint(receiver.endpoint, TMPDIR=str(tmp_path)))
    where = receiver.endpoint.removeprefix("http://")
    assert done.returncode == 3
    assert done.stderr == (
        "failgraph: cannot send the spans of collector, agent, model, environment, resources to"
        f" {where} by http/protobuf. Set OTEL_EXPORTER_OTLP_PROTOCOL for another protocol.\n"
    )
    assert "root cause" in done.stdout
    assert "traces were sent" not in done.stdout
    assert "/trace/" not in done.stdout
    assert not list(tmp_path.iterdir())


def test_spans_count_as_unsent_until_the_export_succeeds(tmp_path):
    """The mark exists from before an export until it succeeds: a process may end during a retry."""
    from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

    from failgraph.demo.server import MarkingExporter

    note = tmp_path / "model.unsent"
    seen = []

    class OneByOne(SpanExporter):
        def export(self, spans):
            seen.append(note.exists())
            if spans == ["raises"]:
                raise ConnectionError
            return spans[0]

    noting = MarkingExporter(OneByOne(), str(note))
    noting.export([SpanExportResult.SUCCESS])
    assert (seen, note.exists()) == ([True], False)
    with pytest.raises(ConnectionError):
        noting.export(["raises"])
    noting.export([SpanExportResult.SUCCESS])
    assert note.exists()


@pytest.mark.parametrize(
    ("more", "code", "message"),
    [
        (
            {},
            3,
            (
                "cannot connect to 127.0.0.1:1. Start a Collector there, or unset"
                " OTEL_EXPORTER_OTLP_ENDPOINT."
            ),
        ),
        (
            {"OTEL_EXPORTER_OTLP_PROTOCOL": "http/xml"},
            2,
            "OTEL_EXPORTER_OTLP_PROTOCOL must be grpc or http/protobuf, not 'http/xml'",
        ),
        (
            {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://"},
            2,
            "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT must be a URL such as http://localhost:4317",
        ),
    ],
)
def test_an_unusable_endpoint_is_reported_before_anything_runs(more, code, message):
    """A closed port, unknown protocol or invalid URL gives one message that names the variable."""
    done = command("demo", env=endpoint("http://127.0.0.1:1", **more))
    assert (done.returncode, done.stdout, done.stderr) == (code, "", f"failgraph: {message}\n")
