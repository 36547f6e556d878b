"""In a worker of a cluster: the blocks of rows that start in a part that it holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from svmfast.commands.cluster import check_wanted
from svmfast.formats.parts import HeldPart
from svmfast.rows import FloatArray
from svmfast.solvers.row_blocks import BLOCK
from svmfast.solvers.training_data import WorkingSet


@dataclass(frozen=True, eq=False)
class Span:
    """The rows of a part among all rows, and the blocks that start in it."""

    start: int
    n_rows: int
    #: Its own blocks, and the row after their last one.
    first_block: int
    end_block: int
    end_row: int
    #: The labels by their provisional numbers, if they are names.
    labels: FloatArray | None


def rows_of_part(part: HeldPart, columns: NDArray[np.int32], span: Span, first: int, last: int) -> WorkingSet:
    """Rows of a part, in the compact columns of all rows."""
    spool = part.spool(check_wanted)
    spool.columns = columns
    found = spool.rows_between(first, last)
    labels = found.labels if span.labels is None else span.labels[found.labels.astype(np.int64)]
    return WorkingSet(found.rows, labels, found.numbers + span.start)


@dataclass(frozen=True, eq=False)
class PartBlocks:
    """The blocks that start in a part; `heads` are the rows after it that its last block has."""

    part: HeldPart
    columns: NDArray[np.int32]
    span: Span
    heads: Sequence[WorkingSet]

    def __iter__(self) -> Iterator[WorkingSet]:
        span = self.span
        for number in range(span.first_block, span.end_block):
            check_wanted()
            first, last = number * BLOCK - span.start, min((number + 1) * BLOCK, span.end_row) - span.start
            block = rows_of_part(self.part, self.columns, span, first, min(last, span.n_rows))
            if last > span.n_rows:
                block = WorkingSet.joined([block, *self.heads])
            yield block


def part_blocks(part: HeldPart, columns: NDArray[np.int32], span: Span, *heads: WorkingSet) -> PartBlocks:
    return PartBlocks(part, columns, span, heads)
