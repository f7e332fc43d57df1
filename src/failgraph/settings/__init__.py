"""The settings, `FAILGRAPH_*`.

They are read once. A wrong one costs a user's program one log line; a command refuses to start.
"""

from __future__ import annotations

from failgraph.settings.environment import ParsedSettings, Settings, checked, from_env
from failgraph.settings.names import CHOICES
from failgraph.settings.process import configure, current

__all__ = ["CHOICES", "ParsedSettings", "Settings", "checked", "configure", "current", "from_env"]
