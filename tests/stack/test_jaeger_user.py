"""What a user of a real Jaeger sees: red hops, search results, and no blank page."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace.export import SpanExportResult

import failgraph
from failgraph import NgFailureEvent
from failgraph.readers import Trace, read
from failgraph.recording import writer
from real_backends import Jaeger, jaeger, post

pytestmark = pytest.mark.needs("jaeger")

P = "nemo.gym.failure."
Span = dict[str, Any]


@pytest.fixture(scope="module")
def there(tmp_path_factory) -> Iterator[Jaeger]:
    """Provide an empty Jaeger."""
    with jaeger(tmp_path_factory.mktemp("jaeger")) as found:
        yield found


@pytest.fixture(scope="module")
def sent(there, fleet_file) -> list[Trace]:
    """Send the failing rollouts of the demo as its file has them."""
    for line in fleet_file.read_bytes().splitlines():
        post(there.otlp_http, line)
    return read(fleet_file).traces


def page(there: Jaeger, trace_id: str) -> list[Span]:
    """Return the spans of a trace as its page gets them, with their tags as a dict."""
    (found,) = json.loads(there.get(f"api/traces/{trace_id}"))["data"]
    for span in found["spans"]:
        span["tags"] = {tag["key"]: tag["value"] for tag in span["tags"]}
    spans: list[Span] = found["spans"]
    return spans


def search(there: Jaeger, service: str, **tags: str) -> set[str]:
    """Return the traces that a search by tags finds."""
    answer = there.get("api/traces", service=service, tags=json.dumps(tags), limit=100)
    return {found["traceID"] for found in json.loads(answer)["data"]}


# --- what a search finds


@pytest.mark.parametrize("name", ["id", "kind", "boundary"])
def test_a_failure_is_found_by_a_tag_of_its_event(there, sent, name):
    """A search by event id, kind or boundary finds exactly the traces that have it."""
    wanted: dict[tuple[str, str], set[str]] = {}
    for found in sent:
        for key, failure in found.failures.items():
            event = found.report.events[key]
            value = {"id": key, "kind": event.failure_kind, "boundary": event.boundary.value}[name]
            wanted.setdefault((failure.stands_on.service, value), set()).add(found.trace_id)
    assert len(wanted) > 5
    for (service, value), traces in wanted.items():
        assert search(there, service, **{P + name: value}) == traces
    assert search(there, "collector", **{P + name: "none"}) == set()


def test_a_hop_is_found_by_its_root_cause_and_by_all_of_its_kinds(there, sent):
    """`report.root.kind` is a string; a list is searched by its JSON text, as the page shows it."""
    for found in sent:
        for span in page(there, found.trace_id):
            for key in (P + "report.root.kind", P + "report.kinds"):
                if key in span["tags"]:
                    service = next(
                        hop.span.service for hop in found.hops if hop.span.span_id == span["spanID"]
                    )
                    assert found.trace_id in search(there, service, **{key: span["tags"][key]})


# --- what a page shows


def test_only_a_hop_that_failed_is_red(there, sent):
    """An escaped exception or a status from 500 on; not a recovered failure or one behind a 200."""
    seen: Counter[str] = Counter()
    for found in sent:
        spans = page(there, found.trace_id)
        for span in spans:
            tags = span["tags"]
            if P + "report.count" not in tags:
                continue
            answers = {
                each["references"][0]["spanID"]: status(each)
                for each in spans
                if each["references"]
            }
            escaped = span["operationName"] == "rollout" and answers[span["spanID"]] >= 500
            failed = P + "report.id" in tags and (escaped or status(span) >= 500)
            assert bool(tags.get("error")) is failed, tags
            seen[
                ("red " if failed else "own " if P + "report.id" in tags else "none ")
                + tags["span.kind"]
            ] += 1
            if not failed and P + "report.id" in tags:
                own = found.report.events[tags[P + "report.id"]]
                assert own.failure_kind in json.loads(tags[P + "report.kinds"])
                holder = found.failures[own.event_id].stands_on.service
                assert found.trace_id in search(there, holder, **{P + "kind": own.failure_kind})
    assert set(seen) == {
        f"{what} {kind}" for what in ("red", "own", "none") for kind in ("server", "internal")
    }


def status(span: Span) -> int:
    """Return the status of an HTTP response, or 0 if there is none."""
    return int(
        span["tags"].get("http.response.status_code") or span["tags"].get("http.status_code") or 0
    )


def test_an_event_begins_with_its_kind_and_boundary(there, sent):
    """Jaeger's page shows the first attributes of an event, sorted: these, then the cause."""
    logs = [log for found in sent for span in page(there, found.trace_id) for log in span["logs"]]
    keys = [[field["key"] for field in log["fields"]] for log in logs]
    ours = [key for key in keys if P + "id" in key]
    assert len(ours) == sum(len(found.failures) for found in sent)
    for each in ours:
        cause = [P + "cause.id"] if P + "cause.id" in each else []
        assert each[: 3 + len(cause)] == ["event", "error.type", P + "boundary", *cause]


