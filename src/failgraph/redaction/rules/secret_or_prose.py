"""Decide whether the text after a name such as `password` is a secret or prose.

It may also be code, a reference, or the next word of a sentence. How much proof a value needs
depends on the groups of `named_values.NAME` that matched: the value of a `strict` name, a password,
may be any word; a `weak` name (`pass`, `role_key`) means something else as often; a `token` is
often a piece of text; other names are such as `api_key`.
"""

from __future__ import annotations

import re

from failgraph.redaction.markers import MARKER_PREFIX
from failgraph.redaction.rules.model_tokens import is_model_token
from failgraph.redaction.rules.pattern import Pattern
from failgraph.redaction.rules.values import (
    are_words,
    is_mixed,
    is_number,
    is_path,
    is_placeholder,
    is_scrambled,
    is_short_word,
    is_strong,
    is_word_for_nothing,
    words,
)

_REFERENCE = Pattern(r"\*+|\$\{?(?-i:[A-Z_]+|[a-z_]+)\}?|%s|\{.*\}|\[[a-z_ ]+\]", re.IGNORECASE)
_CODE = Pattern(r"[^\W\d][\w.]*")
_CALL = Pattern(r"[\w.]+[\[(]")
_DOTTED_NAME = Pattern(r"[A-Za-z_]+(?:\.[A-Za-z_]+)+")
_CLASS_NAME = Pattern(r"[A-Z][a-z]+(?:[A-Z][a-z]+)+")
_PATTERN = Pattern(r"\[[^\]]{0,40}\]|\(\?|\{\w{0,40}\}|%s")
"""A part of a regular expression or of a format string."""
_METAVAR = Pattern(r"[A-Z][A-Z_]+")
_BEFORE_MARKER = Pattern(r"(?:\s{0,4}=\s{0,4})?" + re.escape(MARKER_PREFIX))
_VERDICT = Pattern(
    r"\((?:expired|invalid|revoked|rejected|unknown|old|new|wrong)\)|\[\.\.\.\]", re.IGNORECASE
)
"""What a message says of a key right behind it: `key abc(expired)`; so `abc` is not a function."""
_SENTENCE = Pattern(
    r"\b(?:is|are|was|were|must|may|should|not|no|required?|be|has|have|expected|received|invalid"
    r"|incorrect|wrong|too|cannot|could|contains?|attempts?|least|missing|denied|rules?|policy"
    r"|defer|in|for|the|a|an|to|of|at|on|try|left)\b",
    re.IGNORECASE,
)
_WORDS_ABOUT_OPTIONS = words(
    """
    is to and or for must option options arguments flag flags not was requires required with in on
    the can cannot has have had of when before after via instead argument value values given set
    expects needs may should will from are if use by as does without
    """
)


def is_quoted_secret(match: re.Match[str]) -> bool:
    """True if the quoted text behind a name is a secret.

    The quote may also be the closing one of a text that ends in the name.
    """
    value, is_password = match["quoted"], match["strict"] is not None
    if _is_no_value(value) or is_model_token(match, value):
        return False
    if is_password:
        return not (_is_sentence(value) or (_is_hash(match) and is_short_word(value)))
    if is_placeholder(value.strip()) or is_path(value):
        return False
    if _PATTERN.search(value) or _repeats_name(match, value):
        return False
    if match["weak"] is not None and not is_strong(value):
        return False
    if _is_auth(match) and are_words(value.strip()):
        return False
    if " " not in value.strip():
        return True
    return any(map(str.isdigit, value)) and not _is_sentence(value)


def _is_no_value(value: str) -> bool:
    """True if quoted text is punctuation, a reference, a marker, or says that there is no value."""
    if not any(map(str.isalnum, value)) or value[0] in "),;]}" or value.startswith(MARKER_PREFIX):
        return True
    return is_word_for_nothing(value) or _REFERENCE.fullmatch(value) is not None


def _repeats_name(match: re.Match[str], value: str) -> bool:
    """True if the value is an identifier that ends in the name: `api_key="openai_api_key"`."""
    ends_in_name = value.isidentifier() and value.lower().endswith(match["name"].lower())
    return ends_in_name and not is_mixed(value)


def _is_auth(match: re.Match[str]) -> bool:
    """True if the name is just `auth`, whose value is a scheme more often than a secret."""
    return match["name"].lower() == "auth"


def _is_sentence(value: str) -> bool:
    """True if the value is prose.

    It has ten words or more, or three with one of a sentence among them, and none that is mixed.
    """
    parts = value.split()
    return len(parts) > (2 if _SENTENCE.search(value) else 9) and not any(map(is_mixed, parts))


def _is_hash(match: re.Match[str]) -> bool:
    """True if the name ends in `hash`: the value may name an algorithm."""
    return "hash" in match.string[match.end("name") - 4 : match.end("name")].lower()


