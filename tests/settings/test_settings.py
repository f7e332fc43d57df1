"""The settings: what each takes, and what is said of one that cannot be used."""

from __future__ import annotations

import logging

import pytest

from failgraph import FailureBoundary, settings
from failgraph.errors import ConfigError
from failgraph.settings import Settings, checked, from_env
from failgraph.settings.values import one_of

CHOICES = {
    "FAILGRAPH_BOUNDARY": "agent, collection, environment, harness, model, resources_server or sandbox",
    "FAILGRAPH_ENABLED": "true or false",
    "FAILGRAPH_AUTO_INSTRUMENT": "false or true",
    "FAILGRAPH_LOG_LEVEL": "warning, info or debug",
    "FAILGRAPH_LINKS": "cross, all or off",
    "FAILGRAPH_PLACEMENT": "span or failure_span",
    "FAILGRAPH_CAPTURE": "failures or all",
    "FAILGRAPH_REPLY": "peers, always or never",
    "FAILGRAPH_REDACT": "true or false",
    "FAILGRAPH_REASON": "on or off",
}


def test_nothing_set_gives_the_documented_defaults():
    """Without settings: enabled unset, no boundary, links into other traces, events on the span, texts redacted."""
    assert from_env({}) == (Settings(), ())
    made = Settings()
    assert (made.enabled, made.boundary, made.links, made.placement) == (
        None,
        None,
        "cross",
        "span",
    )
    assert (made.auto_instrument, made.log_level, made.redact, made.reason) == (
        False,
        "warning",
        True,
        True,
    )


@pytest.mark.parametrize(
    ("name", "value", "field", "expected"),
    [
        ("ENABLED", "true", "enabled", True),
        ("ENABLED", "false", "enabled", False),
        *[("BOUNDARY", boundary.value, "boundary", boundary) for boundary in FailureBoundary],
        *[("LINKS", value, "links", value) for value in ("cross", "all", "off")],
        *[("PLACEMENT", value, "placement", value) for value in ("span", "failure_span")],
        *[("LOG_LEVEL", value, "log_level", value) for value in ("warning", "info", "debug")],
        ("AUTO_INSTRUMENT", "true", "auto_instrument", True),
        ("AUTO_INSTRUMENT", "false", "auto_instrument", False),
        *[("CAPTURE", value, "capture", value) for value in ("failures", "all")],
        *[("REPLY", value, "reply", value) for value in ("peers", "always", "never")],
        ("PEERS", " *.Example.com , 10.1.2.3/8,", "peers", ("*.example.com", "10.0.0.0/8")),
        ("PEER_TOKEN", "of ours", "peer_token", "of ours"),
        ("HEADER_BYTES", "256", "header_bytes", 256),
        ("HEADER_BYTES", "65536", "header_bytes", 65536),
        ("REDACT", "true", "redact", True),
        ("REDACT", "false", "redact", False),
        ("REASON", "on", "reason", True),
        ("REASON", "off", "reason", False),
        ("REDACT_WITH", "package.module:function", "redact_with", "package.module:function"),
        ("REDACT_WITH", " ", "redact_with", None),
        ("REDACT_PATTERNS", "", "redact_patterns", ()),
        (
            "JAEGER_URL",
            "https://jaeger.example/prefix/",
            "jaeger_url",
            "https://jaeger.example/prefix",
        ),
        ("TEMPO_URL", "http://[::1]:3200", "tempo_url", "http://[::1]:3200"),
        ("GRAFANA_URL", "", "grafana_url", None),
        (
            "JAEGER_HEADERS",
            "Authorization=Bearer%20a%3Db, x=",
            "jaeger_headers",
            (("authorization", "Bearer a=b"), ("x", "")),
        ),
        ("TEMPO_HEADERS", ",,", "tempo_headers", ()),
        ("ENABLED", " TRUE ", "enabled", True),
        ("LINKS", "Off", "links", "off"),
        ("BOUNDARY", "", "boundary", None),
        ("ENABLED", "", "enabled", None),
        ("LINKS", "  ", "links", "cross"),
    ],
)
def test_each_choice_is_taken(name, value, field, expected):
    """A setting takes each of its choices in any case, and an empty value is as good as none."""
    made, problems = from_env({f"FAILGRAPH_{name}": value})
    assert problems == ()
    assert getattr(made, field) == expected


