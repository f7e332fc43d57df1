"""Long tokens that look random, whatever stands around them: the net below all rules.

A candidate has 32 characters or more of base64 or base64url. It is random if one of its runs of
letters and digits mixes lower case, upper case and digits, often changes between them, and is not
made of words. Ids, hashes, paths, names of files and images, which look alike, stay.
"""

from __future__ import annotations

import re
from itertools import pairwise

from failgraph.redaction.markers import marker
from failgraph.redaction.rules.pattern import Pattern

_CANDIDATE = r"[A-Za-z0-9+/_-]{32,}={0,2}"
_TOKEN = Pattern(_CANDIDATE)
_TOKEN_OR_PUBLIC_KEY = Pattern(
    r"(?P<public>-{5}BEGIN [A-Z0-9 ]{0,40}(?:CERTIFICATE|PUBLIC KEY)-{5}"
    r"(?:[A-Za-z0-9+/=\s]|\\+[nr])*)|" + _CANDIDATE
)
"""A certificate or public key is matched as a whole, so that no part of it is taken for a token."""
_OBJECT_ID = Pattern(
    r"(?:chatcmpl|cmpl|call|resp|response|msg|toolu|srvtoolu|req|rs|fc|ws|ci|run|thread|asst|step|batch|file|gen|item|evt"
    r"|conv|tooluse|vs|ftjob|proj|org|session|sess|cus|ch|modelresponse|ig|mcp|mcpl|ctr|cntr|wrkr|snap|sha\d{3})[-_]"
)
"""The ids that model services give their objects: a request for support needs them."""
_FILE_BEGINNINGS = (
    "iVBORw0KGgo",  # PNG
    "/9j/",  # JPEG
    "R0lGOD",  # GIF
    "UklGR",  # RIFF: WebP, WAV
    "JVBERi0",  # PDF
    "Qk0",  # BMP
    "AAABAA",  # ICO
    "AAAAC3NzaC1",  # an SSH public key of Ed25519
    "AAAAB3NzaC1",  # an SSH public key of RSA
)
"""How files and public keys begin in base64."""
_BEFORE_HARMLESS = Pattern(
    r"""(?:base64,|sha(?:256|384|512)[-:=]|\bmd5=
        |(?<![A-Za-z0-9+/_-])(?:(?:[a-z]{1,8}-){0,2}request-?id|x-amz-id-2|host-?id|upload_?id|encrypted_content|thought_?signature)\\*["']?[:=>]\s?\\*["']?)\Z""",
    re.IGNORECASE | re.VERBOSE,
)
"""What stands before base64 that is not secret: data URLs, hashes, request ids."""
_BEFORE_MARKER = Pattern(rf"(?:[A-Za-z0-9_-]{{6,64}}\.){{1,2}}(?={re.escape(marker('token'))})")
_NAME = Pattern(r"[a-z0-9_.-]*|[A-Z0-9_.-]*|[a-z]*[0-9]*(?:[A-Z][a-z]+[0-9]*)*")
_RUN = Pattern(r"[A-Za-z0-9]{16,}")
_WORD = Pattern(r"[a-z]{3,}")
_HEX = Pattern(r"[0-9A-Fa-f]+")


def replace_random_tokens(text: str) -> str:
    """Replace the long tokens in a text that look random."""
    pattern = _TOKEN_OR_PUBLIC_KEY if "-----BEGIN " in text else _TOKEN
    redacted = pattern.sub(_redact_token, text)
    if f".{marker('token')}" not in redacted:
        return redacted
    # A token of several parts with dots between them, of which only the longest was a candidate.
    return _BEFORE_MARKER.sub(_drop_parts, redacted)


def _drop_parts(match: re.Match[str]) -> str:
    """Drop the parts before a marker if each mixes all three classes of characters."""
    parts = match[0].split(".")[:-1]
    is_token = all(len(set(map(_character_class, part))) == 3 for part in parts)
    return "" if is_token else match[0]


def _redact_token(match: re.Match[str]) -> str:
    """Replace a candidate that looks random, unless it is an id, a file, a hash or a path."""
    token, start = match[0], match.start()
    before = match.string[max(0, start - 48) : start]
    if token.startswith(("-----BEGIN ", *_FILE_BEGINNINGS)):
        return token
    if _OBJECT_ID.match(token) or _BEFORE_HARMLESS.search(before):
        return token
    if "/" in token and before[-1:] in ("", ".", "/", ":", "~", "@"):
        return _redact_path(token)
    return marker("token") if _is_random(token) else token


def _redact_path(path: str) -> str:
    """Replace the random parts of a path, or all of it if another part is not a name: base64."""
    redacted = []
    has_random = has_nameless = False
    previous = ""
    for part in path.split("/"):
        # The id of a file of Google Drive is public: .../d/<id>/...
        if _is_random(part) and previous not in ("d", "drive"):
            has_random = True
            redacted.append(marker("token"))
        else:
            has_nameless = has_nameless or not _NAME.fullmatch(part)
            redacted.append(part)
        previous = part
    return marker("token") if has_random and has_nameless else "/".join(redacted)


def _is_random(text: str) -> bool:
    """True if a run of letters and digits looks random; 40 characters of base64 are one run."""
    text = text[:4096].lstrip("+").rstrip("=")
    runs = _RUN.findall(text)
    if "+" in text or (len(text) == 40 and "-" not in text and "_" not in text):
        runs.append(re.sub("[+/]", "", text))
    return any(map(_looks_random, runs))


def _looks_random(run: str) -> bool:
    """True if a run mixes three classes of characters as no word does.

    It changes class at a quarter of its characters or more, and less than 40 % of it are lower-case
    words.
    """
    classes = [_character_class(char) for char in run]
    if len(set(classes)) < 3 or _HEX.fullmatch(run) or len(run) < 16:
        return False
    changes = sum(one != other for one, other in pairwise(classes))
    in_words = sum(map(len, _WORD.findall(run)))
    return changes >= 0.25 * len(run) and in_words < 0.4 * len(run)


def _character_class(char: str) -> str:
    """Return `digit`, `upper`, `lower` or `other`."""
    if char.isdigit():
        return "digit"
    if char.isupper():
        return "upper"
    return "lower" if char.islower() else "other"
