"""Training rows that are sent to leaves: a leaf has copies of rows, each with a weight.

A row may go to several leaves, to its own and as a neighbor to others. The rows of a leaf are in the order of
their numbers, so that neither files nor workers change them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np

from svmfast.rows import FloatArray, IntArray
from svmfast.solvers.training_data import WorkingSet
from svmfast.threads import each_in_threads

A = TypeVar("A")
R = TypeVar("R")

#: Leaves for each thread whose results may be held: leaves differ more in cost than blocks.
LEAVES_A_THREAD = 16


@dataclass(frozen=True, eq=False)
class Copies:
    """Where the rows of a block go: for each of c copies the leaf, the row's place in the block, the weight.

    A leaf gets each row at most once. The copies may be in any order.
    """

    #: (c,) from 0 to the number of leaves - 1.
    leaf: IntArray
    #: (c,)
    row: IntArray
    #: (c,)
    weight: FloatArray


@dataclass(frozen=True, eq=False)
class LeafRows(WorkingSet):
    """The copies that a leaf has, sorted by their numbers in the input; there may be none."""

    #: (n,)
    weights: FloatArray
    #: The leaf's number.
    leaf: int


class Leaves(Protocol):
    """All leaves: in memory, in a temporary file, or held by the workers of a cluster."""

    @property
    def sizes(self) -> IntArray:
        """Number of copies of each leaf, ``(leaves,)``."""

    def each(self, work: Callable[[LeafRows, A], R], argument: A, threads: int = 1) -> Iterator[R]:
        """Yield the results of all leaves in their order; empty ones are among them.

        `work` is a function of a module, and its argument and result can be pickled.
        """


class LocalLeaves:
    """The leaves of one process; a subclass finds the rows."""

    sizes: IntArray

    def leaf(self, number: int) -> LeafRows:
        raise NotImplementedError

    def each(self, work: Callable[[LeafRows, A], R], argument: A, threads: int = 1) -> Iterator[R]:
        def of_leaf(number: int) -> R:
            return work(self.leaf(number), argument)

        yield from each_in_threads(of_leaf, len(self.sizes), threads, LEAVES_A_THREAD)


class HeldLeaves(LocalLeaves):
    """Leaves as lists of rows of a working set in memory; the copies are made when a leaf is taken."""

    def __init__(self, whole: WorkingSet, copies: Copies, n_leaves: int) -> None:
        self._whole = whole
        self.sizes = np.bincount(copies.leaf, minlength=n_leaves)
        self._ends = np.cumsum(self.sizes)
        order = np.lexsort((copies.row, copies.leaf))  # by leaf, and within a leaf by row
        self._row, self._weight = copies.row[order], copies.weight[order]

    def leaf(self, number: int) -> LeafRows:
        whole, end = self._whole, self._ends[number]
        own = slice(end - self.sizes[number], end)
        row = self._row[own]
        return LeafRows(
            whole.rows.take(row), whole.labels[row], whole.numbers[row], self._weight[own], number
        )


def joined(parts: list[Copies], starts: list[int]) -> Copies:
    """Join the copies of several blocks, whose first rows are `starts` of the joined rows."""
    return Copies(
        np.concatenate([np.zeros(0, np.int64), *(part.leaf for part in parts)]),
        np.concatenate([np.zeros(0, np.int64), *(p.row + s for p, s in zip(parts, starts, strict=True))]),
        np.concatenate([np.zeros(0), *(part.weight for part in parts)]),
    )
