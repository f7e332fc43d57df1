"""Hostile input to everything that reads: well-formed sources, damaged in their bytes and in their structure.

A short seeded run is in test_fuzzing.py. By hand, guided by coverage where atheris is installed:
`python tests/support/fuzzing.py FOLDER -max_total_time=600` keeps what reaches new code in FOLDER; without atheris
`python tests/support/fuzzing.py SECONDS`.
"""

from __future__ import annotations

import base64
import contextlib
import gzip
import io
import json
import random
import sys
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

with contextlib.suppress(ImportError):
    import atheris

    if __name__ == "__main__":
        with atheris.instrument_imports(include=["failgraph"]):
            pass

from builders import event, remote_span
from dialects import DIALECTS
from failgraph import FailureReport
from failgraph.errors import SourceError
from failgraph.losses import MEANING
from failgraph.readers import Reading
from failgraph.readers.reading import read_files
from failgraph.readers.source import SourceFile
from failgraph.text import sanitize
from failgraph.traces.query import Query
from failgraph.transport.header_decoder import decode_report, decode_spans
from failgraph.transport.header_encoder import encode_headers
from failgraph.transport.headers import ReplyHeaders
from failgraph.view import (
    failure_tree,
    line_text,
    list_line,
    list_row,
    loss_lines,
    show_row,
    top_lines,
    top_row,
    top_rows,
    tree_text,
)
from gym_rows import ROWS, lines
from json_paths import json_paths
from otlp_file import SERVER, failure_span, process, reported, seen, span

DOCUMENT = process(
    span(
        1,
        None,
        seen(event("a", failure_reason="why"), 5),
        attributes=reported("a", "b", own="b"),
        kind=SERVER,
    ),
    span(
        2,
        1,
        seen(
            event(
                "b", cause_id="a", boundary="sandbox", details={"exit_code": -9, "provider": "x"}
            ),
            7,
        ),
    ),
    failure_span(
        3,
        2,
        seen(
            event("c", boundary="model", foreign_error={"exception_type": "E", "message": "m"}), 9
        ),
    ),
)
REPORT = FailureReport(
    events={"a": event("a"), "b": event("b", cause_id="a", failure_reason="why", http_status=503)},
    failure_id="b",
)
PLACES = {"a": remote_span(1, 2), "b": remote_span(3, 4)}


def _told(most: int) -> ReplyHeaders:
    told = encode_headers(REPORT, PLACES, most)
    assert told is not None
    assert told.spans_value is not None
    return told


_MESSAGE = DIALECTS["Tempo v1 protobuf"](DOCUMENT)
_VALUE = _told(4000).report_value.encode()
SOURCES: dict[str, bytes] = {
    **{name: write(DOCUMENT) for name, write in DIALECTS.items()},
    "OTLP JSON, gzip": gzip.compress(DIALECTS["OTLP JSON"](DOCUMENT), mtime=0),
    "OTLP protobuf, framed": 2 * (len(_MESSAGE).to_bytes(4, "big") + _MESSAGE),
    "rows": lines(*(row.row for row in ROWS[::3])),
}
"""One of each form that `failgraph` reads, by name."""
HEADERS: dict[str, bytes] = {
    "JSON": _VALUE,
    "base64": base64.b64encode(_VALUE),
    "zlib": base64.urlsafe_b64encode(zlib.compress(_VALUE)),
    "gzip": base64.b64encode(gzip.compress(_VALUE, mtime=0)),
    "places": (_told(4000).spans_value or "").encode(),
}
"""One of each form that a peer may reply with."""

_SPLICES = [
    b"\x00",
    b"\xff",
    b"\xed\xa0\x80",
    b"\x1b[31m",
    b"{",
    b"}",
    b"[",
    b'"',
    b"\\u",
    b"\n",
    b"9" * 5000,
    b"\x80" * 12,
]
ODD: tuple[Any, ...] = (
    *(
        None,
        True,
        0,
        -1,
        2**31,
        2**63,
        -(2**63) - 1,
        2**64,
        10**4000,
        1.5,
        1e308,
        float("nan"),
        float("inf"),
        "",
    ),
    *(
        "9" * 5000,
        "1e999",
        "NaN",
        "0x10",
        "\ud800",
        "\u202eabc\u2066",
        "\x1b[2J\x1b]0;x\x07",
        "[bold red]x[/]",
        "<b>&",
    ),
    *(
        "\x00",
        "日" * 3000,
        "x" * 200_000,
        "0" * 32,
        "a",
        "b",
        "c",
        "nemo.gym.failure",
        [],
        {},
        [[]],
        {"": {}},
        [None],
    ),
    *(
        {"values": [{"stringValue": "a"}, 5, None]},
        {"key": "nemo.gym.failure.cause.id", "value": {"stringValue": "b"}},
    ),
)
"""What stands where something else belongs: wrong types, numbers out of every range, texts that a terminal obeys."""
_VALUES = b'{"arrayValue":{"values":['
_NESTS = {
    f"@nest {name} {depth}": begin * depth + end * depth
    for depth in (3, 90, 900, 30_000)
    for name, begin, end in (
        ("list", b"[", b"]"),
        ("map", b'{"a":[', b"]}"),
        ("values", _VALUES, b"]}}"),
    )
}
"""Nests, by what stands for them in a document: Python could not print the deepest."""


