"""L-BFGS without bounds: the two-loop recursion and a line search for the weak Wolfe conditions.

Nocedal and Wright, Numerical Optimization, algorithm 7.4. The line search by doubling and bisection is that
of Lewis and Overton ("Nonsmooth optimization via quasi-Newton methods", Mathematical Programming 141, 2013).
It needs only a continuous gradient, and the squared hinge loss has no more. Unlike SciPy's L-BFGS-B, it
spends no time on bounds, which took a third of the time for many small cells.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from svmfast.rows import FloatArray

#: Number of corrections that are kept.
MEMORY = 20
#: Constants of the Wolfe conditions: sufficient decrease and curvature.
_DECREASE, _CURVATURE = 1e-4, 0.9
#: The most evaluations of a line search.
_MOST_TRIALS = 20


@dataclass(frozen=True, eq=False)
class Minimum:
    """The result of the iterations."""

    x: FloatArray
    value: float
    iterations: int
    evaluations: int


def minimize(
    fun: Callable[[FloatArray], tuple[float, FloatArray]],
    start: FloatArray,
    iterations: int,
    *,
    tolerance: float = 1e-9,
) -> Minimum:
    """Minimize a function that returns its value and a continuous gradient, in at most `iterations`.

    An iteration that decreases the value by at most the share `tolerance` is the last. The value of the
    result is not larger than at the start.
    """
    x, evaluations = start.copy(), 1
    value, gradient = fun(x)
    steps: list[FloatArray] = []
    changes: list[FloatArray] = []
    inverses: list[float] = []
    done = 0
    for done in range(1, iterations + 1):
        direction = _direction(gradient, steps, changes, inverses)
        slope = float(direction @ gradient)
        if slope >= 0:  # rounding has ruined the corrections
            steps, changes, inverses = [], [], []
            direction, slope = -gradient, -float(gradient @ gradient)
        if slope == 0:
            done -= 1
            break
        first = 1.0 if steps else min(1.0, 1 / float(np.sqrt(-slope)))
        length, least, reached, trials = _search(fun, x, value, direction, slope, first)
        evaluations += trials
        if length == 0:  # the remaining decrease is rounding
            done -= 1
            break
        step, change = length * direction, reached - gradient
        curvature = float(step @ change)
        # Relative to both lengths, so that the test does not depend on the scale of the function.
        if curvature > 1e-10 * float(np.sqrt((step @ step) * (change @ change))):
            steps.append(step)
            changes.append(change)
            inverses.append(1 / curvature)
            if len(steps) > MEMORY:
                del steps[0], changes[0], inverses[0]
        x = x + step
        before, value, gradient = value, least, reached
        if before - value <= tolerance * max(abs(before), abs(value)):
            break
    return Minimum(x, value, done, evaluations)


def _direction(
    gradient: FloatArray, steps: list[FloatArray], changes: list[FloatArray], inverses: list[float]
) -> FloatArray:
    q = -gradient
    if not steps:
        return q
    shares = []
    for s, y, inverse in zip(reversed(steps), reversed(changes), reversed(inverses), strict=True):
        share = inverse * float(s @ q)
        shares.append(share)
        q -= share * y
    q *= 1 / (inverses[-1] * float(changes[-1] @ changes[-1]))
    for s, y, inverse, share in zip(steps, changes, inverses, reversed(shares), strict=True):
        q += (share - inverse * float(y @ q)) * s
    return q


def _search(
    fun: Callable[[FloatArray], tuple[float, FloatArray]],
    x: FloatArray,
    value: float,
    direction: FloatArray,
    slope: float,
    length: float,
) -> tuple[float, float, FloatArray, int]:
    """Return length, value, gradient and evaluations of a step that meets the weak Wolfe conditions.

    If there is none, that is the best step tried, or one of length 0.
    """
    low, high = 0.0, np.inf
    best = (0.0, value, np.zeros(0))
    for trial in range(1, _MOST_TRIALS + 1):
        at, gradient = fun(x + length * direction)
        if not at <= value + _DECREASE * length * slope:
            high = length
        else:
            if at < best[1]:
                best = (length, at, gradient)
            if float(gradient @ direction) >= _CURVATURE * slope:
                return length, at, gradient, trial
            low = length
        length = (low + high) / 2 if high < np.inf else 2 * low
    return (*best, _MOST_TRIALS)
