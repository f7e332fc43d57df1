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

from failgraph.diagnostics import guard
from failgraph.failure.boundary import FailureBoundary
from failgraph.instrumentation import hooks
from failgraph.instrumentation.gym import retries
from failgraph.instrumentation.gym.current_request import GymRequest, current_gym_request
from failgraph.instrumentation.gym.observing import GymFailure, record_failure, set_failure_id
from failgraph.instrumentation.gym.on_exception import on_exception
from failgraph.instrumentation.gym.vocabulary import kind_of_status, route, stage_of
from failgraph.instrumentation.http_clients import REPORTED_FAILURE_ID
from failgraph.recording.hop import running_hop

_MODULE = "nemo_gym.server_utils"
_CLIENT = "_GLOBAL_AIOHTTP_CLIENT"
_MAX_SINGLE = 16
"""Attempts of a request that are told one by one: more come where Gym's configuration has no end of them."""
_failing_attempts: weakref.WeakKeyDictionary[GymRequest, retries.RepeatedFailure] = (
    weakref.WeakKeyDictionary()
)
"""Of each request that is served, its attempts that the model's API answered with an error."""
_FAILURE_ID = "_failgraph_stands_for"
"""Attribute of a reply to Gym: the id of the failure that it is."""
_RELAYED_ROUTES = ("/run", "/verify")
"""Routes of which the reply is handed on as the caller's own: a failure behind a 200 is the caller's reply, too."""


async def request(
    wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """`ClientSession._request(method, url)`, of Gym's client alone."""
    if not _is_gym_client(instance):
        return await wrapped(*args, **kwargs)
    method, url = _method_and_url(*args, **kwargs)
    began = time.monotonic()
    with on_exception("a try of Gym's", lambda error: retries.no_reply(method, url, began, error)):
        response = await wrapped(*args, **kwargs)
    with guard("a reply to Gym"):
        retries.reply_received()
        _note_reply(method, url, response)
    return response


def _method_and_url(method: Any = "", str_or_url: Any = "", *_: Any, **__: Any) -> tuple[str, str]:
    return str(method).upper(), str(str_or_url)


def _is_gym_client(session: Any) -> bool:
    module = sys.modules.get(_MODULE)
    if module is None or not hasattr(module, _CLIENT):
        hooks.note_unfit(
            "aiohttp.client.ClientSession._request", f"there is no {_MODULE}.{_CLIENT}"
        )
        return False
    return getattr(module, _CLIENT) is session


def _note_reply(method: str, url: str, response: Any) -> None:
    reported, path = vars(response).get(REPORTED_FAILURE_ID), route(urlsplit(url).path)
    if current_gym_request().boundary is FailureBoundary.MODEL and response.status >= 400:
        reported = _record_model_attempt(method, path, response, reported)
    if path in _RELAYED_ROUTES:
        _note_relayed_reply(response, reported)
    if reported is not None:
        vars(response)[_FAILURE_ID] = reported


def _record_model_attempt(
    method: str, path: str, response: Any, cause_id: str | None
) -> str | None:
    """An attempt of a model server's that its API answered with an error; a retry may recover it."""
    served = current_gym_request()
    failures = _failing_attempts.setdefault(served, retries.RepeatedFailure())
    failures.tries += 1
    what = GymFailure(
        served.boundary,
        kind_of_status(response.status),
        stage_of(served.boundary, path),
        operation=f"{method} {path}",
        attempt_id=str(failures.tries),
        http_status=response.status,
        details={"provider_request_id": response.headers.get("x-request-id")},
        reason=f"the model's API answered {response.status} {response.reason or ''}".rstrip(),
    )
    return (
        failures.reported(what, record_failure(what, cause_id=cause_id))
        if failures.tries <= _MAX_SINGLE
        else failures.add(what)
    )


def _note_relayed_reply(response: Any, reported: str | None) -> None:
    """A reply that its caller may hand on as its own: so is the failure that it is, where it does not escape."""
    served, hop = current_gym_request(), running_hop()
    if hop is None:
        return
    if hop.log.failure_id is not None and hop.log.failure_id == served.inner_failure_id:
        hop.log.failure_id = None  # it was asked once more: this reply counts
    served.inner_failure_id, served.inner_reply_failed = reported, response.status >= 400
    if reported is not None and response.status < 400:
        hop.log.claim(reported)


def raise_for_status(
    wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """`ClientResponse.raise_for_status()`: the exception stands for the failure that the reply is."""
    failure_id = vars(instance).get(_FAILURE_ID)
    if failure_id is None:
        return wrapped(*args, **kwargs)
    with on_exception("a failing reply to Gym", lambda error: set_failure_id(error, failure_id)):
        return wrapped(*args, **kwargs)
