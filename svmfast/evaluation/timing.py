"""Timing of calls: warm-up, repeats, median and spread."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from svmfast.progress import Progress, silent

T = TypeVar("T")


@dataclass(frozen=True)
class Timing:
    """The seconds that each repeat of a call took."""

    samples: tuple[float, ...]

    @property
    def seconds(self) -> float:
        """The median of the samples."""
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
        Number of timed calls.
    limit_seconds : float
        No further repeat starts after this time, but there is always one.
    warm_up : bool
        Call once before without timing, since the first call includes page faults, packing and cold caches. A
        first call that takes longer than the limit is timed.
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


@dataclass(frozen=True)
class Speed:
    """The speed of a call relative to a reference, from samples taken alternately.

    Attributes
    ----------
    ratio : float
        Median over the samples of the reference's seconds divided by the call's.
    low, high : float
        Ends of a distribution-free confidence interval of the median, at level :data:`CONFIDENCE`, by order
        statistics (an inverted sign test); 0 and infinity if there are too few samples.
    samples : int
    processor : bool
        Whether the times are processor times, summed over threads. They replace wall-clock times if these
        vary far more, as on a busy machine.
    """

    ratio: float
    low: float
    high: float
    samples: int
    processor: bool = False

    @property
    def narrow(self) -> bool:
        """Whether the ends of the interval differ by less than a tenth."""
        return self.high <= NARROW * self.low

    @property
    def clock(self) -> str:
        """The clock of the times, as reports name it: ``wall`` or ``processor``."""
        return "processor" if self.processor else "wall"


#: Intervals of at most this width (high / low) can distinguish speeds that differ by a tenth.
NARROW = 1.1
CONFIDENCE = 0.95
#: Processor times are used if the spread of their ratios is below this multiple of the wall clock's.
PROCESSOR_SPREAD = 0.5
#: A sample repeats a call for at least this many seconds, because of the resolution of clocks and schedulers.
_LEAST_SAMPLE = 0.005


def median_ratio(ratios: Sequence[float], *, processor: bool = False) -> Speed:
    """Return the median of ratios, with its confidence interval; `processor`: they are of processor time."""
    ordered = sorted(ratios)
    n = len(ordered)
    cut, tail = 0, 0.5**n
    # The median lies below the k-th smallest of n with probability P(Binomial(n, 1/2) < k).
    while tail <= (1 - CONFIDENCE) / 2:
        cut += 1
        tail += math.comb(n, cut) * 0.5**n
    low, high = (ordered[cut - 1], ordered[n - cut]) if cut else (0.0, math.inf)
    return Speed(statistics.median(ordered), low, high, n, processor)


def race(
    calls: Mapping[str, Callable[[], object]],
    *,
    limit_seconds: float = 20.0,
    rounds: int = 40,
    progress: Progress = silent,
) -> tuple[float, dict[str, Speed]]:
    """Return the median seconds of the first call, the reference, and the speed of each call relative to it.

    Each is called once to warm up. See :func:`timed` for the parameters.
    """
    once = {name: first_call(call)[1] for name, call in calls.items()}
    found = timed(calls, once, limit_seconds=limit_seconds, rounds=rounds, progress=progress)
    return found.timings[next(iter(calls))].seconds, found.speeds


@dataclass(frozen=True)
class Timed:
    """Calls timed in turn: the wall-clock time of each, and its speed relative to the first one."""

    timings: dict[str, Timing]
    speeds: dict[str, Speed]


def timed(
    calls: Mapping[str, Callable[[], object]],
    once: Mapping[str, float],
    *,
    longest: float = math.inf,
    limit_seconds: float = 20.0,
    rounds: int = 40,
    progress: Progress = silent,
) -> Timed:
    """Time calls in turn, and compare the speed of each with that of the first one, the reference.

    Every round takes a sample of each call, soon after one of the reference, so that both run under the same
    load; samples that are minutes apart would compare loads rather than calls. A call whose interval is
    narrow drops out. The race ends when all calls have dropped out, or at the time limit.

    Speeds are measured by wall-clock time. If other programs make its intervals wide, and the ratios of
    processor times vary far less (:data:`PROCESSOR_SPREAD`), all speeds of the race are of processor time.
    That overstates the speed of a call that keeps fewer threads busy than the reference (by 10 to 25 % for
    the fastest models), but wall-clock times under load were wrong by a factor of several.

    Parameters
    ----------
    calls : mapping of str to callable without arguments
    once : mapping of str to float
        About the seconds of each call, which has been called before.
    longest : float
        A sample repeats a call only up to this many seconds.
    limit_seconds : float
        No further round starts after this time, but there is always one.
    rounds : int
        The most rounds.
    progress : callable
    """
    begin = time.perf_counter()
    reference, *others = calls
    # All samples are equally long, because a short one is less likely to be interrupted by other programs.
    length = max(_LEAST_SAMPLE, min(once[reference], longest))
    repeats = {name: max(1, round(length / seconds)) for name, seconds in once.items()}

    def sample(name: str) -> _Sample:
        start, start_processor = time.perf_counter(), time.process_time()
        for _ in range(repeats[name]):
            calls[name]()
        wall, processor = time.perf_counter() - start, time.process_time() - start_processor
        return _Sample(max(wall, 1e-9) / repeats[name], max(processor, 1e-9) / repeats[name])

    samples: dict[str, list[_Sample]] = {name: [] for name in calls}
    ratios: dict[str, list[_Sample]] = {name: [] for name in others}
    found = {name: Speed(1.0, 1.0, 1.0, 0) for name in others}
    running = others
    for number in range(rounds):
        spent = time.perf_counter() - begin
        if number and (spent > limit_seconds or not running):
            break
        progress(min(spent, limit_seconds), limit_seconds, "timing")
        since = math.inf  # time since the reference's last sample, in units of that sample
        for name in running or [reference]:
            if since >= 1:
                samples[reference].append(sample(reference))
                since = 0.0
            if name != reference:
                own, theirs = sample(name), samples[reference][-1]
                samples[name].append(own)
                ratios[name].append(_Sample(theirs.wall / own.wall, theirs.processor / own.processor))
                since += own.wall * repeats[name] / (theirs.wall * repeats[reference])
        found |= {name: median_ratio([ratio.wall for ratio in ratios[name]]) for name in running}
        running = [name for name in running if not found[name].narrow]
    if running:
        found = _by_clock(found, ratios)
    timings = {name: Timing(tuple(one.wall for one in own)) for name, own in samples.items()}
    return Timed(timings, {reference: Speed(1.0, 1.0, 1.0, len(samples[reference])), **found})


class _Sample(NamedTuple):
    """Seconds of one call, or ratios of such, by either clock."""

    wall: float
    processor: float


def _by_clock(found: dict[str, Speed], ratios: Mapping[str, Sequence[_Sample]]) -> dict[str, Speed]:
    """Return the speeds of the race: those `found` by the wall clock, or all of them by processor time."""
    wall = {name: [ratio.wall for ratio in own] for name, own in ratios.items()}
    processor = {name: [ratio.processor for ratio in own] for name, own in ratios.items()}
    if _spread(processor.values()) >= PROCESSOR_SPREAD * _spread(wall.values()):
        return found
    return {name: median_ratio(own, processor=True) for name, own in processor.items()}


def _spread(ratios: Iterable[Sequence[float]]) -> float:
    """Return the median, over the calls, of how far the logarithms of a call's ratios lie apart."""
    return statistics.median(math.log(max(own) / min(own)) for own in ratios)


def first_call(call: Callable[[], T], *, slow: float = math.inf) -> tuple[T, float]:
    """Return what `call` returns, and the seconds of a second call; of the first one if it is `slow`."""
    start = time.perf_counter()
    result = call()
    seconds = time.perf_counter() - start
    if seconds < slow:
        start = time.perf_counter()
        result = call()
        seconds = time.perf_counter() - start
    return result, max(seconds, 1e-6)


def times_as_fast(one: Callable[[], object], other: Callable[[], object]) -> float:
    """Race two calls, and return how many times as fast as `one` `other` is."""
    _, speeds = race({"one": one, "other": other})
    return speeds["other"].ratio
