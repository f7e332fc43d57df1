"""Calls that Gym makes through its one HTTP client: attempts that fail, or get no reply.

Gym repeats a request without a reply every half second, inside one call. Only the client sees each
attempt.
"""

from __future__ import annotations

import sys
import time
import weakref
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from failgraph.diagnostics import guard
from failgraph.failure.boundary import FailureBoundary
from failgraph.instrumentation import hooks
from failgraph.instrumentation.gym import retries
from failgraph.instrumentation.gym.current_request import GymRequest, current_gym_request
from failgraph.instrumentation.gym.observing import GymFailure, record_failure, set_failure_id
from failgraph.instrumentation.gym.on_exception import on_exception
from failgraph.instrumentation.gym.vocabulary import kind_of_status, route, stage_of
from failgraph.instrumentation.hook_target import Wrapped
from failgraph.instrumentation.http_clients import REPORTED_FAILURE_ID
from failgraph.recording.hop import running_hop

_MODULE = "nemo_gym.server_utils"
_CLIENT = "_GLOBAL_AIOHTTP_CLIENT"

# Routes whose reply the caller passes on as its own. A failure behind a 200 is then the caller's.
_PASSED_ON_ROUTES = ("/run", "/verify")

# Attribute of a reply to Gym: the id of the failure that the reply stands for.
_FAILURE_ID = "_failgraph_stands_for"

# Failing attempts of one request that are recorded one by one. There are more only if Gym's
# configuration sets no limit.
_MAX_SINGLE_ATTEMPTS = 16

# Of each request that is served: its attempts that the model's API answered with an error.
_failing_attempts: weakref.WeakKeyDictionary[GymRequest, retries.RepeatedFailure] = (
    weakref.WeakKeyDictionary()
)


class _Call(NamedTuple):
    """Method, in upper case, and URL of a request."""

    method: str
    url: str


async def request(
    wrapped: Wrapped, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Wrap aiohttp's `ClientSession._request(method, url)`, for Gym's own client only."""
    if not _is_gym_client(instance):
        return await wrapped(*args, **kwargs)
    method, url = _call(*args, **kwargs)
    began = time.monotonic()
    with on_exception(
        "recording a failed call", lambda error: retries.no_reply(method, url, began, error)
    ):
        response = await wrapped(*args, **kwargs)
    with guard("reading a reply to Gym"):
        retries.reply_received()
        _on_reply(method, url, response)
    return response


def _call(method: Any = "", str_or_url: Any = "", *_: Any, **__: Any) -> _Call:
    return _Call(str(method).upper(), str(str_or_url))


def _is_gym_client(session: Any) -> bool:
    module = sys.modules.get(_MODULE)
    if module is None or not hasattr(module, _CLIENT):
        hook = "aiohttp.client.ClientSession._request"
        hooks.note_unfit(hook, f"{_MODULE}.{_CLIENT} not found")
        return False
    return getattr(module, _CLIENT) is session


def _on_reply(method: str, url: str, response: Any) -> None:
    failure_id: str | None = vars(response).get(REPORTED_FAILURE_ID)
    path = route(urlsplit(url).path)
    if current_gym_request().boundary is FailureBoundary.MODEL and response.status >= 400:
        failure_id = _record_model_attempt(method, path, response, failure_id)
    if path in _PASSED_ON_ROUTES:
        _on_passed_on_reply(response, failure_id)
    if failure_id is not None:
        vars(response)[_FAILURE_ID] = failure_id


def _record_model_attempt(
    method: str, path: str, response: Any, cause_id: str | None
) -> str | None:
    """Record an attempt of a model server that its API answered with an error.

    A retry may recover from it. Return the id of the failure that the attempt stands for.
    """
    served = current_gym_request()
    failing = _failing_attempts.setdefault(served, retries.RepeatedFailure())
    failing.attempts += 1
    failure = GymFailure(
        served.boundary,
        kind_of_status(response.status),
        stage_of(served.boundary, path),
        operation=f"{method} {path}",
        attempt_id=str(failing.attempts),
        http_status=response.status,
        details={"provider_request_id": response.headers.get("x-request-id")},
        reason=f"the model's API answered {response.status} {response.reason or ''}".rstrip(),
    )
    if failing.attempts > _MAX_SINGLE_ATTEMPTS:
        return failing.add(failure)
    return failing.add_recorded(failure, record_failure(failure, cause_id=cause_id))


def _on_passed_on_reply(response: Any, failure_id: str | None) -> None:
    """Note a reply that this server may pass on: its failure is then this server's own."""
    served, hop = current_gym_request(), running_hop()
    if hop is None:
        return
    if hop.log.failure_id is not None and hop.log.failure_id == served.inner_failure_id:
        hop.log.failure_id = None  # the server asked again: only this reply counts
    served.inner_failure_id = failure_id
    served.inner_reply_failed = response.status >= 400
    if failure_id is not None and response.status < 400:
        hop.log.claim(failure_id)


def raise_for_status(
    wrapped: Wrapped, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Wrap `ClientResponse.raise_for_status()`: its exception stands for the reply's failure."""
    failure_id = vars(instance).get(_FAILURE_ID)
    if failure_id is None:
        return wrapped(*args, **kwargs)
    with on_exception(
        "linking an exception to a reply", lambda error: set_failure_id(error, failure_id)
    ):
        return wrapped(*args, **kwargs)
