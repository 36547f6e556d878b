"""Timing of calls in turn: their medians, and their speeds relative to one of them with intervals."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

from svmfast.figures import Figures, computed, figure
from svmfast.progress import Progress, silent

T = TypeVar("T")


def _ends(interval: tuple[float, float]) -> list[float | None]:
    return list(interval)


@dataclass(frozen=True)
class Speed(Figures):
    """The speed of a call relative to a reference, from samples taken alternately.

    The interval is distribution-free, at level :data:`CONFIDENCE`, by order statistics (an inverted sign
    test); with too few samples it is 0 to infinity.
    """

    #: Median over the samples of the reference's seconds divided by the call's.
    ratio: float = figure("How many times as fast as the exact model the model is.", key="speedup")
    low: float  # type: ignore[misc]  # figures look like defaults
    high: float  # type: ignore[misc]
    samples: int  # type: ignore[misc]
    #: The times are processor times, summed over threads, because the wall clock's vary far more.
    processor: bool = False

    @computed.figure("95 % confidence interval of the speed-up.", key="speedup_interval", value=_ends)
    def interval(self) -> tuple[float, float]:
        return self.low, self.high

    @computed.figure("The clock of the times: wall or processor.", key="speedup_clock")
    def clock(self) -> str:
        return "processor" if self.processor else "wall"

    @property
    def narrow(self) -> bool:
        """Whether the ends of the interval differ by less than a tenth."""
        return self.high <= NARROW * self.low


#: Intervals of at most this width (high / low) can distinguish speeds that differ by a tenth.
NARROW = 1.1
CONFIDENCE = 0.95
#: Processor times are used if the spread of their ratios is below this multiple of the wall clock's.
PROCESSOR_SPREAD = 0.5
#: Processor times are used if a wall-clock speed is above so many times the speed by processor time.
FAVOURED = 1.25
#: With fewer samples there is no interval at this confidence.
LEAST_BLOCKS = 6
#: A sample repeats a call for at least this many seconds, because of the resolution of clocks and schedulers.
_LEAST_SAMPLE = 0.005


def median_ratio(ratios: Sequence[float], *, processor: bool = False) -> Speed:
    """The median of ratios, of processor time or not, with its confidence interval."""
    ordered = sorted(ratios)
    n = len(ordered)
    cut, tail = 0, 0.5**n
    # The median lies below the k-th smallest of n with probability P(Binomial(n, 1/2) < k).
    while tail <= (1 - CONFIDENCE) / 2:
        cut += 1
        tail += math.comb(n, cut) * 0.5**n
    low, high = (ordered[cut - 1], ordered[n - cut]) if cut else (0.0, math.inf)
    return Speed(statistics.median(ordered), low, high, n, processor)


def race(calls: Mapping[str, Callable[[], object]], *, limit_seconds: float = 20.0) -> dict[str, Speed]:
    """The speeds of calls relative to the first, timed after a warm-up (:func:`timed`)."""
    once = {name: first_call(call)[1] for name, call in calls.items()}
    return timed(calls, once, limit_seconds=limit_seconds).speeds


@dataclass(frozen=True)
class Timed:
    """Calls timed in turn: the median of each one's seconds, and its speed relative to the first one."""

    seconds: dict[str, float]
    speeds: dict[str, Speed]


