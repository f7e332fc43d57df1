"""Errors inside failgraph: whichever of its calls fails, the user's program is unchanged."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

for needed in ("fastapi", "httpx"):
    pytest.importorskip(needed, reason="the program is served, and asks others")
SHARE = 6
"""One call in so many; with 1, `python tests/support/injecting.py 1` tries every call."""
_FRAME = re.compile(
    r'  File "[^"]*[/\\](?:failgraph|wrapt|injecting\.py)[^"]*", line \d+, in .*\n(?:    .*\n)*'
)


# Errors that the caller must see, by file and callee, and why.
_REACH_THE_CALLER = {
    ("flushing.py", "Thread.__init__"): "flush returns False",
    ("flushing.py", "Thread.start"): "flush returns False",
    ("flushing.py", "Thread.join"): "flush returns False",
    ("http_clients.py", "Headers.__contains__"): "a header that cannot be removed stays",
    ("http_clients.py", "Headers.__delitem__"): "a header that cannot be removed stays",
    ("failure_exception.py", "Exception.__new__"): "an exception cannot be made",
    ("ids.py", "urandom"): "a failure without an id cannot be made",
    ("ids.py", "UUID.__init__"): "a failure without an id cannot be made",
    ("ids.py", "UUID.__str__"): "a failure without an id cannot be made",
    ("__init__.py", "import_module"): "a public name cannot be loaded",
    ("__init__.py", "_handle_fromlist"): "a public name cannot be loaded",
}


def of_the_program(errors: str) -> str:
    """Return standard error without failgraph's lines and frames, and those of wrappers."""
    lines = errors.splitlines(keepends=True)
    return _FRAME.sub("", "".join(line for line in lines if not line.startswith("failgraph")))


def different(found: dict) -> list[str]:
    """A line for each run that was not as that without failgraph."""
    code, said, errors = found["without"]
    wanted = (code, said, of_the_program(errors))
    runs = [(["with it", 0, ""], "", *found["with"]), *found["injected"]]
    return [
        f"{site} {kind}: {got}"
        for site, kind, *got in runs
        if (got[0], got[1].partition("SITES ")[0], of_the_program(got[2])) != wanted
        and (Path(site[0]).name, site[2]) not in _REACH_THE_CALLER
    ]


@pytest.mark.slow
@pytest.mark.skipif(
    sys.version_info < (3, 11), reason="the names of calls are whole from Python 3.11 on"
)
def test_nothing_of_ours_that_fails_reaches_the_program():
    """Compare results, exceptions, traceback and exit code of a program that records and serves."""
    command = [
        sys.executable,
        str(Path(__file__).parents[1] / "support" / "injecting.py"),
        str(SHARE),
    ]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    assert found["calls"] > 200
    assert len(found["injected"]) == -(-found["calls"] // SHARE)
    assert found["without"][0] == 1
    assert different(found) == []


if __name__ == "__main__":
    told = json.loads(Path(sys.argv[1]).read_text())
    wrong = different(told)
    print(
        len(told["injected"]),
        "failures of",
        told["calls"],
        "calls;",
        len(wrong),
        "reached the program",
    )
    print(*wrong, sep="\n")
