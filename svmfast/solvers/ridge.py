"""Solves symmetric positive semidefinite systems that rounding or equal vectors may have made singular."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from svmfast.errors import NotFiniteError
from svmfast.rows import FloatArray

#: The factor by which the ridge grows, and the number of ridges that are tried. The largest of them makes
#: every finite positive semidefinite matrix positive definite.
_FACTOR, _TRIALS = 100, 10


def solve_with_ridge(
    matrix: FloatArray,
    right: FloatArray,
    solve: Callable[[FloatArray, FloatArray], FloatArray | None],
    *,
    ridge: float = 1e-12,
) -> FloatArray:
    """Solve ``(matrix + ridge I) x = right`` with a small ridge that makes the matrix positive definite.

    `matrix` is symmetric and, except for rounding, positive semidefinite. `solve` uses a Cholesky
    factorization, and returns None if its matrix is not positive definite; it may overwrite its arguments.
    `ridge` is the first one tried, in units of the mean of the diagonal. The solution for a matrix of zeros
    is the zero vector, which has the smallest norm.

    Raises
    ------
    NotFiniteError
        The matrix is not finite, or so far from positive semidefinite that no ridge helps.
    """
    n = len(right)
    # A power of four, so that the square roots of the Cholesky factor are scaled without rounding.
    largest = float(np.max(np.diagonal(matrix), initial=0.0))
    if not largest > 0 and not np.isnan(largest):
        return np.zeros(n)
    if not math.isfinite(largest):
        raise NotFiniteError("a system of equations has coefficients that are not finite")
    exponent = math.frexp(largest)[1] // 2 * 2
    matrix, right = np.ldexp(matrix, -exponent), np.ldexp(right, -exponent)
    mean = float(np.trace(matrix)) / n
    for _ in range(_TRIALS):
        system = matrix.copy()
        system[np.diag_indices(n)] += ridge * mean
        found = solve(system, right.copy())
        if found is not None and np.isfinite(found).all():
            return found
        ridge *= _FACTOR
    raise NotFiniteError("a system of equations has no finite solution")
