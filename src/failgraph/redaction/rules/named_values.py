"""Secrets by the name before them: `password=…`, `"api_key": "…"`, `--token …`, in every spelling that texts have."""

from __future__ import annotations

import re

from failgraph.redaction.markers import marker
from failgraph.redaction.rules.rule import rule
from failgraph.redaction.rules.secret_or_prose import (
    is_bare_secret,
    is_line_secret,
    is_option_secret,
    is_quoted_secret,
)


def _behind(core: str, *befores: str) -> str:
    """After `core`: one of these stands before it, with a line between or without; looked at where `core` is found."""
    return "|".join(f"(?<={before}{line}{core})" for before in befores for line in ("", r"[_\ -]"))


_KEY_OF = (
    "api",
    "access",
    "account",
    "private",
    "signing",
    "encryption",
    "shared",
    "subscription",
    "auth",
    "license",
)
_WEAK_KEY_OF = (
    *(
        "openai",
        "open_ai",
        "anthropic",
        "azure",
        "gemini",
        "google",
        "hf",
        "wandb",
        "ngc",
        "nvidia",
        "judge",
        "policy",
    ),
    *(
        "llm",
        "jwt",
        "hmac",
        "master",
        "deploy",
        "ssh",
        "storage",
        "fernet",
        "webhook",
        "admin",
        "role",
        "functions",
    ),
    *("sas", "service", "crypt", "aes"),
)
PASSWORDS = rf"""(?:pwd|kennwort|密码|(?-i:_PASS(?<=[A-Z]_PASS))
   |pass(?:[-_\ ]?word|wd|[-_]?phrase|[-_]?code|wort|(?:{_behind("pass", "db", "pg", "user", "require")})))"""
_WEAK = rf"""(?:(?:pass(?:(?<![^\W_]pass)|(?<=\\[nrt]pass))|psw(?<![^\W_]psw)|pw(?<![^\W_]pw)|(?-i:Pass(?<=[a-z]Pass)))
   |key(?:{_behind("key", *_WEAK_KEY_OF)}|(?<=[a-z]-key)(?<!public-key)(?<!cache-key)(?<!sort-key)(?<!host-key))
   |(?-i:_PAT(?<=[A-Z]_PAT)))"""
_KEYS = rf"""(?:secret(?:[_-]?(?:access[_-]?)?key)?|key(?:{_behind("key", *_KEY_OF)}))"""
_OTHERS = r"""(?:credentials?|auth(?=(?:\\*["']|%22)?\s?(?:[=:]|%3)))"""
ANY = f"(?:{PASSWORDS}|{_KEYS}|token|{_OTHERS})"
"""A name whose values are secrets, as far as one can tell without them; every form of it begins with few letters."""
NAME = rf"""(?P<name>(?:(?P<strict>{PASSWORDS})|(?P<key>{_KEYS})|(?P<weak>{_WEAK})|(?P<token>token)|{_OTHERS})
             (?:[_-]?(?:\d{{1,2}}|value|string|str|b64|base64|hash|text|raw))?)"""

QUOTE = r"""(?:\"{3}|'{3}|["'`]|&quot;|&apos;|&\#(?:3[49]|x2[27]);|(?<=\\)u002[27]|%2[27])"""
_DELIMITER = r"""\s"'`\\,;&<>(){}\[\]|\x1b│，。；、）】」』"""
VALUE = rf"""
    (?:
      (?P<escaped>\\{{0,31}})(?P<quote>{QUOTE})(?!\s{{1,4}}[\w.-]{{1,40}}\s?[=:]|[),;\]}}])
        (?P<quoted>.*?)(?=(?<!\\)(?P=escaped)(?P=quote)|\n|\Z)
    | (?!\[redacted:)(?P<open>[<(\[{{]?)(?:(?<!\s)|(?![\w.-]{{0,40}}?{ANY}\\{{0,31}}["']?\s{{0,4}}[:=]))
        (?P<bare>\$\{{[^}}\s]{{0,80}}\}}|(?!=)[^{_DELIMITER}]+)
    )
"""
"""What follows a name: in quotes, escaped as deep as the text is nested, up to the same quote, or up to a delimiter."""

_GAP = r"(?:\s|\\{1,7}[nrt]|(?:\x1b|\\{1,7}(?:x1b|u001b|033))\[[\d;]{0,12}m|\u200b){0,8}"
_SEPARATOR = rf"""
    (?:\\{{0,31}}{QUOTE}\]?)?{_GAP}
    (?::\s?[\w.]{{1,40}}(?:\[[\w.,\s|]{{0,60}}\])?(?:\s?\|\s?None)?\s?=(?!=)
      |=>|->|→|:=|===?|=|[:：](?!:)|\\{{1,7}}u(?:ff1a|2192)|%3a(?=(?:\+|%20)?%2[27])|&\#61;
      |\s(?:provided|supplied|given|received)\s?:)
    {_GAP}(?:%20|\+)?(?:[|>][+-]?(?:\s|\\{{1,7}}[nr]){{1,8}}|(?:!!str|&\w{{1,20}})\s)?
"""
"""Between a name and its value; the first form is Python's, with a type, and the last is a block of YAML."""


def opened(match: re.Match[str]) -> str:
    """The quote before a value, as it stands in the text."""
    return f"{match['escaped']}{match['quote']}" if match["quoted"] is not None else ""


def _named(match: re.Match[str], depth: int = 0) -> str:
    value = match["quoted"]
    if is_bare_secret(match) if value is None else is_quoted_secret(match):
        return match["head"] + (match["open"] or "") + opened(match) + marker("secret")
    if not value or depth == 3:
        return match[0]
    # Text in quotes that is no secret may hold one.
    before = match[0][: match.start("quoted") - match.start()]
    return before + match.re.sub(lambda inner: _named(inner, depth + 1), value)


def _line(match: re.Match[str]) -> str:
    return (
        match[1] + marker("secret") if is_line_secret(match[3], match[2] is not None) else match[0]
    )


def _option(match: re.Match[str]) -> str:
    return match["head"] + opened(match) + marker("secret") if is_option_secret(match) else match[0]


_NEEDLES = "pass kennwort 密码 pw psw secret key token credential auth _pat"

RULES = (
    rule(
        _NEEDLES,
        rf"""(?P<head>(?<![\w-])--?[\w-]{{0,60}}?{NAME}
             (?:[ \t]{{1,8}}|(?:\s?\\?\n|\\{{1,7}}n)\s{{0,40}}(?:-\s{{1,4}})?(?=\S{{0,256}}\d)|,\s
               |\\{{0,31}}["'],\s{{0,8}}(?:default=)?(?=\\{{0,31}}["'])))(?!-){VALUE}""",
        _option,
    ),
    rule(
        "pass pwd kennwort 密码 secret key token credential auth",
        rf"""((?:^|\\[nr])[ \t]*(?:-[ \t]+)?["']?(?:[\w.-]{{0,64}}?|(?:api|access|secret)\ )
              (?:({PASSWORDS})|{_KEYS}|token|{_OTHERS})["']?[ \t]*:[ \t]+)
             ([^\s"'`\#{{\[|>&*\r\n\\](?:[^\r\n\\]|\\(?![nr"']))*)(?=[\r\n\\]|\Z)""",
        _line,
        re.IGNORECASE | re.MULTILINE,
    ),
    rule(
        _NEEDLES,
        rf"(?P<head>{NAME}{_SEPARATOR}(?:(?:[bruf]{{1,2}}|b64)(?=\\{{0,31}}[\"']))?){VALUE}",
        _named,
    ),
)
