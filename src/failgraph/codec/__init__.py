"""Write failure records as span attributes and read them back. The only room that knows how.

Pure: no I/O, no clock, no SDK. `decode(*encode_report(report))[0] == report` for every valid report
whose text is valid UTF-8; the losses then name at most kinds that fit no name pattern.
"""

from failgraph.codec.attributes import AttributeLimits, Attributes
from failgraph.codec.event_encoder import CauseSpan, encode_event
from failgraph.codec.report_decoder import decode
from failgraph.codec.report_encoder import encode_report

__all__ = [
    "AttributeLimits",
    "Attributes",
    "CauseSpan",
    "decode",
    "encode_event",
    "encode_report",
]
