"""Redaction of one text: by the rules, then by the user's own rules."""

from __future__ import annotations

from collections.abc import Iterable

from failgraph.redaction.markers import HIDDEN, marker
from failgraph.redaction.own_rules import apply_own_rules
from failgraph.redaction.rules import RULES
from failgraph.redaction.rules.random_tokens import replace_random_tokens
from failgraph.settings import current

_SHORTEST_TOKEN = 8
"""Characters; a shorter peer token may be part of any word."""

_RARITY = "zqxjvkw_=@<%;-:/.ygbpmfucldhrsnitaoe"
"""Characters from rare to frequent in text; any other is rarer."""


def _by_rarest_character(needles: Iterable[str]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Group needles by their rarest character; a text without it holds no needle of the group."""
    groups: dict[str, list[str]] = {}
    for needle in sorted(needles):
        groups.setdefault(min(needle, key=_RARITY.find), []).append(needle)
    return tuple((character, tuple(group)) for character, group in groups.items())


_NEEDLES = _by_rarest_character({needle for rule in RULES for needle in rule.needles})

# Letters that `re.IGNORECASE` takes for an ASCII letter though `lower` keeps them: long s, dotted
# I, dotless i.
_FOLDED = str.maketrans("\u017f\u0130\u0131", "sii")

_MAX_CLEAN_LENGTH, _MAX_CLEAN_TEXTS = 64, 1024
_clean_texts: set[str] = set()
"""Short texts without a secret: names of classes and operations, of which a program has few."""


def redact(text: str) -> str:
    """Replace each secret in a text by a marker that names its kind.

    The marker is fixed, so that texts that differ only in a secret become equal. A second redaction
    changes nothing. Never raises: if a rule of the user's fails or the stack has no room left for a
    rule, the whole text is hidden.
    """
    settings = current()
    if settings.redact == "false" or not text:
        return text
    if settings.redact_fault is not None:
        return HIDDEN
    if settings.peer_token is not None and len(settings.peer_token) >= _SHORTEST_TOKEN:
        text = text.replace(settings.peer_token, marker("peer_token"))
    try:
        return apply_own_rules(_apply_rules(text), settings)
    except RecursionError:
        return HIDDEN


def survives_redaction(part: str, whole: str) -> bool:
    """True if `part`, a piece of `whole` in lower case, is in no secret of `whole`.

    Redacting the part alone would not do: without its surroundings, or in lower case, a secret is
    not recognized.
    """
    return part in redact(whole).lower()


def _apply_rules(text: str) -> str:
    """Apply each rule that has one of its needles in the text, then look for random tokens."""
    if text in _clean_texts:
        return text
    redacted = text
    lowered = (text if text.isascii() else text.translate(_FOLDED)).lower()
    present = [
        needle
        for character, needles in _NEEDLES
        if character in lowered
        for needle in needles
        if needle in lowered
    ]
    if present:
        for rule in RULES:
            if not rule.needles.isdisjoint(present):
                redacted = rule.pattern.sub(rule.replace, redacted)
    redacted = replace_random_tokens(redacted)
    if len(text) <= _MAX_CLEAN_LENGTH and redacted == text:
        if len(_clean_texts) >= _MAX_CLEAN_TEXTS:
            _clean_texts.clear()
        _clean_texts.add(text)
    return redacted
