"""The `failgraph` command. Results go to standard output, everything else to standard error."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module

from failgraph.cli.exit_codes import DONE, NO_SOURCE, WRONG_USE
from failgraph.cli.messages import discard_stdout, print_message, print_redacted
from failgraph.cli.parser import build_parser
from failgraph.cli.renamed import reject_old_names
from failgraph.errors import ConfigError, SourceError, reason_of

_MAX_DIGITS = 20_000  # the codec reads integers of up to this length; Python prints only 4,300
_INTERRUPTED = 130  # 128 + SIGINT, as shells report it


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    Args:
        argv: The arguments after the program's name; None means those of this process.
    """
    for stream in (sys.stdout, sys.stderr):
        # A replaced stream may be closed, or not a TextIOWrapper.
        with suppress(AttributeError, ValueError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    if hasattr(sys, "set_int_max_str_digits"):
        sys.set_int_max_str_digits(_MAX_DIGITS)
    try:
        return _run(sys.argv[1:] if argv is None else argv)
    except ConfigError as error:
        for problem in error.problems:
            # Not redacted: the settings for redaction may be the problem.
            print_message(problem)
        return WRONG_USE
    except SourceError as error:
        print_redacted(str(error))
        return NO_SOURCE
    except MemoryError:
        print_message(
            "out of memory. Split the file, or read less of a backend with --since and --limit."
        )
        return NO_SOURCE
    except BrokenPipeError:
        discard_stdout()  # the reader of the pipe, such as `head`, has ended
        return DONE
    except OSError as error:
        if error.filename is None:
            discard_stdout()
        print_redacted(f"cannot write {error.filename or 'the output'}: {reason_of(error)}")
        return NO_SOURCE
    except KeyboardInterrupt:
        return _INTERRUPTED


def _run(argv: Sequence[str]) -> int:
    reject_old_names(argv)
    arguments = build_parser().parse_args(argv)
    if arguments.checks_settings:
        _check_settings()
    exit_code = _load(arguments.function)(arguments)
    sys.stdout.flush()
    return exit_code


def _check_settings() -> None:
    """Raise ConfigError if a setting is invalid, or the function for redaction cannot be loaded."""
    from failgraph.settings import checked

    if checked(os.environ).redact_with is not None:
        from failgraph.redaction import redact_with_problem  # loads pydantic

        problem = redact_with_problem()
        if problem is not None:
            raise ConfigError([problem])


def _load(name: str) -> Callable[..., int]:
    """Return the function that `module:function` names; the module is in this package."""
    module, _, function = name.partition(":")
    loaded: Callable[..., int] = getattr(import_module(f"{__name__}.{module}"), function)
    return loaded