def damage(data: bytes, rng: random.Random) -> bytes:
    """A damaged copy of a source, in its structure where it is JSON, or in its bytes."""
    if rng.random() < 0.6:
        with contextlib.suppress(ValueError, RecursionError):
            found = [json.loads(line) for line in data.splitlines() if line.strip()]
            if found:
                for _ in range(rng.randint(1, 4)):
                    _misplace(found, rng)
                return b"\n".join(_json(each, rng) for each in found)
    damaged = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(damaged) + 1)
        what = rng.randrange(5)
        if what == 0:
            damaged[at : at + rng.randint(1, 4)] = rng.randbytes(rng.randint(0, 4))
        elif what == 1:
            del damaged[at : at + rng.randint(1, 64)]
        elif what == 2:
            other = rng.randrange(len(damaged) + 1)
            damaged[at:at] = damaged[other : other + rng.randint(1, 300)]
        elif what == 3:
            damaged[at:at] = rng.choice(_SPLICES)
        else:
            del damaged[at:]
    return bytes(damaged)


def _misplace(document: list[Any], rng: random.Random) -> None:
    found = list(json_paths(document))
    if not found:
        return
    *path, last = rng.choice(found)
    parent: Any = document
    for key in path:
        parent = parent[key]
    what = rng.randrange(6)
    if what == 0:
        del parent[last]
    elif what in (1, 2):
        parent[last] = rng.choice(ODD)
    elif what == 3 and isinstance(parent, list):
        parent.append(json.loads(json.dumps(parent[last])))
    elif what == 4:
        *way, key = rng.choice(found)
        value: Any = document
        for step in way:
            value = value[step]
        parent[last] = json.loads(json.dumps(value[key]))
    else:
        parent[last] = rng.choice(tuple(_NESTS))


def _json(value: Any, rng: random.Random) -> bytes:
    found = json.dumps(value, ensure_ascii=rng.random() < 0.5).encode("utf-8", "surrogatepass")
    for name, nest in _NESTS.items():
        found = found.replace(b'"%s"' % name.encode(), nest)
    return found


def read_source(data: bytes) -> Reading | None:
    """Read `data` as a file and show what it holds in every form; None where it is refused in a sentence.

    Raises AssertionError where what is shown could hurt a reader, and whatever a reader lets through.
    """
    try:
        reading = read_files([SourceFile("data", io.BytesIO(data))])
    except SourceError as error:
        assert len(str(error)) < 2000
        return None
    rows = top_rows(reading.traces, Query(), reading.durations)
    shown = [line_text(line) for line in (*loss_lines(reading.losses), *top_lines(rows))]
    json.dumps(list(map(top_row, rows)), allow_nan=False).encode()
    for trace in reading.traces:
        assert {loss.kind for loss in trace.losses} <= set(MEANING)
        back = FailureReport.model_validate_json(trace.report.model_dump_json())
        assert back.events.keys() == trace.report.events.keys()
        for row in (list_row(trace), show_row(trace)):
            json.dumps(row, allow_nan=False).encode()
        shown += [line_text(list_line(trace)), *tree_text(failure_tree(trace))]
    for text in shown:
        assert text == sanitize(text, len(text) + 1), ascii(text)
    return reading


def read_header(value: bytes) -> FailureReport | None:
    """Read `value` as a peer's headers; what is read can be sent on."""
    text = value.decode("latin-1")
    for place in decode_spans(text).values():
        assert place.trace_id
        assert place.span_id
    report = decode_report(text)
    if report is not None:
        assert len(report.events) <= 256
        encode_headers(report, {}, 3072)
        encode_headers(report, {}, 100_000)
    return report


def main(arguments: list[str]) -> None:
    """Until something breaks, or the time is over."""
    targets = [
        *((data, read_source) for data in SOURCES.values()),
        *((data, read_header) for data in HEADERS.values()),
    ]
    if not arguments or not arguments[0].isdigit():
        folder = Path(arguments[0])
        folder.mkdir(exist_ok=True)
        for number, (data, read) in enumerate(targets):
            (folder / f"seed-{number}").write_bytes((b"h" if read is read_header else b"s") + data)

        def one(data: bytes) -> None:
            (read_header if data[:1] == b"h" else read_source)(data[1:])

        def mutate(data: bytes, most: int, seed: int) -> bytes:
            rng = random.Random(seed)
            if rng.random() < 0.5:
                return bytes(atheris.Mutate(data, most))
            return (data[:1] + damage(data[1:], rng))[:most]

        atheris.Setup(
            ["fuzzing", str(folder), "-max_len=40000", *arguments[1:]], one, custom_mutator=mutate
        )
        atheris.Fuzz()
    tries, seed, until = 0, int(time.time()), time.monotonic() + int(arguments[0])
    print("seed", seed)
    rng = random.Random(seed)
    while time.monotonic() < until:
        data, read = rng.choice(targets)
        damaged = damage(data, rng)
        tries += 1
        _one(read, damaged)
    print(tries, "tries")


def _one(read: Callable[[bytes], object], damaged: bytes) -> None:
    start = time.monotonic()
    try:
        read(damaged)
    except BaseException:
        Path("broken").write_bytes(damaged)
        raise
    if time.monotonic() - start > 2:
        print("slow:", time.monotonic() - start, damaged[:200])


if __name__ == "__main__":
    main(sys.argv[1:])
