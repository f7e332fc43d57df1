"""Credentials in URLs: before the host, and in the query."""

from __future__ import annotations

import re

from failgraph.redaction.markers import MARKER_PREFIX, marker
from failgraph.redaction.rules.pattern import Pattern
from failgraph.redaction.rules.rule import replace_second_group, rule
from failgraph.redaction.rules.values import are_words, is_mixed, is_number, is_path

_TEMPLATE = Pattern(r"\{[^{}]*\}(?::\{[^{}]*\})?")


def _redact_userinfo(match: re.Match[str]) -> str:
    """Replace `user:password` before a host, or a token in place of the user.

    A user name alone, as in `ssh://git@…`, is not secret. What another rule has already replaced
    stays.
    """
    userinfo = match[0][:-1]
    user = userinfo.lstrip("\\/")
    slashes = userinfo[: len(userinfo) - len(user)]
    if (
        user.startswith(MARKER_PREFIX)
        or _TEMPLATE.fullmatch(user) is not None
        or any(marker(kind) in user for kind in ("token", "secret", "url_credentials"))
    ):
        return match[0]
    if ":" not in user:
        scheme = match.string[max(0, match.start() - 8) : match.start()].lower()
        if "ssh:" in scheme or "ftp:" in scheme or not _is_token(user):
            return match[0]
    return f"{slashes}{marker('url_credentials')}@"


def _is_token(user: str) -> bool:
    """True if a user name is long and has digits, or is very long and in mixed case."""
    if len(user) >= 12 and any(map(str.isdigit, user)):
        return True
    return len(user) >= 20 and user.isalnum() and not user.islower() and not user.isupper()


def _is_secret_parameter(value: str) -> bool:
    """True if the value of a parameter of a query is not words, a number or a path."""
    return not (are_words(value) or is_number(value) or is_path(value))


RULES = (
    # `scheme://user:password@host`, `scheme://token@host`, with plain or escaped slashes
    rule(
        ":/ :\\",
        r"""(?:(?<=:/)/?|(?<=:)\\{1,7}/(?:\\{1,7}/)?)(?:[^\s"'`<>/?\#\\]{1,512}
                       |[^\s"'`<>@/:\\]{0,256}:(?!\d{1,5}(?:[/?\#]|$))[^\s"'`<>@]{1,256})@(?=[\w\[.%$\{*/-])""",
        _redact_userinfo,
    ),
    # The same inside another URL, percent-encoded
    rule(
        "%3a",
        r"""((?:%3a|:)(?:%2f|/){2}[^\s"'&<>@%:/]{0,128}%3a)((?:(?!%40|%2f|%3a)[^\s"'&<>@]){1,256})(?=%40)""",
        replace_second_group("url_credentials"),
    ),
    # `:password@host:port` without a scheme
    rule(
        "@",
        r"""((?<=[\w'"=\s]):)([^\s"'@/:\\,;()\[\]{}<>]{4,128})(?=@[\w.-]{1,128}:\d{2,5}(?!\w))""",
        replace_second_group("url_credentials"),
    ),
    # Signatures and keys in a query: `?X-Amz-Signature=…`, `&sig=…`, `?key=…`
    rule(
        "x-amz- x-goog- sig= signature= key= auth= jwt= code= appid=",
        r"""((?:[?&]|&amp;|%26)(?:x-amz-(?:signature|credential|security-token)|x-goog-(?:signature|credential)
            |[a-z]{0,3}sig|signature|(?:[a-z]{1,12}[_-])?key|auth|jwt|code|appid)=)([^&\s"'`<>\\\#]{8,})""",
        replace_second_group("signature", _is_secret_parameter),
    ),
    # `?session_id=…`
    rule(
        "session",
        r"""([?&]session(?:_?id)?=)([^&\s"'`<>\\\#]{12,})""",
        replace_second_group("signature", is_mixed),
    ),
)
