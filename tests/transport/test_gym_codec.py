"""Gym's own encoding of the report header, with a stand-in: no published Gym has one."""

from __future__ import annotations

import base64
import sys
from types import SimpleNamespace

import pytest

from builders import event
from failgraph import FailureReport, stats
from failgraph.transport.gym_codec import decode_report, in_loaded_encoding
from failgraph.transport.header_encoder import encode_headers

REPORT = FailureReport(events={"e": event(failure_reason="no answer")}, failure_id="e")


class FailureHeader:
    """The stand-in of Gym's codec: its form is not one that failgraph reads."""

    @staticmethod
    def encode(report: FailureReport) -> str:
        return "gym." + base64.b64encode(report.model_dump_json().encode()).decode()

    @staticmethod
    def decode(value: str) -> FailureReport:
        return FailureReport.model_validate_json(base64.b64decode(value.removeprefix("gym.")))


@pytest.fixture
def load_gym(monkeypatch):
    """Load a Gym whose codec is the given class."""

    def load(codec: type) -> None:
        transport, records = "nemo_gym.core.failure_transport", "nemo_gym.core.failure_records"
        monkeypatch.setitem(sys.modules, transport, SimpleNamespace(FailureHeader=codec))
        monkeypatch.setitem(sys.modules, records, SimpleNamespace(FailureReport=FailureReport))

    return load


def test_without_a_loaded_gym_the_headers_stay_as_they_are():
    """Nothing is imported to find out."""
    headers = encode_headers(REPORT, {}, 3072)
    assert in_loaded_encoding(headers) is headers
    assert in_loaded_encoding(None) is None


def test_the_encoding_of_a_loaded_gym_is_used(load_gym):
    """A report goes out in Gym's form and comes back equal; failgraph's own form is still read."""
    load_gym(FailureHeader)
    own = encode_headers(REPORT, {}, 3072)
    headers = in_loaded_encoding(own)
    assert headers.report_value == FailureHeader.encode(REPORT)
    assert decode_report(headers.report_value) == REPORT
    assert decode_report(own.report_value) == REPORT


class Forgetful(FailureHeader):
    """Decodes to another report than was encoded."""

    @staticmethod
    def decode(value: str) -> FailureReport:
        return FailureReport()


class Unprintable(FailureHeader):
    """Encodes to text that no header can hold."""

    @staticmethod
    def encode(report: FailureReport) -> str:
        return FailureHeader.encode(report) + "\r\n"


class Incompatible:
    """Has other methods."""


@pytest.mark.parametrize("codec", [Forgetful, Unprintable, Incompatible])
def test_an_encoding_that_does_not_fit_leaves_the_header_to_gym(load_gym, codec):
    """There are no headers of failgraph's, and the reason is counted."""
    load_gym(codec)
    assert in_loaded_encoding(encode_headers(REPORT, {}, 3072)) is None
    assert stats()["gym_codec_unfit"] == 1


def test_a_report_in_gyms_encoding_is_redacted(load_gym):
    """Texts that a peer did not redact are redacted, as in failgraph's own form."""
    load_gym(FailureHeader)
    secret = event(failure_reason="password=hunter2-and-more")
    report = decode_report(FailureHeader.encode(FailureReport(events={"e": secret})))
    assert "hunter2" not in report.events["e"].failure_reason


@pytest.mark.parametrize("value", ["gym.", "gym.x", "", "something else"])
def test_another_value_is_no_report(load_gym, value):
    """Neither form reads it, and nothing is raised."""
    load_gym(FailureHeader)
    assert decode_report(value) is None
