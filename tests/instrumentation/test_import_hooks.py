"""Attaching calls code of others, such as lazy modules and log handlers that import. None hangs."""

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
send = vars(lazy.Client)["_send_single_request"]
print("hooked" if isinstance(send, wrapt.FunctionWrapper) else "bare")
"""
LOGGING = """
import logging, sys
class Importing(logging.Handler):
    def emit(self, record):
        import httpx
logging.getLogger("failgraph").addHandler(Importing())
"""


def run(program: str, enabled: bool) -> list[str]:
    """Run a program to its end. Return the words that it printed."""
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
    """Attaching does not load a module that waits for its first use. It is hooked when it loads."""
    pytest.importorskip("httpx")
    attaching = "import opentelemetry.sdk.trace\n" if enabled else ATTACH
    assert run(LAZY + attaching + STATE, enabled) == ["lazy", "hooked"]


def test_a_log_handler_that_imports_a_hooked_module():
    """A log handler that runs while failgraph attaches may import a module that attaches too."""
    pytest.importorskip("httpx")
    program = LOGGING + "import opentelemetry.sdk.trace\nprint('httpx' in sys.modules)"
    assert run(program, enabled=True) == ["True"]


def test_the_import_loader_can_be_copied():
    """Other tools copy loaders and look at their attributes."""
    program = """
import copy, importlib.util, pickle
loader = importlib.util.find_spec("httpx").loader
kind = type(loader)
print(kind.__module__, type(copy.copy(loader)) is kind, hasattr(kind.__new__(kind), "x"))
"""
    pytest.importorskip("httpx")
    assert run(program, enabled=True) == ["failgraph.instrumentation.import_hooks", "True", "False"]
