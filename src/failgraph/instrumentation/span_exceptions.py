"""Exceptions that leave a span: the failures among them are recorded, and what the SDK writes of them is redacted.

The SDK writes an exception's raw text into its own `exception` event and into the span's status; both pass here first.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Mapping
from typing import Any, Final

from opentelemetry.trace import Span, Status, StatusCode

from failgraph.diagnostics import guard
from failgraph.exceptions.cause_chain import carries_failure
from failgraph.recording.api import record_leaving
from failgraph.recording.hop import running_hop
from failgraph.redaction import HIDDEN, redact_and_truncate
from failgraph.settings import current
from failgraph.text import escape_surrogates, safe_str

_MESSAGE: Final = "exception.message"
_STACKTRACE: Final = "exception.stacktrace"
_MAX_TEXT: Final = 65_536
"""Characters of a message, a stack trace or a status that are looked through and kept."""

Wrapped = Callable[..., Any]


def record_exception(
    wrapped: Wrapped, instance: Span, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """`Span.record_exception`: when an exception leaves a span, and by hand for one that was handled."""
    call = _call(_of_record_exception, args, kwargs)
    if call is None or not _is_recording(instance):
        return wrapped(*args, **kwargs)
    error, attributes, timestamp, escaped = call
    record_leaving(error, instance)
    shown: Mapping[str, Any] | None = {_MESSAGE: HIDDEN, _STACKTRACE: HIDDEN}
    with guard("redacting an exception"):
        shown = _clean(error, attributes)
    return wrapped(error, shown, timestamp, escaped)


def span_exit(
    wrapped: Wrapped, instance: Span, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """`Span.__exit__`, of `with start_span()`: with `record_exception=False` it tells nobody else."""
    if len(args) > 1 and isinstance(args[1], BaseException) and _is_recording(instance):
        record_leaving(args[1], instance)
    return wrapped(*args, **kwargs)


def set_status(
    wrapped: Wrapped, instance: Span, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """`Span.set_status`: of a span made with `record_exception=False` the first that is heard of an exception."""
    call = _call(_of_set_status, args, kwargs)
    if call is None:
        return wrapped(*args, **kwargs)
    status, description = call
    code = status.status_code if isinstance(status, Status) else status
    if code is not StatusCode.ERROR:
        return wrapped(*args, **kwargs)
    error, hop = sys.exc_info()[1], running_hop()
    inside = hop is None or error is not hop.handled_around
    if error is not None and inside and _is_recording(instance):
        # It may be another span's status that is set while an exception is handled: the failure goes where it was made.
        record_leaving(error, instance, at_birth=True)
    said = status.description if isinstance(status, Status) else description
    if not isinstance(said, str):
        return wrapped(status, description)
    shown = HIDDEN
    with guard("redacting a status"):
        shown = _status_text(error, said)
    return (
        wrapped(Status(code, shown), description)
        if isinstance(status, Status)
        else wrapped(status, shown)
    )


def _is_recording(span: Span) -> bool:
    with guard("looking at a span"):
        return span.is_recording()
    return False


def _of_record_exception(
    exception: Any, attributes: Any = None, timestamp: Any = None, escaped: Any = False
) -> tuple[BaseException, Any, Any, Any] | None:
    return (
        (exception, attributes, timestamp, escaped)
        if isinstance(exception, BaseException)
        else None
    )


def _of_set_status(status: Any, description: Any = None) -> tuple[Any, Any] | None:
    return status, description


def _call(signature: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The arguments by name; None where the call is wrong, which the SDK itself is to say."""
    try:
        return signature(*args, **kwargs)
    except TypeError:
        return None


def _clean(error: BaseException, attributes: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """The attributes that put redacted texts in the place of the SDK's own; what the caller gave wins, redacted."""
    settings = current()
    hidden = not settings.reason and carries_failure(error)
    if not settings.redact and not hidden:
        return attributes
    cleaned: dict[str, Any] = {
        _MESSAGE: "" if hidden else safe_str(error),
        _STACKTRACE: "".join(_frames(error) if hidden else traceback.format_exception(error)),
        **(attributes or {}),
    }
    for name in (_MESSAGE, _STACKTRACE):
        if isinstance(cleaned[name], str):
            cleaned[name] = redact_and_truncate(escape_surrogates(cleaned[name]), _MAX_TEXT)
    return cleaned


def _frames(error: BaseException) -> list[str]:
    """The traceback of `error` and of its causes without messages and source: types and frames only."""
    lines: list[str] = []
    seen: set[int] = set()
    here: BaseException | None = error
    while here is not None and id(here) not in seen:
        seen.add(id(here))
        frames = traceback.extract_tb(here.__traceback__)
        lines[:0] = [
            *(f'  File "{at.filename}", line {at.lineno}, in {at.name}\n' for at in frames),
            f"{type(here).__qualname__}\n",
        ]
        here = here.__cause__
    return lines


def _status_text(error: BaseException | None, description: str) -> str:
    if error is not None and not current().reason and carries_failure(error):
        return type(error).__qualname__
    return redact_and_truncate(escape_surrogates(description), _MAX_TEXT)
