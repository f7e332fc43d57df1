"""The kinds of losses: each has a meaning for the documentation and a name for people."""

from __future__ import annotations

from typing import get_args

import pytest

from failgraph.losses import HIDDEN, MEANING, Loss, LossKind
from failgraph.view import line_text, loss_lines


def test_every_kind_has_a_meaning():
    """The documentation lists them in the order of `LossKind`."""
    assert tuple(MEANING) == get_args(LossKind)


@pytest.mark.parametrize("text", [*MEANING.values(), *HIDDEN.values()])
def test_a_meaning_is_one_sentence(text):
    """It stands in a cell of a table: one line, without a full stop."""
    assert "\n" not in text
    assert not text.endswith(".")


def test_every_kind_has_a_name_of_its_own():
    """Commands print the name and the detail."""
    lines = [line_text(line) for line in loss_lines([Loss(kind, "here") for kind in MEANING])]
    assert len(set(lines)) == len(MEANING)
    assert all(line.endswith(": here") for line in lines)


def test_a_detail_is_redacted_and_sanitized():
    """It may hold text of a record, such as the name of a span."""
    (line,) = loss_lines([Loss("unended", "GET /x?token=hunter22secret \x1b[31m 0011223344556677")])
    text = line_text(line)
    assert "hunter22secret" not in text
    assert text.isprintable()
    assert "0011223344556677" in text
