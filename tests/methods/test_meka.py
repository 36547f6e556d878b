"""`svmfast meka` and its method: models against dense solutions, LIBSVM, and scikit-learn; every option."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from landmark_fits import tasks
from meka_problems import FIXTURES, data, settings
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import LinearSVC

from svmfast import meka
from svmfast.errors import MemoryLimitError, OptionError
from svmfast.formats.model_files import load_model, model_bytes
from svmfast.formats.svmlight import read_svmlight
from svmfast.kernels import Kernel
from svmfast.methods.common.problem import Problem
from svmfast.methods.meka import MekaOptions
from svmfast.methods.meka.approximation import approximate_kernel
from svmfast.methods.meka.fit import fit
from svmfast.methods.meka.solve import meka_svc
from svmfast.methods.method import Setting
from svmfast.methods.train.training import TrainOptions, train
from svmfast.rows import Rows
from svmfast.solvers.kernel_clusters import kmeans_centers, partition

fit_svc, fit_ridge, cross_validate_meka = tasks(fit)


def test_one_cluster_of_full_rank_is_kernel_ridge_regression() -> None:
    rows, y = data("diabetes.train")
    test, _ = data("diabetes.test")
    whole = settings(clusters=1, rank=len(rows), lambda_=(0.3,))
    width = max(rows.n_columns, test.n_columns)
    other = KernelRidge(alpha=0.3, kernel="rbf", gamma=0.1).fit(rows.to_dense(width), y - y.mean())
    expected = other.predict(test.to_dense(width)) + y.mean()
    for psd in ("clip", "shift", "none"):
        model, report = fit_ridge(rows, y, replace(whole, psd=psd))
        np.testing.assert_allclose(model.decision_values(test)[:, 0], expected, rtol=1e-4)
        assert report.clusters == 1
    model, _ = fit_ridge(rows, y, replace(whole, block_only=True))
    np.testing.assert_allclose(model.decision_values(test)[:, 0], expected, rtol=1e-9)


def test_laplacian_ridge() -> None:
    rows, y = data("diabetes.train")
    whole = settings(clusters=1, rank=len(rows), lambda_=(0.3,), laplacian=True)
    other = KernelRidge(alpha=0.3, kernel="laplacian", gamma=0.1).fit(rows.to_dense(), y - y.mean())
    model, _ = fit_ridge(rows, y, whole)
    np.testing.assert_allclose(
        model.decision_values(rows)[:, 0], other.predict(rows.to_dense()) + y.mean(), rtol=1e-4
    )


def test_blocks_are_kernel_ridge_regression_of_each_cluster() -> None:
    rows, y = data("diabetes.train")
    model, report = fit_ridge(rows, y, settings(block_only=True, lambda_=(0.5,)))
    cells, x = model.route(rows), rows.to_dense()
    assert report.clusters == 3
    for cell in range(3):
        own = cells == cell
        local = KernelRidge(alpha=0.5, kernel="rbf", gamma=0.1).fit(x[own], y[own] - y.mean())
        np.testing.assert_allclose(
            model.decision_values(rows.take(own))[:, 0], local.predict(x[own]) + y.mean(), rtol=1e-8
        )


def test_cross_validation_chooses_the_best_parameters() -> None:
    rows, y = data("diabetes.train")
    grid = settings(gamma=(1e-3, 0.05, 20.0), lambda_=(1e-4, 0.3, 1e4), folds=5)
    scores = cross_validate_meka(rows, y, grid)
    assert len(scores) == 9
    best = min(scores, key=lambda s: s.score)
    assert (best.gamma, best.regularization) in ((0.05, 0.3), (1e-3, 1e-4))
    model, report = fit_ridge(rows, y, grid)
    assert (report.gamma, report.regularization) == (best.gamma, best.regularization)
    assert report.cross_validation == scores
    # A constant would score about the standard deviation.
    assert best.score < 0.85 * y.std() < min(s.score for s in scores if s.gamma == 20) * 1.1
    assert f"-g {best.gamma:g} --lambda {best.regularization:g}" in model.provenance["parameters"]


@pytest.mark.parametrize("name", ["breast", "wine", "digits"])
def test_svc(name: str) -> None:
    """Within 2 points of LIBSVM's accuracy; labels in LIBSVM's order."""
    rows, y = data(f"{name}.train")
    test, truth = data(f"{name}.test")
    exact = train(rows, y, TrainOptions())
    gamma = exact.kernel.gamma
    model, report = fit_svc(rows, y, settings(gamma=(gamma,), C=(10.0,)), Setting(threads=2))
    libsvm = np.mean(exact.head.predict(exact.decision_values(test)) == truth)
    ours = np.mean(model.head.predict(model.decision_values(test)) == truth)
    assert ours >= libsvm - 0.02
    assert model.head.labels is not None
    assert model.head.labels.tolist() == exact.head.labels.tolist()  # type: ignore[union-attr]
    assert model.head.one_vs_rest == (len(exact.head.labels) > 2)  # type: ignore[arg-type]
    one = model_bytes(fit_svc(rows, y, settings(gamma=(gamma,), C=(10.0,)))[0])
    assert model_bytes(model) == one
    assert report.training.main > 95


@pytest.mark.parametrize("name", ["breast", "wine", "digits"])
@pytest.mark.parametrize("laplacian", [False, True])
def test_block_svc_is_a_libsvm_model_for_each_cluster(name: str, laplacian: bool) -> None:
    rows, y = data(f"{name}.train")
    test, _ = data(f"{name}.test")
    blocks = settings(clusters=4, block_only=True, C=(2.0,), gamma=(0.05,), laplacian=laplacian)
    model, _ = fit_svc(rows, y, blocks, Setting(threads=2))
    assert model_bytes(load_model(model_bytes(model))) == model_bytes(model)
    cells, own_cells = model.route(test), model.route(rows)
    predicted = model.head.predict(model.decision_values(test))
    checked = 0
    for cell in range(model.n_cells):
        there, own = test.take(cells == cell), own_cells == cell
        if len(np.unique(y[own])) == 1:
            assert set(predicted[cells == cell]) <= set(y[own])
            continue
        if not laplacian:
            local = train(rows.take(own), y[own], TrainOptions(C=2.0, gamma=0.05))
            assert np.array_equal(predicted[cells == cell], local.head.predict(local.decision_values(there)))
        checked += 1
        assert set(predicted[cells == cell]) <= set(y[own])
    assert checked > 0


@pytest.mark.parametrize("name", ["breast", "wine"])
def test_class_weights_are_weights_of_rows(name: str) -> None:
    """One cluster of full rank is the exact kernel: as scikit-learn's linear SVM on its features."""
    rows, y = data(f"{name}.train")
    gamma, n, weights = 0.05, len(rows), {1: 4.0, 2: 0.25, 99: 2.0}
    dataset = read_svmlight(FIXTURES / "data" / f"{name}.train")
    options = {"task": "svc", "gamma": gamma, "clusters": 1, "rank": n}
    made, _ = result = meka(dataset, weights=weights, **options)
    assert any("no row has label 99, which has a weight" in warning for warning in result.warnings)
    x = rows.to_dense()
    values, vectors = np.linalg.eigh(np.exp(-gamma * ((x[:, None] - x[None]) ** 2).sum(axis=2)))
    features = vectors * np.sqrt(np.maximum(values, 0))
    theirs = LinearSVC(dual=False, C=1.0, tol=1e-8, max_iter=100_000)
    each = np.array([weights.get(int(label), 1.0) for label in y])
    expected = theirs.fit(features, y, sample_weight=each).decision_function(features)
    labels, classes = made.head.labels.tolist(), theirs.classes_.tolist()
    if expected.ndim == 1:
        expected = expected[:, None] * (1 if labels[0] == classes[1] else -1)
    else:
        expected = expected[:, [classes.index(label) for label in labels]]
    np.testing.assert_allclose(made.decision_values(rows), expected, rtol=0, atol=2e-3)
    assert np.abs(meka(dataset, **options).model.decision_values(rows) - expected).max() > 0.1
    assert "-w1 4.0 -w2 0.25 -w99 2.0" in made.provenance["parameters"]


