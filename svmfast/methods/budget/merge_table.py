"""Optimal merges for budgeted SGD, precomputed on a grid (Glasmachers and Qaadan 2018).

Two support vectors of the same sign with kernel value kappa, of which the first has the share m of the sum of
the coefficients, are merged into z = h x_i + (1 - h) x_j with

    s(h) = m kappa^((1-h)^2) + (1-m) kappa^(h^2),   h = argmax over [0, 1]
    wd   = m^2 + (1-m)^2 + 2 m (1-m) kappa - s(h)^2

and the weight degradation is (alpha_i + alpha_j)^2 wd.
"""

from __future__ import annotations

from functools import lru_cache

from svmfast._core import MergeLookup
from svmfast._core import merge_tables as _merge_tables
from svmfast.errors import OptionError
from svmfast.rows import FloatArray

#: Grid points per side and precision of h, as in the paper.
GRID = 400
PRECISION = 1e-10


def merge_tables(n: int = GRID, precision: float = PRECISION) -> tuple[FloatArray, FloatArray]:
    """Return wd and h on the lower half, m <= 1/2, of a grid of n points per side over [0, 1]^2.

    The other half would follow from h(m, kappa) = 1 - h(1-m, kappa) and wd(m, kappa) = wd(1-m, kappa), but is
    not needed: the first partner of a merge always has the smaller share. Below kappa = e^-2, s can have two
    modes; for m <= 1/2 the better one lies in [0, 1/2], the interval of the golden section search.

    Parameters
    ----------
    n : int
        Even, at least 4.
    precision : float
        Width of the final interval of h.

    Returns
    -------
    wd, h : (n/2 + 1, n) float64
        Row i is m = i / n, column j is kappa = j / (n - 1).
    """
    if n < 4 or n % 2 or not 0 < precision < 0.5:
        raise OptionError(
            f"merge tables of {n} points to {precision:g}: an even number and 0 < precision < 0.5"
        )
    return _merge_tables(n, precision)


@lru_cache(maxsize=1)
def merge_lookup() -> MergeLookup:
    """Return the tables in the solver's form; they are computed once per process, in 0.1 s."""
    return MergeLookup(*merge_tables())
