"""The time that a run of ``svmfast frontier`` will still take, from estimated and measured times."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from svmfast.frontiers.grid import CandidateCommand
from svmfast.progress import duration

#: Seconds to start a process and to measure its model, in addition to the estimated ones.
START = 1.0
#: Estimated seconds whose measurement weighs as much as what is known without it.
PRIOR = 2.0
#: A candidate that has taken longer than expected is expected to take this share of its time more.
OVERDUE = 0.5
#: Seconds to time each model.
TIMING = 1.0


@dataclass(frozen=True)
class Left:
    """The remaining time in seconds, and whether it is a limit rather than an estimate."""

    seconds: float
    is_limit: bool

    def __str__(self) -> str:
        return f"{'at most' if self.is_limit else 'about'} {duration(self.seconds)} left"


class Forecast:
    """Foresees the time of candidates: the methods' estimates, corrected by the times measured so far.

    Parameters
    ----------
    deadline : float
        No candidate is made after this time of `clock`.
    most_timing : callable
        Returns the limit on the seconds of timing, which begins at the given time.
    clock : callable
    """

    def __init__(
        self,
        deadline: float,
        most_timing: Callable[[float], float],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._deadline, self._most_timing, self._clock = deadline, most_timing, clock
        self._begin = clock()
        self._done: dict[str, list[tuple[float, float]]] = {}  # estimated and measured seconds, by method
        self._least: dict[str, float] = {}  # seconds that did not suffice, by candidate
        self._running: CandidateCommand | None = None
        self._since = self._limit = 0.0
        self._share = 0.0

    def start(self, candidate: CandidateCommand, limit: float) -> None:
        """Note that a candidate starts, and its limit in seconds."""
        self._running, self._since, self._limit = candidate, self._clock(), limit

    def stop(self, *, finished: bool) -> None:
        """Note that the running candidate has ended, or was stopped at its limit."""
        assert self._running is not None
        taken = self._clock() - self._since
        if finished:
            self._done.setdefault(self._running.method, []).append((self._running.seconds + START, taken))
        else:
            self._least[self._running.name] = taken
        self._running = None

    def seconds(self, candidate: CandidateCommand) -> float:
        """Return the seconds that a candidate is expected to take."""
        every = [pair for pairs in self._done.values() for pair in pairs]
        ratio = _ratio(self._done.get(candidate.method, ()), _ratio(every, 1.0))
        return max(ratio * (candidate.seconds + START), (1 + OVERDUE) * self._least.get(candidate.name, 0.0))

    def left(self, waiting: Iterable[CandidateCommand], models: int) -> Left:
        """Return the time for the running candidate, those that wait, and the timing of all models.

        Parameters
        ----------
        waiting : iterable of CandidateCommand
            Without the running one.
        models : int
            The number of models that will be timed.
        """
        now = self._clock()
        making = sum(map(self.seconds, waiting))
        if self._running is not None:
            passed = now - self._since
            rest = max(self.seconds(self._running) - passed, OVERDUE * passed)
            making += min(rest, max(0.0, self._limit - passed))
        if now + making > self._deadline:
            end = max(now, self._deadline)
            return Left(end - now + self._most_timing(end), True)
        return Left(making + min(self._most_timing(now + making), TIMING * models), False)

    def share(self, left: Left) -> float:
        """Return the share of the whole time that has passed; it never decreases."""
        passed = self._clock() - self._begin
        self._share = max(self._share, passed / max(passed + left.seconds, 1e-9))
        return self._share


def _ratio(pairs: Iterable[tuple[float, float]], prior: float) -> float:
    """Return the ratio of measured to estimated seconds, drawn towards `prior` while little is measured."""
    pairs = list(pairs)
    estimated, measured = sum(pair[0] for pair in pairs), sum(pair[1] for pair in pairs)
    return (measured + prior * PRIOR) / (estimated + PRIOR)
