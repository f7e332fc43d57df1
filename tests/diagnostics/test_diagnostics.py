"""Counters, warnings that appear once, and internal errors, which are logged without values."""

from __future__ import annotations

import asyncio
import logging
import re
import sys
import threading
from collections.abc import Callable

import pytest

import failgraph
from failgraph import diagnostics
from failgraph.diagnostics import count, guard, set_level, stats, warn_once

SECRET = "hunter2horse"


@pytest.fixture
def lines(caplog) -> Callable[[int], list[str]]:
    """Return what failgraph has logged so far at one level; everything is logged."""
    caplog.set_level(logging.DEBUG, logger="failgraph")
    return lambda level: [
        record.getMessage() for record in caplog.records if record.levelno == level
    ]


def fail(kind: type[Exception] = ValueError) -> None:
    password = SECRET
    raise kind(f"cannot log in with {password}")


def fail_guarded(kind: type[Exception] = ValueError) -> None:
    with guard("a test"):
        fail(kind)


def test_counters_are_sorted_and_a_snapshot():
    """`failgraph.stats` is the public name."""
    count("b")
    count("a", 3)
    snapshot = failgraph.stats()
    count("b")
    assert list(snapshot.items()) == [("a", 3), ("b", 1)]
    assert stats()["b"] == 2


def test_a_fault_is_warned_of_once(lines):
    """Another fault gets a line of its own."""
    for fault in ("one", "one", "two"):
        warn_once(fault, "failgraph: fault %s", fault)
    assert lines(logging.WARNING) == ["failgraph: fault one", "failgraph: fault two"]


def test_the_number_of_warnings_is_bounded(lines):
    """A fault whose name never repeats cannot fill the log."""
    for number in range(1000):
        warn_once(str(number), "failgraph: fault %d", number)
    assert len(lines(logging.WARNING)) == diagnostics._MAX_FAULTS


@pytest.mark.internal_error
def test_an_internal_error_is_swallowed_and_counted(lines):
    """The warning names the exception type alone, once per type."""
    for kind in (ValueError, ValueError, KeyError):
        fail_guarded(kind)
    assert stats()["internal_error"] == 3
    assert lines(logging.WARNING) == [
        "failgraph: a test failed (ValueError); the program goes on",
        "failgraph: a test failed (KeyError); the program goes on",
    ]


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, asyncio.CancelledError])
def test_exits_and_cancellations_pass(kind):
    """They are the program's own."""
    with pytest.raises(kind), guard("a test"):
        raise kind
    assert stats() == {}


@pytest.mark.internal_error
def test_the_frames_of_an_internal_error_are_logged_at_debug_level(lines):
    """File, line and function of each frame, the outermost first, once per place."""
    for _ in range(3):
        fail_guarded()
    (line,) = lines(logging.DEBUG)
    head, *frames = line.splitlines()
    assert head == "failgraph: a test failed (ValueError) at:"
    assert [
        re.fullmatch(r'  File ".*test_diagnostics\.py", line \d+, in (\w+)', frame)[1]
        for frame in frames
    ] == ["fail_guarded", "fail"]


@pytest.mark.internal_error
def test_another_place_gets_frames_of_its_own(lines):
    """The warning, which names no place, appears once."""
    fail_guarded()
    with guard("a test"):
        raise ValueError
    assert len(lines(logging.WARNING)) == 1
    assert len(lines(logging.DEBUG)) == 2


@pytest.mark.internal_error
def test_no_value_and_no_text_of_an_exception_is_logged(lines, caplog):
    """Neither its own, nor that of a cause, a note or a variable; no record has an exception."""
    with guard("a test"):
        try:
            fail()
        except ValueError as cause:
            error = LookupError(SECRET)
            if sys.version_info >= (3, 11):
                error.add_note(SECRET)
            raise error from cause
    assert len(caplog.records) == 2
    for record in caplog.records:
        assert SECRET not in logging.Formatter("%(message)s %(pathname)s").format(record)
        assert record.exc_info is record.stack_info is None
        assert SECRET not in repr(record.args)


@pytest.mark.internal_error
def test_above_debug_level_no_frame_is_looked_at(caplog, monkeypatch):
    """And a later switch to debug still shows the place."""
    caplog.set_level(logging.INFO, logger="failgraph")
    monkeypatch.setattr(diagnostics, "_frame_line", None)
    fail_guarded()
    monkeypatch.undo()
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    caplog.set_level(logging.DEBUG, logger="failgraph")
    fail_guarded()
    assert [record.levelno for record in caplog.records] == [logging.WARNING, logging.DEBUG]


