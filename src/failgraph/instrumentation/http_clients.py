"""HTTP clients (aiohttp, httpx, requests) ask peers for failure reports and take them in.

The classes are hooked, so that sessions that were made before failgraph was attached ask too. Each
hook is where one request goes to one host. A redirect is a request of its own: another host is
asked only if it is a peer, and a host that is not a peer never sees the asking header, even if the
caller set it.

httpx is hooked one step above its transports. OpenTelemetry's instrumentation wraps the transports,
and when it is removed it would remove failgraph's wrapper with its own.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any
from urllib.parse import urlsplit

from failgraph.diagnostics import guard
from failgraph.instrumentation.hook_target import Wrapped
from failgraph.transport.headers import ACCEPT
from failgraph.transport.peers import accept_value
from failgraph.transport.replies import receive_report

# Attributes that hooks set on a reply of aiohttp's.
_IS_PROXIED = "_failgraph_proxied"
REPORTED_FAILURE_ID = "_failgraph_reported"  # the own failure of the report that came with it


class _AskingHeader:
    """Context manager: the request carries the asking header only inside the block.

    Afterwards the request is what its caller made it. The object goes on to redirects, into
    exceptions and into logs, where the header must not be: it may hold the peer token.

    Args:
        host: Where the request goes, or None if no report is to be asked for.
        fields: The header fields of the request, which are changed.
    """

    def __init__(self, host: str | None, fields: MutableMapping[str, str]) -> None:
        self._host = host
        self._fields = fields
        self._given: str | None = None

    def __enter__(self) -> None:
        with guard("asking for a report"):
            self._given = self._fields.get(ACCEPT)
            value = accept_value(self._host) if self._host is not None else None
            if value is not None:
                self._fields[ACCEPT] = value
            elif self._given is not None:
                del self._fields[ACCEPT]

    def __exit__(self, *_: object) -> None:
        with guard("asking for a report"):
            if ACCEPT in self._fields:
                del self._fields[ACCEPT]
            if self._given is not None:
                self._fields[ACCEPT] = self._given


async def aiohttp_send(
    wrapped: Wrapped, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Wrap `aiohttp.ClientRequest.send`: ask for a report."""
    is_proxied = instance.method == "CONNECT" or (
        instance.proxy is not None and not instance.is_ssl()
    )
    with _AskingHeader(None if is_proxied else instance.url.host, instance.headers):
        response = await wrapped(*args, **kwargs)
    if is_proxied:
        vars(response)[_IS_PROXIED] = True
    return response


async def aiohttp_start(
    wrapped: Wrapped, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Wrap `aiohttp.ClientResponse.start`: take in the report when the reply's head has arrived."""
    response = await wrapped(*args, **kwargs)
    if _IS_PROXIED not in vars(instance):
        report = receive_report(instance.url.host or "", instance.headers.get)
        if report is not None and report.failure_id is not None:
            vars(instance)[REPORTED_FAILURE_ID] = report.failure_id
    return response


def httpx_send(
    wrapped: Wrapped, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Wrap `httpx.Client._send_single_request`: ask for a report and take it in."""
    request = args[0] if args else kwargs["request"]
    host = _httpx_host(instance, request)
    with _AskingHeader(host, request.headers):
        response = wrapped(*args, **kwargs)
    if host is not None:
        receive_report(host, response.headers.get)
    return response


async def httpx_send_async(
    wrapped: Wrapped, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Wrap `httpx.AsyncClient._send_single_request`: ask for a report and take it in."""
    request = args[0] if args else kwargs["request"]
    host = _httpx_host(instance, request)
    with _AskingHeader(host, request.headers):
        response = await wrapped(*args, **kwargs)
    if host is not None:
        receive_report(host, response.headers.get)
    return response


def _httpx_host(client: Any, request: Any) -> str | None:
    """Return where a request goes, or None if it goes through a proxy that reads it."""
    with guard("asking for a report"):
        transport_for = getattr(client, "_transport_for_url", None)
        transport = transport_for(request.url) if transport_for is not None else None
        pool = getattr(transport, "_pool", None)
        is_proxied = "Proxy" in type(pool).__name__ and request.url.scheme == "http"
        return None if is_proxied else str(request.url.host)
    return None


def requests_send(
    wrapped: Wrapped, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Wrap `requests.adapters.HTTPAdapter.send`: ask for a report and take it in."""
    request = args[0] if args else kwargs["request"]
    host = _requests_host(request.url, kwargs.get("proxies"))
    with _AskingHeader(host, request.headers):
        response = wrapped(*args, **kwargs)
    if host is not None:
        receive_report(host, response.headers.get)
    return response


def _requests_host(url: str, proxies: Any) -> str | None:
    """Return where a request goes, or None if it goes through a proxy that reads it."""
    with guard("asking for a report"):
        parts = urlsplit(url)
        keys = (f"http://{parts.hostname}", "http", f"all://{parts.hostname}", "all")
        is_proxied = parts.scheme == "http" and any((proxies or {}).get(key) for key in keys)
        return None if is_proxied else parts.hostname
    return None
