"""Whether failures are kept in a journal too, and whether it can be written."""

from __future__ import annotations

import os
from collections.abc import Iterator

from failgraph.doctor.check import CheckResult
from failgraph.readers.source import jsonl_files
from failgraph.redaction.display import display
from failgraph.settings import Settings
from failgraph.settings.names import JOURNAL, JOURNAL_MAX_BYTES

PART = "journal"


def check_journal(settings: Settings) -> Iterator[CheckResult]:
    """Where the journal is, what it holds, and how much there is room for."""
    folder = settings.journal
    if folder is None:
        yield CheckResult(PART, "ok", f"{JOURNAL} is unset: what a trace loses is lost")
        return
    where = display(folder)
    if not os.path.isdir(folder):
        above = os.path.dirname(folder)
        if os.path.isdir(above) and os.access(above, os.W_OK | os.X_OK):
            yield CheckResult(PART, "ok", f"{where} will be made with the first failure")
        else:
            yield CheckResult(
                PART,
                "problem",
                f"{where} is not there and cannot be made; make it, or name another",
            )
        return
    if not os.access(folder, os.W_OK | os.X_OK):
        yield CheckResult(
            PART,
            "problem",
            f"{where} cannot be written; this process needs to be allowed to, or another one",
        )
        return
    try:
        sizes = [os.path.getsize(path) for path in jsonl_files(folder)]
        room = os.statvfs(folder)
    except OSError as error:
        yield CheckResult(PART, "problem", f"{where} cannot be read: {error.strerror or error}")
        return
    files = f"{len(sizes)} file{'' if len(sizes) == 1 else 's'} of {_size(sum(sizes))} in all"
    yield CheckResult(
        PART,
        "ok",
        f"{where} can be written; it holds {files}, a process leaves {_limit(settings)} at most",
    )
    free = room.f_bavail * room.f_frsize
    if free < settings.journal_max_bytes:
        text = f"its disk has {_size(free)} left, less than the {_limit(settings)} of {JOURNAL_MAX_BYTES}"
        yield CheckResult(PART, "note", text)


def _limit(settings: Settings) -> str:
    return _size(settings.journal_max_bytes)


def _size(size: int) -> str:
    for unit in ("B", "KiB", "MiB"):
        if size < 10_000:
            return f"{size} {unit}"
        size //= 1024
    return f"{size} GiB"
