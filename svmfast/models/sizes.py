"""Checks of the sizes that files declare, made before any array of that size is allocated.

Sums of 64-bit integers wrap around silently, so every term is checked against its limits before it is added.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmfast.errors import ModelContentError
from svmfast.rows import MAX_COLUMNS, IntArray


def expect(field: str, holds: bool, what: str, expected: str, token: Any = None) -> None:
    """Raise ModelContentError unless a condition on a part of a model holds; the token may be any JSON."""
    if not holds:
        import json

        token = token if token is None or isinstance(token, str) else json.dumps(token)
        raise ModelContentError(field, what, expected, token)


def total_of(counts: NDArray[Any]) -> int:
    """Sum integers to a Python int, without overflow."""
    if not counts.size:
        return 0
    largest = max(abs(int(counts.max())), abs(int(counts.min())))
    if largest * counts.size < 2**63:
        return int(counts.sum(dtype=np.int64))
    return sum(counts.ravel().tolist())


def check_sizes(name: str, sizes: IntArray, count: int, total: int, of: str) -> None:
    """Check that `sizes` are `count` numbers from 0 to `total` whose sum is `total`.

    `name` is the name of the sizes in the file, `of` says what the parts are.
    """
    what, expected = f"not the sizes of the {of}", f"{count} numbers from 0 that sum to {total}"
    expect(name, sizes.shape == (count,), what, expected)
    outside = sizes[(sizes < 0) | (sizes > total)]
    expect(name, not len(outside), what, expected, str(next(iter(outside), "")))
    expect(name, total_of(sizes) == total, what, expected)


def check_tree(name: str, children: IntArray) -> None:
    """Check that the counts of each node's children, breadth first from the root, describe a tree."""
    n = children.size if children.ndim == 1 else 0
    what, expected = "not the counts of a tree", "counts of children, breadth first"
    outside = children[(children < 0) | (children >= max(n, 1))]
    expect(name, not len(outside), what, expected, str(next(iter(outside), "")))
    expect(name, n > 0 and total_of(children) == n - 1, what, expected)
    # A node must already have been counted as a child when it is reached. The sum is known to be small.
    known = 1 + np.concatenate([[0], np.cumsum(children)])
    expect(name, not (known[:-1] <= np.arange(n)).any(), what, expected)


def check_width(name: str, width: int) -> None:
    """Check that `width` can be a number of columns."""
    expect(name, 0 <= width <= MAX_COLUMNS, "out of range", f"0 to {MAX_COLUMNS}", str(width))
