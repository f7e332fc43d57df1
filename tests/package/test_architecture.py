"""The structure of the code: what may import what, what an import loads, and the exceptions."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from importlib import import_module
from pathlib import Path

import pytest

import failgraph

pytestmark = pytest.mark.once

SOURCE = Path(failgraph.__file__).parent
MODULES = sorted(SOURCE.rglob("*.py"))

ROOMS = (
    "__main__",
    "cli",
    "doctor",
    "demo",
    "testing",
    "instrumentation",
    "transport",
    "export",
    "backends",
    "view",
    "recording",
    "readers",
    "otlp",
    "exceptions",
    "traces",
    "journal",
    "redaction",
    "codec",
    "gym_formats",
    "settings",
    "context",
    "failure",
    "text",
    "semconv",
    "losses",
    "errors",
    "diagnostics",
)
"""A room imports only rooms that are listed after it."""

SDK = {"recording.sdk_spans", "recording.processor"}
SDK_ROOMS = {"instrumentation", "doctor", "export", "demo"}
"""The only modules and rooms that know OpenTelemetry's SDK."""

EACH_MODULE = pytest.mark.parametrize(
    "path", MODULES, ids=lambda path: str(path.relative_to(SOURCE))
)


def module(path: Path) -> str:
    """The name of a module without the package's; empty for the package itself."""
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room(name: str) -> str:
    """The room of a module."""
    return name.split(".")[0]


def imports(tree: ast.AST, *, for_types: bool = True) -> Iterator[str]:
    """Every module or name that is imported, at any depth, for types too."""
    typing_only = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in typing_only and not for_types:
            continue
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{name.name}" for name in node.names)


def own_imports() -> dict[str, set[str]]:
    """For each module the modules of failgraph that it imports, for types too."""
    names = {module(path) for path in MODULES}
    found: dict[str, set[str]] = {}
    for path in MODULES:
        imported = (name.split(".") for name in imports(ast.parse(path.read_text())))
        inner = (".".join(parts[1:]) for parts in imported if parts[0] == "failgraph")
        found[module(path)] = {
            name if name in names else name.rpartition(".")[0] for name in inner
        } & (names - {""})
    return found


def test_a_room_imports_only_rooms_after_it():
    """At runtime and for types; the package itself names all of them and is imported by none."""
    wrong = [
        f"{name} imports {other}"
        for name, others in own_imports().items()
        for other in others
        if name and room(name) != room(other)
        if ROOMS.index(room(name)) > ROOMS.index(room(other))
    ]
    assert not wrong


def test_modules_form_no_circle():
    """Inside a room neither, and not for types either."""
    order = TopologicalSorter({name: others - {name} for name, others in own_imports().items()})
    try:
        order.prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def test_every_room_has_its_place():
    """A new room takes its place in the order."""
    assert {room(module(path)) for path in MODULES} - {""} == set(ROOMS)


@EACH_MODULE
def test_a_module_is_short_and_says_what_it_is_for(path):
    """At most 300 lines, with a docstring; a longer one has a second reason to change."""
    text = path.read_text()
    assert text.count("\n") <= 300
    assert ast.get_docstring(ast.parse(text))


DIALECT = re.compile(r"^Whether |None where|\bwhoever\b|\bof what\b|is let go|is mended")


