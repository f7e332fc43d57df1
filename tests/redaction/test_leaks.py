"""No secret of the corpus gets out: on spans, in replies, from commands, in the journal.

A new way out is one more row of `SPANS` or `COMMANDS`.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.trace import Link, SpanKind, Status, StatusCode

import failgraph
import otlp_file
from builders import event
from failgraph import FailureEvent, NgFailureEvent, hop, record
from failgraph.backends.error_text import error_text
from failgraph.backends.location import BackendLocation
from failgraph.cli import main
from failgraph.instrumentation import attach as attaching
from failgraph.redaction.display import display
from failgraph.transport.header_decoder import decode_report
from failgraph.transport.header_encoder import encode_headers
from gym_rows import FAILING, lines
from redaction_corpus import SECRETS, Secret

pytestmark = pytest.mark.once

Way = Callable[[Any, Secret], None]


@pytest.fixture(autouse=True)
def attached() -> Iterator[None]:
    attaching.attach("the test", include_global=False)
    yield
    attaching.detach()


# --- on spans: the test looks at everything that is exported


def by_hand(tracer, case: Secret) -> None:
    """Record an event and an exception, with the text in each field."""
    foreign = {"exception_type": case.text[:256], "message": case.text[:2000]}
    details = {"provider": "docker", "provider_status_reason": case.text[:2000]}
    with tracer.start_as_current_span("span"), hop():
        record(
            FailureEvent(
                event_id=f"r-{case.label}",
                failure_kind="sandbox_failed",
                boundary="sandbox",
                failure_reason=case.text[:2000],
                operation=case.text[:256],
                exception_type=case.text[:256],
                foreign_error=foreign,
                details=details,
            ),
            own=True,
        )
        record(ValueError(case.text), boundary="agent", kind="agent_error", reason=case.text)


def escaping(tracer, case: Secret) -> None:
    """Let an exception with a cause and a note leave a span, its parent and a hop."""
    error = NgFailureEvent("judge_failed", case.text, boundary="model", operation=case.text)
    error.__cause__ = OSError(case.text)
    if hasattr(error, "add_note"):
        error.add_note(case.text)
    with contextlib.suppress(NgFailureEvent), tracer.start_as_current_span("outer"), hop():
        with tracer.start_as_current_span("inner"):
            raise error


def statuses(tracer, case: Secret) -> None:
    """Set a status by hand, in both forms, and by an exception of the user's."""
    with tracer.start_as_current_span("status") as span:
        span.set_status(Status(StatusCode.ERROR, case.text))
    with tracer.start_as_current_span("status") as span:
        span.set_status(StatusCode.ERROR, case.text)
    with contextlib.suppress(RuntimeError), tracer.start_as_current_span("status"):
        raise RuntimeError(case.text)


def links(tracer, case: Secret) -> None:
    """Record an effect of a cause in another trace, and a failure on an ended span."""
    with tracer.start_as_current_span("cause") as span:
        cause = NgFailureEvent("a_cause", case.text, boundary="model")
        record(cause)
    effect = NgFailureEvent("an_effect", case.text, boundary="agent")
    effect.__cause__ = cause
    with tracer.start_as_current_span("effect", links=[Link(span.get_span_context())]):
        record(effect)
    record(NgFailureEvent("afterwards", case.text, boundary="agent"), span=span)


def replies(tracer, case: Secret) -> None:
    """Get a report from a peer that does not redact, and reply with it."""
    value = json.dumps(
        {
            "events": {
                "p": {"failure_kind": "k", "boundary": "model", "failure_reason": case.text[:2000]}
            },
            "failure_id": "p",
        }
    )
    from failgraph.recording.recorder import recorder

    report = decode_report(value)
    assert report is not None
    with tracer.start_as_current_span("asks", kind=SpanKind.SERVER) as span, hop():
        recorder().record_reply(report, {})
        lines = encode_headers(failgraph.current_report(), {}, 60_000)
        assert lines is not None
        span.set_attribute("lines", lines.report.model_dump_json())


SPANS: dict[str, Way] = {
    each.__name__: each for each in (by_hand, escaping, statuses, links, replies)
}


@pytest.mark.parametrize("way", SPANS)
def test_nothing_leaves_on_spans(way, tracer, exporter):
    """Events, statuses, links, attributes, reply headers."""
    for case in SECRETS:
        SPANS[way](tracer, case)
        exported = "\n".join(map(everything, exporter.get_finished_spans()))
        assert "[redacted:" in exported, case.label
        assert not [secret for secret in case.secrets if secret in exported], case.label
        exporter.clear()


