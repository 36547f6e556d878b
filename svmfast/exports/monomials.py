"""The monomials of packed polynomials, in the order in which coefficients are stored."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Degree:
    """The monomials of one degree m in d variables: sorted index tuples in lexicographic order.

    Attributes
    ----------
    parent : (count,) int64
        The monomial of degree m - 1 without the last index.
    last : (count,) int64
        The last index.
    multiplicity : (count,) float64
        Number of orderings of the tuple: m! over the product of the factorials of the indices' counts.
    """

    parent: NDArray[np.int64]
    last: NDArray[np.int64]
    multiplicity: NDArray[np.float64]


def degrees(d: int, order: int) -> Iterator[Degree]:
    """Yield degrees 0 to `order` in `d` variables; degree 0 has one monomial, which has no index."""
    zero = np.zeros(1, dtype=np.int64)
    yield Degree(zero, zero, np.ones(1))
    last, run, multiplicity = zero, zero, np.ones(1)
    for m in range(1, order + 1):
        count = d - last
        parent = np.repeat(np.arange(len(last)), count)
        start = np.repeat(np.cumsum(count) - count, count)
        following = np.arange(len(parent)) - start + last[parent]
        run = np.where((following == last[parent]) & (m > 1), run[parent] + 1, 1)
        multiplicity = multiplicity[parent] * m / run
        last = following
        yield Degree(parent, last, multiplicity)
