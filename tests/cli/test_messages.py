"""What the commands print for 150 wrong inputs, character by character.

To change a message on purpose, run `python tests/cli/test_messages.py`, which writes the file of
messages again, and read the difference as somebody who has just made that mistake.
"""

from __future__ import annotations

import contextlib
import io
import os
import shlex
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

sys.path.append(str(Path(__file__).parents[1] / "support"))  # pytest does it; for a script
pytest.importorskip("httpx", reason="backends are read with httpx, which this environment lacks")
pytest.importorskip("opentelemetry.exporter.otlp.json.file", reason="export needs it")
pytest.importorskip("opentelemetry.exporter.otlp.proto.http", reason="export needs it")

from failgraph import settings
from failgraph.backends import client
from failgraph.cli import main
from wrong_inputs import CLEAN_TRACE, servers, write_sources

pytestmark = pytest.mark.once

GOLDEN = Path(__file__).parent / "golden" / "messages.txt"
LIMITS = client.ClientLimits(connect=2, read=0.2, total=2, pause=0.0)
OTLP = {"OTEL_EXPORTER_OTLP_TIMEOUT": "1", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}


class Case(NamedTuple):
    """One command line.

    Attributes:
        line: The arguments as typed; `{name}` stands for the URL of a server of `wrong_inputs`.
        environ: Variables to set, with such names too.
        stdin: Standard input.
    """

    line: str
    environ: Mapping[str, str] = {}
    stdin: bytes = b""


def jaeger(server: str, line: str = "list jaeger", **environ: str) -> Case:
    return Case(line, {"FAILGRAPH_JAEGER_URL": "{" + server + "}", **environ})


def tempo(server: str, line: str = "list tempo") -> Case:
    return Case(line, {"FAILGRAPH_TEMPO_URL": "{" + server + "}"})


def setting(name: str, value: str) -> Case:
    return Case("list good.jsonl", {f"FAILGRAPH_{name}": value})


