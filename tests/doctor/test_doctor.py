"""`doctor`: what is set, attached and reached, and what of a failure is lost on the way to a backend and back."""

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
    """Set the environment of this process, which exporters and limits are read from; what is set, for `checks`."""
    for name in [name for name in os.environ if name.startswith(("OTEL_", "FAILGRAPH_"))]:
        monkeypatch.delenv(name)
    # Whatever listens at the default endpoint is not the tests' to send to.
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
    """Asks a backend that has what the receiver got."""
    return lambda _: read_files([SourceFile("it", io.BytesIO(receiver.text()))])


def found(all_checks, part, state):
    return [check.text for check in all_checks if (check.part, check.state) == (part, state)]


def test_what_comes_back_whole_is_no_problem(environ):
    """With a backend that gives what was sent nothing is lost, in this process or on the way."""
    with Receiver() as receiver:
        seen = list(run_checks(environ(**sends_to(receiver)), TraceSource("it", arrived(receiver))))
    assert [check for check in seen if check.state == "problem"] == []
    assert found(seen, "round trip", "ok")[-1] == "nothing was lost between the exporter and it"


def test_the_marked_graph_has_every_field():
    """Of an event, of both details and of a foreign error no field is absent in all of the graph."""
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
def test_each_field_that_differs_is_named_alone(number, name, path):
    """A field that is another one, or absent, gives one line with its name and its failure."""
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


def test_texts_that_a_backend_cut_are_named_with_their_sizes(environ):
    """A backend that cuts like Tempo, and has no arrays, is told by field and by bytes, between the exporter and it."""

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
    (said,) = found(seen, "round trip", "problem")
    assert said.startswith(
        "lost between the exporter and it: failure_reason of model provider_unavailable: "
    )
    assert re.search(r": 2\d{3} bytes before, 1\d{3} after$", said)


def test_a_limit_of_this_process_is_told_from_a_loss_on_the_way(environ):
    """What the SDK's own limits drop is lost in this process, and not counted again on the way to the backend."""
    with Receiver() as receiver:
        limited = environ(**sends_to(receiver, OTEL_EVENT_ATTRIBUTE_COUNT_LIMIT="6"))
        seen = list(run_checks(limited, TraceSource("it", arrived(receiver))))
    problems = found(seen, "round trip", "problem")
    assert problems
    assert all(
        text.startswith("lost in this process, between `record` and the exporter: ")
        for text in problems
    )
    assert any(
        text.startswith("OTEL_EVENT_ATTRIBUTE_COUNT_LIMIT=6: ")
        for text in found(seen, "settings", "note")
    )


def test_a_backend_that_does_not_have_it_is_said(environ, monkeypatch):
    """Where the trace does not arrive, or the backend cannot be asked, that is the problem."""
    monkeypatch.setattr("failgraph.doctor.round_trip.READ_BACK_S", 0)

    def down(_):
        raise SourceError("it is down")

    with Receiver() as receiver:
        here = environ(**sends_to(receiver))
        nothing = found(
            run_checks(here, TraceSource("it", lambda _: Reading([], {}, {}, ()))),
            "round trip",
            "problem",
        )
        assert nothing[0].startswith("it did not have the trace within ")
        assert found(run_checks(here, TraceSource("it", down)), "round trip", "problem") == [
            "it is down"
        ]


def test_an_exporter_that_is_refused_is_said_in_its_words(environ):
    """A collector that answers 400: the exporter's own line, on stdout as a check and nowhere else."""
    with Receiver(status=400) as receiver:
        (said,) = found(run_checks(environ(**sends_to(receiver))), "round trip", "problem")
    assert said.startswith("cannot export to 127.0.0.1:")
    assert "400" in said


