"""`svmfast dcpred` and its method: accuracy, conversion, cost, determinism, and what its report says."""

import numpy as np
import pytest
from program import data, model
from read_fixtures import predicted
from read_fixtures import rows as read

import svmfast
import svmfast.methods.dcpred.fit as fits
from svmfast.errors import MemoryLimitError, OptionError
from svmfast.formats.model_files import load_model, model_bytes
from svmfast.formats.svmlight import read_svmlight
from svmfast.methods.common.equal_rows import row_keys, rows_aside
from svmfast.methods.common.error_statement import TRAINED_ON
from svmfast.methods.common.problem import Problem
from svmfast.methods.dcpred import DcpredOptions, leaf
from svmfast.methods.dcpred.tree import affordable_landmarks, kmeans_tree
from svmfast.methods.method import Setting
from svmfast.methods.train.training import TrainOptions, train
from svmfast.rows import Rows


def settings(**changes):
    given = {"task": "svc", "gamma": (0.1,), "clusters": 4, "landmarks": 12, "iterations": 30}
    return DcpredOptions(**{**given, **changes})


@pytest.mark.parametrize("pseudo", ["none", "poly", "triangle"])
@pytest.mark.parametrize("name", ["breast", "wine", "digits"])
def test_svc(name, pseudo):
    """Within 3 points of LIBSVM; labels in LIBSVM's order; the same bytes for any number of threads."""
    (rows, y), (test, truth) = read(f"{name}.train"), read(f"{name}.test")
    exact = train(rows, y, TrainOptions())
    mine = settings(gamma=(exact.kernel.gamma,), pseudo=pseudo)
    made, report = fits.fit(rows, y, mine, Setting(threads=3))
    assert np.mean(predicted(made, test) == truth) >= np.mean(predicted(exact, test) == truth) - 0.03
    assert made.head.labels.tolist() == exact.head.labels.tolist()
    assert model_bytes(made) == model_bytes(fits.fit(rows, y, mine)[0])
    assert model_bytes(load_model(model_bytes(made))) == model_bytes(made)
    assert (report.pseudo_landmarks > 0) == (pseudo != "none")
    assert report.landmarks == made.sizes.sum() <= 12 * report.clusters


def test_the_default_gamma_is_svm_trains():
    rows, y = read("wine.train")
    made = svmfast.dcpred(rows, y, task="svc", clusters=1, landmarks=2, iterations=0).model
    assert made.gamma.tolist() == [1 / rows.n_columns]


def test_class_weights_multiply_the_cost_of_their_rows():
    dataset = read_svmlight(data("wine.train"))

    def trained(cost, weights):
        fixed = {"task": "svc", "clusters": 1, "landmarks": 20, "iterations": 0, "gamma": 0.05}
        return svmfast.dcpred(dataset, C=cost, weights=weights, **fixed)

    made, _ = result = trained(2.0, {1: 6.0, 2: 0.25, 99: 2.0})
    assert any("no row has label 99, which has a weight" in warning for warning in result.warnings)
    assert "-c 2.0 -w1 6.0 -w2 0.25 -w99 2.0" in made.provenance["parameters"]
    np.testing.assert_allclose(trained(1.0, {1: 12.0, 2: 0.5, 3: 2.0}).model.coef, made.coef, rtol=1e-9)
    values = [trained(1.0, {3: weight}).model.decision_values(dataset.rows) for weight in (0.01, 1, 100)]
    of_third = [one[:, made.head.labels.tolist().index(3)].mean() for one in values]
    assert (np.diff(of_third) > 0.05).all()
    # The weights also affect the search for landmarks that are derived from local models.
    assert trained(2.0, {}).model.landmarks.to_dense().tolist() != made.landmarks.to_dense().tolist()


@pytest.mark.parametrize("pseudo", ["poly", "triangle"])
def test_coefficients_are_fitted_to_the_features_of_predictions(pseudo):
    rows, y = read("breast.train")
    made, _ = fits.fit(rows, y, settings(clusters=1, pseudo=pseudo))
    q, vectors, gamma = int(made.pseudo.sizes[0]), made.landmarks.to_dense(), float(made.gamma[0])
    assert q > 0
    coef, distances = np.hstack([made.coef, made.pseudo.coef]), made.pseudo.distances.reshape(-1, 12)
    cell = leaf.CellExpansion(vectors, gamma, coef, made.rho[0], made.pseudo.pairs, distances)
    values = leaf.cell_features(rows.to_dense(), cell) @ coef.T - made.rho[0]
    np.testing.assert_allclose(values, made.decision_values(rows), atol=1e-9)


