"""Unwrap API responses of Jaeger and Tempo: the traces, and what the backend reports about them.

Jaeger v1: `{"data": [trace, …], "errors": [{"code", "msg"}]}`. Jaeger v3: `{"result":
{"resourceSpans"}}`, one after the other, and `{"error": {"httpCode", "message"}}`. Tempo v1:
`{"batches"}`. Tempo v2: `{"trace": {"resourceSpans"}, "status": "PARTIAL", "message"}`.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import NamedTuple

from failgraph.journal.lines import is_journal_line, is_removed_note
from failgraph.readers.row_shapes import row_shape
from failgraph.readers.summary import MAX_REFUSALS
from failgraph.redaction.display import display

# The span attribute in which Jaeger's v3 API returns what its v1 API returns as `warnings`.
WARNINGS = "@jaeger@warnings"

_ORIGINAL_END = re.compile(
    r"Original end timestamp: ((?:1970|20[0-9]{2})-[0-9-]+ [0-9:]+)(?:\.([0-9]{1,9}))? \+0000 UTC"
)
_OTLP = frozenset(
    {"resourcespans", "resourcelogs", "resourcemetrics", "resourceprofiles", "batches"}
)
_WRAPPERS = ("trace", "result")
_CODES = ("code", "httpCode", "http_code")
_MESSAGES = ("msg", "message")


class ApiResponse(NamedTuple):
    """A document without the wrapper of an API, if it has one.

    Attributes:
        contents: OTLP documents, or traces in Jaeger's v1 format.
        is_jaeger: True if `contents` must be traces in Jaeger's v1 format.
        is_wrapped: True if an API produced the document, so that one without a trace means that
            the backend has none.
        errors: Errors that the backend reports, safe to display.
        partial_reason: Why the trace is incomplete, or None if it is complete.
    """

    contents: tuple[object, ...]
    is_jaeger: bool = False
    is_wrapped: bool = False
    errors: tuple[str, ...] = ()
    partial_reason: str | None = None


def unwrap(document: object) -> Iterator[ApiResponse]:
    """Yield a document without its wrapper; of a list each of its items."""
    for item in document if isinstance(document, list) else [document]:
        yield _unwrapped(item) if isinstance(item, dict) else ApiResponse((item,))


def _unwrapped(document: dict[str, object]) -> ApiResponse:
    if row_shape(document) is not None or is_journal_line(document) or is_removed_note(document):
        return ApiResponse((document,))
    if is_jaeger_trace(document):
        return ApiResponse((document,), is_jaeger=True)
    errors = _errors(document)
    data = document.get("data")
    if data is None:
        data = []
    traces = tuple(data) if isinstance(data, list) else (data,)
    if errors or any(map(is_jaeger_trace, traces)) or document.keys() >= {"data", "errors"}:
        return ApiResponse(traces, is_jaeger=True, is_wrapped=True, errors=errors)
    content: object = document
    for key in _WRAPPERS:
        if isinstance(content, dict) and isinstance(content.get(key), dict):
            content = content[key]
    is_wrapped = any(key in document for key in _WRAPPERS)
    reason = None
    if is_wrapped and document.get("status") in ("PARTIAL", 1):
        message = document.get("message")
        reason = partial_reason(message if isinstance(message, str) else "")
    return ApiResponse(
        (content,), is_wrapped=is_wrapped or "batches" in document, partial_reason=reason
    )


def partial_reason(message: str) -> str:
    """Return why a trace is incomplete, given the message of a partial response."""
    reason = "only a part was returned"
    return f"{reason} ({display(message)})" if message else reason


def is_jaeger_trace(document: object) -> bool:
    """Return True for a trace in the format of Jaeger's v1 API and of the downloads of its UI."""
    return (
        isinstance(document, dict)
        and "spans" in document
        and ("traceID" in document or "processes" in document)
    )


def is_complete(document: object) -> bool:
    """Return True if a JSON value on one line is a whole document, not a part of a larger one."""
    return any(
        response.errors or any(map(_is_known, response.contents)) for response in unwrap(document)
    )


def _is_known(document: object) -> bool:
    """Return True for OTLP of any signal, a Jaeger v1 trace, a journal line or a saved row."""
    keys = document if isinstance(document, dict) else ()
    return (
        is_jaeger_trace(document)
        or is_journal_line(document)
        or is_removed_note(document)
        or row_shape(document) is not None
        or any(str(key).replace("_", "").lower() in _OTLP for key in keys)
    )


def _errors(document: Mapping[str, object]) -> tuple[str, ...]:
    """Return the errors of a response. A log line or a record with an `error` has none."""
    errors = document.get("errors")
    response_keys = {"data", "total", "limit", "offset", "errors"}
    if isinstance(errors, list) and document.keys() <= response_keys:
        return tuple(map(_error, errors[:MAX_REFUSALS]))
    if document.keys() == {"error"} and document["error"] is not None:
        return (_error(document["error"]),)
    return (_error(document),) if document.keys() == {"code", "message", "details"} else ()


def _error(error: object) -> str:
    fields = error if isinstance(error, dict) else {"msg": error}
    code = next((code for key in _CODES if isinstance(code := fields.get(key), int)), None)
    text = _message(next((fields[key] for key in _MESSAGES if fields.get(key) is not None), None))
    return f"{code} {text}" if code is not None and 0 < code < 1000 else text


def _message(value: object) -> str:
    return display(value) if isinstance(value, str) and value else "no reason given"


def truncation_warning(warnings: object) -> str | None:
    """Return Jaeger's warning that it left out spans of the trace, or None."""
    for text in _texts(warnings):
        if text.startswith("trace has more than "):
            return display(text)
    return None


def original_end(warnings: object) -> int | None:
    """Return a span's original end in ns since the epoch, or None if Jaeger did not replace it.

    Jaeger replaces an end that is not after the start, and adds a warning. 0 means no end.
    """
    for text in _texts(warnings):
        match = _ORIGINAL_END.search(text)
        if match is None:
            continue
        with contextlib.suppress(ValueError):
            second = datetime.strptime(f"{match[1]}+0000", "%Y-%m-%d %H:%M:%S%z")
            return int(second.timestamp()) * 10**9 + int((match[2] or "").ljust(9, "0"))
    return None


def _texts(warnings: object) -> Iterator[str]:
    items = warnings if isinstance(warnings, list) else ()
    return (item for item in items if isinstance(item, str))
