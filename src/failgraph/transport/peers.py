"""Decide which hosts are peers: servers of the same fleet.

Peers are asked, get reports and are believed. By default, browsers, clients behind a proxy and
third parties are no peers.
"""

from __future__ import annotations

import fnmatch
import hmac
import ipaddress
import re
from collections.abc import Iterable
from typing import Final

from failgraph.settings import current
from failgraph.transport.headers import ACCEPT

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

# Prefixes of headers that proxies add. Behind a proxy the address is not that of the sender.
_FORWARDING: Final = (
    b"x-forwarded-",
    b"forwarded",
    b"x-real-ip",
    b"via",
    b"true-client-ip",
    b"cf-connecting-ip",
)
_PRIVATE_SUFFIXES: Final = (".internal", ".local", ".svc")
_PRIVATE: Final = "private"
_EVERYBODY: Final = "*"
_ASK: Final = "1"
_HOST_NAME: Final = re.compile(r"[\w-]+(\.[\w-]+)*")
_NUMBER: Final = re.compile(r"\d+|0x[0-9a-f]*")


def accept_value(host: str) -> str | None:
    """Return the value of the asking header for a request to `host`, or None to not ask it.

    The value is the peer token if one is set.
    """
    settings = current()
    if settings.enabled is False or not is_peer(host):
        return None
    return settings.peer_token or _ASK


def is_peer(host: str) -> bool:
    """Return True if `host`, a name or an address without a port, is a server of the same fleet."""
    name = host.removesuffix(".").lower()
    if name.startswith("[") and name.endswith("]"):
        name = name[1:-1]
    if not name:
        return False
    address = _parse_address(name)
    return any(_matches(name, address, entry) for entry in current().peers)


def may_receive_report(headers: Iterable[tuple[bytes, bytes]], client: str | None) -> bool:
    """Return True if the sender of a request may receive a report. Never, unless it asked.

    Args:
        headers: The headers of the request.
        client: The address that the request came from, if it is known.
    """
    settings = current()
    asked: bytes | None = None
    is_forwarded = False
    for name, value in headers:
        lower_name = name.lower()
        if lower_name == ACCEPT.encode():
            asked = value.strip()
        is_forwarded = is_forwarded or lower_name.startswith(_FORWARDING)
    if asked is None or not settings.peers:
        return False
    if settings.peer_token is not None:
        return hmac.compare_digest(asked, settings.peer_token.encode())
    if asked != _ASK.encode():
        return False
    if _EVERYBODY in settings.peers:
        return True
    address = _parse_address(client or "")
    if address is None or is_forwarded:
        return False
    return any(_matches(str(address), address, entry) for entry in settings.peers)


def _parse_address(text: str) -> Address | None:
    """Return the address without its zone, IPv4 if it is mapped, or None for other text."""
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address


def _matches(name: str, address: Address | None, entry: str) -> bool:
    """Match an entry of `FAILGRAPH_PEERS`: a network against the address, others against the name.

    Args:
        name: The name in lower case, or the text of the address.
        address: The address that `name` is, or None for a name.
        entry: `private`, a network, or a pattern for the whole name.
    """
    if entry == _PRIVATE:
        return _is_private(name, address)
    if "/" in entry:
        return address is not None and address in ipaddress.ip_network(entry)
    return fnmatch.fnmatchcase(name, entry)


def _is_private(name: str, address: Address | None) -> bool:
    if address is not None:
        return address.is_loopback or address.is_private
    # Other parsers read a name whose last label is a number as an address; `ipaddress` does not.
    if _HOST_NAME.fullmatch(name) is None or _NUMBER.fullmatch(name.rpartition(".")[2]):
        return False
    return "." not in name or name.endswith(_PRIVATE_SUFFIXES)