def test_a_leaf_distinguishes_only_its_own_classes():
    """Well-separated classes: leaves with one class are constant, and no leaf predicts a class it lacks."""
    rng = np.random.default_rng(0)
    centers = np.array([[0.0, 0], [8, 0], [0, 8], [8, 8], [9, 9], [9, 7]])
    which = rng.integers(0, 6, 600)
    rows = Rows.from_dense(centers[which] + rng.normal(size=(600, 2)) * 0.4)
    made, _ = fits.fit(rows, which.astype(float), settings(clusters=4, gamma=(1.0,)))
    grid = Rows.from_dense(rng.uniform(-20, 20, (4000, 2)))
    cells, of_grid, answers = made.route(rows), made.route(grid), predicted(made, grid)
    for cell in range(made.n_cells):
        present = set(which[cells == cell])
        assert {*predicted(made, rows)[cells == cell], *answers[of_grid == cell]} <= present
        assert (made.sizes[cell] == 0) == (len(present) == 1)


def test_a_class_that_the_local_models_rows_lack_is_no_obstacle():
    """Of 2,500 rows the local model has 2,000, without the only row of the second class."""
    rows = Rows.from_dense(np.random.default_rng(0).normal(size=(2500, 2)))
    for rare in range(4):
        y = np.where(np.arange(2500) == rare, 2.0, 1.0)
        made, _ = fits.fit(rows, y, settings(clusters=1, iterations=0))
        assert made.sizes.tolist() == [12]


def test_tuning_lowers_the_error():
    rows, y = read("diabetes.train")
    plain, tuned = (settings(task="ridge", lambda_=(0.1,), iterations=n) for n in (0, 100))
    before, after = (fits.fit(rows, y, one)[1].training.main for one in (plain, tuned))
    assert after < 0.97 * before < y.std()


@pytest.mark.parametrize(
    ("name", "fit", "task"),
    [
        ("breast_c_rbf", "auto", "values"),
        ("breast_c_rbf", "labels", "labels"),
        ("digits_nu_rbf", "auto", "labels"),
        ("wine_c_rbf_prob", "values", "values"),
        ("diabetes_eps_rbf_prob", "auto", "values"),
        ("normal_one_rbf_prob", "auto", "values"),
    ],
)
def test_conversion(name, fit, task):
    exact, first = load_model(model(name)), name.split("_")[0]
    (given, _), (test, _) = read(f"{first}.train"), read(f"{first}.test")
    own = {"clusters": 2, "landmarks": 40, "iterations": 60, "fit": fit}
    mine = settings(gamma=(exact.kernel.gamma,), lambda_=(1e-3,), **own)
    made, report = fits.fit_exact(given, exact, mine, Setting(threads=2))
    held = report.held_out
    assert (report.task, held.rows) == (task, int(0.1 * len(given)))
    ours, theirs = made.decision_values(test), exact.decision_values(test)
    if task == "values":
        assert made.head is exact.head
        assert np.sqrt(np.mean((ours - theirs) ** 2)) < 0.25 * theirs.std()
        assert held.median <= held.quantile_99 <= held.largest
    else:
        assert not made.head.has_probability
        assert held.median is None
    if not exact.head.is_regression:
        assert np.mean(predicted(made, test) == predicted(exact, test)) > 0.93
    assert model_bytes(made) == model_bytes(fits.fit_exact(given, exact, mine)[0])


def test_a_conversion_takes_a_sample_of_many_support_vectors(monkeypatch):
    (given, _), exact, notes = read("digits.train"), load_model(model("digits_nu_rbf")), []
    monkeypatch.setattr(fits, "MOST_VECTORS", 100)
    monkeypatch.setattr("svmfast.methods.common.row_sample.LEAST_OF_CLASS", 5)
    mine = settings(gamma=(exact.kernel.gamma,), clusters=2, landmarks=20, iterations=5)
    _, report = fits.fit_exact(given, exact, mine, Setting(threads=1, note=notes.append))
    n, drawn = len(exact.sv), report.rows - (len(given) - int(0.1 * len(given)))
    assert 90 <= drawn <= 110
    assert notes == [
        TRAINED_ON,
        f"fitted on a sample of {drawn} of the {n:,} support vectors, and on the data",
    ]


@pytest.mark.parametrize("name", ["digits", "breast"])
@pytest.mark.parametrize(("cost", "clusters"), [(4.0, 1), (12.0, 1), (12.0, 4)])
def test_the_cost_is_within_the_limit_and_close_to_it(name, cost, clusters):
    mine = settings(gamma=(0.01,), max_operations=cost, clusters=clusters, iterations=10)
    made, report = fits.fit(*read(f"{name}.train"), mine)
    assert 0.6 * cost < report.multiply_adds / report.linear_multiply_adds <= cost
    assert f"--max-operations {cost!r} --clusters {clusters}" in made.provenance["parameters"]


