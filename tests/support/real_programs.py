"""Find the programs beside Python that some tests need, such as a real Jaeger.

A test names them in the marker `needs`. conftest.py skips the test if one is missing, but fails it
in CI, which gets all of them first.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from pathlib import Path

SUPPORT = Path(__file__).parent
HOW_TO_GET = {
    "jaeger": "make backends",
    "collector": "make backends",
    "compose": "make backends",
    "gym": "make gym",
    "nginx": "apt-get install nginx-light",
    "prometheus": "apt-get install prometheus",
    "promtool": "apt-get install prometheus",
    "openssl": "apt-get install openssl",
}


@functools.cache
def find(name: str) -> Path | None:
    """Return the path of a program, or None if this machine does not have it.

    Of `gym` the path is that of a virtual environment.
    """
    if name == "gym":
        environment = _built("gym")
        return environment if environment and (environment / "made").exists() else None
    if HOW_TO_GET[name] == "make backends":
        binary = _built("backends", name)
        return binary if binary and binary.exists() else None
    path = f"{os.environ.get('PATH', '')}:/usr/sbin"  # nginx is there, and a user's PATH lacks it
    found = shutil.which(name, path=path)
    return Path(found) if found else None


def require(name: str) -> Path:
    """Return the path of a program that the test's marker `needs` names."""
    found = find(name)
    assert found is not None, f"{name} is missing: {HOW_TO_GET[name]}"
    return found


def _built(folder: str, *names: str) -> Path | None:
    """Return where a build script of ours puts its result, or None if it cannot run here."""
    command = [SUPPORT / folder / "build", "--where", *names]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    return Path(ran.stdout.strip()) if ran.returncode == 0 else None
