"""The settings: the values that each takes, and the message about one that it does not."""

from __future__ import annotations

import logging
from dataclasses import fields

import pytest

from failgraph import FailureBoundary, settings
from failgraph.errors import ConfigError
from failgraph.instrumentation import startup
from failgraph.settings import Settings, checked, from_env, names, values
from failgraph.settings.effects import without_effect
from failgraph.settings.environment import _PARSERS
from failgraph.settings.names import NAMES
from failgraph.settings.values import one_of

CHOICES = {
    "FAILGRAPH_BOUNDARY": (
        "agent, collection, environment, harness, model, resources_server or sandbox"
    ),
    "FAILGRAPH_ENABLED": "true or false",
    "FAILGRAPH_AUTO_INSTRUMENT": "false or true",
    "FAILGRAPH_LOG_LEVEL": "warning, info or debug",
    "FAILGRAPH_CAPTURE": "failures or all",
    "FAILGRAPH_EVENTS": "span or failure_span",
    "FAILGRAPH_REDACT": "true, false or all",
}


def test_nothing_set_gives_the_documented_defaults():
    """Enabled unset, no boundary, events on the span, private peers, texts redacted."""
    assert from_env({}) == (Settings(), ())
    made = Settings()
    assert (made.enabled, made.auto_instrument, made.boundary) == (None, False, None)
    assert (made.log_level, made.capture, made.events) == ("warning", "failures", "span")
    assert (made.peers, made.peer_token, made.redact) == (("private",), None, "true")


@pytest.mark.parametrize(
    ("name", "value", "field", "expected"),
    [
        ("ENABLED", "true", "enabled", True),
        ("ENABLED", "false", "enabled", False),
        *[("BOUNDARY", boundary.value, "boundary", boundary) for boundary in FailureBoundary],
        *[("EVENTS", value, "events", value) for value in ("span", "failure_span")],
        *[("LOG_LEVEL", value, "log_level", value) for value in ("warning", "info", "debug")],
        ("AUTO_INSTRUMENT", "true", "auto_instrument", True),
        ("AUTO_INSTRUMENT", "false", "auto_instrument", False),
        *[("CAPTURE", value, "capture", value) for value in ("failures", "all")],
        ("PEERS", "private", "peers", ("private",)),
        ("PEERS", "None", "peers", ()),
        ("PEERS", "*", "peers", ("*",)),
        ("PEERS", " *.Example.com , 10.1.2.3/8,", "peers", ("*.example.com", "10.0.0.0/8")),
        ("PEER_TOKEN", "of ours", "peer_token", "of ours"),
        ("JOURNAL_MAX_BYTES", "65536", "journal_max_bytes", 65536),
        ("JOURNAL_MAX_BYTES", "1099511627776", "journal_max_bytes", 1 << 40),
        *[("REDACT", value, "redact", value) for value in ("true", "false", "all")],
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
        ("CAPTURE", "All", "capture", "all"),
        ("BOUNDARY", "", "boundary", None),
        ("ENABLED", "", "enabled", None),
        ("CAPTURE", "  ", "capture", "failures"),
    ],
)
def test_a_setting_takes_each_of_its_values(name, value, field, expected):
    """Choices in any case; an empty value counts as unset."""
    made, problems = from_env({f"FAILGRAPH_{name}": value})
    assert problems == ()
    assert getattr(made, field) == expected


@pytest.mark.parametrize("name", CHOICES)
def test_the_problem_of_a_choice_has_name_value_and_choices(name):
    """The default applies, except that a bad `FAILGRAPH_REDACT` leaves all texts out."""
    made = Settings(redact="all") if name == "FAILGRAPH_REDACT" else Settings()
    assert from_env({name: "Sometimes"}) == (
        made,
        (f"{name} must be {CHOICES[name]}, not 'Sometimes'",),
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [("JOURNAL_MAX_BYTES", value) for value in ("65535", "1099511627777", "-1", "many", "٣٠٠٠")]
    + [("PEERS", value) for value in ("10.0.0.0/33", "none,none", ",")],
)
def test_the_problem_of_a_number_or_a_peer_has_name_and_value(name, value):
    """The default applies to a number; peers that cannot be read are nobody."""
    made, problems = from_env({f"FAILGRAPH_{name}": value})
    for problem in problems:
        assert problem.startswith(f"FAILGRAPH_{name}")
        assert ascii(value.partition(",")[0] or value) in problem
    assert made == (Settings(peers=()) if name == "PEERS" else Settings())