def test_a_hop_names_its_root_cause(there, sent):
    """Each hop with an own failure has the kind and the span of the root cause, one click away."""
    named = 0
    for found in sent:
        for span in page(there, found.trace_id):
            if P + "report.id" in span["tags"]:
                root = found.report.events[span["tags"][P + "report.root.id"]]
                assert root.cause_id is None
                assert span["tags"][P + "report.root.kind"] == root.failure_kind
                assert (
                    span["tags"][P + "report.root.span_id"]
                    == found.failures[root.event_id].stands_on.span_id
                )
                named += 1
    assert named > len(sent)


# --- no blank pages


def has_a_place_for_each(spans: list[Span], *, resolved: bool) -> bool:
    """Return True if Jaeger's page shows every span.

    It puts a span below its first reference into the trace, even if that is a link.

    Args:
        spans: The spans of a trace.
        resolved: True for newer pages, which skip references to missing spans.
    """
    there = {span["spanID"] for span in spans}
    below: dict[str, str] = {}
    for span in spans:
        into = [each["spanID"] for each in span["references"] if each["traceID"] == span["traceID"]]
        below[span["spanID"]] = next((each for each in into if each in there or not resolved), "")
    for start in below:
        above, passed = below[start], {start}
        while above in below:
            if above in passed:
                return False
            passed.add(above)
            above = below[above]
    return True


def is_blank(spans: list[Span]) -> bool:
    """Return True if the page of a trace lacks a span, now or if any one span is lost."""
    fewer = [spans, *([each for each in spans if each is not gone] for gone in spans)]
    return not all(
        has_a_place_for_each(each, resolved=resolved)
        for each in fewer
        for resolved in (True, False)
    )


def some_traces(tracer: trace.Tracer, dice: random.Random) -> list[str]:
    """Make traces with failures on running and ended spans, caused by earlier ones or by none."""
    roots = [tracer.start_span(f"rollout {number}") for number in range(3)]
    spans, ended, failures = list(roots), list[trace.Span](), list[NgFailureEvent]()
    for number in range(40):
        chosen = dice.choice(spans)
        if dice.random() < 0.4:
            spans.append(
                tracer.start_span(f"span {number}", context=trace.set_span_in_context(chosen))
            )
            continue
        if dice.random() < 0.2 and chosen not in ended:
            ended.append(chosen)
            chosen.end()
        with trace.use_span(chosen):
            failure = NgFailureEvent("it_failed", boundary="agent")
            failure.__cause__ = dice.choice([None, *failures])
            failgraph.record(failure)
        failures.append(failure)
    for span in spans:
        if span not in ended:
            span.end()
    return [f"{root.get_span_context().trace_id:032x}" for root in roots]


@pytest.fixture
def pages(there, tracer, exporter) -> Callable[[], list[list[Span]]]:
    """Return a function that makes many traces and returns their pages."""

    def make() -> list[list[Span]]:
        ids = [each for seed in range(20) for each in some_traces(tracer, random.Random(seed))]
        sender = OTLPSpanExporter(f"http://{there.otlp_http}/v1/traces")
        assert sender.export(exporter.get_finished_spans()) is SpanExportResult.SUCCESS
        sender.shutdown()
        return [page(there, each) for each in ids]

    return make


def keeps_to_the_rules(span: Span) -> bool:
    """Return True if the links of a span follow failgraph's rules.

    Only a failure span links into its own trace, none links to itself or its parent, and no two
    links have the same target. Jaeger merges a link to the parent with the reference to the parent,
    which then is not CHILD_OF.
    """
    targets = [(each["traceID"], each["spanID"]) for each in span["references"]]
    inside = [each["refType"] for each in span["references"] if each["traceID"] == span["traceID"]]
    links = inside[1:] if inside[:1] == ["CHILD_OF"] else inside
    return (
        (not links or P + "failure_span" in span["tags"])
        and (span["traceID"], span["spanID"]) not in targets
        and len(set(targets)) == len(targets)
    )


def test_no_trace_has_a_blank_page(pages):
    """Whichever span is lost: with links across traces, and inside one from failure spans."""
    made = pages()
    assert len(made) == 60
    for spans in made:
        assert all(keeps_to_the_rules(span) for span in spans)
        assert not is_blank(spans)
    links = [(span, each) for spans in made for span in spans for each in span["references"]]
    links = [(span, each) for span, each in links if each["refType"] == "FOLLOWS_FROM"]
    assert sum(each["traceID"] != span["traceID"] for span, each in links) > 50
    assert sum(each["traceID"] == span["traceID"] for span, each in links) > 50


def test_no_trace_of_the_demo_has_a_blank_page(there, sent):
    """They have no links."""
    for found in sent:
        spans = page(there, found.trace_id)
        assert all(len(span["references"]) <= 1 and keeps_to_the_rules(span) for span in spans)
        assert not is_blank(spans)


def test_links_inside_a_trace_would_blank_pages(pages, monkeypatch):
    """If every cause were linked, pages would be blank: that is why none in its trace is."""
    may_link = writer._may_link

    def as_of_a_failure_span(source, cause, stands_for):
        return may_link(source, cause, stands_for or source.parent or trace.INVALID_SPAN_CONTEXT)

    monkeypatch.setattr(writer, "_may_link", as_of_a_failure_span)
    made = pages()
    assert sum(is_blank(spans) for spans in made) > 10
