"""Hooks on the SDK's spans: record failures that leave a span, and redact what the SDK writes.

The SDK writes the raw text of an exception into its own `exception` event and into the status of
the span. Both pass through here first.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, TypeVar

from opentelemetry.trace import Span, Status, StatusCode

from failgraph.diagnostics import guard
from failgraph.instrumentation.hook_target import Wrapped
from failgraph.recording.api import record_leaving
from failgraph.recording.hop import running_hop
from failgraph.redaction import HIDDEN, redact_and_truncate
from failgraph.settings import current
from failgraph.text import escape_surrogates, safe_str

# OpenTelemetry's semantic conventions for exceptions on spans.
_MESSAGE: Final = "exception.message"
_STACKTRACE: Final = "exception.stacktrace"

_MAX_TEXT: Final = 65_536  # characters of a message, stack trace or status that are kept

_Call = TypeVar("_Call")


class _RecordExceptionCall(NamedTuple):
    """The arguments of `Span.record_exception`."""

    exception: Any
    attributes: Any = None
    timestamp: Any = None
    escaped: Any = False


class _SetStatusCall(NamedTuple):
    """The arguments of `Span.set_status`."""

    status: Any
    description: Any = None


def record_exception(
    wrapped: Wrapped, instance: Span, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Wrap `Span.record_exception`: record the failures of the exception, redact its texts.

    The SDK calls it when an exception leaves a span, a program for one that it handled.
    """
    call = _bind(_RecordExceptionCall, args, kwargs)
    if call is None or not isinstance(call.exception, BaseException) or not _is_recording(instance):
        return wrapped(*args, **kwargs)
    record_leaving(call.exception, instance)
    attributes: Mapping[str, Any] | None = {_MESSAGE: HIDDEN, _STACKTRACE: HIDDEN}
    with guard("redacting an exception"):
        attributes = _redacted_attributes(call.exception, call.attributes)
    return wrapped(call.exception, attributes, call.timestamp, call.escaped)


def span_exit(
    wrapped: Wrapped, instance: Span, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Wrap `Span.__exit__`, of `with start_span()`: record the failures that leave the span.

    With `record_exception=False` the SDK calls nothing else.
    """
    if len(args) > 1 and isinstance(args[1], BaseException) and _is_recording(instance):
        record_leaving(args[1], instance)
    return wrapped(*args, **kwargs)


def set_status(
    wrapped: Wrapped, instance: Span, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Wrap `Span.set_status`: record the failures of the handled exception, redact the description.

    For a span made with `record_exception=False` this is the first that is known of an exception.
    """
    call = _bind(_SetStatusCall, args, kwargs)
    if call is None:
        return wrapped(*args, **kwargs)
    status, description = call
    code = status.status_code if isinstance(status, Status) else status
    if code is not StatusCode.ERROR:
        return wrapped(*args, **kwargs)
    error, hop = sys.exc_info()[1], running_hop()
    is_of_hop = hop is None or error is not hop.handled_around
    if error is not None and is_of_hop and _is_recording(instance):
        # The status may be set on another span than the exception left: the failure goes to the
        # span where it was made.
        record_leaving(error, instance, at_birth=True)
    given = status.description if isinstance(status, Status) else description
    if not isinstance(given, str):
        return wrapped(status, description)
    redacted = HIDDEN
    with guard("redacting a status"):
        redacted = _redacted_status(error, given)
    if isinstance(status, Status):
        return wrapped(Status(code, redacted), description)
    return wrapped(status, redacted)


def _is_recording(span: Span) -> bool:
    with guard("looking at a span"):
        return span.is_recording()
    return False


def _bind(
    signature: Callable[..., _Call], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> _Call | None:
    """Return the arguments by name, or None if they are wrong: the SDK itself raises for those."""
    try:
        return signature(*args, **kwargs)
    except TypeError:
        return None


def _redacted_attributes(
    error: BaseException, attributes: Mapping[str, Any] | None
) -> Mapping[str, Any] | None:
    """Return event attributes with redacted texts, which replace those that the SDK would write.

    Attributes that the caller gave take precedence; their texts are redacted too. With
    `FAILGRAPH_REDACT=all` there is no message, and the stack trace has frames only.
    """
    settings = current()
    if settings.redact == "false":
        return attributes
    given = attributes or {}
    if settings.redact == "all":
        return {**given, _MESSAGE: "", _STACKTRACE: "".join(_frames(error))}
    redacted: dict[str, Any] = {
        _MESSAGE: safe_str(error),
        _STACKTRACE: "".join(traceback.format_exception(error)),
        **given,
    }
    for name in (_MESSAGE, _STACKTRACE):
        if isinstance(redacted[name], str):
            redacted[name] = redact_and_truncate(escape_surrogates(redacted[name]), _MAX_TEXT)
    return redacted


def _frames(error: BaseException) -> list[str]:
    """Return types and frames of `error` and its causes, without messages and source lines."""
    lines: list[str] = []
    seen: set[int] = set()
    here: BaseException | None = error
    while here is not None and id(here) not in seen:
        seen.add(id(here))
        frames = traceback.extract_tb(here.__traceback__)
        # Causes first, as Python prints them.
        lines[:0] = [
            *(f'  File "{at.filename}", line {at.lineno}, in {at.name}\n' for at in frames),
            f"{type(here).__qualname__}\n",
        ]
        here = here.__cause__
    return lines


def _redacted_status(error: BaseException | None, description: str) -> str:
    if error is not None and current().redact == "all":
        return type(error).__qualname__
    return redact_and_truncate(escape_surrogates(description), _MAX_TEXT)
