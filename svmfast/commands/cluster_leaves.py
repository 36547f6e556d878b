"""Rows that the workers of a Dask cluster send to leaves.

The worker that holds a part first writes the copies of its rows by leaf; nothing travels. Then a call takes a
few leaves: it gets their copies from all workers, and sorts them by the numbers of the rows.
"""

from __future__ import annotations

from _thread import allocate_lock
from collections.abc import Callable, Iterator, Sequence
from itertools import cycle, pairwise
from typing import Any, TypeVar

import numpy as np

from svmfast.commands.cluster import Workers, check_wanted
from svmfast.commands.cluster_blocks import PartBlocks, part_blocks
from svmfast.formats.leaf_file import LeafFile
from svmfast.rows import IntArray, Rows
from svmfast.solvers.leaves import LeafRows
from svmfast.threads import one_blas_thread

A = TypeVar("A")
R = TypeVar("R")

#: Bytes of the copies of leaves that are taken by one call, unless a leaf has more, and least calls a thread.
_TAKEN, _CALLS = 16 << 20, 4
#: Bytes of rows that are collected before they are written to the temporary file of a part.
_COLLECTED = 8 << 20


class HeldCopies:
    """The copies of a part's rows in a temporary file, held by the worker that made them.

    Pickled, it only says how they are made, as a HeldPart does.
    """

    def __init__(self, blocks: PartBlocks, leaf_of: Callable[..., Any], argument: Any, n_leaves: int) -> None:
        self._given = blocks, leaf_of, argument, n_leaves
        self._file: LeafFile | None = None
        self._lock = allocate_lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._given

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self._given[0].part.__sizeof__()

    def __del__(self) -> None:
        if self._file is not None:
            self._file.close()

    def file(self) -> LeafFile:
        """The leaves, which are made now unless they are held."""
        with self._lock:
            if self._file is None:
                blocks, leaf_of, argument, n_leaves = self._given
                file = LeafFile(n_leaves, len(blocks.columns), _COLLECTED)
                try:
                    with one_blas_thread():
                        for block in blocks:
                            file.add(block, leaf_of(block, argument))
                    file.flush()
                except BaseException:
                    file.close()
                    raise
                self._file = file
            return self._file


class ClusterLeaves:
    """All leaves, as :class:`svmfast.solvers.leaves.Leaves`; `held` are calls with HeldCopies each.

    `row_bytes` is about the memory of a row.
    """

    def __init__(self, workers: Workers, held: Sequence[Any], sizes: IntArray, row_bytes: float) -> None:
        self._workers, self._held, self.sizes = workers, held, sizes
        #: The first leaf of each call, and the number of leaves.
        self._starts = [0]
        taken, most = 0.0, sizes.sum() * row_bytes / _CALLS / max(1, len(workers.threads()))
        for leaf, size in enumerate(sizes.tolist()):
            if taken and taken + size * row_bytes > min(_TAKEN, most):
                self._starts.append(leaf)
                taken = 0.0
            taken += size * row_bytes
        self._starts.append(len(sizes))

    def each(self, work: Callable[[LeafRows, A], R], argument: A, threads: int = 1) -> Iterator[R]:
        for results in self._workers.in_order(self._calls(work, argument)):
            yield from results

    def _calls(self, work: Callable[..., Any], argument: Any) -> Iterator[Any]:
        by_place: dict[str, list[Any]] = {}
        for held, places in zip(self._held, self._workers.holders(self._held), strict=True):
            by_place.setdefault(next(iter(places), ""), []).append(held)
        shared, submit = self._workers.share(argument), self._workers.submit
        threads = cycle(self._workers.threads() or [""])
        for first, last in pairwise(self._starts):
            taken = [submit(_taken, first, last, *some, at=[at]) for at, some in by_place.items()]
            yield submit(_worked, work, shared, *taken, at=[next(threads)], soon=True)


# In a worker:


def copies_of(leaf_of: Callable[..., Any], argument: Any, more: tuple[int], *of_part: Any) -> HeldCopies:
    found = HeldCopies(part_blocks(*of_part), leaf_of, argument, *more)
    found.file()
    return found


def sizes_of(copies: HeldCopies) -> IntArray:
    return copies.file().sizes


def _taken(first: int, last: int, *held: HeldCopies) -> list[LeafRows]:
    """The copies that some parts have for each of a few leaves."""
    return [_sorted([one.file().leaf(leaf) for one in held]) for leaf in range(first, last)]


def _sorted(parts: Sequence[LeafRows]) -> LeafRows:
    """Join the copies of one leaf, and sort them by number."""
    numbers = np.concatenate([part.numbers for part in parts])
    order = np.argsort(numbers)
    return LeafRows(
        Rows.concatenate([part.rows for part in parts]).take(order),
        np.concatenate([part.labels for part in parts])[order],
        numbers[order],
        np.concatenate([part.weights for part in parts])[order],
        parts[0].leaf,
    )


def _worked(work: Callable[[LeafRows, A], R], argument: A, *taken: list[LeafRows]) -> list[R]:
    results = []
    with one_blas_thread():
        for parts in zip(*taken, strict=True):
            check_wanted()
            results.append(work(_sorted(parts), argument))
    return results
