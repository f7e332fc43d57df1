"""What a rule of redaction is, and what the rules share.

A rule replaces the secret alone and keeps what people need beside it: names, hosts, the rest of the
message. It takes linear time: its pattern either consumes what it starts to match, or gives up
after a bounded number of characters (`{0,160}?` instead of `*`);
`tests/redaction/test_linear_time.py` holds every pattern to that.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from failgraph.redaction.markers import marker
from failgraph.redaction.rules.pattern import Pattern
from failgraph.redaction.rules.values import is_placeholder

QUOTE = r"""(?:\\{0,15}(?:["']|&quot;|&apos;|&\#(?:3[49]|x2[27]);))"""
"""A quote in a pattern: as an HTML entity, or with the backslashes of a string in a string."""


class Rule(NamedTuple):
    """How to find and replace one kind of secret.

    Attributes:
        needles: Lower-case texts, one of which stands in every text that the rule changes. It is
            tried on no other.
        pattern: Matches the secret, with as much around it as is needed to know it.
        replace: Gets each match and returns the text for it: with a marker in place of the secret,
            or the match itself if it holds no secret.
    """

    needles: frozenset[str]
    pattern: Pattern
    replace: Callable[[re.Match[str]], str]


def rule(
    needles: str, pattern: str, replace: Callable[[re.Match[str]], str], flags: int = re.IGNORECASE
) -> Rule:
    """Make a rule.

    Args:
        needles: Separated by spaces, in lower case.
        pattern: A verbose regular expression: white space in it means nothing.
        replace: See `Rule`; `replace_match` and `replace_second_group` make the usual ones.
        flags: Of the pattern, besides `re.VERBOSE`.
    """
    return Rule(frozenset(needles.split()), Pattern(pattern, re.VERBOSE | flags), replace)


def replace_match(kind: str) -> Callable[[re.Match[str]], str]:
    """Replace all that matched by a marker of this kind."""
    return lambda _: marker(kind)


def replace_second_group(
    kind: str, is_secret: Callable[[str], bool] = lambda _: True
) -> Callable[[re.Match[str]], str]:
    """Keep the first group; replace the second if `is_secret` and it is not a placeholder."""

    def replace(match: re.Match[str]) -> str:
        value = match[2]
        if is_placeholder(value.lstrip("=")) or not is_secret(value):
            return match[0]
        return match[1] + marker(kind)

    return replace
