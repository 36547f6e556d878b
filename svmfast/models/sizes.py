"""Sizes and starts as files state them: the one place that checks them, before anything is made of that size.

Sums of 64-bit integers wrap around without a sign of it, so no sum is taken before every term has its limits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmfast.errors import ModelContentError
from svmfast.rows import MOST_COLUMNS

IntArray = NDArray[np.int64]


def total_of(counts: NDArray[Any]) -> int:
    """Return the sum of integers, of any size."""
    if not counts.size:
        return 0
    largest = max(abs(int(counts.max())), abs(int(counts.min())))
    if largest * counts.size < 2**63:
        return int(counts.sum(dtype=np.int64))
    return sum(counts.ravel().tolist())


def check_sizes(name: str, sizes: IntArray, count: int, total: int, of: str) -> None:
    """Check sizes of parts that follow each other.

    Parameters
    ----------
    name : str
        What the file calls them.
    sizes : int64 array
    count : int
        How many there must be.
    total : int
        What they must sum to.
    of : str
        What the parts are, for the message.

    Raises
    ------
    ModelContentError
        They are not `count` numbers from 0 to `total` that sum to it.
    """
    what, expected = f"not the sizes of the {of}", f"{count} numbers from 0 that sum to {total}"
    if sizes.shape != (count,):
        raise ModelContentError(name, what, expected)
    outside = sizes[(sizes < 0) | (sizes > total)]
    if len(outside):
        raise ModelContentError(name, what, expected, str(outside[0]))
    if total_of(sizes) != total:
        raise ModelContentError(name, what, expected)


def check_starts(name: str, starts: IntArray, total: int, of: str) -> None:
    """Check the starts of parts that follow each other, and the end of the last.

    Parameters
    ----------
    name, of : str
        As for :func:`check_sizes`.
    starts : (parts + 1,) int64
    total : int
        What the last one must be.

    Raises
    ------
    ModelContentError
        They do not ascend from 0 to `total`.
    """
    what, expected = f"not the starts of the {of}", f"ascending numbers from 0 to {total}"
    outside = starts[(starts < 0) | (starts > total)]
    if len(outside):
        raise ModelContentError(name, what, expected, str(outside[0]))
    if not len(starts) or starts[0] != 0 or starts[-1] != total or (starts[1:] < starts[:-1]).any():
        raise ModelContentError(name, what, expected)


def check_tree(name: str, children: IntArray) -> None:
    """Check the counts of children of a tree's nodes, breadth first, node 0 the root.

    Raises
    ------
    ModelContentError
        They are not, or a node stands before its parent.
    """
    n = len(children)
    what, expected = "not the counts of a tree", "counts of children, breadth first"
    outside = children[(children < 0) | (children >= max(n, 1))]
    if len(outside):
        raise ModelContentError(name, what, expected, str(outside[0]))
    if n == 0 or total_of(children) != n - 1:
        raise ModelContentError(name, what, expected)
    # Before a node is reached, it must have been announced as somebody's child. The sum is known to be small.
    announced = 1 + np.concatenate([[0], np.cumsum(children)])
    if (announced[:-1] <= np.arange(n)).any():
        raise ModelContentError(name, what, expected)


def check_width(name: str, width: int) -> None:
    """Raise ModelContentError unless `width` can be a number of columns."""
    if not 0 <= width <= MOST_COLUMNS:
        raise ModelContentError(name, "out of range", f"0 to {MOST_COLUMNS}", str(width))
