"""The settings: the values that each takes, and the message about one that it does not."""

from __future__ import annotations

import logging

import pytest

from failgraph import FailureBoundary, settings
from failgraph.errors import ConfigError
from failgraph.settings import Settings, checked, from_env
from failgraph.settings.values import one_of

CHOICES = {
    "FAILGRAPH_BOUNDARY": (
        "agent, collection, environment, harness, model, resources_server or sandbox"
    ),
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
    """Enabled unset, no boundary, links into other traces, events on the span, texts redacted."""
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
def test_a_setting_takes_each_of_its_values(name, value, field, expected):
    """Choices in any case; an empty value counts as unset."""
    made, problems = from_env({f"FAILGRAPH_{name}": value})
    assert problems == ()
    assert getattr(made, field) == expected


@pytest.mark.parametrize("name", CHOICES)
def test_the_problem_of_a_choice_has_name_value_and_choices(name):
    """The default applies, except that a bad `FAILGRAPH_REASON` leaves reasons out."""
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
def test_the_problem_of_a_number_or_network_has_name_and_value(name, value):
    """And the default applies."""
    made, (problem,) = from_env({f"FAILGRAPH_{name}": value})
    assert f"FAILGRAPH_{name}" in problem
    assert ascii(value) in problem
    assert made == Settings()


def test_every_choice_is_tested_here():
    """A setting with new choices has to be added to these tests."""
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
def test_an_unknown_name_gets_a_suggestion(name, meant):
    """The setting that was probably meant."""
    problem = f"unknown setting {name} (did you mean {meant}?)"
    assert from_env({name: "all"}) == (Settings(), (problem,))


def test_a_name_like_no_setting_gets_the_command_that_lists_them():
    """Its value is not shown: it may be a secret."""
    (problem,) = from_env({"FAILGRAPH_QQQQQQ": "s3cret"}).problems
    assert problem == (
        'unknown setting FAILGRAPH_QQQQQQ (run "failgraph doctor" to list all settings)'
    )


def test_variables_without_the_prefix_are_ignored():
    """Even if the prefix is a part of their name."""
    assert from_env({"OTEL_FAILGRAPH_LINKS": "x", "FAILGRAPHLINKS": "x", "PATH": "x"}) == (
        Settings(),
        (),
    )


def test_all_problems_are_reported_at_once_and_good_settings_apply():
    """In the order of the names, also by the `ConfigError` of a command."""
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


def test_checked_returns_settings_without_a_problem():
    """As `from_env` does."""
    assert checked({"FAILGRAPH_ENABLED": "false", "FAILGRAPH_LINKS": "off"}) == Settings(
        enabled=False, links="off"
    )


@pytest.mark.parametrize("text", ["\x1b[31m", "a\nb", "\u202e", "\udc80", "x" * 10_000])
def test_a_problem_is_one_short_plain_line(text):
    """No name and no value brings a control character, a line break or great length into it."""
    _, problems = from_env({"FAILGRAPH_LINKS": text, f"FAILGRAPH_{text}": "x"})
    assert len(problems) == 2
    for problem in problems:
        assert problem.isascii()
        assert problem.isprintable()
        assert len(problem) < 500


def test_a_backslash_in_a_value_is_shown_once():
    """A value is shown as Python would write it: escaped once."""
    (problem,) = from_env({"FAILGRAPH_LINKS": "\x1b"}).problems
    assert problem.endswith(", not '\\x1b'")


def test_settings_are_read_once(setting, monkeypatch):
    """At the first call: a later change of the environment has no effect."""
    setting("LINKS", "off")
    first = settings.current()
    monkeypatch.setenv("FAILGRAPH_LINKS", "all")
    assert settings.current() is first
    assert first.links == "off"


def test_bad_settings_never_stop_a_program(setting, caplog):
    """Problems are logged once, in one line, and the defaults apply."""
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
def test_the_problem_of_a_url_never_shows_it(value):
    """It may hold a password or a token in its query. The default applies."""
    settings, (problem,) = from_env({"FAILGRAPH_JAEGER_URL": value})
    assert settings == Settings()
    assert problem.startswith("FAILGRAPH_JAEGER_URL ")
    assert "sesame" not in problem


@pytest.mark.parametrize(
    "value",
    ["sesame", "=sesame", "a b=sesame", "a=sesame%0d%0aHost: x", "a=sesame\x7f", "a=s\u00e9same"],
)
def test_the_problem_of_a_header_never_shows_it(value):
    """Without a name, with a line break or beyond ASCII; the other headers apply."""
    settings, (problem,) = from_env({"FAILGRAPH_TEMPO_HEADERS": f"x=1,{value}"})
    assert settings.tempo_headers == (("x", "1"),)
    assert (
        problem
        == "FAILGRAPH_TEMPO_HEADERS: header 2 must be of the form name=value, percent-encoded"
    )
    assert "sesame" not in problem + repr(settings)


def test_the_repr_of_the_settings_shows_no_secret():
    """Neither a header nor the peer token."""
    settings, _ = from_env(
        {
            "FAILGRAPH_TEMPO_HEADERS": "x=sesame",
            "FAILGRAPH_JAEGER_HEADERS": "x=sesame",
            "FAILGRAPH_PEER_TOKEN": "sesame",
        }
    )
    assert "sesame" not in repr(settings)


@pytest.mark.parametrize("value", ["sk1a2b3c4d5e6f7g8h9i0j", "Tr0ub4dor3"])
def test_a_bad_value_that_may_be_a_key_is_not_shown(value):
    """More than 8 letters and digits may be a key that was set under the wrong name."""
    _, problems = from_env({"FAILGRAPH_LINKS": value})
    (problem,) = problems
    assert value not in problem
