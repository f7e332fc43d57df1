"""`docker-compose.yml` as Compose's own loader reads it; no container is started."""

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
    """Return what Compose makes of the file with these profiles and this environment only."""
    command = [str(require("compose")), str(COMPOSE), *profiles]
    ran = subprocess.run(
        command, env={"PATH": os.environ["PATH"], **env}, capture_output=True, text=True
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    return json.loads(ran.stdout)


def mounted(service: dict[str, Any], path: str) -> Path:
    """Return the file of the clone that is mounted at a path of the container."""
    for volume in service["volumes"]:
        if volume["type"] == "bind" and (
            path == volume["target"] or path.startswith(volume["target"] + "/")
        ):
            return Path(volume["source"] + path[len(volume["target"]) :])
    raise AssertionError(f"nothing is mounted at {path}")


def configs(service: dict[str, Any]) -> list[str]:
    """Return the configuration files that a service's command names."""
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
def test_the_services_of_each_profile(profiles, services):
    """Always Collector and Jaeger; on request Tempo with Grafana, and Prometheus. No `.env`."""
    assert not (CONFIG.parent / ".env").exists()
    assert set(loaded(*profiles, TEMPO="tempo")["services"]) == services


def test_ports_are_on_loopback():
    """Each is used once, and only the Collector has those of OTLP."""
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
    """Tags do not move; each service writes only into its own volume, which outlives it."""
    project = loaded(*ALL)
    kept = []
    for service in project["services"].values():
        assert re.search(r":v?\d+\.\d+\.\d+$", service["image"])
        for volume in service["volumes"]:
            assert volume["type"] == "volume" or volume["read_only"]
            kept += [volume["source"]] if volume["type"] == "volume" else []
    assert sorted(kept) == sorted(project["volumes"])
    assert len(kept) == len(project["services"])


def test_health_checks():
    """All but the Collector have one; its image lacks a client, so its port is published."""
    services = loaded(*ALL)["services"]
    assert {name for name, service in services.items() if "healthcheck" not in service} == {
        "collector"
    }


def test_every_named_file_exists():
    """Configurations in commands, mounted files, and the files that they name."""
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


def test_tempo_does_not_start_without_data():
    """With TEMPO=tempo the Collector sends to it; else its command names a file that explains."""
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
def test_the_collector_accepts_its_merged_files(env, optional, tmp_path):
    """The real Collector validates the files that its command names, and the optional ones."""
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
