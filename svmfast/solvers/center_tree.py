"""Trees of k-means centers for training rows that come in blocks, and rows near the borders of the leaves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from svmfast.caches import Cacheless, cached
from svmfast.routing import Router
from svmfast.rows import FloatArray, IntArray, Rows
from svmfast.solvers.kernel_clusters import KMEANS_ROWS, kmeans_centers
from svmfast.solvers.leaves import Copies
from svmfast.solvers.row_blocks import BLOCK, RowBlocks
from svmfast.solvers.training_data import WorkingSet, chosen

#: The tree is grown from at least so many rows, and from so many for each leaf.
ROWS_A_LEAF = 40
#: Children of a node; more leaves are more levels.
MOST_CHILDREN = 128
#: A leaf is extended by rows of so many others at most, those with the nearest centers.
NEIGHBORS = 16


@dataclass(frozen=True, eq=False)
class CenterTree(Cacheless):
    """A tree of centers, and how far a leaf reaches into the others. It is pickled to workers."""

    #: As :class:`Router` takes them.
    children: IntArray
    centers: FloatArray
    #: (leaves, k) the nearest other leaves of each, k = 0 without neighbors.
    near: IntArray
    #: (leaves,) a row of another leaf is also one of this leaf if its squared distance from this center
    #: exceeds that from its own by at most so much.
    reach: FloatArray

    @cached
    def router(self) -> Router:
        return Router(self.children, self.centers)

    @cached
    def leaf_centers(self) -> FloatArray:
        """The centers of the leaves, ``(leaves, d)``."""
        found: FloatArray = self.centers[self.children[1:] == 0]
        return found

    @cached
    def _norms(self) -> FloatArray:
        found: FloatArray = np.einsum("ij,ij->i", self.leaf_centers, self.leaf_centers)
        return found

    def gaps(self, rows: Rows, leaf: IntArray) -> FloatArray:
        """By how much a row is farther from each near leaf's center than from its own's, ``(n, k)``.

        They are differences of squared distances, and each is summed in the order of the row's entries.
        """
        centers, lengths = self.leaf_centers, np.diff(rows.indptr)
        row = np.repeat(np.arange(len(rows)), lengths)
        own, other = centers[leaf[row], rows.indices], self.near[leaf]
        found = self._norms[other] - self._norms[leaf][:, None]
        for k in range(other.shape[1]):
            apart = centers[other[row, k], rows.indices] - own
            found[:, k] -= 2 * np.bincount(row, rows.values * apart, minlength=len(rows))
        return found

    def reaching(self, rows: Rows, leaf: IntArray, overlap: float) -> FloatArray:
        """Find the reach with which the leaves get `overlap` times their own number of the `rows`."""
        leaves = len(self.near)
        other = self.near[leaf].ravel()
        gaps = np.concatenate(
            [
                self.gaps(rows[first : first + BLOCK], leaf[first : first + BLOCK]).ravel()
                for first in range(0, len(rows), BLOCK)
            ]
        )
        order = np.lexsort((gaps, other))
        begin = np.searchsorted(other[order], np.arange(leaves + 1))
        wanted = np.round(overlap * np.bincount(leaf, minlength=leaves)).astype(np.int64)
        wanted = np.minimum(wanted, np.diff(begin))
        reach = np.full(leaves, -np.inf)
        some = wanted > 0
        reach[some] = gaps[order[begin[:-1][some] + wanted[some] - 1]]
        return reach


def leaf_of(block: WorkingSet, tree: CenterTree) -> Copies:
    """Send the rows of a block to their leaves, and to those that reach them with weight 0.

    The weight only tells them apart: models were no better with half weight for the others (ijcnn1, a9a,
    covtype, a noisy checkerboard).
    """
    leaf = tree.router.route(block.rows).astype(np.int64)
    own = np.arange(len(leaf))
    if not tree.near.shape[1]:
        return Copies(leaf, own, np.ones(len(leaf)))
    other = tree.near[leaf]
    row, k = np.nonzero(tree.gaps(block.rows, leaf) <= tree.reach[other])
    weight = np.concatenate([np.ones(len(leaf)), np.zeros(len(row))])
    return Copies(np.concatenate([leaf, other[row, k]]), np.concatenate([own, row]), weight)


def _sampled(block: WorkingSet, argument: tuple[int, float]) -> tuple[Rows, FloatArray]:
    which = chosen(block.numbers, *argument)
    return block.rows.take(which), block.labels[which]


def sample(source: RowBlocks, leaves: float, seed: int, threads: int) -> tuple[Rows, FloatArray]:
    """Choose rows for a tree of `leaves` by a hash of their numbers; all of them if there are few."""
    share = max(KMEANS_ROWS, ROWS_A_LEAF * leaves) / max(1, source.n_rows)
    parts = list(source.each(_sampled, (seed, share), threads))
    return Rows.concatenate([rows for rows, _ in parts]), np.concatenate([labels for _, labels in parts])


def grown(
    rows: Rows, branches: Callable[[int, int], int], seed: int, overlap: float = 0.0
) -> tuple[CenterTree, IntArray]:
    """Grow a tree from sampled rows; return it and the leaf of each row, of which no leaf is without.

    ``branches(count, level)`` is the number of children of a node that has `count` of the rows; the root has
    level 0 and always a child. A node becomes a leaf if its rows have a single nearest center. Leaves get
    `overlap` times their own number from others.
    """
    nodes = [(np.arange(len(rows)), 0)]
    children, centers = [], [np.zeros((0, rows.n_columns))]
    leaf, leaves = np.zeros(len(rows), dtype=np.int64), 0
    for number, (own, level) in enumerate(nodes):  # which grows
        count = max(branches(len(own), level), not level)
        inside = rows.take(own) if count else rows[:0]
        found = kmeans_centers(inside, count, seed=seed + number) if count else centers[0]
        cell = Router.flat(found).route(inside) if count > 1 else np.zeros(len(inside), np.int32)
        filled = np.unique(cell)
        if level and len(filled) < 2:
            leaf[own], leaves = leaves, leaves + 1
            children.append(0)
            continue
        children.append(len(filled))
        centers.append(found[filled])
        nodes += [(own[cell == k], level + 1) for k in filled]
    none = np.zeros((leaves, 0), dtype=np.int64)
    tree = CenterTree(np.array(children), np.vstack(centers), none, np.full(leaves, -np.inf))
    if overlap and leaves > 1:
        tree = replace(tree, near=_nearest(tree.leaf_centers, min(NEIGHBORS, leaves - 1)))
        tree = replace(tree, reach=tree.reaching(rows, leaf, overlap))
    return tree, leaf


def _nearest(centers: FloatArray, count: int) -> IntArray:
    """The numbers of the `count` nearest other centers of each, ``(n, count)``."""
    norms, found = np.einsum("ij,ij->i", centers, centers), np.empty((len(centers), count), dtype=np.int64)
    for first in range(0, len(centers), 256):
        part = slice(first, first + 256)
        distance = norms - 2 * centers[part] @ centers.T
        distance[np.arange(len(distance)), np.arange(len(centers))[part]] = np.inf
        found[part] = np.argsort(distance, axis=1, kind="stable")[:, :count]
    return found
