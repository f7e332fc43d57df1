"""`docker-compose.yml`, as Compose's own loader reads it. No container is started and no image pulled here."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from real_programs import require
from shipped import CONFIG

pytestmark = pytest.mark.needs("compose", "collector")

COMPOSE = CONFIG.parent / "docker-compose.yml"
MOUNT = "/etc/failgraph"
ALL = ("tempo", "metrics")


def loaded(*profiles: str, **env: str) -> dict[str, Any]:
    """What Compose makes of the file under these profiles, with nothing in the environment but what is given."""
    command = [str(require("compose")), str(COMPOSE), *profiles]
    ran = subprocess.run(
        command, env={"PATH": os.environ["PATH"], **env}, capture_output=True, text=True
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    return json.loads(ran.stdout)


def mounted(service: dict[str, Any], path: str) -> Path:
    """The file of the clone that stands at a path in the container."""
    for volume in service["volumes"]:
        if volume["type"] == "bind" and (
            path == volume["target"] or path.startswith(volume["target"] + "/")
        ):
            return Path(volume["source"] + path[len(volume["target"]) :])
    raise AssertionError(f"nothing is mounted at {path}")


def configs(service: dict[str, Any]) -> list[str]:
    """The configuration files that a service's command names."""
    return [
        word.split("=", 1)[1]
        for word in service["command"]
        if re.match(r"--?config(\.file)?=", word)
    ]


@pytest.mark.parametrize(
    ("profiles", "services"),
    [
        ((), {"collector", "jaeger"}),
        (("tempo",), {"collector", "jaeger", "tempo", "grafana"}),
        (("metrics",), {"collector", "jaeger", "prometheus"}),
        (ALL, {"collector", "jaeger", "tempo", "grafana", "prometheus"}),
    ],
)
def test_the_profiles_have_the_services_that_they_say(profiles, services):
    """Collector and Jaeger always; Tempo with Grafana, and Prometheus, where asked for. No `.env` is needed."""
    assert not (CONFIG.parent / ".env").exists()
    assert set(loaded(*profiles, TEMPO="tempo")["services"]) == services


def test_what_can_be_reached_can_be_reached_from_this_machine_alone():
    """Each port is on loopback and taken once; OTLP is the Collector's alone."""
    services = loaded(*ALL)["services"]
    ports = [
        (name, port) for name, service in services.items() for port in service.get("ports", ())
    ]
    assert {port["host_ip"] for _, port in ports} == {"127.0.0.1"}
    taken = {int(port["published"]): name for name, port in ports}
    assert len(taken) == len(ports)
    assert taken == {
        **dict.fromkeys((4317, 4318, 13133), "collector"),
        16686: "jaeger",
        3200: "tempo",
        3000: "grafana",
        9090: "prometheus",
    }
    assert all(int(port["published"]) == port["target"] for _, port in ports)


def test_images_are_pinned_and_state_is_in_volumes():
    """A tag that does not move; each service writes into a volume of its own, which outlives it, and nowhere else."""
    project = loaded(*ALL)
    kept = []
    for service in project["services"].values():
        assert re.search(r":v?\d+\.\d+\.\d+$", service["image"])
        for volume in service["volumes"]:
            assert volume["type"] == "volume" or volume["read_only"]
            kept += [volume["source"]] if volume["type"] == "volume" else []
    assert sorted(kept) == sorted(project["volumes"])
    assert len(kept) == len(project["services"])


def test_who_can_be_asked_for_its_health_is():
    """All but the Collector, whose image holds nothing to ask with: its health is a port on this machine."""
    services = loaded(*ALL)["services"]
    assert {name for name, service in services.items() if "healthcheck" not in service} == {
        "collector"
    }


def test_every_file_that_is_named_is_there():
    """Each configuration that a command names, each file that is mounted, and what they name in turn."""
    services = loaded(*ALL, TEMPO="tempo")["services"]
    for name in ("collector", "jaeger", "tempo", "prometheus"):
        assert configs(services[name])
        for path in configs(services[name]):
            assert mounted(services[name], path).is_file(), path
    for service in services.values():
        for volume in service["volumes"]:
            assert volume["type"] == "volume" or Path(volume["source"]).exists()
    named = re.findall(
        rf"{MOUNT}/[\w./-]+", "".join(path.read_text() for path in CONFIG.rglob("*.yaml"))
    )
    assert set(named) >= {f"{MOUNT}/jaeger-ui.json", f"{MOUNT}/grafana/dashboards"}
    home = services["grafana"]["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
    for path in (*named, home):
        assert mounted(services["grafana"], path).exists()


def test_tempo_is_fed_or_does_not_start():
    """With TEMPO=tempo the Collector sends to it; without, Tempo's command names a file that says what is missing."""
    fed, unfed = loaded("tempo", TEMPO="tempo")["services"], loaded("tempo")["services"]
    assert f"{MOUNT}/collector-tempo.yaml" in configs(fed["collector"])
    assert f"{MOUNT}/collector-tempo.yaml" not in configs(unfed["collector"])
    (path,) = configs(unfed["tempo"])
    assert "TEMPO=tempo" in path
    assert not mounted(unfed["tempo"], path).exists()


@pytest.mark.parametrize(
    "optional", [False, True], ids=["as it is", "with the lines that are comments"]
)
@pytest.mark.parametrize("env", [{}, {"TEMPO": "tempo"}], ids=["Jaeger", "Tempo too"])
def test_the_collector_takes_its_files_as_they_are_merged(env, optional, tmp_path):
    """The real Collector finds nothing wrong with what its command names, in that order, and may name."""
    service = loaded(**env)["services"]["collector"]
    more = re.findall(r"# - --config=(\S+)", COMPOSE.read_text())
    assert len(more) == 2
    files = [
        f"--config={mounted(service, path)}"
        for path in (*configs(service), *(more if optional else ()))
    ]
    command = [str(require("collector")), "validate", *files]
    ran = subprocess.run(command, env={"QUEUE_DIR": str(tmp_path)}, capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, "")
