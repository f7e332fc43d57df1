"""Check the settings of failgraph, and variables of OpenTelemetry that make failures disappear."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from failgraph.backends.urls import is_loopback
from failgraph.doctor.check import CheckResult
from failgraph.otlp import HEADERS
from failgraph.redaction import redact_with_problem, survives_redaction
from failgraph.redaction.display import display
from failgraph.redaction.markers import marker
from failgraph.settings import Settings, from_env
from failgraph.settings.effects import without_effect
from failgraph.settings.names import (
    CHOICES,
    JAEGER_HEADERS,
    JAEGER_URL,
    NAMES,
    PEER_TOKEN,
    PEERS,
    PREFIX,
    REDACT_PATTERNS,
    TEMPO_HEADERS,
    TEMPO_URL,
)
from failgraph.settings.values import parse_headers

PART = "settings"
_SECRET = frozenset({PEER_TOKEN, JAEGER_HEADERS, TEMPO_HEADERS, REDACT_PATTERNS})
_LIMITS = {
    "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT": (
        "longer texts are split; a limit shorter than an id removes ids from reports"
    ),
    "OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT": (
        "a limit shorter than an id removes ids from reports"
    ),
    "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT": "the report of a hop is omitted if it does not fit",
    "OTEL_ATTRIBUTE_COUNT_LIMIT": "further fields of a failure are dropped",
    "OTEL_EVENT_ATTRIBUTE_COUNT_LIMIT": "further fields of a failure are dropped",
    "OTEL_SPAN_EVENT_COUNT_LIMIT": "further failures get spans of their own",
}


def check_settings(environ: Mapping[str, str]) -> Iterator[CheckResult]:
    """Check every setting of failgraph, then the variables of OpenTelemetry that it depends on."""
    settings, problems = from_env(environ)
    if settings.redact_fault is not None:
        problems += (f"{settings.redact_fault}; every text is hidden until this is fixed",)
    elif (missing := redact_with_problem()) is not None:
        problems += (f"{missing}; every text is hidden until this is fixed",)
    yield from (CheckResult(PART, "problem", problem) for problem in problems)
    defaults = Settings()
    reasons = {**without_effect(settings), **dict(_unsent_headers(settings))}
    for name in NAMES:
        is_default = _value(settings, name) == _value(defaults, name)
        source = _source_of(environ, name, is_default=is_default)
        text = f"{name}={_shown_value(settings, environ, name)} ({source})"
        if name in reasons and environ.get(name, "").strip():
            yield CheckResult(PART, "note", f"{text} has no effect {reasons[name]}")
        else:
            yield CheckResult(PART, "ok", text, is_notable=not is_default)
    yield from _check_configuration_file(environ.get("OTEL_CONFIG_FILE", "").strip())
    yield from _check_opentelemetry(environ)


def _unsent_headers(settings: Settings) -> Iterator[tuple[str, str]]:
    """Yield each setting with headers that are not sent, and why.

    They may be secrets, and are not sent unencrypted to another machine.
    """
    addresses = (
        (JAEGER_HEADERS, JAEGER_URL, settings.jaeger_url),
        (TEMPO_HEADERS, TEMPO_URL, settings.tempo_url),
    )
    for headers, name, url in addresses:
        if urlsplit(url).scheme == "http" and not is_loopback(url):
            yield headers, f"while {name} is on another machine and not https"


def _source_of(environ: Mapping[str, str], name: str, *, is_default: bool) -> str:
    text = environ.get(name, "")
    if not text.strip():
        return "default" if is_default else "because of another setting"
    settings, problems = from_env({name: text})
    if problems or settings.redact_fault is not None:
        return "in place of an invalid value"
    return "from the environment"


def _value(settings: Settings, name: str) -> Any:
    return getattr(settings, name.removeprefix(PREFIX).lower())


def _shown_value(settings: Settings, environ: Mapping[str, str], name: str) -> str:
    """Return the value of a setting, safe to show."""
    value = _value(settings, name)
    if name in _SECRET:
        return "set, not shown" if value else "unset"
    if isinstance(value, bool):
        return "true" if value else "false"
    if name == PEERS and not value:
        return "none"
    if value is None or value == ():
        return "unset"
    if name in CHOICES or isinstance(value, int):
        return str(getattr(value, "value", value))
    if isinstance(value, tuple):
        whole = environ.get(name, "").strip() or ",".join(value)
        # A network such as 10.0.0.0/8 is valid as such, and never a secret.
        value = ",".join(
            item if "/" in item or survives_redaction(item, whole) else marker("secret")
            for item in value
        )
    return display(value)


def _check_configuration_file(path: str) -> Iterator[CheckResult]:
    if path and not os.path.isfile(path):
        yield CheckResult(PART, "problem", f"OTEL_CONFIG_FILE={display(path)}: no such file")
    elif path:
        text = (
            "OTEL_CONFIG_FILE is set: its failgraph settings apply where no variable is set."
            " Its sampler, limits and exporters are not checked, only those of the environment."
        )
        yield CheckResult(PART, "note", text)


def _check_opentelemetry(environ: Mapping[str, str]) -> Iterator[CheckResult]:
    values = {name: environ[name].strip() for name in environ if name.startswith("OTEL_")}
    if values.get("OTEL_SDK_DISABLED", "").lower() == "true":
        text = "OTEL_SDK_DISABLED=true: there are no spans, and so no failures. Unset it."
        yield CheckResult(PART, "problem", text)
    exporters = values.get("OTEL_TRACES_EXPORTER", "")
    if exporters.lower() == "none":
        yield CheckResult(PART, "problem", "OTEL_TRACES_EXPORTER=none: spans are not exported")
    elif exporters and "otlp" not in exporters:
        text = "opentelemetry-instrument does not export to an OTLP endpoint"
        yield CheckResult(PART, "note", f"OTEL_TRACES_EXPORTER={display(exporters, 80)}: {text}")
    sampler = values.get("OTEL_TRACES_SAMPLER", "")
    share = _sampled_share(sampler.lower(), values.get("OTEL_TRACES_SAMPLER_ARG", ""))
    if share != 1:
        text = f"OTEL_TRACES_SAMPLER={display(sampler, 80)}: failures of unsampled traces are lost"
        yield CheckResult(PART, "problem" if share == 0 else "note", text)
    for name in HEADERS:
        for problem in parse_headers(name, environ.get(name, "")).problems:
            yield CheckResult(PART, "problem", problem)
    for name, effect in _LIMITS.items():
        if values.get(name):
            yield CheckResult(PART, "note", f"{name}={display(values[name], 80)}: {effect}")


def _sampled_share(sampler: str, argument: str) -> float | None:
    """Return the share of new traces that a sampler keeps, or None if the SDK does not have it."""
    kind = sampler.removeprefix("parentbased_")
    if kind != "traceidratio":
        return {"": 1.0, "always_on": 1.0, "always_off": 0.0}.get(kind)
    try:
        return float(argument or 1)
    except ValueError:
        return 1.0  # the SDK falls back to 1.0 too