def everything(span) -> str:
    """Return all texts of a span in one."""
    parts = [span.name, span.status.description, dict(span.attributes)]
    parts += [(event.name, dict(event.attributes)) for event in span.events]
    parts += [dict(link.attributes or {}) for link in span.links]
    return "\n".join(flat(parts))


def flat(value: Any) -> Iterator[str]:
    """Yield each text inside a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from flat(list(value.items()))
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from flat(item)


# --- from commands: they read files whose writers do not redact


def traces(path: Path) -> Path:
    """Write a trace for each text: as the name of span and service, as reason, as operation."""
    with path.open("w") as file:
        for number, case in enumerate(SECRETS, 1):
            foreign = {"exception_type": "KeyError", "message": case.text[:2000]}
            failure = event(
                "e",
                failure_reason=case.text[:2000],
                operation=case.text[:256],
                foreign_error=foreign,
            )
            span = otlp_file.span(
                1,
                None,
                otlp_file.seen(failure),
                name=case.text,
                trace=f"{number:032x}",
                kind=otlp_file.SERVER,
                attributes=otlp_file.reported("e", own="e"),
            )
            print(json.dumps(otlp_file.process(span, service=case.text)), file=file)
    return path


def rows(path: Path) -> Path:
    """Write a saved row for each text: as message, as body and as name of a server."""
    texts = [
        {
            "_ng_task_index": number,
            "_ng_failure_message": case.text,
            "_ng_failure_response_body": json.dumps(repr(ValueError(case.text))),
            "_ng_environment_server": case.text,
        }
        for number, case in enumerate(SECRETS)
    ]
    path.write_bytes(lines(*(FAILING[1].row | each for each in texts)))
    return path


COMMANDS = ["list", "list --json", "show", "show --json", "top", "top --json", "show --strict"]


@pytest.mark.slow_after(10)
@pytest.mark.parametrize("source", [traces, rows], ids=lambda source: source.__name__)
@pytest.mark.parametrize("command", COMMANDS)
def test_nothing_is_shown(command, source, tmp_path, capsys):
    """On standard output or standard error."""
    name, *options = command.split()
    main([name, str(source(tmp_path / "file")), *options])
    shown = capsys.readouterr()
    assert len(shown.out) > 200
    assert leaked("\n".join(shown)) == []


def leaked(text: str) -> list[str]:
    """Return the labels of the corpus whose secrets are in a text, as they are or unescaped."""
    plain = "\n".join([text, *(value for line in text.splitlines() for value in unescaped(line))])
    return [case.label for case in SECRETS if any(secret in plain for secret in case.secrets)]


def unescaped(line: str) -> Iterator[str]:
    """Yield the texts inside a line of JSON."""
    with contextlib.suppress(ValueError):
        yield from flat(json.loads(line))


@pytest.mark.slow
def test_nothing_is_exported(tmp_path):
    """From rows to a file of traces."""
    pytest.importorskip(
        "opentelemetry.exporter.otlp.json.file", reason="exports into files are written by it"
    )
    out = tmp_path / "out.jsonl"
    assert main(["export", str(rows(tmp_path / "rows.jsonl")), "-o", str(out)]) == 0
    assert leaked(out.read_text()) == []


@pytest.mark.parametrize("form", ["{}", '{{"errors":[{{"msg":{json}}}]}}', '{{"message":{json}}}'])
def test_nothing_is_in_the_message_of_a_backend(form):
    """Whatever form its error has."""
    location = BackendLocation(
        "Jaeger", "http://localhost:16686", "FAILGRAPH_JAEGER_URL", "FAILGRAPH_JAEGER_HEADERS"
    )
    for case in SECRETS:
        body = form.format(case.text, json=json.dumps(case.text))
        shown = "\n".join((error_text(location, body.encode()), display(case.text)))
        assert not [secret for secret in case.secrets if secret in shown], case.label


@pytest.mark.slow_after(1)
@pytest.mark.skipif(
    importlib.util.find_spec("failgraph.journal") is None, reason="there is no journal yet"
)
@pytest.mark.parametrize("way", SPANS)
def test_nothing_is_in_the_journal(way, tracer, setting, tmp_path):
    """In any line of it."""
    setting("JOURNAL", str(tmp_path))
    for case in SECRETS:
        SPANS[way](tracer, case)
    written = "".join(path.read_text() for path in tmp_path.glob("*.jsonl"))
    if way != "statuses":
        assert "[redacted:" in written
    assert leaked(written) == []
