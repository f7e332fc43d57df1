"""Recognise a response of status 200 that holds no trace."""

from __future__ import annotations

from failgraph.backends.response import Response
from failgraph.readers.protobuf_wire import DamagedError, fields

_MAX_EMPTY = 4096  # bytes; a larger response is not parsed, since it holds something
_TRACE, _STATUS = 0x0A, 0x18  # tags of Tempo's `TraceByIDResponse`
_WRAPPERS = ("trace", "result", "data", "batches")


def is_empty(response: Response) -> bool:
    """Return True if a response holds no trace; one that says why is left to the readers."""
    if response.size > _MAX_EMPTY:
        return False
    if response.is_json:
        return _is_empty_json(response.document())
    return _is_empty_protobuf(response)


def _is_empty_json(document: object) -> bool:
    if not isinstance(document, dict) or document.get("errors") or "status" in document:
        return False
    wrapped = [document[key] for key in _WRAPPERS if key in document]
    return len(wrapped) == 1 and (not wrapped[0] or wrapped[0] == {"resourceSpans": []})


def _is_empty_protobuf(response: Response) -> bool:
    response.file.seek(0)
    try:
        return not any(
            (field.tag == _TRACE and field.data) or field.tag == _STATUS
            for field in fields(response.file)
        )
    except DamagedError:
        return False
