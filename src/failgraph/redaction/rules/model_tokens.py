"""Tokens of language models and parsers: pieces of text behind the name `token`, not secret."""

from __future__ import annotations

import re

from failgraph.redaction.rules.pattern import Pattern
from failgraph.redaction.rules.values import is_mixed

_BEFORE = Pattern(
    r"(?<![A-Za-z])(?:decoded|generated|sampled|pad|eos|bos|cls|sep|mask|unk|stop|start|end|begin"
    r"|special|image|audio|video|think|call|tool|next|prev(?:ious)?|first|last|per|output|input"
    r"|prompt|completion|num|n|total|max|min|avg|mean|median|p\d\d"
    r"|new|ms|logit|top|fim|role|end_?of_?\w{1,8})s?[-_/ ]\Z",
    re.IGNORECASE,
)
"""What stands before `token` in names that no secret has: `eos_token`, `max tokens`."""
_BEFORE_OF_PARSER = Pattern(
    r"(?:unexpected|unknown|bad|near|invalid|expected|special)\s\Z", re.IGNORECASE
)
_NEIGHBOUR = Pattern(
    r"logprob|\bbytes\b|\brank\b|\bprob|token_id|[\"']?\bid[\"']?\s?[:=]|score", re.IGNORECASE
)
"""What stands near a token that a model generated."""
_PIECE = ("\\", "Ġ", "▁", "##", " ", "<", "[", "</")
"""How a piece of text in a vocabulary begins."""


def is_model_token(match: re.Match[str], value: str) -> bool:
    """True if a value behind the name `token` is a piece of text, as models and parsers have them.

    Args:
        match: A match of `named_values.NAME` with a value.
        value: The value.
    """
    if match["token"] is None:
        return False
    before = match.string[max(0, match.start() - 24) : match.start()]
    if _BEFORE.search(before):
        return True
    if before[-1:].isalnum() or before[-1:] in ("_", "-"):
        return False
    if value.startswith(_PIECE) or _BEFORE_OF_PARSER.search(before):
        return not is_mixed(value)
    if len(value) < 8 and (match["quoted"] is not None or "=" not in match["head"]):
        return True
    around = (
        match.string[max(0, match.start() - 40) : match.start()]
        + match.string[match.end() : match.end() + 80]
    )
    return _NEIGHBOUR.search(around) is not None and (value.isalpha() or len(value) < 12)
