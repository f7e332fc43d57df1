"""`doctor`: settings, attachment, endpoint, journal, and what is lost on the way to a backend."""

from __future__ import annotations

import io
import json
import os
import re
import site
import subprocess
import sys
import sysconfig

import pytest

from failgraph import FailureReport
from failgraph.cli import main
from failgraph.doctor import TraceSource, run_checks
from failgraph.doctor.difference import report_differences
from failgraph.doctor.sample_graph import record_sample_graph
from failgraph.errors import SourceError
from failgraph.otlp import endpoint_from_env
from failgraph.readers import Reading
from failgraph.readers.reading import read_files
from failgraph.readers.source import SourceFile
from failgraph.settings import current
from failgraph.settings.names import NAMES
from otlp_server import Receiver

SECRETS = {
    "FAILGRAPH_PEER_TOKEN": "sesame-token",
    "FAILGRAPH_JAEGER_HEADERS": "authorization=sesame",
    "FAILGRAPH_TEMPO_HEADERS": "x=sesame",
    "FAILGRAPH_REDACT_PATTERNS": "sesame",
}


@pytest.fixture
def environ(monkeypatch):
    """Return a function that sets variables of this process and returns its environment."""
    for name in [name for name in os.environ if name.startswith(("OTEL_", "FAILGRAPH_"))]:
        monkeypatch.delenv(name)
    # Tests must not send to a real endpoint at the default address.
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")

    def setting(**values):
        for name, value in values.items():
            monkeypatch.setenv(name, value)
        current.cache_clear()
        return dict(os.environ)

    yield setting
    monkeypatch.undo()
    current.cache_clear()


def sends_to(receiver, **more):
    return {
        "OTEL_EXPORTER_OTLP_ENDPOINT": receiver.endpoint,
        "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
        **more,
    }


def arrived(receiver):
    """Return a function that reads what a receiver got."""
    return lambda _: read_files([SourceFile("it", io.BytesIO(receiver.text()))])


def texts_of(results, part, state):
    return [check.text for check in results if (check.part, check.state) == (part, state)]


def test_a_complete_round_trip_has_no_problem(environ):
    """If the backend returns what was sent, nothing is lost, in this process or on the way."""
    with Receiver() as receiver:
        seen = list(run_checks(environ(**sends_to(receiver)), TraceSource("it", arrived(receiver))))
    assert [check for check in seen if check.state == "problem"] == []
    assert texts_of(seen, "round trip", "ok")[-1] == "nothing was lost between the exporter and it"


def test_the_sample_graph_has_every_field():
    """Every field of a failure, its details and its foreign error is set somewhere in the graph."""
    report = record_sample_graph().report
    dumped = [event.model_dump(mode="json") for event in report.events.values()]
    assert {key for event in dumped for key in event} == set(
        type(next(iter(report.events.values()))).model_fields
    )
    for event in report.events.values():
        for part in (event.details, event.foreign_error):
            assert part is None or set(part.model_dump()) == set(type(part).model_fields)
    assert [event.boundary.value for event in report.events.values()] == [
        "model",
        "sandbox",
        "agent",
    ]
    assert any(len(event.failure_reason.encode()) > 2048 for event in report.events.values())


FIELDS = [
    (key, name, path)
    for key, event in enumerate(record_sample_graph().report.events.values())
    for name, value in event.model_dump(mode="json").items()
    if name not in ("event_id", "boundary", "cause_id")
    for path in (value if isinstance(value, dict) else [None])
]


@pytest.mark.parametrize(("number", "name", "path"), FIELDS)
def test_each_changed_field_is_reported_alone(number, name, path):
    """A field that changed or is missing gives one line, with its name and its failure."""
    here = record_sample_graph().report
    documents = here.model_dump(mode="json")
    event = list(documents["events"].values())[number]
    holder, key = (event, name) if path is None else (event[name], path)
    before = holder[key]
    holder[key] = (
        {"agent": "seed", "": "x"}.get(before, before[:-1])
        if isinstance(before, str)
        else not before
    )
    if key == "http_status":
        holder[key] = 500
    (line,) = report_differences(here, FailureReport.model_validate(documents))
    assert line.startswith(f"{name if path is None else f'{name}.{path}'} of {event['boundary']} ")


