"""Run a program many times, and let one call that failgraph makes fail each time.

`python tests/support/injecting.py 1` injects into every call, and prints the results as JSON.

Each run is a child, forked before anything has happened. It runs the whole of PROGRAM, and ends as
that ends, with its exit code and its traceback. A call is identified by the line that makes it and
the name of the callee; the first call from a line fails.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import linecache
import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import failgraph

KINDS = (RuntimeError, MemoryError, RecursionError)
OURS = str(Path(failgraph.__file__).parent) + os.sep
_CALLS_OF_THE_USER = re.compile(r"\bwrapped\(|await (?:self\.)?app\(|await send\(")
_GUARD = "diagnostics.py"
# Calls that run no Python code and allocate nothing: they fail only where any line may fail.
_CANNOT_FAIL = re.compile(
    r"(?:isinstance|len|next|getattr|globals|exc_info|is_finalizing|allocate_lock"
    r"|(?:dict|list|str|ContextVar|RLock|lock)\..*)"
    r"|Status\..*|int\.from_bytes|time_ns|(?:.*\.)?(?:<lambda>|__create_fn__.*)"
)
# Called by the garbage collector for weak references and finalizers, from whichever line runs then.
_CALLED_BY_PYTHON = frozenset({"_remove", "remove", "_commit_removals", "__del__"})

Site = tuple[str, int, str]  # file and line of a call, and the name of what it calls

PROGRAM = Path(__file__).with_name("injected_program.py")


class Outcome(NamedTuple):
    """How a child ended."""

    exit_code: int
    stdout: str
    stderr: str


def site_of(frame: FrameType, event: str, arg: Any) -> Site | None:
    """Return the call of foreign code that failgraph is about to make, or None for other events."""
    if event == "c_call":
        caller: FrameType | None = frame
        name = getattr(arg, "__qualname__", repr(arg))
    elif event == "call" and OURS not in frame.f_code.co_filename and not resumed(frame):
        if frame.f_code.co_name in _CALLED_BY_PYTHON:
            return None
        caller = frame.f_back
        name = frame.f_code.co_qualname if sys.version_info >= (3, 11) else frame.f_code.co_name
    else:
        return None
    if (
        caller is None
        or OURS not in caller.f_code.co_filename
        or caller.f_code.co_filename.endswith(_GUARD)
    ):
        return None
    line = linecache.getline(caller.f_code.co_filename, caller.f_lineno)
    if _CALLS_OF_THE_USER.search(line) or _CANNOT_FAIL.fullmatch(name):
        return None
    return caller.f_code.co_filename, caller.f_lineno, name


def resumed(frame: FrameType) -> bool:
    """True if a generator or coroutine continues: Python reports that as a call, too."""
    return frame.f_lasti > 10  # a frame that begins is at one of its first instructions


def recording(sites: dict[Site, None]) -> Any:
    """Return a profiler that adds each call to `sites`."""

    def note(frame: FrameType, event: str, arg: Any) -> None:
        site = site_of(frame, event, arg)
        if site is not None:
            sites[site] = None

    return note


def failing(wanted: Site, kind: type[Exception]) -> Any:
    """Return a profiler that makes one call fail; Python removes a profiler that raises."""

    def fail(frame: FrameType, event: str, arg: Any) -> None:
        if site_of(frame, event, arg) == wanted:
            raise kind("injected")

    return fail


def child(profiler: Any, attached: bool, out: int, err: int) -> None:
    """Run the program in the child, up to its uncaught exception."""
    signal.alarm(60)  # kills a child that hangs
    os.dup2(out, 1)
    os.dup2(err, 2)
    source = compile(PROGRAM.read_text(), str(PROGRAM), "exec")
    exec(
        source,
        {"__name__": "program", "ATTACHED": attached, "begin": lambda: sys.setprofile(profiler)},
    )


def run(profiler: Any, *, attached: bool, sites: dict[Site, None] | None = None) -> Outcome:
    """Run the program in a child and return how that ended.

    In the child this raises what the program raises. With `sites` the child prints them at its end.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        pid = os.fork()
        if not pid:
            try:
                child(profiler, attached, out.fileno(), err.fileno())
            finally:
                sys.setprofile(None)
                if sites is not None:
                    print("SITES", json.dumps(list(sites)), flush=True)
        _, status = os.waitpid(pid, 0)
        out.seek(0)
        err.seek(0)
        exit_code = os.waitstatus_to_exitcode(status)
        return Outcome(exit_code, out.read().decode(), err.read().decode())


def wrappers() -> set[str]:
    """Return the modules that failgraph's hooks load at their first use."""
    from failgraph.instrumentation.hooks import TARGETS

    names = {target.wrapper.partition(":")[0] for targets in TARGETS.values() for target in targets}
    return {f"failgraph.instrumentation.{name}" for name in names}


def preload() -> None:
    """Load what the program and the hooks load, so that the children need not."""
    code = (
        "try:\n exec(open(sys.argv[1]).read())\nexcept Exception:\n pass\n"
        "print('MODULES', *sys.modules)"
    )
    command = [
        sys.executable,
        "-c",
        f"import sys\nsys.path.insert(0, sys.argv[2])\nATTACHED = False\n{code}",
    ]
    output = subprocess.run(
        [*command, PROGRAM, PROGRAM.parent], capture_output=True, text=True, check=True
    ).stdout
    for module in [*output.rpartition("MODULES ")[2].split(), *wrappers()]:
        with contextlib.suppress(Exception):
            importlib.import_module(module)


def main(share: int, kinds: list[str]) -> None:
    """Run the program without failgraph, with it, and once for each injected error; print JSON.

    Args:
        share: One call in so many fails.
        kinds: Names of exceptions to raise at each call; by default the KINDS take turns.
    """
    preload()
    for module in list(sys.modules.values()):
        if OURS in (getattr(module, "__file__", None) or ""):
            linecache.getlines(module.__file__)
    gc.freeze()
    without = run(None, attached=False)
    sites: dict[Site, None] = {}
    with_failgraph = run(recording(sites), attached=True, sites=sites)
    printed, _, listed = with_failgraph.stdout.partition("SITES ")
    every = json.loads(listed)
    chosen = [kind for kind in KINDS if kind.__name__ in kinds]
    injected = []
    for number, site in enumerate(every[::share]):
        for kind in chosen or [KINDS[number % len(KINDS)]]:
            outcome = run(failing(tuple(site), kind), attached=True)
            injected.append((site, kind.__name__, *outcome))
    results = {
        "calls": len(every),
        "without": without,
        "with": with_failgraph._replace(stdout=printed),
        "injected": injected,
    }
    print(json.dumps(results))


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
