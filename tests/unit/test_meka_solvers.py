"""The approximation of meka and what it is built from, against dense linear algebra and scikit-learn."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.svm import LinearSVC

from svmfast.errors import UnsupportedError
from svmfast.kernels import Kernel
from svmfast.methods.meka import MekaOptions
from svmfast.methods.meka.approximation import Meka, approximate_kernel
from svmfast.methods.meka.error import relative_error, sample_rows
from svmfast.methods.meka.solve import meka_ridge, positive_spectrum
from svmfast.rows import Rows
from svmfast.solvers.kernel_clusters import Partition, kmeans_centers, partition
from svmfast.solvers.nystrom import kernel_features
from svmfast.solvers.squared_hinge import solve_squared_hinge

FloatArray = NDArray[np.float64]
GAUSS, LAPLACE = Kernel("rbf", 0.5), Kernel("laplacian", 0.3)


def blobs(n: int = 400, d: int = 5, seed: int = 0) -> Rows:
    rng = np.random.default_rng(seed)
    return Rows.from_dense(
        rng.normal(size=(4, d))[rng.integers(4, size=n)] * 2 + rng.normal(size=(n, d)) * 0.6
    )


def parted(rows: Rows, clusters: int = 4) -> Partition:
    return partition(rows, kmeans_centers(rows, clusters))


def dense(meka: Meka) -> FloatArray:
    q = meka.forward(np.eye(int(meka.ranks.sum())))
    return np.asarray(q @ meka.link_matrix() @ q.T)


def gram(kernel: Kernel, part: Partition) -> FloatArray:
    x = part.rows.to_dense()
    return kernel.matrix(x, x)


def error(a: FloatArray, b: FloatArray) -> float:
    return float(np.linalg.norm(a - b) / np.linalg.norm(b))


@pytest.mark.parametrize("kernel", [GAUSS, LAPLACE], ids=lambda k: k.kind)
def test_full_rank_is_the_kernel_matrix_in_the_blocks(kernel: Kernel) -> None:
    """If every row is a landmark, blocks within clusters are exact."""
    part = parted(blobs(160))
    meka = approximate_kernel(kernel, part, MekaOptions(rank=160, link_threshold=1.0))
    exact = gram(kernel, part)
    for a, b in pairwise(part.start):
        np.testing.assert_allclose(dense(meka)[a:b, a:b], exact[a:b, a:b], atol=1e-8)
    assert dense(meka)[: part.start[1], part.start[1] :].max() == 0


@pytest.mark.parametrize("kernel", [Kernel("rbf", 0.05), Kernel("laplacian", 0.05)], ids=lambda k: k.kind)
def test_links_lower_the_error_of_blocks_alone(kernel: Kernel) -> None:
    part = parted(blobs())
    exact = gram(kernel, part)
    whole = error(dense(approximate_kernel(kernel, part, MekaOptions(rank=40))), exact)
    blocks = error(dense(approximate_kernel(kernel, part, MekaOptions(rank=40, link_threshold=1.0))), exact)
    assert whole < 0.1 * blocks


@pytest.mark.parametrize("gamma", [2.0**e for e in range(-6, 7, 2)])
@pytest.mark.parametrize("scale", [0.2, 1.0, 5.0])
def test_links_never_increase_the_error_by_more_than_a_percent(gamma: float, scale: float) -> None:
    """Also where the paper's least squares diverges: never more than 1 % worse than without links."""
    x = blobs(300).to_dense() * scale
    part = parted(Rows.from_dense(x), 5)
    exact = gram(Kernel("rbf", gamma), part)
    options = MekaOptions(rank=20)
    whole = error(dense(approximate_kernel(Kernel("rbf", gamma), part, options)), exact)
    blocks = error(
        dense(approximate_kernel(Kernel("rbf", gamma), part, MekaOptions(rank=20, link_threshold=1.0))), exact
    )
    assert whole <= 1.01 * blocks


def test_bases_are_orthonormal_and_reproduced_for_new_rows() -> None:
    part = parted(blobs())
    meka = approximate_kernel(GAUSS, part, MekaOptions(rank=25))
    for s, basis in enumerate(meka.bases):
        np.testing.assert_allclose(basis.T @ basis, np.eye(basis.shape[1]), atol=1e-6)
        x, landmarks = part.cluster(s).to_dense(), meka.landmarks[s].to_dense()
        np.testing.assert_allclose(GAUSS.matrix(x, landmarks) @ meka.projections[s], basis, atol=1e-6)


def test_the_same_for_any_number_of_threads() -> None:
    part = parted(blobs())
    one, three = (approximate_kernel(GAUSS, part, MekaOptions(rank=30), threads=t) for t in (1, 3))
    assert np.array_equal(dense(one), dense(three))


def test_strategies_spread_the_ranks() -> None:
    rng = np.random.default_rng(3)
    sizes = [40, 120, 240]
    spread = [0.01, 1, 1]
    x = [rng.normal(size=(n, 4)) * s + 20 * i for i, (n, s) in enumerate(zip(sizes, spread, strict=True))]
    part = parted(Rows.from_dense(np.concatenate(x)), 3)
    by_center = np.argsort(part.centers[:, 0])
    ranks = {
        name: approximate_kernel(GAUSS, part, MekaOptions(rank=30, strategy=name)).ranks[by_center]
        for name in ("equal", "size", "eigen")
    }
    assert ranks["equal"][1:].tolist() == [30, 30]
    assert np.abs(ranks["size"][1:] - np.array([27, 54])).max() <= 1
    # A cluster that is nearly a point needs a very small rank.
    assert ranks["eigen"][0] <= 3
    assert ranks["eigen"].sum() <= 90
    assert ranks["eigen"][2] > ranks["eigen"][1] > 25


