"""Trees of centers for rows in blocks, and the rows that leaves get from others, by dense distances."""

import numpy as np
import pytest

from svmfast.rows import Rows
from svmfast.solvers import center_tree
from svmfast.solvers.center_tree import CenterTree, grown, leaf_of, sample
from svmfast.solvers.row_blocks import HeldBlocks
from svmfast.solvers.training_data import WorkingSet

RNG = np.random.default_rng(0)


def _tree(x: np.ndarray, leaves: int, overlap: float) -> CenterTree:
    return grown(Rows.from_dense(x), lambda count, level: 0 if level else leaves, 3, overlap)[0]


@pytest.mark.parametrize(
    ("leaves", "overlap"), [(1, 0.5), (2, 5.0), (8, 0.0), (8, 0.5), (30, 1.0), (300, 0.5)]
)
def test_a_leaf_gets_its_rows_and_the_nearest_of_its_neighbors(
    leaves: int, overlap: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(center_tree, "BLOCK", 1000)
    x = RNG.normal(size=(3000, 3)) * (RNG.random((3000, 3)) < 0.8)
    tree = _tree(x, leaves, overlap)
    copies = leaf_of(WorkingSet(Rows.from_dense(x), np.zeros(len(x)), np.arange(len(x))), tree)
    distance = ((x[:, None] - tree.leaf_centers) ** 2).sum(axis=2)
    own = np.argmin(distance, axis=1)
    gap = distance - distance.min(axis=1, keepdims=True)
    for leaf in range(len(tree.leaf_centers)):
        here, weight = copies.row[copies.leaf == leaf], copies.weight[copies.leaf == leaf]
        np.testing.assert_array_equal(np.sort(here[weight == 1]), np.flatnonzero(own == leaf))
        others, wanted = here[weight == 0], round(overlap * np.count_nonzero(own == leaf))
        wanted = min(wanted, np.count_nonzero(own != leaf))
        assert len(set(here)) == len(here)
        assert len(others) == (wanted if leaves > 1 else 0)
        near = np.argsort(((tree.leaf_centers - tree.leaf_centers[leaf]) ** 2).sum(axis=1))[1:17]
        assert not overlap or leaves == 1 or set(near) == set(tree.near[leaf])
        # Rows of leaves that do not have this one among their nearest may be missing.
        able = np.isin(own, [k for k in near if leaf in tree.near[k]]) if leaves > 1 else others
        nearest = np.flatnonzero(able)[np.argsort(gap[able, leaf])[:wanted]] if len(others) else others
        assert len(np.setdiff1d(nearest, others)) <= max(1, 0.1 * wanted)


def test_nodes_are_divided_until_their_leaves_are_small() -> None:
    """A dense and a sparse region: leaves of equal size, on several levels; equal rows are not divided."""
    x = np.vstack([RNG.random((9000, 2)), 10 + 5 * RNG.random((1000, 2)), np.full((500, 2), 30.0)])
    tree, leaf = grown(Rows.from_dense(x), lambda count, level: min(4, count // 100), 0)
    sizes = np.bincount(leaf)
    assert sizes.max() == 500
    assert np.sort(sizes)[-2] < 200
    np.testing.assert_array_equal(tree.router.route(Rows.from_dense(x)), leaf)
    assert (tree.children > 4).sum() == 0


def test_a_sample_does_not_depend_on_threads_and_has_rows_of_every_part() -> None:
    x = np.arange(1.0, 100_001)[:, None]
    rows, labels = sample(HeldBlocks(Rows.from_dense(x), x[:, 0]), leaves=10, seed=5, threads=2)
    np.testing.assert_array_equal(rows.values, labels)
    assert 19_000 < len(labels) < 21_000
    assert np.histogram(labels, 10)[0].min() > 1800
    again = sample(HeldBlocks(Rows.from_dense(x), x[:, 0]), leaves=10, seed=5, threads=1)
    np.testing.assert_array_equal(again[1], labels)
