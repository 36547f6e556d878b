"""How long a call takes: warm-up, repeats, median and spread."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
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
