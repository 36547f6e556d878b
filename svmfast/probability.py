"""LIBSVM's probability estimates from decision values: sigmoids of pairs, and their coupling.

The operations are those of ``svm_predict_probability`` in the same order, so that equal decision values give
equal bits.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmfast import _core
from svmfast.rows import FloatArray


def pairwise_probabilities(decisions: FloatArray, a: FloatArray, b: FloatArray, classes: int) -> FloatArray:
    """Return for each pair of classes the probability of its first one, ``(n, p)``.

    It is ``1 / (1 + exp(a f + b))``, clipped to [1e-7, 1 - 1e-7]; nan becomes the lower limit.

    Parameters
    ----------
    decisions : (n, p) float64
    a, b : (p,) float64
        Parameters of each pair's sigmoid (Platt).
    classes : int
        k, at least 2; ``p = k (k - 1) / 2`` in LIBSVM's order.
    """
    return _core.pairwise_probabilities(*_arrays(decisions, a, b), classes)


def probabilities(
    decisions: FloatArray, a: FloatArray, b: FloatArray, classes: int, *, threads: int = 1
) -> FloatArray:
    """Return the probability of each class, ``(n, classes)``.

    For more than two classes, the probabilities of the pairs are coupled by method 2 of Wu, Lin and Weng
    (Probability Estimates for Multi-class Classification by Pairwise Coupling, JMLR 5, 2004), with LIBSVM's
    stopping rule.

    Parameters
    ----------
    decisions, a, b, classes
        As for :func:`pairwise_probabilities`.
    threads : int
        Number of threads; the result does not depend on it.
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

    For all other rows, every estimate prints the same six digits (``%g``) for any decision values within
    `errors`. docs/certificate.md proves this from bounds on how each step of the coupling changes an error.

    Parameters
    ----------
    decisions, a, b, classes
        As for :func:`pairwise_probabilities`.
    errors : (n, p) float64
        Bounds on the distance of `decisions` from the values that LIBSVM uses.
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
