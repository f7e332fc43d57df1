"""Enabled by a variable, in real processes of every kind: attached once, exported once."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import sysconfig
import time
import urllib.request
from pathlib import Path

import pytest

from otlp_server import Receiver
from programs import (
    APPS,
    ON,
    PROVIDERS,
    environment,
    has,
    needs_auto,
    needs_config,
    needs_servers,
)


def run(receiver: Receiver, command: list[str], extra: dict[str, str]) -> tuple[dict, str]:
    """Run a program to its end. Return the JSON that it printed, and its standard error."""
    done = subprocess.run(
        command,
        env=environment(receiver, extra),
        cwd=APPS,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert not [word for word in ("Traceback", "UserWarning") if word in done.stderr], done.stderr
    return json.loads(done.stdout.splitlines()[-1]), done.stderr


def traced(*ways: str) -> list[str]:
    return [sys.executable, "traced.py", *ways]


def check(receiver: Receiver, found: dict, failures: int = 1) -> None:
    """Assert that there is one processor and each failure arrived once, without its secret."""
    assert found["processors"] == 1
    assert "internal_error" not in found["stats"], found
    arrived = receiver.failures()
    assert len(arrived) == failures
    assert set(arrived.values()) == {1}
    assert b"4f9aB27cQ1xZ8mLk" not in receiver.text()
    assert b"[redacted:api_key]" in receiver.text()


def place(receiver: Receiver) -> str:
    """Return the name of the span that has the failure."""
    return next(
        span.name
        for span in receiver.spans()
        if any(e.name == "nemo.gym.failure" for e in span.events)
    )


@pytest.mark.slow_after(4)
@pytest.mark.parametrize(
    "ways",
    [
        ["own", "fail"],
        ["own_by_name", "fail"],
        ["own_subclass", "fail"],
        ["concurrent", "fail"],
        ["own", "own", "fail"],
        ["sdk", "own", "attach", "attach", "fail"],
        ["own", "uninstrument", "attach", "fail"],
    ],
    ids="-".join,
)
def test_the_start_up_file_reaches_each_provider_that_is_made(receiver, ways):
    """The provider gets one processor, however it is made and set."""
    if "uninstrument" in ways and not has("opentelemetry.instrumentation"):
        pytest.skip("needs opentelemetry-instrumentation, which this set lacks")
    found, _ = run(receiver, traced(*ways), ON)
    check(receiver, found)
    assert place(receiver) == "inner"


@pytest.mark.parametrize(
    "ways", [["own", "attach", "fail"], ["own", "attach", "attach", "fail"]], ids="-".join
)
def test_a_global_provider_from_before_is_reached(receiver, ways):
    """Attached late, without the start-up file."""
    found, _ = run(receiver, traced(*ways), {})
    check(receiver, found)


def test_an_instrumentor_that_is_called_after_the_provider_was_set(receiver):
    """The program calls `FailgraphInstrumentor().instrument()` itself."""
    pytest.importorskip(
        "opentelemetry.instrumentation", reason="needs opentelemetry-instrumentation"
    )
    found, _ = run(receiver, traced("own", "instrument", "fail"), {})
    check(receiver, found)


def test_off_by_default(receiver):
    """Without the variable nothing of failgraph is loaded, and no failure is recorded."""
    found, _ = run(receiver, traced("own"), {})
    assert found["loaded"] == []
    run(receiver, traced("own", "fail"), {})
    assert len(receiver.spans()) == 2
    assert not receiver.failures()


@pytest.mark.parametrize(
    "extra",
    [
        {"FAILGRAPH_ENABLED": "false"},
        {"FAILGRAPH_ENABLED": " False "},
        {"FAILGRAPH_ENABLED": "0", "FAILGRAPH_AUTO_INSTRUMENT": "true"},
        {"FAILGRAPH_AUTO_INSTRUMENT": "off"},
    ],
    ids=str,
)
def test_off_where_it_is_turned_off(receiver, extra):
    """`FAILGRAPH_ENABLED=false` loads nothing."""
    found, _ = run(receiver, traced("own"), extra)
    assert found["loaded"] == []


def test_an_invalid_value_is_reported(receiver):
    """`FAILGRAPH_ENABLED=maybe` logs a warning and attaches nothing, whatever the other says."""
    for extra in ({}, {"FAILGRAPH_AUTO_INSTRUMENT": "true"}):
        found, stderr = run(receiver, traced("own"), {"FAILGRAPH_ENABLED": "maybe", **extra})
        assert stderr.count("FAILGRAPH_ENABLED must be true or false, not 'maybe'") == 1
        assert found["processors"] == 0


@pytest.mark.parametrize("value", ["1", "yes", "ON"])
def test_other_spellings_of_true(receiver, value):
    """They attach as `true` does."""
    found, _ = run(receiver, traced("own", "fail"), {"FAILGRAPH_ENABLED": value})
    check(receiver, found)


def test_a_program_without_opentelemetry_loads_next_to_nothing(receiver):
    """Only the package and the start-up modules, which import next to nothing themselves."""
    script = "import sys; print(*sorted(sys.modules))"
    env = environment(receiver, {})
    plain, on = (
        set(
            subprocess.run(
                [sys.executable, "-c", script],
                env={**env, **extra},
                capture_output=True,
                text=True,
                check=True,
            ).stdout.split()
        )
        for extra in ({}, ON)
    )
    ours = {
        "failgraph",
        "failgraph.instrumentation",
        "failgraph.instrumentation.import_hooks",
        "failgraph.instrumentation.startup",
    }
    assert ours <= on - plain
    assert len(on - plain - ours) <= 6, on - plain
    assert not (on - plain) & {"logging", "re", "typing", "wrapt", "pydantic", "threading"}


def test_a_no_op_provider_gets_no_processor(receiver):
    """nemo-lens sets one on ranks that do not export."""
    found, stderr = run(
        receiver, traced("sdk", "noop", "attach", "fail"), {**ON, "FAILGRAPH_LOG_LEVEL": "debug"}
    )
    assert found["processors"] == 0
    assert "internal_error" not in found["stats"]
    assert not receiver.spans()
    found, stderr = run(
        receiver, traced("noop", "attach", "fail"), {"FAILGRAPH_LOG_LEVEL": "debug"}
    )
    assert "no processor for the global opentelemetry.trace.NoOpTracerProvider" in stderr


def test_without_any_provider_nothing_happens(receiver):
    """OpenTelemetry's proxy provider, in a program that sets none, gets no processor."""
    found, _ = run(receiver, traced("sdk", "attach", "fail"), ON)
    assert found["processors"] == 0
    assert "internal_error" not in found["stats"]


