"""Secrets on a command line: passwords and keys that programs take by an option of their own."""

from __future__ import annotations

import re

from failgraph.redaction.markers import marker
from failgraph.redaction.rules.rule import replace_second_group, rule
from failgraph.redaction.rules.values import is_mixed, is_placeholder, is_scrambled

_PROGRAMS = r"""
    (?:\bsshpass\s{1,4}-p\s?
      |\b(?:docker|podman|skopeo|crane|oras|helm)\s(?:[a-z]{1,12}\s)?login\b[^\r\n]{0,160}?\s-p[\s=]
      |\bmysql[a-z]{0,6}\s(?:[^\r\n]{0,160}?\s)?-p(?=\S)
      |\bredis-cli\s(?:[^\r\n]{0,160}?\s)?-a\s
      |\bmongo(?:sh|dump|restore|export|import)?\s(?:[^\r\n]{0,160}?\s)?-p\s
      |\bldap[a-z]{1,10}\s(?:[^\r\n]{0,160}?\s)?-w\s
      |\bsqlcmd\s(?:[^\r\n]{0,160}?\s)?-P\s
      |\b7z\s\w\s(?:[^\r\n]{0,160}?\s)?-p(?=\S))
"""
"""Programs that take a password, up to their option for it."""


def _redact_argument(match: re.Match[str]) -> str:
    """Replace the argument of an option, quoted or not, unless it is a placeholder."""
    value = match["quoted"] or match["bare"]
    if is_placeholder(value):
        return match[0]
    return match["head"] + (match["quote"] or "") + marker("secret")


def _redact_user(match: re.Match[str]) -> str:
    """Replace `user:password`, or a token in place of the user with nothing after its colon."""
    user, _, password = (match["quoted"] or match["bare"]).partition(":")
    is_token = not password and is_mixed(user)
    if is_placeholder(password) and not is_token:
        return match[0]
    return match["head"] + (match["quote"] or "") + marker("credentials")


_ARGUMENT = r"""(?:(?P<quote>\\{0,15}["'])(?P<quoted>[^"'\\\r\n]{1,256})|(?P<bare>[^\s"'\\]+))"""

RULES = (
    # `curl -u user:password`, `--proxy-user=user:password`, also as a list of arguments
    rule(
        "curl wget --auth",
        r"""(?P<head>(?<!\S)["']?(?:(?-i:-[a-zA-Z]{0,6}u)|--user|--proxy-user|--auth)(?:\s{1,4}|=|["'],\s|))
            (?:(?P<quote>\\{0,15}["'])(?P<quoted>[^\s:"'\\]{1,128}:(?!\d+\b)[^"'\\\r\n]{0,256})
              |(?P<bare>[^\s:"'\\]{1,128}:(?!\d+\b)[^\s"'\\]*))""",
        _redact_user,
    ),
    # `mysql -ppassword`, `redis-cli -a password`, `docker login -p password`
    rule(
        "sshpass login mysql redis-cli mongo ldap sqlcmd 7z",
        rf"(?P<head>{_PROGRAMS}){_ARGUMENT}",
        _redact_argument,
        re.ASCII,
    ),
    # `wandb login --relogin key`
    rule(
        "wandb",
        r"(\bwandb\s{1,4}login\s{1,4}(?:--?\S{1,40}\s{1,4}){0,4})([^\s\"'-]\S+)",
        replace_second_group("secret", is_mixed),
    ),
    # `echo password | docker login --password-stdin`
    rule(
        "-stdin",
        r"(\becho\s{1,4}(?:-n\s{1,4})?[\"']?)([^\s\"'|]+)(?=[\"']?\s{0,4}\|[^|\r\n]{0,160}-stdin)",
        replace_second_group("secret", is_mixed),
    ),
    # `requirepass password` of Redis, `ENV API_KEY key` of a Dockerfile, `set -x TOKEN token` of
    # fish
    rule(
        "requirepass masterauth env set",
        r"""((?:\b(?:requirepass|masterauth)|\b(?:setenv|(?-i:ENV)|set\s-\w{1,3})\s{1,4}\w{0,40}(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASS))
             \s{1,4}["']?)([^\s"'=]+)""",
        replace_second_group("secret", is_scrambled),
    ),
)
