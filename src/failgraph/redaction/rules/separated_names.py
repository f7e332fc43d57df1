"""Secrets whose name is not right before them.

The name may stand in another field, before a list or a call, in a tag, or earlier in a sentence.
"""

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
"""Functions whose argument is the secret: `password=SecretStr("…")`."""
_GETTERS = words("getenv get pop setdefault env getattr")
"""Functions that take a name and a default: `token=os.getenv("TOKEN", "…")`."""
_ITEM = Pattern(
    r"""(?P<open>b?(?P<escaped>\\{0,15})(?P<quote>["']))(?P<value>[^"'\r\n]{0,512}?)(?P<close>(?P=escaped)(?P=quote))
    (?P<key>\s{0,4}:)?""",
    re.VERBOSE,
)
"""A string in a list, a dict or a call; `key` if it is a key of the dict."""
_FIELD = r"(?:name|key|parameterkey|header)"
_SQL = Pattern(r"\b(?:role|user|login|encrypted|grant|alter|create|set)\b")


def _redact_items(match: re.Match[str]) -> str:
    """Replace the secrets among the strings of a list, a dict or a call behind a name.

    Of a getter, only its default may be one.
    """
    function = match["call"].rpartition(".")[2].lower()
    if function and function not in _WRAPPERS and function not in _GETTERS:
        return match[0]
    is_password = match["password"] is not None
    is_first = True

    def replace(item: re.Match[str]) -> str:
        nonlocal is_first
        is_name = item["key"] is not None or (is_first and function in _GETTERS)
        is_first = False
        value = item["value"]
        is_wrapped = function in _WRAPPERS and _is_long_value(value)
        if is_name or not (is_wrapped or is_item_secret(value, is_password)):
            return item[0]
        return item["open"] + marker("secret") + item["close"]

    return match["head"] + _ITEM.sub(replace, match["items"])


def _is_long_value(value: str) -> bool:
    """True if a value has 8 characters or more and is neither a placeholder nor words."""
    return len(value) >= 8 and not is_placeholder(value) and not are_words(value)


def _redact_value_field(match: re.Match[str]) -> str:
    """Replace the value of a field `value` beside a field `name`."""
    value = match["value"]
    is_of_variable = match["variable"] is not None and len(value) >= 8 and not is_placeholder(value)
    if is_of_variable or is_item_secret(value, match["password"] is not None):
        return match["head"] + marker("secret")
    return match[0]


def _redact_pair(match: re.Match[str]) -> str:
    """Replace the second of two strings, unless it is one more name, as in a list of columns."""
    name, value = match["name"], match["value"]
    is_password, is_upper = match["password"] is not None, name.isupper()
    if is_placeholder(value) or value == name:
        return match[0]
    if are_words(value) and not (is_upper and is_password):
        return match[0]
    before = match.string[max(0, match.start() - 1) : match.start()]
    if value.isalpha() and not is_upper and before not in ("(", "["):
        return match[0]
    if is_strong(value) or is_password or is_upper:
        return match["head"] + marker("secret")
    return match[0]


def _redact_sql(match: re.Match[str]) -> str:
    """Replace the quoted text after `PASSWORD` or `IDENTIFIED BY` in a statement of SQL."""
    keyword, value = match[1].strip(), match[2]
    if is_placeholder(value):
        return match[0]
    before = match.string[max(0, match.start() - 80) : match.start()].lower()
    is_sql = _SQL.search(before) is not None
    is_upper = keyword[:1].isupper() and not keyword[1:2].islower()
    if (is_sql and (is_upper or " " not in value)) or is_scrambled(value):
        return match[1] + marker("secret")
    return match[0]


def _redact_netrc(match: re.Match[str]) -> str:
    """Replace the password of a `.netrc` entry; a sentence about a login has no `machine`."""
    password = match[2]
    if is_placeholder(password):
        return match[0]
    before = match.string[max(0, match.start() - 160) : match.start()].lower()
    is_netrc = "machine" in before or before.rstrip().endswith("default")
    return match[1] + marker("secret") if is_netrc or is_scrambled(password) else match[0]


