"""Budgeted training as a method: LIBSVM's arrangement, options, held-out rows; runs that change no byte."""

from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from program import data, traced
from read_fixtures import predicted
from read_fixtures import rows as read_rows
from two_moons import kernel, two_moons

from svmfast.errors import OptionError
from svmfast.formats.checkpoint import Checkpoint
from svmfast.formats.libsvm_model import libsvm_model_bytes
from svmfast.formats.spool import Spool
from svmfast.formats.svmlight import read_svmlight
from svmfast.methods.budget import BudgetTrainOptions, finish, moving
from svmfast.methods.budget import rows as rows_module
from svmfast.methods.budget.run import budget_train
from svmfast.methods.budget.training import BudgetRun
from svmfast.methods.common.resuming import kept_results
from svmfast.methods.method import Setting
from svmfast.methods.train.training import TrainOptions, train
from svmfast.rows import Rows
from svmfast.solvers.training_data import chosen

MOONS = BudgetTrainOptions(gamma=1, budget=10)
DIGITS = BudgetTrainOptions(C=10, gamma=0.02, budget=9, passes=2)


def source_of(rows, labels):
    """Rows that are in memory."""
    return spooled(rows, np.asarray(labels, float), memory=1 << 40, pieces=1)


def fixture(name):
    train, test = (read_svmlight(data(f"{name}.{part}")) for part in ("train", "test"))
    return source_of(train.rows, train.labels), test


def moons():
    x, y = two_moons(600, 21)
    return source_of(Rows.from_dense(x), y)


def spooled(rows, labels, memory=1 << 20, pieces=7):
    """The same rows through a spool, in blocks of uneven size."""
    spool = Spool(memory)
    for first, last in pairwise(np.linspace(0, len(rows), pieces + 1).astype(int)):
        spool.add(rows[first:last], labels[first:last])
    return spool.finish()


def trained_bytes(source, options, *setting):
    return libsvm_model_bytes(budget_train(source, options, *setting)[0])


@pytest.mark.parametrize(
    ("name", "gamma", "budget", "least"),
    [("breast", 0.05, 20, 0.95), ("digits", 0.02, 30, 0.93), ("iris", 0.5, 10, 0.93)],
)
def test_accuracy_is_near_the_exact_models(name, gamma, budget, least):
    source, test = fixture(name)
    made, report = budget_train(source, BudgetTrainOptions(C=10, gamma=gamma, budget=budget))
    exact = train(*read_rows(f"{name}.train"), TrainOptions(C=10, gamma=gamma))
    ours, exactly = (np.mean(predicted(one, test.rows) == test.labels) for one in (made, exact))
    assert ours >= max(least, exactly - 0.02)
    assert report.support_vectors == len(made.sv) <= report.functions * budget
    assert 0 < report.merge_frequency < 1
    assert (made.head.labels == exact.head.labels).all()


def test_each_pair_uses_only_its_own_vectors():
    source, test = fixture("iris")
    made, _ = budget_train(source, BudgetTrainOptions(C=10, gamma=0.5, budget=8, keep="last"))
    values, start = made.decision_values(test.rows), np.concatenate([[0], np.cumsum(made.nr_sv)])
    for p, (i, j) in enumerate([(0, 1), (0, 2), (1, 2)]):
        # A pair trained alone visits its rows in another order, so compare with the content of the file.
        mine = np.r_[start[i] : start[i + 1], start[j] : start[j + 1]]
        coef = np.where(mine < start[i + 1], made.sv_coef[j - 1, mine], made.sv_coef[i, mine])
        used = coef != 0
        assert used.sum() <= 8
        x = made.sv.to_dense(test.rows.n_columns)[mine][used]
        f = kernel(test.rows.to_dense(), x, 0.5) @ coef[used] - made.rho[p]
        np.testing.assert_allclose(values[:, p], f, atol=1e-9)
        # BSGD merges points of the same sign: class i has positive coefficients, class j negative ones.
        assert (coef * np.where(mine < start[i + 1], 1, -1) >= 0).all()
    # A row that several pairs keep is stored once: of 30 classes the file was four times as large.
    x = made.sv.to_dense()
    assert all(len(np.unique(x[a:b], axis=0)) == b - a for a, b in pairwise(start))
    assert ((made.sv_coef != 0).sum(axis=0) == 2).any()