@pytest.mark.parametrize("laplacian", [False, True])
def test_class_weights_of_blocks_are_those_of_libsvm(laplacian: bool) -> None:
    rows, y = data("wine.train")
    weights = ((1, 5.0), (3, 0.1))
    blocks = settings(clusters=1, block_only=True, gamma=(0.05,), laplacian=laplacian, weights=weights)
    model, _ = fit_svc(rows, y, replace(blocks, C=(2.0,)))
    if laplacian:
        x = rows.to_dense()
        kernel = np.exp(-0.05 * np.abs(x[:, None] - x[None]).sum(axis=2))
        numbered = np.column_stack([np.arange(1.0, len(x) + 1), kernel])
        local = train(numbered, y, TrainOptions(kernel="precomputed", C=2.0, weights=weights))
        of_vectors = kernel[:, local.sv.values.astype(int) - 1] * local.sv_coef[:, None, :]
        part = np.repeat(np.arange(3), local.nr_sv)
        pairs = [(i, j) for i in range(3) for j in range(i + 1, 3)]
        sums = [
            of_vectors[j - 1][:, part == i].sum(axis=1) + of_vectors[i][:, part == j].sum(axis=1)
            for i, j in pairs
        ]
        expected = np.stack(sums, axis=1) - local.rho
    else:
        local = train(rows, y, TrainOptions(C=2.0, gamma=0.05, weights=weights))
        expected = local.decision_values(rows)
    np.testing.assert_allclose(model.decision_values(rows), expected, rtol=0, atol=1e-9)


def test_every_cost_of_a_path_is_solved() -> None:
    """Starting from the solution for the previous C must not end there."""
    rows, y = data("breast.train")
    parted = partition(rows, kmeans_centers(rows, 2))
    approximated = approximate_kernel(Kernel("rbf", 0.05), parted, MekaOptions(rank=40))
    targets = Problem.of_task("svc", rows, y[parted.order]).targets
    costs = (0.5, 1.0, 2.0, 4.0)
    path = [inner for inner, _ in meka_svc(approximated, targets, costs, "clip")]
    for cost, found in zip(costs, path, strict=True):
        ((alone, _),) = meka_svc(approximated, targets, [cost], "clip")
        assert np.linalg.norm(found - alone) < 0.02 * np.linalg.norm(alone)


def test_refusals() -> None:
    rows, y = data("breast.train")
    with pytest.raises(MemoryLimitError, match=r"the work needs [\d,]+ bytes, the limit is 500,000; raise"):
        fit_ridge(rows, y, settings(memory=500_000))
    # Three clusters of equal size would fit; these differ in size.
    lopsided = np.r_[np.random.default_rng(0).normal(size=(900, 2)), [[90, 0], [0, 90]]]
    tight = settings(block_only=True, memory=4_000_000)
    with pytest.raises(MemoryLimitError, match=r"the work needs 1\d,\d{3},\d{3} bytes.*use more `clusters`"):
        fit_ridge(Rows.from_dense(lopsided), np.zeros(902), tight)
    with pytest.raises(OptionError, match="`folds` is 999; there are 380 rows"):
        fit_ridge(rows, y, settings(folds=999))
