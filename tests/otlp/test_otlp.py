"""The endpoint of traces by OpenTelemetry's own variables, and its exporter."""

from __future__ import annotations

import pytest

from failgraph.errors import ConfigError
from failgraph.otlp import GRPC, HTTP, endpoint_from_env, grpc_problem, make_exporter
from otlp_server import Receiver

GENERAL, TRACES = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
PROTOCOL, OF_TRACES = "OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, (GRPC, "localhost", 4317, None)),
        ({PROTOCOL: HTTP}, (HTTP, "localhost", 4318, None)),
        ({GENERAL: "http://collector:4318"}, (HTTP, "collector", 4318, GENERAL)),
        ({GENERAL: "http://collector:4318", PROTOCOL: GRPC}, (GRPC, "collector", 4318, GENERAL)),
        ({GENERAL: "http://a:4318", TRACES: "http://b:4317"}, (GRPC, "b", 4317, TRACES)),
        ({GENERAL: "collector:4317"}, (GRPC, "collector", 4317, GENERAL)),
        ({GENERAL: "https://otlp.example", PROTOCOL: HTTP}, (HTTP, "otlp.example", 443, GENERAL)),
        (
            {GENERAL: "http://otlp.example", PROTOCOL: GRPC, OF_TRACES: HTTP},
            (HTTP, "otlp.example", 80, GENERAL),
        ),
        ({GENERAL: " http://[::1]:4317/ ", TRACES: " "}, (GRPC, "::1", 4317, GENERAL)),
    ],
)
def test_a_variable_for_traces_wins_over_the_general_one(environ, expected):
    """Without a protocol, port 4318 means HTTP and any other gRPC."""
    assert endpoint_from_env(environ) == (*expected, False)


@pytest.mark.parametrize(
    ("text", "is_recognized"),
    [
        ("last error: UNAVAILABLE: ipv4:127.0.0.1:1: Failed parsing HTTP/2 (Expected", True),
        ("last error: UNKNOWN: ipv6:%5B::1%5D:1: Failed to connect to remote host: Conn", True),
        ("StatusCode.UNAUTHENTICATED", False),
    ],
)
def test_a_server_of_http_1_is_recognized(text, is_recognized):
    """It is also if grpcio names the host's other address, to which it could not connect."""
    with Receiver() as receiver:
        port = int(receiver.endpoint.rpartition(":")[2])
        problem = grpc_problem(text, "127.0.0.1", port)
    assert (problem is not None) == is_recognized


def test_a_host_that_refuses_connections_may_speak_grpc():
    """Only an answer in text shows that a server does not."""
    assert grpc_problem("Failed to connect to remote host", "127.0.0.1", 1) is None


@pytest.mark.parametrize(
    ("environ", "problem"),
    [
        (
            {PROTOCOL: "http/json"},
            "OTEL_EXPORTER_OTLP_PROTOCOL must be grpc or http/protobuf, not 'http/json'",
        ),
        (
            {GENERAL: "http://:4317"},
            "OTEL_EXPORTER_OTLP_ENDPOINT must be a URL such as http://localhost:4317",
        ),
        (
            {GENERAL: "http://sesame@x:99999"},
            "OTEL_EXPORTER_OTLP_ENDPOINT must be a URL such as http://localhost:4317",
        ),
    ],
)
def test_a_variable_that_cannot_be_used_is_named(environ, problem):
    """With an unknown protocol, but without a URL, which may hold a password."""
    with pytest.raises(ConfigError) as raised:
        endpoint_from_env(environ)
    assert raised.value.problems == [problem]


@pytest.mark.parametrize(("protocol", "module"), [(GRPC, "grpc"), (HTTP, "http")])
def test_the_exporter_is_opentelemetrys_own(monkeypatch, protocol, module):
    """It is that of the protocol, and takes the endpoint from the environment."""
    monkeypatch.setenv(GENERAL, "http://127.0.0.1:5")
    monkeypatch.setenv(PROTOCOL, protocol)
    made = make_exporter(endpoint_from_env({GENERAL: "http://127.0.0.1:5", PROTOCOL: protocol}))
    assert type(made).__module__.startswith(f"opentelemetry.exporter.otlp.proto.{module}.")
    assert "127.0.0.1:5" in made._endpoint
    made.shutdown()
