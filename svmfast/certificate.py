"""The bounds: how far a truncated expansion can be trusted. One home for each of them.

Notation of docs/certificate.md: gamma is the kernel's width parameter, x a support vector, z a row, both
possibly measured from a centre mu.
"""

from __future__ import annotations

import math

import numpy as np

from svmfast.errors import OptionError
from svmfast.rows import FloatArray, Rows


def gamma_max(max_squared_norm: float, other_max_squared_norm: float | None = None) -> float:
    """Return the largest gamma for which every term of the second-order expansion is within 3.05 %.

    ``|2 gamma x.z| < 1/2`` for all pairs holds by Cauchy-Schwarz when ``gamma < 1 / (4 max||x|| max||z||)``
    (Claesen et al., Fast prediction with SVM models containing RBF kernels, section 3).

    Parameters
    ----------
    max_squared_norm : float
        Largest ``||x||^2`` of the support vectors, or of the data set before training.
    other_max_squared_norm : float, optional
        Largest ``||z||^2`` of the rows to predict; the same as `max_squared_norm` when left out.

    Returns
    -------
    float
        The bound; infinite when all vectors are zero.
    """
    other = max_squared_norm if other_max_squared_norm is None else other_max_squared_norm
    if not (max_squared_norm >= 0 and other >= 0):
        raise OptionError("a squared norm is never negative")
    # The roots are taken apart: the product of two tiny squares could underflow.
    product = math.sqrt(max_squared_norm) * math.sqrt(other)
    return math.inf if product == 0 else 1 / (4 * product)


def inside_bound(gamma: float, sv_max_squared_norm: float, row_squared_norms: FloatArray) -> np.ndarray:
    """Tell for each row whether the paper's validity bound holds: ``max||x||^2 ||z||^2 < 1 / (16 gamma^2)``.

    Parameters
    ----------
    gamma : float
    sv_max_squared_norm : float
        Largest ``||x||^2`` over the support vectors (about the centre for the centred bound).
    row_squared_norms : (n,) float64
        ``||z||^2`` of the rows (about the same centre).

    Returns
    -------
    (n,) bool
    """
    with np.errstate(over="ignore"):
        product = sv_max_squared_norm * np.asarray(row_squared_norms, dtype=np.float64)
        return np.asarray(product * (16 * gamma * gamma) < 1)


def centred_squared_norms(rows: Rows, centre: FloatArray) -> FloatArray:
    """Return ``||z - centre||^2`` of every row; columns beyond the centre's length count as they are.

    Parameters
    ----------
    rows : Rows of n rows
    centre : (d,) float64

    Returns
    -------
    (n,) float64, never negative
    """
    # z.z - 2 mu.z + mu.mu would cancel; instead the entries of z replace the centre's own squares.
    known = rows.indices < len(centre)
    at = np.zeros(rows.nnz)
    at[known] = centre[rows.indices[known]]
    change = (rows.values - at) ** 2 - at * at
    out = np.full(len(rows), float(centre @ centre))
    filled = np.flatnonzero(np.diff(rows.indptr))
    if len(filled):
        out[filled] += np.add.reduceat(change, rows.indptr[filled])
    clipped: FloatArray = np.maximum(out, 0.0)
    return clipped
