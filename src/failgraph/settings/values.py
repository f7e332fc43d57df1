"""A setting's text to its value; what is wrong with one is a sentence among `problems`, and its default stands in."""

from __future__ import annotations

import ipaddress
import json
import os
import re
from typing import TypeVar
from urllib.parse import unquote, urlsplit

from failgraph.settings.names import PEERS, REDACT_PATTERNS

Default = TypeVar("Default", str, None)

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE = re.compile(r"[!-~]([ -~\t]*[!-~])?|")
_PLAIN = re.compile(r"[^\s=:@%&→：]{1,8}|[A-Za-z_.-]{1,24}|[0-9./-]{1,24}")
"""What is shown of a value that cannot be used: longer ones of letters and digits may be keys."""
_QUOTED = re.compile(r"""'.*'|".*\"""")


def said(value: str) -> str:
    """A value that cannot be used, in a message: what may hold a secret, as a sentence or an address may, is not shown.

    Each process logs such a message, and the rules of redaction are themselves settings.
    """
    return ascii(value) if _PLAIN.fullmatch(value) else f"({len(value)} characters, not shown)"


def peers(value: str, problems: list[str]) -> tuple[str, ...]:
    """Host patterns and networks, in lower case."""
    found = []
    for pattern in filter(None, (part.strip().lower() for part in value.split(","))):
        try:
            found.append(
                str(ipaddress.ip_network(pattern, strict=False)) if "/" in pattern else pattern
            )
        except ValueError:
            problems.append(f"{PEERS}: {said(pattern)} is no network")
    return tuple(found)


def number(
    name: str, value: str, default: int, bounds: tuple[int, int], problems: list[str]
) -> int:
    """A whole number in its bounds, both of which it may be."""
    if not value:
        return default
    lowest, highest = bounds
    if (
        value.isascii()
        and value.isdigit()
        and len(value) <= len(str(highest))
        and lowest <= int(value) <= highest
    ):
        return int(value)
    problems.append(f"{name}={said(value)} is no number from {lowest} to {highest}")
    return default


def folder(name: str, value: str, problems: list[str]) -> str | None:
    """The whole path of a directory, which need not be there: the process may change its own later."""
    if "\0" in value or (os.path.exists(value) and not os.path.isdir(value)):
        problems.append(f"{name}={said(value)} is no directory")
        return None
    return os.path.abspath(value) if value else None


def patterns(value: str) -> tuple[tuple[re.Pattern[str], ...], str | None]:
    """The patterns that `value` holds, one or a JSON list, and what is wrong with them.

    None is shown: whoever gives one as it is gives away what was to be hidden.
    """
    try:
        listed = json.loads(value)
    except ValueError:
        listed = None
    found = listed if isinstance(listed, list) else [value] if value else []
    compiled = []
    for count, pattern in enumerate(found, 1):
        try:
            compiled.append(re.compile(pattern))
        except (re.error, TypeError, RecursionError, OverflowError, FutureWarning) as error:
            why = _QUOTED.sub("…", str(error))
            return (), f"{REDACT_PATTERNS}: pattern {count} is no regular expression ({why})"
    return tuple(compiled), None


def base_url(name: str, value: str, default: Default, problems: list[str]) -> str | Default:
    """The address of a server, without the slash at its end. What it holds is not shown where it holds a password."""
    if not value:
        return default
    try:
        url = urlsplit(value)
        usable = url.scheme in ("http", "https") and url.hostname and url.port != 0
    except ValueError:
        usable = False
    if not usable:
        problems.append(f"{name} is no address such as http://localhost:16686")
    elif "@" in url.netloc:
        problems.append(
            f"{name} holds a user name or password; give them as a header, where the server asks for one"
        )
    elif url.query or url.fragment:
        problems.append(f"{name} has a query; give the address of the server alone")
    else:
        return value.rstrip("/")
    return default


def headers(name: str, value: str, problems: list[str]) -> tuple[tuple[str, str], ...]:
    """Headers as `OTEL_EXPORTER_OTLP_HEADERS` has them: `name=value`, separated by commas, percent-encoded.

    https://opentelemetry.io/docs/specs/otel/protocol/exporter/#specifying-headers-via-environment-variables. No text of
    them is ever part of a problem.
    """
    found = []
    for number, part in enumerate(filter(None, (part.strip() for part in value.split(","))), 1):
        key, equals, text = (unquote(each.strip()) for each in part.partition("="))
        if equals and _HEADER_NAME.fullmatch(key) and _HEADER_VALUE.fullmatch(text):
            found.append((key.lower(), text))
        else:
            problems.append(
                f"{name}: header {number} is not of the form name=value, percent-encoded"
            )
    return tuple(found)
