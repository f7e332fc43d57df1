"""HTTP clients ask peers for failure reports and take them in: aiohttp, httpx, requests; also sessions made before.

Each hook is where one request goes to one host, so that a redirect is a request of its own: another host is asked only
if it is a peer, and one that is none never sees the asking header, whoever put it there. httpx is hooked a step above
its transports: there OpenTelemetry's instrumentation wraps, and would take our wrapper off in place of its own.
"""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from typing import Any
from urllib.parse import urlsplit

from failgraph.diagnostics import guard
from failgraph.transport.headers import ACCEPT
from failgraph.transport.peers import asking
from failgraph.transport.replies import take

_PROXIED = "_failgraph_proxied"
REPORTED_FAILURE_ID = "_failgraph_reported"
"""Attribute of a reply of aiohttp's: the id of the failure that it is, as its report says."""
Wrapped = Callable[..., Any]


class _AskingHeader:
    """The time during which a request carries the asking header: afterwards it is what its caller made it.

    A request object goes on to redirects, into exceptions and into logs, where the header, and a token in it, has no
    business. `host` is None where nobody is to be asked: a proxy that sees the request is no peer.
    """

    def __init__(self, host: str | None, fields: MutableMapping[str, str]) -> None:
        self._host, self._fields = host, fields
        self._given: str | None = None

    def __enter__(self) -> None:
        with guard("asking"):
            self._given = self._fields.get(ACCEPT)
            value = asking(self._host) if self._host is not None else None
            if value is not None:
                self._fields[ACCEPT] = value
            elif self._given is not None:
                del self._fields[ACCEPT]

    def __exit__(self, *_: object) -> None:
        with guard("asking"):
            if ACCEPT in self._fields:
                del self._fields[ACCEPT]
            if self._given is not None:
                self._fields[ACCEPT] = self._given


async def aiohttp_send(
    wrapped: Wrapped, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """`aiohttp.ClientRequest.send`."""
    proxied = instance.method == "CONNECT" or (instance.proxy is not None and not instance.is_ssl())
    with _AskingHeader(None if proxied else instance.url.host, instance.headers):
        response = await wrapped(*args, **kwargs)
    if proxied:
        vars(response)[_PROXIED] = True
    return response


async def aiohttp_start(
    wrapped: Wrapped, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """`aiohttp.ClientResponse.start`: the head has arrived, the body need not have."""
    response = await wrapped(*args, **kwargs)
    if _PROXIED not in vars(instance):
        report = take(instance.url.host or "", instance.headers.get)
        if report is not None and report.failure_id is not None:
            vars(instance)[REPORTED_FAILURE_ID] = report.failure_id
    return response


def httpx_send(
    wrapped: Wrapped, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """`httpx.Client._send_single_request`."""
    request = args[0] if args else kwargs["request"]
    host = _httpx_host(instance, request)
    with _AskingHeader(host, request.headers):
        response = wrapped(*args, **kwargs)
    if host is not None:
        take(host, response.headers.get)
    return response


async def httpx_send_async(
    wrapped: Wrapped, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """`httpx.AsyncClient._send_single_request`."""
    request = args[0] if args else kwargs["request"]
    host = _httpx_host(instance, request)
    with _AskingHeader(host, request.headers):
        response = await wrapped(*args, **kwargs)
    if host is not None:
        take(host, response.headers.get)
    return response


def _httpx_host(client: Any, request: Any) -> str | None:
    """Where a request goes; None where a proxy sees it."""
    with guard("asking"):
        transport_for = getattr(client, "_transport_for_url", None)
        pool = (
            getattr(transport_for(request.url), "_pool", None)
            if transport_for is not None
            else None
        )
        proxied = "Proxy" in type(pool).__name__ and request.url.scheme == "http"
        return None if proxied else str(request.url.host)
    return None


def requests_send(
    wrapped: Wrapped, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """`requests.adapters.HTTPAdapter.send`."""
    request = args[0] if args else kwargs["request"]
    host = _requests_host(request.url, kwargs.get("proxies"))
    with _AskingHeader(host, request.headers):
        response = wrapped(*args, **kwargs)
    if host is not None:
        take(host, response.headers.get)
    return response


def _requests_host(url: str, proxies: Any) -> str | None:
    """Where a request goes; None where a proxy sees it."""
    with guard("asking"):
        parts = urlsplit(url)
        keys = (f"http://{parts.hostname}", "http", f"all://{parts.hostname}", "all")
        proxied = parts.scheme == "http" and any((proxies or {}).get(key) for key in keys)
        return None if proxied else parts.hostname
    return None
