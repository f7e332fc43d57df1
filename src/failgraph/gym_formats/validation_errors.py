"""The inputs that pydantic quotes in validation errors: pieces of prompts, completions, rows."""

from __future__ import annotations

import re

from failgraph.text import ELLIPSIS

_MAX_CHARACTERS = 65_536
# Up to the end of the text, because Gym may have cut it inside an input.
_INPUT = re.compile(r"\binput_value=.{0,2000}?(?=, input_type=|\Z)", re.DOTALL)


def without_inputs(text: str) -> str:
    """Drop the inputs that validation errors quote in a text, and all beyond 65,536 characters."""
    text = text[:_MAX_CHARACTERS]
    return _INPUT.sub(f"input_value={ELLIPSIS}", text) if "input_value=" in text else text
