"""The head of a reply: how many bytes a report may take, and which fields are failgraph's."""

from __future__ import annotations

from typing import Final

from failgraph.transport import headers
from failgraph.transport.headers import ReplyHeaders

Fields = list[tuple[bytes, bytes]]

# The most bytes that a report takes, and the bytes beside it with which a head still fits the 4,096
# bytes that a default nginx buffers, together with what servers add.
_MAX_REPORT_BYTES: Final = 3072
_ROOM: Final = 728

# Stands for the head of a reply that does not exist yet, to keep room for a large one.
UNKNOWN_HEAD: Final[Fields] = [(b"", bytes(_ROOM + 1024))]

_REPORT_FIELDS: Final = frozenset({headers.REPORT.encode(), headers.SPANS.encode()})

# Keeps a cache from handing a report on to a client that did not ask.
_CACHE_FIELDS: Final[Fields] = [
    (b"vary", headers.ACCEPT.encode()),
    (b"cache-control", b"private"),
]


def free_bytes(head: Fields) -> int:
    """Return the bytes that a report may take beside the fields of `head`. May be negative."""
    used = sum(len(name) + len(value) + 4 for name, value in (*head, *_CACHE_FIELDS))
    return min(_MAX_REPORT_BYTES, _MAX_REPORT_BYTES + _ROOM - used)


def with_report(head: Fields, reply: ReplyHeaders) -> Fields:
    """Return the fields of `head` and those of a report."""
    fields = [*head, (headers.REPORT.encode(), reply.report_value.encode()), *_CACHE_FIELDS]
    if reply.spans_value is not None:
        fields.append((headers.SPANS.encode(), reply.spans_value.encode()))
    return fields


def without_report(head: Fields) -> Fields:
    """Return the fields of `head` except those of a report."""
    return [(name, value) for name, value in head if name.lower() not in _REPORT_FIELDS]


def report_values(head: Fields) -> dict[str, str]:
    """Return the values of the report headers that `head` carries, by name in lower case."""
    return {
        name.lower().decode(): value.decode("latin-1")
        for name, value in head
        if name.lower() in _REPORT_FIELDS
    }
