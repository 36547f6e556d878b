"""Training of a routed model: the tree, each leaf's own and nearby rows, and the leaves."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from svmfast.methods.common.class_targets import labels_of
from svmfast.methods.common.head_score import head_quality, value_quality
from svmfast.methods.dcpred.cell_fit import CellExpansion
from svmfast.methods.dcpred.kmeans_tree import KMeansTree, kmeans_tree
from svmfast.methods.dcpred.leaf import LeafPlan, LeafRows, train_leaf
from svmfast.methods.dcpred.memory import check_memory
from svmfast.methods.dcpred.options import DcpredOptions
from svmfast.models.head import Head
from svmfast.models.pseudo import PseudoLandmarks
from svmfast.models.routed import RoutedModel
from svmfast.progress import Progress, silent
from svmfast.rows import FloatArray, Rows
from svmfast.score import Quality
from svmfast.threads import map_in_threads

IntArray = NDArray[np.int64]

#: Weight of nearby rows of other leaves (as measured, better than 0 or 1).
NEIGHBOR_WEIGHT = 0.5
#: Number of nearby rows, relative to the leaf's own.
NEIGHBOR_SHARE = 1.0
#: The most rows on which a leaf is trained, including nearby rows of other leaves.
MOST_LEAF_ROWS = 60_000


@dataclass(frozen=True, eq=False)
class ExactVectors:
    """Vectors of an exact model and their squared coefficients, the weights for k-means."""

    vectors: Rows
    weights: FloatArray


@dataclass(frozen=True, eq=False)
class Training:
    """The problem that all leaves share.

    Attributes
    ----------
    rows : Rows
        n rows.
    targets : (n, p) float64
        +1 and -1, in one column per class, or a single column for two classes; or any values.
    head : Head
        It has as many functions as `targets` has columns.
    loss : str
        ``squared_hinge`` or ``squares``.
    exact : ExactVectors, optional
    weights : (n,) float64, optional
        Weight of each row's class, by which C is multiplied.
    """

    rows: Rows
    targets: FloatArray
    head: Head
    loss: str
    exact: ExactVectors | None = None
    weights: FloatArray | None = None

    def only(self, chosen: NDArray[np.int64] | NDArray[np.bool_]) -> Training:
        """Return the problem with only some of the rows."""
        weights = None if self.weights is None else self.weights[chosen]
        return replace(self, rows=self.rows.take(chosen), targets=self.targets[chosen], weights=weights)

    @property
    def truth(self) -> FloatArray:
        """The labels of the data, or its values for regression, ``(n,)``."""
        return self.targets[:, 0] if self.loss == "squares" else labels_of(self.head, self.targets)

    def quality(self, head: Head, decisions: FloatArray) -> Quality:
        """Compare a model's decision values of the first rows with the targets.

        Parameters
        ----------
        head : Head
            The model's head; its labels may have another order.
        decisions : (m, p) float64
        """
        n = len(decisions)
        if self.loss == "squares":
            return value_quality(decisions, self.targets[:n])
        return head_quality(head, decisions, self.truth[:n])


def build_tree(training: Training, options: DcpredOptions, threads: int) -> KMeansTree:
    """Return the k-means tree of the rows."""
    return kmeans_tree(
        training.rows, options.clusters, levels=options.levels, seed=options.seed, threads=threads
    )


def train_tree(
    training: Training,
    tree: KMeansTree,
    options: DcpredOptions,
    gamma: float,
    regularization: float,
    *,
    threads: int = 1,
    progress: Progress = silent,
) -> RoutedModel:
    """Train every leaf and return the model; `regularization` is C (hinge loss) or lambda (squares)."""
    rows, leaves = training.rows, len(tree.leaf_centers)
    functions = training.targets.shape[1]
    order = np.argsort(tree.leaf, kind="stable")
    start = np.concatenate([[0], np.cumsum(np.bincount(tree.leaf, minlength=leaves))])
    sizes = [min(MOST_LEAF_ROWS, 2 * int(n) if leaves > 1 else int(n)) for n in np.diff(start)]
    check_memory(rows, sizes, functions, options, threads)
    distance = _distances(rows, tree) if leaves > 1 else np.zeros((len(rows), 1))
    plan = LeafPlan(
        loss=training.loss,
        gamma=gamma,
        cost=regularization if training.loss == "squared_hinge" else 0.5 / regularization,
        landmarks=options.landmarks,
        pseudo_landmarks=options.pseudo_count,
        pseudo=options.pseudo,
        weighted=options.kmeans == "weighted",
        iterations=options.iterations,
    )
    exact_leaf = None
    if training.exact is not None:
        exact_leaf = _route(training.exact.vectors, tree, threads)
    done = 0

    def work(s: int) -> _Leaf:
        nonlocal done
        own = order[start[s] : start[s + 1]]
        leaf = _train_one(
            training,
            own,
            distance[:, s],
            tree.leaf,
            s,
            plan,
            exact_leaf=exact_leaf,
            seed=options.seed,
            threads=inner,
        )
        done += 1
        progress(done, leaves, "leaves")
        return leaf

    # If there are few leaves, the threads work within each leaf; the result is the same.
    inner = 1 if leaves >= 2 * threads else threads
    found = map_in_threads(work, range(leaves), threads if inner == 1 else 1)
    return _assembled(training.head, tree, found, rows.n_columns, functions)


def _route(rows: Rows, tree: KMeansTree, threads: int) -> NDArray[np.int32]:
    from svmfast.routing import Router

    return Router(tree.children, tree.centers).route(rows, threads=threads)


def _distances(rows: Rows, tree: KMeansTree) -> FloatArray:
    """Return ``(n, leaves)`` squared distances from the leaves' centers, minus that of the row's own leaf.

    A distance is negative if the tree did not route the row to the nearest leaf.
    """
    centers = tree.leaf_centers
    product = np.asarray(rows.to_scipy() @ centers[:, : rows.n_columns].T)
    relative = (centers**2).sum(axis=1) - 2 * product
    gap: FloatArray = relative - relative[np.arange(len(rows)), tree.leaf][:, None]
    return gap


@dataclass(frozen=True, eq=False)
class _Leaf:
    """A leaf's expansion of the functions that are not constant, their numbers, and the offsets of all."""

    cell: CellExpansion | None
    functions: IntArray
    rho: FloatArray
    gamma: float


