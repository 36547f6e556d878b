"""How long a call takes: warm-up, repeats, median and spread."""

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
        Call once before, untimed: the first call includes page faults, packing and cold caches. A call that
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


@dataclass(frozen=True)
class Speed:
    """How many times as fast as the reference a call is, over samples taken in turn with the reference's.

    Attributes
    ----------
    ratio : float
        Median of the reference's seconds over the call's, sample by sample.
    low, high : float
        With :data:`CONFIDENCE` the median of all such ratios lies between them, whatever their distribution
        (order statistics, a sign test turned round); 0 and infinity where there are too few samples.
    samples : int
    processor : bool
        The times are of processors, added up over threads, in place of the wall clock's: those varied far
        more, as they do where other programs run on the same processors.
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


#: Two speeds a tenth apart are distinguished by intervals no wider than that.
NARROW = 1.1
CONFIDENCE = 0.95
#: Ratios of processor times must be spread so much less than those of the wall clock to be taken instead.
PROCESSOR_SPREAD = 0.5
#: A sample repeats a call until it takes so many seconds: clocks and schedulers have a grain.
_LEAST_SAMPLE = 0.005


def median_ratio(ratios: Sequence[float], *, processor: bool = False) -> Speed:
    """Return the median of ratios and its interval; `processor` if they are of processor time."""
    ordered = sorted(ratios)
    n = len(ordered)
    cut, tail = 0, 0.5**n
    # The median lies below the k smallest of n with probability P(Binomial(n, 1/2) < k).
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
    """Return the median seconds of the first call, the reference, and every call's speed over it.

    Every round takes a sample of each call, with one of the reference not long before, so that both meet the
    same load: other work comes and goes, and figures taken minutes apart compare the load, not the calls. A
    call whose interval is narrow drops out; the race ends when all have, or the time is over.

    Speeds are of the wall clock. Where it leaves intervals wide, because other programs take turns with the
    calls, and the ratios of processor times are spread far less (:data:`PROCESSOR_SPREAD`), all speeds of the
    race are of processor time. That flatters a call that keeps fewer threads busy than the reference does (by
    a tenth to a quarter for the fastest models); the wall clock under load was off by several times.

    Parameters
    ----------
    calls : mapping of str to callable without arguments
    limit_seconds : float
        Start no further round once so much time is spent; there is always one.
    rounds : int
        Most rounds, after one to warm up.
    progress : callable
    """
    begin = time.perf_counter()
    reference, *others = calls
    once = {name: _seconds(call) for name, call in calls.items()}
    # A short sample may fit between two turns of another program where a long one cannot: all are as long.
    length = max(_LEAST_SAMPLE, once[reference])
    repeats = {name: max(1, round(length / seconds)) for name, seconds in once.items()}

    def sample(name: str) -> _Sample:
        start, start_processor = time.perf_counter(), time.process_time()
        for _ in range(repeats[name]):
            calls[name]()
        wall, processor = time.perf_counter() - start, time.process_time() - start_processor
        return _Sample(max(wall, 1e-9) / repeats[name], max(processor, 1e-9) / repeats[name])

    samples: list[_Sample] = []
    ratios: dict[str, list[_Sample]] = {name: [] for name in others}
    found = {name: Speed(1.0, 1.0, 1.0, 0) for name in others}
    running = others
    for number in range(rounds):
        spent = time.perf_counter() - begin
        if number and (spent > limit_seconds or not running):
            break
        progress(min(spent, limit_seconds), limit_seconds, "timing")
        since = math.inf  # seconds since the reference's last sample, in samples of it
        for name in running or [reference]:
            if since >= 1:
                samples.append(sample(reference))
                since = 0.0
            if name != reference:
                own, theirs = sample(name), samples[-1]
                ratios[name].append(_Sample(theirs.wall / own.wall, theirs.processor / own.processor))
                since += own.wall * repeats[name] / (theirs.wall * repeats[reference])
        found |= {name: median_ratio([ratio.wall for ratio in ratios[name]]) for name in running}
        running = [name for name in running if not found[name].narrow]
    if running:
        found = _by_clock(found, ratios)
    seconds = statistics.median(one.wall for one in samples)
    return seconds, {reference: Speed(1.0, 1.0, 1.0, len(samples)), **found}


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


def _seconds(call: Callable[[], object]) -> float:
    """Warm up, and return the seconds of a call."""
    call()
    start = time.perf_counter()
    call()
    return max(time.perf_counter() - start, 1e-6)


def times_as_fast(one: Callable[[], object], other: Callable[[], object]) -> float:
    """Race two calls and return how many times as fast `other` is as `one`."""
    _, speeds = race({"one": one, "other": other})
    return speeds["other"].ratio
