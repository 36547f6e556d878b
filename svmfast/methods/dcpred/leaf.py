"""Training of a leaf of DC-Pred++: local model, landmarks, linear model, and their optimization."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from svmfast.kernels import Kernel
from svmfast.methods.dcpred.cell_fit import CellExpansion, CellProblem, move_landmarks
from svmfast.methods.dcpred.kmeans_tree import weighted_centroids
from svmfast.methods.dcpred.pseudo_nystrom import (
    cell_features,
    feature_root,
    penalty_root,
    sample_pairs,
    solve_linear,
)
from svmfast.methods.train.training import TrainOptions, train
from svmfast.rows import FloatArray, Rows

IntArray = NDArray[np.int64]

#: The most rows for training the local model, which only gives weights for k-means.
LOCAL_ROWS = 2000
_CACHE_MEGABYTES = 40.0


@dataclass(frozen=True)
class LeafPlan:
    """The size of a leaf, and how it is trained.

    Attributes
    ----------
    loss : str
        ``squared_hinge`` or ``squares``.
    gamma, cost : float
        The initial gamma of the kernel, and C.
    landmarks, pseudo_landmarks : int
    pseudo : str
        ``none``, ``poly`` or ``triangle``.
    weighted : bool
        Use the squared coefficients of the local model as weights for k-means.
    iterations : int
        Maximum number of L-BFGS iterations on the landmarks.
    """

    loss: str
    gamma: float
    cost: float
    landmarks: int
    pseudo_landmarks: int
    pseudo: str
    weighted: bool
    iterations: int


@dataclass(frozen=True, eq=False)
class LeafRows:
    """The rows of a leaf, followed by nearby rows of other leaves.

    Attributes
    ----------
    x : (n, d) float64
    targets : (n, p) float64
        Targets of the functions that are not constant in the leaf.
    nearness : (n,) float64
        Weight of each row in this leaf.
    class_weights : (n,) float64 or None
        Weights of the rows' classes.
    own : int
        Number of the leaf's own rows.
    given : (s, d) float64, (s,) float64 or None
        Vectors of an exact model and their squared coefficients, in place of a local model.
    """

    x: FloatArray
    targets: FloatArray
    nearness: FloatArray
    class_weights: FloatArray | None
    own: int
    given: tuple[FloatArray, FloatArray] | None = None

    @property
    def weights(self) -> FloatArray:
        """The factor of C for each row."""
        return self.nearness if self.class_weights is None else self.nearness * self.class_weights


def train_leaf(rows: LeafRows, plan: LeafPlan, seed: tuple[int, int], threads: int) -> CellExpansion:
    """Return the leaf's expansion: algorithm 1 of the paper, then L-BFGS on the landmarks.

    Poly pseudo landmarks change with their landmarks. Triangle pseudo landmarks have no useful gradient, so
    they are added after the landmarks have been optimized.
    """
    rng = np.random.default_rng(seed)
    p = rows.targets.shape[1]
    points, worth = _candidates(rows, plan, rng)
    count = min(plan.landmarks, max(1, rows.own // 2))
    vectors = weighted_centroids(points, count, worth, int(rng.integers(2**31)))
    pairs = np.zeros((0, 2), dtype=np.int64)
    gamma = _wide_enough(rows.x, vectors, plan.gamma) if plan.iterations else plan.gamma
    if plan.pseudo == "poly":
        pairs = sample_pairs(vectors, gamma, plan.pseudo_landmarks, rng)
    cell = CellExpansion(
        vectors,
        gamma,
        np.zeros((p, len(vectors) + len(pairs))),
        np.zeros(p),
        pairs,
        np.zeros((0, len(vectors))),
    )
    cell = _with_coefficients(cell, rows, plan, rng)
    if plan.iterations:
        problem = CellProblem(rows.x, rows.targets, rows.weights, plan.loss)
        cell = move_landmarks(problem, cell, plan.cost, plan.iterations, threads=threads)
    if plan.pseudo == "triangle" and plan.pseudo_landmarks:
        chosen = points[rng.permutation(len(points))[: plan.pseudo_landmarks]]
        squares = (chosen**2).sum(axis=1)[:, None] + (cell.vectors**2).sum(axis=1)
        distances = np.sqrt(np.maximum(squares - 2 * chosen @ cell.vectors.T, 0))
        cell = CellExpansion(cell.vectors, cell.gamma, cell.coef, cell.rho, pairs, distances)
        cell = _with_coefficients(cell, rows, plan, rng)
    return cell


def _wide_enough(x: FloatArray, vectors: FloatArray, gamma: float) -> float:
    """Return gamma, or a smaller value if the landmarks are far from the rows.

    Rows whose kernel values are all nearly zero have no gradient, and the width would diverge. With the
    returned gamma, the kernel value at the mean squared distance from the nearest landmark is at least 1/e.
    """
    squares = (vectors**2).sum(axis=1)
    nearest = 0.0
    for start in range(0, len(x), LOCAL_ROWS):
        part = x[start : start + LOCAL_ROWS]
        distance = (squares - 2 * part @ vectors.T).min(axis=1) + (part**2).sum(axis=1)
        nearest += float(np.maximum(distance, 0).sum())
    return gamma if gamma * nearest <= len(x) else len(x) / nearest


def _with_coefficients(
    cell: CellExpansion, rows: LeafRows, plan: LeafPlan, rng: np.random.Generator
) -> CellExpansion:
    features = cell_features(rows.x, cell)
    if plan.iterations and len(cell.pairs):
        root = penalty_root(cell)
    else:
        root = feature_root(rows.x, features, cell.gamma, rng)
    coef, rho = solve_linear(features, root, rows.targets, rows.weights, plan.cost, plan.loss)
    return CellExpansion(cell.vectors, cell.gamma, coef, rho, cell.pairs, cell.distances)


def _candidates(
    rows: LeafRows, plan: LeafPlan, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray | None]:
    """Return the points from which k-means computes landmarks, and their weights."""
    x = rows.x
    if not plan.weighted:
        return x, None
    if rows.given is not None and len(rows.given[0]) >= 2 * plan.landmarks:
        return rows.given
    chosen = np.arange(len(x))
    if len(x) > LOCAL_ROWS:
        chosen = np.sort(rng.choice(len(x), LOCAL_ROWS, replace=False))
    x, targets = x[chosen], rows.targets[chosen]
    if plan.loss == "squares":
        return x, _ridge_weights(x, targets, plan)
    which = (targets[:, 0] > 0).astype(np.int64) if targets.shape[1] == 1 else targets.argmax(axis=1)
    if len(np.unique(which)) < 2:
        return x, None
    of_class: tuple[tuple[int, float], ...] = ()
    if rows.class_weights is not None:
        present, first = np.unique(which, return_index=True)
        of_class = tuple(zip(present.tolist(), rows.class_weights[chosen[first]].tolist(), strict=True))
    options = TrainOptions(
        gamma=plan.gamma, C=plan.cost, eps=0.01, cache_size=_CACHE_MEGABYTES, weights=of_class
    )
    local = train(Rows.from_dense(x), which, options)
    vectors, worth = local.sv.to_dense(x.shape[1]), (local.sv_coef**2).sum(axis=0)
    if len(vectors) >= 2 * plan.landmarks:
        return vectors, worth
    return np.vstack([vectors, x]), np.concatenate([worth, np.zeros(len(x))])


def _ridge_weights(x: FloatArray, targets: FloatArray, plan: LeafPlan) -> FloatArray:
    gram = Kernel("rbf", plan.gamma).matrix(x, x)
    gram[np.diag_indices_from(gram)] += 1 / (2 * plan.cost)
    alpha = np.linalg.solve(gram, targets - targets.mean(axis=0))
    weights: FloatArray = (alpha * alpha).sum(axis=1)
    return weights
