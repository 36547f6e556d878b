"""Training of a leaf of DC-Pred++: local model, landmarks, linear model, and their optimization."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from svmfast.kernels import Kernel
from svmfast.methods.common.class_weights import class_weights_of
from svmfast.methods.dcpred.cell_fit import CellExpansion, CellProblem, move_landmarks
from svmfast.methods.dcpred.kmeans_tree import weighted_centroids
from svmfast.methods.dcpred.options import DcpredOptions
from svmfast.methods.dcpred.pseudo_nystrom import (
    cell_features,
    feature_root,
    penalty_root,
    sample_pairs,
    solve_linear,
)
from svmfast.methods.train.training import TrainOptions, train
from svmfast.rows import FloatArray, Rows

#: The most rows for training the local model, which only gives weights for k-means.
LOCAL_ROWS = 2000
_CACHE_MEGABYTES = 40.0


@dataclass(frozen=True, eq=False)
class LeafRows:
    """The n rows of a leaf, followed by nearby rows of other leaves."""

    x: FloatArray
    #: (n, p) targets of the functions that are not constant in the leaf.
    targets: FloatArray
    #: ``squared_hinge`` or ``squares``.
    loss: str
    #: (n,) weight of each row in this leaf.
    nearness: FloatArray
    #: (n,) weights of the rows' classes.
    class_weights: FloatArray | None
    #: Number of the leaf's own rows.
    own: int
    #: Vectors of an exact model and their squared coefficients, in place of a local model.
    given: tuple[FloatArray, FloatArray] | None = None

    @property
    def weights(self) -> FloatArray:
        """The factor of C for each row."""
        return self.nearness if self.class_weights is None else self.nearness * self.class_weights


def train_leaf(
    rows: LeafRows, options: DcpredOptions, gamma: float, cost: float, seed: tuple[int, int], threads: int
) -> CellExpansion:
    """Return the leaf's expansion: algorithm 1 of the paper, then L-BFGS on the landmarks.

    Poly pseudo landmarks change with their landmarks. Triangle pseudo landmarks have no useful gradient, so
    they are added after the landmarks have been optimized.
    """
    rng = np.random.default_rng(seed)
    p, iterations = rows.targets.shape[1], options.iterations
    points, worth = _candidates(rows, options, gamma, cost, rng)
    count = min(options.landmarks, max(1, rows.own // 2))
    vectors = weighted_centroids(points, count, worth, int(rng.integers(2**31)))
    pairs = np.zeros((0, 2), dtype=np.int64)
    width = _wide_enough(rows.x, vectors, gamma) if iterations else gamma
    if options.pseudo == "poly":
        pairs = sample_pairs(vectors, width, options.pseudo_count, rng)
    coef, none = np.zeros((p, len(vectors) + len(pairs))), np.zeros((0, len(vectors)))
    cell = CellExpansion(vectors, width, coef, np.zeros(p), pairs, none)
    cell = _with_coefficients(cell, rows, cost, iterations, rng)
    if iterations:
        problem = CellProblem(rows.x, rows.targets, rows.weights, rows.loss)
        cell = move_landmarks(problem, cell, cost, iterations, threads=threads)
    if options.pseudo == "triangle":
        chosen = points[rng.permutation(len(points))[: options.pseudo_count]]
        squares = (chosen**2).sum(axis=1)[:, None] + (cell.vectors**2).sum(axis=1)
        distances = np.sqrt(np.maximum(squares - 2 * chosen @ cell.vectors.T, 0))
        cell = _with_coefficients(replace(cell, distances=distances), rows, cost, iterations, rng)
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
    cell: CellExpansion, rows: LeafRows, cost: float, iterations: int, rng: np.random.Generator
) -> CellExpansion:
    features = cell_features(rows.x, cell)
    if iterations and len(cell.pairs):
        root = penalty_root(cell)
    else:
        root = feature_root(rows.x, features, cell.gamma, rng)
    coef, rho = solve_linear(features, root, rows.targets, rows.weights, cost, rows.loss)
    return replace(cell, coef=coef, rho=rho)


def _candidates(
    rows: LeafRows, options: DcpredOptions, gamma: float, cost: float, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray | None]:
    """Return the points from which k-means computes landmarks, and their weights."""
    x = rows.x
    if options.kmeans == "plain":
        return x, None
    if rows.given is not None and len(rows.given[0]) >= 2 * options.landmarks:
        return rows.given
    chosen = np.arange(len(x))
    if len(x) > LOCAL_ROWS:
        chosen = np.sort(rng.choice(len(x), LOCAL_ROWS, replace=False))
    x, targets = x[chosen], rows.targets[chosen]
    if rows.loss == "squares":
        gram = Kernel("rbf", gamma).matrix(x, x)
        gram[np.diag_indices_from(gram)] += 1 / (2 * cost)
        alpha = np.linalg.solve(gram, targets - targets.mean(axis=0))
        return x, (alpha * alpha).sum(axis=1)
    which = (targets[:, 0] > 0).astype(np.int64) if targets.shape[1] == 1 else targets.argmax(axis=1)
    if len(np.unique(which)) < 2:
        return x, None
    of_class = class_weights_of(which, None if rows.class_weights is None else rows.class_weights[chosen])
    how = TrainOptions(gamma=gamma, C=cost, eps=0.01, cache_size=_CACHE_MEGABYTES, weights=of_class)
    local = train(Rows.from_dense(x), which, how)
    vectors, worth = local.sv.to_dense(x.shape[1]), (local.sv_coef**2).sum(axis=0)
    if len(vectors) >= 2 * options.landmarks:
        return vectors, worth
    return np.vstack([vectors, x]), np.concatenate([worth, np.zeros(len(x))])