def test_probabilities_are_fitted_on_rows_that_were_not_trained_on(monkeypatch):
    source, test = fixture("digits")
    options = BudgetTrainOptions(C=10, gamma=0.02, budget=30, probability=True)
    made, report = budget_train(source, options)
    assert 60 < report.held_out < 140  # a fifth of 500
    assert report.rows + report.held_out == 500
    assert report.held_out <= chosen(np.arange(500), options.seed + 2, 0.2).sum()
    estimates = made.head.probabilities(made.decision_values(test.rows))
    np.testing.assert_allclose(estimates.sum(axis=1), 1)
    column = [made.head.labels.tolist().index(label) for label in test.labels]
    likelihood = np.mean(np.log(estimates[np.arange(len(column)), column]))
    assert likelihood > -1.0  # ten classes, about ten held-out rows of each: guessing gives -2.3
    assert not budget_train(source, replace(options, probability=False))[0].head.has_probability
    monkeypatch.setattr(rows_module, "MOST_HELD_OUT", 50)
    assert 20 < budget_train(source, options)[1].held_out < 80


def test_rare_classes_are_never_held_out_entirely():
    source = source_of(Rows.from_dense(two_moons(200, 4)[0]), np.where(np.arange(200) == 17, 2, 1))
    for seed in range(8):
        made, report = budget_train(source, BudgetTrainOptions(probability=True, seed=seed, passes=1))
        assert report.classes == 2
        assert np.isfinite(made.head.prob_a).all()
        few, _ = budget_train(source, BudgetTrainOptions(sample=20, seed=seed, passes=1))
        assert (few.nr_sv > 0).all()
        one = BudgetTrainOptions(svm_type="epsilon_svr", probability=True, seed=seed)
        assert budget_train(source_of(Rows.from_dense([[1.0]]), [3.0]), one)[1].rows == 1


def test_regression_learns_a_curve():
    rng = np.random.default_rng(0)
    x = rng.uniform(-3, 3, (2000, 1))
    y = np.sin(2 * x[:, 0]) + rng.normal(0, 0.1, 2000)
    options = BudgetTrainOptions(svm_type="epsilon_svr", C=10, gamma=2, p=0.1, budget=30, probability=True)
    made, report = budget_train(source_of(Rows.from_dense(x), y), options)
    grid = np.linspace(-2.9, 2.9, 200)[:, None]
    assert np.sqrt(np.mean((predicted(made, Rows.from_dense(grid)) - np.sin(2 * grid[:, 0])) ** 2)) < 0.05
    # Noise with standard deviation 0.1 has mean absolute value 0.08: the Laplace scale of held-out residuals.
    assert 0.06 < float(made.head.prob_a[0]) < 0.11
    assert (made.nr_sv, report.classes) == (None, 0)
    # For a small C the squared loss of the refit is worse.
    weak = replace(options, C=0.1, probability=False)
    kept, last = (
        budget_train(source_of(Rows.from_dense(x), y), replace(weak, keep=keep))[0]
        for keep in ("refit", "last")
    )
    np.testing.assert_array_equal(kept.sv_coef, last.sv_coef)


def test_class_weights_move_the_boundary():
    x, y = two_moons(800, 9)
    x[:, 1] += np.random.default_rng(1).normal(0, 0.6, 800)
    rows, shares = Rows.from_dense(x), []
    for weights in [((1, 0.1),), (), ((1, 10.0),)]:
        made, _ = budget_train(source_of(rows, y), BudgetTrainOptions(gamma=1, budget=25, weights=weights))
        shares.append(np.mean(predicted(made, rows) == 1))
    assert (np.diff(shares) > 0.05).all()
    twice, _ = budget_train(
        source_of(rows, y), BudgetTrainOptions(gamma=1, budget=25, weights=((1, 2.0), (1, 5.0)))
    )
    assert libsvm_model_bytes(twice) == libsvm_model_bytes(made)


@pytest.mark.parametrize(("keep", "usual"), [("last", False), ("refit", True)])
def test_the_bias_is_optional(keep, usual):
    for more, biased in (({}, usual), ({"bias": not usual}, not usual)):
        assert (budget_train(moons(), replace(MOONS, keep=keep, **more))[0].rho[0] != 0) == biased


