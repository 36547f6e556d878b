"""The parts of dcpred: native objective against NumPy, trees of centers, the extended Nystrom kernel."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import LinearSVC

from svmfast.kernels import Kernel
from svmfast.methods.dcpred.leaf import (
    CellExpansion,
    CellProblem,
    cell_features,
    feature_root,
    move_landmarks,
    penalty_root,
    sample_pairs,
    solve_linear,
    weighted_centroids,
)
from svmfast.methods.dcpred.tree import kmeans_tree
from svmfast.routing import Router
from svmfast.rows import Rows

FloatArray = NDArray[np.float64]


def cell(m: int = 7, d: int = 5, p: int = 3, q: int = 4, seed: int = 0) -> CellExpansion:
    rng = np.random.default_rng(seed)
    pairs = rng.integers(0, m, (q, 2))
    return CellExpansion(
        rng.normal(size=(m, d)),
        0.3,
        rng.normal(size=(p, m + q)),
        rng.normal(size=p),
        pairs,
        np.zeros((0, m)),
    )


def problem_data(n: int, d: int = 5, p: int = 3, seed: int = 1) -> tuple[FloatArray, FloatArray, FloatArray]:
    rng = np.random.default_rng(seed)
    targets = np.where(rng.random((n, p)) < 0.5, 1.0, -1.0)
    return rng.normal(size=(n, d)), targets, rng.uniform(0.2, 1, n)


def slow_values(at: CellExpansion, x: FloatArray) -> FloatArray:
    k = np.exp(-at.gamma * cdist(x, at.vectors, "sqeuclidean"))
    c = np.hstack([k, k[:, at.pairs[:, 0]] * k[:, at.pairs[:, 1]]])
    values: FloatArray = c @ at.coef.T - at.rho
    return values


def slow_objective(
    at: CellExpansion, x: FloatArray, y: FloatArray, w: FloatArray, cost: float, loss: str
) -> float:
    f, m = slow_values(at, x), at.landmarks
    lost = (f - y) ** 2 if loss == "squares" else np.maximum(0, 1 - y * f) ** 2
    gram = np.exp(-at.gamma * cdist(at.vectors, at.vectors, "sqeuclidean"))
    own = at.coef[:, :m]
    penalty = np.einsum("pi,ij,pj->", own, gram, own) + np.sum(at.coef[:, m:] ** 2)
    return float(penalty / 2 + cost * np.sum(w[:, None] * lost))


@pytest.mark.parametrize("loss", ["squares", "squared_hinge"])
@pytest.mark.parametrize(("n", "p", "q"), [(3, 1, 0), (64, 1, 5), (130, 3, 0), (201, 9, 4)])
def test_the_objective_is_that_of_the_definition(loss: str, n: int, p: int, q: int) -> None:
    at = cell(p=p, q=q)
    x, y, w = problem_data(n, p=p)
    value = CellProblem(x, y, w, loss == "squared_hinge").objective(at, 0.7)[0]
    assert value == pytest.approx(slow_objective(at, x, y, w, 0.7, loss), rel=1e-11)


@pytest.mark.parametrize("loss", ["squares", "squared_hinge"])
@pytest.mark.parametrize(("p", "q"), [(1, 0), (1, 4), (3, 4)])
def test_the_gradient_is_that_of_differences(loss: str, p: int, q: int) -> None:
    at = cell(p=p, q=q)
    x, y, w = problem_data(150, p=p)
    _, by_vectors, by_coef, by_rho, by_gamma = CellProblem(x, y, w, loss == "squared_hinge").objective(
        at, 0.7
    )
    step = 1e-6

    def difference(field: str, move: Any) -> float:
        base = getattr(at, field)
        high, low = (
            slow_objective(replace(at, **{field: base + s * move}), x, y, w, 0.7, loss) for s in (step, -step)
        )
        return (high - low) / (2 * step)

    rng = np.random.default_rng(5)
    for field, gradient in (("vectors", by_vectors), ("coef", by_coef), ("rho", by_rho)):
        for _ in range(3):
            direction = rng.normal(size=gradient.shape)
            along = float(np.sum(gradient * direction))
            assert difference(field, direction) == pytest.approx(along, rel=1e-6, abs=1e-4)
    assert difference("gamma", 1.0) == pytest.approx(by_gamma, rel=1e-6)


def test_threads_do_not_matter_and_optimization_lowers_the_loss() -> None:
    x, y, w = problem_data(1500)
    y[:, 0] = np.where(np.sin(3 * x[:, 0]) * x[:, 1] > 0, 1, -1)
    problem = CellProblem(x, y, w, True)
    start = cell()
    one = move_landmarks(problem, start, 1.0, 20)
    two = move_landmarks(problem, start, 1.0, 20, threads=3)
    assert np.array_equal(one.vectors, two.vectors)
    assert np.array_equal(one.coef, two.coef)
    assert problem.objective(one, 1.0)[0] < 0.9 * problem.objective(start, 1.0)[0]
    assert move_landmarks(problem, start, 1.0, 0) is start


def test_every_row_a_landmark_is_kernel_ridge_regression() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(80, 3))
    y = np.sin(x[:, 0]) + x[:, 1] * x[:, 2]
    at = CellExpansion(x, 0.4, np.zeros((1, 80)), np.zeros(1), np.zeros((0, 2), np.int64), np.zeros((0, 80)))
    features = cell_features(x, at)
    for root in (feature_root(x, features, 0.4, rng), penalty_root(at)):
        # Nystrom on all rows is the kernel itself.
        np.testing.assert_allclose(
            features @ root @ root.T @ features.T, Kernel("rbf", 0.4).matrix(x, x), atol=1e-5
        )
    coef, rho = solve_linear(features, root, (y - y.mean())[:, None], np.ones(80), 5.0, False)
    other = KernelRidge(alpha=0.1, kernel="rbf", gamma=0.4)
    centered = np.eye(80) - 1 / 80
    k = Kernel("rbf", 0.4).matrix(x, x)
    # With an offset: ridge on the centered kernel.
    expected = (
        centered @ k @ centered @ np.linalg.solve(centered @ k @ centered + 0.1 * np.eye(80), y - y.mean())
    )
    np.testing.assert_allclose(features @ coef[0] - rho, expected, atol=1e-5)
    assert np.corrcoef(features @ coef[0] - rho, other.fit(x, y).predict(x))[0, 1] > 0.99


def test_the_linear_model_is_liblinears() -> None:
    """Weighted squared hinge with a regularized bias, as in LinearSVC."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(300, 4))
    y = np.where(x[:, 0] + 0.5 * rng.normal(size=300) > 0, 1.0, -1.0)
    weights = np.where(rng.random(300) < 0.5, 1.0, 0.5)
    coef, rho = solve_linear(x, np.eye(4), y[:, None], weights, 0.8, True)
    other = LinearSVC(C=0.8, dual=False, tol=1e-8).fit(x, y, sample_weight=weights)
    np.testing.assert_allclose(coef[0], other.coef_[0], rtol=0.02, atol=0.01)
    assert -rho[0] == pytest.approx(other.intercept_[0], abs=0.01)


