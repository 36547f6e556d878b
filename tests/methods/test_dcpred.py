"""`svmfast dcpred` and its method: accuracy, conversion, cost, determinism, every option, bad input."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from landmark_fits import tasks
from program import data as data_path
from program import model as model_path
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import LinearSVC

import svmfast
from svmfast.errors import MemoryLimitError, OptionError, UnsupportedError
from svmfast.formats.model_files import load_model, model_bytes
from svmfast.formats.svmlight import read_svmlight
from svmfast.methods.dcpred import DcpredOptions
from svmfast.methods.dcpred.fit import fit, fit_exact
from svmfast.methods.method import Setting
from svmfast.methods.train.training import TrainOptions, train
from svmfast.rows import Rows

fit_svc, fit_ridge, cross_validate_dcpred = tasks(fit)


def data(name: str) -> tuple[Rows, Any]:
    found = read_svmlight(data_path(name))
    return found.rows, found.labels


def settings(**changes: Any) -> DcpredOptions:
    return replace(DcpredOptions(gamma=(0.1,), clusters=4, landmarks=12, iterations=30), **changes)


@pytest.mark.parametrize("pseudo", ["none", "poly", "triangle"])
@pytest.mark.parametrize("name", ["breast", "wine", "digits"])
def test_svc(name: str, pseudo: str) -> None:
    """Within 3 points of LIBSVM; labels in LIBSVM's order; the same bytes for any number of threads."""
    rows, y = data(f"{name}.train")
    test, truth = data(f"{name}.test")
    exact = train(rows, y, TrainOptions())
    mine = settings(gamma=(exact.kernel.gamma,), pseudo=pseudo)
    model, report = fit_svc(rows, y, mine, Setting(threads=3))
    libsvm = np.mean(exact.head.predict(exact.decision_values(test)) == truth)
    assert np.mean(model.head.predict(model.decision_values(test)) == truth) >= libsvm - 0.03
    assert model.head.labels is not None
    assert model.head.labels.tolist() == exact.head.labels.tolist()  # type: ignore[union-attr]
    assert model_bytes(model) == model_bytes(fit_svc(rows, y, mine)[0])
    assert model_bytes(load_model(model_bytes(model))) == model_bytes(model)
    assert (report.pseudo_landmarks > 0) == (pseudo != "none")
    assert report.multiply_adds == model.multiply_adds(rows)
    assert report.landmarks == model.sizes.sum() <= 12 * report.clusters


