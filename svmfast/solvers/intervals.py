"""Confidence intervals: of proportions, their differences and sums, of Poisson means, and of ratios of means.

Those of a single proportion and of a Poisson mean are exact (Clopper and Pearson, Biometrika 26, 1934;
Garwood, Biometrika 28, 1936); the others are approximate; tests/unit/test_score.py simulates their coverage.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # this module is imported for help, which imports no NumPy
    from svmfast.rows import FloatArray

CONFIDENCE = 0.95
#: Half the width of a 95 % interval of the normal distribution, in standard deviations.
_NORMAL = 1.959964
#: An upper end for means needs so many rows, of which none has more than this share of the variance. A kind
#: of row that makes up 1 % is missing among 500 with a probability below 1 %.
LEAST_FOR_MEANS, LARGEST_SHARE = 500, 0.1


def largest(fits: Callable[[int], bool], low: int, high: int) -> int:
    """The largest number from `low` to `high` that fits, where smaller ones fit too; `low` does."""
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low


def clopper_pearson(successes: float, n: float, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """The two-sided confidence interval of the proportion, from `successes` in `n` trials."""
    tail = (1 - confidence) / 2
    low = 1 - upper_limit(n - successes, n, 1 - tail)
    return low, upper_limit(successes, n, 1 - tail)


def upper_limit(successes: float, n: float, confidence: float = CONFIDENCE) -> float:
    """The one-sided upper confidence limit of the proportion, from `successes` in `n` trials."""
    from scipy.special import betaincinv

    return float(betaincinv(successes + 1, n - successes, confidence)) if successes < n else 1.0


def largest_count(n: int, share: float, confidence: float = CONFIDENCE) -> int:
    """The largest count in n trials whose :func:`upper_limit` is at most `share`; -1 if none is."""
    return largest(lambda count: upper_limit(count, n, confidence) <= share, -1, n)


def trials_needed(share: float, confidence: float = CONFIDENCE) -> int:
    """The number of trials without success that shows that the proportion is at most `share`."""
    return math.ceil(math.log1p(-confidence) / math.log1p(-share))


def poisson_limits(count: int, tail: float) -> tuple[float, float]:
    """Lower and upper confidence limits of a Poisson mean; each errs with probability `tail`."""
    from scipy.special import gammaincinv

    low = float(gammaincinv(count, tail)) if count else 0.0
    return low, float(gammaincinv(count + 1, 1 - tail))


def paired_difference(worse: int, better: int, n: int) -> tuple[float, float, float]:
    """The difference of two proportions of the same n trials, and its interval at 95 %.

    Bonett and Price, "Adjusted Wald confidence interval for a difference of binomial proportions based on
    paired data", Journal of Educational and Behavioral Statistics 37 (2012). `worse` trials have only the
    first outcome, `better` ones only the second.
    """
    p, q = (worse + 1) / (n + 2), (better + 1) / (n + 2)
    reach = _NORMAL * math.sqrt((p + q - (p - q) ** 2) / (n + 2))
    return (worse - better) / n, max(p - q - reach, -1.0), min(p - q + reach, 1.0)


def weighted_sum(
    terms: Iterable[tuple[float, tuple[float, float, float]]],
) -> tuple[float, float, float]:
    """A sum of independent estimates with positive weights, and the ends of its interval.

    The squared distances from each estimate to the ends of its own interval are added (Zou, Huang and Zhang,
    Computational Statistics and Data Analysis 53, 2009). A term is (weight, (estimate, low, high)).
    """
    total = below = above = 0.0
    for weight, (value, low, high) in terms:
        total += weight * value
        below += (weight * (value - low)) ** 2
        above += (weight * (high - value)) ** 2
    return total, total - math.sqrt(below), total + math.sqrt(above)


def mean_ratio(above: FloatArray, below: FloatArray) -> tuple[float, float, float]:
    """The ratio of the means of two kinds of values >= 0 of n rows, and its interval at 95 %.

    The delta method for the ratio's logarithm. It presumes that the rows show the variance. Where one of them
    makes up a tenth of the estimated variance, or where there are too few rows for such a row to be among
    them, larger ratios cannot be excluded, and the upper end is infinity.
    """
    n, top, bottom = len(above), float(above.mean()), float(below.mean())
    if not top or not bottom or not math.isfinite(top + bottom):
        value = math.inf if top else 0.0
        return value, value, value
    value = top / bottom
    terms = (above / top - below / bottom) ** 2
    total, largest = float(terms.sum()), float(terms.max())
    factor = math.exp(_NORMAL * math.sqrt(total) / n)
    shown = n >= LEAST_FOR_MEANS and largest <= LARGEST_SHARE * total
    return value, value / factor if n > 1 else 0.0, value * factor if shown else math.inf
