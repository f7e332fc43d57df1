"""`doctor` prints and logs no secret of the corpus, from any variable, reply or trace."""

from __future__ import annotations

import contextlib
import itertools
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from urllib.parse import quote

import grpc
import opentelemetry.environment_variables
import opentelemetry.sdk.environment_variables
import pytest

from failgraph.cli import main
from failgraph.doctor.configuration import check_settings
from failgraph.doctor.difference import trace_differences
from failgraph.doctor.endpoint import check_endpoint
from failgraph.doctor.sample_graph import record_sample_graph
from failgraph.errors import ConfigError
from failgraph.otlp import ENDPOINTS, HEADERS, PROTOCOLS, endpoint_from_env, exporter_message
from failgraph.settings import from_env
from failgraph.settings.names import NAMES
from http_stand_in import Reply, serving
from otlp_server import Receiver
from programs import clean_environment
from redaction_corpus import SECRETS, Secret

EXCLUDED = {
    "OTEL_PYTHON_CONTEXT": "the API logs it when imported, in every program, before failgraph",
    **dict.fromkeys(ENDPOINTS, "where the programs below send"),
}
VARIABLES = sorted(
    {
        name
        for module in (opentelemetry.environment_variables, opentelemetry.sdk.environment_variables)
        for name in vars(module).values()
        if isinstance(name, str) and name.startswith("OTEL_")
    }
    - EXCLUDED.keys()
)
"""All variables that OpenTelemetry's API and SDK read."""
STOPPING_EARLY = {
    "protocol": [*PROTOCOLS],
    "limits": [name for name in VARIABLES if name.endswith("_LIMIT")],
    "provider": ["OTEL_PYTHON_METER_PROVIDER"],
}
"""Variables whose values make `doctor` stop early, so they are tested apart from the rest."""
OTHERS = [
    name
    for name in (*VARIABLES, *NAMES)
    if not any(name in names for names in STOPPING_EARLY.values())
]
HEADER_SECRETS = [
    case for case in SECRETS if case.secrets[0].isalnum() and len(case.secrets[0]) < 40
]
"""Secrets that can be the value of a header."""


@pytest.fixture(autouse=True)
def _elsewhere(monkeypatch, tmp_path):
    """Run in a temporary directory, since a relative journal is created in the current one."""
    monkeypatch.chdir(tmp_path)


def leaked(texts: Iterator[str] | list[str], cases: list[Secret] | None = None) -> list[str]:
    """Return the labels of the secrets in the texts, ignoring case: hosts are in lower case."""
    shown = "\n".join(texts).lower()
    return [
        case.label
        for case in cases or SECRETS
        if any(secret.lower() in shown for secret in case.secrets)
    ]


@pytest.mark.filterwarnings("ignore::FutureWarning")  # of texts that are odd as patterns
def test_no_secret_of_a_variable_is_shown():
    """No result shows a secret, with each text of the corpus in every variable."""
    for case in SECRETS:
        environ = dict.fromkeys((*NAMES, *VARIABLES), case.text)
        texts = [check.text for check in check_settings(environ)]
        assert len(texts) > len(NAMES)
        # Every process logs these. A pattern that does not compile hides the other problems.
        texts += from_env(environ).problems
        fault = from_env({"FAILGRAPH_REDACT_PATTERNS": case.text + "("}).settings.redact_fault
        texts.append(fault or "")
        texts += endpoint_of(dict.fromkeys((*ENDPOINTS, *PROTOCOLS), case.text))
        texts += endpoint_of(dict.fromkeys(ENDPOINTS, case.text))
        assert leaked(texts, [case]) == [], case.label


def endpoint_of(environ: Mapping[str, str]) -> list[str]:
    """Return what is shown of the endpoint."""
    try:
        return [
            check.text
            for check in check_endpoint(endpoint_from_env(environ), environ, listening=False)
        ]
    except ConfigError as error:
        return error.problems


def test_no_secret_of_a_difference_is_shown():
    """No difference shows a secret, with each text of the corpus in every field read back."""
    here = record_sample_graph().trace
    assert here is not None
    for case in SECRETS:
        events = {}
        for key, event in here.report.events.items():
            changes = {
                "failure_reason": case.text,
                "operation": case.text,
                "exception_type": case.text,
            }
            for name in ("foreign_error", "details"):
                part = getattr(event, name)
                fields = {} if part is None else part.model_dump()
                texts = {
                    each: case.text for each, value in fields.items() if isinstance(value, str)
                }
                changes[name] = part and part.model_copy(update=texts)
            events[key] = event.model_copy(
                update={**changes, "operation_id": case.text, "attempt_id": case.text}
            )
        report = here.report.model_copy(update={"events": events, "failure_id": case.text})
        there = replace(here, report=report, hops=())
        named = [replace(hop, span=replace(hop.span, name=case.text)) for hop in here.hops]
        found = [
            *trace_differences(here, there),
            *trace_differences(replace(here, hops=tuple(named)), there),
        ]
        assert len(found) > 20
        assert leaked(found, [case]) == [], case.label


def test_no_header_in_a_message_of_an_exporter_is_shown():
    """An exporter's message shows neither a secret nor the value of a header that was sent."""
    for case in SECRETS:
        assert leaked([exporter_message(case.text, {}, 500)], [case]) == [], case.label
    for case in HEADER_SECRETS:
        for name in HEADERS:
            message = exporter_message(
                f"who is {case.secrets[0]}?", {name: f"x-team={quote(case.secrets[0])}"}, 500
            )
            assert message == "who is [redacted:header]?"


