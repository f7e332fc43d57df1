"""Values of sent headers are removed from text that a server sends back."""

from __future__ import annotations

import pytest

from failgraph.redaction.header_values import remove_header_values

BASIC = "Basic dXNlcjpodW50ZXIyMlNlY3JldA=="  # user:hunter22Secret
MARKER = "[redacted:header]"


@pytest.mark.parametrize(
    "text",
    [
        BASIC,
        "dXNlcjpodW50ZXIyMlNlY3JldA==",
        "user:hunter22Secret",
        "hunter22Secret",
    ],
)
def test_a_value_its_parts_and_what_they_decode_to(text):
    """A server may repeat a header as a whole, without its scheme, or decoded."""
    assert remove_header_values(f"rejected <{text}>", [BASIC]) == f"rejected <{MARKER}>"


def test_a_value_as_json_writes_it():
    """JSON escapes quotes and other characters."""
    assert remove_header_values(r"got key=\"quoted\\secret\"", ['key="quoted\\secret"']) == (
        f"got {MARKER}"
    )


@pytest.mark.parametrize("text", ["a Bearer is missing", "Basic is not supported", "no"])
def test_schemes_and_short_values_stay(text):
    """They are not secret, and may be part of any word."""
    assert remove_header_values(text, [BASIC, "Bearer 123", "no"]) == text
