"""`svmfast meka` and its method: models and errors against dense solutions, LIBSVM, and scikit-learn."""

from dataclasses import replace

import numpy as np
import pytest
from linear_svc import linear_svc
from meka_problems import settings
from program import data
from read_fixtures import predicted
from read_fixtures import rows as read
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.svm import SVC
from two_moons import kernel

from svmfast import meka
from svmfast.errors import MemoryLimitError
from svmfast.formats.model_files import load_model, model_bytes
from svmfast.formats.svmlight import read_svmlight
from svmfast.kernels import Kernel
from svmfast.methods.common.problem import Problem
from svmfast.methods.meka import MekaOptions
from svmfast.methods.meka.approximation import approximate_kernel, check_memory, clustered, triangle_bytes
from svmfast.methods.meka.error import kernel_error, positive_repair
from svmfast.methods.meka.fit import fit
from svmfast.methods.meka.solve import meka_svc
from svmfast.methods.method import Setting
from svmfast.methods.train.training import TrainOptions, train
from svmfast.rows import Rows
from svmfast.solvers.kernel_clusters import kmeans_centers, partition


@pytest.mark.parametrize(
    ("changes", "tolerance"),
    [
        *(({"psd": psd}, 1e-4) for psd in ("clip", "shift", "none")),
        ({"block_only": True, "clusters": 3}, 1e-8),
        ({"laplacian": True}, 1e-4),
    ],
)
def test_full_rank_is_kernel_ridge_regression_in_each_cluster(changes, tolerance):
    (rows, y), (test, _) = read("diabetes.train"), read("diabetes.test")
    changes = {"clusters": 1, "lambda_": (0.3,), **changes}
    made, report = fit(rows, y, settings(task="ridge", rank=len(rows), **changes))
    assert report.clusters == changes["clusters"]
    kind = "laplacian" if "laplacian" in changes else "rbf"
    own, cells, x, values = made.route(rows), made.route(test), rows.to_dense(10), made.decision_values(test)
    for cell in range(report.clusters):
        local = KernelRidge(alpha=0.3, kernel=kind, gamma=0.1).fit(x[own == cell], y[own == cell] - y.mean())
        expected = local.predict(test.to_dense(10)[cells == cell]) + y.mean()
        np.testing.assert_allclose(values[cells == cell, 0], expected, rtol=tolerance)


def test_the_memory_is_checked_before_rows_are_clustered_by_the_seed():
    rows, phases = Rows.from_dense(np.random.default_rng(1).normal(size=(400, 3))), []
    setting = Setting(threads=1, progress=lambda done, total, phase: phases.append(phase))
    for memory, reached in ((1000, []), (2**30, ["clusters"])):
        try:
            found = [clustered(rows, settings(seed=i, memory=memory), "svc", 1, setting) for i in (1, 2)]
            assert not np.array_equal(found[0].centers, found[1].centers)
        except MemoryLimitError:
            assert memory == 1000
        assert phases[:1] == reached
    # Exact blocks are compared without being kept.
    check_memory(rows, settings(block_only=True), "error", 1, 1, largest=10**7)


def test_cross_validation_chooses_the_best_parameters():
    rows, y = read("diabetes.train")
    grid = settings(task="ridge", gamma=(1e-3, 0.05, 20.0), lambda_=(1e-4, 0.3, 1e4), folds=5)
    scores = fit(rows, y, grid, Setting(1, writes=False))[1].cross_validation
    best = min(scores, key=lambda s: s.score)
    assert (len(scores), best.gamma, best.regularization) in ((9, 0.05, 0.3), (9, 1e-3, 1e-4))
    made, report = fit(rows, y, grid)
    assert (report.gamma, report.regularization) == (best.gamma, best.regularization)
    assert report.cross_validation == scores
    assert f"-g {best.gamma:g} --lambda {best.regularization:g}" in made.provenance["parameters"]


@pytest.mark.parametrize("name", ["breast", "wine", "digits"])
def test_svc(name):
    """Within 2 points of LIBSVM's accuracy; labels in LIBSVM's order; the same for any number of threads."""
    (rows, y), (test, truth) = read(f"{name}.train"), read(f"{name}.test")
    exact = train(rows, y, TrainOptions())
    mine = settings(gamma=(exact.kernel.gamma,), C=(10.0,))
    made, report = fit(rows, y, mine, Setting(threads=2))
    assert np.mean(predicted(made, test) == truth) >= np.mean(predicted(exact, test) == truth) - 0.02
    assert made.head.labels.tolist() == exact.head.labels.tolist()
    assert made.head.one_vs_rest == (len(exact.head.labels) > 2)
    assert model_bytes(made) == model_bytes(fit(rows, y, mine)[0])
    assert report.training.main > 95


@pytest.mark.parametrize("name", ["breast", "wine", "digits"])
def test_block_svc_is_a_libsvm_model_for_each_cluster(name):
    (rows, y), (test, _) = read(f"{name}.train"), read(f"{name}.test")
    blocks = settings(clusters=4, block_only=True, C=(2.0,), gamma=(0.05,))
    made, _ = fit(rows, y, blocks, Setting(threads=2))
    assert model_bytes(load_model(model_bytes(made))) == model_bytes(made)
    cells, own_cells, answers, checked = made.route(test), made.route(rows), predicted(made, test), 0
    for cell in range(made.n_cells):
        there, own = cells == cell, own_cells == cell
        assert set(answers[there]) <= set(y[own])
        if len(np.unique(y[own])) > 1:
            local = train(rows.take(own), y[own], TrainOptions(C=2.0, gamma=0.05))
            assert np.array_equal(answers[there], predicted(local, test.take(there)))
            checked += 1
    assert checked > 0