@pytest.mark.parametrize("name", ["breast", "wine"])
def test_class_weights_are_weights_of_rows(name: str) -> None:
    """The coefficients solve the weighted problem on the model's own landmarks."""
    dataset = read_svmlight(data_path(f"{name}.train"))
    weights = {1: 6.0, 2: 0.25, 99: 2.0}
    options = {"task": "svc", "clusters": 1, "landmarks": 20, "iterations": 0, "C": 2.0, "gamma": 0.05}
    made, _ = result = svmfast.dcpred(dataset, weights=weights, **options)
    assert any("no row has label 99, which has a weight" in warning for warning in result.warnings)
    x, z = dataset.rows.to_dense(), made.landmarks.to_dense()

    def kernel(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.exp(-0.05 * ((a[:, None] - b[None]) ** 2).sum(axis=2))

    # The penalty is the norm of the weights for features F R, where (F R)(F R)' is closest to the kernel.
    features, middle = kernel(x, z), np.linalg.pinv(kernel(x, z))
    values, vectors = np.linalg.eigh(middle @ kernel(x, x) @ middle.T)
    root = vectors[:, values > 1e-9 * values[-1]] * np.sqrt(values[values > 1e-9 * values[-1]])
    each = np.array([weights.get(int(label), 1.0) for label in dataset.labels])

    def objective(coef: np.ndarray, rho: float, sign: np.ndarray) -> float:
        slack = np.maximum(0, 1 - sign * (features @ coef - rho))
        w = np.linalg.lstsq(root, coef, rcond=None)[0]
        return float((w @ w + rho * rho) / 2 + 2 * each @ slack**2)

    plain = svmfast.dcpred(dataset, **options).model
    for number in range(len(made.coef)):
        sign = np.where(dataset.labels == made.head.labels[number], 1.0, -1.0)
        theirs = LinearSVC(dual=False, C=2.0, tol=1e-8, max_iter=100_000)
        found = []
        for weight in (each, None):
            theirs.fit(features @ root, sign, sample_weight=weight)
            found.append(objective(root @ theirs.coef_[0], -theirs.intercept_[0], sign))
        best, unweighted = found
        ours = objective(made.coef[number], made.rho[0, number], sign)
        # A leaf's solver stops when the gradient is a hundredth of the first one.
        assert best * (1 - 1e-6) <= ours <= best * 1.1 < unweighted
    # The weights also affect the search for landmarks that are derived from local models.
    assert plain.landmarks.to_dense().tolist() != z.tolist()
    assert "-c 2.0 -w1 6.0 -w2 0.25 -w99 2.0" in made.provenance["parameters"]


def test_a_leaf_distinguishes_only_its_own_classes() -> None:
    """Well-separated classes: leaves with one class are constant, and no leaf predicts a class it lacks."""
    rng = np.random.default_rng(0)
    centers = np.array([[0.0, 0], [8, 0], [0, 8], [8, 8], [9, 9]])
    which = rng.integers(0, 5, 600)
    rows = Rows.from_dense(centers[which] + rng.normal(size=(600, 2)) * 0.4)
    model, _ = fit_svc(rows, which.astype(float), settings(clusters=4, gamma=(1.0,)))
    cells = model.route(rows)
    predicted = model.head.predict(model.decision_values(Rows.from_dense(rng.uniform(-20, 20, (4000, 2)))))
    grid_cells = model.route(Rows.from_dense(np.random.default_rng(0).uniform(size=(1, 2))))
    assert grid_cells.shape == (1,)
    assert set(predicted) <= set(range(5))
    for cell in range(model.n_cells):
        present = np.unique(which[cells == cell])
        far = model.head.predict(model.decision_values(rows.take(cells == cell)))
        assert set(far.astype(int)) <= set(present.tolist())
        assert (model.sizes[cell] == 0) == (len(present) == 1)


def test_one_leaf_with_many_landmarks_is_nearly_kernel_ridge_regression() -> None:
    rows, y = data("diabetes.train")
    test, _ = data("diabetes.test")
    whole = settings(clusters=1, landmarks=len(rows) // 2, lambda_=(0.5,), iterations=0, gamma=(0.05,))
    model, report = fit_ridge(rows, y, whole)
    width = max(rows.n_columns, test.n_columns)
    other = KernelRidge(alpha=0.5, kernel="rbf", gamma=0.05).fit(rows.to_dense(width), y - y.mean())
    expected = other.predict(test.to_dense(width)) + y.mean()
    ours = model.decision_values(test)[:, 0]
    assert np.sqrt(np.mean((ours - expected) ** 2)) < 0.1 * y.std()
    assert report.task == "ridge"
    assert model.head.svm_type == "epsilon_svr"


def test_tuning_lowers_the_error() -> None:
    rows, y = data("diabetes.train")
    plain = fit_ridge(rows, y, settings(lambda_=(0.1,), iterations=0))[1].training.main
    tuned = fit_ridge(rows, y, settings(lambda_=(0.1,), iterations=100))[1].training.main
    assert tuned < 0.97 * plain < y.std()


@pytest.mark.parametrize(
    ("name", "rows", "fit", "task"),
    [
        ("breast_c_rbf", "breast", "auto", "values"),
        ("breast_c_rbf", "breast", "labels", "labels"),
        ("digits_nu_rbf", "digits", "auto", "labels"),
        ("wine_c_rbf_prob", "wine", "values", "values"),
        ("diabetes_eps_rbf_prob", "diabetes", "auto", "values"),
        ("normal_one_rbf_prob", "normal", "auto", "values"),
    ],
)
def test_conversion(name: str, rows: str, fit: str, task: str) -> None:
    exact = load_model(model_path(name))
    given, _ = data(f"{rows}.train")
    test, _ = data(f"{rows}.test")
    gamma = exact.kernel.gamma  # type: ignore[attr-defined]
    mine = settings(gamma=(gamma,), lambda_=(1e-3,), clusters=2, landmarks=40, iterations=60, fit=fit)
    model, report = fit_exact(given, exact, mine, Setting(threads=2))
    assert report.task == task
    assert report.held_out is not None
    assert report.held_out.rows == int(0.1 * len(given))
    ours, theirs = model.decision_values(test), exact.decision_values(test)
    if task == "values":
        assert model.head is exact.head
        assert np.sqrt(np.mean((ours - theirs) ** 2)) < 0.25 * theirs.std()
        held = report.held_out
        assert held.median <= held.quantile_99 <= held.largest  # type: ignore[operator]
    else:
        assert not model.head.has_probability
    if not exact.head.is_regression:
        assert np.mean(model.head.predict(ours) == exact.head.predict(theirs)) > 0.93
    assert model_bytes(model) == model_bytes(fit_exact(given, exact, mine)[0])


@pytest.mark.parametrize("name", ["digits", "breast"])
def test_the_cost_is_within_the_limit_and_close_to_it(name: str) -> None:
    rows, y = data(f"{name}.train")
    for cost, clusters in ((4.0, 1), (12.0, 1), (12.0, 4)):
        mine = settings(gamma=(0.01,), max_operations=cost, clusters=clusters, iterations=10)
        model, report = fit_svc(rows, y, mine)
        assert 0.6 * cost < report.multiply_adds / report.linear_multiply_adds <= cost
        chosen = f"--max-operations {cost!r} --clusters {clusters}"
        assert chosen in model.provenance["parameters"]


def test_a_cost_limit_that_nothing_meets() -> None:
    rows, y = data("digits.train")
    with pytest.raises(UnsupportedError, match="does not allow a single landmark"):
        fit_svc(rows, y, settings(max_operations=0.01))


def test_cross_validation_chooses_the_best_parameters() -> None:
    rows, y = data("diabetes.train")
    grid = settings(task="ridge", gamma=(1e-3, 0.05, 30.0), lambda_=(0.3, 1e5), folds=3, iterations=0)
    scores = cross_validate_dcpred(rows, y, grid)
    assert len(scores) == 6
    best = min(scores, key=lambda s: s.score)
    assert best.regularization == 0.3
    assert best.gamma != 30
    assert best.score < 0.9 * y.std()
    model, report = fit_ridge(rows, y, grid, Setting(threads=2))
    assert report.cross_validation == scores
    assert (report.gamma, report.regularization) == (best.gamma, best.regularization)
    assert f"-g {best.gamma:g} --lambda {best.regularization:g}" in model.provenance["parameters"]


def test_rows_too_wide_for_dense_centers_are_refused_before_any_work() -> None:
    rows, y = data("breast.train")
    spread = rows.indices * 60_000_003
    wide = Rows(rows.indptr, spread.astype(np.int32), rows.values, int(spread.max()) + 1)
    with pytest.raises(MemoryLimitError, match="centers and landmarks of 1,740,000,088 columns"):
        fit_svc(wide, y, settings())


def test_impossible_requests_are_reported() -> None:
    rows, y = data("breast.train")
    with pytest.raises(MemoryLimitError, match=r"training on leaves of up to .* rows"):
        fit_svc(rows, y, settings(memory=60_000))
    exact = load_model(model_path("diabetes_eps_rbf_prob"))
    with pytest.raises(OptionError, match="`fit` labels is for classifiers"):
        fit_exact(rows, exact, settings(fit="labels"))
    with pytest.raises(UnsupportedError, match="single class"):
        fit_exact(rows, load_model(model_path("single_class")), settings())
