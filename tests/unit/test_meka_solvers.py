"""The parts of meka and dcpred, which share k-means and trees: dense algebra, differences, scikit-learn."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.spatial.distance import cdist
from sklearn.linear_model import Ridge
from sklearn.svm import LinearSVC

from svmfast.errors import UnsupportedError
from svmfast.kernels import Kernel
from svmfast.methods.dcpred import leaf
from svmfast.methods.dcpred.leaf import CellExpansion, CellProblem
from svmfast.methods.dcpred.tree import kmeans_tree
from svmfast.methods.meka import MekaOptions
from svmfast.methods.meka.approximation import approximate_kernel
from svmfast.methods.meka.error import relative_error, sample_rows
from svmfast.methods.meka.solve import meka_ridge, positive_spectrum
from svmfast.routing import Router
from svmfast.rows import Rows
from svmfast.solvers.kernel_clusters import k_means, kmeans_centers, partition
from svmfast.solvers.nystrom import kernel_features
from svmfast.solvers.squared_hinge import solve_squared_hinge

GAUSS, LAPLACE = Kernel("rbf", 0.5), Kernel("laplacian", 0.3)


def blobs(n=400, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(4, 5))[rng.integers(4, size=n)] * 2 + rng.normal(size=(n, 5)) * 0.6


def parted(x, clusters=4):
    rows = Rows.from_dense(x)
    return partition(rows, kmeans_centers(rows, clusters))


def dense(meka):
    q = meka.forward(np.eye(int(meka.ranks.sum())))
    return np.asarray(q @ meka.link_matrix() @ q.T)


def gram(kernel, part):
    x = part.rows.to_dense()
    return kernel.matrix(x, x)


def error(a, b):
    return float(np.linalg.norm(a - b) / np.linalg.norm(b))


@pytest.mark.parametrize("kernel", [GAUSS, LAPLACE], ids=lambda k: k.kind)
def test_full_rank_is_the_kernel_matrix_in_the_blocks(kernel):
    """If every row is a landmark, blocks within clusters are exact."""
    part = parted(blobs(160))
    found = dense(approximate_kernel(kernel, part, MekaOptions(rank=160, link_threshold=1.0)))
    exact = gram(kernel, part)
    for a, b in pairwise(part.start):
        np.testing.assert_allclose(found[a:b, a:b], exact[a:b, a:b], atol=1e-8)
    assert found[: part.start[1], part.start[1] :].max() == 0


@pytest.mark.parametrize(("kernel", "scale", "clusters", "rank", "most"), [
    *((Kernel(kind, 0.05), 1.0, 4, 40, 0.1) for kind in ("rbf", "laplacian")),
    *((Kernel("rbf", 2.0**e), scale, 5, 20, 1.01) for e in range(-6, 7, 2) for scale in (0.2, 1.0, 5.0)),
])  # fmt: skip
def test_links_lower_the_error_or_raise_it_by_less_than_a_percent(kernel, scale, clusters, rank, most):
    """Also where the paper's least squares diverges."""
    part = parted(blobs(400 if most < 1 else 300) * scale, clusters)
    options = (MekaOptions(rank=rank), MekaOptions(rank=rank, link_threshold=1.0))
    whole, blocks = (dense(approximate_kernel(kernel, part, one)) for one in options)
    assert error(whole, gram(kernel, part)) < most * error(blocks, gram(kernel, part))


def test_bases_are_orthonormal_and_reproduced_for_new_rows_for_any_number_of_threads():
    part = parted(blobs())
    meka, three = (approximate_kernel(GAUSS, part, MekaOptions(rank=25), threads=t) for t in (1, 3))
    assert np.array_equal(dense(meka), dense(three))
    few = approximate_kernel(GAUSS, part, MekaOptions(rank=25, oversampling=0.0))
    assert error(dense(meka), gram(GAUSS, part)) < error(dense(few), gram(GAUSS, part))
    for s, basis in enumerate(meka.bases):
        np.testing.assert_allclose(basis.T @ basis, np.eye(basis.shape[1]), atol=1e-6)
        x, landmarks = part.cluster(s).to_dense(), meka.landmarks[s].to_dense()
        np.testing.assert_allclose(GAUSS.matrix(x, landmarks) @ meka.projections[s], basis, atol=1e-6)


