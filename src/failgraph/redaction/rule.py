"""What a rule of redaction is, and what several of them share.

Every rule takes linear time: what it starts to match it either consumes, or gives up after a bounded number of
characters. A rule replaces the secret alone and keeps what people need beside it: names, hosts, what was said.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple


class Rule(NamedTuple):
    """One kind of secret."""

    needles: tuple[str, ...]
    """In lower case; one of them stands in every text that the rule changes, so that it need not be tried on others."""
    pattern: re.Pattern[str]
    replace: Callable[[re.Match[str]], str]


def rule(needles: str, pattern: str, replace: Callable[[re.Match[str]], str], flags: int = re.IGNORECASE) -> Rule:
    """A rule, with its needles in one text; white space in the pattern means nothing."""
    return Rule(tuple(needles.split()), re.compile(pattern, re.VERBOSE | flags), replace)


def mark(kind: str) -> str:
    """What stands for a secret of `kind`: always the same, so that texts that differ in a secret alone are equal."""
    return f"[redacted:{kind}]"


def whole(kind: str) -> Callable[[re.Match[str]], str]:
    """Replaces all that matched."""
    return lambda _: mark(kind)


def second(kind: str) -> Callable[[re.Match[str]], str]:
    """Keeps the first group and replaces the second, unless that is no secret by its look."""
    return lambda match: match[0] if is_placeholder(match[2]) else match[1] + mark(kind)


_PLACEHOLDERS = frozenset(
    {
        *(
            "none",
            "null",
            "nil",
            "true",
            "false",
            "yes",
            "no",
            "undefined",
            "unset",
            "empty",
            "missing",
            "hidden",
            "redacted",
        ),
        *("str", "bytes", "string", "int", "float", "bool", "object", "any", "optional", "secretstr", "ellipsis"),
        *("is", "must", "was", "not", "required", "invalid", "expected", "unexpected", "not_given", "notgiven"),
        *("await", "yield", "lambda", "new"),
    }
)
_STAND_IN = re.compile(
    r"[*x.…\-_•#]+|\$\w*|\$\{.*|\$\(.*|%\(?\w*\)?s?|\{.*|<.*|\d{1,7}|"
    r"(?:self|cls|os|settings|config|cfg|conf|args|kwargs|options|opts|env|request|req|ctx|params|secrets)\..*",
    re.IGNORECASE | re.DOTALL,
)


def is_word_for_nothing(value: str) -> bool:
    """Whether `value` says that there is none, or stands for a type or a reference."""
    return value.lower() in _PLACEHOLDERS


def is_placeholder(value: str) -> bool:
    """Whether `value` is no secret by its look: nothing, a stand-in, a reference, a small number, a marker of ours."""
    return (
        not value
        or value.startswith("[redacted:")
        or is_word_for_nothing(value)
        or _STAND_IN.fullmatch(value) is not None
    )