def _is_tag_secret(value: str) -> bool:
    """True if the content of a tag is not words."""
    return not are_words(value)


RULES = (
    # `machine host login user password value`, as in .netrc
    rule("login", r"(\blogin\s{1,8}\S{1,128}\s{1,8}password\s{1,8})(\S+)", _redact_netrc),
    # `ALTER USER name PASSWORD 'value'`, `IDENTIFIED BY 'value'`
    rule(
        "identified password",
        r"""((?:\bidentified\s{1,4}(?:with\s{1,4}\S{1,40}\s{1,4})?by(?:\s{1,4}password)?|\bpassword)\s{1,4}\\{0,15}['"])
            ([^'"\\\r\n]+)""",
        _redact_sql,
    ),
    # `IDENTIFIED BY value`
    rule(
        "identified",
        r"(\bidentified\s{1,4}by\s{1,4})([^\s\"'\\;]+)",
        replace_second_group("secret", is_scrambled),
    ),
    # `<password>value</password>`
    rule(
        "</ &lt;/",
        rf"""((?:<|&lt;)[\w:.-]{{0,40}}?(?:{ANY}|(?<![a-z])pass)\d{{0,2}}(?:\s[^<>]{{0,80}})?(?:>|&gt;)(?:<!\[CDATA\[)?)
             ([^<>\s&\]][^<>&\]]{{0,4096}})(?=(?:\]\]>)?(?:</|&lt;/))""",
        replace_second_group("secret", _is_tag_secret),
    ),
    # `("password", "value")`
    rule(
        "\", ', ;,",
        rf"""(?P<head>(?<!\\){QUOTE}(?P<name>[\w-]{{0,40}}?(?:(?P<password>{PASSWORDS})|{ANY})){QUOTE},\s{{0,4}}b?{QUOTE})
             (?P<value>[^"'\\]{{1,512}})(?={QUOTE}\s?[)\]])""",
        _redact_pair,
    ),
    # `{"name": "API_KEY", "value": "value"}`
    rule(
        "value",
        rf"""(?P<head>\b{_FIELD}{QUOTE}?\s?[:=]\s{{0,4}}{QUOTE}?[\w-]{{0,40}}?
             (?:(?P<password>{PASSWORDS})|(?P<variable>(?-i:[A-Z]_(?:KEY|TOKEN|SECRET)))|{ANY}
               |session_?(?:id)?|x-[\w-]{{1,40}}key)\d?{QUOTE}?(?:[\s,;]|\\{{1,7}}[nr]){{1,12}}
             {QUOTE}?(?:parameter)?value{QUOTE}?\s?[:=]\s{{0,4}}{QUOTE}?)(?P<value>[^\s"'\\,;\}}]+)""",
        _redact_value_field,
    ),
    # `token%3Dvalue`
    rule(
        "%3d %3a",
        rf"({ANY}%3[ad](?!%2[27]))((?:(?!%26)[^\s\"'&<>])+)",
        replace_second_group("secret"),
    ),
    # A field of a multipart form
    rule(
        "form-data",
        rf"""(form-data;[^\r\n]{{0,80}}?\bname=\\{{0,15}}"[\w-]{{0,40}}?{ANY}\\{{0,15}}"\s{{0,4}}
             (?:\\{{1,7}}[nr]|\s){{2,8}})([^\s\\]+)""",
        replace_second_group("secret"),
    ),
    # `tokens=["value", "value"]`, `password=SecretStr("value")`, `key=os.getenv("KEY", "value")`
    rule(
        "pass pwd kennwort 密码 secret key token credential auth",
        rf"""(?P<head>(?:(?P<password>{PASSWORDS})|{ANY})s?{QUOTE}?\]?\s{{0,8}}(?::\s?[\w.]{{1,40}}\s?=|=>|[:=])\s{{0,8}})
             (?P<items>(?P<call>[\w.]{{0,60}})[\[({{]
               (?:\s|,|\w{{1,30}}\s?=|b?(?P<q>\\{{0,15}}["'])[^"'\r\n]{{0,512}}?(?P=q):?){{1,64}})""",
        _redact_items,
    ),
    # `the password for user is value`, `token ... value`, `| api key | value |`
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
