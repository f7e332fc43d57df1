"""Traces of ten minutes ago, for backends that are searched for the last hour."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from builders import event
from failgraph.cli import main
from json_output import results_in
from otlp_file import SECOND, T0, process, reported, seen, span

NOW = (time.time_ns() // SECOND - 600) * SECOND - T0  # ns from T0 to ten minutes ago

Run = Callable[..., tuple[int, list[dict[str, Any]], str]]


def moved(document: dict[str, Any], nano: int = NOW) -> dict[str, Any]:
    """Add `nano` to each time of a document, and return it."""
    for resource_spans in document["resourceSpans"]:
        for each in (each for scope in resource_spans["scopeSpans"] for each in scope["spans"]):
            for holder in (each, *each["events"]):
                for key in ("startTimeUnixNano", "endTimeUnixNano", "timeUnixNano"):
                    if key in holder:
                        holder[key] = str(int(holder[key]) + nano)
    return document


def failing(
    trace: str, start: int = 0, service: str = "gym", rollout: str | None = None, **fields: Any
) -> dict[str, Any]:
    """Return a trace of one failing hop; `start` is in ns after ten minutes ago."""
    attributes = reported("e", own="e") | ({"nemo.gym.rollout.id": rollout} if rollout else {})
    hop = span(
        1,
        None,
        seen(event("e", **fields), start + 5000),
        trace=trace,
        start=start,
        end=start + SECOND,
        attributes=attributes,
    )
    return moved(process(hop, service=service))


def ids(rows: list[dict[str, Any]]) -> list[str]:
    """Return the trace id of each row."""
    return [row["trace_id"] for row in rows]


def runner(name: str, setting: Any, capsys: Any) -> Run:
    """Return a function that runs a command with a backend's URL in the setting `name`.

    It takes the URL and the words of the command, and returns its exit code, JSON rows and stderr.
    """

    def run(url: str, *command: str) -> tuple[int, list[dict[str, Any]], str]:
        setting(name, url)
        code = main([*command, "--json"])
        out, err = capsys.readouterr()
        return code, results_in(out), err

    return run
