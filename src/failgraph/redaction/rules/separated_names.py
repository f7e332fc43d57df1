"""Secrets whose name stands apart from them: in another field, before a list or a call, in a tag, in a sentence."""

from __future__ import annotations

import re

from failgraph.redaction.markers import marker
from failgraph.redaction.rules.named_values import ANY, PASSWORDS
from failgraph.redaction.rules.pattern import Pattern
from failgraph.redaction.rules.rule import QUOTE, replace_second_group, rule
from failgraph.redaction.rules.secret_or_prose import is_item_secret
from failgraph.redaction.rules.values import (
    are_words,
    is_placeholder,
    is_scrambled,
    is_strong,
    words,
)

_WRAPPERS = words(
    "secretstr secretbytes secret field str bytes quote quote_plus password string value"
)
_GETTERS = words("getenv get pop setdefault env getattr")
_ITEM = Pattern(
    r"""(?P<open>b?(?P<escaped>\\{0,15})(?P<quote>["']))(?P<value>[^"'\r\n]{0,512}?)(?P<close>(?P=escaped)(?P=quote))
    (?P<key>\s{0,4}:)?""",
    re.VERBOSE,
)
_FIELD = r"(?:name|key|parameterkey|header)"


def _contained(match: re.Match[str]) -> str:
    """What a list, a dict or a call behind a name holds, each judged for itself; of a getter, its default alone."""
    call = match["call"].rpartition(".")[2].lower()
    if call not in _WRAPPERS and call not in _GETTERS and call:
        return match[0]
    is_password, first = match["password"] is not None, call in _GETTERS

    def replace(item: re.Match[str]) -> str:
        nonlocal first
        skipped, first = first or item["key"] is not None, False
        value = item["value"]
        if skipped or not (
            is_item_secret(value, is_password) or (call in _WRAPPERS and _is_wrapped(value))
        ):
            return item[0]
        return item["open"] + marker("secret") + item["close"]

    return match["head"] + _ITEM.sub(replace, match["items"])


def _is_wrapped(value: str) -> bool:
    return len(value) >= 8 and not is_placeholder(value) and not are_words(value)


def _beside(match: re.Match[str]) -> str:
    value = match["value"]
    is_one = is_item_secret(value, match["password"] is not None) or (
        match["variable"] is not None and len(value) >= 8 and not is_placeholder(value)
    )
    return match["head"] + marker("secret") if is_one else match[0]


def _pair(match: re.Match[str]) -> str:
    """The second of two strings; names of columns and keys stand like that too."""
    value, is_upper = match["value"], match["name"].isupper()
    if (
        is_placeholder(value)
        or value == match["name"]
        or (are_words(value) and not (is_upper and match["password"]))
    ):
        return match[0]
    if (
        value.isalpha()
        and not is_upper
        and match.string[max(0, match.start() - 1) : match.start()] not in ("(", "[")
    ):
        return match[0]  # one more name
    is_one = is_strong(value) or match["password"] is not None or is_upper
    return match["head"] + marker("secret") if is_one else match[0]


def _in_tag(value: str) -> bool:
    return not are_words(value)


def _in_sql(match: re.Match[str]) -> str:
    before, value = match.string[max(0, match.start() - 80) : match.start()].lower(), match[2]
    is_sql = (
        re.search(r"\b(?:role|user|login|encrypted|grant|alter|create|set)\b", before) is not None
    )
    is_one = is_sql and match[1].strip()[:1].isupper() and not match[1].strip()[1:2].islower()
    is_one = is_one or (is_sql and " " not in value) or is_scrambled(value)
    return match[1] + marker("secret") if is_one and not is_placeholder(value) else match[0]


def _login(match: re.Match[str]) -> str:
    """Of a `.netrc`; a sentence about a login has no machine before it and words behind it."""
    before = match.string[max(0, match.start() - 160) : match.start()].lower()
    is_one = is_scrambled(match[2]) or "machine" in before or before.rstrip().endswith("default")
    return match[1] + marker("secret") if is_one and not is_placeholder(match[2]) else match[0]


