"""Rows sent to leaves: the same copies in memory and in a file, for any number of threads."""

import numpy as np
import pytest

from svmfast.formats.spool import Spool
from svmfast.rows import Rows
from svmfast.solvers.leaves import Copies, LeafRows
from svmfast.solvers.training_data import WorkingSet

LEAVES = 7


def _leaf_of(block: WorkingSet, neighbors: int) -> Copies:
    """Row i goes to leaf i^2 mod 5, and with weight 1/2 to the next ones; the order is shuffled."""
    leaf = np.concatenate([block.numbers**2 % 5 + k for k in range(neighbors + 1)])
    row, weight = np.tile(np.arange(len(block.labels)), neighbors + 1), np.where(leaf % 5 == 0, 1.0, 0.5)
    order = np.random.default_rng(0).permutation(len(leaf))
    return Copies(leaf[order], row[order], weight[order])


def _as_dense(leaf: LeafRows, _: None) -> np.ndarray:
    assert leaf.rows.n_columns == 4
    return np.column_stack([leaf.numbers, leaf.labels, leaf.weights, leaf.rows.to_dense()])


@pytest.mark.parametrize("neighbors", [0, 1, 2])
def test_leaves_in_memory_and_in_a_file_have_the_same_rows(neighbors: int) -> None:
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(30_001, 4)) * (rng.random((30_001, 4)) < 0.6), rng.normal(size=30_001)
    wide = Rows.from_dense(x).renumbered(3 * Rows.from_dense(x).indices, 12)
    block = WorkingSet(wide, y, np.arange(len(x)))
    copies = _leaf_of(block, neighbors)
    for memory, threads in ((1 << 20, 1), (1 << 20, 2), (1 << 30, 2)):
        with Spool(memory) as spool:
            for k in range(0, len(x), 977):
                spool.add(wide[k : k + 977], y[k : k + 977])
            leaves = spool.finish().sent(_leaf_of, neighbors, LEAVES, threads)
            found = list(leaves.each(_as_dense, None, threads))
        assert leaves.sizes.tolist() == [len(leaf) for leaf in found]
        assert (len(found), sum(map(len, found))) == (LEAVES, len(copies.row))
        for number, leaf in enumerate(found):
            own = np.sort(copies.row[copies.leaf == number])
            weight = np.full(len(own), 1.0 if number % 5 == 0 else 0.5)
            np.testing.assert_array_equal(leaf, np.column_stack([own, y[own], weight, x[own]]))
