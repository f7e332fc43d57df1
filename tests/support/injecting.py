"""A program in which each call that failgraph makes fails in turn: `python tests/injecting.py 1`, and JSON comes out.

One child a call, forked before anything has happened: it runs the whole of PROGRAM, and ends as that ends, with its
exit code and its traceback. A call is told by where it is made and what is called, first time it happens.
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
from typing import Any

import failgraph

KINDS = (RuntimeError, MemoryError, RecursionError)
OURS = str(Path(failgraph.__file__).parent) + os.sep
_NOT_OURS_TO_FAIL = re.compile(r"\bwrapped\(|await (?:self\.)?app\(|await send\(")
"""What the user calls through us."""
_GUARD = "diagnostics.py"
_CANNOT_FAIL = re.compile(
    r"(?:isinstance|len|next|getattr|globals|exc_info|is_finalizing|allocate_lock|(?:dict|list|str|ContextVar|RLock|lock)\..*)"
    r"|Status\..*|int\.from_bytes|time_ns|(?:.*\.)?(?:<lambda>|__create_fn__.*)"
)
"""What runs nobody's code and asks for nothing: of these none fails where the next line of Python would not."""
Site = tuple[str, int, str]
"""File and line of the caller, and the name of what it calls."""

PROGRAM = Path(__file__).with_name("injected_program.py")

_CALLED_BY_PYTHON = frozenset({"_remove", "remove", "_commit_removals", "__del__"})
"""What the garbage collector calls, of weak references and finalizers, wherever it happens to run."""


def site_of(frame: FrameType, event: str, arg: Any) -> Site | None:
    """The call to somebody else's code that failgraph is about to make; None where this is another call, or none."""
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
    if _NOT_OURS_TO_FAIL.search(line) or _CANNOT_FAIL.fullmatch(name):
        return None
    return caller.f_code.co_filename, caller.f_lineno, name


def resumed(frame: FrameType) -> bool:
    """Whether a generator or a coroutine goes on, rather than begins: nothing is called there."""
    return frame.f_lasti > 10


def recording(found: dict[Site, None]) -> Any:
    """A profiler that notes each call."""

    def note(frame: FrameType, event: str, arg: Any) -> None:
        site = site_of(frame, event, arg)
        if site is not None:
            found[site] = None

    return note


def failing(wanted: Site, kind: type[Exception]) -> Any:
    """A profiler that makes one call fail; raising ends the profiling."""

    def fail(frame: FrameType, event: str, arg: Any) -> None:
        if site_of(frame, event, arg) == wanted:
            raise kind("injected")

    return fail


def child(profiler: Any, attached: bool, out: int, err: int) -> None:
    """What runs in the child: the program, to its uncaught end."""
    signal.alarm(60)  # whoever hangs is killed
    os.dup2(out, 1)
    os.dup2(err, 2)
    source = compile(PROGRAM.read_text(), str(PROGRAM), "exec")
    exec(
        source,
        {"__name__": "program", "ATTACHED": attached, "begin": lambda: sys.setprofile(profiler)},
    )


def run(
    profiler: Any, *, attached: bool, found: dict[Site, None] | None = None
) -> tuple[int, str, str] | None:
    """Exit code, stdout and stderr of one child; None in the child, which has to end as the program does."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        pid = os.fork()
        if not pid:
            try:
                child(profiler, attached, out.fileno(), err.fileno())
            finally:
                sys.setprofile(None)
                if found is not None:
                    print("SITES", json.dumps(list(found)), flush=True)
        _, status = os.waitpid(pid, 0)
        out.seek(0)
        err.seek(0)
        return os.waitstatus_to_exitcode(status), out.read().decode(), err.read().decode()


def wrappers() -> set[str]:
    """The modules that failgraph's hooks load at their first use."""
    from failgraph.instrumentation.hooks import TARGETS

    found = {target.wrapper.partition(":")[0] for targets in TARGETS.values() for target in targets}
    return {f"failgraph.instrumentation.{name}" for name in found}


def preload() -> None:
    """Load what the program loads, and what hooks load at their first use, so that no child has to."""
    code = "try:\n exec(open(sys.argv[1]).read())\nexcept Exception:\n pass\nprint('MODULES', *sys.modules)"
    command = [
        sys.executable,
        "-c",
        f"import sys\nsys.path.insert(0, sys.argv[2])\nATTACHED = False\n{code}",
    ]
    said = subprocess.run(
        [*command, PROGRAM, PROGRAM.parent], capture_output=True, text=True, check=True
    ).stdout
    for module in [*said.rpartition("MODULES ")[2].split(), *wrappers()]:
        with contextlib.suppress(Exception):
            importlib.import_module(module)


def main(share: int, kinds: list[str]) -> None:
    """Run it without failgraph, with it, and once for each call; print the three in one JSON document.

    Of the calls only one in `share`; with each of `kinds`, by default with one by turns.
    """
    preload()
    for module in list(sys.modules.values()):
        if OURS in (getattr(module, "__file__", None) or ""):
            linecache.getlines(module.__file__)
    gc.freeze()
    without = run(None, attached=False)
    sites: dict[Site, None] = {}
    code, said, errors = run(recording(sites), attached=True, found=sites)
    said, _, listed = said.partition("SITES ")
    every = json.loads(listed)
    results = []
    for number, site in enumerate(every[::share]):
        for kind in [kind for kind in KINDS if kind.__name__ in kinds] or [
            KINDS[number % len(KINDS)]
        ]:
            results.append((site, kind.__name__, *run(failing(tuple(site), kind), attached=True)))
    print(
        json.dumps(
            {
                "calls": len(every),
                "without": without,
                "with": (code, said, errors),
                "injected": results,
            }
        )
    )


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
