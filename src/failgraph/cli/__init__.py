"""The command `failgraph`. Results on stdout, everything else on stderr.

Nothing but the parser is loaded before it is known what to do.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module

from failgraph.cli.exit_codes import DONE, NO_SOURCE, WRONG_USE
from failgraph.cli.messages import discard_stdout, print_message, print_redacted
from failgraph.cli.parser import build_parser
from failgraph.errors import ConfigError, SourceError

_MAX_DIGITS = 20_000
"""Digits of an exit code that is still printed; the codec reads no longer one."""
_INTERRUPTED = 130  # 128 + SIGINT, as a shell has it


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit code."""
    for stream in (sys.stdout, sys.stderr):
        # A stream that a test or a host program put there may not be reconfigurable.
        with suppress(AttributeError, ValueError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    if hasattr(sys, "set_int_max_str_digits"):
        sys.set_int_max_str_digits(_MAX_DIGITS)
    try:
        return _run(sys.argv[1:] if argv is None else argv)
    except ConfigError as error:
        for problem in error.problems:
            # Not redacted: the settings of the redaction may be what is wrong.
            print_message(problem)
        return WRONG_USE
    except SourceError as error:
        print_redacted(str(error))
        return NO_SOURCE
    except MemoryError:
        print_message("this is more than fits into memory; ask for less of it")
        return NO_SOURCE
    except BrokenPipeError:
        discard_stdout()  # whoever reads the pipe has seen enough
        return DONE
    except OSError as error:
        discard_stdout()
        print_message(f"the output cannot be written: {error.strerror}")
        return NO_SOURCE
    except KeyboardInterrupt:
        return _INTERRUPTED


def _run(argv: Sequence[str]) -> int:
    arguments = build_parser().parse_args(argv)
    if arguments.checks_settings:
        _check_settings()
    exit_code = _function(arguments.function)(arguments)
    sys.stdout.flush()
    return exit_code


def _check_settings() -> None:
    """Raise ConfigError where the settings cannot be used."""
    from failgraph.settings import checked

    if checked(os.environ).redact_with is not None:
        from failgraph.redaction import redact_with_problem  # which brings the records along

        problem = redact_with_problem()
        if problem is not None:
            raise ConfigError([problem])


def _function(name: str) -> Callable[..., int]:
    """Load the function of a command, given as `module:function` of this package."""
    module, _, function = name.partition(":")
    loaded: Callable[..., int] = getattr(import_module(f"{__name__}.{module}"), function)
    return loaded
