"""Recognize OTLP protobuf, and split a stream of it into the fields of its outermost messages."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import IO

from failgraph.readers.protobuf_wire import MAX_MESSAGE, DamagedError, Field, fields
from failgraph.readers.summary import SourceSummary

# Field 1, length-delimited: `resource_spans`, `batches`, or the whole trace in a
# `TraceByIDResponse`.
FIRST_FIELD = 0x0A


def looks_like_protobuf(head: bytes) -> bool:
    """Return True if a source that begins so may be OTLP protobuf or a protobuf response of Tempo.

    The first byte of the plain form is also a line feed. Text, however, contains none of the
    control characters that field tags are.
    """
    has_controls = any(byte < 0x20 and byte not in b"\t\n\r\f" for byte in head)
    return has_controls and (head[:1] in (b"\x0a", b"\x12", b"\x18") or is_framed(head))


def is_framed(head: bytes) -> bool:
    """Return True if each message follows its length, as the Collector's file exporter writes them.

    The length has four bytes, big-endian. A plain message begins with the tag itself; its own
    length may well look like the rest of a frame.
    """
    length = int.from_bytes(head[:4], "big")
    is_length = len(head) > 4 and head[:1] != b"\x0a" and 0 < length < MAX_MESSAGE
    return is_length and head[4] == FIRST_FIELD


def message_fields(
    stream: IO[bytes], summary: SourceSummary, *, is_framed: bool = False
) -> Iterator[Field]:
    """Yield the fields of all messages of a stream, up to where it is damaged."""
    try:
        if not is_framed:
            yield from fields(stream)
            return
        while length := stream.read(4):
            size = int.from_bytes(length, "big")
            frame = stream.read(size) if len(length) == 4 and size < MAX_MESSAGE else b""
            if len(length) < 4 or len(frame) < size:
                summary.add_bad_line("the last message is incomplete")
                return
            yield from message_fields(io.BytesIO(frame), summary)
    except DamagedError:
        summary.add_bad_line("the rest is not protobuf, or ends in the middle of a message")
