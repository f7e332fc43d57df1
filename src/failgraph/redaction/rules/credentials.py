"""Credentials in the headers of requests and in what clients are given to make them."""

from __future__ import annotations

import base64
import binascii
import re

from failgraph.redaction.markers import marker
from failgraph.redaction.rules.rule import QUOTE, replace_second_group, rule
from failgraph.redaction.rules.values import are_words, is_mixed, is_placeholder, is_wordy

_QUOTED = f"b?{QUOTE}"
_SPACE = r"(?:[\s:]{1,8}|%20|\+)"


def _authorization(match: re.Match[str]) -> str:
    one, after = match["one"], match["after"]
    if one is not None and (
        is_placeholder(one)
        or is_wordy(one)
        or (one.isalpha() and (len(one) < 16 or "," in match["head"]))
    ):
        return match[0]
    if (
        one is not None
        and match.string[match.end() : match.end() + 1] == "("
        and "=" in match["head"]
    ):
        return match[0]
    if after is not None and is_placeholder(after):
        return match[0]
    return match["head"] + marker("credentials")


def _bearer(match: re.Match[str]) -> str:
    """The value after `Bearer`, unless it is a word of prose or a parameter of a challenge."""
    secret = match[2]
    is_prose = (secret.isalpha() and len(secret) < 24) or (
        is_wordy(secret) and not secret.isalnum()
    )
    is_prose = is_prose or secret.startswith(("realm=", "error=", "scope=", "error_"))
    return match[0] if is_prose or is_placeholder(secret) else match[1] + marker("credentials")


def _basic(match: re.Match[str]) -> str:
    """The value after `Basic`: what decodes to `user:password`."""
    secret = match[2].rstrip("=")
    try:
        decoded = base64.b64decode(
            secret + "=" * (-len(secret) % 4), altchars=b"-_" if "-" in secret else None
        )
    except (binascii.Error, ValueError):
        return match[0]
    return match[1] + marker("credentials") if b":" in decoded else match[0]


def _is_argument(value: str) -> bool:
    return len(value) >= 4 and (is_mixed(value) or not are_words(value))


RULES = (
    rule(
        "authorization x-auth",
        rf"""(?P<head>(?:authorization|x-auth(?:-[a-z]{{1,20}}){{0,4}}-(?:token|key|secret|password)|x-auth){QUOTE}?\]?\s{{0,8}}
              (?:=>|[:=,])\s{{0,8}}(?!\[redacted:)[\[(]?(?:{_QUOTED})?)
            (?:(?:bearer|basic|token|api-?key|key|bot|negotiate|ntlm)(?:{_SPACE}|{QUOTE},\s{{0,8}}{_QUOTED})(?:\w{{1,20}}={QUOTE}?)?
                 (?P<after>[^\s"'`\\,;)\]}}>(\[]+)
              |(?:digest|aws4-[\w-]{{1,40}}|hawk|signature|hmac[\w-]{{0,40}}|oauth)\s(?:[^\r\n\\]|\\{{1,15}}["'])+
              |(?P<one>(?![.*])[^\s"'`\\,;)\]}}>(\[]+))""",
        _authorization,
    ),
    rule("bearer", rf"(\bbearer{_SPACE})([A-Za-z0-9._~+/=-]{{8,}})", _bearer),
    rule("basic", r"(\bbasic\s{1,8})([A-Za-z0-9+/_-]{8,}={0,2})", _basic),
    rule(
        "auth credential",
        rf"""((?:\bauth|(?:basic|digest)auth|credentials?)\s?[=:]?\s?\(\s{{0,8}}(?:login=|username=)?
              {_QUOTED}[^"'\\\r\n]{{0,128}}\\{{0,15}}["']\s?,\s{{0,8}}(?:password=)?{_QUOTED})([^"'\\\r\n]+)""",
        replace_second_group("credentials", _is_argument),
    ),
    rule(
        "keycredential(",
        rf"(keycredential\((?:key=)?{_QUOTED})([^\"'\\\r\n]+)",
        replace_second_group("credentials"),
    ),
)
