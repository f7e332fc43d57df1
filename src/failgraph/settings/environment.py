"""All settings, and how they are read from the environment.

To add one: a constant in `names`, which also goes into `NAMES`, and into `CHOICES` if it takes one
of a few values; here, a field under the same name in lower case, and its parser in `_PARSERS`. A
secret also needs `repr=False`, and a place in `_SECRET` of `doctor/configuration.py`; what protects
privacy, a stricter value in `_STRICTER`; what another setting can make useless, a reason in
`effects`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from failgraph.errors import ConfigError
from failgraph.failure.boundary import FailureBoundary
from failgraph.settings.names import (
    AUTO_INSTRUMENT,
    BOUNDARY,
    CAPTURE,
    ENABLED,
    EVENTS,
    FORMER,
    GRAFANA_URL,
    JAEGER_HEADERS,
    JAEGER_URL,
    JOURNAL,
    JOURNAL_MAX_BYTES,
    LOG_LEVEL,
    NAMES,
    PEER_TOKEN,
    PEERS,
    PREFIX,
    REDACT,
    REDACT_PATTERNS,
    REDACT_WITH,
    TEMPO_HEADERS,
    TEMPO_URL,
)
from failgraph.settings.values import (
    Parsed,
    parse_base_url,
    parse_boundary,
    parse_choice,
    parse_directory,
    parse_function,
    parse_headers,
    parse_integer,
    parse_patterns,
    parse_peers,
    parse_switch,
    parse_token,
)
from failgraph.text import close_to


@dataclass(frozen=True)
class Settings:
    """The settings in force, a field for each variable `FAILGRAPH_*`; `names` says what each means.

    Attributes:
        enabled: None if unset; True also if only `auto_instrument` is set.
        peers: `private`, host patterns and networks in lower case; empty for nobody.
        redact: `true`, `false` or `all`.
        redact_fault: Why the user's own rules of redaction cannot be applied. While it is set,
            every text is hidden.
        journal: The absolute path of a directory, or None to keep no journal.
        jaeger_url: Without a slash at the end, as the other two addresses.
        jaeger_headers: Pairs of name, in lower case, and value; a secret, as `tempo_headers`.
    """

    enabled: bool | None = None
    boundary: FailureBoundary | None = None
    auto_instrument: bool = False
    log_level: str = "warning"
    capture: str = "failures"
    events: str = "span"
    peers: tuple[str, ...] = ("private",)
    peer_token: str | None = field(default=None, repr=False)
    redact: str = "true"
    redact_patterns: tuple[re.Pattern[str], ...] = ()
    redact_with: str | None = None
    redact_fault: str | None = None
    journal: str | None = None
    journal_max_bytes: int = 1 << 26
    jaeger_url: str = "http://localhost:16686"
    jaeger_headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    tempo_url: str = "http://localhost:3200"
    tempo_headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    grafana_url: str | None = None


class ParsedSettings(NamedTuple):
    """The settings that an environment holds, and what is wrong with it.

    Attributes:
        settings: The usable ones; the others have their default, or their stricter value if they
            protect privacy.
        problems: One sentence for each problem, in the order of the variables' names, except
            `settings.redact_fault`.
    """

    settings: Settings
    problems: tuple[str, ...]


_PARSERS: Mapping[str, Callable[[str, str], Parsed[Any]]] = {
    ENABLED: parse_switch,
    AUTO_INSTRUMENT: parse_switch,
    LOG_LEVEL: parse_choice,
    BOUNDARY: parse_boundary,
    CAPTURE: parse_choice,
    EVENTS: parse_choice,
    PEERS: parse_peers,
    PEER_TOKEN: parse_token,
    REDACT: parse_choice,
    REDACT_PATTERNS: parse_patterns,
    REDACT_WITH: parse_function,
    JOURNAL: parse_directory,
    JOURNAL_MAX_BYTES: partial(parse_integer, lowest=1 << 16, highest=1 << 40),
    JAEGER_URL: partial(parse_base_url, headers_setting=JAEGER_HEADERS),
    JAEGER_HEADERS: parse_headers,
    TEMPO_URL: partial(parse_base_url, headers_setting=TEMPO_HEADERS),
    TEMPO_HEADERS: parse_headers,
    GRAFANA_URL: parse_base_url,
}

_OWN_REDACTION = (REDACT_PATTERNS, REDACT_WITH)

# What applies instead of the default if a privacy setting has a bad value or a former name: the
# user wanted texts hidden, or reports only for some clients.
_STRICTER: Mapping[str, Mapping[str, object]] = {
    REDACT: {"redact": "all"},
    "FAILGRAPH_REASON": {"redact": "all"},
    PEER_TOKEN: {"peers": ()},
    "FAILGRAPH_REPLY": {"peers": ()},
}


def from_env(environ: Mapping[str, str]) -> ParsedSettings:
    """Parse the settings of an environment. An empty variable counts as unset."""
    fields: dict[str, Any] = {}
    stricter: dict[str, Any] = {}
    problems: list[str] = []
    for name in sorted(name for name in environ if name.startswith(PREFIX)):
        text = environ[name].strip()
        if name not in _PARSERS:
            problems.append(_unknown(name))
            stricter.update(_STRICTER.get(name, {}) if text else {})
        elif text:
            parsed = _PARSERS[name](name, text)
            if parsed.value is not None:
                fields[name.removeprefix(PREFIX).lower()] = parsed.value
            if parsed.problems and name in _OWN_REDACTION:
                fields["redact_fault"] = parsed.problems[0]
            elif parsed.problems:
                problems += parsed.problems
                stricter.update(_STRICTER.get(name, {}))
    if fields.get("auto_instrument") and not environ.get(ENABLED, "").strip():
        fields["enabled"] = True
    return ParsedSettings(Settings(**{**fields, **stricter}), tuple(problems))


def checked(environ: Mapping[str, str]) -> Settings:
    """Parse the settings of an environment, for a command that should not start with wrong ones.

    Raises:
        ConfigError: With every problem, if there is any.
    """
    settings, problems = from_env(environ)
    if settings.redact_fault is not None:
        problems = (*problems, settings.redact_fault)
    if problems:
        raise ConfigError(list(problems))
    return settings


def _unknown(name: str) -> str:
    """Return the problem of a variable with the prefix of settings that is not one."""
    if name in FORMER:
        return f"unknown setting {name} ({FORMER[name]})"
    # The prefix, which all names share, would make any two of them alike.
    names = [setting.removeprefix(PREFIX) for setting in NAMES]
    close = close_to(name.upper().removeprefix(PREFIX), names)
    unknown = f"unknown setting {ascii(name[:80])[1:-1]}"
    if close is not None:
        return f"{unknown} (did you mean {PREFIX}{close}?)"
    return f'{unknown} (run "failgraph doctor -v" to list all settings)'
