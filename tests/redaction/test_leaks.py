"""No secret of the corpus comes out, by any way out. Each is a row of WAYS: a new way is one more row."""

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


# --- out of the process, on spans: everything that is exported of them is looked at


def by_hand(tracer, case: Secret) -> None:
    """A ready record, with the text in each field that is text."""
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
    """Out of a hop, a span and its children, with causes, in a group of Python 3.11 and in a note."""
    error = NgFailureEvent("judge_failed", case.text, boundary="model", operation=case.text)
    error.__cause__ = OSError(case.text)
    if hasattr(error, "add_note"):
        error.add_note(case.text)
    with contextlib.suppress(NgFailureEvent), tracer.start_as_current_span("outer"), hop():
        with tracer.start_as_current_span("inner"):
            raise error


def statuses(tracer, case: Secret) -> None:
    """Set by hand in both forms, and by an exception that is none of ours."""
    with tracer.start_as_current_span("status") as span:
        span.set_status(Status(StatusCode.ERROR, case.text))
    with tracer.start_as_current_span("status") as span:
        span.set_status(StatusCode.ERROR, case.text)
    with contextlib.suppress(RuntimeError), tracer.start_as_current_span("status"):
        raise RuntimeError(case.text)


def links(tracer, case: Secret) -> None:
    """The link to a cause in another trace, and the failure span that stands for an ended one."""
    with tracer.start_as_current_span("cause") as span:
        cause = NgFailureEvent("a_cause", case.text, boundary="model")
        record(cause)
    effect = NgFailureEvent("an_effect", case.text, boundary="agent")
    effect.__cause__ = cause
    with tracer.start_as_current_span("effect", links=[Link(span.get_span_context())]):
        record(effect)
    record(NgFailureEvent("afterwards", case.text, boundary="agent"), span=span)


def replies(tracer, case: Secret) -> None:
    """What a peer passes on, and does not redact itself."""
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
        told = encode_headers(failgraph.current_report(), {}, 60_000)
        assert told is not None
        span.set_attribute("told", told.report.model_dump_json())


SPANS: dict[str, Way] = {
    each.__name__: each for each in (by_hand, escaping, statuses, links, replies)
}


@pytest.mark.parametrize("way", SPANS)
def test_nothing_leaves_on_spans(way, tracer, exporter):
    """Events, status, links, attributes, and what a reply says."""
    for case in SECRETS:
        SPANS[way](tracer, case)
        exported = "\n".join(map(everything, exporter.get_finished_spans()))
        assert "[redacted:" in exported, case.label
        assert not [secret for secret in case.secrets if secret in exported], case.label
        exporter.clear()


def everything(span) -> str:
    """All texts of a span, as they are and as JSON has them."""
    parts = [span.name, span.status.description, dict(span.attributes)]
    parts += [(event.name, dict(event.attributes)) for event in span.events]
    parts += [dict(link.attributes or {}) for link in span.links]
    return "\n".join(flat(parts))


def flat(value: Any) -> Iterator[str]:
    """Each text inside a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from flat(list(value.items()))
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from flat(item)


# --- out of the commands: of files whose writers redact nothing


def traces(path: Path) -> Path:
    """Each text in a trace of its own: in the names of span and service, in reasons, in an operation."""
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
    """Each text in a saved row: in its message, in the body of a server, and in its name."""
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


@pytest.mark.parametrize("source", [traces, rows], ids=lambda source: source.__name__)
@pytest.mark.parametrize("command", COMMANDS)
def test_nothing_is_shown(command, source, tmp_path, capsys):
    """By no command, neither on standard output nor on standard error."""
    name, *options = command.split()
    main([name, str(source(tmp_path / "file")), *options])
    shown = capsys.readouterr()
    assert len(shown.out) > 200
    assert leaked("\n".join(shown)) == []


def leaked(text: str) -> list[str]:
    """The labels of the corpus whose secrets are in `text`, as they are or unescaped."""
    plain = "\n".join([text, *(value for line in text.splitlines() for value in unescaped(line))])
    return [case.label for case in SECRETS if any(secret in plain for secret in case.secrets)]


def unescaped(line: str) -> Iterator[str]:
    """The texts inside a line that is JSON."""
    with contextlib.suppress(ValueError):
        yield from flat(json.loads(line))


@pytest.mark.slow
def test_nothing_is_imported(tmp_path):
    """Rows that become a file of traces."""
    pytest.importorskip(
        "opentelemetry.exporter.otlp.json.file", reason="imports into files are written by it"
    )
    out = tmp_path / "out.jsonl"
    assert main(["import", str(rows(tmp_path / "rows.jsonl")), "--to", str(out)]) == 0
    assert leaked(out.read_text()) == []


@pytest.mark.parametrize("form", ["{}", '{{"errors":[{{"msg":{json}}}]}}', '{{"message":{json}}}'])
def test_nothing_that_a_backend_says(form):
    """Errors of any form, in what the user reads of them."""
    location = BackendLocation(
        "Jaeger", "http://localhost:16686", "FAILGRAPH_JAEGER_URL", "FAILGRAPH_JAEGER_HEADERS"
    )
    for case in SECRETS:
        body = form.format(case.text, json=json.dumps(case.text))
        told = "\n".join((error_text(location, body.encode()), display(case.text)))
        assert not [secret for secret in case.secrets if secret in told], case.label


@pytest.mark.slow_after(1)
@pytest.mark.skipif(
    importlib.util.find_spec("failgraph.journal") is None, reason="there is no journal yet"
)
@pytest.mark.parametrize("way", SPANS)
def test_nothing_is_in_the_journal(way, tracer, setting, tmp_path):
    """Every line that is written of what happens on spans."""
    setting("JOURNAL", str(tmp_path))
    for case in SECRETS:
        SPANS[way](tracer, case)
    written = "".join(path.read_text() for path in tmp_path.glob("*.jsonl"))
    if way != "statuses":
        assert "[redacted:" in written
    assert leaked(written) == []
