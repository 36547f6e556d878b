"""Training rows in fixed blocks, so that neither their division among files nor the workers change a result.

Block b has the rows b * BLOCK to (b + 1) * BLOCK of the whole input in their order, however the input is
divided into files. Sums over blocks go up one binary tree over the numbers of the blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from svmfast.progress import Progress, silent
from svmfast.rows import BoolArray, FloatArray, Rows
from svmfast.solvers.leaves import Copies, HeldLeaves, Leaves, LocalLeaves, joined
from svmfast.solvers.training_data import LabelOrder, WorkingSet, WorkingSets, compact, occurring
from svmfast.threads import each_in_threads

A = TypeVar("A")
R = TypeVar("R")

#: Rows of a block.
BLOCK = 8192

#: What is summed over the rows: arrays of the same shapes in every block.
Sums = list[FloatArray]


class RowBlocks(Protocol):
    """All training rows as blocks: in memory, in a temporary file, or read by the workers of a cluster.

    `work` is called with a block and an argument. It is a function of a module, and its argument and result
    can be pickled. A block is a :class:`WorkingSet` in compact columns, with the rows in their order.
    """

    @property
    def n_rows(self) -> int:
        """Number of rows."""

    @property
    def n_features(self) -> int:
        """Width of the input: LIBSVM's largest index."""

    @property
    def columns(self) -> NDArray[np.int32]:
        """The columns that occur in the input, ascending; compact column k is ``columns[k]``."""

    @property
    def labels(self) -> LabelOrder:
        """The labels that occur."""

    @property
    def n_bytes(self) -> int:
        """About the memory that all rows take."""

    def each(self, work: Callable[[WorkingSet, A], R], argument: A, threads: int = 1) -> Iterator[R]:
        """Yield the results of all blocks, in the order of the blocks."""

    def total(self, work: Callable[[WorkingSet, A], Sums], argument: A, threads: int = 1) -> Sums:
        """Sum the results of all blocks in the tree's order."""

    def sent(
        self, leaf_of: Callable[[WorkingSet, A], Copies], argument: A, n_leaves: int, threads: int = 1
    ) -> Leaves:
        """Send copies of the rows to `n_leaves` leaves; `leaf_of` is called as `work` is."""


class TrainingSource(RowBlocks, Protocol):
    """All training rows, of which some are visited one by one."""

    def working_sets(
        self, take: Callable[[WorkingSet, A], BoolArray] | None, argument: A, threads: int = 1
    ) -> WorkingSets:
        """The rows that `take` marks, numbered anew, as working sets; without `take` all rows."""


class LocalBlocks:
    """The blocks of rows that one process reads; a subclass has the other attributes of RowBlocks."""

    n_rows: int
    #: Gets the rows done of every pass.
    progress: Progress = staticmethod(silent)

    def rows_between(self, first: int, last: int) -> WorkingSet:
        """The rows `first` to `last` - 1 of the input, in compact columns."""
        raise NotImplementedError

    def each(self, work: Callable[[WorkingSet, A], R], argument: A, threads: int = 1) -> Iterator[R]:
        def of_block(number: int) -> R:
            first = number * BLOCK
            return work(self.rows_between(first, min(first + BLOCK, self.n_rows)), argument)

        results = each_in_threads(of_block, block_count(self.n_rows), threads, 2)
        for number, found in enumerate(results, 1):
            yield found
            self.progress(min(number * BLOCK, self.n_rows), self.n_rows, "pass")

    def sent(
        self, leaf_of: Callable[[WorkingSet, A], Copies], argument: A, n_leaves: int, threads: int = 1
    ) -> LocalLeaves:
        parts = list(self.each(leaf_of, argument, threads))
        copies = joined(parts, [BLOCK * number for number in range(len(parts))])
        return HeldLeaves(self.rows_between(0, self.n_rows), copies, n_leaves)

    def total(self, work: Callable[[WorkingSet, A], Sums], argument: A, threads: int = 1) -> Sums:
        return TreeSum.of(0, self.each(work, argument, threads)).value()


class HeldBlocks(LocalBlocks):
    """The blocks of rows in memory."""

    def __init__(self, rows: Rows, labels: FloatArray) -> None:
        self.n_rows, self.n_features, self.columns = len(rows), rows.n_columns, occurring(rows)
        self.n_bytes = 12 * rows.nnz + 24 * len(rows)
        self.labels = LabelOrder()
        self.labels.add(labels, 0)
        self._whole = WorkingSet(compact(rows, self.columns), labels, np.arange(len(rows), dtype=np.int64))

    def rows_between(self, first: int, last: int) -> WorkingSet:
        return self._whole.between(first, last)


@dataclass(eq=False)
class TreeSum:
    """The sums of consecutive blocks from block `first` on, as the roots of the tree's whole subtrees.

    A subtree has 2^level blocks, and its first block is a multiple of that. Two neighbouring subtrees that
    have the same parent are added at once, so that few sums are held: about twice the depth of the tree.
    """

    first: int
    #: Each with its first block and level, in the order of the blocks.
    roots: list[tuple[int, int, Sums]]

    @classmethod
    def of(cls, first: int, sums: Iterable[Sums]) -> TreeSum:
        found = cls(first, [])
        for number, one in enumerate(sums, first):
            found.add(number, 0, one)
        return found

    def add(self, start: int, level: int, sums: Sums) -> None:
        """Append a subtree; its blocks follow those added before."""
        while self.roots:
            before, height, other = self.roots[-1]
            if height != level or before % (2 << level):
                break
            self.roots.pop()
            start, level, sums = before, level + 1, [a + b for a, b in zip(other, sums, strict=True)]
        self.roots.append((start, level, sums))

    def extend(self, other: TreeSum) -> None:
        """Append the sums of the blocks that follow."""
        for root in other.roots:
            self.add(*root)

    def value(self) -> Sums:
        """The sum over all blocks, from the last subtree to the first: each is the right part of the next."""
        *others, (_, _, found) = self.roots
        for _, _, one in reversed(others):
            found = [a + b for a, b in zip(one, found, strict=True)]
        return found


def block_count(n_rows: int) -> int:
    return -(-n_rows // BLOCK)
