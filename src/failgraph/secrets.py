"""What a secret looks like in text: the rules of redaction, each with the words without which it need not be tried.

Every rule takes linear time: what it starts to match it either consumes, or gives up after a bounded number of
characters. A rule replaces the secret alone and keeps what people need beside it: names, hosts, what was said.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from typing import NamedTuple

_NOT_INSIDE = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt]))"
"""Before a token: no word goes on, unless it is the letter of an escape in text that is nested in text."""

_VALUE = r"""
    (?:
      (?P<escaped>\\*)(?P<quote>["'`])(?P<quoted>(?:(?!(?<!\\)(?P=escaped)(?P=quote)).)*)
    | (?P<bare>[^\s"'`\\,;&<>(){}\[\]|]+)
    )
"""
"""What follows a name: in quotes, escaped as deep as the text is nested, up to the same quote; else up to a delimiter."""

_SEPARATOR = r"""(?:\\*["'`]?\]?\s{0,8}(?::\s?[\w.]{1,40}(?:\s?\|\s?None)?\s?=(?!=)|=>|:=|==?|:)|\\*["'],)\s{0,8}"""


class _Rule(NamedTuple):
    kind: str
    needles: tuple[str, ...]
    """In lower case; one of them stands in every text that the rule changes."""
    pattern: re.Pattern[str]
    replace: Callable[[re.Match[str]], str]


def mark(kind: str) -> str:
    """What stands for a secret of `kind`."""
    return f"[redacted:{kind}]"


def without_secrets(text: str) -> str:
    """`text` with each secret that a rule knows replaced by its marker."""
    lowered = text.lower()
    for rule in _RULES:
        if any(needle in lowered for needle in rule.needles):
            text = rule.pattern.sub(rule.replace, text)
    return _TOKEN.sub(_token, text)


def _whole(kind: str) -> Callable[[re.Match[str]], str]:
    return lambda _: mark(kind)


def _rest(kind: str) -> Callable[[re.Match[str]], str]:
    """Keep the first group, and what is no secret by its look; the second is the secret."""
    return lambda match: match[0] if _is_placeholder(match[2]) else match[1] + mark(kind)


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


# --- tokens that their own shape gives away

_KEY_SHAPES = r"""
    sk-(?=[A-Za-z_-]*\d)[A-Za-z0-9_-]{16,} | (?:csk|nvapi|pplx|xai|glpat|gldt|glrt|glsoat|shpat_|tgp_v1)-[A-Za-z0-9_-]{16,}
  | gh[pousr]_[A-Za-z0-9]{16,} | github_pat_[A-Za-z0-9_]{20,} | hf_[A-Za-z0-9]{16,} | gsk_[A-Za-z0-9]{16,}
  | (?:r8|fw|pcsk|npm|tgp|e2b|fc)_[A-Za-z0-9_]{20,} | shp(?:at|ca|pa|ss)_[A-Za-z0-9]{16,} | tskey-[A-Za-z0-9-]{16,}
  | xox[a-z]-[A-Za-z0-9-]{10,} | xapp-[A-Za-z0-9-]{16,} | [sprk]{2}_(?:live|test)_[A-Za-z0-9]{10,} | whsec_[A-Za-z0-9+/=]{16,}
  | (?:A3T[A-Z0-9]|AKIA|ASIA|AGPA|AIDA|AROA|AIPA|ANPA|ANVA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])
  | AIza[A-Za-z0-9_-]{30,} | ya29\.[A-Za-z0-9_.-]{16,} | GOCSPX-[A-Za-z0-9_-]{16,} | 1//0[A-Za-z0-9_-]{24,}
  | SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,} | pypi-AgE[A-Za-z0-9_-]{16,} | dapi[0-9a-f]{32}(?:-\d)?
  | do[opr]_v1_[a-f0-9]{32,} | dckr_(?:pat|oat)_[A-Za-z0-9_-]{16,} | hv[sbr]\.[A-Za-z0-9_-]{16,} | lsv2_[a-z]{2}_[A-Za-z0-9_]{16,}
  | lin_api_[A-Za-z0-9]{16,} | ATATT3[A-Za-z0-9_=-]{16,} | sntr[ysu]{2}_[A-Za-z0-9_=+/-]{16,} | glc_[A-Za-z0-9+/=]{20,}
  | AGE-SECRET-KEY-1[A-Z0-9]{20,} | \d{8,10}:AA[A-Za-z0-9_-]{32,36}
"""
_KEY_NEEDLES = _words(
    "sk- csk- nvapi- pplx- xai- glpat- gldt- glrt- glsoat- ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ hf_ gsk_ r8_ fw_ pcsk_ npm_"
    " tgp_ e2b_ fc_ shpat_ shpca_ shppa_ shpss_ tskey- xox xapp- _live_ _test_ whsec_ a3t akia asia agpa aida aroa aipa anpa"
    " anva abia acca aiza ya29. gocspx- 1//0 sg. pypi-age dapi dop_v1_ doo_v1_ dor_v1_ dckr_ hvs. hvb. hvr. lsv2_ lin_api_"
    " atatt3 sntr glc_ age-secret-key-1 :aa"
)

# --- credentials in URLs


def _userinfo(match: re.Match[str]) -> str:
    """User names alone (`ssh://git@…`) are no secret; a token in their place is."""
    found = match[0][:-1]
    if ":" not in found and not (len(found) >= 12 and any(map(str.isdigit, found))):
        return match[0]
    return f"{mark('url_credentials')}@"


# --- headers


def _scheme_value(match: re.Match[str]) -> str:
    """The value after `Bearer`, unless it is a word of prose."""
    secret = match[2]
    return match[0] if secret.isalpha() and len(secret) < 24 else match[1] + mark("credentials")


def _basic_value(match: re.Match[str]) -> str:
    """The value after `Basic`: what decodes to `user:password`."""
    secret = match[2].rstrip("=")
    try:
        decoded = base64.b64decode(secret + "=" * (-len(secret) % 4), altchars=b"-_" if "-" in secret else None)
    except (binascii.Error, ValueError):
        return match[0]
    return match[1] + mark("credentials") if b":" in decoded else match[0]


def _authorization(match: re.Match[str]) -> str:
    secret = match["scheme"] or match["many"] or match["one"]
    if match["one"] and (secret.isalpha() and len(secret) < 16 or _is_placeholder(secret)):
        return match[0]
    return match["head"] + mark("credentials")


def _cookie(match: re.Match[str]) -> str:
    return match[1] + mark("cookie") if "=" in match[2] or match[2].startswith("{") else match[0]


# --- names and their values

_PASSWORDS = r"password|passwd|passphrase|passwort|pwd|db[_-]?pass"
_SECRETS = (
    r"secret(?:[_-]?(?:access[_-]?)?key)?|(?:api|access|account|private|signing|encryption|shared|subscription|auth|license)"
    r"[_ -]?key|token|credentials?|auth(?=\\*[\"']?\s?[=:])"
)
_NAME = (
    rf"(?P<name>(?P<strict>{_PASSWORDS})|{_SECRETS})(?:[_-]?(?:\d{{1,2}}|value|string|str|b64|base64|hash|text|raw))?"
)
_NAME_NEEDLES = _words("passw passphrase pwd db_pass db-pass dbpass secret key token credential auth")
_PLACEHOLDERS = frozenset(
    "none null nil true false undefined str bytes string int float bool object any optional required missing invalid empty"
    " hidden redacted unset is must was not secretstr not_given notgiven expected unexpected ellipsis".split()
)
_STAND_IN = re.compile(
    r"[*x.…\-_•#]+|\$\w+|\$\{.*|\$\(.*|%\(?\w*\)?s?|\{.*|<.*|\d{1,7}|"
    r"(?:self|cls|os|settings|config|cfg|conf|args|kwargs|options|opts|env|request|req|ctx|params|secrets)\..*",
    re.IGNORECASE | re.DOTALL,
)


def _is_placeholder(value: str) -> bool:
    """Whether a value is no secret by its look: nothing, a stand-in, a reference, a marker of ours."""
    return (
        not value
        or value.startswith("[redacted:")
        or value.lower() in _PLACEHOLDERS
        or _STAND_IN.fullmatch(value) is not None
    )


def _named(match: re.Match[str]) -> str:
    """Replace the value of a name such as `password`, where it is one."""
    value, head = match["quoted"], match["head"]
    if value is not None:
        if not value.strip() or value.startswith("[redacted:") or (not match["strict"] and _is_placeholder(value)):
            return match[0]
        if value.lower() in _PLACEHOLDERS or value.strip("*") == "" or re.fullmatch(r"\$\{?\w+\}?|%s|\{\w*\}", value):
            return match[0]
        if not match["strict"] and " " in value and not any(map(str.isdigit, value)):
            return match[0]  # a sentence
        return f"{head}{match['escaped']}{match['quote']}{mark('secret')}"
    value, after = match["bare"], match.string[match.end() : match.end() + 2]
    word = value.rstrip(".:!?")
    if _is_placeholder(word) and not (match["strict"] and word.isdigit()):
        return match[0]
    code = word.isidentifier() and (after.startswith(("(", "[")) or match["name"].lower() in word.lower())
    prose = word.isalpha() and head[-1:].isspace() and "=" not in head
    if code or (prose and (not match["strict"] or re.match(r"\s\w", after) is not None)):
        return match[0]
    return head + mark("secret")


_FLAG_WORDS = frozenset("is to and or for must option flag not was requires required with in on the a an".split())


def _flag(match: re.Match[str]) -> str:
    value = match["quoted"] if match["quoted"] is not None else match["bare"]
    if _is_placeholder(value) or value.lower() in _FLAG_WORDS or value.startswith("-"):
        return match[0]
    opened = f"{match['escaped']}{match['quote']}" if match["quoted"] is not None else ""
    return match["head"] + opened + mark("secret")


def _rule(
    kind: str, needles: str, pattern: str, replace: Callable[[re.Match[str]], str], *, case: bool = False
) -> _Rule:
    flags = re.VERBOSE if case else re.VERBOSE | re.IGNORECASE
    return _Rule(kind, _words(needles), re.compile(pattern, flags), replace)


_RULES = (
    _Rule(
        "private_key",
        ("private key",),
        re.compile(
            r"-{4,5}\ ?BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?\ ?-{4,5}.*?"
            r"(?:-{4,5}\ ?END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?\ ?-{4,5}|\Z)",
            re.DOTALL,
        ),
        _whole("private_key"),
    ),
    _rule(
        "jwt",
        "eyj",
        _NOT_INSIDE + r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*){0,3}",
        _whole("jwt"),
        case=True,
    ),
    _Rule("api_key", _KEY_NEEDLES, re.compile(f"{_NOT_INSIDE}(?:{_KEY_SHAPES})", re.VERBOSE), _whole("api_key")),
    _rule(
        "url_credentials",
        "://",
        r"""(?<=://)(?:[^\s"'`<>/?#\\]{1,512} | [^\s"'`<>@/:\\]{0,256}:(?!\d{1,5}(?:[/?\#]|$))[^\s"'`<>@]{1,256})@(?=[\w\[.%-])""",
        _userinfo,
    ),
    _rule(
        "credentials",
        "authorization x-auth",
        rf"""(?P<head>(?:authorization|x-auth[a-z-]{{0,20}}){_SEPARATOR}(?:b?\\*["'])?)
             (?:(?P<scheme>(?:bearer|basic|token|api-?key|key|bot|negotiate|ntlm)\s{{1,8}}[^\s"'`\\,;)\]}}>]+)
               |(?P<many>(?:digest|aws4-[\w-]{{1,40}}|hawk|signature|hmac[\w-]{{0,40}}|oauth)\s[^\r\n\\]+)
               |(?P<one>[^\s"'`\\,;)\]}}>]+))""",
        _authorization,
    ),
    _rule("credentials", "bearer", r"(\bbearer[\s:]{1,8})([A-Za-z0-9._~+/=-]{8,})", _scheme_value),
    _rule("credentials", "basic", r"(\bbasic\s{1,8})([A-Za-z0-9+/_-]{8,}={0,2})", _basic_value),
    _rule(
        "cookie",
        "cookie",
        r"""(cookies?2?(?:\\*["'])?\s{0,8}[:=,]\s{0,8}(?:b?\\*["'])?)(\{[^}\r\n]*\}?|[^\r\n"'\\{]+)""",
        _cookie,
    ),
    _rule(
        "signature",
        "x-amz- x-goog- sig= signature= key= auth= jwt= code=",
        r"""((?:[?&]|&amp;|%26)(?:x-amz-(?:signature|credential|security-token)|x-goog-(?:signature|credential)
            |[a-z]{0,3}sig|signature|key|auth|jwt|code)=)([^&\s"'`<>\\\#]{8,})""",
        _rest("signature"),
    ),
    _rule(
        "secret",
        "--",
        rf"""(?P<head>(?<![\w-])--?(?:[a-z0-9]{{1,20}}-){{0,4}}(?:{_PASSWORDS}|{_SECRETS})
             (?:\s{{1,8}}|\\*["'],\s{{0,8}}(?=\\*["'])))(?!-){_VALUE}""",
        _flag,
    ),
    _Rule(
        "secret",
        _NAME_NEEDLES,
        re.compile(f"(?P<head>{_NAME}{_SEPARATOR}(?:[bru]{{1,2}}(?=[\"']))?){_VALUE}", re.VERBOSE | re.IGNORECASE),
        _named,
    ),
)

# --- long tokens without a name

_TOKEN = re.compile(r"[A-Za-z0-9+/_-]{32,}={0,2}")
_OBJECT_ID = re.compile(
    r"(?:chatcmpl|cmpl|call|resp|response|msg|toolu|srvtoolu|req|rs|fc|ws|ci|run|thread|asst|step|batch|file|gen|item|evt|conv"
    r"|vs|ftjob|proj|org|session|sess|cus|ch|modelresponse|ig|mcp|mcpl|ctr|cntr|wrkr|snap|sha\d{3})[-_]"
)
_IMAGES = ("iVBORw0KGgo", "/9j/", "R0lGOD", "UklGR", "JVBERi0", "Qk0", "AAABAA", "data")
_SEGMENTS = re.compile(r"[A-Za-z0-9]{16,}")


def _token(match: re.Match[str]) -> str:
    found, start = match[0], match.start()
    before = match.string[max(0, start - 8) : start].lower()
    if (
        _OBJECT_ID.match(found)
        or found.startswith(_IMAGES)
        or before.endswith(("base64,", "sha256:", "sha512-", "sha384-"))
    ):
        return found
    return mark("token") if any(map(_looks_random, _SEGMENTS.findall(found[:4096]))) else found


def _looks_random(text: str) -> bool:
    """Whether a run of letters and digits changes between the three classes as often as only chance does."""
    classes = "".join("d" if char.isdigit() else "u" if char.isupper() else "l" for char in text)
    if len(set(classes)) < 3:
        return False
    changes = sum(one != other for one, other in zip(classes, classes[1:]))  # noqa: B905 - pairs of neighbours
    return changes >= 0.4 * (len(text) - 1)
