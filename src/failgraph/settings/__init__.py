"""The settings, `FAILGRAPH_*`: read once, all problems told at once."""

from __future__ import annotations

import difflib
import functools
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from failgraph.diagnostics import warn_once
from failgraph.errors import ConfigError
from failgraph.failure.boundary import FailureBoundary
from failgraph.settings.names import (
    AUTO_INSTRUMENT,
    BOUNDARY,
    CAPTURE,
    CHOICES,
    ENABLED,
    GRAFANA_URL,
    HEADER_BYTES,
    JAEGER_HEADERS,
    JAEGER_URL,
    JOURNAL,
    JOURNAL_MAX_BYTES,
    LINKS,
    LOG_LEVEL,
    NAMES,
    PEER_TOKEN,
    PEERS,
    PLACEMENT,
    PREFIX,
    REASON,
    REDACT,
    REDACT_PATTERNS,
    REDACT_WITH,
    REPLY,
    TEMPO_HEADERS,
    TEMPO_URL,
)
from failgraph.settings.values import base_url, folder, headers, number, patterns, peers, said

_TOKEN = re.compile(r"[!-~]([ -~]{0,4094}[!-~])?")
_FUNCTION = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")


@dataclass(frozen=True)
class Settings:
    """The settings in force. `enabled` is None when unset."""

    enabled: bool | None = None
    boundary: FailureBoundary | None = None
    links: str = "cross"
    placement: str = "span"
    auto_instrument: bool = False
    log_level: str = "warning"
    capture: str = "failures"
    reply: str = "peers"
    peers: tuple[str, ...] = ()
    """Lower case; empty: the default rule."""
    peer_token: str | None = None
    header_bytes: int = 3072
    redact: bool = True
    redact_patterns: tuple[re.Pattern[str], ...] = ()
    redact_with: str | None = None
    redact_fault: str | None = None
    """Why the user's own rules cannot be applied; while this is set, every text is hidden."""
    reason: bool = True
    journal: str | None = None
    """The whole path of a directory."""
    journal_max_bytes: int = 1 << 26
    jaeger_url: str = "http://localhost:16686"
    """Without a slash at its end, as the other two."""
    jaeger_headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """Names in lower case."""
    tempo_url: str = "http://localhost:3200"
    tempo_headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    grafana_url: str | None = None


def from_env(environ: Mapping[str, str]) -> tuple[Settings, list[str]]:
    """The settings that `environ` holds, and a sentence for each problem; a setting with a problem has its default.

    Only where the user's own rules for redaction have a problem there is no default: `redact_fault` holds it then.
    """
    problems: list[str] = []
    values: dict[str, str] = {}
    for name in sorted(name for name in environ if name.startswith(PREFIX)):
        value = environ[name].strip()
        if name not in NAMES:
            problems.append(f"{ascii(name[:80])[1:-1]} is no setting{_did_you_mean(name)}")
        elif name not in CHOICES or value.lower() in CHOICES[name]:
            values[name] = value if name not in CHOICES else value.lower()
        elif value:
            if name == REASON:
                values[name] = "off"  # somebody wanted texts hidden: rather none than all
            problems.append(f"{name}={said(value)} is not one of {', '.join(CHOICES[name])}")
    boundary, redact_with = values.get(BOUNDARY), values.get(REDACT_WITH) or None
    own_patterns, fault = patterns(values.get(REDACT_PATTERNS, ""))
    if redact_with is not None and not _FUNCTION.fullmatch(redact_with):
        fault = f"{REDACT_WITH}={said(redact_with)} is not of the form package.module:function"
    settings = Settings(
        enabled={"true": True, "false": False}.get(values.get(ENABLED, "")),
        boundary=FailureBoundary(boundary) if boundary else None,
        links=values.get(LINKS, "cross"),
        placement=values.get(PLACEMENT, "span"),
        auto_instrument=values.get(AUTO_INSTRUMENT) == "true",
        log_level=values.get(LOG_LEVEL, "warning"),
        capture=values.get(CAPTURE, "failures"),
        reply=values.get(REPLY, "peers"),
        peers=peers(values.get(PEERS, ""), problems),
        peer_token=values.get(PEER_TOKEN) or None,
        header_bytes=number(
            HEADER_BYTES,
            values.get(HEADER_BYTES, ""),
            Settings.header_bytes,
            (256, 65536),
            problems,
        ),
        redact=values.get(REDACT) != "false",
        redact_patterns=own_patterns,
        redact_with=redact_with,
        redact_fault=fault,
        reason=values.get(REASON) != "off",
        journal=folder(JOURNAL, values.get(JOURNAL, ""), problems),
        journal_max_bytes=number(
            JOURNAL_MAX_BYTES,
            values.get(JOURNAL_MAX_BYTES, ""),
            Settings.journal_max_bytes,
            (1 << 16, 1 << 40),
            problems,
        ),
        jaeger_url=base_url(JAEGER_URL, values.get(JAEGER_URL, ""), Settings.jaeger_url, problems),
        jaeger_headers=headers(JAEGER_HEADERS, values.get(JAEGER_HEADERS, ""), problems),
        tempo_url=base_url(TEMPO_URL, values.get(TEMPO_URL, ""), Settings.tempo_url, problems),
        tempo_headers=headers(TEMPO_HEADERS, values.get(TEMPO_HEADERS, ""), problems),
        grafana_url=base_url(GRAFANA_URL, values.get(GRAFANA_URL, ""), None, problems),
    )
    if settings.peer_token is not None and not _TOKEN.fullmatch(settings.peer_token):
        problems.append(
            f"{PEER_TOKEN} is no token that a header can carry: 1 to 4096 visible ASCII characters"
        )
        # Nobody is told and nobody is asked, rather than everybody.
        settings = replace(settings, peer_token=None, reply="never", peers=("",))
    return settings, problems


def checked(environ: Mapping[str, str]) -> Settings:
    """The settings that `environ` holds. Raises ConfigError with every problem."""
    settings, problems = from_env(environ)
    if settings.redact_fault is not None:
        problems.append(settings.redact_fault)
    if problems:
        raise ConfigError(problems)
    return settings


_options: dict[str, str] = {}


def configure(options: Mapping[str, object]) -> None:
    """Take settings from a configuration file, named in lower case without the prefix; the environment wins over them.

    What the environment says is what whoever starts the process says last.
    """
    _options.clear()
    _options.update(
        (PREFIX + str(name).upper(), _as_text(value)) for name, value in options.items()
    )
    current.cache_clear()


def _as_text(value: object) -> str:
    """A value of a configuration file as the environment would hold it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value) if isinstance(value, (list, tuple)) else str(value)


@functools.lru_cache(maxsize=1)
def current() -> Settings:
    """The settings of this process, read at the first call. Problems are logged in one line; the defaults stand in."""
    settings, problems = from_env({**_options, **os.environ})
    if problems:
        warn_once("settings", "failgraph: %s; the default is used", "; ".join(problems))
    if settings.redact_fault is not None:
        warn_once(
            "redact",
            "failgraph: %s; until it is mended every text is hidden",
            settings.redact_fault,
        )
    return settings


def _did_you_mean(name: str) -> str:
    close = difflib.get_close_matches(name.upper(), NAMES, n=1, cutoff=0.75)
    return (
        f"; did you mean {close[0]}?"
        if close
        else f"; after {PREFIX} comes one of {', '.join(name.removeprefix(PREFIX) for name in NAMES)}"
    )
