"""Each setting in force and where it came from, and what of OpenTelemetry's own settings loses failures."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from failgraph.doctor.check import CheckResult
from failgraph.otlp import HEADERS
from failgraph.redaction import redact_with_problem, survives_redaction
from failgraph.redaction.display import display
from failgraph.redaction.markers import marker
from failgraph.settings import Settings, from_env
from failgraph.settings.names import (
    CHOICES,
    JAEGER_HEADERS,
    NAMES,
    PEER_TOKEN,
    PREFIX,
    REASON,
    REDACT_PATTERNS,
    TEMPO_HEADERS,
)
from failgraph.settings.values import parse_headers

PART = "settings"
_SECRET = frozenset({PEER_TOKEN, JAEGER_HEADERS, TEMPO_HEADERS, REDACT_PATTERNS})
_DROPPING = {
    "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT": "longer texts are split; a limit shorter than an id leaves ids out of reports",
    "OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT": "a limit shorter than an id leaves ids out of reports",
    "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT": "a hop's report is left out where it does not fit",
    "OTEL_ATTRIBUTE_COUNT_LIMIT": "fields of a failure beyond that are dropped",
    "OTEL_EVENT_ATTRIBUTE_COUNT_LIMIT": "fields of a failure beyond that are dropped",
    "OTEL_SPAN_EVENT_COUNT_LIMIT": "failures beyond that go to spans of their own",
}


def check_settings(environ: Mapping[str, str]) -> Iterator[CheckResult]:
    """The settings of failgraph, all of them, then those of OpenTelemetry's that it depends on, where they are set."""
    settings, problems = from_env(environ)
    if settings.redact_fault is not None:
        problems += (f"{settings.redact_fault}; every text is hidden until this is fixed",)
    elif (missing := redact_with_problem()) is not None:
        problems += (f"{missing}; every text is hidden until this is fixed",)
    yield from (CheckResult(PART, "problem", problem) for problem in problems)
    for name in NAMES:
        yield CheckResult(
            PART,
            "ok",
            f"{name}={_shown_value(settings, environ, name)} ({_source_of(environ, name)})",
        )
    yield from _check_configuration_file(environ.get("OTEL_CONFIG_FILE", "").strip())
    yield from _check_opentelemetry(environ)


def _source_of(environ: Mapping[str, str], name: str) -> str:
    return "from the environment" if environ.get(name, "").strip() else "default"


def _shown_value(settings: Settings, environ: Mapping[str, str], name: str) -> str:
    value = getattr(settings, name.removeprefix(PREFIX).lower())
    if name in _SECRET:
        return "set, not shown" if value else "unset"
    if isinstance(value, bool):
        yes, no = ("on", "off") if name == REASON else ("true", "false")
        return yes if value else no
    if value is None or value == ():
        return "unset"
    if name in CHOICES or isinstance(value, int):
        return str(getattr(value, "value", value))
    if isinstance(value, tuple):
        whole = environ.get(name, "")
        value = ",".join(
            each if "/" in each or survives_redaction(each, whole) else marker("secret")
            for each in value
        )
    return display(value)


def _check_configuration_file(path: str) -> Iterator[CheckResult]:
    if path and not os.path.isfile(path):
        yield CheckResult(PART, "problem", f"OTEL_CONFIG_FILE={display(path)} is no file")
    elif path:
        text = (
            "OTEL_CONFIG_FILE is set: what stands there under failgraph is in force where the environment is silent;"
            " the sampler, limits and exporters that stand there are not looked at: below are those of the environment"
        )
        yield CheckResult(PART, "note", text)


def _check_opentelemetry(environ: Mapping[str, str]) -> Iterator[CheckResult]:
    said = {name: environ[name].strip() for name in environ if name.startswith("OTEL_")}
    if said.get("OTEL_SDK_DISABLED", "").lower() == "true":
        yield CheckResult(
            PART, "problem", "OTEL_SDK_DISABLED=true: there are no spans, and so no failures"
        )
    exporters = said.get("OTEL_TRACES_EXPORTER", "")
    if exporters.lower() == "none":
        yield CheckResult(PART, "problem", "OTEL_TRACES_EXPORTER=none: spans go nowhere")
    elif exporters and "otlp" not in exporters:
        text = "a provider that OpenTelemetry makes sends to no OTLP endpoint"
        yield CheckResult(PART, "note", f"OTEL_TRACES_EXPORTER={display(exporters, 80)}: {text}")
    sampler = said.get("OTEL_TRACES_SAMPLER", "")
    share = _sampled_share(sampler.lower(), said.get("OTEL_TRACES_SAMPLER_ARG", ""))
    if share != 1:
        text = f"OTEL_TRACES_SAMPLER={display(sampler, 80)}: what fails in a trace that is not sampled is in no trace"
        yield CheckResult(PART, "problem" if share == 0 else "note", text)
    for name in HEADERS:
        for problem in parse_headers(name, environ.get(name, "")).problems:
            yield CheckResult(PART, "problem", problem)
    for name, what in _DROPPING.items():
        if said.get(name):
            yield CheckResult(PART, "note", f"{name}={display(said[name], 80)}: {what}")


def _sampled_share(sampler: str, argument: str) -> float | None:
    """The share of new traces that a sampler of the SDK keeps; None of one that it does not bring along."""
    kind = sampler.removeprefix("parentbased_")
    if kind != "traceidratio":
        return {"": 1.0, "always_on": 1.0, "always_off": 0.0}.get(kind)
    try:
        return float(argument or 1)
    except ValueError:
        return 1.0  # as the SDK takes it
