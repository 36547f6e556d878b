"""LIBSVM's probability estimates from decision values: sigmoids of pairs, and their coupling.

Operation by operation as ``svm_predict_probability`` has them, so that equal decision values give equal bits.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmfast import _core
from svmfast.rows import FloatArray


def pairwise_probabilities(decisions: FloatArray, a: FloatArray, b: FloatArray, classes: int) -> FloatArray:
    """Return for each pair of classes the probability of its first one, ``(n, p)``.

    ``1 / (1 + exp(a f + b))``, kept at least 1e-7 away from 0 and 1; a nan becomes the lower limit.

    Parameters
    ----------
    decisions : (n, p) float64
    a, b : (p,) float64
        Of each pair's sigmoid (Platt).
    classes : int
        k, at least 2; ``p = k (k - 1) / 2`` in LIBSVM's order.
    """
    return _core.pairwise_probabilities(*_arrays(decisions, a, b), classes)


def probabilities(
    decisions: FloatArray, a: FloatArray, b: FloatArray, classes: int, *, threads: int = 1
) -> FloatArray:
    """Return the probability of each class, ``(n, classes)``.

    Of more than two classes those of the pairs, coupled as in Wu, Lin and Weng (Probability Estimates for
    Multi-class Classification by Pairwise Coupling, JMLR 5, 2004), method 2, with LIBSVM's stopping rule.

    Parameters
    ----------
    decisions, a, b, classes
        As for :func:`pairwise_probabilities`.
    threads : int
        The result does not depend on it.
    """
    return _core.probabilities(*_arrays(decisions, a, b), classes, None, threads)[0]


def in_doubt(
    decisions: FloatArray,
    errors: FloatArray,
    a: FloatArray,
    b: FloatArray,
    classes: int,
    *,
    threads: int = 1,
) -> NDArray[np.bool_]:
    """Return for which rows LIBSVM's estimates could print other digits, or have another maximum.

    Where not, every estimate prints the same with six digits (``%g``) whatever the decision values are
    within `errors`: proven in docs/certificate.md, by what each step of the coupling makes of a change.

    Parameters
    ----------
    decisions, a, b, classes
        As for :func:`pairwise_probabilities`.
    errors : (n, p) float64
        How far from `decisions` the values can lie of which LIBSVM takes its estimates.
    threads : int

    Returns
    -------
    (n,) bool
    """
    errors = np.ascontiguousarray(errors, dtype=np.float64)
    doubtful = _core.probabilities(*_arrays(decisions, a, b), classes, errors, threads)[1]
    return doubtful.astype(np.bool_)


def _arrays(decisions: FloatArray, a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    return (
        np.ascontiguousarray(decisions, dtype=np.float64),
        np.ascontiguousarray(a, dtype=np.float64),
        np.ascontiguousarray(b, dtype=np.float64),
    )
