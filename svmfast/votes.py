"""Votes of pairs of classes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def pair_votes(first: NDArray[np.bool_], second: NDArray[np.bool_], k: int) -> NDArray[np.int32]:
    """Count the votes of each of k classes, ``(n, k)``.

    `first` and `second`, ``(n, p)``, are the pairs that vote for their first class and for their second one.
    """
    pair, counts = pair_numbers(k), np.empty((len(first), k), dtype=np.int32)
    for i in range(k):
        won = np.count_nonzero(first[:, pair[i, i + 1 :]], axis=1)
        counts[:, i] = won + np.count_nonzero(second[:, pair[:i, i]], axis=1)
    return counts


def pair_numbers(k: int) -> NDArray[np.intp]:
    """Number the pairs of k classes in LIBSVM's order, in a symmetric matrix."""
    number = np.zeros((k, k), dtype=np.intp)
    one, other = np.triu_indices(k, 1)
    number[one, other] = number[other, one] = np.arange(len(one))
    return number


def pairs_of_each(k: int) -> NDArray[np.intp]:
    """The numbers of the pairs of each class with the others, ``(k, k - 1)``."""
    return pair_numbers(k)[~np.eye(k, dtype=bool)].reshape(k, k - 1)
