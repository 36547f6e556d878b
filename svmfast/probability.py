"""LIBSVM's probability estimates from decision values: sigmoids of pairs, and their coupling.

The operations are those of ``svm_predict_probability`` in the same order, so that equal decision values give
equal bits.
"""

from __future__ import annotations

import numpy as np

from svmfast import _core
from svmfast.rows import FloatArray


def pairwise_probabilities(decisions: FloatArray, a: FloatArray, b: FloatArray, classes: int) -> FloatArray:
    """Compute for each pair of classes the probability of its first one, ``(n, p)``.

    It is ``1 / (1 + exp(a f + b))`` with the parameters of each pair's sigmoid (Platt), clipped to [1e-7, 1 -
    1e-7]; nan becomes the lower limit. There are at least two classes, and their pairs are in LIBSVM's order.
    """
    return _core.pairwise_probabilities(_reals(decisions), _reals(a), _reals(b), classes)


def probabilities(
    decisions: FloatArray, a: FloatArray, b: FloatArray, classes: int, *, threads: int = 1
) -> FloatArray:
    """Compute the probability of each class, ``(n, classes)``.

    For more than two classes, the probabilities of the pairs are coupled by method 2 of Wu, Lin and Weng
    (Probability Estimates for Multi-class Classification by Pairwise Coupling, JMLR 5, 2004), with LIBSVM's
    stopping rule.
    """
    return _core.probabilities(_reals(decisions), _reals(a), _reals(b), classes, None, threads)[0]


def _reals(values: FloatArray) -> FloatArray:
    return np.ascontiguousarray(values, dtype=np.float64)