def test_the_good_entries_of_a_list_of_peers_apply():
    """A bad one admits nobody; `none` stands alone. The problem of the bad one gives its number."""
    made, problems = from_env({"FAILGRAPH_PEERS": "judge, 10.0.0.0/33, none"})
    assert made.peers == ("judge",)
    must_be = "must be a host pattern or a network such as 10.0.0.0/8, not"
    assert problems == (
        f"FAILGRAPH_PEERS: entry 2 {must_be} '10.0.0.0/33'",
        "FAILGRAPH_PEERS: 'none' cannot be combined with other entries",
    )


@pytest.mark.parametrize("name", ["ENABLED", "AUTO_INSTRUMENT", "REDACT"])
@pytest.mark.parametrize("true", [True, False])
def test_a_switch_has_other_spellings(name, true):
    """`1 yes on 0 no off`, in any case. The start-up file takes the same."""
    for text in startup.TRUE if true else startup.FALSE:
        for spelling in (text, text.upper()):
            made, problems = from_env({f"FAILGRAPH_{name}": spelling})
            assert problems == ()
            value = getattr(made, name.lower())
            assert value == (str(true).lower() if name == "REDACT" else true)


@pytest.mark.parametrize("name", ["LOG_LEVEL", "EVENTS", "CAPTURE"])
def test_other_choices_are_no_switches(name):
    """A problem shows what was written, not what it would stand for."""
    _, (problem,) = from_env({f"FAILGRAPH_{name}": "off"})
    assert problem.endswith(", not 'off'")


@pytest.mark.parametrize(
    ("enabled", "auto", "expected"),
    [
        ("", "true", True),
        ("  ", "on", True),
        ("false", "true", False),
        ("0", "yes", False),
        ("true", "false", True),
        ("", "false", None),
        ("", "maybe", None),
        ("maybe", "true", None),
    ],
)
def test_auto_instrument_enables(enabled, auto, expected):
    """Alone it is enough; `FAILGRAPH_ENABLED` wins, also with a value that cannot be read."""
    environ = {"FAILGRAPH_ENABLED": enabled, "FAILGRAPH_AUTO_INSTRUMENT": auto}
    assert from_env(environ).settings.enabled is expected


@pytest.mark.parametrize(
    ("name", "value", "meant", "made"),
    [
        ("PLACEMENT", "failure_span", "set FAILGRAPH_EVENTS instead", Settings()),
        ("REPLY", "never", "set FAILGRAPH_PEERS instead", Settings(peers=())),
        ("REASON", "off", "set FAILGRAPH_REDACT=all instead", Settings(redact="all")),
        ("REASON", "", "set FAILGRAPH_REDACT=all instead", Settings()),
        ("LINKS", "all", "unset it; causes in other traces are always linked", Settings()),
        ("HEADER_BYTES", "512", "unset it; reports take at most 3072 bytes", Settings()),
    ],
)
def test_a_former_name_is_unknown_and_names_the_new_one(name, value, meant, made):
    """It has no effect, except that one about privacy means the private side until it is gone."""
    settings, (problem,) = from_env({f"FAILGRAPH_{name}": value})
    assert problem.startswith(f"unknown setting FAILGRAPH_{name} (")
    assert meant in problem
    assert settings == made


def test_every_setting_is_complete():
    """It has a constant, a place in the list, a parser and a field; choices, if it takes some."""
    constants = {value for key, value in vars(names).items() if key != "PREFIX" and is_name(value)}
    made = {f"FAILGRAPH_{each.name.upper()}" for each in fields(Settings)}
    assert set(NAMES) == set(_PARSERS) == constants == made - {"FAILGRAPH_REDACT_FAULT"}
    assert len(NAMES) == len(set(NAMES))
    of_choice = (values.parse_choice, values.parse_switch, values.parse_boundary)
    assert {name for name in NAMES if _PARSERS[name] in of_choice} == set(CHOICES)


def is_name(value: object) -> bool:
    return isinstance(value, str) and value.startswith("FAILGRAPH_")


def test_every_choice_is_tested_here():
    """A setting with new choices has to be added to these tests."""
    assert {name: one_of(values) for name, values in settings.CHOICES.items()} == CHOICES


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("FAILGRAPH_EVENT", "FAILGRAPH_EVENTS"),
        ("FAILGRAPH_BOUNDRY", "FAILGRAPH_BOUNDARY"),
        ("FAILGRAPH_ENABLE", "FAILGRAPH_ENABLED"),
        ("FAILGRAPH_PEER", "FAILGRAPH_PEERS"),
        ("FAILGRAPH_events", "FAILGRAPH_EVENTS"),
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
        'unknown setting FAILGRAPH_QQQQQQ (run "failgraph doctor -v" to list all settings)'
    )