def test_nothing_is_sent_where_nobody_listens(environ):
    """A closed port is a problem of the endpoint; no exporter is made to wait for it."""
    here = environ(OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:1")
    seen = list(run_checks(here))
    assert found(seen, "endpoint", "problem")[0].startswith(
        "cannot connect to 127.0.0.1:1 (grpc, from OTEL_EXPORTER_OTLP_ENDPOINT)."
    )
    assert "round trip" not in {check.part for check in seen}


def test_a_protocol_that_the_command_would_not_take_is_said(environ, monkeypatch):
    """Port 4318 without a protocol works here, and not under opentelemetry-instrument, which takes gRPC."""
    monkeypatch.setattr(
        "failgraph.doctor.is_listening", lambda _: False
    )  # whoever does is not the tests' to send to
    here = environ(OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:4318")
    assert any(
        "sends gRPC unless a protocol is set" in text
        for text in found(run_checks(here), "endpoint", "problem")
    )
    named = found(
        run_checks({**here, "OTEL_TRACES_EXPORTER": "otlp_proto_http"}),
        "endpoint",
        "problem",
    )
    assert not any("sends gRPC" in text for text in named)


def test_switched_off_is_a_problem(environ):
    """With FAILGRAPH_ENABLED=false nothing would be attached, nothing is recorded, and both are said."""
    with Receiver() as receiver:
        seen = list(run_checks(environ(**sends_to(receiver, FAILGRAPH_ENABLED="false"))))
    assert found(seen, "attachment", "problem") == [
        "FAILGRAPH_ENABLED=false: failgraph is off, nothing is recorded"
    ]
    assert found(seen, "round trip", "problem") == ["nothing was recorded: see the settings above"]


@pytest.mark.parametrize("names", ["failgraph", "requests , failgraph", "*"])
def test_left_out_by_name_it_is_not_attached(environ, names):
    """What opentelemetry-instrument leaves out is not attached by it; FAILGRAPH_ENABLED=true does not mind."""
    here = environ(OTEL_PYTHON_DISABLED_INSTRUMENTATIONS=names)
    (said,) = found(run_checks(here), "attachment", "problem")
    assert "OTEL_PYTHON_DISABLED_INSTRUMENTATIONS excludes failgraph" in said
    assert found(run_checks({**here, "FAILGRAPH_ENABLED": "true"}), "attachment", "problem") == []


def test_a_start_up_file_is_only_where_python_looks(monkeypatch, tmp_path):
    """Most virtual environments do not look into the user's own site-packages."""
    from failgraph.doctor.attachment import _check_start_up_file

    (tmp_path / "failgraph.pth").touch()
    monkeypatch.setattr(sysconfig, "get_path", lambda _: "/none")
    monkeypatch.setattr(site, "getsitepackages", list)
    monkeypatch.setattr(site, "getusersitepackages", lambda: str(tmp_path))
    monkeypatch.setattr(site, "ENABLE_USER_SITE", True)
    assert _check_start_up_file().state == "ok"
    monkeypatch.setattr(site, "ENABLE_USER_SITE", False)
    assert _check_start_up_file().state == "problem"


def test_every_setting_is_there_with_its_source_and_no_secret(environ):
    """Each setting with its value and where that came from; of a secret only that there is one."""
    here = environ(FAILGRAPH_LINKS="all", **SECRETS)
    texts = found(run_checks(here), "settings", "ok")
    assert [text.split("=")[0] for text in texts] == list(NAMES)
    assert "FAILGRAPH_LINKS=all (from the environment)" in texts
    assert "FAILGRAPH_REASON=on (default)" in texts
    assert {f"{name}=set, not shown (from the environment)" for name in SECRETS} <= set(texts)
    assert "sesame" not in repr(list(run_checks(here)))


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
        ("FAILGRAPH_LINKS", "sideways", "problem"),
        ("FAILGRAPH_REDACT_WITH", "no function", "problem"),
        ("FAILGRAPH_REDACT_WITH", "no_such_module:function", "problem"),
    ],
)
def test_a_setting_that_loses_failures_is_said(environ, name, value, state):
    """What makes failures vanish, or cannot be used, is a problem or a note that begins with its variable."""
    assert any(
        text.startswith(name)
        for text in found(run_checks(environ(**{name: value})), "settings", state)
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
def test_a_sampler_is_said_where_it_leaves_traces_out(environ, sampler, argument, states):
    """One that keeps every trace is no note, one that keeps none a problem, however it is written."""
    here = environ(OTEL_TRACES_SAMPLER=sampler, OTEL_TRACES_SAMPLER_ARG=argument)
    said = [check for check in run_checks(here) if check.text.startswith("OTEL_TRACES_SAMPLER=")]
    assert {check.state for check in said} == states


def test_what_a_configuration_file_says_is_not_taken_for_looked_at(environ, tmp_path):
    """With one the note says that its sampler, limits and exporters are not those that were looked at."""
    (tmp_path / "otel.yaml").touch()
    (said,) = found(
        run_checks(environ(OTEL_CONFIG_FILE=str(tmp_path / "otel.yaml"))),
        "settings",
        "note",
    )
    assert "exporters are not checked" in said


@pytest.mark.parametrize("host", ["a..b", "a" * 64, "xn--zz"])
def test_a_name_that_no_machine_can_have_takes_no_connection(environ, host):
    """It is said as a closed port is; what Python raises for such a name is no OSError."""
    seen = list(run_checks(environ(OTEL_EXPORTER_OTLP_ENDPOINT=f"http://{host}:4317")))
    assert found(seen, "endpoint", "problem")[0].startswith("cannot connect to ")


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
def test_the_port_is_the_one_that_the_exporter_takes(endpoint, protocol, address):
    """Where the endpoint names none: gRPC takes 443 for any name, HTTP that of the scheme."""
    environ = {"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_EXPORTER_OTLP_PROTOCOL": protocol}
    assert endpoint_from_env(environ).address == address


def test_a_file_that_is_still_empty_is_waited_for(environ, tmp_path):
    """A Collector writes a moment after it has answered: until then its file has no trace, which is no problem yet."""
    from failgraph.cli.doctor import _trace_source

    file = tmp_path / "traces.bin"
    file.touch()
    with Receiver() as receiver:

        def later(trace_id):
            reading = source.read(trace_id)
            file.write_bytes(receiver.text())
            return reading

        source = _trace_source(str(file))
        seen = list(run_checks(environ(**sends_to(receiver)), source._replace(read=later)))
    assert found(seen, "round trip", "problem") == []
    assert (
        found(seen, "round trip", "ok")[-1] == f"nothing was lost between the exporter and {file}"
    )


def test_what_the_backend_is_called_holds_no_more_than_its_address():
    """Neither a query, which may be a token, nor what moves a terminal's cursor is in any check."""
    from failgraph.cli.doctor import _trace_source

    assert (
        _trace_source("http://127.0.0.1:1/jaeger?token=sesame#sesame").name
        == "http://127.0.0.1:1/jaeger"
    )
    assert _trace_source("./\x1b[31mfile").name == "./\\x1b[31mfile"


def test_a_limit_that_is_no_number_is_said(environ):
    """The SDK then makes no provider, here as in the program: its words are the problem."""
    with Receiver() as receiver:
        here = environ(**sends_to(receiver, OTEL_SPAN_EVENT_COUNT_LIMIT="many"))
        (said,) = found(run_checks(here), "round trip", "problem")
    assert said.startswith("cannot start OpenTelemetry's SDK: ")


def test_headers_that_cannot_be_read_are_not_shown(environ, caplog):
    """OpenTelemetry logs such a header as it is; while doctor sends, nothing of that is printed."""
    with Receiver() as receiver:
        here = environ(**sends_to(receiver, OTEL_EXPORTER_OTLP_HEADERS="authorization:sesame"))
        seen = list(run_checks(here))
    assert found(seen, "settings", "problem")[0].startswith(
        "OTEL_EXPORTER_OTLP_HEADERS: header 1 must be of the form"
    )
    assert "sesame" not in repr(seen) + caplog.text


def test_what_is_installed_is_attached_to_and_nothing_stays_attached(environ):
    """Each package with hooks is named with its version, and afterwards its classes are as they were."""
    from opentelemetry.sdk.trace import TracerProvider

    before = TracerProvider.__init__
    texts = found(run_checks(environ()), "attachment", "ok")
    assert any(text.startswith("opentelemetry-sdk ") for text in texts)
    assert TracerProvider.__init__ is before


def test_the_command_ends_with_one_for_a_problem():
    """`failgraph doctor` prints the checks by part, as text or JSON; its code says whether one is a problem."""
    with Receiver() as receiver:
        env = {**os.environ, **sends_to(receiver)}
        good = subprocess.run(
            [sys.executable, "-m", "failgraph", "doctor"], capture_output=True, text=True, env=env
        )
        bad = subprocess.run(
            [sys.executable, "-m", "failgraph", "doctor", "--json"],
            capture_output=True,
            text=True,
            env={**env, "FAILGRAPH_LINKS": "sideways"},
        )
    assert (good.returncode, good.stderr) == (0, "")
    assert [line for line in good.stdout.splitlines() if not line.startswith(" ")] == [
        "settings",
        "journal",
        "attachment",
        "endpoint",
        "round trip",
        "no problems",
    ]
    assert (bad.returncode, bad.stderr) == (1, "")
    rows = [json.loads(line) for line in bad.stdout.splitlines()]
    assert {tuple(row) for row in rows} == {("part", "state", "text")}
    assert [row["text"] for row in rows if row["state"] == "problem"] == [
        "FAILGRAPH_LINKS must be cross, all or off, not 'sideways'"
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
            "cannot create {tmp}/not/there. Create it, or set FAILGRAPH_JOURNAL to another directory.",
        ),
    ],
    ids=["unset", "there", "new", "not"],
)
def test_the_journal(environ, tmp_path, journal, state, says):
    """Whether it can be written, and what it holds."""
    (tmp_path / "there").mkdir()
    for name, data in (("a.jsonl", "12345"), ("b.jsonl", "1234567"), ("c.txt", "no journal")):
        (tmp_path / "there" / name).write_text(data)
    env = environ(FAILGRAPH_JOURNAL=journal.format(tmp=tmp_path))
    (check,) = (each for each in run_checks(env) if each.part == "journal")
    assert check.state == state
    assert says.format(tmp=tmp_path) in check.text


def test_a_journal_that_cannot_be_written(environ, tmp_path, monkeypatch):
    """The directory is another user's."""
    monkeypatch.setattr(os, "access", lambda *_: False)
    (check,) = (
        each
        for each in run_checks(environ(FAILGRAPH_JOURNAL=str(tmp_path)))
        if each.part == "journal"
    )
    assert (check.state, "cannot write to" in check.text) == ("problem", True)


def test_a_disk_with_less_room_than_the_journal_may_take_is_worth_knowing(environ, tmp_path):
    """Before it is full."""
    env = environ(FAILGRAPH_JOURNAL=str(tmp_path), FAILGRAPH_JOURNAL_MAX_BYTES=str(1 << 40))
    room = os.statvfs(tmp_path)
    if room.f_bavail * room.f_frsize > 1 << 40:
        pytest.skip("this disk has more room than a journal can take")
    notes = [
        each.text for each in run_checks(env) if (each.part, each.state) == ("journal", "note")
    ]
    assert len(notes) == 1
    assert "less than FAILGRAPH_JOURNAL_MAX_BYTES (1024 GiB)" in notes[0]
