"""Secrets by the name before them, such as `password=…`, `"api_key": "…"` and `--token …`.

The patterns find a name, a separator and a value in every spelling: as code, JSON, YAML, a header,
a log line, a table, a command line, quoted inside other strings. `secret_or_prose` then decides
whether the value is a secret. To add a name, add it to one of the groups below, and its beginning
to `_NEEDLES` if no needle there is part of it.
"""

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


def _behind(core: str, *prefixes: str) -> str:
    """Return lookbehinds for `core` after a prefix, with or without a separator between.

    A lookbehind is tried only where `core` was found, and keeps the number of first letters of the
    pattern small.
    """
    return "|".join(
        f"(?<={prefix}{separator}{core})" for prefix in prefixes for separator in ("", r"[_\ -]")
    )


_KEY_PREFIXES = (
    *("api", "access", "account", "private", "signing", "encryption", "shared", "subscription"),
    *("auth", "license"),
)
_WEAK_KEY_PREFIXES = (
    *("openai", "open_ai", "anthropic", "azure", "gemini", "google", "hf", "wandb", "ngc"),
    *("nvidia", "judge", "policy", "llm", "jwt", "hmac", "master", "deploy", "ssh", "storage"),
    *("fernet", "webhook", "admin", "role", "functions", "sas", "service", "crypt", "aes"),
)
PASSWORDS = rf"""(?:pwd|kennwort|密码|(?-i:_PASS(?<=[A-Z]_PASS))
   |pass(?:[-_\ ]?word|wd|[-_]?phrase|[-_]?code|wort
           |(?:{_behind("pass", "db", "pg", "user", "require")})))"""
"""Names of passwords, whose value may be any word."""
_WEAK = rf"""(?:(?:pass(?:(?<![^\W_]pass)|(?<=\\[nrt]pass))|psw(?<![^\W_]psw)|pw(?<![^\W_]pw)
     |(?-i:Pass(?<=[a-z]Pass)))
   |key(?:{_behind("key", *_WEAK_KEY_PREFIXES)}
       |(?<=[a-z]-key)(?<!public-key)(?<!cache-key)(?<!sort-key)(?<!host-key))
   |(?-i:_PAT(?<=[A-Z]_PAT)))"""
"""Names that mean something else as often as a secret: `pass`, `role_key`."""
_KEYS = rf"""(?:secret(?:[_-]?(?:access[_-]?)?key)?|key(?:{_behind("key", *_KEY_PREFIXES)}))"""
"""Names of keys: `secret`, `api_key`."""
_OTHERS = r"""(?:credentials?|auth(?=(?:\\*["']|%22)?\s?(?:[=:]|%3)))"""
ANY = f"(?:{PASSWORDS}|{_KEYS}|token|{_OTHERS})"
"""A name whose value is a secret, as far as a name can say so."""
NAME = rf"""(?P<name>
  (?:(?P<strict>{PASSWORDS})|(?P<key>{_KEYS})|(?P<weak>{_WEAK})|(?P<token>token)|{_OTHERS})
  (?:[_-]?(?:\d{{1,2}}|value|string|str|b64|base64|hash|text|raw))?)"""
"""The same with a group for each kind, and with suffixes as in `api_key_2`, `password_hash`."""

QUOTE = r"""(?:\"{3}|'{3}|["'`]|&quot;|&apos;|&\#(?:3[49]|x2[27]);|(?<=\\)u002[27]|%2[27])"""
_DELIMITER = r"""\s"'`\\,;&<>(){}\[\]|\x1b│，。；、）】」』"""
VALUE = rf"""
    (?:
      (?P<escaped>\\{{0,31}})(?P<quote>{QUOTE})(?!\s{{1,4}}[\w.-]{{1,40}}\s?[=:]|[),;\]}}])
        (?P<quoted>.*?)(?=(?<!\\)(?P=escaped)(?P=quote)|\n|\Z)
    | (?!\[redacted:)(?P<open>[<(\[{{]?)
        (?:(?<!\s)|(?![\w.-]{{0,40}}?{ANY}\\{{0,31}}["']?\s{{0,4}}[:=]))
        (?P<bare>\$\{{[^}}\s]{{0,80}}\}}|(?!=)[^{_DELIMITER}]+)
    )
"""
"""A value: `quoted`, up to the same quote as deeply escaped, or `bare`, up to a delimiter."""

