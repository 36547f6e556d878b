"""Budgeted SGD, the refit of its coefficients and Platt's sigmoid: slow twins, SciPy's minimizer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from budget_twin import Twin, best_merge
from command import svmfast
from instruction_sets import ISAS, printed_on
from program import data
from scipy.optimize import minimize
from two_moons import block_of, kernel, refit, two_moons

from svmfast.errors import NotFiniteError, OptionError
from svmfast.methods.budget import finish
from svmfast.methods.budget.finish import MAX_ITERATIONS
from svmfast.methods.budget.finish import _cholesky as cholesky
from svmfast.methods.budget.sgd import BudgetedSgd, BudgetExpansion, StepOptions, merge_tables
from svmfast.solvers.platt import fit_sigmoid, laplace_scale
from svmfast.solvers.ridge import solve_with_ridge
from svmfast.solvers.training_data import random_order


def decisions(machine, x):
    e = machine.expansion()
    return kernel(x, e.vectors, machine.options.gamma) @ e.coef + e.bias


@pytest.mark.parametrize("budget", [1, 7, 8, 30, 1000])
@pytest.mark.parametrize("maintenance", ["gss-precise", "remove", "project"])
def test_steps_agree_with_the_twin(maintenance, budget):
    x, y = two_moons(300, 1)
    gamma, lam = 0.8, 1 / (300 * 4.0)
    machine = BudgetedSgd(x.shape[1], StepOptions(budget, gamma, lam, maintenance))
    twin = Twin(x.shape[1], budget, gamma, lam, maintenance)
    order = random_order(300, 5)
    machine.steps(block_of(x, y), order)
    for i in order:
        twin.step(x[i], y[i])
    assert machine.counts() == (300, max(0, twin.violations - budget))
    assert len(machine.expansion().coef) == len(twin.alpha)
    # Projection solves ill-conditioned systems; NumPy 1.24 solves the twin's to 2e-4 of
    # the scale. Everything else is a few hundred rounded steps.
    scale = np.abs(twin.alpha).sum()
    tolerance = 1e-3 if maintenance == "project" else 1e-7
    np.testing.assert_allclose(decisions(machine, x), twin.decisions(x), atol=tolerance * scale)


def test_class_weights_bias_and_regression_agree_with_the_twin():
    x, y = two_moons(250, 2)
    target = np.sin(3 * x[:, 1]) + 0.3 * x[:, 4]
    cases = [
        (y, {"weights": (1.0, 3.0)}),
        (y, {"bias": True}),
        (target, {"loss": "epsilon-insensitive", "epsilon": 0.1, "bias": True}),
    ]
    for targets, extra in cases:
        machine = BudgetedSgd(x.shape[1], StepOptions(20, 0.5, 1e-3, "gss-precise", **extra))
        twin = Twin(x.shape[1], 20, 0.5, 1e-3, "gss-precise", **extra)
        order = random_order(250, 9)
        machine.steps(block_of(x, targets), order)
        for i in order:
            twin.step(x[i], targets[i])
        scale = np.abs(twin.alpha).sum()
        np.testing.assert_allclose(
            decisions(machine, x), twin.decisions(x), atol=1e-7 * scale, err_msg=str(extra)
        )


def test_the_first_step_survives_its_shrinking_factor_of_zero():
    machine = BudgetedSgd(2, StepOptions(3, 1.0, 0.5, "lookup-wd"))
    machine.steps(block_of([[1.0, 2.0]], [-1.0]), np.zeros(1, np.int64))
    e = machine.expansion()
    np.testing.assert_array_equal(e.vectors, [[1.0, 2.0]])
    assert e.coef.tolist() == [-2.0]  # eta_1 y = -1 / lambda


def test_without_a_partner_of_the_same_sign_a_vector_is_removed():
    x = np.array([[0.0, 1.0], [0.0, 1.1], [5.0, 5.0]])
    machine = BudgetedSgd(2, StepOptions(1, 1.0, 1.0, "lookup-wd"))
    machine.steps(block_of(x, [1.0, -1.0, 1.0]), np.array([0, 1], dtype=np.int64))
    assert machine.counts() == (2, 1)
    np.testing.assert_array_equal(machine.expansion().vectors, x[1:2])


@pytest.mark.parametrize("maintenance", ["lookup-wd", "lookup-h"])
def test_table_lookups_merge_as_precise_search_does(maintenance):
    same = dict.fromkeys((maintenance, "gss"), 0)
    for seed in range(50):
        x, y = two_moons(60, seed)
        found = {}
        for way in (*same, "gss-precise"):
            machine = BudgetedSgd(
                x.shape[1], StepOptions(12, 0.5, 10.0, way)
            )  # every row violates the margin
            machine.steps(block_of(x, y), random_order(60, 1))
            assert machine.counts() == (60, 48)
            found[way] = decisions(machine, x)
        for way in same:
            same[way] += np.allclose(found[way], found["gss-precise"], rtol=0, atol=1e-6)
    assert same[maintenance] >= 48
    assert same["gss"] < same[maintenance]


def test_merge_tables_hold_the_optimum_of_both_halves():
    wd, h = merge_tables()
    assert wd.shape == h.shape == (201, 400)
    rng = np.random.default_rng(4)
    cells = [(0, 0), (0, 399), (200, 0), (200, 399), (199, 1), (200, 3), (200, 54), (1, 398)]
    for i, j in cells + list(zip(rng.integers(0, 201, 60), rng.integers(0, 400, 60), strict=True)):
        m, kappa = i / 400, j / 399
        wanted = best_merge(m, kappa)
        assert wd[i, j] == pytest.approx(wanted[0], abs=1e-13)
        # s is flat at its maximum: h is accurate to the root of rounding errors. At m = 1/2 both modes win.
        if 0 < j < 399 and i not in (0, 200):
            assert h[i, j] == pytest.approx(wanted[1], abs=1e-6)
    np.testing.assert_allclose(h[:, 399], np.arange(201) / 400)  # the limit; s itself is constant at kappa 1


def test_the_division_into_calls_changes_no_bit():
    x, y = two_moons(600, 6)
    block, order = block_of(x, y), random_order(600, 2)
    for maintenance in ("lookup-wd", "gss", "project", "remove"):
        options = StepOptions(25, 0.7, 1e-3, maintenance, weights=(1.0, 2.0), bias=True)
        whole, parts = BudgetedSgd(x.shape[1], options), BudgetedSgd(x.shape[1], options)
        whole.steps(block, order)
        parts.steps(block, order[:331])
        parts.steps(block, order[331:])
        one, other = whole.expansion(), parts.expansion()
        assert one.bias == other.bias, maintenance
        np.testing.assert_array_equal(one.coef, other.coef, err_msg=maintenance)
        np.testing.assert_array_equal(one.vectors, other.vectors, err_msg=maintenance)


PROGRAM = """
from test_budgeted_sgd import *
from svmfast import _core
x, y = two_moons(400, 8)
for maintenance in ("lookup-wd", "lookup-h", "gss", "project"):
    m = BudgetedSgd(x.shape[1], StepOptions(30, 0.7, 1e-3, maintenance))
    m.steps(block_of(x, y), random_order(400, 3))
    if maintenance != "project":  # which is ill-conditioned
        print(*(v.hex() for v in decisions(m, x[:50])))
