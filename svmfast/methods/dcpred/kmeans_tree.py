"""A tree of k-means centers for a router, and weighted k-means centroids as landmarks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from svmfast.routing import Router, flat_tree
from svmfast.rows import FloatArray, Rows
from svmfast.solvers.k_means import k_means
from svmfast.solvers.kernel_clusters import kmeans_centers

IntArray = NDArray[np.int64]

#: Up to this many leaves, the default is one level. Two levels are less accurate (letter, 30 leaves of 60
#: landmarks: 95.5 % instead of 96.1 %), but take about 2 sqrt(leaves) distances instead of one per leaf.
FLAT_LEAVES = 64
#: The smallest weight, relative to the largest: points of weight 0 would not count for k-means.
_LEAST_WEIGHT = 1e-6


@dataclass(frozen=True, eq=False)
class KMeansTree:
    """A tree of centers."""

    #: (nodes,) number of children of each node, breadth first.
    children: IntArray
    #: (nodes - 1, d) centers of all nodes but the root.
    centers: FloatArray
    #: (leaves, d)
    leaf_centers: FloatArray
    #: (n,) leaf of each row; no leaf is empty.
    leaf: NDArray[np.int32]


def kmeans_tree(rows: Rows, leaves: int, *, levels: int = 0, seed: int = 0, threads: int = 1) -> KMeansTree:
    """Cluster rows hierarchically, into fewer leaves if there are few distinct rows.

    Two levels mean about sqrt(leaves) branches, with leaves in proportion to their rows. 0 means two levels
    for more than 64 leaves, else one.
    """
    if levels == 1 or leaves <= 3 or (levels == 0 and leaves <= FLAT_LEAVES):
        tops = kmeans_centers(rows, leaves, seed=seed)
        below = [tops[i : i + 1] for i in range(len(tops))]
    else:
        tops = kmeans_centers(rows, round(np.sqrt(leaves)), seed=seed)
        cell = Router.flat(tops).route(rows, threads=threads)
        own = [rows.take(np.flatnonzero(cell == i)) for i in range(len(tops))]
        shares = np.bincount(cell, minlength=len(tops)) * (leaves / len(rows))
        kept = [i for i in range(len(tops)) if len(own[i])]
        below = [
            kmeans_centers(own[i], max(1, round(float(shares[i]))), seed=seed + 1 + i)
            if shares[i] >= 1.5
            else tops[i : i + 1]
            for i in kept
        ]
        tops = np.ascontiguousarray(tops[kept])
    while True:
        children, centers, leaf_centers, owner = _assembled(tops, below)
        leaf = Router(children, centers).route(rows, threads=threads)
        filled = np.bincount(leaf, minlength=len(leaf_centers)) > 0
        if filled.all():
            return KMeansTree(children, centers, leaf_centers, leaf)
        below = [centers[filled[owner == i]] for i, centers in enumerate(below)]
        kept = [i for i, centers in enumerate(below) if len(centers)]
        tops, below = np.ascontiguousarray(tops[kept]), [below[i] for i in kept]


def _assembled(
    tops: FloatArray, below: list[FloatArray]
) -> tuple[IntArray, FloatArray, FloatArray, IntArray]:
    """Return the children, the centers, those of the leaves, and the branch of each leaf, breadth first."""
    counts = np.array([len(centers) for centers in below])
    single, several = np.flatnonzero(counts == 1), np.flatnonzero(counts > 1)
    # Leaves of the first level come before those of the second.
    owner = np.concatenate([single, np.repeat(several, counts[several])])
    if not len(several):
        return flat_tree(len(tops)), tops, tops, owner
    children = np.concatenate([[len(tops)], np.where(counts > 1, counts, 0), np.zeros(counts[several].sum())])
    second = [below[i] for i in several]
    return (
        children.astype(np.int64),
        np.ascontiguousarray(np.vstack([tops, *second])),
        np.ascontiguousarray(np.vstack([tops[single], *second])),
        owner,
    )


def weighted_centroids(x: FloatArray, count: int, weights: FloatArray | None, seed: int) -> FloatArray:
    """Return up to `count` landmarks, the k-means centroids of rows with weights >= 0; None: all equal.

    Theorem 3 of Hsieh, Si and Dhillon: if the weights are the squared coefficients of the model, the k-means
    objective bounds the distance of the Nystrom approximation's solution from the exact one.
    """
    if count >= len(x):
        return np.array(x)
    if count == 0:
        return np.zeros((0, x.shape[1]))
    if weights is not None:
        top = float(weights.max())
        weights = np.maximum(weights, _LEAST_WEIGHT * top) if top > 0 else None
    return k_means(x, count, seed=seed, max_iterations=20, weights=weights)
