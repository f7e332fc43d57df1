"""A short seeded run of fuzzing.py, and bombs: bounded time and memory, and a sentence or a flagged result."""

from __future__ import annotations

import gc
import gzip
import io
import json
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pydantic
import pytest

from builders import event
from damage import damage
from failgraph.codec import encode_event
from failgraph.errors import SourceError
from failgraph.readers.reading import read_files
from failgraph.readers.source import SourceFile
from failgraph.transport import header_decoder
from fuzzing import HEADERS, SOURCES, read_header, read_source
from otlp_file import SERVER, pairs, process, raw_event, reported, seen, span

TRIES = 150
"""Of each form."""


@pytest.mark.parametrize("form", SOURCES)
def test_every_form_as_it_is(form):
    """The forms hold failures, or the damage would be done to nothing."""
    reading = read_source(SOURCES[form])
    assert reading is not None
    assert sum(len(trace.report.events) for trace in reading.traces) >= 3
    assert {loss.kind for loss in reading.losses} <= {"bad_line"}


@pytest.mark.parametrize("form", SOURCES)
def test_a_damaged_source_is_read_or_refused(form):
    """In any form: no error but SourceError, and what is shown obeys the terminal's and JSON's rules."""
    rng = random.Random(f"source {form}")
    for _ in range(TRIES):
        read_source(damage(SOURCES[form], rng))


@pytest.mark.parametrize("form", HEADERS)
def test_a_damaged_header_is_read_or_is_none(form):
    """And what is read can be sent on."""
    rng = random.Random(f"header {form}")
    for _ in range(TRIES):
        read_header(damage(HEADERS[form], rng))


def test_a_valid_header_is_read_as_one_that_is_mended(monkeypatch):
    """There are two ways through; whichever is taken, the same comes out, also of one that is damaged in one place."""
    rng = random.Random("both ways")
    text, taken = HEADERS["JSON"].decode(), 0
    for number in range(20 * TRIES):
        at = rng.randrange(len(text))
        value = (
            text
            if not number
            else text[:at]
            + rng.choice(['x"', "1", "null", '":"', "é", "true", ","])
            + text[at + 1 :]
        )
        found = header_decoder.decode_report(value)
        taken += header_decoder._valid_report(value.encode()) is not None
        with monkeypatch.context() as patched:
            patched.setattr(header_decoder, "_valid_report", lambda text: None)
            assert header_decoder.decode_report(value) == found, value
    # An old pydantic takes no name of a boundary strictly: there all go the other way.
    assert 10 * TRIES > taken > TRIES or tuple(map(int, pydantic.VERSION.split(".")[:2])) < (2, 12)


MOST = 1 << 30
"""Bytes of address space beyond what a fresh process has, for a source of tens of MB."""
BOUNDED = """
import resource, sys
from failgraph.cli import main
size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size + {most}, size + {most}))
sys.exit(main(sys.argv[1:]))
"""