def test_strategies_spread_the_ranks():
    rng = np.random.default_rng(3)
    x = [rng.normal(size=(n, 4)) * s + 20 * i for i, (n, s) in enumerate([(40, 0.01), (120, 1), (240, 1)])]
    part = parted(np.concatenate(x), 3)
    options = [MekaOptions(rank=30, strategy=name) for name in ("equal", "size", "eigen")]
    by_center = np.argsort(part.centers[:, 0])
    equal, size, eigen = (approximate_kernel(GAUSS, part, one).ranks[by_center] for one in options)
    assert equal[1:].tolist() == [30, 30]
    assert np.abs(size[1:] - np.array([27, 54])).max() <= 1
    # A cluster that is nearly a point needs a very small rank.
    assert eigen[0] <= 3
    assert eigen.sum() <= 90
    assert eigen[2] > eigen[1] > 25


def test_eps_drops_links_of_distant_clusters():
    part = parted(np.concatenate([blobs(100), blobs(100, seed=1) + 50]), 6)
    every = approximate_kernel(GAUSS, part, MekaOptions(rank=10))
    near = approximate_kernel(GAUSS, part, MekaOptions(rank=10, link_threshold=1e-6))
    values = GAUSS.matrix(part.centers, part.centers)
    assert set(near.links) == {(s, t) for s, t in every.links if values[s, t] > 1e-6}
    assert 0 < len(near.links) < 15


@pytest.mark.parametrize("gamma", [0.05, 0.5, 2.0])
def test_clipping_cannot_raise_the_error_and_an_indefinite_system_is_refused(gamma):
    """G is positive semidefinite, and clipping projects onto the convex set of such matrices."""
    part, kernel = parted(blobs(250), 8), Kernel("rbf", gamma)
    meka = approximate_kernel(kernel, part, MekaOptions(rank=8, oversampling=0.0))
    spectrum, found, exact = positive_spectrum(meka, "clip"), dense(meka), gram(kernel, part)
    smallest = np.linalg.eigvalsh(found)[0]
    assert spectrum.smallest == pytest.approx(smallest, abs=1e-8) or smallest > -1e-8
    q = meka.forward(spectrum.vectors)
    clipped = (q * spectrum.values) @ q.T
    assert np.linalg.eigvalsh(clipped)[0] > -1e-8
    assert error(clipped, exact) <= error(found, exact) * (1 + 1e-9)
    shifted = positive_spectrum(meka, "shift")
    whole = (shifted.vectors * shifted.values) @ shifted.vectors.T
    expected = meka.link_matrix() + max(0.0, -spectrum.smallest) * np.eye(len(whole))
    np.testing.assert_allclose(whole, expected, atol=1e-8)
    if smallest < -1e-3:
        message = r"plus lambda 1e-06 is not positive; use `psd` clip or shift"
        with pytest.raises(UnsupportedError, match=message):
            list(meka_ridge(meka, np.ones((250, 1)), [1e-6], "none"))
    assert gamma != 0.5 or smallest < -1e-3


@pytest.mark.parametrize("psd", ["clip", "shift", "none"])
def test_ridge_solves_the_whole_system(psd):
    """(G + lambda I) alpha = y - mean, where clip and shift change G first; the features give G alpha."""
    meka = approximate_kernel(GAUSS, parted(blobs(250), 8), MekaOptions(rank=8, oversampling=0.0))
    y = np.random.default_rng(0).normal(size=(250, 2))
    whole = dense(meka)
    values, vectors = np.linalg.eigh(whole)
    if psd == "clip":
        whole = (vectors * np.maximum(values, 0)) @ vectors.T
    shift = max(0.0, -values[0]) if psd == "shift" else 0.0
    alpha = np.linalg.solve(whole + (0.5 + shift) * np.eye(250), y - y.mean(axis=0))
    ((inner, rho),) = meka_ridge(meka, y, [0.5], psd)
    np.testing.assert_allclose(meka.forward(inner), whole @ alpha, atol=1e-8)
    np.testing.assert_allclose(rho, -y.mean(axis=0))


