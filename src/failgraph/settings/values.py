"""Parsers of the texts of settings, each from a text to a value or to problems.

A problem is a sentence for a log line or an error message. It shows a value only if that is short
and plain: each process logs it, and the rules of redaction, which could hide a secret, are settings
themselves.
"""

from __future__ import annotations

import ipaddress
import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar
from urllib.parse import unquote, urlsplit

from failgraph.failure.boundary import FailureBoundary
from failgraph.settings.names import CHOICES

Value = TypeVar("Value")

_SPELLINGS = {
    **dict.fromkeys(("1", "yes", "on"), "true"),
    **dict.fromkeys(("0", "no", "off"), "false"),
}
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE = re.compile(r"[!-~]([ -~\t]*[!-~])?|")
_TOKEN = re.compile(r"[!-~]([ -~]{0,4094}[!-~])?")
_FUNCTION = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")
# Longer texts of letters and digits may be keys; with spaces, "=", ":" or "@", sentences, pairs or
# URLs that hold one.
_SHORT_AND_PLAIN = re.compile(
    r"[^\s=:@%&→：]{1,8}|(?=.{1,24}\Z)[A-Za-z_.-]+(?:/[a-z]+)?|[0-9./-]{1,24}"
)
_QUOTED = re.compile(r"""'.*'|".*\"""")


@dataclass(frozen=True)
class Parsed(Generic[Value]):
    """What a parser made of the text of one setting.

    Attributes:
        value: The value, or None if the text cannot be used. Of a list, the usable entries.
        problems: One sentence for each thing that is wrong.
    """

    value: Value | None
    problems: tuple[str, ...] = ()


def must_be(name: str, expected: str, text: str) -> str:
    """Return what a value must be, as a sentence that shows the value if it is short and plain."""
    shown = f", not {text!a}" if _SHORT_AND_PLAIN.fullmatch(text) else ""
    return f"{name} must be {expected}{shown}"


def one_of(choices: Sequence[str]) -> str:
    """Return the choices as a phrase: `a, b or c`."""
    return f"{', '.join(choices[:-1])} or {choices[-1]}"


def parse_choice(name: str, text: str) -> Parsed[str]:
    """Parse one of the choices of a setting, in any case, to lower case.

    `1`, `yes` and `on` are `true`; `0`, `no` and `off` are `false`.
    """
    choice = _SPELLINGS.get(text.lower(), text.lower())
    if choice in CHOICES[name]:
        return Parsed(choice)
    return Parsed(None, (must_be(name, one_of(CHOICES[name]), text),))


def parse_switch(name: str, text: str) -> Parsed[bool]:
    """Parse `true` or `false`, or one of their other spellings."""
    choice = parse_choice(name, text)
    if choice.value is None:
        return Parsed(None, choice.problems)
    return Parsed(choice.value == "true")


def parse_boundary(name: str, text: str) -> Parsed[FailureBoundary]:
    """Parse the name of a boundary."""
    choice = parse_choice(name, text)
    if choice.value is None:
        return Parsed(None, choice.problems)
    return Parsed(FailureBoundary(choice.value))


def parse_integer(name: str, text: str, *, lowest: int, highest: int) -> Parsed[int]:
    """Parse an integer of ASCII digits; both bounds are allowed."""
    is_short_enough = text.isascii() and text.isdigit() and len(text) <= len(str(highest))
    if is_short_enough and lowest <= int(text) <= highest:
        return Parsed(int(text))
    return Parsed(None, (must_be(name, f"an integer from {lowest} to {highest}", text),))


def parse_peers(name: str, text: str) -> Parsed[tuple[str, ...]]:
    """Parse who is in the fleet: `none`, or entries separated by commas.

    Returns:
        `private`, host patterns in lower case, and networks in canonical form; empty for `none`. An
        entry that is wrong admits nobody.
    """
    entries = [entry for part in text.split(",") if (entry := part.strip().lower())]
    if entries == ["none"]:
        return Parsed(())
    if not entries:
        return Parsed(
            (), (must_be(name, "private, none, * or a list of hosts and networks", text),)
        )
    peers, problems = [], []
    for number, entry in enumerate(entries, 1):
        try:
            if entry == "none":
                problems.append(f"{name}: 'none' cannot be combined with other entries")
                continue
            is_network = "/" in entry
            peers.append(str(ipaddress.ip_network(entry, strict=False)) if is_network else entry)
        except ValueError:
            expected = "a host pattern or a network such as 10.0.0.0/8"
            problems.append(must_be(f"{name}: entry {number}", expected, entry))
    return Parsed(tuple(peers), tuple(problems))


