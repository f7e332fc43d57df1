"""The settings, `FAILGRAPH_*`: one documented constant each, read once, all problems told at once."""

from __future__ import annotations

import difflib
import functools
import ipaddress
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from failgraph.boundary import FailureBoundary
from failgraph.diagnostics import warn_once
from failgraph.errors import ConfigError

PREFIX: Final = "FAILGRAPH_"

ENABLED: Final = "FAILGRAPH_ENABLED"
"""`true`: failgraph attaches itself to every provider of this process; unset, it does so only under
`opentelemetry-instrument`, and code that uses failgraph works; `false`: neither, `record` and `hop` do nothing."""

AUTO_INSTRUMENT: Final = "FAILGRAPH_AUTO_INSTRUMENT"
"""`true`, with `FAILGRAPH_ENABLED=true`: OpenTelemetry's own auto-instrumentation is started too; `false` (default)."""

LOG_LEVEL: Final = "FAILGRAPH_LOG_LEVEL"
"""What failgraph says of itself, on the logger `failgraph`: `warning` (default), `info`, `debug`; the last two go to
standard error where the program has no log handler. `debug` says what was attached, to what, and by which way."""

BOUNDARY: Final = "FAILGRAPH_BOUNDARY"
"""The boundary of a failure that names none: `agent`, `collection`, `environment`, `harness`, `model`,
`resources_server` or `sandbox`; unset, that of the Gym server that it is in, else it is counted and not recorded."""

LINKS: Final = "FAILGRAPH_LINKS"
"""Which causes also get a span link: `cross` (default), a cause in another trace; `all`, each; `off`, none."""

PLACEMENT: Final = "FAILGRAPH_PLACEMENT"
"""Where a failure goes: `span` (default), on the span that was running; `failure_span`, on a short span of its own."""

CAPTURE: Final = "FAILGRAPH_CAPTURE"
"""Which exceptions that escape a hop are failures: `failures` (default), those that are one or have one in their
explicit chain; `all`, any; one that is none itself needs `FAILGRAPH_BOUNDARY`."""

REPLY: Final = "FAILGRAPH_REPLY"
"""Who gets the failure report of a request as reply headers, if it asks for it: `peers` (default), a loopback or
private address without forwarding headers; `always`, everybody; `never`, nobody."""

PEERS: Final = "FAILGRAPH_PEERS"
"""The servers that are asked for reports and believed: host patterns and networks, separated by commas (such as
`*.rollouts.example, 10.0.0.0/8`); by default loopback and private addresses, names without a dot, and those that end
in `.internal`, `.local` or `.svc`."""

PEER_TOKEN: Final = "FAILGRAPH_PEER_TOKEN"  # noqa: S105 - a name
"""A secret that all your processes share: they ask with it, and with `FAILGRAPH_REPLY=peers` only whoever does so gets
reports, from whatever address."""

HEADER_BYTES: Final = "FAILGRAPH_HEADER_BYTES"
"""The most bytes of reply head that reports take: 3072 by default, 256 to 65536."""

REDACT: Final = "FAILGRAPH_REDACT"
"""Whether secrets are taken out of texts: `true` (default) or `false`."""

REDACT_PATTERNS: Final = "FAILGRAPH_REDACT_PATTERNS"
"""Regular expressions of your own for what else is a secret: one, or a JSON list of them. While one does not compile,
every text is hidden."""

REDACT_WITH: Final = "FAILGRAPH_REDACT_WITH"
"""A function of your own, `package.module:function`, that gets each text after the rules and returns what is shown; a
text for which it raises is hidden."""

REASON: Final = "FAILGRAPH_REASON"
"""With `off`, reasons and the messages of foreign errors are left out altogether: only kinds, types and ids remain;
`on` is the default."""

CHOICES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        ENABLED: ("true", "false"),
        AUTO_INSTRUMENT: ("false", "true"),
        LOG_LEVEL: ("warning", "info", "debug"),
        BOUNDARY: tuple(boundary.value for boundary in FailureBoundary),
        LINKS: ("cross", "all", "off"),
        PLACEMENT: ("span", "failure_span"),
        CAPTURE: ("failures", "all"),
        REPLY: ("peers", "always", "never"),
        REDACT: ("true", "false"),
        REASON: ("on", "off"),
    }
)
"""The values that a setting with a choice takes; the case of letters does not matter."""