def test_cut_texts_are_reported_with_their_sizes(environ):
    """A text that the backend cut is reported with the field and both sizes."""

    def cut(_):
        reading = arrived(receiver)(_)
        (trace,) = reading.traces
        events = dict(trace.report.events)
        key, model = next(iter(events.items()))
        events[key] = model.model_copy(update={"failure_reason": model.failure_reason[:1000]})
        object.__setattr__(
            trace, "report", FailureReport(events=events, failure_id=trace.report.failure_id)
        )
        return reading

    with Receiver() as receiver, pytest.MonkeyPatch.context() as patched:
        patched.setattr("failgraph.doctor.round_trip.READ_BACK_S", 0)
        seen = list(run_checks(environ(**sends_to(receiver)), TraceSource("it", cut)))
    (text,) = texts_of(seen, "round trip", "problem")
    assert text.startswith(
        "lost between the exporter and it: failure_reason of model provider_unavailable: "
    )
    assert re.search(r": 2\d{3} bytes before, 1\d{3} after$", text)


def test_losses_by_limits_of_the_sdk_are_separate_from_losses_on_the_way(environ):
    """What the SDK's limits drop is reported as lost in this process, and only there."""
    with Receiver() as receiver:
        limited = environ(**sends_to(receiver, OTEL_EVENT_ATTRIBUTE_COUNT_LIMIT="6"))
        seen = list(run_checks(limited, TraceSource("it", arrived(receiver))))
    problems = texts_of(seen, "round trip", "problem")
    assert problems
    assert all(
        text.startswith("lost in this process, between `record` and the exporter: ")
        for text in problems
    )
    assert any(
        text.startswith("OTEL_EVENT_ATTRIBUTE_COUNT_LIMIT=6: ")
        for text in texts_of(seen, "settings", "note")
    )


def test_a_trace_that_does_not_arrive_is_a_problem(environ, monkeypatch):
    """It is a problem if the trace does not arrive, or if the backend cannot be read."""
    monkeypatch.setattr("failgraph.doctor.round_trip.READ_BACK_S", 0)

    def down(_):
        raise SourceError("it is down")

    with Receiver() as receiver:
        here = environ(**sends_to(receiver))
        nothing = texts_of(
            run_checks(here, TraceSource("it", lambda _: Reading([], {}, {}, ()))),
            "round trip",
            "problem",
        )
        assert nothing[0].startswith("it did not have the trace within ")
        assert texts_of(run_checks(here, TraceSource("it", down)), "round trip", "problem") == [
            "it is down"
        ]


def test_a_refused_export_shows_the_reason_of_the_exporter(environ):
    """If the Collector answers 400, the exporter's log line is in the result and not printed."""
    with Receiver(status=400) as receiver:
        (text,) = texts_of(run_checks(environ(**sends_to(receiver))), "round trip", "problem")
    assert text.startswith("cannot export to 127.0.0.1:")
    assert "400" in text


@pytest.mark.slow
def test_an_endpoint_that_does_not_speak_grpc_is_a_problem_with_its_fix(environ):
    """A gRPC exporter that reaches an HTTP server names the variable to set, not grpcio's text."""
    with Receiver() as receiver:
        here = environ(OTEL_EXPORTER_OTLP_ENDPOINT=receiver.endpoint)
        problems = texts_of(run_checks(here), "round trip", "problem")
    address = receiver.endpoint.removeprefix("http://")
    fix = "it does not speak gRPC. Set OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf."
    assert problems == [f"cannot export to {address}: {fix}"]


