"""A short seeded run of fuzzing.py, and bombs: time and memory are bounded."""

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
def test_undamaged_sources_hold_failures(form):
    """Otherwise damaging them would test nothing."""
    reading = read_source(SOURCES[form])
    assert reading is not None
    assert sum(len(trace.report.events) for trace in reading.traces) >= 3
    assert {loss.kind for loss in reading.losses} <= {"bad_line"}


@pytest.mark.parametrize("form", SOURCES)
def test_a_damaged_source_is_read_or_refused(form):
    """Nothing raises but SourceError, and output is safe for terminals and valid JSON."""
    rng = random.Random(f"source {form}")
    for _ in range(TRIES):
        read_source(damage(SOURCES[form], rng))


@pytest.mark.parametrize("form", HEADERS)
def test_a_damaged_header_is_read_or_is_none(form):
    """A report that is read can be sent on."""
    rng = random.Random(f"header {form}")
    for _ in range(TRIES):
        read_header(damage(HEADERS[form], rng))


def test_both_ways_to_decode_a_header_agree(monkeypatch):
    """Validated at once or repaired field by field, a header gives the same report."""
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
        report = header_decoder.decode_report(value)
        taken += header_decoder._valid_report(value.encode()) is not None
        with monkeypatch.context() as patched:
            patched.setattr(header_decoder, "_valid_report", lambda text: None)
            assert header_decoder.decode_report(value) == report, value
    # An old pydantic accepts no boundary in strict mode: there every value is repaired.
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
    """Run `failgraph show` on a file with little memory."""
    command = [sys.executable, "-c", BOUNDED.format(most=MOST), "show", str(path), *options]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def attributes_bomb(number: int) -> bytes:
    """Return one span with this many attributes."""
    whole = json.dumps(process(span(1, None, seen(event("e")), attributes={"a": 1})))
    one = json.dumps(pairs({"a": 1})[0])
    before, _, after = whole.partition(one)
    return (before + ",".join([one] * number) + after).encode()


def many_events(number: int) -> bytes:
    """Return a report of this many events on one span, each caused by the one before."""
    events = [seen(event(f"e{n}", cause_id=f"e{n - 1}" if n else None), n) for n in range(number)]
    return json.dumps(
        process(span(1, None, *events, kind=SERVER, attributes=reported("e0", own="e0")))
    ).encode()


def duplicates(number: int) -> bytes:
    """Return this many different copies of one id."""
    events = [seen(event("e", kind=f"kind_{n}", cause_id=f"e{n % 3}"), n) for n in range(number)]
    return json.dumps(process(span(1, None, *events))).encode()


def deep(number: int) -> bytes:
    """Return this many nested spans, each with a failure."""
    return json.dumps(
        process(
            *(span(n, n - 1 or None, seen(event(f"e{n}")), kind=SERVER) for n in range(1, number))
        )
    ).encode()


def ring(number: int) -> bytes:
    """Return this many spans whose parents and causes form a cycle."""
    made = [
        span(n, n % number + 1, seen(event(f"e{n}", cause_id=f"e{n % number + 1}")))
        for n in range(1, number + 1)
    ]
    return json.dumps(process(*made)).encode()


def kinds(number: int) -> bytes:
    """Return this many kinds, each in a service and a hop of its own."""
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
def test_time_grows_linearly_with_the_source(bomb):
    """Eight times the size takes less than 24 times as long; quadratic would be 64."""

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
def test_calls_grow_linearly_with_the_source(bomb):
    """Eight times the size makes less than ten times the calls, on every machine."""

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

    calls(10)  # caches and imports
    assert calls(800) < 10 * calls(100)


@pytest.mark.slow
def test_a_compression_bomb_is_an_error_in_a_sentence(tmp_path):
    """2 GB in 2 MB of gzip, read with 1 GB of memory."""
    path = tmp_path / "bomb.json.gz"
    path.write_bytes(gzip.compress(b" " * (1 << 26), 9) * 32)
    ran = bounded(path)
    assert ran.returncode == 3
    assert ran.stderr.count("\n") == 1
    assert "out of memory" in ran.stderr


def test_a_source_without_content_is_refused():
    """Nothing, a line feed or zeros: one sentence each."""
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
        with pytest.raises(SourceError, match=r"empty|neither|looks like|another kind"):
            read_files([SourceFile("data", io.BytesIO(data))])
