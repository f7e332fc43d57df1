"""Secrets that their own shape gives away: keys of known services, JWTs, private keys, long random tokens."""

from __future__ import annotations

import re

from failgraph.redaction.pattern import Pattern
from failgraph.redaction.rule import mark, rule, whole
from failgraph.redaction.values import is_wordy

_NOT_INSIDE = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt]))"
"""Before a token: no word goes on, unless it is the letter of an escape in text that is nested in text."""

_LIKE_WORDS = r"""
    (?:(?:sk|csk|nvapi|pplx|xai|sess|gl(?:pat|dt|rt|soat|ptt|oas|cbt)|xapp|tskey|GOCSPX)-|pypi-AgE)[A-Za-z0-9_-]{16,}
  | (?:gh[pousr]|hf|api_org|gsk|r8|fw|rnd|pcsk|npm|tgp_v1|e2b|shp(?:at|ca|pa|ss)|lin_api)_[A-Za-z0-9]{16,}
  | xox[a-z]-[A-Za-z0-9-]{10,} | [sprk]{2}_(?:live|test)_[A-Za-z0-9]{10,} | 1//0[A-Za-z0-9_-]{24,}
"""
"""Keys that begin as words do: what goes on in words, `sk-learn-compatible`, is none."""
_KEYS = r"""
    github_pat_[A-Za-z0-9_]{16,} | NRAK-[A-Z0-9]{20,} | PMAK-[a-f0-9-]{24,}
  | whsec_[A-Za-z0-9+/=]{16,} | AGE-SECRET-KEY-1[A-Z0-9]{20,} | (?:fc|key|local)-[a-f0-9]{32,40}(?![A-Za-z0-9])
  | (?:A3T[A-Z0-9]|AKIA|ASIA|AGPA|AIDA|AROA|AIPA|ANPA|ANVA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])
  | AIza[A-Za-z0-9_-]{30,} | ya29\.[A-Za-z0-9_.-]{16,} | dapi[0-9a-f]{32}(?:-\d)?
  | SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,} | do[opr]_v1_[a-f0-9]{32,} | hv[sbr]\.[A-Za-z0-9_-]{16,}
  | (?:dckr_(?:pat|oat)|lsv2_[a-z]{2}|sbp|sntr[ysu]{2}|glc)_[A-Za-z0-9_=+/-]{16,} | ATATT3[A-Za-z0-9_=-]{16,}
  | [a-f0-9]{32}-us\d{1,2}\b | [A-Za-z0-9]{10,20}\.atlasv1\.[A-Za-z0-9_-]{16,} | \d{8,10}:AA[A-Za-z0-9_-]{32,36}
"""


def _key(match: re.Match[str]) -> str:
    is_words = match["like_words"] is not None and is_wordy(match[0][4:])
    return (
        match[0]
        if is_words or match.string.endswith("sha256=", 0, match.start())
        else mark("api_key")
    )


RULES = (
    rule(
        "private",
        r"""-{4,5}\ ?BEGIN\ [A-Z0-9\ ]{0,40}PRIVATE\ KEY(?:\ BLOCK)?\ ?-{4,5} .*?
            (?:-{4,5}\ ?END\ [A-Z0-9\ ]{0,40}PRIVATE\ KEY(?:\ BLOCK)?\ ?-{4,5}|\Z)""",
        whole("private_key"),
        re.DOTALL,
    ),
    rule("eyj", _NOT_INSIDE + r"eyJ[\w-]{8,}\.[\w-]{4,}(?:\.[\w-]*){0,3}", whole("jwt"), re.ASCII),
    rule(
        "sk- nvapi- pplx- xai- glpat- gldt- glrt- glsoat- glptt- gloas- glcbt- sess- fc- key- local- rnd_"
        " _org_ ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ hf_ gsk_ r8_ fw_ pcsk_ npm_ tgp_ e2b_ shp tskey- xox"
        " xapp- _live_ _test_ whsec_ a3t akia asia agpa aida aroa aipa anpa anva abia acca aiza ya29. gocspx-"
        " 1//0 nrak- sg. pypi- dapi _v1_ dckr_ lsv2_ sbp_ sntr glc_ hvs. hvb. hvr. lin_api_ atatt3 age-secret-"
        " key-1 pmak- -us atlasv1 :aa",
        f"{_NOT_INSIDE}(?:(?P<like_words>{_LIKE_WORDS})|{_KEYS})",
        _key,
        re.ASCII,
    ),
)