def parse_token(name: str, text: str) -> Parsed[str]:
    """Parse a secret that a header can carry. No problem shows it."""
    if _TOKEN.fullmatch(text):
        return Parsed(text)
    return Parsed(None, (f"{name} must be 1 to 4096 printable ASCII characters",))


def parse_directory(name: str, text: str) -> Parsed[str]:
    """Parse the path of a directory, which need not exist, to an absolute path.

    Absolute, because the program may change its working directory later.
    """
    if "\0" in text or (os.path.exists(text) and not os.path.isdir(text)):
        return Parsed(None, (must_be(name, "the path of a directory", text),))
    return Parsed(os.path.abspath(text))


def parse_patterns(name: str, text: str) -> Parsed[tuple[re.Pattern[str], ...]]:
    """Compile one regular expression or a JSON list of them.

    No problem shows a pattern: one that is the secret itself would reveal what it should hide.
    """
    try:
        document = json.loads(text)
    except ValueError:
        document = None
    patterns = document if isinstance(document, list) else [text]
    compiled = []
    for number, pattern in enumerate(patterns, 1):
        try:
            compiled.append(re.compile(pattern))
        except (re.error, TypeError, RecursionError, OverflowError, FutureWarning) as error:
            reason = _QUOTED.sub("…", str(error))
            problem = f"{name}: pattern {number} is not a valid regular expression ({reason})"
            return Parsed(None, (problem,))
    return Parsed(tuple(compiled))


def parse_function(name: str, text: str) -> Parsed[str]:
    """Parse the name of a function, `package.module:function`; never an expression or a path."""
    if _FUNCTION.fullmatch(text):
        return Parsed(text)
    return Parsed(None, (must_be(name, "of the form package.module:function", text),))


def parse_base_url(name: str, text: str, *, headers_setting: str | None = None) -> Parsed[str]:
    """Parse the HTTP address of a server, to one without a slash at the end. No problem shows it.

    Args:
        name: The setting.
        text: Its text.
        headers_setting: Where credentials for this server belong, or None if none are ever sent.
    """
    try:
        url = urlsplit(text)
        usable = url.scheme in ("http", "https") and url.hostname and url.port != 0
    except ValueError:
        usable = False
    if not usable:
        return Parsed(None, (f"{name} must be a URL such as http://localhost:16686",))
    if "@" in url.netloc:
        instead = f"; set {headers_setting} instead" if headers_setting else ""
        return Parsed(None, (f"{name} must not contain a user name or password{instead}",))
    if url.query or url.fragment:
        problem = f"{name} must not contain a query; give only the address of the server"
        return Parsed(None, (problem,))
    return Parsed(text.rstrip("/"))


def parse_headers(name: str, text: str) -> Parsed[tuple[tuple[str, str], ...]]:
    """Parse headers, percent-encoded as `name=value` and separated by commas.

    The format is that of `OTEL_EXPORTER_OTLP_HEADERS`:
    https://opentelemetry.io/docs/specs/otel/protocol/exporter/#specifying-headers-via-environment-variables

    Returns:
        The usable headers as pairs, names in lower case. No problem shows any text of a header.
    """
    headers, problems = [], []
    entries = [entry for part in text.split(",") if (entry := part.strip())]
    for number, entry in enumerate(entries, 1):
        key, equals, value = (unquote(part.strip()) for part in entry.partition("="))
        if equals and _HEADER_NAME.fullmatch(key) and _HEADER_VALUE.fullmatch(value):
            headers.append((key.lower(), value))
        else:
            problems.append(
                f"{name}: header {number} must be of the form name=value, percent-encoded,"
                " such as authorization=Bearer%20TOKEN"
            )
    return Parsed(tuple(headers), tuple(problems))
