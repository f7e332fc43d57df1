"""HTTP clients ask peers for failure reports and take them in: aiohttp, httpx, requests; also sessions made before.

Each hook is where one request goes to one host, so that a redirect is a request of its own: another host is asked only
if it is a peer, and one that is none never sees the asking header, whoever put it there.
"""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from typing import Any
from urllib.parse import urlsplit

from failgraph.diagnostics import guard
from failgraph.transport.headers import ACCEPT
from failgraph.transport.peers import asking
from failgraph.transport.taking import take

Wrapped = Callable[..., Any]


def _ask(host: str, fields: MutableMapping[str, str]) -> None:
    with guard("asking"):
        value = asking(host)
        if value is not None:
            fields[ACCEPT] = value
        elif ACCEPT in fields:
            del fields[ACCEPT]


async def aiohttp_send(wrapped: Wrapped, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`aiohttp.ClientRequest.send`."""
    _ask(instance.url.host or "", instance.headers)
    return await wrapped(*args, **kwargs)


async def aiohttp_start(wrapped: Wrapped, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`aiohttp.ClientResponse.start`: the head has arrived, the body need not have."""
    response = await wrapped(*args, **kwargs)
    take(instance.url.host or "", instance.headers.get)
    return response


def httpx_handle(wrapped: Wrapped, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:  # noqa: ARG001
    """`httpx.HTTPTransport.handle_request`."""
    request = args[0] if args else kwargs["request"]
    _ask(request.url.host, request.headers)
    response = wrapped(*args, **kwargs)
    take(request.url.host, response.headers.get)
    return response


async def httpx_handle_async(wrapped: Wrapped, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:  # noqa: ARG001
    """`httpx.AsyncHTTPTransport.handle_async_request`."""
    request = args[0] if args else kwargs["request"]
    _ask(request.url.host, request.headers)
    response = await wrapped(*args, **kwargs)
    take(request.url.host, response.headers.get)
    return response


def requests_send(wrapped: Wrapped, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:  # noqa: ARG001
    """`requests.adapters.HTTPAdapter.send`."""
    request = args[0] if args else kwargs["request"]
    host = urlsplit(request.url).hostname or ""
    _ask(host, request.headers)
    response = wrapped(*args, **kwargs)
    take(host, response.headers.get)
    return response
