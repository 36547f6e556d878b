"""Rows that occur more than once: found by a hash, grouped, and tested for being copies.

Rows drawn independently may be equal if the population has few distinct ones, and every draw counts. Copies
of a file are equal too, but give no new information. The two differ in how often rows occur
(:func:`copied`).
"""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from svmfast.rows import Rows
from svmfast.solvers.binomial import poisson_limits

IntArray = NDArray[np.int64]

#: Copies are reported only if the probability that independent draws look like copies is below about this.
COPIED_BY_CHANCE = 1e-4


def row_keys(rows: Rows) -> list[bytes]:
    """Return a hash of each row that is equal for equal rows, whether or not they store zeros."""
    stored = rows.values != 0
    if not stored.all():
        starts = np.concatenate([[0], np.cumsum(stored)])[rows.indptr]
        rows = Rows.trusted(starts, rows.indices[stored], rows.values[stored], rows.n_columns)
    ends = zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
    keys = []
    for a, b in ends:
        key = blake2b(rows.indices[a:b].tobytes(), digest_size=16)
        key.update(rows.values[a:b].tobytes())
        keys.append(key.digest())
    return keys


def groups_of(keys: list[bytes]) -> tuple[IntArray, IntArray]:
    """Return the group of every key, numbered in order of appearance, and the first member of each group."""
    seen: dict[bytes, int] = {}
    first: list[int] = []
    group = np.empty(len(keys), dtype=np.int64)
    for i, key in enumerate(keys):
        group[i] = found = seen.setdefault(key, len(first))
        if found == len(first):
            first.append(i)
    return group, np.array(first, dtype=np.int64)


def copied(group: IntArray) -> int | None:
    """Return how many times the copied rows occur; None if independent draws explain all equal rows.

    Let f_j be the number of distinct rows that occur j times. In independent draws from any population, f_j
    is about a mixture of Poisson distributions, E f_j = sum_i exp(-l_i) l_i^j / j!. So j! E f_j are the
    moments of a measure, and by Cauchy-Schwarz  (j! E f_j)^2 <= (j-1)! E f_(j-1) (j+1)! E f_(j+1). Rows that
    are given twice violate this: f_2 is large although f_1 or f_3 is nearly 0.

    Parameters
    ----------
    group : (n,) int64
        Equal numbers for equal rows, from 0.

    Returns
    -------
    int or None
        The j for which the inequality fails by more than chance explains.
    """
    counts = np.bincount(np.bincount(group, minlength=1))
    for j in np.flatnonzero(counts[2:] > 1) + 2:
        low = poisson_limits(int(counts[j]), COPIED_BY_CHANCE)[0]
        neighbors = [int(counts[i]) if i < len(counts) else 0 for i in (j - 1, j + 1)]
        high = [poisson_limits(count, COPIED_BY_CHANCE)[1] for count in neighbors]
        if low * low * j / (j + 1) > high[0] * high[1]:
            return int(j)
    return None
