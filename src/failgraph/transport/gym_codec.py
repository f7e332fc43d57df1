"""Use Gym's own encoding of the report header if a Gym that has one is loaded.

Gym's servers read the same header. Its form is not documented, so it is used only if what it
encodes decodes to the same report. Otherwise the header is left to Gym.
"""

from __future__ import annotations

import sys
from typing import Any, Final

from failgraph.diagnostics import count
from failgraph.failure.records import FailureReport
from failgraph.failure.salvage import fields_of
from failgraph.redaction import redact_report
from failgraph.transport import header_decoder
from failgraph.transport.headers import ReplyHeaders

_GYM_TRANSPORT: Final = "nemo_gym.core.failure_transport"
_GYM_RECORDS: Final = "nemo_gym.core.failure_records"


def in_loaded_encoding(headers: ReplyHeaders | None) -> ReplyHeaders | None:
    """Return the headers in the encoding of the loaded Gym, or None if Gym must write them.

    Without a loaded Gym the headers are returned as they are.
    """
    if headers is None or _GYM_TRANSPORT not in sys.modules:
        return headers
    value = _encode(headers.report)
    if value is None:
        count("gym_codec_unfit")
        return None
    return headers._replace(report_value=value)


def decode_report(value: str) -> FailureReport | None:
    """Return the redacted report of a header in failgraph's or the loaded Gym's form, or None."""
    report = header_decoder.decode_report(value)
    if report is not None or _GYM_TRANSPORT not in sys.modules:
        return report
    try:
        fields = fields_of(_gym_codec().decode(value))
        return redact_report(FailureReport.model_validate(fields)) if fields else None
    except Exception:  # noqa: BLE001 - another version of Gym may raise anything
        return None


def _gym_codec() -> Any:
    return getattr(sys.modules[_GYM_TRANSPORT], "FailureHeader", None)


def _encode(report: FailureReport) -> str | None:
    """Return Gym's header value, or None if it does not decode to the same report."""
    try:
        fields = report.model_dump(mode="json")
        gym_report = sys.modules[_GYM_RECORDS].FailureReport.model_validate(fields)
        value = _gym_codec().encode(gym_report)
        decoded = FailureReport.model_validate(fields_of(_gym_codec().decode(value)))
    except Exception:  # noqa: BLE001 - another version of Gym may raise anything
        return None
    is_header_text = isinstance(value, str) and value.isascii() and value.isprintable()
    return value if is_header_text and decoded == report else None