def _train_one(
    training: Training,
    own: IntArray,
    distance: FloatArray,
    leaf: NDArray[np.int32],
    s: int,
    plan: LeafPlan,
    *,
    exact_leaf: NDArray[np.int32] | None,
    seed: int,
    threads: int,
) -> _Leaf:
    targets, hinge = training.targets, training.loss == "squared_hinge"
    functions = np.arange(targets.shape[1])
    others = np.flatnonzero(leaf != s)
    if hinge:
        present = _present(targets[own])
        if len(present) == 1:  # its rows are of one class, so all functions are constant
            return _Leaf(None, functions[:0], -targets[own[0]], plan.gamma)
        if len(functions) > 1:
            functions = present
            others = others[(targets[others][:, present] > 0).any(axis=1)]
    count = min(int(NEIGHBOR_SHARE * len(own)), len(others))
    near = others[np.argsort(distance[others], kind="stable")[:count]]
    if len(own) + len(near) > MOST_LEAF_ROWS:
        rng = np.random.default_rng([seed, s, 3])
        own = np.sort(rng.choice(own, min(len(own), MOST_LEAF_ROWS), replace=False))
        near = near[: MOST_LEAF_ROWS - len(own)]
    chosen = np.concatenate([own, near])
    given = None
    if training.exact is not None and exact_leaf is not None:
        inside = np.flatnonzero(exact_leaf == s)
        vectors = training.exact.vectors.take(inside).to_dense(training.rows.n_columns)
        given = (vectors, training.exact.weights[inside])
    rows = LeafRows(
        training.rows.take(chosen).to_dense(),
        np.ascontiguousarray(targets[np.ix_(chosen, functions)]),
        np.concatenate([np.ones(len(own)), np.full(len(near), NEIGHBOR_WEIGHT)]),
        None if training.weights is None else training.weights[chosen],
        len(own),
        given,
    )
    cell = train_leaf(rows, plan, (seed, s), threads)
    # Classes without rows in the leaf must lose; kernel values are at most 1.
    rho = np.full(targets.shape[1], 1 + float((np.abs(cell.coef).sum(axis=1) + np.abs(cell.rho)).max()))
    rho[functions] = cell.rho
    return _Leaf(cell, functions, rho, cell.gamma)


def _present(targets: FloatArray) -> IntArray:
    """Return the classes that occur in the rows; for a single column, the sides that occur, 0 or 1."""
    if targets.shape[1] == 1:
        return np.unique(targets[:, 0] > 0).astype(np.int64)
    return np.flatnonzero((targets > 0).any(axis=0))


def _assembled(
    head: Head, tree: KMeansTree, leaves: list[_Leaf], columns: int, functions: int
) -> RoutedModel:
    empty = np.zeros((0, columns))
    sizes = np.array([leaf.cell.landmarks if leaf.cell else 0 for leaf in leaves], dtype=np.int64)
    coef: list[FloatArray] = []
    pseudo_coef: list[FloatArray] = []
    for leaf, size in zip(leaves, sizes, strict=True):
        if leaf.cell is None:
            continue
        full = np.zeros((functions, leaf.cell.coef.shape[1]))
        full[leaf.functions] = leaf.cell.coef
        coef.append(full[:, :size])
        pseudo_coef.append(full[:, size:])
    cells = [leaf.cell for leaf in leaves if leaf.cell is not None]
    none = np.zeros((functions, 0))
    joined = np.ascontiguousarray(np.hstack([none, *pseudo_coef]))
    pseudo = None
    if joined.shape[1]:
        kind = "triangle" if any(len(cell.distances) for cell in cells) else "poly"
        pseudo = PseudoLandmarks(
            kind,
            np.array([leaf.cell.coef.shape[1] if leaf.cell else 0 for leaf in leaves], dtype=np.int64)
            - sizes,
            joined,
            np.ascontiguousarray(np.vstack([np.zeros((0, 2), np.int64), *(cell.pairs for cell in cells)])),
            np.concatenate([np.zeros(0), *(cell.distances.ravel() for cell in cells)]),
        )
    return RoutedModel(
        head=head,
        kernel="rbf",
        gamma=np.array([leaf.gamma for leaf in leaves]),
        children=tree.children,
        centers=tree.centers,
        landmarks=Rows.from_dense(np.vstack([empty, *(cell.vectors for cell in cells)])),
        sizes=sizes,
        coef=np.ascontiguousarray(np.hstack([none, *coef])),
        rho=np.stack([leaf.rho for leaf in leaves]),
        pseudo=pseudo,
    )
