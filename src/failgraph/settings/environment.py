"""All settings, and how they are read from the environment.

To add one: a constant in `names`, a field here under the same name, and its parser in `_PARSERS`.
"""

from __future__ import annotations

import difflib
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


@dataclass(frozen=True)
class Settings:
    """The settings in force, a field for each variable `FAILGRAPH_*`; `names` says what each means.

    Attributes:
        enabled: None if unset.
        peers: Host patterns and networks in lower case; empty for the default rule.
        redact_fault: Why the user's own rules of redaction cannot be applied. While it is set,
            every text is hidden.
        journal: The absolute path of a directory, or None to keep no journal.
        jaeger_url: Without a slash at the end, as the other two addresses.
        jaeger_headers: Pairs of name, in lower case, and value; a secret, as `tempo_headers`.
    """

    enabled: bool | None = None
    boundary: FailureBoundary | None = None
    links: str = "cross"
    placement: str = "span"
    auto_instrument: bool = False
    log_level: str = "warning"
    capture: str = "failures"
    reply: str = "peers"
    peers: tuple[str, ...] = ()
    peer_token: str | None = field(default=None, repr=False)
    header_bytes: int = 3072
    redact: bool = True
    redact_patterns: tuple[re.Pattern[str], ...] = ()
    redact_with: str | None = None
    redact_fault: str | None = None
    reason: bool = True
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
    LINKS: parse_choice,
    PLACEMENT: parse_choice,
    CAPTURE: parse_choice,
    REPLY: parse_choice,
    PEERS: parse_peers,
    PEER_TOKEN: parse_token,
    HEADER_BYTES: partial(parse_integer, lowest=256, highest=65536),
    REDACT: parse_switch,
    REDACT_PATTERNS: parse_patterns,
    REDACT_WITH: parse_function,
    REASON: parse_switch,
    JOURNAL: parse_directory,
    JOURNAL_MAX_BYTES: partial(parse_integer, lowest=1 << 16, highest=1 << 40),
    JAEGER_URL: partial(parse_base_url, headers_setting=JAEGER_HEADERS),
    JAEGER_HEADERS: parse_headers,
    TEMPO_URL: partial(parse_base_url, headers_setting=TEMPO_HEADERS),
    TEMPO_HEADERS: parse_headers,
    GRAFANA_URL: parse_base_url,
}

_OWN_REDACTION = (REDACT_PATTERNS, REDACT_WITH)

# What applies instead of the default if the value of a privacy setting is bad: the user wanted
# texts hidden, and reports only for clients that know the token.
_STRICTER: Mapping[str, Mapping[str, object]] = {
    REASON: {"reason": False},
    PEER_TOKEN: {"reply": "never", "peers": ("",)},
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
        elif text:
            parsed = _PARSERS[name](name, text)
            if parsed.value is not None:
                fields[name.removeprefix(PREFIX).lower()] = parsed.value
            if parsed.problems and name in _OWN_REDACTION:
                fields["redact_fault"] = parsed.problems[0]
            elif parsed.problems:
                problems += parsed.problems
                stricter.update(_STRICTER.get(name, {}))
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
    close = difflib.get_close_matches(name.upper(), NAMES, n=1, cutoff=0.75)
    unknown = f"unknown setting {ascii(name[:80])[1:-1]}"
    if close:
        return f"{unknown} (did you mean {close[0]}?)"
    return f'{unknown} (run "failgraph doctor" to list all settings)'