def test_moved_vectors_lower_the_objective():
    (x, y), (other, target) = two_moons(3000, 3), two_moons(3000, 4)
    source, options, losses = source_of(Rows.from_dense(x), y), replace(MOONS, C=10, gamma=4, budget=4), []
    for move in (0, 40):
        made, _ = budget_train(source, replace(options, move=move))
        f = made.decision_values(Rows.from_dense(other))[:, 0]
        losses.append(np.mean(np.maximum(0, 1 - target * f) ** 2))
    assert losses[1] < 0.8 * losses[0]


def test_the_descent_visits_a_sample_and_the_refit_all_rows(monkeypatch):
    x, y = two_moons(9000, 3)
    source, options = source_of(Rows.from_dense(x), y), replace(MOONS, sample=3000, passes=2)
    made, report = budget_train(source, options)
    assert 2 * 2800 < report.steps < 2 * 3200
    assert (report.rows, report.lambda_min) == (9000, 1 / 9000)
    # At the minimum of the objective over all rows, its derivative by the bias vanishes.
    slack = np.maximum(0, 1 - y * made.decision_values(Rows.from_dense(x))[:, 0])
    assert abs(np.mean(y * slack)) < 1e-3 * np.mean(slack)
    assert budget_train(source, replace(options, keep="last"))[1].lambda_min == 1 / 3000
    given = []
    monkeypatch.setattr(moving, "MOST_ROWS", 3000)
    monkeypatch.setattr(moving, "moved", lambda start, *more, **_: given.append(more) or start)
    _, report = budget_train(source, replace(options, move=1, probability=True))
    assert 2 * 2200 < report.steps < 2 * 2600
    ((block, moves),) = given
    assert (len(block.targets), moves.lambda_) == (3000, 1 / report.rows)
    assert not np.isin(block.rows.to_dense()[:, 1], x[chosen(np.arange(9000), 2, 0.2), 1]).any()


@pytest.mark.parametrize(
    ("cost", "weights", "kept"), [(1, (), True), (1, ((1, 0.1),), True), (10, ((1, 10.0),), False)]
)
def test_the_iterate_is_kept_if_its_weighted_errors_on_training_rows_are_fewer(cost, weights, kept):
    """In the last two cases not by the number of errors; rows to validate choose nothing."""
    source, (x, y) = moons(), two_moons(500, 22)
    options = replace(MOONS, C=cost, weights=weights, passes=3)
    iterate, report = budget_train(source, replace(options, keep="last"))
    assert report.steps == 3 * 600
    answers = predicted(iterate, Rows.from_dense(x))
    for labels in (answers, -answers, y):
        made, report = budget_train(source, options, validate=(Rows.from_dense(x), labels))
        assert np.array_equal(made.sv_coef, iterate.sv_coef) == kept
        assert report.validation.accuracy == 100 * np.mean(predicted(made, Rows.from_dense(x)) == labels)


def test_minus_one_first_is_swapped_as_libsvm_does():
    source, _ = fixture("minus_first")
    assert source.working_set(0, 0, 0).labels[0] == -1
    assert budget_train(source, BudgetTrainOptions())[0].head.labels.tolist() == [1, -1]


# --- runs ---


@pytest.mark.parametrize("more", [{}, {"keep": "last"}, {"move": 3}, {"sample": 200}])
def test_threads_and_pieces_change_no_byte(more):
    source, _ = fixture("digits")
    options = replace(DIGITS, probability=True, **more)
    one = trained_bytes(source, options)
    assert one == trained_bytes(source, options, Setting(threads=2))
    assert one == trained_bytes(spooled(*read_rows("digits.train")), options)
    assert one != trained_bytes(source, replace(options, seed=1))


def test_rows_in_pieces_are_trained_in_bounded_sets():
    x, y = two_moons(30_000, 5)
    order = np.argsort(y)  # the worst order: all rows of one class first
    rows, labels = Rows.from_dense(x[order]), y[order]
    with spooled(rows, labels, memory=1 << 20) as source:
        assert source.n_sets > 2
        sets = [source.working_set(0, 1, k) for k in range(source.n_sets)]
        same = rows.take(sets[1].numbers).to_dense()[:, source.columns]
    one = sets[1]
    assert (np.sort(np.concatenate([one.numbers for one in sets])) == np.arange(30_000)).all()
    np.testing.assert_array_equal(one.labels, labels[one.numbers])
    np.testing.assert_array_equal(one.rows.to_dense(), same)
    assert one.rows.nnz * 12 + len(one.labels) * 24 < (1 << 19) * 1.2
    assert 0.2 < np.mean(one.labels > 0) < 0.8


