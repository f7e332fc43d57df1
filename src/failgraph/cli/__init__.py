"""The command `failgraph`. Results on stdout, everything else on stderr.

Nothing but the parser is loaded before it is known what to do.
"""

from __future__ import annotations

import os
import sys

from failgraph.cli.exit_codes import DONE, NO_SOURCE, WRONG_USE
from failgraph.cli.messages import drop_stdout, harmless, say, without_secrets
from failgraph.cli.parser import parser
from failgraph.errors import ConfigError, SourceError

TYPE_CHECKING = False  # as `typing` has it, which is slow to load

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_MAX_DIGITS = 20_000
"""Digits of an exit code that is still printed; the codec reads no longer one."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit code."""
    for stream in (sys.stdout, sys.stderr):
        try:  # noqa: SIM105 - contextlib takes a millisecond to load
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
        except (AttributeError, ValueError):  # noqa: PERF203
            pass
    if hasattr(sys, "set_int_max_str_digits"):
        sys.set_int_max_str_digits(_MAX_DIGITS)
    try:
        argv = sys.argv[1:] if argv is None else argv
        arguments = parser(argv).parse_args(argv)
        if not getattr(arguments, "checks_settings", False):
            _check_settings()
        code = _function(arguments.command)(arguments)
        sys.stdout.flush()
        return code
    except ConfigError as error:
        for problem in error.problems:
            say(harmless(problem))
        return WRONG_USE
    except SourceError as error:
        say(without_secrets(str(error)))
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
    from failgraph.settings import checked

    if checked(os.environ).redact_with is not None:
        from failgraph.redaction import missing_function  # which brings the records along

        problem = missing_function()
        if problem is not None:
            raise ConfigError([problem])


def _function(command: str) -> Callable[..., int]:
    """What does a command, given as `module:function` of this package."""
    from importlib import import_module

    module, _, name = command.partition(":")
    function: Callable[..., int] = getattr(import_module(f"{__name__}.{module}"), name)
    return function