# --- the program


def doctor(*arguments: str, **variables: str) -> tuple[int, str]:
    """Run `failgraph doctor` with all checks shown. Return the exit code and all output."""
    environ = clean_environment()
    command = [sys.executable, "-m", "failgraph", "doctor", "-v", *arguments]
    ran = subprocess.run(
        command, env={**environ, **variables}, capture_output=True, text=True, check=False
    )
    assert "Traceback" not in ran.stderr
    if "--json" in arguments:
        checks = ran.stdout.splitlines()[:-1]
        ran.stdout += "\n".join(json.loads(line)["text"] for line in checks)
    return ran.returncode, ran.stdout + ran.stderr


@pytest.mark.slow_after(2)
@pytest.mark.parametrize(
    ("names", "options"),
    [*((names, ()) for names in (*STOPPING_EARLY.values(), OTHERS)), (OTHERS[::-1], ("--json",))],
    ids=[*STOPPING_EARLY, "else", "json"],
)
def test_no_secret_of_the_environment_is_printed(names, options):
    """The program prints no secret of its environment, on standard output or standard error."""
    cases = itertools.cycle(SECRETS[::7])
    variables = dict(zip(names, (case.text for case in cases), strict=False))
    with Receiver() as receiver:
        there = {
            "OTEL_EXPORTER_OTLP_ENDPOINT": receiver.endpoint,
            "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
        }
        code, printed = doctor(*options, **(there | variables))
    assert code == 1 or (
        code == 0 and names == STOPPING_EARLY["provider"]
    )  # which an old SDK does not ask for
    assert len(printed) > 1500
    assert leaked([printed]) == []


@contextmanager
def refusing_grpc() -> Iterator[str]:
    """Start a gRPC server that rejects requests and repeats their metadata. Yield its URL."""

    def refuse(_: bytes, context: grpc.ServicerContext) -> None:
        context.abort(grpc.StatusCode.UNAUTHENTICATED, f"not with {context.invocation_metadata()}")

    method = grpc.unary_unary_rpc_method_handler(refuse)
    name = "opentelemetry.proto.collector.trace.v1.TraceService"
    server = grpc.server(ThreadPoolExecutor(1))
    server.add_generic_rpc_handlers(
        [grpc.method_handlers_generic_handler(name, {"Export": method})]
    )
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.stop(None)


@pytest.mark.slow_after(1)
@pytest.mark.parametrize("protocol", ["http/protobuf", "grpc"])
def test_no_header_for_a_collector_is_printed(protocol):
    """Headers that a Collector rejects and repeats are not shown, from its error or the log."""
    cases = HEADER_SECRETS[:: len(HEADER_SECRETS) // 12]
    sent = ",".join(
        f"x-team-{number}={quote(case.secrets[0])}" for number, case in enumerate(cases)
    )
    with refusing_grpc() if protocol == "grpc" else Receiver(status=400, repeats=True) as there:
        variables = {
            "OTEL_EXPORTER_OTLP_ENDPOINT": there if isinstance(there, str) else there.endpoint,
            "OTEL_EXPORTER_OTLP_PROTOCOL": protocol,
            "OTEL_EXPORTER_OTLP_HEADERS": sent,
        }
        code, printed = doctor(**variables)
    assert code == 1
    assert "UNAUTHENTICATED" in printed if protocol == "grpc" else "400" in printed
    assert leaked([printed], cases) == []


@pytest.mark.slow
def test_no_header_for_a_backend_is_printed():
    """Headers that a backend repeats are not shown, nor credentials and tokens of its URL."""
    pytest.importorskip("httpx", reason="backends are asked with httpx, which this set lacks")
    user, token, *cases = HEADER_SECRETS[:: len(HEADER_SECRETS) // 12]
    headers = ",".join(
        f"x-team-{number}={quote(case.secrets[0])}" for number, case in enumerate(cases)
    )

    def answer(asked, _):
        return Reply(json.dumps({"message": str(asked)}).encode(), status=500)

    with Receiver() as receiver, serving(answer) as backend:
        there = {
            "OTEL_EXPORTER_OTLP_ENDPOINT": receiver.endpoint,
            "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
        }
        sent = {"FAILGRAPH_JAEGER_URL": backend.url, "FAILGRAPH_JAEGER_HEADERS": headers}
        code, printed = doctor("jaeger", **there, **sent)
        assert (code, "returned HTTP 500" in printed) == (1, True)
        place = backend.url.replace("://", f"://{user.secrets[0]}:{token.secrets[0]}@")
        named = doctor(f"{place}/?token={token.secrets[0]}", **there, **sent)[1]
    assert leaked([printed, named], [user, token, *cases]) == []


@pytest.mark.slow
def test_no_secret_of_the_command_line_is_printed(monkeypatch, capsys, caplog):
    """Wrong arguments are reported without the secrets in them."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
    for case in SECRETS[::20]:
        for arguments in ((case.text,), (f"./{case.text}",), (f"--{case.text}",), ("-", case.text)):
            with contextlib.suppress(SystemExit):
                assert main(["doctor", *arguments]) in (1, 3)
            printed = capsys.readouterr()
            assert printed.out + printed.err
            assert leaked([*printed, caplog.text], [case]) == [], arguments
