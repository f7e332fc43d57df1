"""Check how failgraph is attached, and to which of the installed packages."""

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
from failgraph.settings.names import AUTO_INSTRUMENT, ENABLED

PART = "attachment"
_START_UP_FILE = "failgraph.pth"
_AUTO_INSTRUMENTATION = "opentelemetry.instrumentation.auto_instrumentation"
_EXCLUDED = "OTEL_PYTHON_DISABLED_INSTRUMENTATIONS"


def check_attachment(settings: Settings, environ: Mapping[str, str]) -> Iterator[CheckResult]:
    """Check each way to attach, then each package that failgraph hooks."""
    yield _check_enabling(settings, environ.get(_EXCLUDED, ""))
    yield _check_start_up_file()
    if settings.auto_instrument and settings.enabled is not False:
        yield from _check_auto_instrumentation()
    if not list(entry_points(group="opentelemetry_instrumentor", name="failgraph")):
        text = (
            "opentelemetry-instrument cannot find failgraph: no entry point."
            " Install failgraph in this environment."
        )
        yield CheckResult(PART, "problem", text)
    if settings.enabled is not False:
        yield from _check_packages()


def _check_enabling(settings: Settings, excluded: str) -> CheckResult:
    if settings.enabled is False:
        return CheckResult(
            PART, "problem", f"{ENABLED}=false: failgraph is off, nothing is recorded"
        )
    if settings.enabled:
        text = f"{ENABLED}=true: attached in every Python process with this environment"
        return CheckResult(PART, "ok", text)
    if not {"failgraph", "*"}.isdisjoint(name.strip() for name in excluded.split(",")):
        text = (
            f"{ENABLED} is unset and {_EXCLUDED} excludes failgraph:"
            f" attached only under failgraph run. Set {ENABLED}=true."
        )
        return CheckResult(PART, "problem", text)
    text = f"{ENABLED} is unset: attached only under opentelemetry-instrument and failgraph run"
    return CheckResult(PART, "ok", text)


def _check_start_up_file() -> CheckResult:
    folders = {sysconfig.get_path("purelib"), *site.getsitepackages()}
    if site.ENABLE_USER_SITE:  # False in most virtual environments
        folders.add(site.getusersitepackages())
    if any(os.path.exists(os.path.join(folder, _START_UP_FILE)) for folder in folders):
        return CheckResult(PART, "ok", f"the start-up file {_START_UP_FILE} is installed")
    text = (
        f"the start-up file {_START_UP_FILE} is not installed: {ENABLED}=true has no effect."
        " Install failgraph in this environment with pip."
    )
    return CheckResult(PART, "problem", text)


def _check_auto_instrumentation() -> Iterator[CheckResult]:
    try:
        is_installed = find_spec(_AUTO_INSTRUMENTATION) is not None
    except ModuleNotFoundError:  # a package above it is not installed
        is_installed = False
    if not is_installed:
        text = (
            f"{AUTO_INSTRUMENT}=true has no effect: OpenTelemetry's instrumentation is not"
            ' installed. Run pip install "failgraph[auto]".'
        )
        yield CheckResult(PART, "problem", text)


def _check_packages() -> Iterator[CheckResult]:
    """Attach as a program would, import the installed packages, and check their hooks."""
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
        for function, reason in hooks.missing().items():
            text = display(f"cannot hook {function}: {reason}. The other hooks work.")
            yield CheckResult(PART, "problem", text)
    finally:
        detach()


def _installed_as(package: str, distributions: Sequence[str]) -> str:
    """Return distribution and version of a package.

    Only its name if several distributions share it, as they share a namespace package.
    """
    for name in (package.replace(".", "-"), *distributions):
        with suppress(PackageNotFoundError):
            return f"{name} {version(name)}"
    return package


def _package(module: str) -> str:
    """Return the package of a module: its first name, or two below the namespace opentelemetry."""
    parts = module.split(".")
    return ".".join(parts[:2]) if parts[0] == "opentelemetry" else parts[0]


def _load_problem(module: str) -> str | None:
    """Import a module. Return why it cannot be imported, or None if it can or does not exist."""
    try:
        importlib.import_module(module)
    except ModuleNotFoundError:
        return None  # another version of the package, without this module
    except Exception as error:  # noqa: BLE001 - a package may raise anything when imported
        return display(f"cannot import {module}: {type(error).__name__}: {error}")
    return None
