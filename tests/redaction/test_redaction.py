"""Redaction of texts, events, what commands show, and the user's own rules."""

from __future__ import annotations

import json
import sys
import time
import types

import pytest

import failgraph
import otlp_file
from builders import event
from failgraph import FailureEvent, NgFailureEvent, failure_report_for, record
from failgraph.cli import main
from failgraph.errors import ConfigError
from failgraph.redaction import HIDDEN, redact, redact_and_truncate
from failgraph.settings import checked, configure, current
from redaction_corpus import INNOCENT, SECRETS

KEY = "sk-" + "4f9aB27cQ1xZ8mLk" * 2


@pytest.mark.parametrize("case", SECRETS, ids=lambda case: case.label)
def test_no_secret_of_the_corpus_survives(case):
    """What people need beside it stays, and a second redaction changes nothing."""
    shown = redact(case.text)
    assert not [secret for secret in case.secrets if secret in shown]
    assert not [kept for kept in case.keeps if kept not in shown]
    assert "[redacted:" in shown
    assert redact(shown) == shown


def test_innocent_texts_are_left_alone():
    """At most one in a hundred texts that only look like secrets changes; today none."""
    changed = [case.label for case in INNOCENT if redact(case.text) != case.text]
    assert len(changed) <= len(INNOCENT) // 100, changed


def test_texts_that_differ_in_a_secret_alone_become_equal():
    """So that failures can be grouped by their text."""
    one, other = (redact(f"401 for key sk-{digit}f9aB27cQ1xZ8mLk4f9aB27") for digit in "48")
    assert one == other == "401 for key [redacted:api_key]"


def test_half_a_secret_at_the_limit_is_not_shown():
    """A text is redacted before it is truncated: the limit cannot split a key."""
    for before in range(1980, 2001):
        event = NgFailureEvent(
            "agent_error", "x" * before + " " + KEY + " y" * 3000, boundary="agent"
        ).to_record()
        assert "sk-" not in event.failure_reason
        assert len(event.failure_reason) <= 2000
        assert "aB27" not in event.failure_reason
    assert redact_and_truncate("word " * 2000 + KEY, 200).endswith("…")
    assert redact_and_truncate("x" * 100_000, 200) == "…"


@pytest.mark.parametrize(
    "name", ["pa\u017f\u017fword", "PA\u017fSWORD", "credent\u0130al", "credent\u0131als"]
)
def test_a_name_with_letters_that_fold_is_recognized(name):
    """A pattern that ignores case takes more letters for an s or an i than `str.lower` does."""
    assert "hunter2Xq9" not in redact(f"{name}: hunter2Xq9 and more")


