"""The relative error of an approximate kernel matrix, ||G - Gt||_F / ||G||_F, on sampled rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from svmfast.kernels import Kernel
from svmfast.rows import Rows
from svmfast.threads import map_in_threads

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: Side of the blocks in which the matrices are compared.
BLOCK = 1024

#: Returns the block of an approximation for given rows of groups g and h: block_of(g, rows, h, rows), g <= h.
BlockOf = Callable[[int, slice, int, slice], FloatArray]


@dataclass(frozen=True, eq=False)
class Sample:
    """Sampled rows by group; a group is a cluster, or all rows for baselines.

    Attributes
    ----------
    rows : list of Rows
    positions : list of (q_g,) int64
        Positions of the sampled rows in their group.
    total : int
        Number of rows from which the sample was drawn.
    """

    rows: list[Rows]
    positions: list[IntArray]
    total: int


def sample_rows(groups: list[Rows], size: int, seed: int) -> Sample:
    """Sample `size` of the rows of all groups uniformly, without replacement."""
    ends = np.cumsum([len(g) for g in groups])
    total = int(ends[-1])
    chosen = np.arange(total)
    if size < total:
        chosen = np.sort(np.random.default_rng([seed, 3]).choice(total, size, replace=False))
    parts = np.split(chosen, np.searchsorted(chosen, ends[:-1]))
    positions = [p - (e - len(g)) for p, e, g in zip(parts, ends, groups, strict=True)]
    return Sample([g.take(p) for g, p in zip(groups, positions, strict=True)], positions, total)


def relative_error(
    kernel: Kernel, sample: Sample, block_of: BlockOf, *, diagonal: float = 0.0, threads: int = 1
) -> float:
    """Return ||G - Gt||_F / ||G||_F, estimated from the sample.

    Off-diagonal and diagonal entries are weighted by their counts in the whole matrix, so the estimates of
    both squared norms are unbiased for any sample size.

    Parameters
    ----------
    kernel : Kernel
    sample : Sample
    block_of : BlockOf
        Returns the approximation's blocks; a slice refers to the sampled rows of a group.
    diagonal : float
        A number to add to the approximation's diagonal.
    threads : int
    """
    tiles = [
        (g, slice(a, min(a + BLOCK, len(rows))))
        for g, rows in enumerate(sample.rows)
        for a in range(0, len(rows), BLOCK)
    ]
    pairs = [(i, j) for i in range(len(tiles)) for j in range(i, len(tiles))]
    width = max(rows.n_columns for rows in sample.rows)

    def sums(pair: tuple[int, int]) -> FloatArray:
        (g, a), (h, b) = tiles[pair[0]], tiles[pair[1]]
        exact = kernel.matrix(sample.rows[g][a].to_dense(width), sample.rows[h][b].to_dense(width))
        miss = exact - block_of(g, a, h, b)
        if pair[0] != pair[1]:
            return 2 * np.array([np.vdot(exact, exact), 0, np.vdot(miss, miss), 0])
        # The distance of a row from itself is exactly 0; its rounding is not an error of the approximation.
        on, off = np.ones(len(exact)), miss.diagonal() + (1 - exact.diagonal()) - diagonal
        np.fill_diagonal(exact, 0)
        np.fill_diagonal(miss, 0)
        return np.array([np.vdot(exact, exact), on @ on, np.vdot(miss, miss), off @ off])

    total = np.sum(map_in_threads(sums, pairs, threads), axis=0)
    q, n = sum(len(rows) for rows in sample.rows), sample.total
    across = n * (n - 1) / (q * (q - 1)) if q > 1 else 0.0
    norm = across * total[0] + n / q * total[1]
    error = across * total[2] + n / q * total[3]
    return float(np.sqrt(error / norm))