CASES: Mapping[str, tuple[Case, ...]] = {
    "wrong use": (
        Case(""),
        Case("lst good.jsonl"),
        Case("explode"),
        Case("list"),
        Case("show --json"),
        Case("list good.jsonl --knid x"),
        Case("list good.jsonl --what"),
        Case("list good.jsonl --kind"),
        Case("list good.jsonl --since yesterday"),
        Case("list good.jsonl --limit 0"),
        Case("list good.jsonl --boundary sandbx"),
        Case("list good.jsonl --boundary moon"),
        Case("list good.jsonl --color blue"),
        Case("list good.jsonl --json --ids"),
        Case("list good.jsonl -x"),
        Case("doctor jaeger extra"),
        Case("list good.jsonl --where task=1"),
        Case("run"),
        Case("run -- no-such-program"),
        Case("run -- ./run.log"),
    ),
    "old names": (
        Case("import rows.jsonl --to out.jsonl"),
        Case("import rows.jsonl"),
        Case("export rows.jsonl --to http://localhost:4317"),
        Case("demo --out new.jsonl"),
        Case("list good.jsonl --journal journal"),
        Case("show good.jsonl --journal=journal 0af7"),
        setting("PLACEMENT", "failure_span"),
        setting("REPLY", "never"),
        setting("REASON", "off"),
        setting("LINKS", "all"),
        setting("HEADER_BYTES", "2048"),
    ),
    "files that are missing or cannot be read": (
        Case("list nope.jsonl"),
        Case("list nope"),
        Case("list no/such/dir/"),
        Case("list ''"),
        Case("list jeager"),
        Case("list localhost:16686"),
        Case("list loop.jsonl"),
        Case("list -"),
        Case("doctor nope.jsonl"),
        Case("doctor -"),
        Case("list -", stdin=b"hello\n"),
        Case("list empty-dir"),
        Case("list other-dir"),
        Case("list foreign-dir"),
    ),
    "files of something else": (
        Case("list empty.jsonl"),
        Case("list blank.jsonl"),
        Case("list cut.jsonl"),
        Case("list half.jsonl"),
        Case("list cut.jsonl.gz"),
        Case("list fake.jsonl.gz"),
        Case("list traces.jsonl.zst"),
        Case("list run.log"),
        Case("list page.html"),
        Case("list picture.png"),
        Case("list tasks.jsonl"),
        Case("list numbers.json"),
        Case("list console.json"),
        Case("list logs.jsonl"),
        Case("list metrics.jsonl"),
        Case("list no-spans.jsonl"),
        Case("list not-found.json"),
        Case("list traces.pb"),
        Case("list lossy.jsonl --strict"),
        Case("list good.jsonl nope.jsonl"),
        Case("list good.jsonl empty.jsonl"),
        Case("list good.jsonl run.log tasks.jsonl"),
        Case("list tasks.jsonl run.log empty.jsonl cut.jsonl page.html"),
        Case("list mixed-dir"),
    ),
    "ids": (
        Case("show good.jsonl deadbeef"),
        Case("show good.jsonl 0af7"),
        Case("show good.jsonl 0af"),
        Case("show good.jsonl not-an-id"),
        Case("show good.jsonl ''"),
        Case("show deadbeef"),
        Case("show good.jsonl 7-9"),
        Case("show good.jsonl nope.jsonl"),
        Case("show good.jsonl no/such/file"),
        Case("show good.jsonl -- nope.jsonl"),
        Case("show good.jsonl --"),
        Case("show good.jsonl journal 1-abc"),
        Case("show good.jsonl 00-abcd-00f067aa0ba902b7-01"),
        Case(f"show good.jsonl {CLEAN_TRACE}"),
        jaeger("jaeger", "show jaeger deadbeef"),
        jaeger("jaeger", f"show jaeger {'d' * 32}"),
        tempo("tempo", f"show tempo {'d' * 32}"),
        Case("show {jaeger}/trace/xyz"),
    ),
    "filters that match nothing": (
        Case("list good.jsonl --kind sandbox:kill"),
        Case("list good.jsonl --kind quota"),
        Case("list good.jsonl --boundary model --service gym"),
        Case("list good.jsonl --service gmy"),
        Case("list good.jsonl --since 2026-01-01T00:00:00Z"),
        Case("list good.jsonl --rollout 7-9"),
        Case("list good.jsonl --rollout 7-1"),
        Case("list clean.jsonl"),
        Case("list rows-clean.jsonl"),
        Case("top clean.jsonl"),
        jaeger("jaeger"),
        tempo("tempo", "list tempo --kind quota"),
    ),
    "backends": (
        jaeger("unreachable"),
        tempo("unreachable"),
        Case("list {unreachable}"),
        jaeger("page"),
        jaeger("login"),
        jaeger("login", FAILGRAPH_JAEGER_HEADERS="authorization=Bearer%20abc"),
        tempo("forbidden"),
        jaeger("unknown-path"),
        jaeger("broken"),
        tempo("busy"),
        jaeger("redirect"),
        tempo("other-json"),
        jaeger("cut"),
        jaeger("no-http"),
        jaeger("silent"),
        Case("list {page}"),
        Case("list {other-json}"),
        Case("list {grafana}"),
        Case("list ftp://localhost/traces"),
        Case("list http://user:hunter2@localhost:16686"),
        Case("list http://"),
        jaeger("tempo"),
        tempo("jaeger"),
    ),
    "outputs that cannot be written": (
        Case("export rows.jsonl"),
        Case("export rows.jsonl -o no/such/dir/out.jsonl"),
        Case("export rows.jsonl -o empty-dir"),
        Case("export rows.jsonl -o rows.jsonl"),
        Case("export rows.jsonl -o run.log"),
        Case("export rows.jsonl -o http://"),
        Case("export rows.jsonl -o {unreachable}", OTLP),
        Case("export rows.jsonl -o {refusing-receiver}", OTLP),
        Case("export rows.jsonl -o {wrong-receiver}", OTLP),
        Case("export nope.jsonl tasks.jsonl empty.jsonl -o out.jsonl"),
        Case("export good.jsonl run.log -o http://"),
        Case("export lossy.jsonl -o out.jsonl"),
        Case("export tasks.jsonl empty.jsonl -o out.jsonl"),
        Case("export jaeger -o localhost:4317"),
        Case("export rows.jsonl -o -"),
        Case("export rows.jsonl -o out.parquet"),
        Case("list good.jsonl -o no/such/dir/out.txt"),
        Case("list good.jsonl -o empty-dir"),
        Case("list good.jsonl -o good.jsonl"),
        Case("demo -o good.jsonl"),
    ),
    "settings": (
        setting("ENABLED", "maybe"),
        setting("ENABLD", "true"),
        setting("AUTO_INSTRUMENT", "maybe"),
        setting("EVENTS", "log"),
        setting("REDACT", "none"),
        setting("PEERS", "private,none"),
        setting("HEARTBEAT", "30s"),
        setting("QUIET", "true"),
        setting("LOG_LEVEL", "loud"),
        setting("BOUNDARY", "moon"),
        setting("PEERS", "10.0.0.0/99"),
        setting("REDACT_PATTERNS", "(unclosed"),
        setting("REDACT_WITH", "no_such_module:redact"),
        setting("JOURNAL", "good.jsonl"),
        setting("JOURNAL_MAX_BYTES", "64MB"),
        setting("JAEGER_URL", "localhost:16686"),
        setting("JAEGER_HEADERS", "Bearer abc"),
    ),
}


