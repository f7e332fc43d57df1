"""Whether what stands behind a name is a secret, or the next word of a sentence, code, or a token of a vocabulary.

A name is `strict`, a password, whose value may be any word; `weak`, which means other things as often (`pass`,
`…_key`); `token`, which in the world of language models is mostly a piece of text; or another, such as `api_key`.
"""

from __future__ import annotations

import re

from failgraph.redaction.markers import MARKER_PREFIX
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

_VOCABULARY = Pattern(
    r"(?<![A-Za-z])(?:decoded|generated|sampled|pad|eos|bos|cls|sep|mask|unk|stop|start|end|begin|special|image|audio|video"
    r"|think|call|tool|next|prev(?:ious)?|first|last|per|output|input|prompt|completion|num|n|total|max|min|avg|mean|median|p\d\d"
    r"|new|ms|logit|top|fim|role|end_?of_?\w{1,8})s?[-_/ ]\Z",
    re.IGNORECASE,
)
"""Before `token`: what no secret is called."""
_OF_A_PARSER = Pattern(
    r"(?:unexpected|unknown|bad|near|invalid|expected|special)\s\Z", re.IGNORECASE
)
_NEIGHBOUR = Pattern(
    r"logprob|\bbytes\b|\brank\b|\bprob|token_id|[\"']?\bid[\"']?\s?[:=]|score", re.IGNORECASE
)
"""Near `token` where it is one of a model's."""
_PIECE = ("\\", "Ġ", "▁", "##", " ", "<", "[", "</")
"""How a piece of text in a vocabulary begins."""

_REFERENCE = Pattern(r"\*+|\$\{?(?-i:[A-Z_]+|[a-z_]+)\}?|%s|\{.*\}|\[[a-z_ ]+\]", re.IGNORECASE)
_CODE = Pattern(r"[^\W\d][\w.]*")
_TYPED = Pattern(r"[\w.]+[\[(]")
_DOTTED = Pattern(r"[A-Za-z_]+(?:\.[A-Za-z_]+)+")
_CLASS = Pattern(r"[A-Z][a-z]+(?:[A-Z][a-z]+)+")
_PATTERN = Pattern(r"\[[^\]]{0,40}\]|\(\?|\{\w{0,40}\}|%s")
"""Of a regular expression or a format."""
_METAVAR = Pattern(r"[A-Z][A-Z_]+")
_BEFORE_MARKER = Pattern(r"(?:\s{0,4}=\s{0,4})?" + re.escape(MARKER_PREFIX))
_ANSWER = Pattern(
    r"\((?:expired|invalid|revoked|rejected|unknown|old|new|wrong)\)|\[\.\.\.\]", re.IGNORECASE
)
_SENTENCE = Pattern(
    r"\b(?:is|are|was|were|must|may|should|not|no|required?|be|has|have|expected|received|invalid|incorrect|wrong|too"
    r"|cannot|could|contains?|attempts?|least|missing|denied|rules?|policy|defer|in|for|the|a|an|to|of|at|on|try|left)\b",
    re.IGNORECASE,
)
_FLAG_WORDS = words(
    """
    is to and or for must option options arguments flag flags not was requires required with in on the can cannot
    has have had of when before after via instead argument value values given set expects needs may should will
    from are if use by as does without
    """
)


def is_quoted_secret(match: re.Match[str]) -> bool:
    """Whether what stands in quotes behind a name is a secret; a quote may also end what the name is part of."""
    value, strict = match["quoted"], match["strict"] is not None
    if _is_no_value(value) or _of_vocabulary(match, value):
        return False
    if strict:
        return not (_is_sentence(value) or (_is_hash(match) and is_short_word(value)))
    if (
        is_placeholder(value.strip())
        or is_path(value)
        or _PATTERN.search(value)
        or _is_name_again(match, value)
    ):
        return False
    if match["weak"] is not None and not is_strong(value):
        return False
    if _is_auth(match) and are_words(value.strip()):
        return False
    return " " not in value.strip() or (any(map(str.isdigit, value)) and not _is_sentence(value))


def _is_no_value(value: str) -> bool:
    if not any(map(str.isalnum, value)) or value[0] in "),;]}" or value.startswith(MARKER_PREFIX):
        return True
    return is_word_for_nothing(value) or _REFERENCE.fullmatch(value) is not None


def _is_name_again(match: re.Match[str], value: str) -> bool:
    return (
        value.isidentifier()
        and value.lower().endswith(match["name"].lower())
        and not is_mixed(value)
    )


def _is_auth(match: re.Match[str]) -> bool:
    """Whether the name is `auth` alone, whose value is a scheme more often than a secret."""
    return match["name"].lower() == "auth"


def _is_sentence(value: str) -> bool:
    parts = value.split()
    return len(parts) > (2 if _SENTENCE.search(value) else 9) and not any(map(is_mixed, parts))


def _is_hash(match: re.Match[str]) -> bool:
    """Whether the name goes on in a word for what only stands for the secret: its hash, its kind."""
    return "hash" in match.string[match.end("name") - 4 : match.end("name")].lower()


def _of_vocabulary(match: re.Match[str], value: str) -> bool:
    """Whether a `token` is a piece of text, as models and parsers have them."""
    if match["token"] is None:
        return False
    before = match.string[max(0, match.start() - 24) : match.start()]
    if _VOCABULARY.search(before):
        return True
    if before[-1:].isalnum() or before[-1:] in ("_", "-"):
        return False
    if value.startswith(_PIECE) or _OF_A_PARSER.search(before):
        return not is_mixed(value)
    if len(value) < 8 and (match["quoted"] is not None or "=" not in match["head"]):
        return True
    around = (
        match.string[max(0, match.start() - 40) : match.start()]
        + match.string[match.end() : match.end() + 80]
    )
    return _NEIGHBOUR.search(around) is not None and (value.isalpha() or len(value) < 12)


