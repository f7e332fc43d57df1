"""Text for the wire and for a terminal: surrogates, lengths, ids, unsafe characters."""

from __future__ import annotations

from enum import Enum

import pytest

import failgraph
from failgraph import text
from failgraph.text import (
    MAX_ID_LENGTH,
    bounded_id,
    escape_surrogates,
    interned,
    safe_str,
    sanitize,
    truncate,
)


def test_a_lone_surrogate_is_written_out_and_counted():
    """What UTF-8 cannot encode becomes visible; everything else stays as it is."""
    assert escape_surrogates("a\ud800b") == "a\\ud800b"
    assert failgraph.stats()["surrogate_escaped"] == 1
    assert escape_surrogates("ascii") == "ascii"
    assert escape_surrogates("é😀") == "é😀"
    assert failgraph.stats()["surrogate_escaped"] == 1


@pytest.mark.parametrize(
    ("given", "limit", "expected"),
    [("", 3, ""), ("abc", 3, "abc"), ("abcd", 3, "ab…"), ("abcd", 1, "…")],
)
def test_a_long_text_is_truncated_to_the_limit(given, limit, expected):
    """The ellipsis counts as one of the characters."""
    assert truncate(given, limit) == expected
    assert len(truncate(given, limit)) <= limit


def test_a_long_id_becomes_one_that_fits_and_equal_ids_stay_equal():
    """It keeps its beginning; two ids that differ only at their ends stay different."""
    fits = "i" * MAX_ID_LENGTH
    assert bounded_id(fits) == fits
    one, other = bounded_id(fits + "1"), bounded_id(fits + "2")
    assert len(one) == len(other) == MAX_ID_LENGTH
    assert one != other
    assert one == bounded_id(fits + "1")
    assert one.startswith("i" * 60)
    assert len(bounded_id("\ud800" * 500)) == MAX_ID_LENGTH


def test_equal_names_share_one_object_and_long_texts_do_not(monkeypatch):
    """The table is bounded: when it is full it starts again."""
    first, second = b"some name".decode(), b"some name".decode()
    assert first is not second
    assert interned(first) is interned(second)
    long_one, long_two = "x" * 300, "x" * 300
    assert interned(long_one) is long_one
    assert interned(long_two) is long_two
    monkeypatch.setattr(text, "_MAX_INTERNED", len(text._interned))
    interned("one more")
    assert list(text._interned) == ["one more"]


class Colour(str, Enum):
    RED = "red"


class Unprintable:
    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("text", "text"),
        (Colour.RED, "red"),
        (7, "7"),
        (None, "None"),
        (Unprintable(), "<unprintable Unprintable>"),
    ],
)
def test_a_value_becomes_text_whatever_it_is(value, expected):
    """Of an enum that is a str its value; of an object that raises a note of its type."""
    assert safe_str(value) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("plain text", "plain text"),
        ("größe 密码 😀", "größe 密码 😀"),
        ("a\x1b[31mb", "a\\x1b[31mb"),
        ("a\nb\tc", "a\\nb\\tc"),
        ("a\u202eb", "a\\u202eb"),
        ("a\u2028b", "a\\u2028b"),
        ("a\ud800b", "a\\ud800b"),
        ("\U000e0001", "\\U000e0001"),
    ],
)
def test_unsafe_characters_are_escaped(given, expected):
    """Controls, bidi formats, separators and surrogates; letters of any script stay."""
    assert sanitize(given) == expected


def test_a_sanitized_text_is_truncated_before_it_is_escaped():
    """No escape is cut in two."""
    assert sanitize("\x00" * 10, 3) == "\\x00\\x00…"