def is_bare_secret(match: re.Match[str]) -> bool:
    """True if the unquoted value behind a name is a secret, neither code nor prose."""
    value = match["bare"]
    after = match.string[match.end() : match.end() + 12]
    word = value.rstrip(".:!?")
    is_password = match["strict"] is not None
    if not any(map(str.isalnum, value)):
        return False
    if match["open"]:
        is_likely = is_mixed(word) if is_password else is_scrambled(word)
        return is_likely and after.startswith(("]", ")", "}", ">")) and not is_path(word)
    if _BEFORE_MARKER.match(match.string, match.end()):
        return False
    if is_placeholder(word) or is_placeholder(value):
        is_digits = is_password and word.isdigit() and len(word) > 1
        if not is_digits:
            return False
    if _is_code(match, word, after) or is_model_token(match, word):
        return False
    if is_password:
        return not _is_prose_about_password(match, word, after)
    if match["weak"] is not None:
        return is_strong(word)
    return _is_bare_key(match, word, after)


def _is_bare_key(match: re.Match[str], word: str, after: str) -> bool:
    """True if a word behind a name such as `api_key`, `token` or `auth` is a secret."""
    head = match["head"]
    if _is_auth(match) and (are_words(word) or len(word) < 8):
        return False
    if is_short_word(word) or is_path(match["bare"]):
        return False
    if is_number(word) and match["token"] is not None:
        return False
    if word.isalpha() and ("==" in head or _CLASS_NAME.fullmatch(word)):
        return False
    if "provided" in head or "=" in head:
        is_surely_named = match["key"] is not None or match["name"].isupper()
        return is_surely_named or word.isalpha() or not are_words(word)
    if word.isalpha():
        return _is_whole_value(match, after)
    return len(word) >= 8 and not are_words(word)


def _is_whole_value(match: re.Match[str], after: str) -> bool:
    """True if the name is an identifier and nothing follows the value.

    Of `api_key: word`, but not of `secret: word of`.
    """
    name = match["name"]
    before = match.string[max(0, match.start("name") - 1) : match.start("name")]
    is_identifier = "_" in name or before.isalnum() or before in ("_", "-", "{")
    return is_identifier and re.match(r"\s?(?:[,}\])\"'#\\|│]|[\r\n]|\Z)", after) is not None


def _is_code(match: re.Match[str], word: str, after: str) -> bool:
    """True if the value is a directory, part of a name, a call, or a variable named like it."""
    name = match["name"].lower()
    before = match.string[max(0, match.start() - 1) : match.start()]
    if name == "pwd" and (word.startswith(("/", "~")) or len(word) == 1):
        return True  # the working directory
    if name == "secret" and before == ":" and ": " not in match["head"]:
        return True  # a part of a name such as an ARN of AWS
    if not _CODE.fullmatch(word):
        return False
    if after.startswith(("(", "[")):
        return not (_VERDICT.match(after) or is_scrambled(word))
    if name == "key":
        is_named_so = word.lower().endswith(("_key", "apikey", ".key", "accesskey"))
    else:
        is_named_so = name in word.lower()
    return is_named_so and all(map(str.isidentifier, word.split("."))) and not is_mixed(word)


def _is_prose_about_password(match: re.Match[str], word: str, after: str) -> bool:
    """True if a word behind `password` goes on as a sentence, or is the algorithm of a hash."""
    if _is_hash(match):
        return is_short_word(word) or are_words(word)
    if "=" in match["head"] or not match["head"][-1:].isspace():
        return False
    if word.isalpha() and (re.match(r"[ \t]\w", after) is not None or _SENTENCE.fullmatch(word)):
        return True
    return word.isdigit() and len(word) < 3 and re.match(r"\s[a-z]", after) is not None


def is_line_secret(value: str, is_password: bool) -> bool:
    """True if a value up to the end of its line is a secret: one word, or four of a password."""
    value_words = value.split()
    word = value_words[0].rstrip(",.;:!?\"'")
    if MARKER_PREFIX in value or is_placeholder(word) or _SENTENCE.search(value):
        return False
    if len(value_words) > (4 if is_password else 1):
        return False
    names = ("password", "passwd", "token", "key", "secret")
    if word.isidentifier() and word.lower().endswith(names):
        return False
    if is_path(word) or _CALL.match(value) or value.startswith(("[", "(", "$", "{", "!")):
        return False
    if _DOTTED_NAME.fullmatch(word) and not is_password:
        return False
    return is_password or (len(word) >= 8 and not (is_number(word) or are_words(word)))


def is_option_secret(match: re.Match[str]) -> bool:
    """True if the text after an option is its argument, not the next word of a sentence."""
    value = match["quoted"] if match["quoted"] is not None else match["bare"]
    if is_placeholder(value) or value.startswith("-"):
        return False
    if value.lower() in _WORDS_ABOUT_OPTIONS or _METAVAR.fullmatch(value):
        return False
    if match["open"]:
        return is_mixed(value)
    after = match.string[match.end() : match.end() + 36]
    if match["quoted"] is not None and re.match(r"\\{0,31}[\"']\s?:", after):
        return False  # the name of the next field
    if match["weak"] is not None:
        return is_strong(value)
    if match["strict"] is not None:
        return True
    return not (is_short_word(value) or is_number(value) or is_path(value))


def is_item_secret(value: str, is_password: bool) -> bool:
    """True if a string in a list, a call or a neighbour field of the name is a secret."""
    if is_placeholder(value) or " " in value or "://" in value:
        return False
    if is_path(value) or is_number(value):
        return False
    return is_strong(value) or (is_password and len(value) >= 8 and not are_words(value))