print(_core.isa())
"""


def test_avx2_and_avx512_give_the_same_bits_and_the_baseline_the_same_values():
    found = {isa: printed_on(isa, PROGRAM) for isa in ISAS}
    assert found["avx2"] == found["avx512"]
    values = [[float.fromhex(word) for word in found[isa]] for isa in ("baseline", "avx512")]
    np.testing.assert_allclose(*values, rtol=1e-6, atol=1e-6)


def test_random_order_is_the_same_everywhere():
    assert random_order(10, 1, 2).tolist() == random_order(10, 1, 2).tolist()
    assert random_order(10, 1, 2).tolist() != random_order(10, 2, 1).tolist()
    assert sorted(random_order(1000, 0)) == list(range(1000))
    assert random_order(0, 0).tolist() == []
    assert random_order(1, 0).tolist() == [0]
    # The first place is uniform: chi-square of 8 cells over 4,000 seeds is below its 1 - 1e-6 quantile.
    first = np.bincount([int(random_order(8, seed)[0]) for seed in range(4000)], minlength=8)
    assert (((first - 500) ** 2) / 500).sum() < 40


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"gamma": 0.0}, "gamma is 0; budgeted training needs a positive one"),
        ({"lambda_": -1.0}, "lambda is -1; it must be positive"),
    ],
)
def test_options_are_checked(change, message):
    with pytest.raises(OptionError) as error:
        StepOptions(**{"budget": 10, "gamma": 1.0, "lambda_": 0.1, **change})
    assert str(error.value).startswith(message)


def objective(theta, features, gram, targets, options, bias):
    m = len(gram)
    f = features @ theta[:m] + (theta[m] if bias else 0.0)
    if options.loss == "hinge":
        weight = np.where(targets > 0, options.weights[1], options.weights[0])
        slack = np.maximum(0, 1 - targets * f)
    else:
        weight, slack = 1.0, np.maximum(0, np.abs(f - targets) - options.epsilon)
    return np.mean(weight * slack**2) / 2 + options.lambda_ / 2 * theta[:m] @ gram @ theta[:m]


def case(name):
    x, y = two_moons(300, 11)
    options = StepOptions(17, 0.6, 1e-4)
    if name == "weights":
        options = StepOptions(17, 0.6, 1e-4, weights=(1.0, 4.0))
    if name == "regression":
        y = np.sin(3 * x[:, 1])
        options = StepOptions(17, 0.6, 1e-4, loss="epsilon-insensitive", epsilon=0.05)
    return x, y, options


@pytest.mark.parametrize("name", ["plain", "weights", "regression"])
@pytest.mark.parametrize("bias", [True, False])
def test_refit_reaches_the_minimum(name, bias):
    x, y, options = case(name)
    vectors = x[:17] * 1.1
    start = BudgetExpansion(vectors, np.linspace(-1, 1, 17), 0.3 if bias else 0.0)
    block, order = block_of(x, y), np.arange(300)
    found, report = refit(start, lambda: [(block, order)], 300, options, bias=bias)
    gram, features = kernel(vectors, vectors, 0.6), kernel(x, vectors, 0.6)
    oracle = minimize(
        objective,
        np.zeros(17 + bias),
        (features, gram, y, options, bias),
        method="BFGS",
        options={"maxiter": 2000, "gtol": 1e-9},
    )
    theta = np.append(found.coef, found.bias) if bias else found.coef
    reached = objective(theta, features, gram, y, options, bias)
    assert report.iterations < MAX_ITERATIONS
    assert reached <= oracle.fun * (1 + 1e-4)
    before = np.append(start.coef, start.bias) if bias else start.coef
    assert reached < objective(before, features, gram, y, options, bias)
    if not bias:
        assert found.bias == 0.0


def test_refit_reads_blocks_and_orders_and_ignores_threads_and_the_room_for_kernel_values(monkeypatch):
    x, y, options = case("plain")
    start = BudgetExpansion(x[:17], np.ones(17), 0.0)
    whole = refit(start, lambda: [(block_of(x, y), np.arange(300))], 300, options)[0]
    pieces = [
        (block_of(x[:200], y[:200]), np.arange(199, -1, -1)),
        (block_of(x[200:], y[200:]), np.arange(100)),
    ]
    monkeypatch.setattr(finish, "_BLOCK", 700)
    for threads in (1, 2, 3):
        parts = refit(start, lambda: pieces, 300, options, threads=threads, room=threads * 10_000)[0]
        np.testing.assert_allclose(parts.coef, whole.coef, rtol=1e-4)
        again = refit(start, lambda: pieces, 300, options, threads=1)[0]
        np.testing.assert_array_equal(parts.coef, again.coef)


def test_sigmoid_reaches_the_minimum_of_platts_cost():
    rng = np.random.default_rng(0)
    f = rng.normal(size=200)
    positive = rng.random(200) < 1 / (1 + np.exp(-2 * f))
    a, b = fit_sigmoid(f, positive)
    n = np.count_nonzero(positive)
    target = np.where(positive, (n + 1) / (n + 2), 1 / (200 - n + 2))

    def cost(p):
        z = p[0] * f + p[1]
        return np.sum(np.logaddexp(0, z) - (1 - target) * z)

    oracle = minimize(cost, [0.0, 0.0], method="BFGS", options={"gtol": 1e-8})
    assert (a, b) == pytest.approx(tuple(oracle.x), abs=1e-5)
    assert a < 0


def test_the_sigmoid_of_a_single_class_is_finite():
    a, b = fit_sigmoid(np.array([1.0, 2.0, 3.0]), np.array([True, True, True]))
    assert np.isfinite([a, b]).all()


def test_laplace_scale_leaves_outliers_out():
    residuals = np.append(np.tile([1.0, -1.0], 50), 1000.0)
    # mean |r| is 10.89, and 5 sqrt(2) times that is 77, so the 1000 does not count.
    assert laplace_scale(residuals) == 1.0


@pytest.mark.parametrize("scale", [1e-320, 1e-300, 1e-40, 1.0, 1e40, 1e300])
def test_a_singular_system_is_solved_at_any_scale(scale):
    gram = np.ones((4, 4)) * scale
    found = solve_with_ridge(gram, np.full(4, 2.0 * scale), cholesky)
    assert found == pytest.approx([0.5] * 4, rel=1e-3)


def test_a_regular_system_is_solved_exactly():
    rng = np.random.default_rng(0)
    root = rng.normal(size=(6, 6))
    right = rng.normal(size=6)
    found = solve_with_ridge(root @ root.T, right, cholesky)
    assert root @ root.T @ found == pytest.approx(right, rel=1e-6)


@pytest.mark.parametrize("n", [0, 1, 3])
def test_a_system_of_zeros_has_a_zero_solution(n):
    assert solve_with_ridge(np.zeros((n, n)), np.ones(n), cholesky).tolist() == [0.0] * n


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [(0, 0), (1, 0), (2, 2)])
def test_numbers_that_are_not_finite_end_in_an_error(value, place):
    matrix = np.eye(3)
    matrix[place] = matrix[place[::-1]] = value
    with pytest.raises(NotFiniteError):
        solve_with_ridge(matrix, np.ones(3), cholesky)


def test_a_matrix_that_no_ridge_makes_positive_ends_in_an_error():
    with pytest.raises(NotFiniteError):
        solve_with_ridge(np.array([[1.0, 1e80], [1e80, 1.0]]), np.ones(2), cholesky)


@pytest.mark.parametrize("lambda_", [1e-3, 1e-320])
def test_a_refit_without_active_rows_changes_nothing(lambda_):
    rows, values = np.linspace(-1, 1, 20)[:, None], np.zeros(20)
    options = StepOptions(3, 1.0, lambda_, loss="epsilon-insensitive", epsilon=0.1)
    start = BudgetExpansion(np.array([[0.5], [0.2]]), np.zeros(2), 0.0)
    for kept in (start, BudgetExpansion(np.zeros((0, 1)), np.zeros(0), 0.0)):
        for bias in (True, False):
            blocks = [(block_of(rows, values), np.arange(20))]
            found, fit = refit(kept, lambda blocks=blocks: blocks, 20, options, bias=bias)
            assert found.coef.tolist() == kept.coef.tolist()
            assert fit.done
            assert found.bias == kept.bias


@pytest.mark.parametrize("svm_type", ["0", "3"])
@pytest.mark.parametrize("lambda_", ["5e-324", "1e-320", "1e-308", "1e-300", "1e-200", "1e200", "1e308"])
def test_every_lambda_gives_a_model_or_a_one_line_error(lambda_: str, svm_type: str, tmp_path: Path) -> None:
    out = tmp_path / "model"
    done = svmfast("budget-train", "-q", "-s", svm_type, "--lambda", lambda_, data("iris.train"), out)
    assert done.returncode in (0, 2), done.stderr
    assert len(done.stderr.splitlines()) == (0 if done.returncode == 0 else 1)
    assert out.exists() == (done.returncode == 0)
    if done.returncode == 0:
        assert b"nan" not in out.read_bytes()
    elif lambda_ == "1e-320":
        assert b"outside the range of floating point; lambda is" in done.stderr