class Rounds:
    """Times calls in turn, in rounds that may lie far apart, and compares each with a reference.

    Every round takes a sample of each call, soon after one of the reference, so that both run under the same
    load; samples that are minutes apart would compare loads rather than calls.

    Speeds are measured by wall-clock time. If other programs make its intervals wide, and the ratios of
    processor times vary far less (:data:`PROCESSOR_SPREAD`), all speeds are of processor time; so are they if
    a call is much faster by the wall clock than by processor time (:data:`FAVOURED`), since only a load that
    slows the reference more makes it so. Processor time overstates the speed of a call that keeps fewer
    threads busy than the reference (by 10 to 25 % for the fastest models), but wall-clock times under load
    were wrong by a factor of several.

    A sample repeats a call of about `seconds` only up to `longest` seconds. If `blocks` is not 0, the time
    from a call's first sample to its last is cut into so many blocks, and its speed and interval are those of
    the blocks' medians: many samples in a row see one load, and would outvote those of the rest of the time.
    If fewer than :data:`LEAST_BLOCKS` have samples, the samples count.
    """

    def __init__(
        self,
        reference: str,
        call: Callable[[], object],
        seconds: float,
        longest: float = math.inf,
        blocks: int = 0,
    ) -> None:
        self._blocks = blocks
        # All samples are equally long: a short one is less likely to be interrupted by other programs.
        self._length = max(_LEAST_SAMPLE, min(seconds, longest))
        self._reference = reference
        self._calls: dict[str, tuple[Callable[[], object], int]] = {}
        self._samples: dict[str, list[_Sample]] = {}
        self._ratios: dict[str, list[_Sample]] = {}
        self.add(reference, call, seconds)

    def add(self, name: str, call: Callable[[], object], seconds: float) -> None:
        """Add a call that takes about so many seconds."""
        self._calls[name] = call, max(1, round(self._length / seconds))
        self._samples[name] = []
        if name != self._reference:
            self._ratios[name] = []

    def round(self, names: Sequence[str]) -> None:
        """Take a sample of each of these calls."""
        since = math.inf  # time since the reference's last sample, in units of that sample
        for name in names or [self._reference]:
            if since >= 1:
                self._sample(self._reference)
                since = 0.0
            if name != self._reference:
                theirs = self._samples[self._reference][-1]
                own = self._sample(name)
                self._ratios[name].append(
                    _Sample(theirs.wall / own.wall, theirs.processor / own.processor, own.at)
                )
                since += own.wall * self._calls[name][1] / (theirs.wall * self._calls[self._reference][1])

    def _sample(self, name: str) -> _Sample:
        call, repeats = self._calls[name]
        start, start_processor = time.perf_counter(), time.process_time()
        for _ in range(repeats):
            call()
        wall, processor = time.perf_counter() - start, time.process_time() - start_processor
        found = _Sample(max(wall, 1e-9) / repeats, max(processor, 1e-9) / repeats, start)
        self._samples[name].append(found)
        return found

    def taken(self, name: str) -> int:
        """The number of samples of a call."""
        return len(self._samples[name])

    def wall(self, name: str) -> Speed:
        """The speed of a call by the wall clock."""
        return median_ratio([ratio.wall for ratio in self._of_blocks(name)])

    def _of_blocks(self, name: str) -> list[_Sample]:
        """The medians of the blocks of a call's ratios, or its ratios."""
        ratios = self._ratios[name]
        whole = ratios[-1].at - ratios[0].at if ratios else 0.0
        found: dict[int, list[_Sample]] = {}
        for one in ratios:
            found.setdefault(int(self._blocks * (one.at - ratios[0].at) / max(whole, 1e-9)), []).append(one)
        if not self._blocks or len(found) < LEAST_BLOCKS:
            return ratios
        return [_Sample(*map(statistics.median, zip(*block, strict=True))) for block in found.values()]

    def result(self) -> Timed:
        """The times and speeds of all calls that have a sample."""
        ratios = {name: self._of_blocks(name) for name, own in self._ratios.items() if own}
        found = _by_clock({name: self.wall(name) for name in ratios}, ratios)
        walls = {name: [one.wall for one in own] for name, own in self._samples.items() if own}
        alone = Speed(1.0, 1.0, 1.0, self.taken(self._reference))
        return Timed(
            {name: statistics.median(own) for name, own in walls.items()}, {self._reference: alone, **found}
        )


def timed(
    calls: Mapping[str, Callable[[], object]],
    once: Mapping[str, float],
    *,
    longest: float = math.inf,
    limit_seconds: float = 20.0,
    rounds: int = 40,
    progress: Progress = silent,
) -> Timed:
    """Time calls in rounds (:class:`Rounds`) until the interval of each is narrow, or until a limit.

    The first call is the reference; `once` has about the seconds of each, which has been called before. No
    round but the first starts after `limit_seconds`.
    """
    begin = time.perf_counter()
    reference, *running = calls
    race = Rounds(reference, calls[reference], once[reference], longest)
    for name in running:
        race.add(name, calls[name], once[name])
    for number in range(rounds):
        spent = time.perf_counter() - begin
        if number and (spent > limit_seconds or not running):
            break
        progress(min(spent, limit_seconds), limit_seconds, "timing")
        race.round(running)
        running = [name for name in running if not race.wall(name).narrow]
    return race.result()


class _Sample(NamedTuple):
    """Seconds of one call, or ratios of such, by either clock, and when it was taken."""

    wall: float
    processor: float
    at: float


def _by_clock(wall: dict[str, Speed], ratios: Mapping[str, Sequence[_Sample]]) -> dict[str, Speed]:
    """The speeds of the race: those by the `wall` clock, or all of them by processor time (:class:`Rounds`).

    The intervals then reach down to the wall clock's medians, which count the waiting of idle threads.
    """
    own = {name: [ratio.processor for ratio in samples] for name, samples in ratios.items()}
    processor = {name: median_ratio(samples, processor=True) for name, samples in own.items()}
    if all(one.ratio <= FAVOURED * processor[name].ratio for name, one in wall.items()):
        walls = [[ratio.wall for ratio in samples] for samples in ratios.values()]
        decided = all(one.narrow for one in wall.values())
        if decided or _spread(own.values()) >= PROCESSOR_SPREAD * _spread(walls):
            return wall
    return {name: replace(one, low=min(one.low, wall[name].ratio)) for name, one in processor.items()}


def _spread(ratios: Iterable[Sequence[float]]) -> float:
    """The median, over the calls, of how far the logarithms of a call's ratios lie apart."""
    return statistics.median(math.log(max(own) / min(own)) for own in ratios)


def first_call(call: Callable[[], T], *, slow: float = math.inf) -> tuple[T, float]:
    """Call once or, unless that is `slow`, twice; return the result and the last call's seconds.

    The first call includes page faults, packing and cold caches.
    """
    for _ in range(2):
        begin = time.perf_counter()
        result = call()
        seconds = time.perf_counter() - begin
        if seconds >= slow:
            break
    return result, max(seconds, 1e-6)


def times_as_fast(one: Callable[[], object], other: Callable[[], object]) -> float:
    """Race two calls: how many times as fast as `one` `other` is."""
    return race({"one": one, "other": other})["other"].ratio
