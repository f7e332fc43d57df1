"""Give damaged input to everything that reads.

test_fuzzing.py does a short run with a fixed seed. For a long run:
`python tests/support/fuzzing.py SECONDS`, or with atheris, which is guided by coverage,
`python tests/support/fuzzing.py FOLDER -max_total_time=600`, where FOLDER keeps what reaches new
code.
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

with contextlib.suppress(ImportError):
    import atheris

    if __name__ == "__main__":
        with atheris.instrument_imports(include=["failgraph"]):
            pass

from builders import event, remote_span
from damage import damage
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
    list_lines,
    list_row,
    loss_lines,
    show_row,
    top_lines,
    top_row,
    top_rows,
    tree_text,
)
from gym_rows import ROWS, lines
from otlp_file import SERVER, failure_span, process, reported, seen, span

Target = tuple[bytes, Callable[[bytes], object]]  # a source, and what reads such

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
SPANS = {"a": remote_span(1, 2), "b": remote_span(3, 4)}


def _reply_headers() -> ReplyHeaders:
    reply_headers = encode_headers(REPORT, SPANS, 4000)
    assert reply_headers is not None
    assert reply_headers.spans_value is not None
    return reply_headers


_MESSAGE = DIALECTS["Tempo v1 protobuf"](DOCUMENT)
_REPLY = _reply_headers()
_REPORT_VALUE = _REPLY.report_value.encode()
# One of each form that failgraph reads.
SOURCES: dict[str, bytes] = {
    **{name: write(DOCUMENT) for name, write in DIALECTS.items()},
    "OTLP JSON, gzip": gzip.compress(DIALECTS["OTLP JSON"](DOCUMENT), mtime=0),
    "OTLP protobuf, framed": 2 * (len(_MESSAGE).to_bytes(4, "big") + _MESSAGE),
    "rows": lines(*(row.row for row in ROWS[::3])),
}
# One of each form of a header in a peer's reply.
HEADERS: dict[str, bytes] = {
    "JSON": _REPORT_VALUE,
    "base64": base64.b64encode(_REPORT_VALUE),
    "zlib": base64.urlsafe_b64encode(zlib.compress(_REPORT_VALUE)),
    "gzip": base64.b64encode(gzip.compress(_REPORT_VALUE, mtime=0)),
    "places": (_REPLY.spans_value or "").encode(),
}


def read_source(data: bytes) -> Reading | None:
    """Read a file and show its traces in every form. Return None if it was rejected.

    Raises:
        AssertionError: What is shown could harm a terminal, or is not valid JSON.
        Exception: An error that a reader should have handled.
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
        shown += [*map(line_text, list_lines([trace], full=True)), *tree_text(failure_tree(trace))]
    for text in shown:
        assert text == sanitize(text, len(text) + 1), ascii(text)
    return reading


def read_header(value: bytes) -> FailureReport | None:
    """Read a peer's header, and encode what was read as if to send it on."""
    text = value.decode("latin-1")
    for remote in decode_spans(text).values():
        assert remote.trace_id
        assert remote.span_id
    report = decode_report(text)
    if report is not None:
        assert len(report.events) <= 256
        encode_headers(report, {}, 3072)
        encode_headers(report, {}, 100_000)
    return report


def main(arguments: list[str]) -> None:
    """Run until an input breaks a reader, or until the time is over."""
    targets: list[Target] = [
        *((data, read_source) for data in SOURCES.values()),
        *((data, read_header) for data in HEADERS.values()),
    ]
    if arguments and arguments[0].isdigit():
        run_for(int(arguments[0]), targets)
    else:
        run_atheris(Path(arguments[0]), arguments[1:], targets)


def run_for(seconds: int, targets: list[Target]) -> None:
    """Damage sources at random for some seconds."""
    tries, seed, end = 0, int(time.time()), time.monotonic() + seconds
    print("seed", seed)
    rng = random.Random(seed)
    while time.monotonic() < end:
        data, read = rng.choice(targets)
        damaged = damage(data, rng)
        tries += 1
        start = time.monotonic()
        try:
            read(damaged)
        except BaseException:
            Path("broken").write_bytes(damaged)
            raise
        if time.monotonic() - start > 2:
            print("slow:", time.monotonic() - start, damaged[:200])
    print(tries, "tries")


def run_atheris(folder: Path, options: list[str], targets: list[Target]) -> None:
    """Run atheris; the first byte of an input says whether it is a source or a header."""
    folder.mkdir(exist_ok=True)
    for number, (data, read) in enumerate(targets):
        (folder / f"seed-{number}").write_bytes((b"h" if read is read_header else b"s") + data)

    def read_input(data: bytes) -> None:
        (read_header if data[:1] == b"h" else read_source)(data[1:])

    def mutate(data: bytes, max_size: int, seed: int) -> bytes:
        rng = random.Random(seed)
        if rng.random() < 0.5:
            return bytes(atheris.Mutate(data, max_size))
        return (data[:1] + damage(data[1:], rng))[:max_size]

    command = ["fuzzing", str(folder), "-max_len=40000", *options]
    atheris.Setup(command, read_input, custom_mutator=mutate)
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1:])
