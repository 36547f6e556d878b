"""Budgeted training as a method: LIBSVM's arrangement, options, held-out rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from budget_problems import fixture, moons, source_of
from libsvm import svmutil
from program import data, model
from two_moons import kernel, two_moons

import svmfast
from svmfast.errors import MemoryLimitError, OptionError, TrainingRowError
from svmfast.formats.libsvm_model import libsvm_model_bytes
from svmfast.formats.svmlight import read_svmlight
from svmfast.methods.budget import BudgetTrainOptions
from svmfast.methods.budget.run import budget_train, candidates
from svmfast.methods.budget.sgd import MAINTENANCE
from svmfast.methods.candidates import CandidateRequest
from svmfast.methods.train.training import TrainOptions, train
from svmfast.options import options_of
from svmfast.rows import Rows
from svmfast.solvers.training_data import chosen


@pytest.mark.parametrize(
    ("name", "options", "least"),
    [
        ("breast", {"C": 10, "gamma": 0.05, "budget": 20}, 0.95),
        ("digits", {"C": 10, "gamma": 0.02, "budget": 30}, 0.93),
        ("iris", {"C": 10, "gamma": 0.5, "budget": 10}, 0.93),
    ],
)
def test_accuracy_is_near_the_exact_models(name, options, least):
    source, test = fixture(name)
    made, report = budget_train(source, BudgetTrainOptions(**options))
    accuracy = np.mean(made.head.predict(made.decision_values(test.rows)) == test.labels)
    rows = source.working_set(0, 0, 0)
    exact = train(
        read_svmlight(data(f"{name}.train")).rows, rows.labels, TrainOptions(C=10, gamma=options["gamma"])
    )
    exactly = np.mean(exact.head.predict(exact.decision_values(test.rows)) == test.labels)
    assert accuracy >= max(least, exactly - 0.02)
    assert report.support_vectors == len(made.sv) <= report.functions * options["budget"]
    assert (made.head.labels == exact.head.labels).all()


def test_libsvm_reads_the_model_and_agrees(tmp_path):
    source, test = fixture("digits")
    made, _ = budget_train(source, BudgetTrainOptions(C=10, gamma=0.02, budget=12, passes=3))
    path = tmp_path / "m"
    path.write_bytes(libsvm_model_bytes(made))
    theirs = svmutil.svm_load_model(str(path))
    rows = [
        {int(c) + 1: float(v) for c, v in zip(r.indices, r.values, strict=True)}
        for r in (test.rows[i : i + 1] for i in range(60))
    ]
    labels, _, values = svmutil.svm_predict(test.labels[:60].tolist(), rows, theirs, "-q")
    ours = made.decision_values(test.rows[:60])
    np.testing.assert_allclose(ours, np.array(values), rtol=1e-9, atol=1e-9)
    assert made.head.predict(ours).tolist() == labels


def test_each_pair_uses_only_its_own_vectors():
    source, test = fixture("iris")
    options = BudgetTrainOptions(C=10, gamma=0.5, budget=8, keep="last")
    made, _ = budget_train(source, options)
    whole = source.working_set(0, 0, 0)
    values = made.decision_values(test.rows)
    labels = made.head.labels
    assert labels is not None
    for p, (i, j) in enumerate([(0, 1), (0, 2), (1, 2)]):
        # A pair trained alone visits its rows in another order, so compare with the content of the file.
        start = np.concatenate([[0], np.cumsum(made.nr_sv)])
        mine = np.r_[start[i] : start[i + 1], start[j] : start[j + 1]]
        coef = np.where(mine < start[i + 1], made.sv_coef[j - 1, mine], made.sv_coef[i, mine])
        used = coef != 0
        assert used.sum() <= 8
        x = made.sv.to_dense(test.rows.n_columns)[mine][used]
        f = kernel(test.rows.to_dense(), x, 0.5) @ coef[used] - made.rho[p]
        np.testing.assert_allclose(values[:, p], f, atol=1e-9)
        # BSGD merges points of the same sign: class i has positive coefficients, class j negative ones.
        assert (coef[mine < start[i + 1]] >= 0).all()
        assert (coef[mine >= start[i + 1]] <= 0).all()
    assert whole.labels[0] == labels[0]


def test_probabilities_are_fitted_on_rows_that_were_not_trained_on():
    source, test = fixture("digits")
    options = BudgetTrainOptions(C=10, gamma=0.02, budget=30, probability=True)
    made, report = budget_train(source, options)
    assert 60 < report.held_out < 140  # a fifth of 500
    assert report.rows + report.held_out == 500
    chosen_rows = chosen(np.arange(500), options.seed + 2, 0.2)
    assert report.held_out <= chosen_rows.sum()
    estimates = made.head.probabilities(made.decision_values(test.rows))
    np.testing.assert_allclose(estimates.sum(axis=1), 1)
    truth = np.searchsorted(np.sort(made.head.labels), test.labels)
    column = np.argsort(made.head.labels)[truth]
    likelihood = np.mean(np.log(estimates[np.arange(len(truth)), column]))
    assert likelihood > -1.0  # ten classes, about ten held-out rows of each: guessing gives -2.3
    plain, _ = budget_train(source, replace(options, probability=False))
    assert not plain.head.has_probability


def test_rare_classes_are_never_held_out_entirely():
    x, y = two_moons(200, 4)
    y[:] = 1
    y[17] = 2
    source = source_of(Rows.from_dense(x), y)
    for seed in range(8):
        made, report = budget_train(source, BudgetTrainOptions(probability=True, seed=seed, passes=1))
        assert report.classes == 2
        assert np.isfinite(made.head.prob_a).all()


def test_regression_learns_a_curve():
    rng = np.random.default_rng(0)
    x = rng.uniform(-3, 3, (2000, 1))
    y = np.sin(2 * x[:, 0]) + rng.normal(0, 0.1, 2000)
    options = BudgetTrainOptions(svm_type="epsilon_svr", C=10, gamma=2, p=0.1, budget=30, probability=True)
    made, report = budget_train(source_of(Rows.from_dense(x), y), options)
    grid = np.linspace(-2.9, 2.9, 200)[:, None]
    f = made.head.predict(made.decision_values(Rows.from_dense(grid)))
    assert np.sqrt(np.mean((f - np.sin(2 * grid[:, 0])) ** 2)) < 0.05
    assert made.nr_sv is None
    # Noise with standard deviation 0.1 has mean absolute value 0.08: the Laplace scale of held-out residuals.
    assert 0.06 < float(made.head.prob_a[0]) < 0.11
    assert report.classes == 0


def test_class_weights_move_the_boundary():
    x, y = two_moons(800, 9)
    x[:, 1] += np.random.default_rng(1).normal(0, 0.6, 800)
    source, rows = source_of(Rows.from_dense(x), y), Rows.from_dense(x)
    shares = []
    for weights in [((1, 0.1),), (), ((1, 10.0),)]:
        made, _ = budget_train(source, BudgetTrainOptions(gamma=1, budget=25, weights=weights))
        shares.append(np.mean(made.head.predict(made.decision_values(rows)) == 1))
    assert shares[0] < shares[1] - 0.05
    assert shares[1] < shares[2] - 0.05


def test_the_bias_is_optional():
    source = moons()
    last = BudgetTrainOptions(gamma=1, budget=10, keep="last")
    assert budget_train(source, last)[0].rho.tolist() == [0.0]
    assert budget_train(source, replace(last, bias=True))[0].rho[0] != 0
    refit = replace(last, keep="refit")
    assert budget_train(source, refit)[0].rho[0] != 0
    assert budget_train(source, replace(refit, bias=False))[0].rho.tolist() == [0.0]


def test_a_refit_that_is_worse_is_not_returned():
    source = moons()
    test = two_moons(500, 22)
    validate = Rows.from_dense(test[0]), test[1]
    options = BudgetTrainOptions(gamma=1, budget=10, passes=3)
    iterate, _ = budget_train(source, replace(options, keep="last"), validate=validate)
    # The labels are the iterate's own predictions, so nothing can be better.
    own = iterate.head.predict(iterate.decision_values(validate[0]))
    made, report = budget_train(source, options, validate=(validate[0], own))
    assert report.validation.accuracy == 100.0
    np.testing.assert_array_equal(made.sv_coef, iterate.sv_coef)


def test_minus_one_first_is_swapped_as_libsvm_does():
    source, _ = fixture("minus_first")
    assert source.working_set(0, 0, 0).labels[0] == -1
    assert budget_train(source, BudgetTrainOptions())[0].head.labels.tolist() == [1, -1]


def test_every_way_to_keep_the_budget_can_be_chosen():
    (known,) = (one.value.words for one in options_of(BudgetTrainOptions) if one.name == "maintenance")
    assert set(known) == set(MAINTENANCE)


def test_candidates_of_frontier_follow_the_exact_model():
    exact = svmfast.load_model(model("diabetes_eps_rbf"))
    tried, left_out = candidates(CandidateRequest(exact, 7))
    assert [one.options["budget"] for one in tried] == [n for n in (50, 100, 200, 500) if n < len(exact.sv)]
    assert {one.options["svm_type"] for one in tried} == {"epsilon_svr"}
    assert left_out == []
    for name, why in (("iris_c_poly3", "the polynomial kernel"), ("normal_one_rbf", "one-class models")):
        tried, left_out = candidates(CandidateRequest(svmfast.load_model(model(name)), 7))
        assert (tried, [one.reason for one in left_out]) == ([], [f"does not train {why}"])


def test_data_are_checked():
    rows = Rows.from_dense([[1.0], [2.0], [3.0]])
    with pytest.raises(OptionError, match="no rows to train on"):
        budget_train(source_of(Rows.empty(), []), BudgetTrainOptions())
    with pytest.raises(TrainingRowError, match="row 2: class label out of range"):
        budget_train(source_of(rows, [1, 3e9, 1]), BudgetTrainOptions())
    many = Rows.from_dense(np.ones((10_001, 1)))
    with pytest.raises(OptionError, match="more than 10,000 distinct labels; are they values"):
        budget_train(source_of(many, np.arange(10_001)), BudgetTrainOptions())
    with pytest.raises(MemoryLimitError, match="1,000,000 vectors with 3 features needs 24,000,192"):
        budget_train(moons(), BudgetTrainOptions(budget=1_000_000, memory=1 << 20))
