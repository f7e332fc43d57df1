"""CPU times, measured in pairs: the work and what it is held against, in turns, in one run.

The clock is that of the thread, or the CPU time of a child: on a machine that others use too, time that passes says
nothing. Of the ratios of all pairs the median counts, with the quartiles as the spread.
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
    """How much is measured."""

    repeats: int = 30
    first: int = 60
    """Repeats of the rows whose goal is nearest to 1."""
    spans: int = 200_000
    events: int = 1_000_000


QUICK = Scale(repeats=10, first=20, spans=20_000, events=20_000)


class Row(NamedTuple):
    """One line of the table."""

    group: str
    work: str
    against: str
    values: tuple[float, ...]
    """One for each pair; what the unit says."""
    goal: float | None = None
    """The most that the median should be; None where it is only stated."""
    unit: str = "×"
    cost_us: float | None = None
    """CPU time of the work that was measured, in µs for each of `each`."""
    each: str = ""

    @property
    def median(self) -> float:
        """What the table shows."""
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
        """Whether the median is over the goal."""
        return self.goal is not None and self.median > self.goal


def cpu(run: Work) -> float:
    """Seconds of CPU time that this thread worked."""
    start = time.thread_time()
    run()
    return time.thread_time() - start


def child_cpu(command: Sequence[str], environ: Mapping[str, str] | None = None) -> float:
    """Seconds of CPU time of a process, from its start to its end."""
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
    """Seconds of the one and of the other, in turns; each was run once before."""
    work(), against()
    found: tuple[list[float], list[float]] = ([], [])
    for turn in range(repeats):
        gc.collect()
        for which in (0, 1) if turn % 2 else (1, 0):
            found[which].append(clock((work, against)[which]))
    return found


def ratios(times: tuple[list[float], list[float]]) -> tuple[float, ...]:
    """Of each pair the one divided by the other."""
    return tuple(one / other for one, other in zip(*times, strict=True))


def more_ms(times: tuple[list[float], list[float]]) -> tuple[float, ...]:
    """Of each pair how many ms the one took more."""
    return tuple((one - other) * 1000 for one, other in zip(*times, strict=True))


def exponent(sizes: Sequence[int], seconds: Sequence[float]) -> float:
    """How the time grows: the slope of a line through the logarithms."""
    return statistics.linear_regression(
        list(map(math.log, sizes)), list(map(math.log, seconds))
    ).slope


@contextmanager
def setting(**values: str) -> Iterator[None]:
    """Settings of this process, by their names without the prefix, for a while."""
    names = {f"FAILGRAPH_{name}": value for name, value in values.items()}
    os.environ.update(names)
    settings.current.cache_clear()
    try:
        yield
    finally:
        for name in names:
            del os.environ[name]
        settings.current.cache_clear()
