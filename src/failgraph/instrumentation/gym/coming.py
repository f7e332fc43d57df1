"""The hooks for the NeMo Gym that is coming, by the names that its documentation gives; each is optional."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from failgraph.instrumentation.target import Target

TARGETS: Final[Mapping[str, tuple[Target, ...]]] = {}
