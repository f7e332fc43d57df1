"""The wheel holds the package, its types and its licence, and nothing else."""

from __future__ import annotations

import pkgutil
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("hatchling", reason="building the wheel needs hatchling")
pytestmark = pytest.mark.once

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> zipfile.ZipFile:
    """The wheel, built from this checkout."""
    folder = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    return zipfile.ZipFile(next(folder.glob("*.whl")))


def test_the_wheel_holds_every_module_and_the_type_marker(wheel):
    """Each module of the source, and `py.typed`, by which a type checker believes our types."""
    source = ROOT / "src"
    kinds = (".py", ".typed", ".pth", ".start")
    files = {str(path.relative_to(source)) for path in source.rglob("*") if path.suffix in kinds}
    held = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert held == files
    assert "failgraph/py.typed" in held


def test_the_start_up_file_is_one_guarded_import(wheel):
    """`site` runs the line in every interpreter: it loads nothing unless a variable turns it on."""
    (line,) = wheel.read("failgraph.pth").decode().splitlines()
    assert line.startswith("import ")
    for environ in (
        {},
        {"FAILGRAPH_ENABLED": "", "FAILGRAPH_AUTO_INSTRUMENT": " "},
        {"FAILGRAPH_ENABLED": "false", "FAILGRAPH_AUTO_INSTRUMENT": "true"},
        {"FAILGRAPH_ENABLED": "0"},
        {"FAILGRAPH_AUTO_INSTRUMENT": "No"},
    ):
        script = f"{line}\nimport sys; print([n for n in sys.modules if n.startswith('failgraph')])"
        done = subprocess.run(
            [sys.executable, "-c", script], env=environ, capture_output=True, text=True, check=True
        )
        assert done.stdout == "[]\n"


def test_the_start_file_of_python_3_15_has_the_right_form_only(wheel):
    """The file has PEP 829's form, the same base name and a callable that exists."""
    lines = wheel.read("failgraph.start").decode().splitlines()
    entries = [line for line in lines if line and not line.startswith("#")]
    assert [re.fullmatch(r"[\w.]+:[\w.]+", entry) is not None for entry in entries] == [True]
    assert callable(pkgutil.resolve_name(entries[0]))


def test_the_base_dependencies_are_the_users_four_packages(wheel):
    """Nothing else is installed without an extra; the extras are `cli`, `auto` and `demo`."""
    name = next(name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    metadata = wheel.read(name).decode()
    required = [
        line.split(": ", 1)[1]
        for line in metadata.splitlines()
        if line.startswith("Requires-Dist: ")
    ]
    base = {line.split("<")[0].split(">")[0] for line in required if "extra ==" not in line}
    assert base == {"opentelemetry-sdk", "opentelemetry-exporter-otlp", "pydantic", "wrapt"}
    extras = {
        line.split(": ", 1)[1]
        for line in metadata.splitlines()
        if line.startswith("Provides-Extra: ")
    }
    assert extras == {"cli", "auto", "demo"}
    assert any(name.endswith("licenses/LICENSE") for name in wheel.namelist())


def test_the_wheel_works_without_the_source(wheel, tmp_path):
    """Unpacked elsewhere, it imports and its command answers."""
    wheel.extractall(tmp_path)
    script = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r});"
        " import failgraph; print(failgraph.__file__)"
    )
    found = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert found.stdout.startswith(str(tmp_path))
    shown = subprocess.run(
        [sys.executable, "-m", "failgraph", "--help"],
        capture_output=True, text=True, cwd=tmp_path, env={"PYTHONPATH": str(tmp_path)},
    )  # fmt: skip
    assert shown.returncode == 0
    assert "exit codes" in shown.stdout


@pytest.mark.once
def test_the_source_distribution_holds_the_documentation(tmp_path):
    """The README of the package index links to docs/, and people build from what they download."""
    if not (ROOT / "docs").is_dir():
        pytest.skip("the tests of the wheel have no source beside them")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    with tarfile.open(next(tmp_path.glob("*.tar.gz"))) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    pages = {str(path.relative_to(ROOT)) for path in (ROOT / "docs").iterdir()}
    assert held >= pages | {"README.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE", "Makefile"}
