"""Credentials of HTTP requests: in headers, and as arguments of clients that make the headers."""

from __future__ import annotations

import base64
import binascii
import re

from failgraph.redaction.markers import marker
from failgraph.redaction.rules.rule import QUOTE, replace_second_group, rule
from failgraph.redaction.rules.values import are_words, is_mixed, is_placeholder, is_wordy

_QUOTED = f"b?{QUOTE}"
_SPACE = r"(?:[\s:]{1,8}|%20|\+)"


def _redact_authorization(match: re.Match[str]) -> str:
    """Replace what follows the scheme of an `Authorization` header, or a value without a scheme."""
    bare, after_scheme = match["one"], match["after"]
    if after_scheme is not None and is_placeholder(after_scheme):
        return match[0]
    if bare is not None and (_is_prose(bare, match["head"]) or _is_call(match)):
        return match[0]
    return match["head"] + marker("credentials")


def _is_prose(value: str, head: str) -> bool:
    """True if a bare value is a placeholder, words, or a word of letters too short for a key."""
    if is_placeholder(value) or is_wordy(value):
        return True
    return value.isalpha() and (len(value) < 16 or "," in head)


def _is_call(match: re.Match[str]) -> bool:
    """True if a bare value is the function of a call: `authorization=build_header(…)`."""
    return "=" in match["head"] and match.string.startswith("(", match.end())


def _redact_bearer(match: re.Match[str]) -> str:
    """Replace the value after `Bearer`, unless it is prose or part of a challenge (RFC 6750)."""
    value = match[2]
    is_word = value.isalpha() and len(value) < 24
    are_words = is_wordy(value) and not value.isalnum()
    is_parameter = value.startswith(("realm=", "error=", "scope=", "error_"))
    if is_word or are_words or is_parameter or is_placeholder(value):
        return match[0]
    return match[1] + marker("credentials")


def _redact_basic(match: re.Match[str]) -> str:
    """Replace the value after `Basic` if it decodes to `user:password` (RFC 7617)."""
    value = match[2].rstrip("=")
    padded = value + "=" * (-len(value) % 4)
    try:
        decoded = base64.b64decode(padded, altchars=b"-_" if "-" in value else None)
    except (binascii.Error, ValueError):
        return match[0]
    return match[1] + marker("credentials") if b":" in decoded else match[0]


def _is_password(value: str) -> bool:
    """True if an argument for a password is not a word of prose or code."""
    return len(value) >= 4 and (is_mixed(value) or not are_words(value))


RULES = (
    # Headers such as `Authorization: Bearer key`, `Authorization: Digest username=…`,
    # `X-Auth-Token: key`
    rule(
        "authorization x-auth",
        rf"""(?P<head>(?:authorization|x-auth(?:-[a-z]{{1,20}}){{0,4}}-(?:token|key|secret|password)|x-auth){QUOTE}?\]?\s{{0,8}}
              (?:=>|[:=,])\s{{0,8}}(?!\[redacted:)[\[(]?(?:{_QUOTED})?)
            (?:(?:bearer|basic|token|api-?key|key|bot|negotiate|ntlm)(?:{_SPACE}|{QUOTE},\s{{0,8}}{_QUOTED})(?:\w{{1,20}}={QUOTE}?)?
                 (?P<after>[^\s"'`\\,;)\]}}>(\[]+)
              |(?:digest|aws4-[\w-]{{1,40}}|hawk|signature|hmac[\w-]{{0,40}}|oauth)\s(?:[^\r\n\\]|\\{{1,15}}["'])+
              |(?P<one>(?![.*])[^\s"'`\\,;)\]}}>(\[]+))""",
        _redact_authorization,
    ),
    # `Bearer key` without the name of the header
    rule("bearer", rf"(\bbearer{_SPACE})([A-Za-z0-9._~+/=-]{{8,}})", _redact_bearer),
    # `Basic dXNlcjpwYXNzd29yZA==`
    rule("basic", r"(\bbasic\s{1,8})([A-Za-z0-9+/_-]{8,}={0,2})", _redact_basic),
    # Calls such as `BasicAuth("user", "password")` and `auth=("user", "password")`
    rule(
        "auth credential",
        rf"""((?:\bauth|(?:basic|digest)auth|credentials?)\s?[=:]?\s?\(\s{{0,8}}(?:login=|username=)?
              {_QUOTED}[^"'\\\r\n]{{0,128}}\\{{0,15}}["']\s?,\s{{0,8}}(?:password=)?{_QUOTED})([^"'\\\r\n]+)""",
        replace_second_group("credentials", _is_password),
    ),
    # A call such as `AzureKeyCredential("key")`
    rule(
        "keycredential(",
        rf"(keycredential\((?:key=)?{_QUOTED})([^\"'\\\r\n]+)",
        replace_second_group("credentials"),
    ),
)
