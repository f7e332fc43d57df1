"""Check the journal: whether it can be written, and its size."""

from __future__ import annotations

import os
from collections.abc import Iterator

from failgraph.doctor.check import CheckResult
from failgraph.readers.source import jsonl_files
from failgraph.redaction.display import display
from failgraph.settings import Settings
from failgraph.settings.names import JOURNAL, JOURNAL_MAX_BYTES
from failgraph.view.lines import count_of

PART = "journal"


def check_journal(settings: Settings) -> Iterator[CheckResult]:
    """Check the directory of the journal and the free space of its disk."""
    folder = settings.journal
    if folder is None:
        yield CheckResult(PART, "ok", f"{JOURNAL} is unset: failures that a trace loses are lost")
        return
    name = display(folder)
    if not os.path.isdir(folder):
        above = os.path.dirname(folder)
        if os.path.isdir(above) and os.access(above, os.W_OK | os.X_OK):
            text = f"{name} will be created with the first failure"
            yield CheckResult(PART, "ok", text, is_notable=True)
        else:
            text = f"cannot create {name}. Create it, or set {JOURNAL} to another directory."
            yield CheckResult(PART, "problem", text)
        return
    if not os.access(folder, os.W_OK | os.X_OK):
        text = f"cannot write to {name}. Check its permissions, or set {JOURNAL}."
        yield CheckResult(PART, "problem", text)
        return
    try:
        sizes = [os.path.getsize(path) for path in jsonl_files(folder)]
        room = os.statvfs(folder)
    except OSError as error:
        yield CheckResult(PART, "problem", f"cannot read {name}: {error.strerror or error}")
        return
    files = count_of(len(sizes), "file", "files")
    limit = _format_size(settings.journal_max_bytes)
    text = f"{name} is writable: {files}, {_format_size(sum(sizes))}; at most {limit} per process"
    yield CheckResult(PART, "ok", text, is_notable=True)
    free = room.f_bavail * room.f_frsize
    if free < settings.journal_max_bytes:
        text = (
            f"the disk of {name} has {_format_size(free)} free,"
            f" less than {JOURNAL_MAX_BYTES} ({limit})"
        )
        yield CheckResult(PART, "note", text)


def _format_size(size: int) -> str:
    """Return a number of bytes with at most four digits."""
    for unit in ("B", "KiB", "MiB"):
        if size < 10_000:
            return f"{size} {unit}"
        size //= 1024
    return f"{size} GiB"