RULES = (
    rule("login", r"(\blogin\s{1,8}\S{1,128}\s{1,8}password\s{1,8})(\S+)", _login),
    rule(
        "identified password",
        r"""((?:\bidentified\s{1,4}(?:with\s{1,4}\S{1,40}\s{1,4})?by(?:\s{1,4}password)?|\bpassword)\s{1,4}\\{0,15}['"])
            ([^'"\\\r\n]+)""",
        _in_sql,
    ),
    rule(
        "identified",
        r"(\bidentified\s{1,4}by\s{1,4})([^\s\"'\\;]+)",
        replace_second_group("secret", is_scrambled),
    ),
    rule(
        "</ &lt;/",
        rf"""((?:<|&lt;)[\w:.-]{{0,40}}?(?:{ANY}|(?<![a-z])pass)\d{{0,2}}(?:\s[^<>]{{0,80}})?(?:>|&gt;)(?:<!\[CDATA\[)?)
             ([^<>\s&\]][^<>&\]]{{0,4096}})(?=(?:\]\]>)?(?:</|&lt;/))""",
        replace_second_group("secret", _in_tag),
    ),
    rule(
        "\", ', ;,",
        rf"""(?P<head>(?<!\\){QUOTE}(?P<name>[\w-]{{0,40}}?(?:(?P<password>{PASSWORDS})|{ANY})){QUOTE},\s{{0,4}}b?{QUOTE})
             (?P<value>[^"'\\]{{1,512}})(?={QUOTE}\s?[)\]])""",
        _pair,
    ),
    rule(
        "value",
        rf"""(?P<head>\b{_FIELD}{QUOTE}?\s?[:=]\s{{0,4}}{QUOTE}?[\w-]{{0,40}}?
             (?:(?P<password>{PASSWORDS})|(?P<variable>(?-i:[A-Z]_(?:KEY|TOKEN|SECRET)))|{ANY}|session_?(?:id)?
               |x-[\w-]{{1,40}}key)\d?{QUOTE}?(?:[\s,;]|\\{{1,7}}[nr]){{1,12}}
             {QUOTE}?(?:parameter)?value{QUOTE}?\s?[:=]\s{{0,4}}{QUOTE}?)(?P<value>[^\s"'\\,;\}}]+)""",
        _beside,
    ),
    rule(
        "%3d %3a",
        rf"({ANY}%3[ad](?!%2[27]))((?:(?!%26)[^\s\"'&<>])+)",
        replace_second_group("secret"),
    ),
    rule(
        "form-data",
        rf"""(form-data;[^\r\n]{{0,80}}?\bname=\\{{0,15}}"[\w-]{{0,40}}?{ANY}\\{{0,15}}"\s{{0,4}}(?:\\{{1,7}}[nr]|\s){{2,8}})([^\s\\]+)""",
        replace_second_group("secret"),
    ),
    rule(
        "pass pwd kennwort 密码 secret key token credential auth",
        rf"""(?P<head>(?:(?P<password>{PASSWORDS})|{ANY})s?{QUOTE}?\]?\s{{0,8}}(?::\s?[\w.]{{1,40}}\s?=|=>|[:=])\s{{0,8}})
             (?P<items>(?P<call>[\w.]{{0,60}})[\[({{]
               (?:\s|,|\w{{1,30}}\s?=|b?(?P<q>\\{{0,15}}["'])[^"'\r\n]{{0,512}}?(?P=q):?){{1,64}})""",
        _contained,
    ),
    rule(
        "token pass key",
        r"""((?:pass(?:word|phrase|code)|\btoken|\b(?:api|access|secret)[_\ ]?key)
              (?:\s(?:\([\w.-]{1,40}\)|(?:for|of)\s[^\s:]{1,80}(?:\s[^\s:]{1,80})?):)?
              (?:\s{1,16}(?:(?:is|was|set\ to|changed\ from|reset\ to|now|word):?\s)?
                |[ \t]{0,8}(?:\||│|->|\.{2,20})\s{0,8})[<(\[]?(?:\\{0,15}["'`])?)
             (?=\w{0,64}\d)([^\s"'`<>()\[\],;|│\\]{8,})""",
        replace_second_group("secret", is_scrambled),
    ),
)
