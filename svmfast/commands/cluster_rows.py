"""Training rows that the workers of a Dask cluster hold, in blocks that do not depend on them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, islice, pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from svmfast.commands.cluster import Workers
from svmfast.commands.cluster_blocks import Span, part_blocks, rows_of_part
from svmfast.commands.cluster_leaves import ClusterLeaves, copies_of, sizes_of
from svmfast.formats.classes import TrainingClasses
from svmfast.formats.parts import PieceRead
from svmfast.formats.source import Closing
from svmfast.formats.spool import Spool, drawn
from svmfast.progress import Progress
from svmfast.rows import BoolArray
from svmfast.solvers.leaves import Copies
from svmfast.solvers.row_blocks import BLOCK, Sums, TreeSum, block_count
from svmfast.solvers.training_data import LabelOrder, WorkingSet, WorkingSets
from svmfast.threads import one_blas_thread

A = TypeVar("A")
R = TypeVar("R")

#: Workers join the sums of so many parts, again and again, until the driver gets few.
GROUP, MOST_SUMS = 8, 16


class Summary(NamedTuple):
    """What is known of a part after a worker has read it."""

    pieces: list[PieceRead]
    n_features: int
    n_bytes: int
    columns: NDArray[np.int32]
    labels: LabelOrder
    classes: TrainingClasses | None


class ClusterRows(Closing):
    """All training rows as a :class:`svmfast.solvers.row_blocks.TrainingSource`. A context manager.

    The worker that holds a part has the blocks that start in it. The rest of its last block is the head of
    the next part, or of several; other workers send it. `held` are calls with a HeldPart each. Of every pass
    `progress` gets the rows done. `memory` is that of this process.
    """

    def __init__(
        self,
        workers: Workers,
        held: Sequence[Any],
        parts: Sequence[Summary],
        classes: TrainingClasses | None,
        memory: int,
        progress: Progress,
    ) -> None:
        self._workers, self._held, self._progress, self._memory = workers, held, progress, memory
        self._drawn: Spool | None = None
        self.n_bytes = sum(part.n_bytes for part in parts)
        starts = [0, *accumulate(sum(piece.n_rows for piece in part.pieces) for part in parts)]
        self.n_rows = starts[-1]
        self.n_features = max(part.n_features for part in parts)
        self.columns = np.unique(np.concatenate([part.columns for part in parts]))
        self.labels = LabelOrder()
        self._spans = []
        for part, (start, end) in zip(parts, pairwise(starts), strict=True):
            final = None if part.classes is None or classes is None else classes.final_of(part.classes)
            self.labels.extend(part.labels, start, final)
            first, last = block_count(start), block_count(end)
            span = Span(start, end - start, first, last, min(last * BLOCK, self.n_rows), final)
            self._spans.append(span)
        self._columns = workers.share(self.columns)
        places = workers.holders(held)
        #: The parts with blocks of their own, and for each the calls with the heads that it needs.
        self._own = [k for k, span in enumerate(self._spans) if span.first_block < span.end_block]
        self._heads = {k: self._heads_after(k, places) for k in self._own}

    def _heads_after(self, part: int, places: list[Sequence[str]]) -> list[Any]:
        """The rows that the last block of a part has in the parts that follow."""
        wanted, found = self._spans[part].end_row, []
        for k in range(part + 1, len(self._held)):
            span = self._spans[k]
            if span.start >= wanted:
                break
            given = self._held[k], self._columns, span, 0, min(wanted - span.start, span.n_rows)
            found.append(self._workers.submit(rows_of_part, *given, at=places[k]))
        return found

    def each(self, work: Callable[[WorkingSet, A], R], argument: A, threads: int = 1) -> Iterator[R]:
        for results in self._followed(self._calls(_each, work, argument), self._own):
            yield from results

    def total(self, work: Callable[[WorkingSet, A], Sums], argument: A, threads: int = 1) -> Sums:
        calls, parts = self._calls(_total, work, argument), self._own
        while len(parts) > MOST_SUMS:
            calls = (self._workers.submit(_joined, *few) for few in _groups(calls))
            parts = [few[-1] for few in _groups(parts)]
        return _joined(*self._followed(calls, parts)).value()

    def sent(
        self, leaf_of: Callable[[WorkingSet, A], Copies], argument: A, n_leaves: int, threads: int = 1
    ) -> ClusterLeaves:
        held = list(self._calls(copies_of, leaf_of, argument, n_leaves))
        sizes = self._followed((self._workers.submit(sizes_of, one) for one in held), self._own)
        total = sum(sizes, np.zeros(n_leaves, dtype=np.int64))
        return ClusterLeaves(self._workers, held, total, self.n_bytes / self.n_rows)

    def working_sets(
        self, take: Callable[[WorkingSet, A], BoolArray] | None, argument: A, threads: int = 1
    ) -> WorkingSets:
        """The rows that `take` marks, which the workers send to this process."""
        self._drawn = drawn(self, self._memory, take, argument, threads)
        return self._drawn

    def close(self) -> None:
        """Delete the temporary file of the rows that were sent to this process."""
        if self._drawn is not None:
            self._drawn.close()

    def _calls(self, task: Callable[..., Any], work: Any, argument: Any, *more: Any) -> Iterator[Any]:
        shared, places = self._workers.share(argument), self._workers.holders(self._held)
        for k in self._own:
            given = self._held[k], self._columns, self._spans[k], *self._heads[k]
            yield self._workers.submit(task, work, shared, more, *given, at=places[k])

    def _followed(self, calls: Iterator[Any], parts: Sequence[int]) -> Iterator[Any]:
        """Yield the results of calls in order, each of which ends with one of these parts."""
        self._progress(0, self.n_rows, "pass")
        for k, found in zip(parts, self._workers.in_order(calls), strict=True):
            yield found
            self._progress(self._spans[k].end_row, self.n_rows, "pass")


def _each(work: Callable[..., R], argument: Any, _more: tuple[()], *of_part: Any) -> list[R]:
    with one_blas_thread():
        return [work(block, argument) for block in part_blocks(*of_part)]


def _total(work: Callable[..., Sums], argument: Any, _more: tuple[()], *of_part: Any) -> TreeSum:
    blocks = part_blocks(*of_part)
    with one_blas_thread():
        return TreeSum.of(blocks.span.first_block, (work(block, argument) for block in blocks))


def _joined(*following: TreeSum) -> TreeSum:
    found = TreeSum(0, [])
    for one in following:
        found.extend(one)
    return found


def _groups(parts: Iterable[R]) -> Iterator[list[R]]:
    left = iter(parts)
    return iter(lambda: list(islice(left, GROUP)), [])
