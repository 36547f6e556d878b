"""Rows that are held out of a fit to measure its error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from svmfast.methods.common.equal_rows import Counted, frequent_groups, groups_of

#: Share and maximum number of the rows on which an error is measured; with fewer distinct ones than
#: LEAST_ROWS, none are.
HELD_OUT, MOST_HELD_OUT, LEAST_ROWS = 0.1, 10_000, 20


@dataclass(frozen=True, eq=False)
class Aside:
    """A division of n rows into those to fit and those held out; equal rows are in the same part."""

    #: (n,) the rows that may be fitted.
    fitted: NDArray[np.bool_]
    #: (h,) the rows that are held out, with their copies, ascending.
    held: NDArray[np.int64]
    #: (m,) the rows on which to compare models: the first of each group of equal rows that is held out,
    #: ascending, and then of each group that is frequent.
    rows: NDArray[np.int64]
    #: How often these rows occur.
    counted: Counted
    #: (h,) for each row of `held`, the place of its group in `rows`.
    place: NDArray[np.int64]


def rows_aside(keys: list[bytes], count: int | None, seed: tuple[int, int], *, copies_agree: bool) -> Aside:
    """Hold out some of the distinct rows, with all rows equal to them.

    `keys` are hashes by :func:`svmfast.methods.common.equal_rows.row_keys`, `count` is the number of distinct
    rows to hold out, by default :data:`HELD_OUT` of them, and `seed` the run's seed with a number that
    identifies the purpose. `copies_agree`: what is measured is the same for equal rows, as the labels of two
    models are. Frequent rows are then not held out, but counted by themselves.
    """
    group, first = groups_of(keys)
    frequent = frequent_groups(group) if copies_agree else np.zeros(len(first), dtype=np.bool_)
    rare = np.flatnonzero(~frequent)
    if count is None:
        count = min(MOST_HELD_OUT, int(HELD_OUT * len(rare))) if len(rare) >= LEAST_ROWS else 0
    count = min(count, len(rare))
    held = np.zeros(len(first), dtype=np.bool_)
    held[np.random.default_rng(seed).choice(rare, count, replace=False)] = True
    times = np.bincount(group, minlength=len(first)).astype(np.float64)
    aside = np.flatnonzero(held[group])
    return Aside(
        ~held[group],
        aside,
        np.concatenate([first[held], first[frequent]]),
        Counted.of(times, held, frequent),
        (np.cumsum(held) - 1)[group[aside]],
    )