def test_nothing_is_sent_to_a_closed_port(environ):
    """A closed port is a problem of the endpoint, and no exporter waits for it."""
    here = environ(OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:1")
    seen = list(run_checks(here))
    assert texts_of(seen, "endpoint", "problem")[0].startswith(
        "cannot connect to 127.0.0.1:1 (grpc, from OTEL_EXPORTER_OTLP_ENDPOINT)."
    )
    assert "round trip" not in {check.part for check in seen}


def test_a_missing_protocol_for_http_is_a_problem(environ, monkeypatch):
    """Port 4318 without a protocol works here, but opentelemetry-instrument sends gRPC."""
    monkeypatch.setattr(
        "failgraph.doctor.is_listening", lambda _: False
    )  # tests must not send to a real endpoint
    here = environ(OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:4318")
    assert any(
        "sends gRPC unless a protocol is set" in text
        for text in texts_of(run_checks(here), "endpoint", "problem")
    )
    named = texts_of(
        run_checks({**here, "OTEL_TRACES_EXPORTER": "otlp_proto_http"}),
        "endpoint",
        "problem",
    )
    assert not any("sends gRPC" in text for text in named)


def test_switched_off_is_a_problem(environ):
    """FAILGRAPH_ENABLED=false is a problem of the attachment and of the round trip."""
    with Receiver() as receiver:
        seen = list(run_checks(environ(**sends_to(receiver, FAILGRAPH_ENABLED="false"))))
    assert texts_of(seen, "attachment", "problem") == [
        "FAILGRAPH_ENABLED=false: failgraph is off, nothing is recorded"
    ]
    assert texts_of(seen, "round trip", "problem") == [
        "nothing was recorded: see the settings above"
    ]


@pytest.mark.parametrize("names", ["failgraph", "requests , failgraph", "*"])
def test_exclusion_by_opentelemetry_is_a_problem(environ, names):
    """Excluding failgraph in opentelemetry-instrument is a problem unless it is enabled itself."""
    here = environ(OTEL_PYTHON_DISABLED_INSTRUMENTATIONS=names)
    (text,) = texts_of(run_checks(here), "attachment", "problem")
    assert "OTEL_PYTHON_DISABLED_INSTRUMENTATIONS excludes failgraph" in text
    assert (
        texts_of(run_checks({**here, "FAILGRAPH_ENABLED": "true"}), "attachment", "problem") == []
    )


def test_auto_instrumentation_that_is_not_installed_is_a_problem(environ, monkeypatch):
    """Without OpenTelemetry's instrumentation nothing makes spans, so it is a problem, once."""
    pytest.importorskip("opentelemetry.instrumentation.auto_instrumentation")
    here = environ(FAILGRAPH_ENABLED="true", FAILGRAPH_AUTO_INSTRUMENT="true")
    assert texts_of(run_checks(here), "attachment", "problem") == []
    monkeypatch.setattr("failgraph.doctor.attachment._AUTO_INSTRUMENTATION", "no_such.module")
    (text,) = texts_of(run_checks(here), "attachment", "problem")
    assert text == (
        "FAILGRAPH_AUTO_INSTRUMENT=true has no effect: OpenTelemetry's instrumentation is not"
        ' installed. Run pip install "failgraph[auto]".'
    )


def test_the_start_up_file_counts_only_where_python_looks(monkeypatch, tmp_path):
    """The user's site-packages count only if Python reads them; virtual environments rarely do."""
    from failgraph.doctor.attachment import _check_start_up_file

    (tmp_path / "failgraph.pth").touch()
    monkeypatch.setattr(sysconfig, "get_path", lambda _: "/none")
    monkeypatch.setattr(site, "getsitepackages", list)
    monkeypatch.setattr(site, "getusersitepackages", lambda: str(tmp_path))
    monkeypatch.setattr(site, "ENABLE_USER_SITE", True)
    assert _check_start_up_file().state == "ok"
    monkeypatch.setattr(site, "ENABLE_USER_SITE", False)
    assert _check_start_up_file().state == "problem"


def test_every_setting_is_shown_without_secrets(environ):
    """Each setting is shown with its value and source, secrets without the value."""
    here = environ(FAILGRAPH_LOG_LEVEL="info", **SECRETS)
    texts = texts_of(run_checks(here), "settings", "ok")
    assert [text.split("=")[0] for text in texts] == list(NAMES)
    assert "FAILGRAPH_LOG_LEVEL=info (from the environment)" in texts
    assert "FAILGRAPH_REDACT=true (default)" in texts
    assert {f"{name}=set, not shown (from the environment)" for name in SECRETS} <= set(texts)
    assert "sesame" not in repr(list(run_checks(here)))


def test_a_default_is_shown(environ):
    """A default is public, so that no part of it is hidden as a secret."""
    texts = texts_of(run_checks(environ()), "settings", "ok")
    assert "FAILGRAPH_PEERS=private (default)" in texts
    assert not [text for text in texts if "redacted" in text]


@pytest.mark.parametrize(
    ("variables", "name", "reason"),
    [
        (
            {"FAILGRAPH_JOURNAL_MAX_BYTES": "65536"},
            "JOURNAL_MAX_BYTES",
            "without FAILGRAPH_JOURNAL",
        ),
        (
            {"FAILGRAPH_REDACT": "false", "FAILGRAPH_REDACT_PATTERNS": "sesame"},
            "REDACT_PATTERNS",
            "while FAILGRAPH_REDACT=false",
        ),
        (
            {"FAILGRAPH_REDACT": "false", "FAILGRAPH_REDACT_WITH": "os:fspath"},
            "REDACT_WITH",
            "while FAILGRAPH_REDACT=false",
        ),
        (
            {"FAILGRAPH_ENABLED": "false", "FAILGRAPH_AUTO_INSTRUMENT": "true"},
            "AUTO_INSTRUMENT",
            "while FAILGRAPH_ENABLED=false",
        ),
        (
            {"FAILGRAPH_PEERS": "none", "FAILGRAPH_PEER_TOKEN": "sesame"},
            "PEER_TOKEN",
            "while FAILGRAPH_PEERS=none",
        ),
        (
            {"FAILGRAPH_PEERS": "*.judge.example"},
            "PEERS",
            (
                "on clients, which are known by their address only:"
                " add a network, or set FAILGRAPH_PEER_TOKEN"
            ),
        ),
        (
            {"FAILGRAPH_CAPTURE": "all"},
            "CAPTURE",
            "without FAILGRAPH_BOUNDARY, except in servers of NeMo Gym",
        ),
        (
            {"FAILGRAPH_ENABLED": "0", "FAILGRAPH_EVENTS": "failure_span"},
            "EVENTS",
            "while FAILGRAPH_ENABLED=false",
        ),
        (
            {"FAILGRAPH_TEMPO_URL": "http://there", "FAILGRAPH_TEMPO_HEADERS": "x=sesame"},
            "TEMPO_HEADERS",
            "while FAILGRAPH_TEMPO_URL is on another machine and not https",
        ),
        (
            {"FAILGRAPH_ENABLED": "false", "FAILGRAPH_CAPTURE": "failures"},
            "CAPTURE",
            "while FAILGRAPH_ENABLED=false",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_setting_without_effect_is_a_note(environ, variables, name, reason):
    """A setting that is set and has no effect is named with the reason, in place of an `ok`."""
    seen = list(run_checks(environ(**variables)))
    (check,) = (each for each in seen if each.text.startswith(f"FAILGRAPH_{name}="))
    assert check.state == "note"
    assert check.text.endswith(f" (from the environment) has no effect {reason}")


def test_a_setting_that_is_not_set_has_nothing_to_have_an_effect(environ):
    """A default is never called without effect, whatever the other settings say."""
    here = environ(FAILGRAPH_ENABLED="false", FAILGRAPH_REDACT="false")
    assert not any("no effect" in check.text for check in run_checks(here))


@pytest.mark.parametrize(
    ("name", "value", "state"),
    [
        ("OTEL_SDK_DISABLED", "true", "problem"),
        ("OTEL_TRACES_EXPORTER", "none", "problem"),
        ("OTEL_TRACES_SAMPLER", "always_off", "problem"),
        ("OTEL_TRACES_SAMPLER", " ALWAYS_OFF ", "problem"),
        ("OTEL_TRACES_SAMPLER", "jaeger_remote", "note"),
        ("OTEL_TRACES_EXPORTER", "console,zipkin", "note"),
        ("OTEL_CONFIG_FILE", "/none.yaml", "problem"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "sesame", "problem"),
        ("FAILGRAPH_CAPTURE", "sideways", "problem"),
        ("FAILGRAPH_REDACT_WITH", "no function", "problem"),
        ("FAILGRAPH_REDACT_WITH", "no_such_module:function", "problem"),
    ],
)
def test_a_setting_that_loses_failures_is_reported(environ, name, value, state):
    """A value that loses failures or is invalid gives a result that starts with its variable."""
    assert any(
        text.startswith(name)
        for text in texts_of(run_checks(environ(**{name: value})), "settings", state)
    )


@pytest.mark.parametrize(
    ("sampler", "argument", "states"),
    [
        ("Always_On", "", set()),
        ("parentbased_always_on", "", set()),
        ("traceidratio", "", set()),
        ("traceidratio", "1.0", set()),
        ("traceidratio", "many", set()),
        ("parentbased_traceidratio", "0.5", {"note"}),
        ("parentbased_traceidratio", "0", {"problem"}),
    ],
)
def test_a_sampler_that_drops_traces_is_reported(environ, sampler, argument, states):
    """A sampler that keeps no trace is a problem, one that drops some a note, in any spelling."""
    here = environ(OTEL_TRACES_SAMPLER=sampler, OTEL_TRACES_SAMPLER_ARG=argument)
    results = [check for check in run_checks(here) if check.text.startswith("OTEL_TRACES_SAMPLER=")]
    assert {check.state for check in results} == states


def test_a_configuration_file_is_not_checked(environ, tmp_path):
    """A note says that the sampler, limits and exporters of the file are not checked."""
    (tmp_path / "otel.yaml").touch()
    (text,) = texts_of(
        run_checks(environ(OTEL_CONFIG_FILE=str(tmp_path / "otel.yaml"))),
        "settings",
        "note",
    )
    assert "exporters are not checked" in text


@pytest.mark.parametrize("host", ["a..b", "a" * 64, "xn--zz"])
def test_an_invalid_host_name_is_a_problem(environ, host):
    """It is reported as a closed port is, although Python raises UnicodeError, not OSError."""
    seen = list(run_checks(environ(OTEL_EXPORTER_OTLP_ENDPOINT=f"http://{host}:4317")))
    assert texts_of(seen, "endpoint", "problem")[0].startswith("cannot connect to ")


@pytest.mark.parametrize(
    ("endpoint", "protocol", "address"),
    [
        ("http://there", "grpc", "there:443"),
        ("there", "grpc", "there:443"),
        ("http://there", "http/protobuf", "there:80"),
        ("https://there", "http/protobuf", "there:443"),
        ("", "grpc", "localhost:4317"),
        ("", "http/protobuf", "localhost:4318"),
    ],
)
def test_the_default_port_is_that_of_the_exporter(endpoint, protocol, address):
    """Without a port, gRPC uses 443, and HTTP the port of the scheme."""
    environ = {"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_EXPORTER_OTLP_PROTOCOL": protocol}
    assert endpoint_from_env(environ).address == address


def test_an_empty_file_is_read_again(environ, tmp_path):
    """A Collector writes its file a moment after it has answered; until then the file is empty."""
    from failgraph.cli.doctor import _TraceReader

    file = tmp_path / "traces.bin"
    file.touch()
    with Receiver() as receiver:

        def later(trace_id):
            reading = reader.read(trace_id)
            file.write_bytes(receiver.text())
            return reading

        reader = _TraceReader(str(file))
        seen = list(run_checks(environ(**sends_to(receiver)), TraceSource(reader.name, later)))
    assert texts_of(seen, "round trip", "problem") == []
    assert (
        texts_of(seen, "round trip", "ok")[-1]
        == f"nothing was lost between the exporter and {file}"
    )


def test_the_name_of_a_source_is_safe_to_show():
    """The name has no query, which may be a token, and no control characters."""
    from failgraph.cli.doctor import _TraceReader

    assert (
        _TraceReader("http://127.0.0.1:1/jaeger?token=sesame#sesame").name
        == "http://127.0.0.1:1/jaeger"
    )
    assert _TraceReader("./\x1b[31mfile").name == "./\\x1b[31mfile"


def test_a_limit_that_is_not_a_number_is_a_problem(environ):
    """The SDK's error is the problem: it makes no provider, here as in the program."""
    with Receiver() as receiver:
        here = environ(**sends_to(receiver, OTEL_SPAN_EVENT_COUNT_LIMIT="many"))
        (text,) = texts_of(run_checks(here), "round trip", "problem")
    assert text.startswith("cannot start OpenTelemetry's SDK: ")


def test_invalid_headers_are_not_shown(environ, caplog):
    """OpenTelemetry logs such a header; doctor does not print it."""
    with Receiver() as receiver:
        here = environ(**sends_to(receiver, OTEL_EXPORTER_OTLP_HEADERS="authorization:sesame"))
        seen = list(run_checks(here))
    assert texts_of(seen, "settings", "problem")[0].startswith(
        "OTEL_EXPORTER_OTLP_HEADERS: header 1 must be of the form"
    )
    assert "sesame" not in repr(seen) + caplog.text


def test_installed_packages_are_hooked_only_for_the_check(environ):
    """Each hooked package is shown with its version, and afterwards its hooks are gone."""
    from opentelemetry.sdk.trace import TracerProvider

    before = TracerProvider.__init__
    texts = texts_of(run_checks(environ()), "attachment", "ok")
    assert any(text.startswith("opentelemetry-sdk ") for text in texts)
    assert TracerProvider.__init__ is before


def test_a_value_in_place_of_an_invalid_one_is_called_so(environ):
    """The value that applies did not come from the environment, and the problem is named once."""
    seen = list(run_checks(environ(FAILGRAPH_CAPTURE="sideways")))
    texts = [check.text for check in seen if check.text.startswith("FAILGRAPH_CAPTURE")]
    assert texts == [
        "FAILGRAPH_CAPTURE must be failures or all, not 'sideways'",
        "FAILGRAPH_CAPTURE=failures (in place of an invalid value)",
    ]


def test_brief_results_leave_out_defaults(environ):
    """Without -v there are problems, notes, settings that differ from the default, and no others.

    A setting that is set to its default differs from nothing.
    """
    with Receiver() as receiver:
        here = environ(
            **sends_to(receiver),
            FAILGRAPH_CAPTURE="failures",
            FAILGRAPH_JAEGER_URL="http://127.0.0.1:1",
        )
        texts = [check.text for check in run_checks(here) if check.is_brief]
    endpoint = receiver.endpoint.removeprefix("http://")
    assert texts == [
        "FAILGRAPH_JAEGER_URL=http://127.0.0.1:1 (from the environment)",
        f"{endpoint} (http/protobuf, from OTEL_EXPORTER_OTLP_ENDPOINT) accepts connections",
        "not read back: no SOURCE was given",
    ]


def run_command(*arguments, **variables):
    """Run `failgraph doctor` with the variables in addition to those of this process."""
    return subprocess.run(
        [sys.executable, "-m", "failgraph", "doctor", *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, **variables},
    )


NAME_A_BACKEND = "To see that failures arrive, name the backend, such as: failgraph doctor jaeger"


@pytest.mark.parametrize(
    ("variables", "arguments", "last"),
    [
        ({}, (), f"no problems. {NAME_A_BACKEND}"),
        (
            {},
            ("{file}",),
            "no problems. {arrive} Start your program with: failgraph run -- COMMAND",
        ),
        (
            {"FAILGRAPH_ENABLED": "true"},
            ("{file}",),
            "no problems. {arrive} Start your program with the same variables.",
        ),
        (
            {"FAILGRAPH_CAPTURE": "some"},
            (),
            "1 problem. Fix it, then run failgraph doctor again (-v prints all checks).",
        ),
    ],
    ids=["sent", "read back", "enabled", "problem"],
)
def test_the_last_line_says_what_to_do_next(environ, tmp_path, variables, arguments, last):
    """It counts the problems, and names the next command."""
    environ()
    file = tmp_path / "traces.bin"
    file.touch()
    with Receiver(file=file) as receiver:
        ran = run_command(
            *(each.format(file=file) for each in arguments), **sends_to(receiver, **variables)
        )
    assert (ran.returncode, ran.stderr) == (int(not last.startswith("no problems")), "")
    assert ran.stdout.splitlines()[-1] == last.format(arrive=f"Failures arrive in {file}.")


def test_standard_input_is_no_place_to_read_back_from(capsys):
    """It cannot be read again, so it is wrong use, before anything is sent."""
    with pytest.raises(SystemExit) as stopped:
        main(["doctor", "-"])
    assert stopped.value.code == 2
    assert capsys.readouterr().err.startswith(
        "failgraph: SOURCE cannot be standard input. Name a file or a backend."
    )


def test_the_last_object_is_about_the_source(environ, tmp_path):
    """It has the keys of other commands: one trace if the test failure came back."""
    environ()
    file = tmp_path / "traces.bin"
    file.touch()
    with Receiver(file=file) as receiver:
        ran = run_command(str(file), "--json", **sends_to(receiver))
    last = json.loads(ran.stdout.splitlines()[-1])
    assert last == {"source": str(file), "traces": 1, "losses": [], "problems": 0}


def test_the_command_exits_with_1_for_a_problem():
    """The command prints results by part, as text or JSON, and exits with 1 for a problem."""
    with Receiver() as receiver:
        there = sends_to(receiver)
        good = run_command("-v", **there)
        bad = run_command("--json", **there, FAILGRAPH_CAPTURE="sideways")
    assert (good.returncode, good.stderr) == (0, "")
    assert [line for line in good.stdout.splitlines() if not line.startswith(" ")] == [
        "settings",
        "journal",
        "attachment",
        "endpoint",
        "round trip",
        good.stdout.splitlines()[-1],
    ]
    assert (bad.returncode, bad.stderr) == (1, "")
    *rows, last = (json.loads(line) for line in bad.stdout.splitlines())
    assert last == {"source": None, "traces": 0, "losses": [], "problems": 1}
    assert {tuple(row) for row in rows} == {("part", "state", "text")}
    assert [row["text"] for row in rows if row["state"] == "problem"] == [
        "FAILGRAPH_CAPTURE must be failures or all, not 'sideways'"
    ]


@pytest.mark.parametrize(
    ("journal", "state", "says"),
    [
        ("", "ok", "FAILGRAPH_JOURNAL is unset: failures that a trace loses are lost"),
        (
            "{tmp}/there",
            "ok",
            "{tmp}/there is writable: 2 files, 12 B; at most 64 MiB per process",
        ),
        ("{tmp}/new", "ok", "{tmp}/new will be created with the first failure"),
        (
            "{tmp}/not/there",
            "problem",
            "cannot create {tmp}/not/there. Create it, or set FAILGRAPH_JOURNAL to another",
        ),
    ],
    ids=["unset", "there", "new", "not"],
)
def test_the_journal(environ, tmp_path, journal, state, says):
    """The check says if the directory can be written, and how large the journal is."""
    (tmp_path / "there").mkdir()
    for name, data in (("a.jsonl", "12345"), ("b.jsonl", "1234567"), ("c.txt", "no journal")):
        (tmp_path / "there" / name).write_text(data)
    env = environ(FAILGRAPH_JOURNAL=journal.format(tmp=tmp_path))
    (check,) = (each for each in run_checks(env) if each.part == "journal")
    assert check.state == state
    assert says.format(tmp=tmp_path) in check.text


def test_a_journal_that_cannot_be_written_is_a_problem(environ, tmp_path, monkeypatch):
    """A directory without permission to write is a problem."""
    monkeypatch.setattr(os, "access", lambda *_: False)
    (check,) = (
        each
        for each in run_checks(environ(FAILGRAPH_JOURNAL=str(tmp_path)))
        if each.part == "journal"
    )
    assert (check.state, "cannot write to" in check.text) == ("problem", True)


def test_a_disk_that_is_too_small_for_the_journal_is_a_note(environ, tmp_path):
    """A note says so before the disk is full."""
    env = environ(FAILGRAPH_JOURNAL=str(tmp_path), FAILGRAPH_JOURNAL_MAX_BYTES=str(1 << 40))
    room = os.statvfs(tmp_path)
    if room.f_bavail * room.f_frsize > 1 << 40:
        pytest.skip("this disk has more room than a journal can take")
    notes = [
        each.text for each in run_checks(env) if (each.part, each.state) == ("journal", "note")
    ]
    assert len(notes) == 1
    assert "less than FAILGRAPH_JOURNAL_MAX_BYTES (1024 GiB)" in notes[0]


@pytest.mark.parametrize("enabled", ["maybe", "true"])
def test_a_wrong_setting_is_named_once(enabled, tmp_path):
    """By the command: the start-up file, which attaches failgraph to it as well, adds no log."""
    environ = {**os.environ, "FAILGRAPH_ENABLED": enabled, "FAILGRAPH_CAPTURE": "sideways"}
    for command in (["doctor"], ["list", str(tmp_path / "none.jsonl")]):
        done = subprocess.run(
            [sys.executable, "-m", "failgraph", *command],
            capture_output=True,
            text=True,
            env=environ,
        )
        output = done.stdout + done.stderr
        assert output.count("FAILGRAPH_CAPTURE must be failures or all, not 'sideways'") == 1
        assert output.count("FAILGRAPH_ENABLED must be") == (enabled == "maybe")
