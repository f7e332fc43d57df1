"""The iterator that `spans` returns."""

from __future__ import annotations

import pytest

from failgraph.errors import SourceError
from failgraph.readers import spans
from otlp_file import process, span, write


def test_the_source_is_opened_with_the_first_span(tmp_path):
    """Making the iterator raises nothing."""
    reader = spans(tmp_path / "missing.jsonl")
    with pytest.raises(SourceError, match="no such file"):
        next(reader)


def test_next_and_loops_continue_where_the_other_stopped(tmp_path):
    """There is one position, however the spans are taken."""
    made = process(span(1), span(2, 1), span(3, 1))
    reader = spans(write(tmp_path / "traces.jsonl", made))
    assert next(reader).name == "span-1"
    for each in reader:
        assert each.name == "span-2"
        break
    assert [each.name for each in reader] == ["span-3"]
    with pytest.raises(StopIteration):
        next(reader)


def test_losses_are_complete_after_the_last_span(tmp_path):
    """Each broken line is in them once it has been passed."""
    path = write(tmp_path / "traces.jsonl", b"broken", process(span(1)), *[b"broken"] * 30)
    reader = spans(path)
    assert reader.losses == ()
    assert len(list(reader)) == 1
    assert len(reader.losses) == 21
    assert reader.losses[-1] == ("bad_line", "11 more")


def test_losses_are_there_if_the_source_holds_no_trace(tmp_path):
    """The error names the source, the losses its lines."""
    reader = spans(write(tmp_path / "traces.jsonl", b"broken"))
    with pytest.raises(SourceError, match="neither JSON nor protobuf"):
        list(reader)
    assert [loss.detail for loss in reader.losses] == ["line 1 is not JSON"]
