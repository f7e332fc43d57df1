"""Secrets by the name before them: `password=…`, `"api_key": "…"`, `--token …`, in every spelling that texts have."""

from __future__ import annotations

import re

from failgraph.redaction.rule import is_placeholder, is_word_for_nothing, mark, rule, second

_PASSWORDS = r"(?:password|passwd|passphrase|passwort|pwd|dbpass|(?-i:[A-Z]_PASS))"
_OTHERS = r"""(?:secret(?:[_-]?(?:access[_-]?)?key)?
   |(?:api|access|account|private|signing|encryption|shared|subscription|auth|license)[_\ -]?key
   |token|credentials?|auth(?=\\*["']?\s?[=:]))"""
_ANY = f"(?:{_PASSWORDS}|{_OTHERS})"
_NAME = rf"""(?P<name>(?P<strict>{_PASSWORDS})|{_OTHERS})
             (?:[_-]?(?:\d{{1,2}}|value|string|str|b64|base64|hash|text|raw))?"""
"""A value of a `strict` name, a password, may be any word; of the others a word is prose more often than a secret."""

_QUOTE = r"""(?:["'`]|&quot;|&\#3[49];)"""
_VALUE = rf"""
    (?:
      (?P<escaped>\\*)(?P<quote>{_QUOTE})(?P<quoted>(?:(?!(?<!\\)(?P=escaped)(?P=quote)).)*)
    | (?P<bare>\$\{{[^}}\s]{{0,80}}\}} | [^\s"'`\\,;&<>(){{}}\[\]|，。；、）】」』]+)
    )
"""
"""What follows a name: in quotes, escaped as deep as the text is nested, up to the same quote, or up to a delimiter."""

_SEPARATOR = rf"""
    (?:
      (?:\\*{_QUOTE})?\]?\s{{0,8}}
      (?::\s?[\w.]{{1,40}}(?:\s?\|\s?None)?\s?=(?!=)|=>|:=|==?|:|\s(?:provided|supplied|given|received)\s?:)
    )\s{{0,8}}
"""
"""Between a name and its value; the first form is Python's, with a type."""

_REFERENCE = re.compile(r"\*+|\$\{?\w+\}?|%s|\{\w*\}")
_CODE = re.compile(r"[^\W\d][\w.]*")
_METAVAR = re.compile(r"[A-Z][A-Z_]+")
_SENTENCE = re.compile(
    r"\b(?:is|are|was|must|should|not|required|be|expected|invalid|incorrect|too|cannot|contains?)\b", re.IGNORECASE
)
_FLAG_WORDS = frozenset(
    [
        "is",
        "to",
        "and",
        "or",
        "for",
        "must",
        "option",
        "flag",
        "not",
        "was",
        "requires",
        "required",
        "with",
        "in",
        "on",
        "the",
    ]
)


def _named(match: re.Match[str]) -> str:
    if _is_quoted_prose(match) if match["quoted"] is not None else _is_prose(match):
        return match[0]
    return match["head"] + _opened(match) + mark("secret")


def _opened(match: re.Match[str]) -> str:
    return f"{match['escaped']}{match['quote']}" if match["quoted"] is not None else ""


def _is_quoted_prose(match: re.Match[str]) -> bool:
    """Whether what stands in quotes is no value; a quote may also end what the name is part of."""
    value, strict = match["quoted"], match["strict"] is not None
    if not value.strip() or value[0] in "),;]}" or value.startswith("[redacted:") or is_word_for_nothing(value):
        return True
    if _REFERENCE.fullmatch(value) or (not strict and is_placeholder(value)):
        return True
    if (
        match["name"].lower() == "token"
        and value.isalpha()
        and match.string[max(0, match.start() - 1) : match.start()].endswith(("'", '"'))
    ):
        return True  # of a vocabulary
    return not strict and " " in value and not any(map(str.isdigit, value))


def _is_prose(match: re.Match[str]) -> bool:
    """Whether what follows a name is code or the next word of a sentence, and no value."""
    value, name, head = match["bare"], match["name"].lower(), match["head"]
    strict, after = match["strict"] is not None, match.string[match.end() : match.end() + 2]
    word = value.rstrip(".:!?")
    if is_placeholder(word) and not (strict and word.isdigit()):
        return True
    if name == "pwd" and value.startswith(("/", "~")):
        return True  # the working directory
    if name == "secret" and match.string[max(0, match.start() - 1) : match.start()].endswith(":") and ": " not in head:
        return True  # a part of a name such as an ARN
    if _CODE.fullmatch(word) and (after.startswith(("(", "[")) or (name in word.lower() and word.isidentifier())):
        return True
    prose = word.isalpha() and head[-1:].isspace() and "=" not in head
    return prose and (not strict or re.match(r"\s\w", after) is not None)


def _line(match: re.Match[str]) -> str:
    """A line of its own, as YAML and headers have it: the value is all of it, one word unless it is a password."""
    words = match[3].split()
    if is_placeholder(words[0]) or _SENTENCE.search(match[3]) or len(words) > (4 if match[2] else 1):
        return match[0]
    return match[1] + mark("secret")


def _flag(match: re.Match[str]) -> str:
    value = match["quoted"] if match["quoted"] is not None else match["bare"]
    if is_placeholder(value) or value.lower() in _FLAG_WORDS or _METAVAR.fullmatch(value) or value.startswith("-"):
        return match[0]
    return match["head"] + _opened(match) + mark("secret")


RULES = (
    rule("login", r"(\blogin\s{1,8}\S{1,128}\s{1,8}password\s{1,8})(\S+)", second("secret")),
    rule(
        "identified password",
        r"""((?:\bidentified\s{1,4}(?:with\s{1,4}\S{1,40}\s{1,4})?by|\bpassword)\s{1,4}\\*['"])([^'"\\\r\n]+)""",
        second("secret"),
    ),
    rule("</", rf"(<[\w:.-]{{0,40}}?{_ANY}\d{{0,2}}>)([^<>\s][^<>]{{0,4096}})(?=</)", second("secret")),
    rule(
        "--",
        rf"""(?P<head>(?<![\w-])--?(?:[a-z0-9]{{1,20}}-){{0,4}}{_ANY}
             (?:\s{{1,8}}|\\*["'],\s{{0,8}}(?=\\*["'])))(?!-){_VALUE}""",
        _flag,
    ),
    rule(
        "\", ',",
        rf"""(\\*["'][\w-]{{0,40}}?{_ANY}\\*["'],\s{{0,4}}b?\\*["'])([^"'\\\s]+)(?=\\*["']\s?[)\]])""",
        second("secret"),
    ),
    rule("%3d", rf"({_ANY}%3d)((?:(?!%26)[^\s\"'&<>])+)", second("secret")),
    rule(
        ":",
        rf"""(^[ \t-]*["']?(?:[\w.-]*[_.-])?(?:({_PASSWORDS})|{_OTHERS})["']?[ \t]*:[ \t]+)
             ([^\s"'`\#{{\[|>&*\r\n][^\r\n]*)(?=[\r\n]|\Z)""",
        _line,
        re.IGNORECASE | re.MULTILINE,
    ),
    rule(
        "passw passphrase pwd dbpass _pass secret key token credential auth",
        rf"(?P<head>{_NAME}{_SEPARATOR}(?:[bru]{{1,2}}(?=[\"']))?){_VALUE}",
        _named,
    ),
)
