"""How long a call takes: warm-up, repeats, median and spread."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Timing:
    """Seconds a call took, over its repeats."""

    samples: tuple[float, ...]

    @property
    def seconds(self) -> float:
        """The median."""
        return statistics.median(self.samples)

    @property
    def fastest(self) -> float:
        return min(self.samples)

    @property
    def slowest(self) -> float:
        return max(self.samples)


def measure(
    call: Callable[[], T], *, repeats: int = 5, limit_seconds: float = 20.0, warm_up: bool = True
) -> tuple[T, Timing]:
    """Return what `call` returns, and its timing.

    Parameters
    ----------
    call : callable without arguments
    repeats : int
        Timed calls; the median counts.
    limit_seconds : float
        Start no further repeat once so much time is spent; there is always one.
    warm_up : bool
        Call once before, untimed: the first call pays for page faults, packing and cold caches. A call that
        alone uses up the limit is its own warm-up.
    """
    begin = time.perf_counter()
    result = call()
    first = time.perf_counter() - begin
    samples = [] if warm_up and first < limit_seconds else [first]
    while len(samples) < repeats and (not samples or time.perf_counter() - begin < limit_seconds):
        start = time.perf_counter()
        result = call()
        samples.append(time.perf_counter() - start)
    return result, Timing(tuple(samples))


def race(
    calls: Mapping[str, Callable[[], object]], *, rounds: int = 7, limit_seconds: float = 20.0
) -> dict[str, float]:
    """Return the fastest seconds of each call; every round makes each once, so that all meet the same load.

    Other work on the machine only ever adds time, and comes and goes: medians taken minutes apart compare
    its load, not the calls.

    Parameters
    ----------
    calls : mapping of str to callable without arguments
    rounds : int
        After one to warm up.
    limit_seconds : float
        Start no further round once so much time is spent; there is always one.
    """
    begin = time.perf_counter()
    fastest = dict.fromkeys(calls, math.inf)
    for number in range(rounds + 1):
        if number > 1 and time.perf_counter() - begin > limit_seconds:
            break
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            seconds = time.perf_counter() - start
            if number:
                fastest[name] = min(fastest[name], seconds)
    return fastest