def bounded(path: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """`failgraph show` on a file, with not much memory."""
    command = [sys.executable, "-c", BOUNDED.format(most=MOST), "show", str(path), *options]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def attributes_bomb(number: int) -> bytes:
    """One span with so many attributes."""
    whole = json.dumps(process(span(1, None, seen(event("e")), attributes={"a": 1})))
    one = json.dumps(pairs({"a": 1})[0])
    before, _, after = whole.partition(one)
    return (before + ",".join([one] * number) + after).encode()


def many_events(number: int) -> bytes:
    """A report of so many events on one span, each caused by the one before it."""
    events = [seen(event(f"e{n}", cause_id=f"e{n - 1}" if n else None), n) for n in range(number)]
    return json.dumps(
        process(span(1, None, *events, kind=SERVER, attributes=reported("e0", own="e0")))
    ).encode()


def duplicates(number: int) -> bytes:
    """So many copies of one id, each of which says something else."""
    events = [seen(event("e", kind=f"kind_{n}", cause_id=f"e{n % 3}"), n) for n in range(number)]
    return json.dumps(process(span(1, None, *events))).encode()


def deep(number: int) -> bytes:
    """So many spans, each inside the one before it, and each with a failure."""
    return json.dumps(
        process(
            *(span(n, n - 1 or None, seen(event(f"e{n}")), kind=SERVER) for n in range(1, number))
        )
    ).encode()


def ring(number: int) -> bytes:
    """So many spans whose parents, and whose failures' causes, go round in a ring."""
    made = [
        span(n, n % number + 1, seen(event(f"e{n}", cause_id=f"e{n % number + 1}")))
        for n in range(1, number + 1)
    ]
    return json.dumps(process(*made)).encode()


def kinds(number: int) -> bytes:
    """So many kinds, each of a service of its own and in a hop of its own."""
    made = (
        process(
            span(
                n,
                1 if n > 1 else None,
                seen(event(f"e{n}", kind=f"kind_{n}")),
                kind=SERVER,
                name=f"name {n}",
            ),
            service=f"service {n}",
        )
        for n in range(1, number + 1)
    )
    return b"\n".join(json.dumps(each).encode() for each in made)


BOMBS: dict[str, Callable[[int], bytes]] = {
    "attributes": attributes_bomb,
    "events": many_events,
    "duplicates": duplicates,
    "deep": deep,
    "ring": ring,
    "kinds": kinds,
    "cut brackets": lambda number: b'{"resourceSpans":[' * number,
    "numbers": lambda number: b'{"resourceSpans":' + b"9" * number + b"}",
    "an id without end": lambda number: json.dumps(
        process(span(1, None, seen(event("e" * number))))
    ).encode(),
    "a text without end": lambda number: json.dumps(
        process(
            span(
                1,
                None,
                raw_event(
                    {**encode_event(event("e")), "nemo.gym.failure.reason": "password=" * number}
                ),
            )
        )
    ).encode(),
}
"""Sources that grow in one way, by how much."""
BOUNDED_FROM = {"deep": 1600}
"""What is quadratic up to a bound, of a million unreported failures, and linear from there."""


@pytest.mark.slow
@pytest.mark.parametrize("bomb", BOMBS)
def test_time_grows_with_the_source_and_not_faster(bomb):
    """Eight times the size in less than 24 times the time, the better of three; 64 would be quadratic."""

    def took(size: int) -> float:
        data = BOMBS[bomb](size)
        gc.disable()  # its passes go over what the whole test run holds
        start = time.thread_time()
        try:
            read_source(data)
            return time.thread_time() - start
        finally:
            gc.enable()

    size, least = BOUNDED_FROM.get(bomb, 400), float("inf")
    for _ in range(3):
        least = min(least, took(8 * size) / max(took(size), 1e-3))
        if least < 24:
            break
    assert least < 24


@pytest.mark.parametrize("bomb", [bomb for bomb in BOMBS if bomb not in BOUNDED_FROM])
def test_calls_grow_with_the_source_and_not_faster(bomb):
    """Eight times the size in less than ten times the calls, of ours and into C; the same on every machine."""

    def calls(size: int) -> int:
        data, number = BOMBS[bomb](size), 0

        def count(_frame: object, what: str, _: object) -> None:
            nonlocal number
            number += what in ("call", "c_call")

        sys.setprofile(count)
        try:
            read_source(data)
        finally:
            sys.setprofile(None)
        return number

    calls(10)  # what is done once
    assert calls(800) < 10 * calls(100)


@pytest.mark.slow
def test_a_compression_bomb_is_an_error_in_a_sentence(tmp_path):
    """2 GB in 2 MB of gzip, with 1 GB of memory: neither a traceback nor a machine without memory."""
    path = tmp_path / "bomb.json.gz"
    path.write_bytes(gzip.compress(b" " * (1 << 26), 9) * 32)
    ran = bounded(path)
    assert ran.returncode == 3
    assert ran.stderr.count("\n") == 1
    assert "more than fits into memory" in ran.stderr


def test_a_source_that_is_no_stream_is_refused_as_one():
    """Nothing, a line feed, zeros: each a sentence."""
    for data in (
        b"",
        b"\n",
        bytes(1000),
        b"\xff" * 1000,
        b"null",
        b"[]",
        b"{}",
        b"NaN",
        b'"' * 999,
    ):
        with pytest.raises(SourceError, match="contains no trace"):
            read_files([SourceFile("data", io.BytesIO(data))])
