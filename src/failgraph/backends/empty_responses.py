"""Whether an answer of 200 says that there is no such trace."""

from __future__ import annotations

from failgraph.backends.client import Answer
from failgraph.readers.protobuf_wire import DamagedError, fields

_SMALL = 4096
"""Bytes beyond which an answer is not looked into: it holds something."""
_TRACE, _STATUS = 0x0A, 0x18
"""Tags of Tempo's `TraceByIDResponse`."""


def is_empty(answer: Answer) -> bool:
    """Whether it is a backend's answer with no trace in it; one that also says why is left to the readers."""
    if answer.size > _SMALL:
        return False
    return _is_empty_json(answer.document()) if answer.is_json else _is_empty_protobuf(answer)


def _is_empty_json(document: object) -> bool:
    if not isinstance(document, dict) or document.get("errors") or "status" in document:
        return False
    wrapped = [document[key] for key in ("trace", "result", "data", "batches") if key in document]
    return len(wrapped) == 1 and (not wrapped[0] or wrapped[0] == {"resourceSpans": []})


def _is_empty_protobuf(answer: Answer) -> bool:
    answer.file.seek(0)
    try:
        return not any(
            (field.tag == _TRACE and field.data) or field.tag == _STATUS
            for field in fields(answer.file)
        )
    except DamagedError:
        return False