@pytest.mark.parametrize("name", CHOICES)
def test_a_bad_value_is_told_with_name_value_and_choices(name):
    """A problem names the variable, its value and what it may be; its default stands in, but where texts were to go."""
    made = Settings(reason=False) if name == "FAILGRAPH_REASON" else Settings()
    assert from_env({name: "Sometimes"}) == (
        made,
        (f"{name} must be {CHOICES[name]}, not 'Sometimes'",),
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [("HEADER_BYTES", value) for value in ("255", "65537", "-1", "many", "3.5", "٣٠٠٠")]
    + [("PEERS", "10.0.0.0/33")],
)
def test_a_bad_number_or_network_is_told(name, value):
    """It is named with its value, and the default stands in."""
    made, (problem,) = from_env({f"FAILGRAPH_{name}": value})
    assert f"FAILGRAPH_{name}" in problem
    assert ascii(value) in problem
    assert made == Settings()


def test_each_setting_that_exists_is_tested_here():
    """No setting exists without its documented choices being held by these tests."""
    assert {name: one_of(values) for name, values in settings.CHOICES.items()} == CHOICES


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("FAILGRAPH_LINK", "FAILGRAPH_LINKS"),
        ("FAILGRAPH_BOUNDRY", "FAILGRAPH_BOUNDARY"),
        ("FAILGRAPH_ENABLE", "FAILGRAPH_ENABLED"),
        ("FAILGRAPH_PLACMENT", "FAILGRAPH_PLACEMENT"),
        ("FAILGRAPH_links", "FAILGRAPH_LINKS"),
    ],
)
def test_an_unknown_name_gets_did_you_mean(name, meant):
    """An unknown name of our prefix is told, with the setting that was likely meant."""
    problem = f"unknown setting {name} (did you mean {meant}?)"
    assert from_env({name: "all"}) == (Settings(), (problem,))


def test_a_name_near_nothing_gets_where_to_find_the_settings():
    """An unknown name that resembles no setting gets the command that lists all; its value is not shown."""
    (problem,) = from_env({"FAILGRAPH_QQQQQQ": "s3cret"}).problems
    assert problem == (
        'unknown setting FAILGRAPH_QQQQQQ (run "failgraph doctor" to list all settings)'
    )


def test_names_of_others_are_none_of_ours():
    """Variables without our prefix are not looked at."""
    assert from_env({"OTEL_FAILGRAPH_LINKS": "x", "FAILGRAPHLINKS": "x", "PATH": "x"}) == (
        Settings(),
        (),
    )


def test_all_problems_are_told_at_once_and_what_is_good_is_kept():
    """Every problem is told, in the order of the names; good settings hold, bad ones have their default."""
    environ = {
        "FAILGRAPH_PLACEMENT": "failure_span",
        "FAILGRAPH_LINKS": "never",
        "FAILGRAPH_BOUNDARY": "judge",
        "FAILGRAPH_LINK": "all",
    }
    expected = [
        f"FAILGRAPH_BOUNDARY must be {CHOICES['FAILGRAPH_BOUNDARY']}, not 'judge'",
        "unknown setting FAILGRAPH_LINK (did you mean FAILGRAPH_LINKS?)",
        "FAILGRAPH_LINKS must be cross, all or off, not 'never'",
    ]
    made, problems = from_env(environ)
    assert list(problems) == expected
    assert made == Settings(placement="failure_span")
    with pytest.raises(ConfigError) as caught:
        checked(environ)
    assert caught.value.problems == expected
    assert str(caught.value) == "; ".join(expected)


def test_checked_gives_what_is_good():
    """Settings without a problem are returned."""
    assert checked({"FAILGRAPH_ENABLED": "false", "FAILGRAPH_LINKS": "off"}) == Settings(
        enabled=False, links="off"
    )