def test_the_sdk_disabled(receiver):
    """With `OTEL_SDK_DISABLED=true` spans record nothing, and the program runs as before."""
    found, _ = run(receiver, traced("own", "fail"), {**ON, "OTEL_SDK_DISABLED": "true"})
    assert found["processors"] == 1
    assert not receiver.spans()
    assert "internal_error" not in found["stats"]


def test_the_sdk_not_importable(receiver, tmp_path):
    """A broken installation of the SDK does not make failgraph fail."""
    (tmp_path / "usercustomize.py").write_text("")
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\nsys.modules['opentelemetry.sdk'] = None\n"
    )
    path = f"{tmp_path}{os.pathsep}{APPS}"
    found, _ = run(receiver, traced("fail"), {**ON, "PYTHONPATH": path})
    assert "internal_error" not in found["stats"]
    assert found["processors"] == 0


def test_an_error_while_attaching_does_not_stop_the_program(receiver, tmp_path):
    """With a broken pydantic the program is traced as before, and one line is logged."""
    (tmp_path / "pydantic.py").write_text("raise RuntimeError('a broken pydantic')\n")
    path = f"{tmp_path}{os.pathsep}{APPS}"
    _, stderr = run(receiver, traced("own"), {**ON, "PYTHONPATH": path})
    assert stderr.count("attaching failed (RuntimeError)") == 1


@needs_auto
def test_opentelemetry_instrument(receiver):
    """`opentelemetry-instrument` attaches failgraph by its entry point, without a variable."""
    command = ["opentelemetry-instrument", *traced("fail")]
    found, stderr = run(receiver, command, {"FAILGRAPH_LOG_LEVEL": "debug"})
    check(receiver, found)
    assert "attached (opentelemetry_instrumentor)" in stderr


@pytest.mark.slow_after(1)
@needs_auto
@pytest.mark.parametrize(
    "extra",
    [{"OTEL_PYTHON_DISABLED_INSTRUMENTATIONS": "failgraph"}, {"FAILGRAPH_ENABLED": "false"}],
    ids=str,
)
def test_opentelemetry_instrument_without_failgraph(receiver, extra):
    """Both ways of turning it off under the command: spans are exported, failures are not."""
    found, _ = run(receiver, ["opentelemetry-instrument", *traced("fail")], extra)
    assert found["processors"] == 0
    assert len(receiver.spans()) == 2
    assert not receiver.failures()