@EACH_MODULE
def test_docstrings_are_in_plain_english(path):
    """Phrases of the first version that needed a second reading do not come back."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(ast.parse(path.read_text())):
        docstring = ast.get_docstring(node) if isinstance(node, documented) else None
        assert DIALECT.search(docstring or "") is None, docstring


@EACH_MODULE
def test_only_these_rooms_know_the_sdk(path):
    """The rest needs the API alone, and the readers and the codec not even that."""
    names = set(imports(ast.parse(path.read_text()), for_types=False))
    if room(module(path)) not in SDK_ROOMS and module(path) not in SDK:
        assert not [name for name in names if name.startswith("opentelemetry.sdk")]
    if room(module(path)) in {
        "codec",
        "testing",
        "readers",
        "traces",
        "view",
        "failure",
        "gym_formats",
    }:
        assert not [
            name
            for name in names
            if name.startswith("opentelemetry") and "opentelemetry.proto" not in name
        ]


def test_keys_are_spelled_in_one_place():
    """No attribute key is written out anywhere but in `semconv`."""
    for path in MODULES:
        strings = (
            node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Constant)
        )
        found = [
            node.value
            for node in strings
            if isinstance(node.value, str) and node.value.startswith("nemo.gym.")
        ]
        assert not found or module(path) == "semconv", (path, found)


def test_private_names_of_the_sdk_are_read_in_one_place():
    """`_limits` and `_span_processor` are the only ones, guarded, in `recording.sdk_spans`."""
    for path in MODULES:
        text = path.read_text()
        assert ('"_limits"' in text or '"_span_processor"' in text) == (
            module(path) == "recording.sdk_spans"
        ), path


def test_one_function_emits():
    """The span-event API is on its way out; the day it goes, one function changes."""
    calls = [
        (path.name, node.lineno)
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "add_event"
    ]
    assert [name for name, _ in calls] == ["sdk_spans.py"]


def loaded_by(statement: str) -> set[str]:
    script = (
        f"import sys; before = set(sys.modules); {statement}; print(*(set(sys.modules) - before))"
    )
    found = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return {
        name.split(".")[0] if not name.startswith("opentelemetry") else name
        for name in found.stdout.split()
    }


def test_importing_failgraph_loads_next_to_nothing():
    """No pydantic, OpenTelemetry, wrapt, rich or HTTP client: each is loaded on first use."""
    loaded = loaded_by("import failgraph; dir(failgraph)")
    heavy = {
        "pydantic",
        "wrapt",
        "rich",
        "httpx",
        "requests",
        "aiohttp",
        "fastapi",
        "asyncio",
        "typing_extensions",
    }
    assert not loaded & heavy
    assert not [name for name in loaded if name.startswith("opentelemetry")]


def test_the_parser_is_loaded_alone():
    """Help and wrong use wait for nothing that a command reads, shows or imports with."""
    loaded = loaded_by("import failgraph.cli; failgraph.cli.build_parser().format_help()")
    assert "argparse" in loaded
    assert not loaded & {"pydantic", "opentelemetry", "msgspec", "rich", "httpx"}


def test_run_does_without_the_records():
    """A program that `failgraph run` starts waits only for the check of the settings."""
    loaded = loaded_by("import failgraph.cli.launching; failgraph.cli._check_settings()")
    assert "json" in loaded
    assert not loaded & {"pydantic", "opentelemetry", "msgspec", "rich", "httpx"}


def test_reading_a_file_does_not_load_the_sdk():
    """The command works on the records, the codec and the readers alone."""
    loaded = loaded_by("import failgraph.cli.reading, failgraph.readers, failgraph.view")
    assert not [name for name in loaded if name.startswith("opentelemetry")]


def test_every_public_name_is_there_and_no_other():
    """`__all__` is sorted, each name loads, and an unknown name is a clear AttributeError."""
    assert list(failgraph.__all__) == sorted(failgraph.__all__)
    for name in failgraph.__all__:
        assert getattr(failgraph, name) is not None
    assert set(failgraph.__all__) <= set(dir(failgraph))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = failgraph.nothing
    assert failgraph.__version__


def test_the_function_hop_is_not_hidden_by_a_module():
    """Importing any part first must not put a module where `failgraph.hop` belongs."""
    parts = "failgraph.cli.reading, failgraph.recording.hops, failgraph.recording.recorder"
    script = f"import {parts}, failgraph; print(failgraph.hop().__class__)"
    found = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert "hop" in found.stdout


def test_what_is_waited_for_is_what_is_hooked():
    """The start-up module, which may load nothing, names the modules that the hooks are for."""
    from failgraph.instrumentation import hooks, startup

    assert set(startup.HOOKED) == set(hooks.TARGETS)
    for targets in hooks.TARGETS.values():
        for target in targets:
            module, _, function = target.wrapper.partition(":")
            assert callable(getattr(import_module(f"failgraph.instrumentation.{module}"), function))


@pytest.mark.parametrize(
    ("name", "plain", "ours"),
    [("startup", {"os", "sys"}, ["failgraph.instrumentation"]), ("import_hooks", {"sys"}, [])],
)
def test_what_runs_at_start_up_is_of_the_standard_library_alone(name, plain, ours):
    """At module level these import `os` and `sys`, and of failgraph nothing but each other."""
    tree = ast.parse((SOURCE / "instrumentation" / f"{name}.py").read_text())
    found = {name.name for node in tree.body if isinstance(node, ast.Import) for name in node.names}
    assert found == plain
    assert [node.module for node in tree.body if isinstance(node, ast.ImportFrom)] == [
        "__future__",
        *ours,
    ]
