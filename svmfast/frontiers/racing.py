"""Times the models of ``svmfast frontier`` in rounds over the whole run."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from svmfast.evaluation.timing import LEAST_BLOCKS, Rounds, Timed, first_call

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


class Racing:
    """The rounds of a run; `wanted` names the models whose speeds decide, the fastest first if known."""

    def __init__(
        self,
        exact: Callable[[], object],
        wanted: Callable[[], Sequence[str]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._wanted, self._clock = wanted, clock
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

    def between(self) -> None:
        """Take a round between two candidates, if timing has not taken its share of the time."""
        begin = self._clock()
        if self._spent < SHARE * (begin - self._begin) and (names := self._wanted()):
            self._rounds.round(names)
            self._spent += self._clock() - begin

    def finish(self, end: float) -> None:
        """Time all models a few times, and those that decide until the interval of each is narrow.

        After `end` only the first models are timed, until they have intervals.
        """
        begin = self._clock()
        end = min(begin + MOST_TIMING, max(end, begin + LEAST_TIMING))
        self._decide(end - (end - begin) / 3, None)
        few = (name for name in self._names * FEW_ROUNDS if self._rounds.taken(name) < FEW_ROUNDS)
        for name in few:
            if self._clock() > end:
                break
            self._rounds.round([name])
        self._decide(end, None)
        self._decide(self._clock() + LEAST_TIMING, FIRST)

    def _decide(self, end: float, first: int | None) -> None:
        """Time the models that decide, or only the first ones until they have intervals."""
        while self._clock() < end:
            names = [name for name in self._wanted()[:first] if not self._known(name, first is None)]
            if not names:
                return
            self._rounds.round(names)

    def _known(self, name: str, precisely: bool) -> bool:
        enough = self._rounds.taken(name) >= LEAST_ROUNDS
        return enough and (self._rounds.wall(name).narrow or not precisely)

    def result(self) -> Timed:
        """The times and speeds of all models so far."""
        return self._rounds.result()