@pytest.mark.slow_after(1)
@needs_auto
@pytest.mark.parametrize(
    ("ways", "extra"),
    [
        (["initialize", "fail"], {}),
        (["initialize", "fail"], ON),
        (["initialize", "own", "fail"], ON),
        (["fail"], {**ON, "FAILGRAPH_AUTO_INSTRUMENT": "true"}),
        (["initialize", "fail"], {**ON, "FAILGRAPH_AUTO_INSTRUMENT": "true"}),
        (["fail"], {"FAILGRAPH_AUTO_INSTRUMENT": "1"}),
    ],
    ids=str,
)
def test_programmatic_auto_instrumentation(receiver, ways, extra):
    """`initialize()` is called by the program, by failgraph, or by both."""
    found, _ = run(receiver, traced(*ways), extra)
    check(receiver, found)


@pytest.mark.slow
@needs_auto
def test_auto_instrumentation_from_a_sitecustomize_of_the_program(receiver, tmp_path):
    """It calls `start()` where no start-up file is processed, as for a folder on `PYTHONPATH`."""
    late = "FAILGRAPH_ENABLED='true', FAILGRAPH_AUTO_INSTRUMENT='true'"  # after the start-up file
    script = (
        f"import os\nos.environ.update({late})\n"
        "from failgraph.instrumentation.startup import start\nstart()\n"
    )
    (tmp_path / "sitecustomize.py").write_text(script)
    found, _ = run(receiver, traced("fail"), {"PYTHONPATH": f"{tmp_path}{os.pathsep}{APPS}"})
    check(receiver, found)


@pytest.mark.slow_after(1)
@needs_auto
@pytest.mark.parametrize("auto", [{}, {"FAILGRAPH_AUTO_INSTRUMENT": "true"}], ids=str)
def test_start_up_file_and_command_together(receiver, auto):
    """Attached both ways, there is one processor, and nothing is logged."""
    found, stderr = run(receiver, ["opentelemetry-instrument", *traced("fail")], {**ON, **auto})
    check(receiver, found)
    assert not stderr


@pytest.mark.slow_after(1)
@needs_auto
@pytest.mark.parametrize("extra", [{}, ON], ids=str)
def test_a_provider_of_the_programs_own_after_the_command(receiver, extra):
    """OpenTelemetry rejects the second provider. Failures arrive once, through the first."""
    found, _ = run(receiver, ["opentelemetry-instrument", *traced("own", "fail")], extra)
    check(receiver, found)


CONFIG = """
file_format: "1.0"
tracer_provider:
  processors:
    - batch:
        exporter:
          otlp_http:
            endpoint: ENDPOINT/v1/traces
instrumentation/development:
  python:
    failgraph:
      events: failure_span
"""


@pytest.mark.slow_after(1)
@needs_auto
@needs_config
@pytest.mark.parametrize(
    ("extra", "placed"),
    [
        ({}, "nemo.gym.failure"),
        (ON, "nemo.gym.failure"),
        ({"FAILGRAPH_EVENTS": "span"}, "inner"),
    ],
    ids=str,
)
def test_a_declarative_configuration_file(receiver, tmp_path, extra, placed):
    """Its options are failgraph's settings. The environment takes precedence."""
    config = tmp_path / "otel.yaml"
    config.write_text(CONFIG.replace("ENDPOINT", receiver.endpoint))
    command = ["opentelemetry-instrument", *traced("fail")]
    found, _ = run(receiver, command, {"OTEL_CONFIG_FILE": str(config), **extra})
    check(receiver, found)
    assert place(receiver) == placed


