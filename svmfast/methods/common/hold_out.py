"""Rows that are held out of a fit to measure its error."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

#: Share and maximum number of the rows on which an error is measured; with fewer than LEAST_ROWS, none are.
HELD_OUT, MOST_HELD_OUT, LEAST_ROWS = 0.1, 10_000, 20


def held_out_count(rows: int) -> int:
    """Return how many of the rows are held out to measure an error."""
    return min(MOST_HELD_OUT, int(HELD_OUT * rows)) if rows >= LEAST_ROWS else 0


def random_rows(rows: int, count: int, seed: tuple[int, int]) -> NDArray[np.bool_]:
    """Return which of the rows are held out: `count` of them, drawn without replacement.

    Parameters
    ----------
    rows, count : int
    seed : (int, int)
        The run's seed, and a number that identifies the purpose.
    """
    chosen = np.zeros(rows, dtype=bool)
    chosen[np.random.default_rng(seed).choice(rows, count, replace=False)] = True
    return chosen
