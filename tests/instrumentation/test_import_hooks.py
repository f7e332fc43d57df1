"""Attaching runs foreign code: modules that load at their first use, log handlers that import. None of it waits for us."""

from __future__ import annotations

import subprocess
import sys

import pytest

from programs import clean_environment

LAZY = """
import importlib.util, sys, types
spec = importlib.util.find_spec("httpx")
lazy = importlib.util.module_from_spec(spec)
sys.modules["httpx"] = lazy
importlib.util.LazyLoader(spec.loader).exec_module(lazy)
"""
ATTACH = """
from failgraph.instrumentation.attach import attach
attach("test")
"""
STATE = """
print("lazy" if type(lazy) is not types.ModuleType else "loaded")
lazy.Client
import wrapt
print("hooked" if isinstance(vars(lazy.Client)["_send_single_request"], wrapt.FunctionWrapper) else "bare")
"""
LOGGING = """
import logging, sys
class Importing(logging.Handler):
    def emit(self, record):
        import httpx
logging.getLogger("failgraph").addHandler(Importing())
"""


def run(program: str, enabled: bool) -> list[str]:
    """What a program of its own prints; it must end by itself."""
    environ = clean_environment()
    if enabled:
        environ |= {"FAILGRAPH_ENABLED": "true", "FAILGRAPH_LOG_LEVEL": "debug"}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environ,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout.split()


@pytest.mark.parametrize("enabled", [True, False], ids=["start-up file", "called"])
def test_a_lazy_module_stays_lazy_and_is_hooked_when_it_loads(enabled):
    """Loaded lazily before OpenTelemetry's SDK: attaching neither loads it nor hangs, and its first use is hooked."""
    pytest.importorskip("httpx")
    attaching = "import opentelemetry.sdk.trace\n" if enabled else ATTACH
    assert run(LAZY + attaching + STATE, enabled) == ["lazy", "hooked"]


def test_a_log_handler_that_imports_a_hooked_module():
    """What is logged while attaching may import a module that attaches: the import returns."""
    pytest.importorskip("httpx")
    program = LOGGING + "import opentelemetry.sdk.trace\nprint('httpx' in sys.modules)"
    assert run(program, enabled=True) == ["True"]


def test_the_import_loader_can_be_copied():
    """Others copy and look at loaders; ours then refuses no more than any object without attributes."""
    program = """
import copy, importlib.util, pickle
loader = importlib.util.find_spec("httpx").loader
print(type(loader).__module__, type(copy.copy(loader)) is type(loader), hasattr(type(loader).__new__(type(loader)), "x"))
"""
    pytest.importorskip("httpx")
    assert run(program, enabled=True) == ["failgraph.instrumentation.import_hooks", "True", "False"]