@needs_auto
def test_other_instrumentors_are_loaded_when_failgraphs_cannot_be(receiver, tmp_path):
    """Those before and after it, with a broken dependency of failgraph."""
    for name in ("a_probe", "zz_probe"):
        info = tmp_path / f"{name}-0.1.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1\n")
        (info / "entry_points.txt").write_text(
            f"[opentelemetry_instrumentor]\n{name} = {name}:Probe\n"
        )
        (tmp_path / f"{name}.py").write_text(
            "import sys\nfrom opentelemetry.instrumentation.instrumentor import BaseInstrumentor\n"
            "class Probe(BaseInstrumentor):\n"
            "    def instrumentation_dependencies(self): return ()\n"
            f"    def _instrument(self, **_): print({name!r}, 'instrumented', file=sys.stderr)\n"
            "    def _uninstrument(self, **_): pass\n"
        )
    (tmp_path / "pydantic.py").write_text("raise RuntimeError('a broken pydantic')\n")
    path = f"{tmp_path}{os.pathsep}{APPS}"
    others = "fastapi,asgi,httpx,requests,aiohttp-client"  # these need pydantic
    extra = {"PYTHONPATH": path, "OTEL_PYTHON_DISABLED_INSTRUMENTATIONS": others}
    _, stderr = run(receiver, ["opentelemetry-instrument", *traced("sdk")], extra)
    assert "a_probe instrumented" in stderr
    assert "zz_probe instrumented" in stderr
    assert stderr.count("attaching failed (RuntimeError)") == 1


