"""Exact confidence limits for a binomial proportion and for a Poisson mean.

Clopper and Pearson, Biometrika 26, 1934; Garwood, Biometrika 28, 1936. For sums of proportions, see
:func:`sum_interval`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

CONFIDENCE = 0.95


def clopper_pearson(successes: int, n: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Return the two-sided confidence interval of the proportion, from `successes` in `n` trials."""
    tail = (1 - confidence) / 2
    low = 1 - upper_limit(n - successes, n, 1 - tail)
    return low, upper_limit(successes, n, 1 - tail)


def upper_limit(successes: int, n: int, confidence: float = CONFIDENCE) -> float:
    """Return the one-sided upper confidence limit of the proportion, from `successes` in `n` trials."""
    from scipy.special import betaincinv

    return float(betaincinv(successes + 1, n - successes, confidence)) if successes < n else 1.0


def largest_count(n: int, share: float, confidence: float = CONFIDENCE) -> int:
    """Return the largest count in n trials whose :func:`upper_limit` is at most `share`; -1 if none is."""
    low, high = -1, n
    while low < high:  # the limit grows with the count
        middle = (low + high + 1) // 2
        if upper_limit(middle, n, confidence) <= share:
            low = middle
        else:
            high = middle - 1
    return low


def trials_needed(share: float, confidence: float = CONFIDENCE) -> int:
    """Return the number of trials without success that shows that the proportion is at most `share`."""
    return math.ceil(math.log1p(-confidence) / math.log1p(-share))


def poisson_limits(count: int, tail: float) -> tuple[float, float]:
    """Return lower and upper confidence limits of a Poisson mean; each errs with probability `tail`."""
    from scipy.special import gammaincinv

    low = float(gammaincinv(count, tail)) if count else 0.0
    return low, float(gammaincinv(count + 1, 1 - tail))


def sum_interval(
    terms: Iterable[tuple[float, int, int]], confidence: float = CONFIDENCE
) -> tuple[float, float, float]:
    """Return an estimate of a sum of weighted proportions, and the ends of its confidence interval.

    The squared distances from each proportion to the ends of its own interval (:func:`clopper_pearson`) are
    added, as in Zou, Huang and Zhang, "A note on confidence interval estimation for a linear function of
    binomial proportions", Computational Statistics and Data Analysis 53 (2009), who use narrower intervals
    for the single proportions. Proportions of mutually exclusive outcomes of the same trials are treated as
    independent; for small proportions the difference is negligible.

    Parameters
    ----------
    terms : iterable of (weight, successes, trials)
    confidence : float
    """
    total = below = above = 0.0
    for weight, successes, trials in terms:
        share = successes / trials
        low, high = clopper_pearson(successes, trials, confidence)
        down, up = weight * (share - low), weight * (high - share)
        if weight < 0:
            down, up = -up, -down
        total += weight * share
        below += down * down
        above += up * up
    return total, total - math.sqrt(below), total + math.sqrt(above)