def test_refits_in_groups_give_the_same_bytes(monkeypatch):
    source, _ = fixture("digits")
    whole, groups, step = trained_bytes(source, DIGITS), [], finish._refit_in_step
    monkeypatch.setattr(finish, "_refit_in_step", lambda *given: groups.append(len(given[1])) or step(*given))
    monkeypatch.setattr(finish, "REFIT_MATRICES", 10**5)
    assert trained_bytes(source, replace(DIGITS, memory=1 << 28)) == whole
    assert len(groups) > 5
    assert sum(groups) == 45


def test_one_working_set_is_in_memory_at_a_time():
    x, y = np.random.default_rng(1).normal(size=(40_000, 50)), np.tile([1.0, -1.0], 20_000)
    rows = Rows.from_dense(x)  # 24 MB
    options = BudgetTrainOptions(gamma=0.01, budget=9, passes=1, keep="last")
    with spooled(rows, y, memory=8 << 20, pieces=100) as source:
        _, peak = traced(lambda: budget_train(source, options))
    assert source.n_sets > 5
    assert 4 << 20 < peak < 7 << 20  # a set of 4 MiB, its norms and codes; two sets are 8


def test_columns_far_apart_take_no_extra_memory():
    x, y = two_moons(300, 8)
    rows = Rows.from_dense(x)
    far = Rows(rows.indptr, rows.indices * 400_000_000, rows.values, 2_000_000_001)
    near, wide = (budget_train(source_of(one, y), MOONS)[0] for one in (rows, far))
    np.testing.assert_array_equal(near.sv_coef, wide.sv_coef)
    np.testing.assert_array_equal(near.sv.indices.astype(np.int64) * 400_000_000, wide.sv.indices)
    assert budget_train(source_of(far, y), replace(MOONS, gamma=0))[1].gamma == 1 / 2_000_000_001


class Interrupted(Exception):
    pass


class Stopping:
    """A checkpoint in a folder that ends the run after some results are saved."""

    def __init__(self, folder, most):
        self.left, self._folder = most, folder

    def __call__(self, run):
        self._kept = Checkpoint(self._folder, run)
        return self

    def load(self, name):
        return self._kept.load(name)

    def save(self, name, **arrays):
        self._kept.save(name, **arrays)
        self.left -= 1
        if not self.left:
            raise Interrupted


@pytest.mark.parametrize("most", [1, 2, 3, 4])
def test_an_interrupted_run_continues_to_the_same_bytes(tmp_path, monkeypatch, most):
    source, _ = fixture("iris")
    options = BudgetTrainOptions(C=10, gamma=0.5, budget=6, move=2)
    monkeypatch.setattr(finish, "REFIT_MATRICES", 10**6 if most % 2 else 8)  # pairs one after another
    whole = trained_bytes(source, options)
    with pytest.raises(Interrupted):
        trained_bytes(source, options, Setting(1, checkpoint=Stopping(str(tmp_path / "kept"), most)))
    monkeypatch.setattr(BudgetRun, "advance", None)  # the descent is not repeated
    after = Setting(1, checkpoint=partial(Checkpoint, str(tmp_path / "kept")))
    assert trained_bytes(source, options, after) == whole
    assert trained_bytes(source, options, after) == whole
    with pytest.raises(OptionError, match="of a run with other rows or options"):
        trained_bytes(source, replace(options, C=11), after)
    edges = [Rows(np.array([0, k, 3]), np.arange(3, dtype=np.int32), np.ones(3), 3) for k in (1, 2)]
    after_edge = Setting(1, checkpoint=partial(Checkpoint, str(tmp_path / "edge")))
    kept_results("", source_of(edges[0], [1, 2]), options, after_edge)
    with pytest.raises(OptionError, match="of a run with other rows or options"):
        kept_results("", source_of(edges[1], [1, 2]), options, after_edge)
    other = fixture("iris")[0]
    other.working_set(0, 0, 0).labels[[0, 60]] = other.working_set(0, 0, 0).labels[[60, 0]]
    with pytest.raises(OptionError, match="of a run with other rows or options"):
        trained_bytes(other, options, after)
