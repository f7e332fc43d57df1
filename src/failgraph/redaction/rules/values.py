"""What a value looks like: nothing, a stand-in, a number, words, a path, or what nobody would write but as a secret."""

from __future__ import annotations

import re

from failgraph.redaction.markers import MARKER_PREFIX
from failgraph.redaction.rules.pattern import Pattern


def words(text: str) -> frozenset[str]:
    """The words of `text`, each as long as white space lets it be."""
    return frozenset(text.split())


_NOTHING = words(
    """
    none null nil true false yes no undefined unset empty missing hidden redacted
    str bytes string int float bool object any optional secretstr ellipsis
    is must was not required invalid expected unexpected not_given notgiven await yield lambda new
    """
)
_STATES = words(
    """
    dummy fake placeholder changeme change-me example unavailable unspecified unsupported unauthorized unauthenticated
    deprecated authentication authorization credentials configured environment oauth oauth2 include omit same-origin
    insufficient compromised interactive application inaccessible unexpectedly
    """
)
_STAND_IN = Pattern(
    r"[*x.…\-_•#]+|\$(?-i:[A-Z_][A-Z0-9_]*|[a-z_][a-z0-9_]*)?|\$\{.*|\$\(.*|%\(?\w*\)?s?|\{.*|<.*|\d{1,7}"
    r"|sk-[*x.…]+|\[[a-z_ ]+\]?|!{1,2}\w*|enc\[.*|(?:value|type)_error.*|env:.*|your[-_ ].*"
    r"|(?:[a-z]+[-_ ])?(?:not|no)[-_ ](?:needed|required|set|used|given)"
    r"|(?:self|cls|os|settings|config|cfg|conf|args|kwargs|options|opts|env|request|req|ctx|params|secrets"
    r"|process)\..*",
    re.IGNORECASE | re.DOTALL,
)
_VARIABLE = Pattern(r"[A-Z][A-Z0-9]*_(?:[A-Z0-9]+_)*(?:KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS?|PAT)")
_NUMBER = Pattern(
    r"\d{4}-\d\d-\d\d(?:[t ][\d:.,+z-]{1,32})?"
    r"|[-+~]?(?:0x[0-9a-f]{1,16}|\d[\d.,/_]*(?:e[-+]?\d+)?)(?:[mµun]?s|sec|min|h|d|x|%|[kmgtb]b?|[kmg]ib|/s|tok/s|:)?",
    re.IGNORECASE,
)
_BETWEEN = Pattern(r"[-_./,\s]+")
_PART = Pattern(r"[A-Z]?[a-z]+\d{0,5}|[A-Z]+\d{0,4}|v?\d{1,8}|\d{1,3}[A-Za-z]{1,2}")
_PATH = Pattern(r"(?:~|\.{1,2})?(?:/[a-z0-9_.-]+)+/?|[A-Za-z]:[\\/].*", re.DOTALL)
_CASES = Pattern(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[a-z])")
_TURNS = Pattern(r"(?<=[A-Za-z])(?=\d)|(?<=\d)(?=[A-Za-z])")


def is_word_for_nothing(value: str) -> bool:
    """Whether `value` says that there is none, or stands for a type or a reference."""
    return value.lower() in _NOTHING


def is_placeholder(value: str) -> bool:
    """Whether `value` is no secret by its look: nothing, a stand-in, a reference, a small number, a marker of ours."""
    return (
        not value
        or value.startswith(MARKER_PREFIX)
        or value.lower() in _NOTHING
        or value.lower() in _STATES
        or _STAND_IN.fullmatch(value) is not None
        or _VARIABLE.fullmatch(value) is not None
    )


def is_number(value: str) -> bool:
    """Whether `value` is a number, with a unit or without, or a date."""
    return _NUMBER.fullmatch(value) is not None


def is_path(value: str) -> bool:
    """Whether `value` names a file, in the small letters that files of keys have."""
    return _PATH.fullmatch(value) is not None


def is_short_word(value: str) -> bool:
    """Whether `value` is a word as prose, code and configuration have them; a longer one may be a secret."""
    return len(value) < 10 and value.isalpha()


def are_words(value: str) -> bool:
    """Whether `value` is a short word, or words and small numbers joined: `not-found`, `created_at`, `run-12`."""
    parts = [part for part in _BETWEEN.split(value) if part]
    return is_short_word(value) or (len(parts) > 1 and all(map(_PART.fullmatch, parts)))


def is_wordy(value: str) -> bool:
    """Whether every part of `value` is a word, with a number at its end or without."""
    return all(_PART.fullmatch(part) for part in _BETWEEN.split(value) if part)


def is_mixed(value: str) -> bool:
    """Whether `value` has letters and digits, as many as a secret has, and is neither words nor a number."""
    return (
        len(value) >= 8
        and any(map(str.isdigit, value))
        and any(map(str.isalpha, value))
        and not is_number(value)
        and not are_words(value)
    )


def is_strong(value: str) -> bool:
    """Whether `value` is a secret where its name alone does not say so: mixed, or one long word."""
    return is_mixed(value) or (len(value) >= 10 and value.isalpha() and value.isascii())


def is_scrambled(value: str) -> bool:
    """Whether `value` is a secret in the middle of a sentence: its letters and digits take turns as in no word."""
    parts = _BETWEEN.split(value[:512])
    return any(
        len(part) >= 8 and (len(_TURNS.findall(part)) >= 3 or _changes_often(part))
        for part in parts
    )


def _changes_often(part: str) -> bool:
    turns = len(_TURNS.findall(part)) + len(_CASES.findall(part))
    return len(part) >= 10 and turns >= 0.37 * len(part) and any(map(str.isdigit, part))