def is_bare_secret(match: re.Match[str]) -> bool:
    """Whether a value without quotes is a secret, and neither code nor the next word of a sentence."""
    value, head, strict = match["bare"], match["head"], match["strict"] is not None
    after = match.string[match.end() : match.end() + 12]
    word = value.rstrip(".:!?")
    if not any(map(str.isalnum, value)):
        return False
    if match["open"]:
        return (
            (is_mixed(word) if strict else is_scrambled(word))
            and after.startswith(("]", ")", "}", ">"))
            and not is_path(word)
        )
    if _BEFORE_MARKER.match(match.string, match.end()):
        return False
    if (is_placeholder(word) or is_placeholder(value)) and not (
        strict and word.isdigit() and len(word) > 1
    ):
        return False
    if _is_code(match, word, after) or _of_vocabulary(match, word):
        return False
    if strict:
        return not _is_prose_of_password(match, word, after)
    if match["weak"] is not None:
        return is_strong(word)
    if _is_auth(match) and (are_words(word) or len(word) < 8):
        return False
    if is_short_word(word) or is_path(value) or (is_number(word) and match["token"] is not None):
        return False
    if word.isalpha() and ("==" in head or _CLASS.fullmatch(word)):
        return False
    if "provided" in head or "=" in head:
        return (
            match["key"] is not None
            or match["name"].isupper()
            or word.isalpha()
            or not are_words(word)
        )
    if word.isalpha():
        return _ends_there(match, after)
    return len(word) >= 8 and not are_words(word)


def _ends_there(match: re.Match[str], after: str) -> bool:
    """Whether a name that is an identifier has a value that is all there is: `api_key: word`, not `secret: word of`."""
    name, before = (
        match["name"],
        match.string[max(0, match.start("name") - 1) : match.start("name")],
    )
    is_identifier = "_" in name or before.isalnum() or before in ("_", "-", "{")
    return is_identifier and re.match(r"\s?(?:[,}\])\"'#\\|│]|[\r\n]|\Z)", after) is not None


def _is_code(match: re.Match[str], word: str, after: str) -> bool:
    name = match["name"].lower()
    before = match.string[max(0, match.start() - 1) : match.start()]
    if name == "pwd" and (word.startswith(("/", "~")) or len(word) == 1):
        return True  # the working directory
    if name == "secret" and before == ":" and ": " not in match["head"]:
        return True  # a part of a name such as an ARN
    if not _CODE.fullmatch(word):
        return False
    if after.startswith(("(", "[")):
        return not (_ANSWER.match(after) or is_scrambled(word))
    is_named_so = (
        word.lower().endswith(("_key", "apikey", ".key", "accesskey"))
        if name == "key"
        else name in word.lower()
    )
    return is_named_so and all(map(str.isidentifier, word.split("."))) and not is_mixed(word)


def _is_prose_of_password(match: re.Match[str], word: str, after: str) -> bool:
    if _is_hash(match):
        return is_short_word(word) or are_words(word)
    if "=" in match["head"] or not match["head"][-1:].isspace():
        return False
    if word.isalpha() and (re.match(r"[ \t]\w", after) is not None or _SENTENCE.fullmatch(word)):
        return True
    return word.isdigit() and len(word) < 3 and re.match(r"\s[a-z]", after) is not None


def is_line_secret(value: str, is_password: bool) -> bool:
    """Whether a value that is a line of its own is a secret: one word unless it is of a password."""
    count, word = len(value.split()), value.split()[0].rstrip(",.;:!?\"'")
    if (
        MARKER_PREFIX in value
        or is_placeholder(word)
        or _SENTENCE.search(value)
        or count > (4 if is_password else 1)
    ):
        return False
    if word.isidentifier() and word.lower().endswith(
        ("password", "passwd", "token", "key", "secret")
    ):
        return False
    if is_path(word) or _TYPED.match(value) or value.startswith(("[", "(", "$", "{", "!")):
        return False
    if _DOTTED.fullmatch(word) and not is_password:
        return False
    return is_password or (len(word) >= 8 and not (is_number(word) or are_words(word)))


def is_option_secret(match: re.Match[str]) -> bool:
    """Whether what follows an option is its value, and not the next word of a sentence about it."""
    value = match["quoted"] if match["quoted"] is not None else match["bare"]
    if (
        is_placeholder(value)
        or value.lower() in _FLAG_WORDS
        or _METAVAR.fullmatch(value)
        or value.startswith("-")
    ):
        return False
    if match["open"]:
        return is_mixed(value)
    if match["quoted"] is not None and re.match(
        r"\\{0,31}[\"']\s?:", match.string[match.end() : match.end() + 36]
    ):
        return False  # the name of the next field
    if match["weak"] is not None:
        return is_strong(value)
    return match["strict"] is not None or not (
        is_short_word(value) or is_number(value) or is_path(value)
    )


def is_item_secret(value: str, is_password: bool) -> bool:
    """Whether one of the values in a list, a call or a field beside that of the name is a secret."""
    if (
        is_placeholder(value)
        or " " in value
        or "://" in value
        or is_path(value)
        or is_number(value)
    ):
        return False
    return is_strong(value) or (is_password and len(value) >= 8 and not are_words(value))