NAMES: Final = (*CHOICES, PEERS, PEER_TOKEN, HEADER_BYTES, REDACT_PATTERNS, REDACT_WITH)
"""All settings."""

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
            problems.append(f"{name}={environ[name][:80]!a} is not one of {', '.join(CHOICES[name])}")
    boundary, redact_with = values.get(BOUNDARY), values.get(REDACT_WITH) or None
    patterns, fault = _patterns(values.get(REDACT_PATTERNS, ""))
    if redact_with is not None and not _FUNCTION.fullmatch(redact_with):
        fault = f"{REDACT_WITH}={redact_with[:80]!a} is not of the form package.module:function"
    settings = Settings(
        enabled={"true": True, "false": False}.get(values.get(ENABLED, "")),
        boundary=FailureBoundary(boundary) if boundary else None,
        links=values.get(LINKS, "cross"),
        placement=values.get(PLACEMENT, "span"),
        auto_instrument=values.get(AUTO_INSTRUMENT) == "true",
        log_level=values.get(LOG_LEVEL, "warning"),
        capture=values.get(CAPTURE, "failures"),
        reply=values.get(REPLY, "peers"),
        peers=_peers(values.get(PEERS, ""), problems),
        peer_token=values.get(PEER_TOKEN) or None,
        header_bytes=_header_bytes(values.get(HEADER_BYTES, ""), problems),
        redact=values.get(REDACT) != "false",
        redact_patterns=patterns,
        redact_with=redact_with,
        redact_fault=fault,
        reason=values.get(REASON) != "off",
    )
    if settings.peer_token is not None and not _TOKEN.fullmatch(settings.peer_token):
        problems.append(f"{PEER_TOKEN} is no token that a header can carry: 1 to 4096 visible ASCII characters")
        # Nobody is told and nobody is asked, rather than everybody.
        settings = replace(settings, peer_token=None, reply="never", peers=("",))
    return settings, problems


def _peers(value: str, problems: list[str]) -> tuple[str, ...]:
    found = []
    for pattern in filter(None, (part.strip().lower() for part in value.split(","))):
        try:
            found.append(str(ipaddress.ip_network(pattern, strict=False)) if "/" in pattern else pattern)
        except ValueError:
            problems.append(f"{PEERS}: {pattern[:80]!a} is no network")
    return tuple(found)


def _header_bytes(value: str, problems: list[str]) -> int:
    if not value:
        return Settings.header_bytes
    if value.isascii() and value.isdigit() and len(value) < 6 and 256 <= int(value) <= 65536:
        return int(value)
    problems.append(f"{HEADER_BYTES}={value[:80]!a} is no number from 256 to 65536")
    return Settings.header_bytes


def _patterns(value: str) -> tuple[tuple[re.Pattern[str], ...], str | None]:
    """The patterns that `value` holds, one or a JSON list, and what is wrong with them."""
    try:
        listed = json.loads(value)
    except ValueError:
        listed = None
    found = listed if isinstance(listed, list) else [value] if value else []
    compiled = []
    for pattern in found:
        try:
            compiled.append(re.compile(pattern))
        except (re.error, TypeError, RecursionError, OverflowError) as error:
            return (), f"{REDACT_PATTERNS}: {str(pattern)[:80]!a} is no regular expression ({error})"
    return tuple(compiled), None


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
    _options.update((PREFIX + str(name).upper(), _as_text(value)) for name, value in options.items())
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
        warn_once("redact", "failgraph: %s; until it is mended every text is hidden", settings.redact_fault)
    return settings


def _did_you_mean(name: str) -> str:
    close = difflib.get_close_matches(name.upper(), NAMES, n=1, cutoff=0.75)
    return f"; did you mean {close[0]}?" if close else f"; there are {', '.join(NAMES)}"
