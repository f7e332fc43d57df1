"""What the APIs of Jaeger and Tempo wrap around traces, and what they say in words: an error, a part only, a warning.

Jaeger's own API: `{"data": [trace, …], "errors": [{"code", "msg"}]}`. Jaeger's v3: `{"result": {"resourceSpans"}}` one
after the other, and `{"error": {"httpCode", "message"}}`. Tempo: `{"batches"}`, and in its v2
`{"trace": {"resourceSpans"}, "status": "PARTIAL", "message"}`.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import NamedTuple

from failgraph.journal.lines import is_journal_line, is_removed_note
from failgraph.readers.contents import MAX_REFUSALS
from failgraph.readers.row_attempts import shape_of
from failgraph.redaction import redact_and_truncate
from failgraph.text import sanitize

WARNINGS = "@jaeger@warnings"
"""The span attribute in which Jaeger's v3 API hands on what its own one has in `warnings`."""

_REPLACED_END = re.compile(
    r"Original end timestamp: ((?:1970|20[0-9]{2})-[0-9-]+ [0-9:]+)(?:\.([0-9]{1,9}))? \+0000 UTC"
)
_MAX_SAID = 200
_OTLP = frozenset(
    {"resourcespans", "resourcelogs", "resourcemetrics", "resourceprofiles", "batches"}
)
_WRAPPERS = ("trace", "result")
_CODES = ("code", "httpCode", "http_code")
_MESSAGES = ("msg", "message")


class Answer(NamedTuple):
    """One document without what an API wraps around it."""

    tops: tuple[object, ...]
    """OTLP documents, or traces of Jaeger's own kind."""
    jaeger: bool = False
    """Whether they must be the latter."""
    wrapped: bool = False
    """Whether an API made it, so that one without a trace says that there is none."""
    errors: tuple[str, ...] = ()
    partial: str | None = None
    """Why it is a part of the trace only; None where it is whole."""


def answers(document: object) -> Iterator[Answer]:
    """The documents that a document is: of a list its items."""
    for top in document if isinstance(document, list) else [document]:
        yield _answer(top) if isinstance(top, dict) else Answer((top,))


def _answer(top: dict[str, object]) -> Answer:
    if shape_of(top) is not None or is_journal_line(top) or is_removed_note(top):
        return Answer((top,))
    if is_jaeger(top):
        return Answer((top,), jaeger=True)
    errors = _errors(top)
    data = top.get("data")
    traces = tuple(data) if isinstance(data, list) else () if data is None else (data,)
    if errors or any(map(is_jaeger, traces)) or top.keys() >= {"data", "errors"}:
        return Answer(traces, jaeger=True, wrapped=True, errors=errors)
    inner: object = top
    for key in _WRAPPERS:
        if isinstance(inner, dict) and isinstance(inner.get(key), dict):
            inner = inner[key]
    wrapped = any(key in top for key in _WRAPPERS)
    part = wrapped and top.get("status") in ("PARTIAL", 1)
    return Answer(
        (inner,),
        wrapped=wrapped or "batches" in top,
        partial=f"a part only: {_text(top.get('message'))}" if part else None,
    )


def is_jaeger(top: object) -> bool:
    """Whether this is a trace as Jaeger's own API and UI have it."""
    return isinstance(top, dict) and "spans" in top and ("traceID" in top or "processes" in top)


def is_whole(document: object) -> bool:
    """Whether a document that stands alone on a line is one of its own rather than a part of another."""
    return any(answer.errors or any(map(_is_trace, answer.tops)) for answer in answers(document))


def _is_trace(top: object) -> bool:
    keys = top if isinstance(top, dict) else ()
    return (
        is_jaeger(top)
        or is_journal_line(top)
        or is_removed_note(top)
        or shape_of(top) is not None
        or any(str(key).replace("_", "").lower() in _OTLP for key in keys)
    )


def _errors(top: Mapping[str, object]) -> tuple[str, ...]:
    """What an answer says went wrong; a log line or a record that has an `error` is no answer."""
    errors = top.get("errors")
    if isinstance(errors, list) and top.keys() <= {"data", "total", "limit", "offset", "errors"}:
        return tuple(map(_error, errors[:MAX_REFUSALS]))
    if top.keys() == {"error"} and top["error"] is not None:
        return (_error(top["error"]),)
    return (_error(top),) if top.keys() == {"code", "message", "details"} else ()


def _error(error: object) -> str:
    fields = error if isinstance(error, dict) else {"msg": error}
    code = next((code for key in _CODES if isinstance(code := fields.get(key), int)), None)
    text = _text(next((fields[key] for key in _MESSAGES if fields.get(key) is not None), None))
    return f"{code} {text}" if code is not None and 0 < code < 1000 else text


def _text(value: object) -> str:
    return said(value) if isinstance(value, str) and value else "it does not say why"


def said(text: str) -> str:
    """Words of a backend, as they may stand in a message: one line, not long, no secrets."""
    return sanitize(redact_and_truncate(text, _MAX_SAID), _MAX_SAID)


def left_out(warnings: object) -> str | None:
    """Of the warnings of a span the one by which Jaeger says that the trace has more spans than it gave."""
    return next(
        (said(text) for text in _texts(warnings) if text.startswith("trace has more than ")), None
    )


def replaced_end(warnings: object) -> int | None:
    """The end of a span, in ns since the epoch, where it was not after the start and Jaeger gave the span another.

    0 is none at all; the result is None where Jaeger has left the end as it was.
    """
    for found in filter(None, map(_REPLACED_END.search, _texts(warnings))):
        with contextlib.suppress(ValueError):
            second = datetime.strptime(f"{found[1]}+0000", "%Y-%m-%d %H:%M:%S%z")
            return int(second.timestamp()) * 10**9 + int((found[2] or "").ljust(9, "0"))
    return None


def _texts(warnings: object) -> Iterator[str]:
    return (
        text for text in (warnings if isinstance(warnings, list) else ()) if isinstance(text, str)
    )
