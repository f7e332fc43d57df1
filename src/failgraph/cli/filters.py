"""The options that select traces, the same for every reading command."""

from __future__ import annotations

import argparse
import re
import shlex
import time
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

from failgraph.failure.boundary import FailureBoundary

if TYPE_CHECKING:
    from failgraph.traces.query import Query

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_EARLIEST = 1_000_000_000  # ns; some backends take 0 for "no time"
_MAX_LIMIT = 9_999_999


def add_filters(parser: argparse.ArgumentParser) -> None:
    """Add the options that select traces to the parser of a command."""
    group = parser.add_argument_group("select")
    group.add_argument(
        "--since",
        metavar="TIME",
        type=_time,
        help="only traces that started 90s, 15m, 1h or 2d ago or later, or since an ISO 8601 time",
    )
    group.add_argument(
        "--until",
        metavar="TIME",
        type=_time,
        help="only traces that started at this time or earlier",
    )
    group.add_argument(
        "--kind",
        metavar="KIND",
        action="append",
        default=[],
        help="only traces with a failure of this kind (repeatable)",
    )
    group.add_argument(
        "--boundary",
        metavar="BOUNDARY",
        action="append",
        default=[],
        choices=[boundary.value for boundary in FailureBoundary],
        help="only traces with a failure observed at this boundary (repeatable): %(choices)s",
    )
    group.add_argument(
        "--service",
        metavar="NAME",
        action="append",
        default=[],
        help="only traces that started or failed in this service (repeatable)",
    )
    group.add_argument(
        "--rollout", metavar="ID", help="only traces of this rollout (nemo.gym.rollout.id)"
    )
    group.add_argument(
        "-n",
        "--limit",
        metavar="N",
        type=_limit,
        help="only the newest N traces, of top the first N rows (default: all; list and show stop"
        " at the newest 100 of a backend)",
    )


def query_of(arguments: argparse.Namespace) -> Query:
    """Return the query that the options describe, with the limit of `-n`."""
    from failgraph.traces.query import Query  # loads pydantic, too slow for --help

    return Query(
        since_unix_nano=arguments.since,
        until_unix_nano=arguments.until,
        kinds=frozenset(arguments.kind),
        boundaries=frozenset(arguments.boundary),
        services=frozenset(arguments.service),
        rollout_id=arguments.rollout,
        limit=arguments.limit,
    )


def option_text(option: str, value: str) -> str:
    """Return an option with its value, as typed in a shell."""
    return f"{option} {shlex.quote(value)}"


def time_text(unix_nano: int) -> str:
    """Return a time in UTC, in a form that `--since` and `--until` take."""
    return f"{_EPOCH + timedelta(microseconds=unix_nano // 1000):%Y-%m-%dT%H:%M:%SZ}"


def filter_options(query: Query) -> Iterator[tuple[str, str]]:
    """Yield the filters of a query, each as an option and its value."""
    for option, time_unix_nano in (
        ("--since", query.since_unix_nano),
        ("--until", query.until_unix_nano),
    ):
        if time_unix_nano is not None:
            yield option, time_text(time_unix_nano)
    yield from (("--kind", kind) for kind in sorted(query.kinds))
    yield from (("--boundary", boundary) for boundary in sorted(query.boundaries))
    yield from (("--service", service) for service in sorted(query.services))
    if query.rollout_id is not None:
        yield "--rollout", query.rollout_id


def _time(text: str) -> int:
    """Parse a duration before now, or an ISO 8601 time, which is local without a time zone.

    Returns:
        Nanoseconds since the epoch.
    """
    duration = re.fullmatch(r"(\d{1,6})([smhdw])", text.strip())
    if duration is not None:
        seconds = int(duration[1]) * _SECONDS[duration[2]]
        return max(_EARLIEST, time.time_ns() - seconds * 1_000_000_000)
    try:
        # Python 3.10 does not read Z.
        moment = datetime.fromisoformat(re.sub("[zZ]$", "+00:00", text.strip())).astimezone()
        return max(_EARLIEST, (moment - _EPOCH) // timedelta(microseconds=1) * 1000)
    except (ValueError, OverflowError, OSError):
        raise argparse.ArgumentTypeError(
            f"must be a duration such as 90s, 15m, 1h or 2d, or a time such as"
            f" 2026-11-30T08:00:00Z, not {text!r}"
        ) from None


def _limit(text: str) -> int:
    """Parse the number of traces or rows to print."""
    is_number = text.isascii() and text.isdigit() and len(text) <= len(str(_MAX_LIMIT))
    if not is_number or int(text) == 0:
        raise argparse.ArgumentTypeError(f"must be an integer from 1 to {_MAX_LIMIT}, not {text!r}")
    return int(text)