def test_redaction_takes_linear_time():
    """Ten times the text takes at most twenty-five times as long in the same run."""

    def best(text: str) -> float:
        return min(_timed(text, time.thread_time) for _ in range(5))

    for unit in (
        "password=",
        'password="',
        "://a:b@",
        "eyJ",
        "'\"",
        "token: a ",
        "aB3/",
        "\n- key: ",
        "--a-b-",
        "sig=&",
    ):
        short, long = (unit * (size // len(unit)) for size in (4_000, 40_000))
        assert best(long) < 25 * best(short) + 0.002, unit


def _timed(text, clock):
    start = clock()
    redact(text)
    return clock() - start


# --- events, reports, commands


@pytest.fixture
def written(tracer, exporter):
    """Return a function that records failures and returns all that was written on spans."""

    def record_all(*failures: object) -> str:
        with tracer.start_as_current_span("span"):
            for failure in failures:
                record(failure, boundary="model", kind="judge_failed")
        return "\n".join(
            str((e.name, dict(e.attributes)))
            for s in exporter.get_finished_spans()
            for e in s.events
        )

    return record_all


def test_every_event_of_a_chain(written):
    """Reasons, foreign messages, reasons of providers, and the texts of a given event."""
    cause = NgFailureEvent(
        "sandbox_failed", f"a {KEY}", boundary="sandbox", details={"provider_status_reason": KEY}
    )
    effect = NgFailureEvent(
        "judge_failed", f"b {KEY}", boundary="model", operation=f"GET /?key={KEY}"
    )
    middle = RuntimeError(f"c {KEY}")
    middle.__cause__, effect.__cause__ = cause, middle
    ready = FailureEvent(
        event_id="ready", failure_kind="k", boundary="agent", failure_reason=f"d {KEY}"
    )
    text = written(effect, ready, ValueError(f"e {KEY}"), {"not": KEY})
    assert "sk-" not in text
    assert text.count("[redacted:api_key]") == 7
    report = failure_report_for(effect)
    assert "sk-" not in report.model_dump_json()
    assert "sk-" not in str(effect) + repr(effect)


def test_kinds_ids_and_boundaries_are_never_altered(written):
    """Even if they look like secrets: they join the graph."""
    event = FailureEvent(
        event_id=KEY,
        failure_kind="token=abcdefgh12345678",
        boundary="agent",
        cause_id=KEY + "2",
        operation_id=KEY,
        attempt_id=KEY,
    )
    text = written(event)
    assert f"'nemo.gym.failure.id': '{KEY}'" in text
    assert "'nemo.gym.failure.kind': 'token=abcdefgh12345678'" in text
    assert text.count(KEY) == 4


def test_reports_of_hops_and_traces_are_redacted_as_spans_are(tracer):
    """A failure has one record, redacted once."""
    with tracer.start_as_current_span("span") as span, failgraph.hop():
        record(NgFailureEvent("judge_failed", KEY, boundary="model"))
        reports = [failgraph.current_report(), failgraph.report_for_trace(span.get_span_context())]
    for report in reports:
        assert [event.failure_reason for event in report.events.values()] == ["[redacted:api_key]"]


@pytest.mark.parametrize(
    "form", [["show"], ["show", "--json"], ["list"], ["list", "--json"]], ids=" ".join
)
def test_a_trace_of_a_writer_that_does_not_redact_is_redacted_when_shown(form, tmp_path, capsys):
    """As a tree, as a list, and as JSON."""
    foreign = {"exception_type": "KeyError", "message": f"foreign {KEY}"}
    record = event(
        "one", failure_reason=f"reason {KEY}", foreign_error=foreign, operation=f"op {KEY}"
    )
    happened = otlp_file.seen(record)
    spans = otlp_file.span(
        1,
        name=f"GET /?key={KEY}",
        events=[happened],
        attributes=otlp_file.reported("one", own="one"),
    )
    source = otlp_file.write(tmp_path / "trace.jsonl", otlp_file.process(spans))
    command, *options = form
    assert main([command, str(source), *options]) == 0
    shown = capsys.readouterr()
    assert "sk-" not in shown.out + shown.err
    if command == "show":
        assert shown.out.count("[redacted:api_key]") >= 4


def test_redaction_can_be_turned_off(written, setting):
    """By `FAILGRAPH_REDACT=false`."""
    setting("REDACT", "false")
    assert KEY in written(NgFailureEvent("judge_failed", KEY, boundary="model"))


def test_reasons_can_be_left_out(written, setting):
    """`FAILGRAPH_REDACT=all`: no reason and no message of others; everything else stays."""
    setting("REDACT", "all")
    failure = NgFailureEvent(
        "sandbox_failed",
        "private",
        boundary="sandbox",
        details={"provider_status_reason": "private", "provider": "docker"},
    )
    failure.__cause__ = ValueError("private")
    text = written(failure)
    assert "private" not in text
    assert "'nemo.gym.failure.foreign.type': 'ValueError'" in text
    assert "'nemo.gym.failure.sandbox.provider': 'docker'" in text
    assert "reason" not in text


# --- the user's own rules


@pytest.mark.parametrize(
    "patterns", [r"EMP-\d+", json.dumps([r"EMP-\d+", "nothing"])], ids=["one", "list"]
)
def test_own_patterns(setting, patterns):
    """One regular expression or a JSON list, applied after the rules."""
    setting("REDACT_PATTERNS", patterns)
    assert redact(f"EMP-123 has {KEY}") == "[redacted:pattern] has [redacted:api_key]"


@pytest.mark.parametrize("patterns", ["(", '["fine", "("]', "[1]"])
def test_a_pattern_that_does_not_compile_hides_every_text(setting, patterns, caplog):
    """One log line says so, and a command refuses to start."""
    setting("REDACT_PATTERNS", patterns)
    assert redact("a harmless text") == HIDDEN
    assert redact("another") == HIDDEN
    assert redact("") == ""
    assert len(caplog.messages) == 1
    assert "FAILGRAPH_REDACT_PATTERNS" in caplog.text
    assert "every text is hidden" in caplog.text
    with pytest.raises(ConfigError, match="is not a valid regular expression"):
        checked({"FAILGRAPH_REDACT_PATTERNS": patterns})


def own_module(**functions):
    module = types.ModuleType("own_rules")
    vars(module).update(functions)
    sys.modules["own_rules"] = module


def test_an_own_function(setting):
    """It gets the text after all rules, and its result is final."""
    seen = []
    own_module(hide=lambda text: seen.append(text) or text.replace("bob", "B"))
    setting("REDACT_WITH", "own_rules:hide")
    assert redact(f"bob has {KEY}") == "B has [redacted:api_key]"
    assert seen == ["bob has [redacted:api_key]"]


def raising(text):
    raise RuntimeError(f"cannot look at {text}")


@pytest.mark.parametrize(
    "function",
    [raising, lambda text: None, lambda text: text.encode()],
    ids=["raises", "None", "bytes"],
)
def test_an_own_function_that_fails_hides_the_text(setting, function, caplog):
    """The log line does not show it either."""
    own_module(hide=function)
    setting("REDACT_WITH", "own_rules:hide")
    assert redact("a text of bob's") == HIDDEN
    assert failgraph.stats()["redact_failed"] == 1
    assert "bob" not in caplog.text


@pytest.mark.parametrize(
    "reference", ["no_such_module:hide", "own_rules:missing", "json:decoder.missing"]
)
def test_a_missing_own_function_hides_the_text(setting, reference):
    """A wrong name must not let texts pass."""
    own_module()
    setting("REDACT_WITH", reference)
    assert redact("a text") == HIDDEN


@pytest.mark.parametrize(
    "reference",
    ["own_rules", "own_rules.hide", ":hide", "own rules:hide", "own_rules:hide()", "../x:y"],
)
def test_a_reference_of_another_form_is_rejected(setting, reference):
    """The text of a variable is a name, never an expression or a path."""
    setting("REDACT_WITH", reference)
    assert redact("a text") == HIDDEN
    with pytest.raises(ConfigError, match=r"package\.module:function"):
        checked({"FAILGRAPH_REDACT_WITH": reference})


def test_a_command_refuses_a_missing_own_function(monkeypatch, capsys):
    """With exit code 2 and its name, instead of hiding every text."""
    monkeypatch.setenv("FAILGRAPH_REDACT_WITH", "no_such_module:hide")
    assert main(["list", "nothing.jsonl"]) == 2
    assert "FAILGRAPH_REDACT_WITH=no_such_module:hide cannot be loaded" in capsys.readouterr().err


def test_settings_of_a_configuration_file(setting):
    """As OpenTelemetry's file passes them on; the environment wins."""
    try:
        configure({"redact_patterns": [r"EMP-\d+"], "redact": True, "peers": ["a", "b"]})
        assert redact("EMP-1") == "[redacted:pattern]"
        assert current().peers == ("a", "b")
        setting("REDACT", "false")
        assert redact("EMP-1") == "EMP-1"
    finally:
        configure({})


def test_redact_never_raises():
    """On surrogates, controls, markers, and texts that only begin like a secret."""
    for text in (
        "\ud800 token=abc12345",
        "\x00password=\x00",
        "[redacted:",
        "password=[redacted:",
        "-----BEGIN PRIVATE KEY-----",
        'password="',
        "bearer ",
    ):
        assert isinstance(redact(text), str)
        assert redact(redact(text)) == redact(text)