def test_eps_drops_links_of_distant_clusters() -> None:
    x = np.concatenate([blobs(100).to_dense(), blobs(100, seed=1).to_dense() + 50])
    part = parted(Rows.from_dense(x), 6)
    every = approximate_kernel(GAUSS, part, MekaOptions(rank=10))
    near = approximate_kernel(GAUSS, part, MekaOptions(rank=10, link_threshold=1e-6))
    values = GAUSS.matrix(part.centers, part.centers)
    assert set(near.links) == {(s, t) for s, t in every.links if values[s, t] > 1e-6}
    assert 0 < len(near.links) < 15


def test_clipping_cannot_raise_the_error() -> None:
    """G is positive semidefinite, and clipping projects onto the convex set of such matrices."""
    part = parted(blobs(250), 8)
    for gamma in (0.05, 0.5, 2.0):
        kernel = Kernel("rbf", gamma)
        meka = approximate_kernel(kernel, part, MekaOptions(rank=8, oversampling=0.0))
        spectrum = positive_spectrum(meka, "clip")
        eigenvalues = np.linalg.eigvalsh(dense(meka))
        assert spectrum.smallest == pytest.approx(eigenvalues[0], abs=1e-8) or eigenvalues[0] > -1e-8
        q = meka.forward(spectrum.vectors)
        clipped = (q * spectrum.values) @ q.T
        exact = gram(kernel, part)
        assert np.linalg.eigvalsh(clipped)[0] > -1e-8
        assert error(clipped, exact) <= error(dense(meka), exact) * (1 + 1e-9)


@pytest.mark.parametrize("psd", ["clip", "shift", "none"])
def test_ridge_solves_the_whole_system(psd: str) -> None:
    """(G + lambda I) alpha = y - mean, where clip and shift change G first; the features give G alpha."""
    part = parted(blobs())
    meka = approximate_kernel(GAUSS, part, MekaOptions(rank=40))
    y = np.random.default_rng(0).normal(size=(400, 2))
    whole = dense(meka)
    values, vectors = np.linalg.eigh(whole)
    if psd == "clip":
        whole = (vectors * np.maximum(values, 0)) @ vectors.T
    shift = max(0.0, -values[0]) if psd == "shift" else 0.0
    alpha = np.linalg.solve(whole + (0.5 + shift) * np.eye(400), y - y.mean(axis=0))
    ((inner, rho),) = meka_ridge(meka, y, [0.5], psd)
    np.testing.assert_allclose(meka.forward(inner), whole @ alpha, atol=1e-8)
    np.testing.assert_allclose(rho, -y.mean(axis=0))


def test_ridge_refuses_an_indefinite_system() -> None:
    meka = approximate_kernel(GAUSS, parted(blobs(250), 8), MekaOptions(rank=8, oversampling=0.0))
    assert positive_spectrum(meka, "none").smallest < -1e-3
    with pytest.raises(UnsupportedError, match=r"plus lambda 1e-06 is not positive; use `psd` clip or shift"):
        list(meka_ridge(meka, np.ones((250, 1)), [1e-6], "none"))


def test_clusters_of_few_distinct_rows() -> None:
    rows = Rows.from_dense(np.repeat([[1.0, 2], [3, 4], [0, 0]], 20, axis=0))
    part = partition(rows, kmeans_centers(rows, 7))
    assert sorted(part.sizes.tolist()) == [20, 20, 20]
    assert np.array_equal(part.rows.to_dense(), rows.to_dense()[part.order])


def test_empty_clusters_are_dropped() -> None:
    rows = blobs(50, d=2)
    part = partition(rows, np.array([[0.0, 0], [1e6, 1e6], [3, 3]]))
    assert len(part.centers) == len(part.sizes) <= 2
    assert part.sizes.min() > 0


def test_sampled_error_estimates_the_whole() -> None:
    rows = blobs(1500)
    x = rows.to_dense()
    exact = GAUSS.matrix(x, x)
    features = kernel_features(GAUSS, rows, x[:20], np.eye(20))
    true = error(features @ features.T, exact)
    whole = sample_rows([rows], 1500, 0)
    product = features @ features.T
    assert relative_error(GAUSS, whole, lambda g, a, h, b: product[a, b]) == pytest.approx(true, rel=1e-9)
    estimates = []
    for seed in range(5):
        some = sample_rows([rows], 500, seed)
        f = features[some.positions[0]]
        estimates.append(relative_error(GAUSS, some, lambda g, a, h, b, f=f: f[a] @ f[b].T, threads=2))  # type: ignore[misc]
    assert np.mean(estimates) == pytest.approx(true, rel=0.1)


@pytest.mark.parametrize("cost", [0.01, 1.0, 30.0])
def test_squared_hinge_against_liblinear(cost: float) -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(200, 12)) * np.geomspace(0.1, 3, 12)
    noise = rng.normal(size=(200, 3))
    y = np.where(x @ rng.normal(size=(12, 3)) + noise > 0, 1.0, -1.0)
    found = solve_squared_hinge(
        lambda w: x @ w, lambda v: x.T @ v, y, cost, (x * x).sum(axis=0), tolerance=1e-8
    )
    for k in range(3):
        other = LinearSVC(C=cost, loss="squared_hinge", dual=False, fit_intercept=False, tol=1e-10).fit(
            x, y[:, k]
        )
        np.testing.assert_allclose(found[:, k], other.coef_[0], rtol=1e-4, atol=1e-6)