@contextlib.contextmanager
def environment(folder: Path) -> Iterator[pytest.MonkeyPatch]:
    """Work in a folder, with no settings and with short timeouts."""
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith(("FAILGRAPH_", "OTEL_")):
                patch.delenv(name)
        patch.setenv("COLUMNS", "80")
        patch.chdir(folder)
        patch.setattr(client, "DEFAULT_LIMITS", LIMITS)
        yield patch


def output(case: Case, urls: Mapping[str, str], folder: Path) -> str:
    """Return the command as typed, what it writes to both streams, and its exit code."""
    stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    with contextlib.ExitStack() as stack:
        patch = stack.enter_context(environment(folder))
        environ = {name: value.format(**urls) for name, value in case.environ.items()}
        for name, value in environ.items():
            patch.setenv(name, value)
        stdin = stack.enter_context(tempfile.TemporaryFile())
        stdin.write(case.stdin)
        stdin.seek(0)
        patch.setattr("sys.stdin", stdin)
        stack.enter_context(contextlib.redirect_stdout(stream))
        stack.enter_context(contextlib.redirect_stderr(stream))
        settings.current.cache_clear()
        try:
            code = main(shlex.split(case.line.format(**urls)))
        except SystemExit as error:
            code = error.code
    text = stream.buffer.getvalue().decode()
    for name, url in urls.items():
        text = text.replace(url, f"http://{name}").replace(url.removeprefix("http://"), name)
    names = {name: f"http://{name}" for name in urls}
    typed = [f"{name}={value.format(**names)}" for name, value in case.environ.items()]
    command = " ".join([*typed, "failgraph", case.line.format(**names)]).rstrip()
    given = f"printf {case.stdin.decode()!r} | " if case.stdin else ""
    return f"$ {given}{command}\n{text}exit {code}\n"


def outputs() -> Iterator[tuple[str, str]]:
    """Yield the outputs of each group of cases, with its heading."""
    with tempfile.TemporaryDirectory() as directory, servers() as urls:
        folder = Path(directory)
        write_sources(folder)
        for heading, cases in CASES.items():
            texts = (output(case, urls, folder) for case in cases)
            yield heading, f"## {heading}\n\n" + "\n".join(texts)


def test_the_messages_are_unchanged():
    """Each message and exit code is the same as before."""
    before = GOLDEN.read_text(encoding="utf-8").split("$ ")
    assert "\n\n".join(text for _, text in outputs()).split("$ ") == before


if __name__ == "__main__":
    GOLDEN.write_text("\n\n".join(text for _, text in outputs()), encoding="utf-8")