def test_sampled_error_estimates_the_whole():
    x = blobs(1500)
    rows, exact = Rows.from_dense(x), GAUSS.matrix(x, x)
    features = kernel_features(GAUSS, rows, x[:20], np.eye(20))
    true = error(features @ features.T, exact)

    def estimate(count, seed):
        some = sample_rows([rows], count, seed)
        f = features[some.positions[0]]
        return relative_error(GAUSS, some, lambda g, a, h, b: f[a] @ f[b].T, threads=2)

    assert estimate(1500, 0) == pytest.approx(true, rel=1e-9)
    assert np.mean([estimate(500, seed) for seed in range(5)]) == pytest.approx(true, rel=0.1)


@pytest.mark.parametrize("cost", [0.01, 1.0, 30.0, 1e3])
def test_squared_hinge_against_liblinear(cost):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(200, 12)) * np.geomspace(0.1, 3, 12)
    y = np.where(x @ rng.normal(size=(12, 3)) + rng.normal(size=(200, 3)) > 0, 1.0, -1.0)
    ways = lambda w: x @ w, lambda v: x.T @ v
    found = solve_squared_hinge(*ways, y, cost, (x * x).sum(axis=0), tolerance=1e-8)
    for own, targets in zip(found.T, y.T, strict=True):
        other = LinearSVC(C=cost, dual=False, fit_intercept=False, tol=1e-10).fit(x, targets)
        np.testing.assert_allclose(own, other.coef_[0], rtol=1e-4, atol=1e-6)


def cell(p=3, q=4):
    rng = np.random.default_rng(0)
    pairs = rng.integers(0, 7, (q, 2))
    coef, rho = rng.normal(size=(p, 7 + q)), rng.normal(size=p)
    return CellExpansion(rng.normal(size=(7, 5)), 0.3, coef, rho, pairs, np.zeros((0, 7)))


def problem_data(n, p=3):
    rng = np.random.default_rng(1)
    targets = np.where(rng.random((n, p)) < 0.5, 1.0, -1.0)
    return rng.normal(size=(n, 5)), targets, rng.uniform(0.2, 1, n)


def slow_objective(at, x, y, w, loss):
    """The regularized loss for C = 0.7."""
    k = np.exp(-at.gamma * cdist(x, at.vectors, "sqeuclidean"))
    f = np.hstack([k, k[:, at.pairs[:, 0]] * k[:, at.pairs[:, 1]]]) @ at.coef.T - at.rho
    lost = (f - y) ** 2 if loss == "squares" else np.maximum(0, 1 - y * f) ** 2
    inner = np.exp(-at.gamma * cdist(at.vectors, at.vectors, "sqeuclidean"))
    own, others = np.split(at.coef, [at.landmarks], axis=1)
    penalty = np.einsum("pi,ij,pj->", own, inner, own) + np.sum(others**2)
    return float(penalty / 2 + 0.7 * np.sum(w[:, None] * lost))


@pytest.mark.parametrize("loss", ["squares", "squared_hinge"])
@pytest.mark.parametrize(("n", "p", "q"), [(3, 1, 0), (64, 1, 5), (130, 3, 0), (150, 3, 4), (201, 9, 4)])
def test_the_objective_is_that_of_the_definition_and_the_gradient_that_of_differences(loss, n, p, q):
    at, (x, y, w) = cell(p, q), problem_data(n, p)
    value, *gradients = CellProblem(x, y, w, loss == "squared_hinge").objective(at, 0.7)
    assert value == pytest.approx(slow_objective(at, x, y, w, loss), rel=1e-11)
    rng, step = np.random.default_rng(5), 1e-6

    def difference(field, move):
        sides = [replace(at, **{field: getattr(at, field) + s * move}) for s in (step, -step)]
        high, low = (slow_objective(one, x, y, w, loss) for one in sides)
        return (high - low) / (2 * step)

    for field, gradient in zip(("vectors", "coef", "rho"), gradients, strict=False):
        direction = rng.normal(size=gradient.shape)
        along = float(np.sum(gradient * direction))
        assert difference(field, direction) == pytest.approx(along, rel=1e-6, abs=1e-4)
    assert difference("gamma", 1.0) == pytest.approx(gradients[-1], rel=1e-6, abs=1e-6)


