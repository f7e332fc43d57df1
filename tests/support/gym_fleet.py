"""A real fleet of NeMo Gym servers on loopback, one process each, and collection in another.

Their spans go to a receiver.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from failgraph.readers import Trace, read
from otlp_server import Receiver

HERE = Path(__file__).parent / "gym"
CLONE = HERE.parents[2]
HOST = "127.0.0.1"
NONE: Mapping[str, str] = MappingProxyType({})


def overlay(folder: Path, gym: Path, *, before: str = "") -> Path:
    """Make a virtual environment with the packages of another and failgraph. Return its Python.

    Args:
        folder: Where to make it.
        gym: The environment with NeMo Gym.
        before: A folder in `gym` with an older release, which is used instead.
    """
    home = folder / "python"
    subprocess.run([gym / "bin" / "python", "-m", "venv", "--without-pip", home], check=True)
    site = next(home.glob("lib/python*/site-packages"))
    packages = next(gym.glob("lib/python*/site-packages"))
    first = [str(gym / before)] if before else []
    (site / "gym.pth").write_text("\n".join([*first, str(packages)]) + "\n")
    python = home / "bin" / "python"
    pip = [
        sys.executable,
        "-m",
        "pip",
        "--disable-pip-version-check",
        "--python",
        str(python),
        "install",
        "--quiet",
    ]
    made = subprocess.run(
        [*pip, "--no-deps", "--no-index", "--no-build-isolation", "--editable", str(CLONE)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    return python


def free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        free = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in free:
            each.bind((HOST, 0))
        return [each.getsockname()[1] for each in free]


def ref(kind: str, name: str) -> dict[str, str]:
    return {"type": kind, "name": name}


def configuration(ports: Mapping[str, int]) -> dict[str, Any]:
    """Return Gym's configuration of the fleet.

    It has an agent, two models, a resources server with a judge, a relay and an environment server.
    """

    def at(name: str, **more: Any) -> dict[str, Any]:
        return {"entrypoint": "app.py", "host": HOST, "port": ports[name], **more}

    def model(name: str) -> dict[str, Any]:
        url = f"http://{HOST}:{ports['upstream']}/v1"
        here = at(
            name,
            openai_base_url=url,
            openai_api_key="k",
            openai_model="stand-in",
            max_http_attempts=3,
        )
        return {"responses_api_models": {"openai_model": here}}

    judge, policy = (
        ref("responses_api_models", "judge_model"),
        ref("responses_api_models", "policy_model"),
    )
    rs, agent = ref("resources_servers", "rs"), ref("responses_api_agents", "agent")
    limits = {"cleanup_timeout_seconds": 2, "default_episode_timeout_seconds": 2}
    return {
        "head_server": {"host": HOST, "port": ports["head"]},
        "dry_run": False,
        "policy_model": model("policy_model"),
        "judge_model": model("judge_model"),
        "rs": {"resources_servers": {"rs": at("rs", domain="agent", judge_model_server=judge)}},
        "agent": {
            "responses_api_agents": {
                "agent": at("agent", max_steps=3, resources_server=rs, model_server=policy),
            }
        },
        "relay": {"environment_servers": {"legacy_agent": at("relay", agent_server=agent)}},
        "env": {"environment_servers": {"env": at("env", **limits)}},
    }


def with_turn(ports: Mapping[str, int]) -> dict[str, Any]:
    """Return the same with an environment server that runs an agent itself instead of the relay."""
    config = configuration(ports)
    del config["relay"]
    bound = {
        "resources_server": ref("resources_servers", "rs"),
        "agent_server": ref("responses_api_agents", "agent"),
        "cleanup_timeout_seconds": 2,
    }
    here = {"entrypoint": "app.py", "host": HOST, "port": ports["turn"], **bound}
    return {**config, "turn": {"environment_servers": {"single_agent_turn": here}}}


SERVERS = ("policy_model", "judge_model", "rs", "agent", "relay", "env")


class Fleet:
    """The servers of a fleet, each a process.

    Args:
        folder: Where logs and rows go.
        python: The interpreter, with NeMo Gym and failgraph.
        environ: Variables for each process besides Gym's own.
        instrument: Start them with the command `opentelemetry-instrument`.
    """

    def __init__(
        self, folder: Path, python: Path, environ: Mapping[str, str], *, instrument: bool = False
    ) -> None:
        self.folder = folder
        run = "from opentelemetry.instrumentation.auto_instrumentation import run; run()"
        self.command = [python, "-c", run, python] if instrument else [python]
        self.receiver = Receiver()
        names = ("upstream", "head", *SERVERS, "turn", "nobody")
        self.ports = dict(zip(names, free_ports(len(names)), strict=True))
        self._given = dict(environ)
        self.processes: dict[str, subprocess.Popen] = {}

    def environ(self, name: str, config: Mapping[str, Any] | None = None) -> dict[str, str]:
        """Return the environment of one process."""
        foreign = ("OTEL_", "FAILGRAPH_", "NEMO_", "PYTHONPATH", "RAY_", "VIRTUAL_ENV")
        return {
            **{key: value for key, value in os.environ.items() if not key.startswith(foreign)},
            "NEMO_GYM_CONFIG_DICT": json.dumps(config or configuration(self.ports)),
            "NEMO_GYM_CONFIG_PATH": name,
            "OTEL_SERVICE_NAME": name,
            "OTEL_EXPORTER_OTLP_ENDPOINT": self.receiver.endpoint,
            "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
            "OTEL_BSP_SCHEDULE_DELAY": "100",
            "PYTHONWARNINGS": "ignore",
            "PYTHONUNBUFFERED": "1",
            **self._given,
        }

    def restart(self, name: str, config: Mapping[str, Any] | None = None, **environ: str) -> None:
        """Kill a server if it runs, and start it with another configuration or environment."""
        if name in self.processes:
            self.processes[name].kill()
            self.processes[name].wait()
        self.start(name, config=config, environ=environ)

    def start(
        self,
        *names: str,
        config: Mapping[str, Any] | None = None,
        environ: Mapping[str, str] = NONE,
    ) -> None:
        """Start servers and wait until all of them answer."""
        for name in names:
            script = (
                [HERE / "upstream.py", str(self.ports[name])]
                if name == "upstream"
                else [HERE / "servers.py", name]
            )
            with (self.folder / f"{name}.log").open("a") as log:
                self.processes[name] = subprocess.Popen(
                    [*self.command, *script],
                    cwd=self.folder,
                    env={**self.environ(name, config), **environ},
                    stdout=log,
                    stderr=log,
                )
        until = time.monotonic() + 120
        for name in names:
            while not self._answers(name):
                log_end = (self.folder / f"{name}.log").read_text()[-3000:]
                assert self.processes[name].poll() is None, log_end
                assert time.monotonic() < until, log_end
                time.sleep(0.1)

    def _answers(self, name: str) -> bool:
        try:
            if name == "upstream":
                socket.create_connection((HOST, self.ports[name]), 1).close()
            else:
                urllib.request.urlopen(f"http://{HOST}:{self.ports[name]}/health", timeout=5).read()
        except OSError:
            return False
        return True

    def collect(
        self, name: str, rows: list[dict], config: Mapping[str, Any] | None = None, **options: Any
    ) -> list[dict]:
        """Collect `rows` in a process of its own. Return the saved rows, good and failed.

        Args:
            name: Name of the files.
            rows: What to collect.
            config: Another configuration.
            options: See `gym/collect.py`.
        """
        rows_in, rows_out = self.folder / f"{name}-in.jsonl", self.folder / f"{name}.jsonl"
        rows_in.write_text("".join(json.dumps(row) + "\n" for row in rows))
        arguments = json.dumps(
            {
                "input": str(rows_in),
                "output": str(rows_out),
                "routes": {"env": "env", "turn": "turn"},
                **options,
            }
        )
        done = subprocess.run(
            [*self.command, HERE / "servers.py", "collect", arguments],
            cwd=self.folder,
            env=self.environ("collector", config),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        self.output = done.stdout + done.stderr
        assert done.returncode == 0, self.output[-5000:]
        files = (rows_out, rows_out.with_name(f"{name}_failures.jsonl"))
        return [
            json.loads(line)
            for file in files
            if file.exists()
            for line in file.read_text().splitlines()
        ]

    def traces(self) -> list[Trace]:
        """Wait until no more spans arrive. Return the failure graphs of all that did."""
        quiet, known = 0, -1
        while quiet < 4:
            time.sleep(0.15)
            arrived = len(self.receiver.bodies)
            quiet = quiet + 1 if arrived == known else 0
            known = arrived
        path = self.folder / "spans.pb"
        # Protobuf messages one after the other are one message.
        path.write_bytes(self.receiver.text())
        return list(read(str(path)).traces) if self.receiver.bodies else []

    def stop(self) -> None:
        for process in self.processes.values():
            process.send_signal(signal.SIGTERM)
        for process in self.processes.values():
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(10)
            process.kill()
            process.wait()


@contextlib.contextmanager
def running(
    folder: Path,
    python: Path,
    environ: Mapping[str, str],
    names: tuple[str, ...] = SERVERS,
    *,
    instrument: bool = False,
) -> Iterator[Fleet]:
    """Run a fleet with its upstream, and stop it afterwards. See `Fleet` for the arguments."""
    fleet = Fleet(folder, python, environ, instrument=instrument)
    with fleet.receiver:
        try:
            fleet.start("upstream", *names)
            yield fleet
        finally:
            fleet.stop()


def agent_row(text: str = "hello", **more: Any) -> dict[str, Any]:
    """Return a row that goes through the relay to the agent."""
    return {
        "responses_create_params": {"input": [{"role": "user", "content": text}]},
        "agent_ref": {"type": "responses_api_agents", "name": "agent"},
        **more,
    }


def env_row(task: str, **given: Any) -> dict[str, Any]:
    """Return a row that goes to the environment server."""
    return {"task_id": {"taskset": "env", "task_id": task}, "task_input": given}
