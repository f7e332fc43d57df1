"""Who is told, and who is believed: servers of the same fleet, never a browser, a proxy's client or a third party."""

from __future__ import annotations

import fnmatch
import hmac
import ipaddress
import re
from collections.abc import Iterable
from typing import Final

from failgraph.settings import current
from failgraph.transport.headers import ACCEPT

_FORWARDING: Final = (
    b"x-forwarded-",
    b"forwarded",
    b"x-real-ip",
    b"via",
    b"true-client-ip",
    b"cf-connecting-ip",
)
"""How headers begin that a proxy adds: whoever connects is not who asks."""
_SUFFIXES: Final = (".internal", ".local", ".svc")
_ASK: Final = "1"
_NAME: Final = re.compile(r"[\w-]+(\.[\w-]+)*")
_NUMBER: Final = re.compile(r"\d+|0x[0-9a-f]*")

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def asking(host: str) -> str | None:
    """The value of the asking header for a request to `host`; None where it is not to be asked."""
    settings = current()
    if settings.enabled is False or not is_peer(host):
        return None
    return settings.peer_token or _ASK


def is_peer(host: str) -> bool:
    """Whether `host`, a name or an address without port, is a server of the same fleet."""
    name = host.removesuffix(".").lower()
    if name.startswith("[") and name.endswith("]"):
        name = name[1:-1]
    if not name:
        return False
    address, patterns = _address(name), current().peers
    if patterns:
        return any(_matches(name, address, pattern) for pattern in patterns)
    if address is not None:
        return address.is_loopback or address.is_private
    # A last label that is a number makes an address of it, which other parsers read and this one does not.
    is_name = (
        _NAME.fullmatch(name) is not None and _NUMBER.fullmatch(name.rpartition(".")[2]) is None
    )
    return is_name and ("." not in name or name.endswith(_SUFFIXES))


def is_told(headers: Iterable[tuple[bytes, bytes]], client: str | None) -> bool:
    """Whether whoever sent a request, from the address `client`, gets a report: who did not ask never does."""
    settings, asked, forwarded = current(), None, False
    for name, value in headers:
        lowered = name.lower()
        if lowered == ACCEPT.encode():
            asked = value.strip()
        forwarded = forwarded or lowered.startswith(_FORWARDING)
    if asked is None or settings.reply == "never":
        return False
    token = settings.peer_token
    if token is not None and hmac.compare_digest(asked, token.encode()):
        return True
    if asked != _ASK.encode():
        return False
    if token is not None or settings.reply == "always":
        return settings.reply == "always"
    address = _address(client or "")
    return not forwarded and address is not None and (address.is_loopback or address.is_private)


def _address(name: str) -> Address | None:
    try:
        address = ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address


def _matches(name: str, address: Address | None, pattern: str) -> bool:
    if "/" in pattern:
        return address is not None and address in ipaddress.ip_network(pattern)
    return fnmatch.fnmatchcase(name, pattern)
