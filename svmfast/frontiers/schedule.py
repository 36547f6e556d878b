"""Runs candidates one by one within a time limit."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from svmfast.frontiers.child import OutOfTime
from svmfast.frontiers.grid import CandidateCommand

#: A candidate may take this many equal shares of the remaining time, since cheap ones leave most of theirs.
SHARES = 3.0
#: No candidate starts with fewer seconds left, since starting a program takes a good part of a second.
LEAST_SHARE = 2.0


def run_all(
    candidates: Sequence[CandidateCommand],
    attempt: Callable[[CandidateCommand, float], None],
    deadline: float,
) -> dict[str, str]:
    """Try candidates in order, dividing the remaining time; return the reasons for those left out, by name.

    Parameters
    ----------
    candidates : sequence of CandidateCommand
        Cheap ones first.
    attempt : callable
        Makes and measures a candidate within the given seconds, or raises :class:`OutOfTime`.
    deadline : float
        In the time of ``time.monotonic``.

    Notes
    -----
    If a candidate exceeds its share of the time, more expensive ones of its method would too, so they are
    postponed with it. The time that is left at the end is given to postponed candidates, in order.
    """
    waiting = list(candidates)
    given: dict[str, float] = {}
    while waiting:
        late: list[CandidateCommand] = []
        slow: set[str] = set()
        tried = False
        for done, candidate in enumerate(waiting):
            left = deadline - time.monotonic()
            share = min(left, max(LEAST_SHARE, SHARES * left / (len(waiting) - done)))
            # Retry a candidate only with clearly more time than before.
            enough = share >= LEAST_SHARE and share > 1.5 * given.get(candidate.name, 0.0)
            if candidate.method in slow or not enough:
                late.append(candidate)
                continue
            given[candidate.name] = share
            tried = True
            try:
                attempt(candidate, share)
            except OutOfTime:
                slow.add(candidate.method)
                late.append(candidate)
        waiting = late
        if not tried:
            break
    return {
        candidate.name: (
            f"not finished within {given[candidate.name]:.0f} s"
            if candidate.name in given
            else "not tried within the time limit"
        )
        for candidate in waiting
    }
