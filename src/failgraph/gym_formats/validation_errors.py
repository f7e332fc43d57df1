"""What pydantic quotes in the text of a validation error: a piece of a prompt, a completion, a row."""

from __future__ import annotations

import re

from failgraph.text import ELLIPSIS

_MAX_CHARACTERS = 65_536
# Gym may have cut the text within.
_INPUT = re.compile(r"\binput_value=.{0,2000}?(?=, input_type=|\Z)", re.DOTALL)


def without_inputs(text: str) -> str:
    """`text`, cut to what a record can need of it, without the inputs that validation errors quote in it."""
    text = text[:_MAX_CHARACTERS]
    return _INPUT.sub(f"input_value={ELLIPSIS}", text) if "input_value=" in text else text