_RANDOM = r"[A-Za-z0-9+/_-]{32,}={0,2}"
_TOKEN = Pattern(_RANDOM)
_TOKEN_OR_PUBLIC = Pattern(
    r"(?P<public>-{5}BEGIN [A-Z0-9 ]{0,40}(?:CERTIFICATE|PUBLIC KEY)-{5}(?:[A-Za-z0-9+/=\s]|\\+[nr])*)|"
    + _RANDOM
)
"""Tokens, and what stands in base64 though everybody may know it."""
_OBJECT_ID = Pattern(
    r"(?:chatcmpl|cmpl|call|resp|response|msg|toolu|srvtoolu|req|rs|fc|ws|ci|run|thread|asst|step|batch|file|gen|item|evt"
    r"|conv|tooluse|vs|ftjob|proj|org|session|sess|cus|ch|modelresponse|ig|mcp|mcpl|ctr|cntr|wrkr|snap|sha\d{3})[-_]"
)
"""Ids that model services give their objects: people need them to ask for help."""
_FILES = (
    "iVBORw0KGgo",
    "/9j/",
    "R0lGOD",
    "UklGR",
    "JVBERi0",
    "Qk0",
    "AAABAA",
    "AAAAC3NzaC1",
    "AAAAB3NzaC1",
)
"""How images, documents and public keys begin in base64."""
_HASHES = Pattern(
    r"""(?:base64,|sha(?:256|384|512)[-:=]|\bmd5=
        |(?<![A-Za-z0-9+/_-])(?:(?:[a-z]{1,8}-){0,2}request-?id|x-amz-id-2|host-?id|upload_?id|encrypted_content|thought_?signature)\\*["']?[:=>]\s?\\*["']?)\Z""",
    re.IGNORECASE | re.VERBOSE,
)
"""What stands before base64 that is no secret."""
_DOTTED = Pattern(rf"(?:[A-Za-z0-9_-]{{6,64}}\.){{1,2}}(?={re.escape(mark('token'))})")
_NAME = Pattern(r"[a-z0-9_.-]*|[A-Z0-9_.-]*|[a-z]*[0-9]*(?:[A-Z][a-z]+[0-9]*)*")
_RUN = Pattern(r"[A-Za-z0-9]{16,}")
_WORD = Pattern(r"[a-z]{3,}")
_HEX = Pattern(r"[0-9A-Fa-f]+")


def without_random_tokens(text: str) -> str:
    """`text` without long tokens that look random; hashes, ids, paths, names and images stay."""
    pattern = _TOKEN_OR_PUBLIC if "-----BEGIN " in text else _TOKEN
    shown = pattern.sub(_token, text)
    # The parts of a token before its longest one.
    return _DOTTED.sub(_dotted, shown) if f".{mark('token')}" in shown else shown


def _dotted(match: re.Match[str]) -> str:
    return (
        ""
        if all(len(set(map(_class, part))) == 3 for part in match[0].split(".")[:-1])
        else match[0]
    )


def _token(match: re.Match[str]) -> str:
    found, start = match[0], match.start()
    before = match.string[max(0, start - 48) : start]
    if (
        found.startswith("-----BEGIN ")
        or _OBJECT_ID.match(found)
        or found.startswith(_FILES)
        or _HASHES.search(before)
    ):
        return found
    if "/" in found and before[-1:] in ("", ".", "/", ":", "~", "@"):
        return _path(found)
    return mark("token") if _is_random(found) else found


def _path(found: str) -> str:
    """A path without its random parts; where the others are no names either, it is base64 and goes as a whole."""
    parts = found.split("/")
    random = [
        _is_random(part) and parts[max(0, at - 1)] not in ("d", "drive")
        for at, part in enumerate(parts)
    ]
    if any(
        not is_random and not _NAME.fullmatch(part)
        for part, is_random in zip(parts, random)  # noqa: B905 - 3.10
    ) and any(random):
        return mark("token")
    return "/".join(mark("token") if is_random else part for part, is_random in zip(parts, random))  # noqa: B905 - 3.10


def _is_random(text: str) -> bool:
    """Whether a run of letters and digits in `text` is of no words; 40 characters of base64 count as one run."""
    text = text[:4096].lstrip("+").rstrip("=")
    runs = _RUN.findall(text)
    if "+" in text or (len(text) == 40 and "-" not in text and "_" not in text):
        runs.append(re.sub("[+/]", "", text))
    return any(map(_looks_random, runs))


def _looks_random(run: str) -> bool:
    classes = [_class(char) for char in run]
    if len(set(classes)) < 3 or _HEX.fullmatch(run) or len(run) < 16:
        return False
    changes = sum(one != other for one, other in zip(classes, classes[1:]))  # noqa: B905, RUF007 - neighbours; 3.10
    in_words = sum(map(len, _WORD.findall(run)))
    return changes >= 0.25 * len(run) and in_words < 0.4 * len(run)


def _class(char: str) -> str:
    return (
        "digit"
        if char.isdigit()
        else "upper"
        if char.isupper()
        else "lower"
        if char.islower()
        else "other"
    )
