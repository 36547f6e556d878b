"""The meaning of the numbers of a certificate, and the signs and votes that bounds on errors prove.

The proofs are in docs/certificate.md. The paper's older rule is in :mod:`svmfast.validity_bound`.
"""

from __future__ import annotations

import numpy as np

from svmfast import _core
from svmfast.rows import FloatArray
from svmfast.votes import pair_votes

#: Highest order of an expansion.
MAX_ORDER = 16
#: Columns of `rest`. With `degrees` it bounds the error of a row at the distance r from the center, r^2 = s:
#: ``exp(-gamma s) sum_j degrees_j r^j + rest_0 r^(top + 1) + rest_1 + rest_2 s + |sum| (rest_3 + rest_4 s)``
#: for the approximate value `sum` before rho is subtracted (docs/certificate.md, theorem).
#: ``methods.approximate.bounds`` and ``solvers.residual`` make the numbers, and
#: ``_core/simd/polynomial.inl`` evaluates them for each row.
REST = 5
#: Entries that a row may have beyond the model's features; the bound of longer rows is infinite
#: (``_core/polynomial_values.cpp``).
SPARE_ENTRIES = _core.SPARE_ENTRIES


def proven_signs(values: FloatArray, bounds: FloatArray) -> np.ndarray:
    """Where a value with an error of at most its bound is certain to have its sign.

    Nothing is known of a value that is not finite: another order of summation may not overflow.
    """
    return np.asarray(np.isfinite(values) & (np.abs(values) > bounds))


def vote_is_certain(certain: np.ndarray, decisions: FloatArray, n_classes: int) -> np.ndarray:
    """Whether the uncertain pairs of each row cannot change the winner of the vote; all arrays ``(n, p)``.

    In the worst case, the winner keeps only its certain votes and another class wins all its uncertain pairs.
    Ties go to the class that comes first, as in LIBSVM.
    """
    n, k = len(decisions), n_classes
    if k < 2:
        return np.ones(n, dtype=np.bool_)
    first = decisions > 0
    votes, least = pair_votes(first, ~first, k), pair_votes(first & certain, ~first & certain, k)
    most = pair_votes(first | ~certain, ~first | ~certain, k)
    row = np.arange(n)
    winner = votes.argmax(axis=1)
    kept = least[row, winner]
    # Classes before the winner must have fewer votes than it keeps; classes after it may have as many.
    allowed = kept[:, None] - (np.arange(k)[None, :] < winner[:, None])
    beaten = most <= allowed
    beaten[row, winner] = True
    return np.asarray(beaten.all(axis=1))
