"""How a record looks as attributes, and back: the only place that knows. Pure: no I/O, no clock, no SDK.

`decode(*encode_report(report))[0] == report` for every valid report whose text is valid UTF-8; the losses then name
at the most the kinds that fit no name pattern.
"""

from failgraph.codec.decode import Decoded, assemble, decode, decode_event
from failgraph.codec.encode import (
    Limits,
    Seen,
    Span,
    encode_event,
    encode_report,
    report_attributes,
)

__all__ = [
    "Decoded",
    "Limits",
    "Seen",
    "Span",
    "assemble",
    "decode",
    "decode_event",
    "encode_event",
    "encode_report",
    "report_attributes",
]
