"""Votes of pairs of classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

#: More classes are counted one by one: a matrix of pairs and classes would become too large.
_MATRIX_CLASSES = 64


def pair_votes(first: NDArray[np.bool_], second: NDArray[np.bool_], k: int) -> NDArray[Any]:
    """Count the votes of each of k classes, ``(n, k)``; whole numbers.

    `first` and `second`, ``(n, p)``, are the pairs that vote for their first class and for their second one.
    """
    if k <= _MATRIX_CLASSES:  # small whole numbers, exact in single precision in any order
        one, other = np.triu_indices(k, 1)
        to_first, to_second = (np.eye(k, dtype=np.float32)[classes] for classes in (one, other))
        votes: NDArray[np.float32] = first.astype(np.float32) @ to_first
        votes += second.astype(np.float32) @ to_second
        return votes
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