_GAP = r"""(?:\s|\\{1,7}[nrt]|(?:\x1b|\\{1,7}(?:x1b|u001b|033))\[[\d;]{0,12}m|\u200b){0,8}"""
"""White space, escaped white space, and colours of a terminal."""
_SEPARATOR = rf"""
    (?:\\{{0,31}}{QUOTE}\]?)?{_GAP}
    (?::\s?[\w.]{{1,40}}(?:\[[\w.,\s|]{{0,60}}\])?(?:\s?\|\s?None)?\s?=(?!=)
      |=>|->|→|:=|===?|=|[:：](?!:)|\\{{1,7}}u(?:ff1a|2192)|%3a(?=(?:\+|%20)?%2[27])|&\#61;
      |\s(?:provided|supplied|given|received)\s?:)
    {_GAP}(?:%20|\+)?(?:[|>][+-]?(?:\s|\\{{1,7}}[nr]){{1,8}}|(?:!!str|&\w{{1,20}})\s)?
"""
"""Between name and value: first Python's form with a type, last a block or tag of YAML."""


def _opening_quote(match: re.Match[str]) -> str:
    """Return the quote before a value as the text has it; empty for a bare value."""
    return f"{match['escaped']}{match['quote']}" if match["quoted"] is not None else ""


def _redact_named(match: re.Match[str], depth: int = 0) -> str:
    """Replace the value of a name if it is a secret.

    A quoted value that is not one may hold names in its turn, three levels deep.
    """
    quoted = match["quoted"]
    is_secret = is_bare_secret(match) if quoted is None else is_quoted_secret(match)
    if is_secret:
        return match["head"] + (match["open"] or "") + _opening_quote(match) + marker("secret")
    if not quoted or depth == 3:
        return match[0]
    before = match[0][: match.start("quoted") - match.start()]
    return before + match.re.sub(lambda inner: _redact_named(inner, depth + 1), quoted)


def _redact_line(match: re.Match[str]) -> str:
    """Replace a value that ends with its line."""
    is_password = match[2] is not None
    return match[1] + marker("secret") if is_line_secret(match[3], is_password) else match[0]


def _redact_option(match: re.Match[str]) -> str:
    """Replace the argument of an option."""
    if not is_option_secret(match):
        return match[0]
    return match["head"] + _opening_quote(match) + marker("secret")


_NEEDLES = "pass kennwort 密码 pw psw secret key token credential auth _pat"

RULES = (
    # `--api-key value`, `"--password", "value"` in a list of arguments
    rule(
        _NEEDLES,
        rf"""(?P<head>(?<![\w-])--?[\w-]{{0,60}}?{NAME}
             (?:[ \t]{{1,8}}
               |(?:\s?\\?\n|\\{{1,7}}n)\s{{0,40}}(?:-\s{{1,4}})?(?=\S{{0,256}}\d)|,\s
               |\\{{0,31}}["'],\s{{0,8}}(?:default=)?(?=\\{{0,31}}["'])))(?!-){VALUE}""",
        _redact_option,
    ),
    # `password: several words` on a line of its own, as in YAML
    rule(
        "pass pwd kennwort 密码 secret key token credential auth",
        rf"""((?:^|\\[nr])[ \t]*(?:-[ \t]+)?["']?(?:[\w.-]{{0,64}}?|(?:api|access|secret)\ )
              (?:({PASSWORDS})|{_KEYS}|token|{_OTHERS})["']?[ \t]*:[ \t]+)
             ([^\s"'`\#{{\[|>&*\r\n\\](?:[^\r\n\\]|\\(?![nr"']))*)(?=[\r\n\\]|\Z)""",
        _redact_line,
        re.IGNORECASE | re.MULTILINE,
    ),
    # `name=value`, `"name": "value"`, `name -> value` and the rest
    rule(
        _NEEDLES,
        rf"(?P<head>{NAME}{_SEPARATOR}(?:(?:[bruf]{{1,2}}|b64)(?=\\{{0,31}}[\"']))?){VALUE}",
        _redact_named,
    ),
)
