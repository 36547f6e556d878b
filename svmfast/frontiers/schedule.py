"""The order in which candidates are made, and how they share the time."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence

from svmfast.frontiers.plan import CandidateCommand

#: A candidate may take this many equal shares of the remaining time, since cheap ones leave most of theirs.
SHARES = 3.0
#: No candidate starts with fewer seconds left, since starting a program takes a good part of a second.
LEAST_SHARE = 2.0
#: While other methods wait, a method may use at most this share of its time so far and the remaining time.
OF_A_METHOD = 0.5


class Schedule:
    """The order of candidates, and the seconds that each may take.

    If a candidate exceeds its share of the time, more expensive ones of its method would too, so they are
    postponed with it. The time that is left at the end is given to postponed candidates, in order. A
    candidate that is made for a limit on bytes may take all the time of its method. The deadline is in the
    time of ``time.monotonic``.
    """

    def __init__(self, candidates: Sequence[CandidateCommand], deadline: float) -> None:
        self._waiting, self._late, self._deadline = list(candidates), list[CandidateCommand](), deadline
        self._given: dict[str, float] = {}  # seconds, by candidate
        self._used: dict[str, float] = {}  # seconds, by method
        self._slow: dict[str, int] = {}  # the level that took too long, by method

    def turns(self) -> Iterator[tuple[CandidateCommand, float]]:
        """Yield each candidate to try, and its seconds; the time until the next turn is its own."""
        tried = True
        while self._waiting and tried:
            tried, self._late, self._slow = False, [], {}
            while self._waiting:
                candidate = self._waiting.pop(0)
                begin = time.monotonic()
                share = self._share(candidate, self._deadline - begin)
                # Retry a candidate only with clearly more time than before.
                enough = share >= LEAST_SHARE and share > 1.5 * self._given.get(candidate.name, 0.0)
                if candidate.level >= self._slow.get(candidate.method, math.inf) or not enough:
                    self._late.append(candidate)
                    continue
                self._given[candidate.name] = share
                tried = True
                yield candidate, share
                used = self._used.get(candidate.method, 0.0)
                self._used[candidate.method] = used + time.monotonic() - begin
            self._waiting = self._late

    def postpone(self, candidate: CandidateCommand) -> None:
        """Note that a candidate took longer than its turn."""
        self._slow[candidate.method] = candidate.level
        self._late.append(candidate)

    def late(self) -> dict[str, str]:
        """The reasons for the candidates that were not made, by name."""
        return {
            one.name: f"not finished within {self._given[one.name]:.0f} s"
            if one.name in self._given
            else "not tried within the time limit"
            for one in self._waiting
        }

    def _share(self, candidate: CandidateCommand, left: float) -> float:
        """The seconds that a candidate may take."""
        share = left if candidate.sized else max(LEAST_SHARE, SHARES * left / (len(self._waiting) + 1))
        if any(other.method != candidate.method for other in (*self._waiting, *self._late)):
            own = self._used.get(candidate.method, 0.0)
            share = min(share, max(OF_A_METHOD * (left + own) - own, 0.0 if own else LEAST_SHARE))
        return min(left, share)
