"""Enabled by an environment variable, in real processes of every kind that people run: attached once, exported once."""

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
    """Run a program to its end; what it printed as JSON, and its standard error."""
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
    """One processor; each failure arrived once, and the secret in its reason nowhere."""
    assert found["processors"] == 1
    assert "internal_error" not in found["stats"], found
    arrived = receiver.failures()
    assert len(arrived) == failures
    assert set(arrived.values()) == {1}
    assert b"4f9aB27cQ1xZ8mLk" not in receiver.text()
    assert b"[redacted:api_key]" in receiver.text()


def place(receiver: Receiver) -> str:
    """The name of the span that holds the failure."""
    return next(
        span.name
        for span in receiver.spans()
        if any(e.name == "nemo.gym.failure" for e in span.events)
    )


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
    """Whatever the program sets, and however: the provider has one processor, the failure is on the inner span."""
    if "uninstrument" in ways and not has("opentelemetry.instrumentation"):
        pytest.skip("needs opentelemetry-instrumentation, which this set lacks")
    found, _ = run(receiver, traced(*ways), ON)
    check(receiver, found)
    assert place(receiver) == "inner"


@pytest.mark.parametrize(
    "ways", [["own", "attach", "fail"], ["own", "attach", "attach", "fail"]], ids="-".join
)
def test_a_provider_that_was_set_before_is_looked_for(receiver, ways):
    """Attached late, without a start-up file: one look at the global provider."""
    found, _ = run(receiver, traced(*ways), {})
    check(receiver, found)


def test_an_instrumentor_that_is_called_after_the_provider_was_set(receiver):
    """`FailgraphInstrumentor().instrument()` in code, by the program itself."""
    pytest.importorskip(
        "opentelemetry.instrumentation", reason="needs opentelemetry-instrumentation"
    )
    found, _ = run(receiver, traced("own", "instrument", "fail"), {})
    check(receiver, found)


def test_off_by_default(receiver):
    """Without a variable nothing of failgraph is loaded, and the failure is not recorded by itself."""
    found, _ = run(receiver, traced("own"), {})
    assert found["loaded"] == []
    run(receiver, traced("own", "fail"), {})
    assert len(receiver.spans()) == 2
    assert not receiver.failures()


@pytest.mark.parametrize(
    "extra", [{"FAILGRAPH_ENABLED": "false"}, {"FAILGRAPH_ENABLED": " False "}]
)
def test_off_where_it_is_turned_off(receiver, extra):
    """`false` loads nothing either."""
    found, _ = run(receiver, traced("own"), extra)
    assert found["loaded"] == []


def test_a_value_that_is_no_switch_is_named(receiver):
    """`FAILGRAPH_ENABLED=1` does not silently do nothing."""
    _, stderr = run(receiver, traced("own"), {"FAILGRAPH_ENABLED": "1"})
    assert stderr.count("FAILGRAPH_ENABLED must be true or false, not '1'") == 1


def test_a_program_without_opentelemetry_loads_next_to_nothing(receiver):
    """Enabled, but nobody traces: the package's own face and the start-up modules, of the standard library alone."""
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


def test_a_no_op_provider_takes_nothing_and_breaks_nothing(receiver):
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
    """The proxy provider stands for one that nobody sets."""
    found, _ = run(receiver, traced("sdk", "attach", "fail"), ON)
    assert found["processors"] == 0
    assert "internal_error" not in found["stats"]


def test_the_sdk_disabled(receiver):
    """`OTEL_SDK_DISABLED=true`: spans that record nothing, and a program that runs as ever."""
    found, _ = run(receiver, traced("own", "fail"), {**ON, "OTEL_SDK_DISABLED": "true"})
    assert found["processors"] == 1
    assert not receiver.spans()
    assert "internal_error" not in found["stats"]


def test_the_sdk_not_importable(receiver, tmp_path):
    """A broken installation of the SDK is the program's to find out, not ours to fall over."""
    (tmp_path / "usercustomize.py").write_text("")
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\nsys.modules['opentelemetry.sdk'] = None\n"
    )
    path = f"{tmp_path}{os.pathsep}{APPS}"
    found, _ = run(receiver, traced("fail"), {**ON, "PYTHONPATH": path})
    assert "internal_error" not in found["stats"]
    assert found["processors"] == 0


