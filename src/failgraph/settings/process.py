"""The settings of this process: from its environment and a configuration file, read once."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Mapping

from failgraph.diagnostics import warn_once
from failgraph.settings.environment import Settings, from_env
from failgraph.settings.names import PREFIX, REDACT_PATTERNS

_file_settings: dict[str, str] = {}


def configure(options: Mapping[str, object]) -> None:
    """Take settings from a configuration file; the environment wins over them.

    Args:
        options: Values by the name of their setting in lower case without the prefix.
    """
    _file_settings.clear()
    for name, value in options.items():
        setting = PREFIX + str(name).upper()
        _file_settings[setting] = _as_text(setting, value)
    current.cache_clear()


def _as_text(name: str, value: object) -> str:
    """Return a value of a configuration file as the environment would hold it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, (list, tuple)):
        return str(value)
    return json.dumps(value) if name == REDACT_PATTERNS else ",".join(map(str, value))


@functools.lru_cache(maxsize=1)
def current() -> Settings:
    """Return the settings of this process. The first call reads them and logs all problems."""
    settings, problems = from_env({**_file_settings, **os.environ})
    if problems:
        warn_once(
            "settings",
            "failgraph: %s; until this is fixed, the default or a stricter value is used",
            "; ".join(problems),
        )
    if settings.redact_fault is not None:
        warn_once(
            "redact",
            "failgraph: %s; every text is hidden until this is fixed",
            settings.redact_fault,
        )
    return settings