def test_the_cost_limit_is_used_if_most_leaves_are_constant():
    """Three of four leaves have a single class, so the fourth's landmarks may cost four times the mean."""
    rng = np.random.default_rng(2)
    corner = np.repeat(np.arange(4), 400)
    x = rng.standard_normal((1600, 4)) * 0.3
    x[:, :2] += 10 * np.column_stack([corner % 2, corner // 2])
    y = np.where((corner == 0) & (rng.random(1600) >= 0.5), 2.0, 1.0)
    problem = Problem.of_task("svc", Rows.from_dense(x), y)
    tree = kmeans_tree(problem.rows, 4)
    assert len(tree.leaf_centers) == 4
    # A quarter of the rows use landmarks with 4 features and one function; all are compared with 4 centers.
    assert affordable_landmarks(problem, tree, 12.0) == int((12.0 * 4 - 4 * 4) / (0.25 * (4 + 1)))


def test_cross_validation_chooses_the_best_parameters():
    rows, y = read("diabetes.train")
    grid = settings(task="ridge", gamma=(1e-3, 0.05, 30.0), lambda_=(0.3, 1e5), folds=3, iterations=0)
    scores = fits.fit(rows, y, grid, Setting(1, writes=False))[1].cross_validation
    best = min(scores, key=lambda s: s.score)
    assert (len(scores), best.regularization, best.gamma < 30) == (6, 0.3, True)
    _, report = fits.fit(rows, y, grid, Setting(threads=2))
    assert report.cross_validation == scores
    assert (report.gamma, report.regularization) == (best.gamma, best.regularization)


def test_impossible_requests_are_reported():
    rows, y = read("breast.train")
    spread = rows.indices * 60_000_003
    wide = Rows(rows.indptr, spread.astype(np.int32), rows.values, int(spread.max()) + 1)
    with pytest.raises(MemoryLimitError, match="centers and landmarks of 1,740,000,088 columns"):
        fits.fit(wide, y, settings())
    with pytest.raises(MemoryLimitError, match=r"training on leaves of up to .* rows"):
        fits.fit(rows, y, settings(memory=60_000))
    with pytest.raises(OptionError, match="`fit` labels is for classifiers"):
        fits.fit_exact(rows, load_model(model("diabetes_eps_rbf_prob")), settings(fit="labels"))


# --- rows that are held out ---


def test_held_out_rows_are_distinct_and_include_their_copies():
    x = np.random.default_rng(0).integers(0, 3, (400, 4)).astype(float)  # 81 distinct rows at most
    keys = row_keys(Rows.from_dense(x))
    found = rows_aside(keys, (5, 0))
    distinct, times = np.unique(x, axis=0, return_counts=True)
    frequent = {tuple(row) for row in distinct[times >= 10]}
    chosen, others = (found.rows[found.counted.frequent == one] for one in (False, True))
    assert len(chosen) == len(np.unique(x[chosen], axis=0)) == int(0.1 * (len(distinct) - len(frequent)))
    assert {tuple(row) for row in x[others]} == frequent != set()
    aside = {tuple(row) for row in x[chosen]}
    assert [tuple(row) not in aside for row in x] == found.fitted.tolist()
    assert not aside & frequent
    assert found.counted.weights.sum() == pytest.approx(400)
    assert rows_aside(keys[:15], (5, 0)).fitted.all()


@pytest.mark.parametrize("fit", ["values", "labels"])
def test_no_copy_of_a_held_out_row_is_fitted(fit, monkeypatch):
    """Every row twice, and the model's own vectors among them: rows for measuring were never fitted."""
    (once, _), seen = read("breast.train"), {}
    rows = Rows.concatenate([once, once])
    real_fit, real_error = fits._fit_model, fits.held_out

    def fitting(problem, *rest):
        seen["fitted"] = {*row_keys(problem.rows), *row_keys(problem.vectors[0])}
        return real_fit(problem, *rest)

    def error(exact, made, rows, aside, **rest):
        seen["aside"] = row_keys(rows.take(aside.rows))
        return real_error(exact, made, rows, aside, **rest)

    monkeypatch.setattr(fits, "_fit_model", fitting)
    monkeypatch.setattr(fits, "held_out", error)
    mine = DcpredOptions(gamma=(0.05,), clusters=1, landmarks=5, iterations=5, fit=fit)
    told, aside = fits.fit_exact(rows, load_model(model("breast_c_rbf")), mine)[1].held_out, {*seen["aside"]}
    assert len(seen["aside"]) == len(aside) == int(0.1 * len(set(row_keys(once))))
    assert told.rows == sum(key in aside for key in row_keys(rows)) >= 2 * len(aside)
    assert not aside & seen["fitted"]