def test_threads_do_not_matter_and_optimization_lowers_the_loss():
    x, y, w = problem_data(1500)
    y[:, 0] = np.where(np.sin(3 * x[:, 0]) * x[:, 1] > 0, 1, -1)
    problem, start = CellProblem(x, y, w, True), cell()
    one, two = (leaf.move_landmarks(problem, start, 1.0, 20, threads=t) for t in (1, 3))
    assert np.array_equal(one.vectors, two.vectors)
    assert np.array_equal(one.coef, two.coef)
    assert problem.objective(one, 1.0)[0] < 0.9 * problem.objective(start, 1.0)[0]
    assert leaf.move_landmarks(problem, start, 1.0, 0) is start


def test_every_row_a_landmark_is_kernel_ridge_regression():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(80, 3))
    y, k = np.sin(x[:, 0]) + x[:, 1] * x[:, 2], Kernel("rbf", 0.4).matrix(x, x)
    at = CellExpansion(x, 0.4, np.zeros((1, 80)), np.zeros(1), np.zeros((0, 2), np.int64), np.zeros((0, 80)))
    features = leaf.cell_features(x, at)
    for root in (leaf.feature_root(x, features, 0.4, rng), leaf.penalty_root(at)):
        np.testing.assert_allclose(features @ root @ root.T @ features.T, k, atol=1e-5)  # Nystrom on all rows
    # One of 413 rows is left out of the block, and nothing else changes.
    many = rng.normal(size=(413, 3))
    few = leaf.cell_features(many, replace(at, vectors=x[:3], coef=np.zeros((1, 3))))
    whole, part = (leaf.feature_root(many[:n], few[:n], 0.4, rng) for n in (412, 413))
    np.testing.assert_allclose(whole @ whole.T, part @ part.T, rtol=0.02, atol=0.02)
    larger = 1e8 * leaf.feature_root(many[:412], 1e8 * few[:412], 0.4, rng)
    np.testing.assert_allclose(larger @ larger.T, whole @ whole.T, rtol=1e-9)
    of_pairs = leaf.penalty_root(cell(q=4))[7:]
    np.testing.assert_allclose(of_pairs @ of_pairs.T, np.eye(4))
    coef, rho = leaf.solve_linear(features, root, (y - y.mean())[:, None], np.ones(80), 5.0, False)
    # With an offset: ridge on the centered kernel.
    centered = np.eye(80) - 1 / 80
    expected = centered @ k @ centered
    expected = expected @ np.linalg.solve(expected + 0.1 * np.eye(80), y - y.mean())
    np.testing.assert_allclose(features @ coef[0] - rho, expected, atol=1e-5)


