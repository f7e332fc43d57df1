"""Gym's own encoding of the report header, where a Gym that has one is loaded: its servers read the same header.

Its form is not documented, so it is used only where what it encodes comes back the same, and otherwise the header is
left to Gym.
"""

from __future__ import annotations

import sys
from typing import Any, Final

from failgraph.diagnostics import count
from failgraph.failure.records import FailureReport
from failgraph.failure.salvage import fields_of
from failgraph.transport import headers
from failgraph.transport.headers import Told

_TRANSPORT: Final = "nemo_gym.core.failure_transport"
_RECORDS: Final = "nemo_gym.core.failure_records"


def adopted(told: Told | None) -> Told | None:
    """What a reply says, as the Gym that is loaded would say it; None where it is Gym's to say."""
    if told is None or _TRANSPORT not in sys.modules:
        return told
    value = _encoded(told.report)
    if value is None:
        count("gym_codec_unfit")
    return None if value is None else told._replace(report_value=value)


def decode(value: str) -> FailureReport | None:
    """The report that a header holds, in our forms or in that of the Gym that is loaded; None in neither."""
    report = headers.decode(value)
    if report is not None or _TRANSPORT not in sys.modules:
        return report
    try:
        fields = fields_of(_codec().decode(value))
        return FailureReport.model_validate(fields) if fields else None
    except Exception:  # noqa: BLE001 - another version of Gym's may raise anything
        return None


def _codec() -> Any:
    return getattr(sys.modules[_TRANSPORT], "FailureHeader", None)


def _encoded(report: FailureReport) -> str | None:
    try:
        fields = report.model_dump(mode="json")
        codec, theirs = _codec(), sys.modules[_RECORDS].FailureReport.model_validate(fields)
        value = codec.encode(theirs)
        same = FailureReport.model_validate(fields_of(codec.decode(value))) == report
        return (
            value
            if same and isinstance(value, str) and value.isascii() and value.isprintable()
            else None
        )
    except Exception:  # noqa: BLE001 - another version of Gym's may raise anything
        return None
