"""Rows that occur more than once, found by a hash, and rows that are held out with all their copies.

Rows drawn independently may be equal if the population has few distinct ones, and every draw counts. Copies
of a file are equal too, but give no new information. The two differ in how often rows occur
(:func:`copied`). Rows that are held out are counted as often as they occur (:class:`Counted`).
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from svmfast.rows import BoolArray, FloatArray, IntArray, Rows
from svmfast.solvers.arithmetic import eight_digits
from svmfast.solvers.intervals import clopper_pearson, poisson_limits, weighted_sum

#: Copies are reported only if the probability that independent draws look like copies is below about this.
COPIED_BY_CHANCE = 1e-4
#: Rows that occur so often are counted by themselves: a part drawn at random may hold none of them.
FREQUENT = 10


def row_keys(rows: Rows) -> list[bytes]:
    """A hash of each row that is equal for equal rows, whether or not they store zeros."""
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


def vector_keys(vectors: Rows, rows: Rows, keys: list[bytes]) -> list[bytes]:
    """The keys of a model's support vectors among `rows`, whose :func:`row_keys` are `keys`.

    svm-train writes 8 digits of each value. A vector that is one of the rows but for this has the row's key.
    """
    own = row_keys(vectors)
    if set(keys).issuperset(own):
        return own
    written = dict(zip(row_keys(_eight_digits(rows)), keys, strict=True))
    return [written.get(short, key) for short, key in zip(row_keys(_eight_digits(vectors)), own, strict=True)]


def _eight_digits(rows: Rows) -> Rows:
    return Rows.trusted(rows.indptr, rows.indices, eight_digits(rows.values), rows.n_columns)


def groups_of(keys: list[bytes]) -> tuple[IntArray, IntArray]:
    """The group of every key, numbered in order of appearance, and the first member of each group."""
    seen: dict[bytes, int] = {}
    first: list[int] = []
    group = np.empty(len(keys), dtype=np.int64)
    for i, key in enumerate(keys):
        group[i] = found = seen.setdefault(key, len(first))
        if found == len(first):
            first.append(i)
    return group, np.array(first, dtype=np.int64)


def copied(group: IntArray) -> int | None:
    """How many times the copied rows occur; None if independent draws explain all equal rows.

    Let f_j be the number of distinct rows that occur j times. In independent draws from any population, f_j
    is about a mixture of Poisson distributions, E f_j = sum_i exp(-l_i) l_i^j / j!. So j! E f_j are the
    moments of a measure, and by Cauchy-Schwarz  (j! E f_j)^2 <= (j-1)! E f_(j-1) (j+1)! E f_(j+1). Rows that
    are given twice violate this: f_2 is large although f_1 or f_3 is nearly 0.

    `group` has equal numbers for equal rows, from 0. The result is the j for which the inequality fails by
    more than chance explains.
    """
    counts = np.bincount(np.bincount(group, minlength=1))
    for j in np.flatnonzero(counts[2:] > 1) + 2:
        low = poisson_limits(int(counts[j]), COPIED_BY_CHANCE)[0]
        neighbors = [int(counts[i]) if i < len(counts) else 0 for i in (j - 1, j + 1)]
        high = [poisson_limits(count, COPIED_BY_CHANCE)[1] for count in neighbors]
        if low * low * j / (j + 1) > high[0] * high[1]:
            return int(j)
    return None


def frequent_groups(group: IntArray) -> BoolArray:
    """Which groups have at least :data:`FREQUENT` rows; none have if rows were copied."""
    times = np.bincount(group)
    return (times >= FREQUENT) & (copied(group) is None)


@dataclass(frozen=True, eq=False)
class Counted:
    """Distinct rows on which two models are compared, and how many rows of the data each stands for.

    What two models answer to a row is the same for all its copies, so copies are one observation. Rows that
    are not frequent stand for others like them, and must not have been fitted. A frequent row only stands for
    itself, in the share that it has in the data; it may have been fitted.
    """

    #: (m,) how often each row occurs, up to a common factor of the rows that are not frequent.
    times: FloatArray
    #: (m,) all rows of :func:`frequent_groups`, and no other.
    frequent: BoolArray
    #: (r,) how often each row of the data occurs that is not frequent, held out or not.
    rest: FloatArray

    @property
    def weights(self) -> FloatArray:
        """How many rows of the data each row stands for; ``(m,)``."""
        own = self.times[~self.frequent].sum()
        if not self.frequent.any():
            return self.times
        return np.where(self.frequent, self.times, self.times * (self.rest.sum() / own if own else 0.0))

    @property
    def frequent_rows(self) -> int:
        """The number of rows of the data that are frequent."""
        return int(self.times[self.frequent].sum())

    def share(self, found: BoolArray | FloatArray) -> tuple[float, float, float]:
        """Estimate the share of rows for which `found` is true, and its interval.

        The interval of rows that are not frequent is Clopper and Pearson's for an effective number of rows:
        how many distinct rows that occur once give the same variance, at most (Korn and Graubard, "Confidence
        intervals for proportions with small expected number of positive counts estimated from survey data",
        Survey Methodology 24, 1998). If no row repeats, that is the number of rows. Where equal rows may
        differ, `found` is the share of each row's copies.
        """
        times, others = self.times[self.frequent], self.times[~self.frequent]
        rest = float(self.rest.sum())
        total = float(times.sum()) + rest
        terms = []
        if len(times):
            count = float(times @ found[self.frequent])
            terms.append((1.0, (count / total, *clopper_pearson(count, total))))
        if len(others):
            at = found[~self.frequent].astype(np.float64)
            own = float(others.sum())
            value = float(others @ at) / own
            # Both the rows drawn and those that could be drawn show how much the times vary.
            drawable = len(others) * rest**2 / len(self.rest) / float(self.rest @ self.rest)
            size = min(drawable, own**2 / float(others @ others))
            variance = float(others**2 @ (at - value) ** 2) / own**2
            if variance > 0:
                size = min(size, value * (1 - value) / variance)
            terms.append((rest / total, (value, *clopper_pearson(value * size, size))))
        elif rest:
            terms.append((rest / total, (0.0, 0.0, 1.0)))
        value, low, high = weighted_sum(terms)
        return value, max(0.0, low), min(1.0, high)

    @classmethod
    def of(cls, times: FloatArray, held: BoolArray, frequent: BoolArray) -> Counted:
        """The held-out and the frequent groups, in this order; `times` are the rows of each group."""
        own = np.concatenate([times[held], times[frequent]])
        return cls(own, np.arange(len(own)) >= np.count_nonzero(held), times[~frequent])


def quantiles(values: FloatArray, weights: FloatArray, shares: list[float]) -> list[float]:
    """Quantiles of ``(m, p)`` values whose row i occurs weights[i] times; the higher of two."""
    order = np.argsort(values, axis=None, kind="stable")
    reached = np.cumsum(np.repeat(weights, values.shape[1])[order])
    places = np.searchsorted(reached, np.ceil(np.array(shares) * (reached[-1] - 1)), side="right")
    return [float(one) for one in values.ravel()[order[np.minimum(places, len(order) - 1)]]]


#: Share and maximum number of the rows on which an error is measured; with fewer distinct ones than
#: LEAST_ROWS, none are.
HELD_OUT, MOST_HELD_OUT, LEAST_ROWS = 0.1, 10_000, 20


@dataclass(frozen=True, eq=False)
class Aside:
    """A division of n rows into those to fit and those held out; equal rows are in the same part."""

    #: (n,) the rows that may be fitted.
    fitted: BoolArray
    #: (h,) the rows that are held out, with their copies, ascending.
    held: IntArray
    #: (m,) the rows on which to compare models: the first of each group of equal rows that is held out,
    #: ascending, and then of each group that is frequent.
    rows: IntArray
    #: How often these rows occur.
    counted: Counted


def rows_aside(keys: list[bytes], seed: tuple[int, int]) -> Aside:
    """Hold out :data:`HELD_OUT` of the distinct rows, with all rows equal to them.

    `keys` are hashes by :func:`row_keys`, and `seed` is the run's seed with a number that identifies the
    purpose. What is measured must be the same for equal rows, as the labels of two models are: frequent rows
    are not held out, but counted by themselves.
    """
    group, first = groups_of(keys)
    frequent = frequent_groups(group)
    rare = np.flatnonzero(~frequent)
    count = min(MOST_HELD_OUT, int(HELD_OUT * len(rare))) if len(rare) >= LEAST_ROWS else 0
    held = np.zeros(len(first), dtype=np.bool_)
    held[np.random.default_rng(seed).choice(rare, count, replace=False)] = True
    times = np.bincount(group, minlength=len(first)).astype(np.float64)
    return Aside(
        ~held[group],
        np.flatnonzero(held[group]),
        np.concatenate([first[held], first[frequent]]),
        Counted.of(times, held, frequent),
    )