def test_auto_instrumentation_that_is_not_installed_is_one_line(receiver, tmp_path):
    """The line says what to install."""
    (tmp_path / "sitecustomize.py").write_text("")
    blocker = "import sys\nsys.modules['opentelemetry.instrumentation'] = None\n"
    (tmp_path / "block.py").write_text(blocker)
    script = (
        f"exec({blocker!r}); import failgraph.instrumentation.startup as s; s._auto_instrument()"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=environment(receiver, {}),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr.count('pip install "failgraph[auto]"') == 1
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("way", ["fork", "spawn", "forkserver"])
def test_child_processes(receiver, way):
    """A forked child inherits the hooks, a spawned one attaches itself. Failures arrive once."""
    found, _ = run(receiver, traced("own", "fail", way), ON)
    # A spawned child imports the program without running it, so that it has no provider.
    check(receiver, found, failures=2 if way == "fork" else 1)


@pytest.mark.slow_after(1)
@needs_auto
@pytest.mark.parametrize("way", ["fork", "spawn", "forkserver"])
def test_child_processes_under_the_command(receiver, way):
    """A spawned child is instrumented by OpenTelemetry again, and by failgraph with it."""
    found, _ = run(receiver, ["opentelemetry-instrument", *traced("fail", way)], {})
    check(receiver, found, failures=2)


@pytest.fixture(scope="module")
def wheel_python(tmp_path_factory) -> Path:
    """Return the Python of an environment with failgraph from its wheel and all else from here."""
    pytest.importorskip("hatchling", reason="building the wheel needs hatchling")
    folder = tmp_path_factory.mktemp("wheel")
    root = Path(__file__).parents[2]
    if not (root / "src").exists():
        pytest.skip("this copy has no source to build a wheel from")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=root, check=True, capture_output=True)
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", str(folder / "venv")], check=True
    )
    python = folder / "venv" / "bin" / "python"
    install = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        str(python),
        "install",
        "--quiet",
        "--no-deps",
    ]
    subprocess.run([*install, *map(str, folder.glob("*.whl"))], check=True)
    site = next((folder / "venv" / "lib").glob("python*")) / "site-packages"
    (site / "ours.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    return python


def test_a_wheel_install(receiver, wheel_python):
    """The start-up file works from the wheel. All other tests use the editable install."""
    script = "import failgraph, sys; sys.exit(not failgraph.__file__.startswith(sys.prefix))"
    assert subprocess.run([str(wheel_python), "-c", script], check=False).returncode == 0
    found, _ = run(receiver, [str(wheel_python), "traced.py", "own", "fail"], ON)
    check(receiver, found)


@pytest.mark.slow
@needs_auto
def test_a_wheel_install_under_the_command(receiver, wheel_python):
    """The entry point works from the wheel, with the start-up file enabled and without."""
    script = "from opentelemetry.instrumentation.auto_instrumentation import run; run()"
    for extra in ({}, ON):
        command = [str(wheel_python), "-c", script, str(wheel_python), "traced.py", "fail"]
        found, _ = run(receiver, command, extra)
        assert found["processors"] == 1
    assert len(receiver.failures()) == 2
    assert set(receiver.failures().values()) == {1}


def test_run_enables_one_command(receiver):
    """`failgraph run -- COMMAND` sets the variable, and passes on output and exit code."""
    found, _ = run(receiver, ["failgraph", "run", "--", *traced("own", "fail")], {})
    check(receiver, found)
    done = subprocess.run(
        ["failgraph", "run", "--", sys.executable, "-c", "raise SystemExit(7)"],
        env=environment(receiver, {}),
    )
    assert done.returncode == 7


def providers_path(package: str) -> str:
    """Return a PYTHONPATH with the provider packages, which have folders of their own, or skip."""
    if not (PROVIDERS / package).exists():
        pytest.skip(f"{package} is not made here: make test does (PROVIDERS)")
    return os.pathsep.join(map(str, (APPS, PROVIDERS, PROVIDERS / "_logfire_sdk")))


@pytest.mark.slow_after(1)
@pytest.mark.parametrize(
    ("ways", "extra"),
    [
        (["logfire", "fail"], ON),
        (["logfire", "attach", "fail"], {}),
        (["logfire", "attach", "fail"], ON),
    ],
    ids=str,
)
def test_logfire(receiver, ways, extra):
    """logfire's global proxy has a provider inside. It is a pydantic plug-in, too."""
    found, _ = run(receiver, traced(*ways), {**extra, "PYTHONPATH": providers_path("logfire")})
    check(receiver, found)


@pytest.mark.slow_after(1)
@pytest.mark.parametrize(
    ("ways", "extra"),
    [
        (["lens", "lens_fail"], ON),
        (["lens", "attach", "lens_fail"], {}),
        (["lens", "attach", "lens_fail"], ON),
        (["attach", "lens", "lens_fail"], {}),
    ],
    ids=str,
)
def test_nemo_lens(receiver, ways, extra):
    """nemo-lens keeps its own provider, and the failure is on its managed span."""
    path = providers_path("nemo")
    tried = subprocess.run(
        [sys.executable, "-c", "import nemo.lens"],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    if tried.returncode:
        pytest.skip(f"nemo-lens 0.1.0 is for Python 3.13; here: {tried.stderr.splitlines()[-1]}")
    found, _ = run(receiver, traced(*ways), {**extra, "PYTHONPATH": path})
    check(receiver, found)
    assert place(receiver) == "managed"


# --- servers


@contextlib.contextmanager
def served(receiver: Receiver, command: list[str], extra: dict[str, str]):
    """Run a server process. PORT in its command is replaced by a free port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [part.replace("PORT", str(port)) for part in command]
    process = subprocess.Popen(
        command,
        cwd=APPS,
        env=environment(receiver, extra),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        yield f"http://127.0.0.1:{port}/", process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        try:
            process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


def ask(url: str, process: subprocess.Popen) -> dict:
    """Wait until the server answers, and return its reply."""
    until = time.monotonic() + 60
    while True:
        try:
            with urllib.request.urlopen(url, timeout=30) as reply:
                return json.loads(reply.read())
        except OSError:
            if process.poll() is not None or time.monotonic() > until:
                raise AssertionError(process.communicate(timeout=5)[0]) from None
            time.sleep(0.1)


UVICORN = ["uvicorn", "served:asgi", "--port", "PORT", "--log-level", "warning"]
GUNICORN = ["gunicorn", "-b", "127.0.0.1:PORT"]
SERVERS = {
    "uvicorn": UVICORN,
    "uvicorn-workers": [*UVICORN, "--workers", "2"],
    "uvicorn-reload": [*UVICORN, "--reload"],
    "gunicorn": [*GUNICORN, "-w", "2", "served:wsgi"],
    "gunicorn-preload": [*GUNICORN, "-w", "2", "--preload", "served:wsgi"],
    "gunicorn-uvicorn-worker": [
        *GUNICORN,
        "-w",
        "2",
        "-k",
        "uvicorn.workers.UvicornWorker",
        "served:asgi",
    ],
}


@needs_servers
@pytest.mark.parametrize("command", SERVERS.values(), ids=SERVERS)
def test_servers_with_the_start_up_file(receiver, command):
    """Every worker has one processor, and each request's failure arrives once."""
    with served(receiver, command, ON) as (url, process):
        answers = [ask(url, process) for _ in range(6)]
    assert {answer["processors"] for answer in answers} == {1}
    assert len(receiver.failures()) == 6
    assert set(receiver.failures().values()) == {1}


@pytest.mark.slow_after(1)
@needs_servers
@needs_auto
@pytest.mark.parametrize("command", SERVERS.values(), ids=SERVERS)
def test_servers_under_the_command(receiver, command):
    """The same holds under `opentelemetry-instrument`."""
    with served(receiver, ["opentelemetry-instrument", *command], {}) as (url, process):
        answers = [ask(url, process) for _ in range(6)]
    assert {answer["processors"] for answer in answers} == {1}
    assert len(receiver.failures()) == 6
    assert set(receiver.failures().values()) == {1}