def test_a_failure_of_ours_while_attaching_stops_nobody(receiver, tmp_path):
    """With a pydantic that cannot be imported, the program traces as ever, and one line says why we do not."""
    (tmp_path / "pydantic.py").write_text("raise RuntimeError('a broken pydantic')\n")
    path = f"{tmp_path}{os.pathsep}{APPS}"
    _, stderr = run(receiver, traced("own"), {**ON, "PYTHONPATH": path})
    assert stderr.count("attaching failed (RuntimeError)") == 1


@needs_auto
def test_opentelemetry_instrument(receiver):
    """The usual command: attached without a variable of ours, by the entry point."""
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
def test_opentelemetry_instrument_without_us(receiver, extra):
    """Both ways of turning it off under the usual command: the spans come, our failures do not."""
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
    ],
    ids=str,
)
def test_programmatic_auto_instrumentation(receiver, ways, extra):
    """`initialize()` called by the program, by us, by both."""
    found, _ = run(receiver, traced(*ways), extra)
    check(receiver, found)


@pytest.mark.slow
@needs_auto
def test_auto_instrumentation_from_a_sitecustomize_of_the_users(receiver, tmp_path):
    """Where no start-up file is processed, as on `PYTHONPATH`, `start()` is called from there, and starts it too."""
    late = "FAILGRAPH_ENABLED='true', FAILGRAPH_AUTO_INSTRUMENT='true'"  # so that the start-up file does nothing
    script = f"import os\nos.environ.update({late})\nfrom failgraph.instrumentation.startup import start\nstart()\n"
    (tmp_path / "sitecustomize.py").write_text(script)
    found, _ = run(receiver, traced("fail"), {"PYTHONPATH": f"{tmp_path}{os.pathsep}{APPS}"})
    check(receiver, found)


@pytest.mark.slow_after(1)
@needs_auto
@pytest.mark.parametrize("auto", [{}, {"FAILGRAPH_AUTO_INSTRUMENT": "true"}], ids=str)
def test_start_up_file_and_command_together(receiver, auto):
    """Two ways at once are one: one processor, and no word of it."""
    found, stderr = run(receiver, ["opentelemetry-instrument", *traced("fail")], {**ON, **auto})
    check(receiver, found)
    assert not stderr


@pytest.mark.slow_after(1)
@needs_auto
@pytest.mark.parametrize("extra", [{}, ON], ids=str)
def test_a_provider_of_the_programs_own_after_the_command(receiver, extra):
    """The second provider is refused by OpenTelemetry; failures arrive once, through the first."""
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
      placement: failure_span
