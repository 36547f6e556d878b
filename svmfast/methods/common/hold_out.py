"""Rows that are held out of a fit to measure its error."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

#: Share of the rows on which the error of a conversion is measured.
HELD_OUT = 0.1


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
