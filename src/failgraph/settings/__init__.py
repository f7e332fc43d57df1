"""The settings, `FAILGRAPH_*`: read once; a wrong one costs a program one log line and a command its start."""

from __future__ import annotations

from failgraph.settings.environment import ParsedSettings, Settings, checked, from_env
from failgraph.settings.names import CHOICES
from failgraph.settings.process import configure, current

__all__ = ["CHOICES", "ParsedSettings", "Settings", "checked", "configure", "current", "from_env"]