@pytest.mark.parametrize("text", ["\x1b[31m", "a\nb", "\u202e", "\udc80", "x" * 10_000])
def test_a_problem_is_one_short_plain_line(text):
    """Neither a name nor a value brings a control character, a line break or any length into a message."""
    _, problems = from_env({"FAILGRAPH_LINKS": text, f"FAILGRAPH_{text}": "x"})
    assert len(problems) == 2
    for problem in problems:
        assert problem.isascii()
        assert problem.isprintable()
        assert len(problem) < 500


def test_a_backslash_in_a_value_is_shown_once():
    """A value is shown as Python would write it: an escaped character is escaped once."""
    (problem,) = from_env({"FAILGRAPH_LINKS": "\x1b"}).problems
    assert problem.endswith(", not '\\x1b'")


def test_settings_are_read_once(setting, monkeypatch):
    """The settings of a process are read at the first call; a later change of the environment is not seen."""
    setting("LINKS", "off")
    first = settings.current()
    monkeypatch.setenv("FAILGRAPH_LINKS", "all")
    assert settings.current() is first
    assert first.links == "off"


def test_bad_settings_never_stop_a_program(setting, caplog):
    """In a user's program problems are logged in one line, once, and the defaults stand in."""
    setting("LINKS", "never")
    setting("BOUNDRY", "agent")
    with caplog.at_level(logging.WARNING, logger="failgraph"):
        assert settings.current() == Settings()
        settings.current()
    (record,) = caplog.records
    message = record.getMessage()
    assert "FAILGRAPH_LINKS must be cross, all or off, not 'never'" in message
    assert "did you mean FAILGRAPH_BOUNDARY?" in message
    assert "\n" not in message


@pytest.mark.parametrize(
    "value",
    [
        "localhost:16686",
        "http://",
        "ftp://jaeger",
        "http://jaeger:0",
        "http://jaeger:x",
        "http://a:sesame@jaeger",
        "http://jaeger?token=sesame",
    ],
)
def test_an_address_that_cannot_be_used_is_said_and_never_shown(value):
    """What is no address, or holds a password or a query, is named by its setting; the default stands in."""
    settings, (problem,) = from_env({"FAILGRAPH_JAEGER_URL": value})
    assert settings == Settings()
    assert problem.startswith("FAILGRAPH_JAEGER_URL ")
    assert "sesame" not in problem


@pytest.mark.parametrize(
    "value",
    ["sesame", "=sesame", "a b=sesame", "a=sesame%0d%0aHost: x", "a=sesame\x7f", "a=s\u00e9same"],
)
def test_headers_that_cannot_be_sent_are_said_and_never_shown(value):
    """A header without a name, with a line break or beyond ASCII is left out; the problem holds nothing of its text."""
    settings, (problem,) = from_env({"FAILGRAPH_TEMPO_HEADERS": f"x=1,{value}"})
    assert settings.tempo_headers == (("x", "1"),)
    assert (
        problem
        == "FAILGRAPH_TEMPO_HEADERS: header 2 must be of the form name=value, percent-encoded"
    )
    assert "sesame" not in problem + repr(settings)


def test_the_headers_are_in_no_text_of_the_settings():
    """What is given as a header is a secret: `repr` of the settings does not hold it."""
    settings, _ = from_env(
        {"FAILGRAPH_TEMPO_HEADERS": "x=sesame", "FAILGRAPH_JAEGER_HEADERS": "x=sesame"}
    )
    assert "sesame" not in repr(settings)


@pytest.mark.parametrize("value", ["sk1a2b3c4d5e6f7g8h9i0j", "Tr0ub4dor3"])
def test_a_bad_value_that_may_be_a_key_is_not_shown(value):
    """Letters and digits of more than 8 characters may be a key that was set under the wrong name."""
    _, problems = from_env({"FAILGRAPH_LINKS": value})
    (problem,) = problems
    assert value not in problem
