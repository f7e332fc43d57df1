"""Cookies: in headers, as mappings, and as the `repr` of cookie jars shows them."""

from __future__ import annotations

import re

from failgraph.redaction.markers import marker
from failgraph.redaction.rules.rule import QUOTE, replace_second_group, rule

_STRING = r"""(?:"[^"\r\n]*"|'[^'\r\n]*')"""


def _redact_mapping(match: re.Match[str]) -> str:
    """Replace the whole mapping."""
    return match[1] + marker("cookie")


RULES = (
    # A header such as `Cookie: name=value; name=value`
    rule(
        "cookie",
        rf"""(cookies?2?{QUOTE}?\s{{0,8}}(?:[:=]\s{{0,8}}\[?(?:b?{QUOTE})?|,\s{{0,8}}b?{QUOTE}))
            ((?!none)[\w.!$%*^|~+-]{{1,256}}=(?:\[redacted:|[^\s"'\\{{}}()\[\]=])[^\r\n"'\\{{]*)""",
        replace_second_group("cookie"),
    ),
    # A mapping such as `cookies={'name': 'value'}`
    rule(
        "cookie",
        rf"""(cookies?{QUOTE}?\s{{0,8}}[:=]\s{{0,8}})(\{{(?=\s{{0,8}}{QUOTE})(?:{_STRING}|[^{{}}"'\r\n])*\}}?)""",
        _redact_mapping,
    ),
    # `<Cookie name=value for host>`, of http.cookiejar
    rule("<cookie", r"(<cookie\s)([^\s>=]{1,256}=[^\s>]+)", replace_second_group("cookie")),
    # `<SimpleCookie: name='value'>`, of http.cookies
    rule("<simplecookie", r"(<simplecookie:\s)([^>\r\n]+)", replace_second_group("cookie")),
    # A call such as `cookies.set("name", "value")`
    rule(
        "cookies.set(",
        r"""(cookies\.set\(\\{0,15}["'][^"'\\]{1,128}\\{0,15}["'],\s?\\{0,15}["'])([^"'\\\r\n]+)""",
        replace_second_group("cookie"),
    ),
)
