"""`tail-sampling.yaml` and `scale/` in real Collectors: which traces are kept, and kept whole."""

from __future__ import annotations

import contextlib
import random
import time
from collections import Counter
from pathlib import Path

import pytest
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.trace import SpanContext, TraceFlags

from failgraph.readers import read, spans
from failgraph.semconv import BOUNDARY, EVENT_NAME, ID, KIND, REASON
from sdk_spans import sdk_spans
from shipped import Collector, collector, eventually, to_file

pytestmark = pytest.mark.needs("collector")

SOON = {"DECISION_WAIT": "1s", "DECISION_WAIT_AFTER_ROOT": "300ms"}
CLEAN = 300


def clean_traces(count: int) -> list[ReadableSpan]:
    """Return traces of a root span and a child, without failures."""
    made = random.Random(7)
    found = []
    for _ in range(count):
        trace_id = made.getrandbits(128)
        root = SpanContext(
            trace_id,
            made.getrandbits(64),
            is_remote=False,
            trace_flags=TraceFlags(TraceFlags.SAMPLED),
        )
        found += [span(root), span(context(trace_id, made.getrandbits(64)), root)]
    return found


def context(trace_id: int, span_id: int) -> SpanContext:
    return SpanContext(
        trace_id, span_id, is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED)
    )


def span(own: SpanContext, parent: SpanContext | None = None, *events: Event) -> ReadableSpan:
    resource = Resource({"service.name": "clean"})
    now = time.time_ns()
    return ReadableSpan(
        "work", own, parent, resource, {}, list(events), start_time=now, end_time=now + 1000
    )


def per_trace(path: Path) -> Counter[str]:
    """Return the number of spans of each trace in a file."""
    return (
        Counter(each.trace_id for each in spans(str(path)))
        if path.exists() and path.stat().st_size
        else Counter()
    )


@contextlib.contextmanager
def sampling(folder: Path, percent: int, *more_files: str):
    """Run a Collector that samples into the file `kept`."""
    env = {**SOON, "KEEP_PERCENT": str(percent)}
    files = ("collector.yaml", "tail-sampling.yaml", *more_files)
    with collector(folder, *files, env=env, more=to_file(folder / "kept")) as running:
        yield running


def test_every_trace_with_a_failure_is_kept_whole(tmp_path, fleet_file):
    """With a share of 0 only those are kept; also recovered failures and one behind a 200."""
    sent = per_trace(fleet_file)
    failing = {trace.trace_id for trace in read(str(fleet_file)).traces}
    assert len(failing) == len(sent) - 1
    with sampling(tmp_path, 0) as running:
        running.export([*sdk_spans(fleet_file), *clean_traces(50)])
        eventually(
            lambda: per_trace(tmp_path / "kept").total() >= sum(sent[each] for each in failing)
        )
        time.sleep(1.5)  # for the decision on the other traces too
    assert per_trace(tmp_path / "kept") == {each: sent[each] for each in failing}


def test_a_share_of_the_other_traces_is_kept_whole(tmp_path):
    """About half of many traces without failures; both spans of each, or none."""
    with sampling(tmp_path, 50) as running:
        running.export(clean_traces(CLEAN))
        time.sleep(2.5)
    kept = per_trace(tmp_path / "kept")
    assert set(kept.values()) == {2}
    assert 0.3 * CLEAN < len(kept) < 0.7 * CLEAN  # seven standard deviations


def test_late_spans_follow_the_decision(tmp_path):
    """The trap that the file explains: a failure that arrives after the decision may be lost."""
    with sampling(tmp_path, 0) as running:
        kept, dropped = (context(trace_id, 1) for trace_id in (2**127 + 1, 2**127 + 2))
        failure = Event(
            EVENT_NAME, {ID: "1", BOUNDARY: "agent", KIND: "agent_timeout"}, time.time_ns()
        )
        running.export([span(kept, None, failure), span(dropped)])
        eventually(lambda: per_trace(tmp_path / "kept").total() == 1)
        running.export(
            [
                span(context(kept.trace_id, 2), kept),
                span(context(dropped.trace_id, 2), dropped, failure),
            ]
        )
        time.sleep(2)
    assert per_trace(tmp_path / "kept") == {f"{kept.trace_id:032x}": 2}


def test_two_tiers_keep_each_trace_whole_in_one_sampler(tmp_path, fleet_file):
    """Spans of a trace from two balancers meet in one sampler, in any order; both samplers work."""
    sent = [*sdk_spans(fleet_file), *clean_traces(40)]
    random.Random(7).shuffle(sent)
    with contextlib.ExitStack() as stack:
        folders = [tmp_path / "sampler-1", tmp_path / "sampler-2"]
        samplers = [
            enter(stack, sampling(each, 100, "scale/sampler.yaml"), each) for each in folders
        ]
        env = {"SAMPLERS": "[" + ", ".join(each.otlp_grpc for each in samplers) + "]"}
        folders_of_balancers = [tmp_path / "balancer-1", tmp_path / "balancer-2"]
        for number, folder in enumerate(folders_of_balancers):
            balancer = enter(stack, collector(folder, "scale/balancer.yaml", env=env), folder)
            balancer.export(sent[number::2])
        expected = Counter(f"{each.context.trace_id:032x}" for each in sent)
        eventually(
            lambda: sum(per_trace(folder / "kept").total() for folder in folders) >= len(sent)
        )
    first, second = (per_trace(folder / "kept") for folder in folders)
    assert first + second == expected
    assert not first.keys() & second.keys()
    assert min(len(first), len(second)) > 5


def test_sampling_and_redaction_together(tmp_path):
    """In any order, neither file replaces the other in the pipeline."""
    failure = Event(
        EVENT_NAME,
        {ID: "1", BOUNDARY: "agent", KIND: "agent_timeout", REASON: "password=h4nter-twice"},
    )
    with sampling(tmp_path, 0, "redaction.yaml") as running:
        running.export([span(context(2**127 + 1, 1), None, failure), *clean_traces(10)])
        eventually(lambda: per_trace(tmp_path / "kept").total() == 1)
        time.sleep(1.5)
    assert set(per_trace(tmp_path / "kept").values()) == {1}
    assert "password=[redacted:secret]" in (tmp_path / "kept").read_text()


def test_a_trace_over_grpcs_4_mib_passes_both_tiers(tmp_path):
    """A request of 8 MB, which gRPC rejects by default, arrives whole: senders split it."""
    made = random.Random(7)
    root, large = (
        context(made.getrandbits(128), 1),
        Event("large", {"text": made.randbytes(20_000).hex()}),
    )
    parts = [span(context(root.trace_id, number), root, large) for number in range(2, 201)]
    with contextlib.ExitStack() as stack:
        sampler = enter(
            stack, sampling(tmp_path / "sampler", 100, "scale/sampler.yaml"), tmp_path / "sampler"
        )
        env = {"SAMPLERS": f"[{sampler.otlp_grpc}]"}
        balancer = enter(
            stack,
            collector(tmp_path / "balancer", "scale/balancer.yaml", env=env),
            tmp_path / "balancer",
        )
        exporter = GrpcExporter(endpoint=f"http://{balancer.otlp_grpc}", insecure=True, timeout=20)
        assert exporter.export([span(root, None, large), *parts]) is SpanExportResult.SUCCESS
        exporter.shutdown()
        eventually(lambda: per_trace(tmp_path / "sampler" / "kept").total() == 200)


def enter(stack: contextlib.ExitStack, manager, folder: Path) -> Collector:
    folder.mkdir()
    return stack.enter_context(manager)
