"""Which arguments are sources and which are ids, and the traces that the ids name."""

from __future__ import annotations

import os
from collections.abc import Sequence

from failgraph.backends.address import names_source
from failgraph.errors import SourceError
from failgraph.readers import Reading
from failgraph.text import did_you_mean
from failgraph.traces.wanted_ids import MIN_DIGITS, WantedId

_MAX_NAMED = 4  # trace ids in a message


def split_arguments(
    arguments: Sequence[str], ids: Sequence[str] | None = None
) -> tuple[list[str], list[str]]:
    """Return the sources and the ids among the arguments of a command.

    Args:
        arguments: Sources and ids in any order.
        ids: What follows `--`: ids only, and then all of `arguments` are sources. None without it.
    """
    if ids is not None:
        return list(arguments), list(ids)
    is_source = [names_source(argument, os.path.exists) for argument in arguments]
    if not any(is_source):
        return list(arguments[:1]), list(arguments[1:])  # the reader says that it is no source
    given = list(zip(arguments, is_source, strict=True))
    return [each for each, is_in in given if is_in], [each for each, is_in in given if not is_in]


def choose_traces(
    ids: Sequence[WantedId], reading: Reading, name: str, hint: str, *, may_arrive: bool = False
) -> tuple[str, ...]:
    """Return the traces that ids name, each once, in the order of the ids.

    Args:
        ids: What the user asks for.
        reading: All traces of the sources.
        name: The sources, for messages.
        hint: A sentence that says how to find ids.
        may_arrive: True if a trace that is missing now may come later.

    Raises:
        SourceError: An id is of no trace, or of several.
    """
    chosen: list[str] = []
    for wanted in ids:
        found = wanted.find(reading.durations, reading.rollouts)
        if not found:
            yet = " (yet)" if may_arrive and wanted.trace_id is not None else ""
            suggestion = did_you_mean(wanted.text, reading.rollouts)
            raise SourceError(f"{_problem(wanted, name)}{yet}{suggestion}. {hint}")
        if len(found) > 1 and wanted.text not in reading.rollouts:
            raise SourceError(
                f"{len(found)} trace ids in {name} start with {wanted.digits}:"
                f" {_shortest(found)}. Give more digits."
            )
        chosen += found
    return tuple(dict.fromkeys(chosen))


def _problem(wanted: WantedId, name: str) -> str:
    """Say why an id was not found."""
    if not wanted.text:
        return "an id is empty"
    if wanted.digits is None:
        return f"no rollout {wanted.text} in {name}, and it is not a trace id"
    if len(wanted.digits) < MIN_DIGITS:
        return (
            f"no rollout {wanted.text} in {name}; for a trace id, give {MIN_DIGITS} digits or more"
        )
    if wanted.trace_id == wanted.digits:
        return f"{name} does not have trace {wanted.digits}"
    return f"no trace id in {name} starts with {wanted.digits}"


def _shortest(trace_ids: Sequence[str]) -> str:
    """Return the first trace ids, each with as many digits as tell it from the others."""
    ordered = sorted(trace_ids)
    length = 8
    while len({each[:length] for each in ordered}) < len(ordered):
        length += 4
    more = ", …" if len(ordered) > _MAX_NAMED else ""
    return ", ".join(each[:length] for each in ordered[:_MAX_NAMED]) + more