def test_variables_without_the_prefix_are_ignored():
    """Even if the prefix is a part of their name."""
    assert from_env({"OTEL_FAILGRAPH_EVENTS": "x", "FAILGRAPHEVENTS": "x", "PATH": "x"}) == (
        Settings(),
        (),
    )


def test_all_problems_are_reported_at_once_and_good_settings_apply():
    """In the order of the names, also by the `ConfigError` of a command."""
    environ = {
        "FAILGRAPH_EVENTS": "failure_span",
        "FAILGRAPH_CAPTURE": "never",
        "FAILGRAPH_BOUNDARY": "judge",
        "FAILGRAPH_CAPTUR": "all",
    }
    expected = [
        f"FAILGRAPH_BOUNDARY must be {CHOICES['FAILGRAPH_BOUNDARY']}, not 'judge'",
        "unknown setting FAILGRAPH_CAPTUR (did you mean FAILGRAPH_CAPTURE?)",
        "FAILGRAPH_CAPTURE must be failures or all, not 'never'",
    ]
    made, problems = from_env(environ)
    assert list(problems) == expected
    assert made == Settings(events="failure_span")
    with pytest.raises(ConfigError) as caught:
        checked(environ)
    assert caught.value.problems == expected
    assert str(caught.value) == "; ".join(expected)


def test_checked_returns_settings_without_a_problem():
    """As `from_env` does."""
    assert checked({"FAILGRAPH_ENABLED": "false", "FAILGRAPH_CAPTURE": "all"}) == Settings(
        enabled=False, capture="all"
    )


@pytest.mark.parametrize("text", ["\x1b[31m", "a\nb", "\u202e", "\udc80", "x" * 10_000])
def test_a_problem_is_one_short_plain_line(text):
    """No name and no value brings a control character, a line break or great length into it."""
    _, problems = from_env({"FAILGRAPH_CAPTURE": text, f"FAILGRAPH_{text}": "x"})
    assert len(problems) == 2
    for problem in problems:
        assert problem.isascii()
        assert problem.isprintable()
        assert len(problem) < 500


def test_a_backslash_in_a_value_is_shown_once():
    """A value is shown as Python would write it: escaped once."""
    (problem,) = from_env({"FAILGRAPH_CAPTURE": "\x1b"}).problems
    assert problem.endswith(", not '\\x1b'")


def test_settings_are_read_once(setting, monkeypatch):
    """At the first call: a later change of the environment has no effect."""
    setting("EVENTS", "failure_span")
    first = settings.current()
    monkeypatch.setenv("FAILGRAPH_EVENTS", "span")
    assert settings.current() is first
    assert first.events == "failure_span"


def test_bad_settings_never_stop_a_program(setting, caplog):
    """Problems are logged once, in one line, and the defaults apply."""
    setting("CAPTURE", "never")
    setting("BOUNDRY", "agent")
    with caplog.at_level(logging.WARNING, logger="failgraph"):
        assert settings.current() == Settings()
        settings.current()
    (record,) = caplog.records
    message = record.getMessage()
    assert "FAILGRAPH_CAPTURE must be failures or all, not 'never'" in message
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
        == "FAILGRAPH_TEMPO_HEADERS: header 2 must be of the form name=value, percent-encoded,"
        " such as authorization=Bearer%20TOKEN"
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
    _, problems = from_env({"FAILGRAPH_CAPTURE": value})
    (problem,) = problems
    assert value not in problem


# --- settings without effect


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"PEERS": "private"},
        {"PEERS": "*"},
        {"PEERS": "judge.example, 10.0.0.0/8"},
        {"PEERS": "judge.example, 10.1.*"},
        {"PEERS": "judge.example, fd00::[1-4]"},
        {"PEERS": "judge.example", "PEER_TOKEN": "of ours"},
        {"CAPTURE": "all", "BOUNDARY": "agent"},
        {"REDACT": "all", "REDACT_WITH": "os:fspath"},
        {"AUTO_INSTRUMENT": "yes"},
    ],
    ids=str,
)
def test_settings_with_an_effect(environ):
    """Only a default may have none: the size of a journal that is not written."""
    settings, problems = from_env({f"FAILGRAPH_{name}": text for name, text in environ.items()})
    assert problems == ()
    assert set(without_effect(settings)) == {"FAILGRAPH_JOURNAL_MAX_BYTES"}


def test_what_has_no_effect_is_a_setting():
    """With failgraph off, that is all of recording, and nothing that the commands read."""
    reasons = without_effect(Settings(enabled=False, peers=(), redact="false"))
    assert set(reasons) < set(NAMES)
    assert not any(name.endswith(("_URL", "_HEADERS", "_LEVEL", "ENABLED")) for name in reasons)
