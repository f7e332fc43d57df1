"""Old names on the command line: nothing was released with them, so each is answered, not kept."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from failgraph.cli.messages import redacted
from failgraph.errors import ConfigError

_COMMANDS = {"import": "export"}
_SOURCE = "a source"  # in place of a flag: its value is an argument now
_FLAGS = {  # by the new name of the command
    "demo": {"--out": "-o"},
    "export": {"--to": "-o"},
    "list": {"--journal": _SOURCE},
    "show": {"--journal": _SOURCE},
    "top": {"--journal": _SOURCE},
}


def reject_old_names(argv: Sequence[str]) -> None:
    """Raise ConfigError with the new call if the arguments have an old name of a command or flag.

    What follows `--` is not looked at: it may belong to another program.
    """
    if not argv:
        return
    end = argv.index("--") if "--" in argv else len(argv)
    command = _COMMANDS.get(argv[0], argv[0])
    flags = _FLAGS.get(command, {})
    renamed = {argv[0]: command} if command != argv[0] else {}
    call = ["failgraph", command]
    for argument in argv[1:end]:
        flag, equals, value = argument.partition("=")
        if flag not in flags:
            call.append(argument)
            continue
        renamed[flag] = flags[flag]
        if flags[flag] != _SOURCE:
            call.append(flags[flag])
        if equals:
            call.append(value)
    if renamed:
        names = " and ".join(f"{old} is now {new}" for old, new in renamed.items())
        raise ConfigError([redacted(f"{names}. Run: {shlex.join([*call, *argv[end:]])}")])
