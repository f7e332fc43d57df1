"""Credentials in URLs: before the host, and in the query."""

from __future__ import annotations

import re

from failgraph.redaction.markers import MARKER_PREFIX, marker
from failgraph.redaction.rules.pattern import Pattern
from failgraph.redaction.rules.rule import replace_second_group, rule
from failgraph.redaction.rules.values import are_words, is_mixed, is_number, is_path

_TEMPLATE = Pattern(r"\{[^{}]*\}(?::\{[^{}]*\})?")


def _userinfo(match: re.Match[str]) -> str:
    """User names alone (`ssh://git@…`) are no secret; a token in their place is."""
    found = match[0][:-1]
    user = found.lstrip("\\/")
    slashes = found[: len(found) - len(user)]
    scheme = match.string[max(0, match.start() - 8) : match.start()].lower()
    if (
        user.startswith(MARKER_PREFIX)
        or _TEMPLATE.fullmatch(user) is not None
        or any(f"{MARKER_PREFIX}{kind}]" in user for kind in ("token", "secret", "url_credentials"))
        or (":" not in user and (not _is_token(user) or "ssh:" in scheme or "ftp:" in scheme))
    ):
        return match[0]
    return f"{slashes}{marker('url_credentials')}@"


def _is_token(user: str) -> bool:
    if len(user) >= 12 and any(map(str.isdigit, user)):
        return True
    return len(user) >= 20 and user.isalnum() and not user.islower() and not user.isupper()


def _is_value(value: str) -> bool:
    return not (are_words(value) or is_number(value) or is_path(value))


RULES = (
    rule(
        ":/ :\\",
        r"""(?:(?<=:/)/?|(?<=:)\\{1,7}/(?:\\{1,7}/)?)(?:[^\s"'`<>/?\#\\]{1,512}
                       |[^\s"'`<>@/:\\]{0,256}:(?!\d{1,5}(?:[/?\#]|$))[^\s"'`<>@]{1,256})@(?=[\w\[.%$\{*/-])""",
        _userinfo,
    ),
    rule(
        "%3a",
        r"""((?:%3a|:)(?:%2f|/){2}[^\s"'&<>@%:/]{0,128}%3a)((?:(?!%40|%2f|%3a)[^\s"'&<>@]){1,256})(?=%40)""",
        replace_second_group("url_credentials"),
    ),
    rule(
        "@",
        r"""((?<=[\w'"=\s]):)([^\s"'@/:\\,;()\[\]{}<>]{4,128})(?=@[\w.-]{1,128}:\d{2,5}(?!\w))""",
        replace_second_group("url_credentials"),
    ),
    rule(
        "x-amz- x-goog- sig= signature= key= auth= jwt= code= appid=",
        r"""((?:[?&]|&amp;|%26)(?:x-amz-(?:signature|credential|security-token)|x-goog-(?:signature|credential)
            |[a-z]{0,3}sig|signature|(?:[a-z]{1,12}[_-])?key|auth|jwt|code|appid)=)([^&\s"'`<>\\\#]{8,})""",
        replace_second_group("signature", _is_value),
    ),
    rule(
        "session",
        r"""([?&]session(?:_?id)?=)([^&\s"'`<>\\\#]{12,})""",
        replace_second_group("signature", is_mixed),
    ),
)
