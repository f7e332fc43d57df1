"""The options by which `list`, `show` and `top` choose among traces."""

from __future__ import annotations

import argparse
import re
import time

from failgraph.failure.boundary import FailureBoundary

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_EARLIEST = 1_000_000_000
"""A second after the epoch, in ns: some backends take 0 for no time, and none knows an earlier one."""


def add_filters(parser: argparse.ArgumentParser) -> None:
    """Give a command the options by which traces are chosen."""
    group = parser.add_argument_group("which traces")
    group.add_argument(
        "--since",
        metavar="TIME",
        type=_since,
        help="since 90s, 15m, 1h, 2d ago, or an ISO 8601 time",
    )
    group.add_argument(
        "--kind", metavar="KIND", action="append", default=[], help="with a failure of this kind"
    )
    group.add_argument(
        "--boundary",
        metavar="BOUNDARY",
        action="append",
        default=[],
        choices=[boundary.value for boundary in FailureBoundary],
        help="with a failure observed at this boundary: %(choices)s",
    )
    group.add_argument(
        "--service",
        metavar="NAME",
        action="append",
        default=[],
        help="begun or failed at this service",
    )
    group.add_argument("--rollout", metavar="ID", help="of this rollout (nemo.gym.rollout.id)")
    group.add_argument(
        "--journal",
        metavar="DIR",
        help="take in what this journal holds; default: FAILGRAPH_JOURNAL",
    )
    group.add_argument("--limit", metavar="N", type=_limit, help="the newest N at most")


def _since(text: str) -> int:
    """Nanoseconds since the epoch, of a length of time before now or of a time; one without a zone is local."""
    ago = re.fullmatch(r"(\d{1,6})([smhdw])", text.strip())
    if ago is not None:
        return max(_EARLIEST, time.time_ns() - int(ago[1]) * _SECONDS[ago[2]] * 1_000_000_000)
    from datetime import datetime, timedelta, timezone

    epoch = datetime(1970, 1, 1, tzinfo=timezone.utc)
    try:
        when = datetime.fromisoformat(re.sub("[zZ]$", "+00:00", text.strip()))
        return max(_EARLIEST, (when.astimezone() - epoch) // timedelta(microseconds=1) * 1000)
    except (ValueError, OverflowError, OSError):
        raise argparse.ArgumentTypeError(
            f"{text!r} is no time; give a length such as 90s, 15m, 1h, 2d, or a time such as 2026-11-30T08:00:00Z"
        ) from None


def _limit(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < len(text) < 8 and int(text)):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of traces; give 1 or more")
    return int(text)
