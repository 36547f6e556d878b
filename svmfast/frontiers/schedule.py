"""Runs candidates one by one within a time limit."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence

from svmfast.frontiers.child import OutOfTime
from svmfast.frontiers.grid import CandidateCommand

#: A candidate may take this many equal shares of the remaining time, since cheap ones leave most of theirs.
SHARES = 3.0
#: No candidate starts with fewer seconds left, since starting a program takes a good part of a second.
LEAST_SHARE = 2.0
#: While other methods wait, a method may use at most this share of its time so far and the remaining time.
OF_A_METHOD = 0.5

#: Makes and measures a candidate within the given seconds, or raises OutOfTime; returns another one to try
#: after those that are sized to a limit, if the result suggests one.
Attempt = Callable[[CandidateCommand, float], CandidateCommand | None]


def run_all(
    candidates: Sequence[CandidateCommand],
    attempt: Attempt,
    deadline: float,
) -> dict[str, str]:
    """Try candidates in order, dividing the remaining time; return the reasons for those left out, by name.

    Parameters
    ----------
    candidates : sequence of CandidateCommand
        In the order of trial.
    attempt : callable
    deadline : float
        In the time of ``time.monotonic``.

    Notes
    -----
    If a candidate exceeds its share of the time, more expensive ones of its method would too, so they are
    postponed with it. The time that is left at the end is given to postponed candidates, in order. A
    candidate that is sized to a limit on bytes may take all the time of its method, since it is wanted most.
    """
    waiting = list(candidates)
    given: dict[str, float] = {}
    used: dict[str, float] = {}
    tried = True
    while waiting and tried:
        late: list[CandidateCommand] = []
        slow: dict[str, int] = {}
        tried = False
        while waiting:
            candidate = waiting.pop(0)
            begin = time.monotonic()
            share = _share(candidate, waiting, late, used, deadline - begin)
            # Retry a candidate only with clearly more time than before.
            enough = share >= LEAST_SHARE and share > 1.5 * given.get(candidate.name, 0.0)
            if candidate.level >= slow.get(candidate.method, math.inf) or not enough:
                late.append(candidate)
                continue
            given[candidate.name] = share
            tried = True
            try:
                following = attempt(candidate, share)
            except OutOfTime:
                slow[candidate.method] = candidate.level
                late.append(candidate)
            else:
                if following is not None:
                    waiting.insert(sum(one.sized for one in waiting), following)
            used[candidate.method] = used.get(candidate.method, 0.0) + time.monotonic() - begin
        waiting = late
    return {
        candidate.name: (
            f"not finished within {given[candidate.name]:.0f} s"
            if candidate.name in given
            else "not tried within the time limit"
        )
        for candidate in waiting
    }


def _share(
    candidate: CandidateCommand,
    waiting: Sequence[CandidateCommand],
    late: Sequence[CandidateCommand],
    used: dict[str, float],
    left: float,
) -> float:
    """Return the seconds that a candidate may take."""
    share = left
    if not candidate.sized:
        share = max(LEAST_SHARE, SHARES * left / (len(waiting) + 1))
    if any(other.method != candidate.method for other in (*waiting, *late)):
        own = used.get(candidate.method, 0.0)
        share = min(share, max(OF_A_METHOD * (left + own) - own, 0.0 if own else LEAST_SHARE))
    return min(left, share)