@pytest.mark.parametrize("name", ["breast", "wine"])
def test_class_weights_are_weights_of_rows(name):
    """One cluster of full rank is the exact kernel: as scikit-learn's linear SVM on its features."""
    dataset, weights = read_svmlight(data(f"{name}.train")), {1: 4.0, 2: 0.25, 99: 2.0}
    rows, y, gamma = dataset.rows, dataset.labels, 0.05
    options = {"task": "svc", "gamma": gamma, "clusters": 1, "rank": len(rows)}
    made, _ = result = meka(dataset, weights=weights, **options)
    assert any("no row has label 99, which has a weight" in warning for warning in result.warnings)
    values, vectors = np.linalg.eigh(kernel(rows.to_dense(), rows.to_dense(), gamma))
    features = vectors * np.sqrt(np.maximum(values, 0))
    each = np.array([weights.get(int(label), 1.0) for label in y])
    expected = linear_svc(made.head.labels, features, y, features, weights=each)
    np.testing.assert_allclose(made.decision_values(rows), expected, rtol=0, atol=2e-3)
    assert np.abs(meka(dataset, **options).model.decision_values(rows) - expected).max() > 0.1
    assert "-w1 4.0 -w2 0.25 -w99 2.0" in made.provenance["parameters"]


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_class_weights_of_blocks_are_those_of_libsvm(kernel):
    (rows, y), weights = read("wine.train"), {1: 5.0, 3: 0.1}
    twice = (1, 2.5), (3, 0.1), (1, 2.0)
    blocks = settings(clusters=1, block_only=True, gamma=(0.05,), C=(2.0,), laplacian=kernel == "laplacian")
    made, _ = fit(rows, y, replace(blocks, weights=twice))
    gram = pairwise_kernels(rows.to_dense(), metric=kernel, gamma=0.05)
    pairs = {"class_weight": weights, "decision_function_shape": "ovo"}
    expected = SVC(C=2.0, kernel="precomputed", **pairs).fit(gram, y).decision_function(gram)
    # Our classes are 3, 2 and 1.
    np.testing.assert_allclose(made.decision_values(rows), -expected[:, ::-1], rtol=0, atol=0.01)


def test_every_cost_of_a_path_is_solved():
    """Starting from the solution for the previous C must not end there."""
    rows, y = read("breast.train")
    parted = partition(rows, kmeans_centers(rows, 2))
    approximated = approximate_kernel(Kernel("rbf", 0.05), parted, MekaOptions(rank=40))
    targets, costs = Problem.of_task("svc", rows, y[parted.order]).targets, (0.5, 1.0, 2.0, 4.0)
    for cost, (found, _) in zip(costs, meka_svc(approximated, targets, costs, "clip"), strict=True):
        ((alone, _),) = meka_svc(approximated, targets, [cost], "clip")
        assert np.linalg.norm(found - alone) < 0.02 * np.linalg.norm(alone)


# --- the error of the approximation, --task error ---


def test_a_repair_leaves_no_negative_eigenvalue():
    """``clip`` gives the nearest such matrix, ``shift`` moves every eigenvalue, ``none`` does nothing."""
    rows, _ = read("digits.train")
    rough = settings(gamma=(0.1,), clusters=8, rank=6, oversampling=0.0)
    made = approximate_kernel(Kernel("rbf", 0.1), partition(rows, kmeans_centers(rows, 8, seed=0)), rough)
    links = made.link_matrix()
    values, vectors = np.linalg.eigh(links)
    assert values[0] < 0
    clip, shift, none = (positive_repair(made, psd) for psd in ("clip", "shift", "none"))
    assert (clip[0], clip[2]) == (pytest.approx(values[0]), 0)
    np.testing.assert_allclose(clip[1], vectors * np.maximum(values, 0) @ vectors.T, atol=1e-10)
    assert shift[2] == pytest.approx(-values[0])
    assert (none[0], none[2]) == (None, 0.0)
    for bare in (shift, none):
        np.testing.assert_array_equal(bare[1], links)
    errors = {psd: kernel_error(rows, replace(rough, psd=psd)) for psd in ("clip", "shift", "none")}
    smallest = [found.smallest_eigenvalue for found in errors.values()]
    assert smallest == [pytest.approx(values[0]), pytest.approx(values[0]), None]
    assert errors["clip"].relative_error < errors["none"].relative_error


def test_the_two_forms_of_one_partition_against_dense_matrices():
    """The errors of exact and of low-rank blocks, recomputed from dense matrices."""
    rows, _ = read("iris.train")
    options, rbf = settings(gamma=(0.5,), rank=4, psd="shift"), Kernel("rbf", 0.5)
    parted = partition(rows, kmeans_centers(rows, 3, seed=0))
    groups = [parted.cluster(s).to_dense(rows.n_columns) for s in range(3)]
    exact = rbf.matrix(np.vstack(groups), np.vstack(groups))
    cluster = np.repeat(np.arange(3), [len(g) for g in groups])
    missing = np.where(cluster[:, None] == cluster, 0.0, exact)
    blocks = kernel_error(rows, replace(options, block_only=True))
    assert blocks.relative_error == pytest.approx(np.linalg.norm(missing) / np.linalg.norm(exact))
    assert (blocks.links, sum(blocks.ranks), blocks.bytes) == (0, len(rows), triangle_bytes(parted.sizes))
    found, made = kernel_error(rows, options), approximate_kernel(rbf, parted, options)
    basis = made.forward(np.eye(int(made.ranks.sum())))
    links = made.link_matrix()
    added = max(0.0, -np.linalg.eigvalsh(links)[0])
    difference = exact - basis @ links @ basis.T - added * np.eye(len(rows))
    assert found.relative_error == pytest.approx(np.linalg.norm(difference) / np.linalg.norm(exact))
    assert found.ranks == (4, 4, 4)
