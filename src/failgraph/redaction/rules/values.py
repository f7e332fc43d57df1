"""What a value looks like: a placeholder, a number, words, a path, or a secret.

The rules ask these when the text around a value does not settle the question. From weak to strong
evidence of a secret: `is_mixed` (letters and digits, not words), `is_strong` (that, or one long
word), `is_scrambled` (letters and digits take turns as in no word: enough even in the middle of a
sentence).
"""

from __future__ import annotations

import re

from failgraph.redaction.markers import MARKER_PREFIX
from failgraph.redaction.rules.pattern import Pattern


def words(text: str) -> frozenset[str]:
    """Return the set of words in a text."""
    return frozenset(text.split())


_NOTHING = words(
    """
    none null nil true false yes no undefined unset empty missing hidden redacted
    str bytes string int float bool object any optional secretstr ellipsis
    is must was not required invalid expected unexpected not_given notgiven await yield lambda new
    """
)
"""What may stand in place of a value: a constant, a type, the next word of a sentence."""
_STATES = words(
    """
    dummy fake placeholder changeme change-me example unavailable unspecified unsupported
    unauthorized unauthenticated deprecated authentication authorization credentials configured
    environment oauth oauth2 include omit same-origin insufficient compromised interactive
    application inaccessible unexpectedly
    """
)
"""Long words that follow a name such as `token` in messages and are never its value."""
_PLACEHOLDER = Pattern(
    r"[*x.…\-_•#]+|\$(?-i:[A-Z_][A-Z0-9_]*|[a-z_][a-z0-9_]*)?|\$\{.*|\$\(.*|%\(?\w*\)?s?|\{.*|<.*|\d{1,7}"
    r"|sk-[*x.…]+|\[[a-z_ ]+\]?|!{1,2}\w*|enc\[.*|(?:value|type)_error.*|env:.*|your[-_ ].*"
    r"|(?:[a-z]+[-_ ])?(?:not|no)[-_ ](?:needed|required|set|used|given)"
    r"|(?:self|cls|os|settings|config|cfg|conf|args|kwargs|options|opts|env|request|req|ctx|params|secrets"
    r"|process)\..*",
    re.IGNORECASE | re.DOTALL,
)
"""Masks (`***`), templates (`$TOKEN`, `{key}`, `%s`), numbers, `your-key`, `settings.token`."""
_VARIABLE = Pattern(r"[A-Z][A-Z0-9]*_(?:[A-Z0-9]+_)*(?:KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS?|PAT)")
"""The name of an environment variable that holds a secret, as `OPENAI_API_KEY`."""
_NUMBER = Pattern(
    r"\d{4}-\d\d-\d\d(?:[t ][\d:.,+z-]{1,32})?"
    r"|[-+~]?(?:0x[0-9a-f]{1,16}|\d[\d.,/_]*(?:e[-+]?\d+)?)(?:[mµun]?s|sec|min|h|d|x|%|[kmgtb]b?|[kmg]ib|/s|tok/s|:)?",
    re.IGNORECASE,
)
_SEPARATORS = Pattern(r"[-_./,\s]+")
_PART = Pattern(r"[A-Z]?[a-z]+\d{0,5}|[A-Z]+\d{0,4}|v?\d{1,8}|\d{1,3}[A-Za-z]{1,2}")
_PATH = Pattern(r"(?:~|\.{1,2})?(?:/[a-z0-9_.-]+)+/?|[A-Za-z]:[\\/].*", re.DOTALL)
_CASE_CHANGES = Pattern(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[a-z])")
_DIGIT_CHANGES = Pattern(r"(?<=[A-Za-z])(?=\d)|(?<=\d)(?=[A-Za-z])")


def is_word_for_nothing(value: str) -> bool:
    """True if the value says that there is none, or is a type or a keyword."""
    return value.lower() in _NOTHING


def is_placeholder(value: str) -> bool:
    """True if the value is visibly not a secret: empty, a mask, a reference, a number, a marker."""
    return (
        not value
        or value.startswith(MARKER_PREFIX)
        or value.lower() in _NOTHING
        or value.lower() in _STATES
        or _PLACEHOLDER.fullmatch(value) is not None
        or _VARIABLE.fullmatch(value) is not None
    )


def is_number(value: str) -> bool:
    """True if the value is a number, with or without a unit, or a date."""
    return _NUMBER.fullmatch(value) is not None


def is_path(value: str) -> bool:
    """True if the value is the path of a file, in lower case as key files have it."""
    return _PATH.fullmatch(value) is not None


def is_short_word(value: str) -> bool:
    """True if the value is one word of fewer than 10 letters; a longer one may be a secret."""
    return len(value) < 10 and value.isalpha()


def are_words(value: str) -> bool:
    """True if the value is a short word, or joined words and numbers: `not-found`, `run-12`."""
    parts = [part for part in _SEPARATORS.split(value) if part]
    return is_short_word(value) or (len(parts) > 1 and all(map(_PART.fullmatch, parts)))


def is_wordy(value: str) -> bool:
    """True if every part of the value is a word, with or without a number at its end."""
    return all(_PART.fullmatch(part) for part in _SEPARATORS.split(value) if part)


def is_mixed(value: str) -> bool:
    """True if the value has letters and digits, 8 characters, and is not words or a number."""
    return (
        len(value) >= 8
        and any(map(str.isdigit, value))
        and any(map(str.isalpha, value))
        and not is_number(value)
        and not are_words(value)
    )


def is_strong(value: str) -> bool:
    """True if the value is mixed or one ASCII word of 10 letters: enough behind a weak name."""
    return is_mixed(value) or (len(value) >= 10 and value.isalpha() and value.isascii())


def is_scrambled(value: str) -> bool:
    """True if letters and digits take turns as in no word: a secret even inside a sentence."""
    parts = _SEPARATORS.split(value[:512])
    return any(
        len(part) >= 8 and (len(_DIGIT_CHANGES.findall(part)) >= 3 or _changes_often(part))
        for part in parts
    )


def _changes_often(part: str) -> bool:
    """True if a part changes between cases and digits at 37 % of its characters or more."""
    changes = len(_DIGIT_CHANGES.findall(part)) + len(_CASE_CHANGES.findall(part))
    return len(part) >= 10 and changes >= 0.37 * len(part) and any(map(str.isdigit, part))
