"""The settings, `FAILGRAPH_*`: one documented constant each, read once, all problems told at once."""

from __future__ import annotations

import difflib
import functools
import os
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from failgraph.diagnostics import warn_once
from failgraph.errors import ConfigError
from failgraph.records import FailureBoundary

PREFIX: Final = "FAILGRAPH_"

ENABLED: Final = "FAILGRAPH_ENABLED"
"""Whether failures are recorded: unset or `true`; with `false`, `record` and `hop` do nothing."""

BOUNDARY: Final = "FAILGRAPH_BOUNDARY"
"""The boundary of a failure that names none: `agent`, `collection`, `environment`, `harness`, `model`,
`resources_server` or `sandbox`; unset, such a failure is counted and not recorded."""

LINKS: Final = "FAILGRAPH_LINKS"
"""Which causes also get a span link: `cross` (default), a cause in another trace; `all`, each; `off`, none."""

PLACEMENT: Final = "FAILGRAPH_PLACEMENT"
"""Where a failure goes: `span` (default), on the span that was running; `failure_span`, on a short span of its own."""

CHOICES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        ENABLED: ("true", "false"),
        BOUNDARY: tuple(boundary.value for boundary in FailureBoundary),
        LINKS: ("cross", "all", "off"),
        PLACEMENT: ("span", "failure_span"),
    }
)
"""The values that each setting takes; the case of letters does not matter."""


@dataclass(frozen=True)
class Settings:
    """The settings in force. `enabled` is None when unset."""

    enabled: bool | None = None
    boundary: FailureBoundary | None = None
    links: str = "cross"
    placement: str = "span"


def from_env(environ: Mapping[str, str]) -> tuple[Settings, list[str]]:
    """The settings that `environ` holds, and a sentence for each problem; a setting with a problem has its default."""
    problems: list[str] = []
    values: dict[str, str] = {}
    for name in sorted(name for name in environ if name.startswith(PREFIX)):
        if name not in CHOICES:
            problems.append(f"{ascii(name[:80])[1:-1]} is no setting{_did_you_mean(name)}")
            continue
        value = environ[name].strip().lower()
        if value in CHOICES[name]:
            values[name] = value
        elif value:
            problems.append(f"{name}={environ[name][:80]!a} is not one of {', '.join(CHOICES[name])}")
    boundary = values.get(BOUNDARY)
    settings = Settings(
        enabled={"true": True, "false": False}.get(values.get(ENABLED, "")),
        boundary=FailureBoundary(boundary) if boundary else None,
        links=values.get(LINKS, "cross"),
        placement=values.get(PLACEMENT, "span"),
    )
    return settings, problems


def checked(environ: Mapping[str, str]) -> Settings:
    """The settings that `environ` holds. Raises ConfigError with every problem."""
    settings, problems = from_env(environ)
    if problems:
        raise ConfigError(problems)
    return settings


@functools.lru_cache(maxsize=1)
def current() -> Settings:
    """The settings of this process, read at the first call. Problems are logged in one line; the defaults stand in."""
    settings, problems = from_env(os.environ)
    if problems:
        warn_once("settings", "failgraph: %s; the default is used", "; ".join(problems))
    return settings


def _did_you_mean(name: str) -> str:
    close = difflib.get_close_matches(name.upper(), CHOICES, n=1, cutoff=0.75)
    return f"; did you mean {close[0]}?" if close else f"; there are {', '.join(CHOICES)}"