"""


@pytest.mark.slow_after(1)
@needs_auto
@needs_config
@pytest.mark.parametrize(
    ("extra", "placed"),
    [
        ({}, "nemo.gym.failure"),
        (ON, "nemo.gym.failure"),
        ({"FAILGRAPH_PLACEMENT": "span"}, "inner"),
    ],
    ids=str,
)
def test_a_declarative_configuration_file(receiver, tmp_path, extra, placed):
    """Its options are our settings; the environment wins over them."""
    config = tmp_path / "otel.yaml"
    config.write_text(CONFIG.replace("ENDPOINT", receiver.endpoint))
    command = ["opentelemetry-instrument", *traced("fail")]
    found, _ = run(receiver, command, {"OTEL_CONFIG_FILE": str(config), **extra})
    check(receiver, found)
    assert place(receiver) == placed


@needs_auto
def test_other_instrumentors_are_untouched_when_ours_cannot_be_loaded(receiver, tmp_path):
    """Instrumentors before and after ours are loaded, whatever is broken in what we need."""
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
    others = "fastapi,asgi,httpx,requests,aiohttp-client"  # these need pydantic, or what needs it
    extra = {"PYTHONPATH": path, "OTEL_PYTHON_DISABLED_INSTRUMENTATIONS": others}
    _, stderr = run(receiver, ["opentelemetry-instrument", *traced("sdk")], extra)
    assert "a_probe instrumented" in stderr
    assert "zz_probe instrumented" in stderr
    assert stderr.count("attaching failed (RuntimeError)") == 1


def test_auto_instrumentation_that_is_not_installed_is_one_line(receiver, tmp_path):
    """The program runs, failgraph is attached, and the line says what to install."""
    (tmp_path / "sitecustomize.py").write_text("")
    blocker = "import sys\nsys.modules['opentelemetry.instrumentation'] = None\n"
    (tmp_path / "block.py").write_text(blocker)
    # Ahead of `sitecustomize` there is only the interpreter itself: the block goes in with `-X` nothing but a .pth can.
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
    """Children that fork inherit it, those that start anew start it anew: two processes, two failures, each once."""
    found, _ = run(receiver, traced("own", "fail", way), ON)
    # A child that starts anew imports the program without running it: the provider is of the parent's making there.
    check(receiver, found, failures=2 if way == "fork" else 1)


@pytest.mark.slow_after(1)
@needs_auto
@pytest.mark.parametrize("way", ["fork", "spawn", "forkserver"])
def test_child_processes_under_the_command(receiver, way):
    """Children that start anew get auto-instrumentation anew, and us with it."""
    found, _ = run(receiver, ["opentelemetry-instrument", *traced("fail", way)], {})
    check(receiver, found, failures=2)


@pytest.fixture(scope="module")
def wheel_python(tmp_path_factory) -> Path:
    """The interpreter of an environment in which failgraph is installed from its wheel; all else comes from ours."""
    pytest.importorskip("hatchling", reason="building the wheel needs hatchling")
    folder = tmp_path_factory.mktemp("wheel")
    root = Path(__file__).parents[2]
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
    """The start-up file of the wheel; the editable one is what all other tests here run."""
    script = "import failgraph, sys; sys.exit(not failgraph.__file__.startswith(sys.prefix))"
    assert subprocess.run([str(wheel_python), "-c", script], check=False).returncode == 0
    found, _ = run(receiver, [str(wheel_python), "traced.py", "own", "fail"], ON)
    check(receiver, found)


@pytest.mark.slow
@needs_auto
def test_a_wheel_install_under_the_command(receiver, wheel_python):
    """The entry point of the wheel, with the start-up file and without it."""
    script = "from opentelemetry.instrumentation.auto_instrumentation import run; run()"
    for extra in ({}, ON):
        command = [str(wheel_python), "-c", script, str(wheel_python), "traced.py", "fail"]
        found, _ = run(receiver, command, extra)
        assert found["processors"] == 1
    assert len(receiver.failures()) == 2
    assert set(receiver.failures().values()) == {1}


def test_run_enables_one_command(receiver):
    """`failgraph run -- COMMAND` is the variable set for one program; its output and exit code are the program's."""
    found, _ = run(receiver, ["failgraph", "run", "--", *traced("own", "fail")], {})
    check(receiver, found)
    done = subprocess.run(
        ["failgraph", "run", "--", sys.executable, "-c", "raise SystemExit(7)"],
        env=environment(receiver, {}),
    )
    assert done.returncode == 7


def providers_path(package: str) -> str:
    """A PYTHONPATH with the packages that have a folder of their own; skips where they are not there."""
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
    """A global proxy with a provider inside, made before us and after us; it is a plug-in of pydantic's, too."""
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
    """The real nemo-lens, before and after us; its own provider stays its own, the failure is on its managed span."""
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
    """A server process, ready to answer on the port that is put for PORT."""
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
    """One answer, as soon as the server gives one."""
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
    """In every worker, however it is made, one processor; each request's failure arrives once."""
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
    """The same under `opentelemetry-instrument`."""
    with served(receiver, ["opentelemetry-instrument", *command], {}) as (url, process):
        answers = [ask(url, process) for _ in range(6)]
    assert {answer["processors"] for answer in answers} == {1}
    assert len(receiver.failures()) == 6
    assert set(receiver.failures().values()) == {1}