@pytest.mark.internal_error
def test_a_deep_recursion_is_logged_in_bounded_length(lines):
    """Only the innermost frames are logged, and the number of the others."""

    def recurse() -> None:
        recurse()

    with guard("a test"):
        recurse()
    (line,) = lines(logging.DEBUG)
    _, left_out, *frames = line.splitlines()
    assert len(frames) == diagnostics._MAX_FRAMES
    assert re.fullmatch(r"  \(\d+ outer frames left out\)", left_out)
    assert frames[-1].endswith(" in recurse")


@pytest.mark.internal_error
def test_the_number_of_places_is_bounded(lines):
    """And does not use up the warnings."""
    for number in range(1000):
        with guard("a test"):
            exec(compile("raise ValueError", f"generated {number}", "exec"))
    assert len(lines(logging.DEBUG)) == diagnostics._MAX_FAULTS
    fail_guarded(KeyError)
    assert len(lines(logging.WARNING)) == 2


@pytest.mark.internal_error
def test_a_file_name_of_generated_code_is_one_bounded_line(lines):
    """Line breaks, escape sequences and characters that reorder text are written out."""
    with guard("a test"):
        exec(compile("raise ValueError", "x" * 5000 + "a\nb\x1b[31m\u202e", "exec"))
    (line,) = lines(logging.DEBUG)
    assert len(line.splitlines()) == 3
    assert line.isprintable() is False  # the line breaks between frames
    assert line.replace("\n", "").isprintable()
    assert r"a\nb\x1b[31m\u202e" in line
    assert len(line) < 1000


@pytest.mark.internal_error
def test_a_log_handler_that_raises_is_counted(monkeypatch):
    """Its error reaches nobody, at whichever level."""

    class Raising(logging.Handler):
        def handle(self, record: logging.LogRecord) -> bool:
            raise RuntimeError("no log")

    handler = Raising()
    monkeypatch.setattr(diagnostics.logger, "handlers", [handler])
    monkeypatch.setattr(diagnostics.logger, "level", logging.DEBUG)
    diagnostics.logger.manager._clear_cache()
    fail_guarded()
    diagnostics.logger.manager._clear_cache()
    assert stats() == {"internal_error": 1, "log_error": 2}


@pytest.mark.internal_error
def test_no_lock_is_held_while_logging(monkeypatch):
    """A handler may wait for another thread that counts, or fails, itself."""
    done = []

    class Waiting(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if threading.current_thread() is threading.main_thread():
                thread = threading.Thread(target=count, args=("other",))
                thread.start()
                thread.join(10)
                done.append(not thread.is_alive())

    monkeypatch.setattr(diagnostics.logger, "handlers", [Waiting()])
    monkeypatch.setattr(diagnostics.logger, "level", logging.DEBUG)
    diagnostics.logger.manager._clear_cache()
    fail_guarded()
    diagnostics.logger.manager._clear_cache()
    assert done == [True, True]


@pytest.mark.parametrize("level", ["info", "debug"])
def test_a_level_that_was_asked_for_is_shown_without_a_handler(monkeypatch, capsys, level):
    """On standard error, until the program sets up logging itself."""
    logger = logging.Logger("failgraph")  # noqa: LOG001 - one that nobody else has
    monkeypatch.setattr(diagnostics, "logger", logger)
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    set_level(level)
    set_level(level)
    assert len(logger.handlers) == 1
    logger.info("failgraph: attached")
    assert capsys.readouterr().err == "failgraph: attached\n"
    monkeypatch.setattr(logging.getLogger(), "handlers", [logging.NullHandler()])
    logger.info("failgraph: attached")
    assert capsys.readouterr().err == ""


def test_the_default_level_changes_nothing(monkeypatch):
    """Nor does failgraph override a level that the program set."""
    logger = logging.Logger("failgraph")  # noqa: LOG001 - one that nobody else has
    monkeypatch.setattr(diagnostics, "logger", logger)
    set_level("warning")
    assert (logger.level, logger.handlers) == (logging.NOTSET, [])
    logger.setLevel(logging.ERROR)
    set_level("debug")
    assert (logger.level, logger.handlers) == (logging.ERROR, [])


@pytest.mark.internal_error
def test_a_forked_child_starts_from_zero(lines):
    """Its counters are its own, and so are its warnings."""
    fail_guarded()
    diagnostics.reset_after_fork()
    assert stats() == {}
    fail_guarded()
    assert [len(lines(level)) for level in (logging.WARNING, logging.DEBUG)] == [2, 2]
