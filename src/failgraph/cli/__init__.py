"""The command `failgraph`. Results on stdout, everything else on stderr."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Sequence
from typing import Final

from failgraph.cli.codes import DONE, NO_SOURCE, WRONG_USE
from failgraph.cli.output import drop_stdout, say
from failgraph.cli.parser import parser
from failgraph.errors import ConfigError, SourceError
from failgraph.redaction import missing_function
from failgraph.settings import checked
from failgraph.view.neutral import neutral, shown

_MAX_DIGITS: Final = 20_000
"""Digits of an exit code that is still printed; the codec reads no longer one."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit code."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, ValueError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    if hasattr(sys, "set_int_max_str_digits"):
        sys.set_int_max_str_digits(_MAX_DIGITS)
    try:
        arguments = parser().parse_args(argv)
        if not getattr(arguments, "checks_settings", False):
            _check_settings()
        command: Callable[..., int] = arguments.command
        code = command(arguments)
        sys.stdout.flush()
        return code
    except ConfigError as error:
        for problem in error.problems:
            say(neutral(problem, 2000))
        return WRONG_USE
    except SourceError as error:
        say(shown(str(error), 2000))
        return NO_SOURCE
    except MemoryError:
        say("this is more than fits into memory; ask for less of it")
        return NO_SOURCE
    except BrokenPipeError:
        drop_stdout()  # whoever reads the pipe has seen enough
        return DONE
    except OSError as error:
        drop_stdout()
        say(f"the output cannot be written: {error.strerror}")
        return NO_SOURCE
    except KeyboardInterrupt:
        return 130


def _check_settings() -> None:
    """Raise ConfigError where the settings cannot be used."""
    checked(os.environ)
    problem = missing_function()
    if problem is not None:
        raise ConfigError([problem])