def test_the_linear_model_is_liblinears():
    """Weighted squared hinge with a regularized bias, as in LinearSVC."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(300, 4))
    y = np.where(x[:, 0] + 0.5 * rng.normal(size=300) > 0, 1.0, -1.0)
    weights = np.where(rng.random(300) < 0.5, 1.0, 0.5)
    coef, rho = leaf.solve_linear(x, np.eye(4), y[:, None], weights, 0.8, True)
    other = LinearSVC(C=0.8, dual=False, tol=1e-8).fit(x, y, sample_weight=weights)
    np.testing.assert_allclose(coef[0], other.coef_[0], rtol=0.02, atol=0.01)
    assert -rho[0] == pytest.approx(other.intercept_[0], abs=0.01)
    coef, rho = leaf.solve_linear(x, np.eye(4), y[:, None], weights, 0.8, False)
    ridge = Ridge(1 / 1.6).fit(x, y, sample_weight=weights)
    np.testing.assert_allclose([*coef[0], -rho[0]], [*ridge.coef_, ridge.intercept_], rtol=1e-8)


def test_pairs_are_distinct_and_near():
    vectors = np.vstack([np.zeros((5, 2)), np.full((5, 2), 50.0)]) + np.arange(10)[:, None] * 0.1
    pairs = leaf.sample_pairs(vectors, 1.0, 25, np.random.default_rng(0))
    assert len({tuple(pair) for pair in pairs.tolist()}) == 25
    assert (pairs[:, 0] <= pairs[:, 1]).all()
    # All 30 pairs within the two groups come before any between them.
    assert ((pairs < 5).all(axis=1) | (pairs >= 5).all(axis=1)).all()
    assert len(leaf.sample_pairs(vectors, 1.0, 999, np.random.default_rng(0))) == 55


@pytest.mark.parametrize(("leaves", "levels"), [(1, 0), (6, 1), (30, 2), (70, 0), (70, 1)])
def test_trees_send_every_row_to_its_leaf(leaves, levels):
    rows = Rows.from_dense(np.random.default_rng(3).normal(size=(900, 3)))
    tree = kmeans_tree(rows, leaves, levels=levels, seed=1)
    router, count = Router(tree.children, tree.centers), len(tree.leaf_centers)
    assert np.array_equal(router.route(rows), tree.leaf)
    assert abs(count - leaves) <= 0.15 * leaves
    assert np.unique(tree.leaf).size == count == router.n_cells
    two = levels == 2 or (leaves > 64 and levels == 0)
    assert len(tree.children) == (1 + count if not two else len(tree.centers) + 1)
    assert (tree.children[0] < count) == two
    # Leaf centers are in the order of the cells: a leaf's center is near its own rows.
    own = np.stack([rows.to_dense()[tree.leaf == s].mean(axis=0) for s in range(count)])
    assert np.median(np.linalg.norm(own - tree.leaf_centers, axis=1)) < 0.2


@pytest.mark.parametrize("leaves", [2, 3, 17, 80])
def test_few_distinct_rows_have_no_empty_leaf_or_cluster(leaves):
    x = np.repeat([[0.0, 1], [2, 3], [9, 9]], 40, axis=0)
    tree = kmeans_tree(Rows.from_dense(x), leaves)
    assert len(tree.leaf_centers) <= 3
    assert (np.bincount(tree.leaf) > 0).all()
    part = parted(x, leaves)
    assert sorted(part.sizes.tolist()) == ([40, 80] if leaves == 2 else [40, 40, 40])
    assert np.array_equal(part.rows.to_dense(), x[part.order])


def test_weights_pull_centroids():
    x = np.array([[0.0], [1], [10], [11]])
    for weights, expected in ((None, [0.5, 10.5]), (np.array([3.0, 1, 0, 1]), [0.25, 11])):
        found = np.sort(leaf.weighted_centroids(x, 2, weights, 0)[:, 0])
        np.testing.assert_allclose(found, expected, atol=1e-4)
    assert np.array_equal(leaf.weighted_centroids(x, 9, None, 0), x)
    assert leaf.weighted_centroids(x, 0, None, 0).shape == (0, 1)


@pytest.mark.filterwarnings("error")
def test_centers_of_huge_points_of_points_without_features_and_of_few_distinct_points():
    points = np.random.default_rng(0).standard_normal((60, 3)) * 1e300
    for given in (points, csr_matrix(points)):
        centers = k_means(given, 5, seed=1, max_iterations=50)
        assert centers.shape == (5, 3)
        assert np.isfinite(centers).all()
    assert k_means(np.zeros((4, 0)), 3, seed=0, max_iterations=10).shape == (3, 0)
    assert kmeans_centers(Rows.from_dense(np.zeros((4, 0))), 2).shape == (1, 0)
    centers = k_means(np.repeat([[1.0, 2], [3, -4]], 5, axis=0), 4, seed=0, max_iterations=10)
    assert centers.shape == (4, 2)
    assert {tuple(center) for center in centers} == {(1.0, 2.0), (3.0, -4.0)}
