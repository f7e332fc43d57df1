"""Credentials by where they stand: in headers, in URLs, in cookies, on the command line of a client."""

from __future__ import annotations

import base64
import binascii
import re

from failgraph.redaction.rule import is_placeholder, mark, rule, second


def _userinfo(match: re.Match[str]) -> str:
    """User names alone (`ssh://git@…`) are no secret; a token in their place is."""
    found = match[0][:-1]
    if ":" not in found and not (len(found) >= 12 and any(map(str.isdigit, found))):
        return match[0]
    return f"{'/' if found.startswith('/') else ''}{mark('url_credentials')}@"


def _authorization(match: re.Match[str]) -> str:
    one, after = match["one"], match["after"]
    if one is not None and ((one.isalpha() and len(one) < 16) or is_placeholder(one)):
        return match[0]
    if after is not None and is_placeholder(after):
        return match[0]
    return match["head"] + mark("credentials")


def _bearer(match: re.Match[str]) -> str:
    """The value after `Bearer`, unless it is a word of prose."""
    secret = match[2]
    return match[0] if secret.isalpha() and len(secret) < 24 else match[1] + mark("credentials")


def _basic(match: re.Match[str]) -> str:
    """The value after `Basic`: what decodes to `user:password`."""
    secret = match[2].rstrip("=")
    try:
        decoded = base64.b64decode(secret + "=" * (-len(secret) % 4), altchars=b"-_" if "-" in secret else None)
    except (binascii.Error, ValueError):
        return match[0]
    return match[1] + mark("credentials") if b":" in decoded else match[0]


def _cookie(match: re.Match[str]) -> str:
    value = match[2]
    is_one = ("=" in value or value.startswith("{")) and not value.startswith(("None", "[redacted:"))
    return match[1] + mark("cookie") if is_one else match[0]


RULES = (
    rule(
        ":/",
        r"""(?<=:/)/?(?:[^\s"'`<>/?\#\\]{1,512}
                       |[^\s"'`<>@/:\\]{0,256}:(?!\d{1,5}(?:[/?\#]|$))[^\s"'`<>@]{1,256})@(?=[\w\[.%-])""",
        _userinfo,
    ),
    rule(
        "authorization x-auth",
        r"""(?P<head>(?:authorization|x-auth[a-z-]{0,20})\\*["']?\]?\s{0,8}(?:=>|[:=,])\s{0,8}(?:b?\\*["'])?)
            (?:(?:bearer|basic|token|api-?key|key|bot|negotiate|ntlm)\s{1,8}(?:\w{1,20}=\\*["']?)?
                 (?P<after>[^\s"'`\\,;)\]}>]+)
              |(?:digest|aws4-[\w-]{1,40}|hawk|signature|hmac[\w-]{0,40}|oauth)\s[^\r\n\\]+
              |(?P<one>[^\s"'`\\,;)\]}>]+))""",
        _authorization,
    ),
    rule("bearer", r"(\bbearer[\s:]{1,8})([A-Za-z0-9._~+/=-]{8,})", _bearer),
    rule("basic", r"(\bbasic\s{1,8})([A-Za-z0-9+/_-]{8,}={0,2})", _basic),
    rule(
        "curl wget",
        r"""((?<!\S)["']?(?:-u|--user|--proxy-user)(?:\s{1,4}|=|["'],\s)["']?)([^\s:"']{1,128}:(?!\d+\b)[^\s"']+)""",
        second("credentials"),
    ),
    rule(
        "cookie",
        r"""(cookies?2?(?:\\*["'])?\s{0,8}[:=,]\s{0,8}(?:b?\\*["'])?)(\{[^}\r\n]*\}?|[^\r\n"'\\{]+)""",
        _cookie,
    ),
    rule("<cookie", r"(<cookie\s)([^\s>=]{1,256}=[^\s>]+)", second("cookie")),
    rule(
        "x-amz- x-goog- sig= signature= key= auth= jwt= code=",
        r"""((?:[?&]|&amp;|%26)(?:x-amz-(?:signature|credential|security-token)|x-goog-(?:signature|credential)
            |[a-z]{0,3}sig|signature|key|auth|jwt|code)=)([^&\s"'`<>\\\#]{8,})""",
        second("signature"),
    ),
)
