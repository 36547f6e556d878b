"""Running candidates one by one within a time limit."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from svmfast.frontiers.child import OutOfTime
from svmfast.frontiers.grid import CandidateCommand

#: A candidate may take so many equal shares of the time that is left: cheap ones leave most of theirs.
SHARES = 3.0
#: Seconds without which no candidate is started: a program takes a good part of one to begin.
LEAST_SHARE = 2.0


def run_all(
    candidates: Sequence[CandidateCommand],
    attempt: Callable[[CandidateCommand, float], None],
    deadline: float,
) -> dict[str, str]:
    """Try candidates in order, and share the time that is left; return the reasons of those left out.

    Parameters
    ----------
    candidates : sequence of CandidateCommand
        Cheap ones first.
    attempt : callable
        Makes and measures one within seconds; raises :class:`OutOfTime`.
    deadline : float
        By ``time.monotonic``.

    Notes
    -----
    Where a candidate runs out of its share, dearer ones of its method would too and wait with it; what time
    is left at the end goes to those that waited, in order.
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
            # Once more only with clearly more time than it had.
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
