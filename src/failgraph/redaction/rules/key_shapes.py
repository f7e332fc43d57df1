"""Secrets that their own shape gives away: keys of known services, JWTs, private keys."""

from __future__ import annotations

import re

from failgraph.redaction.markers import marker
from failgraph.redaction.rules.rule import replace_match, rule
from failgraph.redaction.rules.values import is_wordy

_NOT_INSIDE = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt]))"
"""Where a token begins: not inside a word, but right behind an escape such as `\\n`."""

_LIKE_WORDS = r"""
    (?:(?:sk|csk|nvapi|pplx|xai|sess|gl(?:pat|dt|rt|soat|ptt|oas|cbt)|xapp|tskey|GOCSPX)-
       |pypi-AgE)[A-Za-z0-9_-]{16,}
  | (?:gh[pousr]|hf|api_org|gsk|r8|fw|rnd|pcsk|npm|tgp_v1|e2b|shp(?:at|ca|pa|ss)|lin_api)_
      [A-Za-z0-9]{16,}
  | xox[a-z]-[A-Za-z0-9-]{10,} | [sprk]{2}_(?:live|test)_[A-Za-z0-9]{10,} | 1//0[A-Za-z0-9_-]{24,}
"""
"""Keys whose prefix a word may have too: `sk-learn-compatible` is not a key."""
_KEYS = r"""
    github_pat_[A-Za-z0-9_]{16,} | NRAK-[A-Z0-9]{20,} | PMAK-[a-f0-9-]{24,}
  | whsec_[A-Za-z0-9+/=]{16,} | AGE-SECRET-KEY-1[A-Z0-9]{20,}
  | (?:fc|key|local)-[a-f0-9]{32,40}(?![A-Za-z0-9])
  | (?:A3T[A-Z0-9]|AKIA|ASIA|AGPA|AIDA|AROA|AIPA|ANPA|ANVA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])
  | AIza[A-Za-z0-9_-]{30,} | ya29\.[A-Za-z0-9_.-]{16,} | dapi[0-9a-f]{32}(?:-\d)?
  | SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,} | do[opr]_v1_[a-f0-9]{32,}
  | hv[sbr]\.[A-Za-z0-9_-]{16,}
  | (?:dckr_(?:pat|oat)|lsv2_[a-z]{2}|sbp|sntr[ysu]{2}|glc)_[A-Za-z0-9_=+/-]{16,}
  | ATATT3[A-Za-z0-9_=-]{16,} | [a-f0-9]{32}-us\d{1,2}\b
  | [A-Za-z0-9]{10,20}\.atlasv1\.[A-Za-z0-9_-]{16,} | \d{8,10}:AA[A-Za-z0-9_-]{32,36}
"""


def _redact_key(match: re.Match[str]) -> str:
    """Replace a key, unless it goes on in words or is a hash."""
    are_words = match["like_words"] is not None and is_wordy(match[0][4:])
    is_hash = match.string.endswith("sha256=", 0, match.start())
    return match[0] if are_words or is_hash else marker("api_key")


RULES = (
    # -----BEGIN … PRIVATE KEY-----, up to its end line or the end of the text
    rule(
        "private",
        r"""-{4,5}\ ?BEGIN\ [A-Z0-9\ ]{0,40}PRIVATE\ KEY(?:\ BLOCK)?\ ?-{4,5} .*?
            (?:-{4,5}\ ?END\ [A-Z0-9\ ]{0,40}PRIVATE\ KEY(?:\ BLOCK)?\ ?-{4,5}|\Z)""",
        replace_match("private_key"),
        re.DOTALL,
    ),
    # A JWT: parts of base64url with dots between them; the first is JSON, and "eyJ" is its `{"`
    rule(
        "eyj",
        _NOT_INSIDE + r"eyJ[\w-]{8,}\.[\w-]{4,}(?:\.[\w-]*){0,3}",
        replace_match("jwt"),
        re.ASCII,
    ),
    # Keys of known services: for a new one, add its prefix to _KEYS and its needle here
    rule(
        "sk- nvapi- pplx- xai- glpat- gldt- glrt- glsoat- glptt- gloas- glcbt- sess- fc- key-"
        " local- rnd_ _org_ ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ hf_ gsk_ r8_ fw_ pcsk_ npm_ tgp_"
        " e2b_ shp tskey- xox xapp- _live_ _test_ whsec_ a3t akia asia agpa aida aroa aipa anpa"
        " anva abia acca aiza ya29. gocspx- 1//0 nrak- sg. pypi- dapi _v1_ dckr_ lsv2_ sbp_ sntr"
        " glc_ hvs. hvb. hvr. lin_api_ atatt3 age-secret- key-1 pmak- -us atlasv1 :aa",
        f"{_NOT_INSIDE}(?:(?P<like_words>{_LIKE_WORDS})|{_KEYS})",
        _redact_key,
        re.ASCII,
    ),
)
