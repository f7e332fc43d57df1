"""What a rule of redaction is, and what several of them share.

Every rule takes linear time: what it starts to match it either consumes, or gives up after a bounded number of
characters. A rule replaces the secret alone and keeps what people need beside it: names, hosts, what was said.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from failgraph.redaction.pattern import Pattern
from failgraph.redaction.values import MARK, is_placeholder

QUOTE = r"""(?:\\{0,15}(?:["']|&quot;|&apos;|&\#(?:3[49]|x2[27]);))"""
"""One quote in a pattern, escaped as deep as text is nested in text."""


class Rule:
    """One kind of secret."""

    def __init__(
        self,
        needles: frozenset[str],
        source: str,
        flags: int,
        replace: Callable[[re.Match[str]], str],
    ) -> None:
        self.needles = needles
        """In lower case; one of them stands in every text that the rule changes: it need not be tried on others."""
        self.pattern = Pattern(source, flags)
        """What it replaces."""
        self.replace = replace


def rule(
    needles: str, pattern: str, replace: Callable[[re.Match[str]], str], flags: int = re.IGNORECASE
) -> Rule:
    """A rule, with its needles in one text; white space in the pattern means nothing."""
    return Rule(frozenset(needles.split()), pattern, re.VERBOSE | flags, replace)


def mark(kind: str) -> str:
    """What stands for a secret of `kind`: always the same, so that texts that differ in a secret alone are equal."""
    return f"{MARK}{kind}]"


def whole(kind: str) -> Callable[[re.Match[str]], str]:
    """Replaces all that matched."""
    return lambda _: mark(kind)


def second(
    kind: str, is_one: Callable[[str], bool] = lambda _: True
) -> Callable[[re.Match[str]], str]:
    """Keeps the first group and replaces the second, unless that is no secret by its look or by `is_one`."""

    def replace(match: re.Match[str]) -> str:
        value = match[2]
        return (
            match[0]
            if is_placeholder(value.lstrip("=")) or not is_one(value)
            else match[1] + mark(kind)
        )

    return replace
