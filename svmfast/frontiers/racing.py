"""Times the models of ``svmfast frontier`` in rounds over the whole run, on some of the choosing rows."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from svmfast.evaluation.timing import LEAST_BLOCKS, Rounds, Speed, first_call
from svmfast.models.scaling import Scaling
from svmfast.rows import Rows

#: Speeds are measured on the rows that the exact model answers in this share of the time limit, within limits
#: in seconds, and on at least LEAST_SAMPLE rows unless these take LEAST_FACTOR times as long. Where there are
#: fewer, they are repeated, up to about SAMPLE_BYTES: with few rows, the start of threads takes long.
SAMPLE_SHARE, SAMPLE_SECONDS = 1 / 1000, (0.01, 0.1)
LEAST_SAMPLE, LEAST_FACTOR, SAMPLE_BYTES = 1_000, 10, 1 << 24
#: Every model is timed in this many rounds.
FEW_ROUNDS = 3
#: The speeds that decide are known after this many rounds at least: fewer give no interval.
LEAST_ROUNDS = LEAST_BLOCKS
#: Speeds are those of this many parts of the run.
BLOCKS = 24
#: While candidates are made, this share of the time goes into rounds, so that all do not see the same load.
SHARE = 0.1
#: Seconds of timing at the end: at most, and at least, beyond the time limit if need be.
MOST_TIMING, LEAST_TIMING = 60.0, 3.0
#: Models that are timed beyond the time limit, until their intervals are known.
FIRST = 2

#: Names the models whose speeds decide, the fastest first if known, by the speeds so far.
Contenders = Callable[[Mapping[str, Speed]], Sequence[str]]


class Racing:
    """The rounds of a run: calls by name, each timed in turn with the call of the exact model.

    It knows nothing but their times: the `contenders`, to whom most rounds go, are the caller's choice.
    """

    def __init__(self, exact: Callable[[], object], clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._begin, self._spent = clock(), 0.0
        self._names: list[str] = []
        self._rounds = Rounds("exact", exact, first_call(exact)[1], blocks=BLOCKS)
        self._rounds.round(["exact"])

    def add(self, name: str, call: Callable[[], object]) -> None:
        """Add a model and take its first sample."""
        begin = self._clock()
        self._rounds.add(name, call, first_call(call)[1])
        self._names.append(name)
        self._rounds.round([name])
        self._spent += self._clock() - begin

    def between(self, contenders: Contenders) -> None:
        """Take a round between two candidates, if timing has not taken its share of the time."""
        begin = self._clock()
        if self._spent < SHARE * (begin - self._begin) and (names := contenders(self.speeds())):
            self._rounds.round(names)
            self._spent += self._clock() - begin

    def finish(self, end: float, contenders: Contenders) -> None:
        """Time all models a few times, and the contenders until the interval of each is narrow.

        After `end` only the first models are timed, until they have intervals.
        """
        begin = self._clock()
        end = min(begin + MOST_TIMING, max(end, begin + LEAST_TIMING))
        self._decide(end - (end - begin) / 3, contenders)
        few = (name for name in self._names * FEW_ROUNDS if self._rounds.taken(name) < FEW_ROUNDS)
        for name in few:
            if self._clock() > end:
                break
            self._rounds.round([name])
        self._decide(end, contenders)
        self._decide(self._clock() + LEAST_TIMING, contenders, FIRST)

    def _decide(self, end: float, contenders: Contenders, first: int | None = None) -> None:
        """Time the contenders, or only the first ones until they have intervals."""
        while self._clock() < end:
            wanted = contenders(self.speeds())[:first]
            names = [name for name in wanted if not self._known(name, first is None)]
            if not names:
                return
            self._rounds.round(names)

    def _known(self, name: str, precisely: bool) -> bool:
        enough = self._rounds.taken(name) >= LEAST_ROUNDS
        return enough and (self._rounds.wall(name).narrow or not precisely)

    def speeds(self) -> dict[str, Speed]:
        """The speeds of all models so far."""
        return self._rounds.result().speeds


def timed_rows(rows: Rows, exact_seconds: float, left: float, scaling: Scaling | None, seed: int) -> Rows:
    """Enough of the `rows` to compare speeds, scaled, and few enough for many rounds.

    `exact_seconds` is the time that the exact model takes for all `rows`, `left` that until the run's end.
    """
    least, most = SAMPLE_SECONDS
    rate = len(rows) / max(exact_seconds, 1e-9)
    n = max(1, int(rate * min(most, max(least, SAMPLE_SHARE * left))))
    cells = rows.nnz if scaling is None else max(rows.nnz, len(rows) * scaling.moved_zeros)
    room = SAMPLE_BYTES * len(rows) // (16 * (cells + len(rows)))
    n = max(min(max(len(rows), room), n), min(LEAST_SAMPLE, LEAST_FACTOR * n))
    n = n if scaling is None else min(n, scaling.timed_rows)
    order = np.random.default_rng(seed).permutation(len(rows))
    rows = rows.take(np.sort(np.resize(order, n)))
    return rows if scaling is None else scaling.apply(rows)
