"""Measure CPU time in pairs: the work and what it is compared with, in turns, in one run.

The clock is the CPU time of the thread or of a child process, since wall-clock time means little on
a machine with other work. A row is the median of the ratios of all pairs, with their quartiles.
"""

from __future__ import annotations

import gc
import math
import os
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from failgraph import settings

Work = Callable[[], object]


class Scale(NamedTuple):
    """How much is measured.

    Attributes:
        repeats: Pairs of a row.
        first: Pairs of a row whose goal is close to 1.
        spans: Spans of a file.
        events: Failures of a file, and the most of a report.
    """

    repeats: int = 30
    first: int = 60
    spans: int = 200_000
    events: int = 1_000_000


QUICK = Scale(repeats=10, first=20, spans=20_000, events=20_000)


class Row(NamedTuple):
    """One line of the table.

    Attributes:
        group: The group that the row belongs to.
        work: What was measured.
        against: What it was compared with.
        values: The result of each pair, in `unit`.
        goal: Upper limit of the median, or None without a goal.
        unit: The unit of `values`; × is a ratio.
        cost_us: CPU time of the work in µs, for each of `each`.
        each: What `cost_us` is divided by, such as "span".
    """

    group: str
    work: str
    against: str
    values: tuple[float, ...]
    goal: float | None = None
    unit: str = "×"
    cost_us: float | None = None
    each: str = ""

    @property
    def median(self) -> float:
        """The median of all pairs."""
        return statistics.median(self.values)

    @property
    def spread(self) -> tuple[float, float]:
        """The quartiles."""
        if len(self.values) < 3:
            return min(self.values), max(self.values)
        low, _, high = statistics.quantiles(self.values, n=4)
        return low, high

    @property
    def missed(self) -> bool:
        """True if the median is over the goal."""
        return self.goal is not None and self.median > self.goal


def cpu(run: Work) -> float:
    """Run `run` and return the CPU time of this thread, in seconds."""
    start = time.thread_time()
    run()
    return time.thread_time() - start


def child_cpu(command: Sequence[str], environ: Mapping[str, str] | None = None) -> float:
    """Run a process to its end and return its CPU time, in seconds."""
    process = subprocess.Popen(
        command, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{command} ended with {process.returncode}")
    return used.ru_utime + used.ru_stime


def pairs(
    work: Work, against: Work, repeats: int, clock: Callable[[Work], float] = cpu
) -> tuple[list[float], list[float]]:
    """Run both in turns, after a run each to warm up, and return the seconds of each.

    Args:
        work: What is measured.
        against: What it is compared with.
        repeats: The number of pairs.
        clock: Runs one of them and returns its seconds.
    """
    work(), against()
    times: tuple[list[float], list[float]] = ([], [])
    for turn in range(repeats):
        gc.collect()
        for which in (0, 1) if turn % 2 else (1, 0):
            times[which].append(clock((work, against)[which]))
    return times


def ratios(times: tuple[list[float], list[float]]) -> tuple[float, ...]:
    """Return the ratio of each pair."""
    return tuple(one / other for one, other in zip(*times, strict=True))


def more_ms(times: tuple[list[float], list[float]]) -> tuple[float, ...]:
    """Return the difference of each pair in ms."""
    return tuple((one - other) * 1000 for one, other in zip(*times, strict=True))


def exponent(sizes: Sequence[int], seconds: Sequence[float]) -> float:
    """Return the exponent of the growth: the slope of a line through the logarithms."""
    return statistics.linear_regression(
        list(map(math.log, sizes)), list(map(math.log, seconds))
    ).slope


@contextmanager
def setting(**values: str) -> Iterator[None]:
    """Set settings of this process, by their names without FAILGRAPH_, inside a `with`."""
    names = {f"FAILGRAPH_{name}": value for name, value in values.items()}
    os.environ.update(names)
    settings.current.cache_clear()
    try:
        yield
    finally:
        for name in names:
            del os.environ[name]
        settings.current.cache_clear()