@pytest.mark.parametrize("kind", ["poly", "triangle"])
def test_pseudo_landmarks_lower_the_kernels_error(kind: str) -> None:
    """The paper's figure 1, and its bound: the extended approximation is never worse on its own block."""
    rng = np.random.default_rng(2)
    x = rng.uniform(size=(300, 4))
    exact = Kernel("rbf", 1.0).matrix(x, x)
    vectors = weighted_centroids(x, 12, None, 0)
    base = CellExpansion(
        vectors, 1.0, np.zeros((1, 12)), np.zeros(1), np.zeros((0, 2), np.int64), np.zeros((0, 12))
    )
    wide = replace(base, pairs=sample_pairs(vectors, 1.0, 30, rng))
    if kind == "triangle":
        wide = replace(base, distances=cdist(x[:30], vectors))
    errors = []
    for at in (base, wide):
        features = cell_features(x, at)
        root = feature_root(x, features, 1.0, rng)
        errors.append(np.linalg.norm(exact - features @ root @ root.T @ features.T))
    assert errors[1] < 0.7 * errors[0]


def test_pairs_are_distinct_and_near() -> None:
    vectors = np.vstack([np.zeros((5, 2)), np.full((5, 2), 50.0)]) + np.arange(10)[:, None] * 0.1
    pairs = sample_pairs(vectors, 1.0, 25, np.random.default_rng(0))
    assert len({tuple(pair) for pair in pairs.tolist()}) == 25
    assert (pairs[:, 0] <= pairs[:, 1]).all()
    # All 30 pairs within the two groups come before any between them.
    assert ((pairs < 5).all(axis=1) | (pairs >= 5).all(axis=1)).all()
    assert len(sample_pairs(vectors, 1.0, 999, np.random.default_rng(0))) == 55


@pytest.mark.parametrize(("leaves", "levels"), [(1, 0), (6, 1), (30, 2), (70, 0), (70, 1)])
def test_trees_send_every_row_to_its_leaf(leaves: int, levels: int) -> None:
    rng = np.random.default_rng(3)
    rows = Rows.from_dense(rng.normal(size=(900, 3)))
    tree = kmeans_tree(rows, leaves, levels=levels, seed=1)
    router = Router(tree.children, tree.centers)
    count = len(tree.leaf_centers)
    assert np.array_equal(router.route(rows), tree.leaf)
    assert abs(count - leaves) <= 0.15 * leaves
    assert np.unique(tree.leaf).size == count == router.n_cells
    two = levels == 2 or (leaves > 64 and levels == 0)
    assert len(tree.children) == (1 + count if not two else len(tree.centers) + 1)
    assert (tree.children[0] < count) == two
    # Leaf centers are in the order of the cells: a leaf's center is near its own rows.
    own = np.stack([rows.to_dense()[tree.leaf == s].mean(axis=0) for s in range(count)])
    assert np.median(np.linalg.norm(own - tree.leaf_centers, axis=1)) < 0.2


def test_a_tree_of_few_distinct_rows_has_no_empty_leaf() -> None:
    rows = Rows.from_dense(np.repeat([[0.0, 1], [2, 3], [9, 9]], 40, axis=0))
    for leaves in (2, 3, 17, 80):
        tree = kmeans_tree(rows, leaves)
        assert len(tree.leaf_centers) <= 3
        assert (np.bincount(tree.leaf) > 0).all()


def test_weights_pull_centroids() -> None:
    x = np.array([[0.0], [1], [10], [11]])
    assert np.sort(weighted_centroids(x, 2, None, 0)[:, 0]).tolist() == [0.5, 10.5]
    heavy = np.sort(weighted_centroids(x, 2, np.array([3.0, 1, 0, 1]), 0)[:, 0])
    np.testing.assert_allclose(heavy, [0.25, 11], atol=1e-4)
    assert np.array_equal(weighted_centroids(x, 9, None, 0), x)
    assert weighted_centroids(x, 0, None, 0).shape == (0, 1)
