"""Calls that Gym makes through its one HTTP client: each failing attempt of a model's, and each that does not connect.

Gym sends a request again every half second for as long as nobody answers, inside one call: only here is each try seen.
"""

from __future__ import annotations

import sys
import time
import weakref
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from failgraph.context import current_hop
from failgraph.diagnostics import guard
from failgraph.failure.boundary import FailureBoundary
from failgraph.instrumentation import hooks
from failgraph.instrumentation.gym import retries
from failgraph.instrumentation.gym.observing import Observed, Server, here, mark, tell
from failgraph.instrumentation.gym.passing import passing
from failgraph.instrumentation.gym.vocabulary import kind_of_status, route, stage_of
from failgraph.instrumentation.http_clients import REPORTED

_MODULE = "nemo_gym.server_utils"
_CLIENT = "_GLOBAL_AIOHTTP_CLIENT"
_EACH = 16
"""Attempts of a request that are told one by one: more come where Gym's configuration has no end of them."""
_attempts: weakref.WeakKeyDictionary[Server, retries.Again] = weakref.WeakKeyDictionary()
"""Of each request that is served, its attempts that the model's API answered with an error."""
_STANDS_FOR = "_failgraph_stands_for"
"""Attribute of a reply to Gym: the id of the failure that it is."""
_ANSWERS = ("/run", "/verify")
"""Routes of which the reply is handed on as the caller's own: a failure behind a 200 is the caller's reply, too."""


async def request(
    wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """`ClientSession._request(method, url)`, of Gym's client alone."""
    if not _is_gyms(instance):
        return await wrapped(*args, **kwargs)
    method, url = _of_request(*args, **kwargs)
    began = time.monotonic()
    with passing("a try of Gym's", lambda error: retries.got_no_reply(method, url, began, error)):
        response = await wrapped(*args, **kwargs)
    with guard("a reply to Gym"):
        retries.went_through()
        _replied(method, url, response)
    return response


def _of_request(method: Any = "", str_or_url: Any = "", *_: Any, **__: Any) -> tuple[str, str]:
    return str(method).upper(), str(str_or_url)


def _is_gyms(session: Any) -> bool:
    module = sys.modules.get(_MODULE)
    if module is None or not hasattr(module, _CLIENT):
        hooks.unfit("aiohttp.client.ClientSession._request", f"there is no {_MODULE}.{_CLIENT}")
        return False
    return getattr(module, _CLIENT) is session


def _replied(method: str, url: str, response: Any) -> None:
    reported, path = vars(response).get(REPORTED), route(urlsplit(url).path)
    if here().boundary is FailureBoundary.MODEL and response.status >= 400:
        reported = _attempt(method, path, response, reported)
    if path in _ANSWERS:
        _handed_on(response, reported)
    if reported is not None:
        vars(response)[_STANDS_FOR] = reported


def _attempt(method: str, path: str, response: Any, cause_id: str | None) -> str | None:
    """An attempt of a model server's that its API answered with an error; a retry may recover it."""
    server = here()
    again = _attempts.setdefault(server, retries.Again())
    again.tries += 1
    what = Observed(
        server.boundary,
        kind_of_status(response.status),
        stage_of(server.boundary, path),
        operation=f"{method} {path}",
        attempt_id=str(again.tries),
        http_status=response.status,
        details={"provider_request_id": response.headers.get("x-request-id")},
        reason=f"the model's API answered {response.status} {response.reason or ''}".rstrip(),
    )
    return (
        again.told(what, tell(what, cause_id=cause_id))
        if again.tries <= _EACH
        else again.failed(what)
    )


def _handed_on(response: Any, reported: str | None) -> None:
    """A reply that its caller may hand on as its own: so is the failure that it is, where it does not escape."""
    server, hop = here(), current_hop.get()
    if hop is None:
        return
    if hop.log.failure_id is not None and hop.log.failure_id == server.passed_on:
        hop.log.failure_id = None  # it was asked once more: this reply counts
    server.passed_on, server.passes_on_a_failure = reported, response.status >= 400
    if reported is not None and response.status < 400:
        hop.log.claim(reported)


def raise_for_status(
    wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """`ClientResponse.raise_for_status()`: the exception stands for the failure that the reply is."""
    failure_id = vars(instance).get(_STANDS_FOR)
    if failure_id is None:
        return wrapped(*args, **kwargs)
    with passing("a failing reply to Gym", lambda error: mark(error, failure_id)):
        return wrapped(*args, **kwargs)
