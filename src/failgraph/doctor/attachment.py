"""Whether failgraph would attach itself, by which way, and to what of what is installed here."""

from __future__ import annotations

import importlib
import os
import site
import sysconfig
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, entry_points, packages_distributions, version
from importlib.util import find_spec

from failgraph.doctor.check import CheckResult
from failgraph.instrumentation import hooks
from failgraph.instrumentation.attach import attach, detach
from failgraph.redaction.display import display
from failgraph.settings import Settings
from failgraph.settings.names import ENABLED

PART = "attachment"
_START_UP_FILE = "failgraph.pth"
_EXCLUDED = "OTEL_PYTHON_DISABLED_INSTRUMENTATIONS"


def check_attachment(settings: Settings, environ: Mapping[str, str]) -> Iterator[CheckResult]:
    """The ways in, then each package that has hooks, with what of it could not be hooked."""
    yield _check_enabling(settings, environ.get(_EXCLUDED, ""))
    yield _check_start_up_file()
    if not list(entry_points(group="opentelemetry_instrumentor", name="failgraph")):
        yield CheckResult(
            PART,
            "problem",
            "no entry point: opentelemetry-instrument does not see failgraph; install it here",
        )
    if settings.enabled is not False:
        yield from _check_packages()


def _check_enabling(settings: Settings, excluded: str) -> CheckResult:
    if settings.enabled is False:
        return CheckResult(
            PART, "problem", f"{ENABLED}=false: nothing is attached and nothing recorded"
        )
    if settings.enabled:
        return CheckResult(
            PART,
            "ok",
            f"{ENABLED}=true: every Python process with this environment attaches itself",
        )
    if not {"failgraph", "*"}.isdisjoint(name.strip() for name in excluded.split(",")):
        text = f"{ENABLED} is unset, and {_EXCLUDED} leaves failgraph out: attached under failgraph run only"
        return CheckResult(PART, "problem", text)
    return CheckResult(
        PART,
        "ok",
        f"{ENABLED} is unset: attached under opentelemetry-instrument and failgraph run only",
    )


def _check_start_up_file() -> CheckResult:
    folders = {sysconfig.get_path("purelib"), *site.getsitepackages()}
    if site.ENABLE_USER_SITE:  # not in most virtual environments
        folders.add(site.getusersitepackages())
    if any(os.path.exists(os.path.join(folder, _START_UP_FILE)) for folder in folders):
        return CheckResult(
            PART, "ok", f"start-up file: {_START_UP_FILE} is where this Python looks for it"
        )
    text = f"no {_START_UP_FILE} where this Python looks for it: {ENABLED}=true alone does nothing here; pip install it"
    return CheckResult(PART, "problem", text)


def _check_packages() -> Iterator[CheckResult]:
    """Attach as a program would, load what is installed, and see what took."""
    installed = packages_distributions()
    by_package: dict[str, list[str]] = {}
    for module in hooks.TARGETS:
        by_package.setdefault(_package(module), []).append(module)
    attach("doctor", include_global=False)
    try:
        for package, modules in by_package.items():
            if find_spec(package.split(".")[0]) is None:
                yield CheckResult(PART, "ok", f"{package} is not installed")
                continue
            for module in modules:
                problem = _load_problem(module)
                if problem is not None:
                    yield CheckResult(PART, "note", problem)
            yield CheckResult(PART, "ok", _installed_as(package, installed.get(package, [])))
        for missing, why in hooks.missing().items():
            yield CheckResult(
                PART, "problem", display(f"{missing} cannot be hooked ({why}); the rest works")
            )
    finally:
        detach()


def _installed_as(package: str, distributions: Sequence[str]) -> str:
    """What a package is installed as, with its version; a namespace is of many, so that the name has to do."""
    for name in (package.replace(".", "-"), *distributions):
        with suppress(PackageNotFoundError):
            return f"{name} {version(name)}"
    return package


def _package(module: str) -> str:
    parts = module.split(".")
    return ".".join(parts[:2]) if parts[0] == "opentelemetry" else parts[0]


def _load_problem(module: str) -> str | None:
    """Load a module; what is wrong with it where that cannot be done."""
    try:
        importlib.import_module(module)
    except ModuleNotFoundError:
        return None  # of another version, which has no such part
    except Exception as error:  # noqa: BLE001 - a package may raise anything while it is loaded
        return display(f"{module} cannot be imported: {type(error).__name__}: {error}")
    return None
