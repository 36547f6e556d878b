"""Budgeted SGD, the refit of its coefficients and Platt's sigmoid: slow twins, SciPy's minimizer."""

import numpy as np
import pytest
from budget_twin import Twin, best_merge
from command import svmfast
from program import data
from scipy.optimize import approx_fprime, minimize
from two_moons import block_of, kernel, refit, two_moons

from svmfast.errors import NotFiniteError
from svmfast.methods.budget import moving
from svmfast.methods.budget import refit as refit_module
from svmfast.methods.budget.sgd import BudgetedSgd, BudgetExpansion, StepOptions, merge_tables
from svmfast.solvers.platt import fit_sigmoid, laplace_scale
from svmfast.solvers.ridge import solve_with_ridge
from svmfast.solvers.training_data import random_order

SQUARE = {"loss": "epsilon-insensitive", "epsilon": 0.1}


def decisions(machine, x):
    e = machine.expansion()
    return kernel(x, e.vectors, machine.options.gamma) @ e.coef + e.bias


def stepped(x, targets, options, *orders):
    machine = BudgetedSgd(x.shape[1], options)
    for order in orders:
        machine.steps(block_of(x, targets), order)
    return machine


@pytest.mark.parametrize(("maintenance", "budget", "extra"), [
    *((way, budget, {}) for way in ("gss-precise", "remove", "project") for budget in (1, 7, 8, 30, 1000)),
    *(("gss-precise", 20, extra) for extra in ({"weights": (1.0, 3.0)}, {"bias": True})),
    ("gss-precise", 20, {**SQUARE, "bias": True}),
])  # fmt: skip
def test_steps_agree_with_the_twin(maintenance, budget, extra):
    x, y = two_moons(300, 1)
    targets = np.sin(3 * x[:, 1]) + 0.3 * x[:, 4] if "loss" in extra else y
    options = StepOptions(budget, 0.8, 1 / (300 * 4.0), maintenance, **extra)
    twin, order = Twin(x.shape[1], options), random_order(300, 5)
    machine = stepped(x, targets, options, order)
    for i in order:
        twin.step(x[i], targets[i])
    assert machine.counts() == (300, max(0, twin.violations - budget))
    assert len(machine.expansion().coef) == len(twin.alpha)
    # Projection solves ill-conditioned systems; NumPy 1.24 solves the twin's to 2e-4 of
    # the scale. Everything else is a few hundred rounded steps.
    tolerance = (1e-3 if maintenance == "project" else 1e-7) * np.abs(twin.alpha).sum()
    np.testing.assert_allclose(decisions(machine, x), twin.decisions(x), atol=tolerance)


@pytest.mark.parametrize("maintenance", ["lookup-wd", "gss", "project", "remove"])
def test_the_division_into_calls_changes_no_bit(maintenance):
    x, y = two_moons(600, 6)
    options = StepOptions(25, 0.7, 1e-3, maintenance, weights=(1.0, 2.0), bias=True)
    order = random_order(600, 2)
    one, other = (stepped(x, y, options, *parts).expansion() for parts in ([order], np.split(order, [331])))
    assert one.bias == other.bias
    np.testing.assert_array_equal(one.coef, other.coef)
    np.testing.assert_array_equal(one.vectors, other.vectors)


@pytest.mark.parametrize("maintenance", ["lookup-wd", "lookup-h"])
def test_table_lookups_merge_as_precise_search_does(maintenance):
    same = dict.fromkeys((maintenance, "gss"), 0)
    for seed in range(50):
        x, y = two_moons(60, seed)
        found = {}
        for way in (*same, "gss-precise"):  # with this lambda every row violates the margin
            machine = stepped(x, y, StepOptions(12, 0.5, 10.0, way), random_order(60, 1))
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
    for i, j in [*cells, *zip(rng.integers(0, 201, 60), rng.integers(0, 400, 60), strict=True)]:
        wanted = best_merge(i / 400, j / 399)
        assert wd[i, j] == pytest.approx(wanted[0], abs=1e-13)
        # s is flat at its maximum: h is accurate to the root of rounding errors. At m = 1/2 both modes win.
        if 0 < j < 399 and i not in (0, 200):
            assert h[i, j] == pytest.approx(wanted[1], abs=1e-6)
    np.testing.assert_allclose(h[:, 399], np.arange(201) / 400)  # the limit; s itself is constant at kappa 1


def test_random_order_is_a_permutation_of_the_seeds():
    orders = [random_order(10, *seeds).tolist() for seeds in ((1, 2), (1, 2), (2, 1))]
    assert orders[0] == orders[1] != orders[2]
    for n in (0, 1, 1000):
        assert sorted(random_order(n, 0)) == list(range(n))


def objective(theta, features, gram, targets, options, bias):
    m = len(gram)
    f = features @ theta[:m] + (theta[m] if bias else 0.0)
    if options.loss == "hinge":
        weight = np.where(targets > 0, options.weights[1], options.weights[0])
        slack = np.maximum(0, 1 - targets * f)
    else:
        weight, slack = 1.0, np.maximum(0, np.abs(f - targets) - options.epsilon)
    return np.mean(weight * slack**2) / 2 + options.lambda_ / 2 * theta[:m] @ gram @ theta[:m]


@pytest.mark.parametrize("extra", [{}, {"weights": (1.0, 4.0)}, {**SQUARE, "epsilon": 0.05}])
@pytest.mark.parametrize("bias", [True, False])
def test_refit_reaches_the_minimum(extra, bias):
    x, y = two_moons(300, 11)
    y = np.sin(3 * x[:, 1]) if "loss" in extra else y
    options, vectors = StepOptions(17, 0.6, 1e-4, **extra), x[:17] * 1.1
    start = BudgetExpansion(vectors, np.linspace(-1, 1, 17), 0.3 if bias else 0.0)
    found, report = refit(start, lambda: [(block_of(x, y), np.arange(300))], 300, options, bias=bias)
    given = kernel(x, vectors, 0.6), kernel(vectors, vectors, 0.6), y, options, bias
    tight = {"maxiter": 2000, "gtol": 1e-9}
    oracle = minimize(objective, np.zeros(17 + bias), given, method="BFGS", options=tight)
    before, reached = (objective(np.append(e.coef, [e.bias] * bias), *given) for e in (start, found))
    assert report.iterations < 12  # with a wrong Hessian more
    assert reached <= oracle.fun * (1 + 1e-4)
    assert reached < before
    assert bias or found.bias == 0.0


@pytest.mark.parametrize("extra", [{"weights": (1.0, 4.0)}, {**SQUARE, "epsilon": 0.05}])
def test_the_gradient_of_moved_vectors_is_that_of_differences(extra):
    (x, y), rng = two_moons(40, 11), np.random.default_rng(2)
    y = np.sin(3 * x[:, 1]) if "loss" in extra else y
    options, theta = StepOptions(3, 0.6, 0.02, **extra), rng.normal(size=4)
    vectors = x[:3] + rng.normal(0, 0.3, (3, 6))

    def value(p):
        z = p[:18].reshape(3, 6)
        return objective(p[18:], kernel(x, z, 0.6), kernel(z, z, 0.6), y, options, True)

    at = np.append(vectors, theta)
    found, gradient = moving.objective(BudgetExpansion(vectors, theta[:3], theta[3]), block_of(x, y), options)
    flat = np.concatenate([gradient.vectors.ravel(), gradient.coef, [gradient.bias]])
    assert found == pytest.approx(value(at), rel=1e-12)
    np.testing.assert_allclose(flat, approx_fprime(at, value, 1e-7), atol=1e-6)


def test_refit_reads_blocks_and_orders_and_ignores_the_room_for_kernel_values(monkeypatch):
    (x, y), options = two_moons(300, 11), StepOptions(17, 0.6, 1e-4)
    parts = np.split(np.arange(300), [38, 113, 225])  # each has one row more than some blocks of 37,
    y[[0, 38, 113, 225]] *= -1  # and that one is beyond its margin
    start = BudgetExpansion(x[:17], np.ones(17), 0.0)
    whole = refit(start, lambda: [(block_of(x, y), np.arange(300))], 300, options)[0]
    pieces = [(block_of(x[part], y[part]), np.arange(len(part))[::-1].copy()) for part in parts]
    monkeypatch.setattr(refit_module, "_VALUES", 700)
    again = refit(start, lambda: pieces, 300, options)[0]
    np.testing.assert_allclose(again.coef, whole.coef, rtol=1e-4)
    for room in (10_000, 20_000, 1 << 20):
        found = refit(start, lambda: pieces, 300, options, room=room)[0]
        np.testing.assert_array_equal(found.coef, again.coef)
    cache, values = refit_module.KernelCache(170), np.ones(10)
    for key in range(3):
        cache.keep((key,), values)
    cache.forget(0)
    cache.keep((3,), values)
    assert [cache.get((key,)) is not None for key in range(4)] == [False, True, False, True]


@pytest.mark.parametrize("lambda_", [1e-3, 1e-320])
@pytest.mark.parametrize("bias", [True, False])
def test_a_refit_without_active_rows_changes_nothing(lambda_, bias):
    block = block_of(np.linspace(-1, 1, 20)[:, None], np.zeros(20))
    options = StepOptions(3, 1.0, lambda_, **SQUARE)
    for vectors in (np.array([[0.5], [0.2]]), np.zeros((0, 1))):
        kept = BudgetExpansion(vectors, np.zeros(len(vectors)), 0.0)
        found, fit = refit(kept, lambda: [(block, np.arange(20))], 20, options, bias=bias)
        assert (found.coef.tolist(), found.bias, fit.done) == (kept.coef.tolist(), 0.0, True)


def test_sigmoid_reaches_the_minimum_of_platts_cost():
    rng = np.random.default_rng(0)
    f = rng.normal(size=200)
    positive = rng.random(200) < 1 / (1 + np.exp(-2 * f))
    n = np.count_nonzero(positive)
    target = np.where(positive, (n + 1) / (n + 2), 1 / (200 - n + 2))

    def cost(p):
        z = p[0] * f + p[1]
        return np.sum(np.logaddexp(0, z) - (1 - target) * z)

    oracle = minimize(cost, [0.0, 0.0], method="BFGS", options={"gtol": 1e-8})
    assert fit_sigmoid(f, positive) == pytest.approx(tuple(oracle.x), abs=1e-5)
    assert np.isfinite(fit_sigmoid(f, np.ones(200, dtype=bool))).all()


def test_laplace_scale_leaves_outliers_out():
    # mean |r| is 10.89, and 5 sqrt(2) times that is 77, so the 1000 does not count.
    assert laplace_scale(np.append(np.tile([1.0, -1.0], 50), 1000.0)) == 1.0


@pytest.mark.parametrize("scale", [1e-320, 1e-300, 1e-40, 1.0, 1e40, 1e300])
def test_singular_and_regular_systems_are_solved_at_any_scale(scale):
    found = solve_with_ridge(np.ones((4, 4)) * scale, np.full(4, 2.0 * scale), refit_module._cholesky)
    assert found == pytest.approx([0.5] * 4, rel=1e-3)
    root, right = np.random.default_rng(0).normal(size=(2, 6, 6))
    if scale >= 1e-300:
        found = solve_with_ridge(root @ root.T * scale, right[0] * scale, refit_module._cholesky)
        assert root @ root.T @ found == pytest.approx(right[0], rel=1e-6)
        rounded = np.array([[1, 1 + 1e-9], [1 + 1e-9, 1]]) * scale  # by which it is not quite semidefinite
        found = solve_with_ridge(rounded, np.full(2, 2 * scale), refit_module._cholesky)
        assert found == pytest.approx([1, 1], rel=1e-6)
    for n in (0, 1, 3):
        assert solve_with_ridge(np.zeros((n, n)), np.ones(n), refit_module._cholesky).tolist() == [0.0] * n


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e80])
@pytest.mark.parametrize("place", [(1, 0), (0, 0), (2, 2)])
def test_a_system_that_is_not_finite_or_that_no_ridge_makes_positive_ends_in_an_error(value, place):
    matrix = np.eye(3)
    matrix[place] = matrix[place[::-1]] = value
    if value != 1e80 or place == (1, 0):
        with pytest.raises(NotFiniteError):
            solve_with_ridge(matrix, np.ones(3), refit_module._cholesky)


@pytest.mark.parametrize("svm_type", ["0", "3"])
@pytest.mark.parametrize("lambda_", ["5e-324", "1e-320", "1e-308", "1e-300", "1e-200", "1e200", "1e308"])
def test_every_lambda_gives_a_model_or_a_one_line_error(lambda_, svm_type, tmp_path):
    out = tmp_path / "model"
    done = svmfast("budget-train", "-q", "-s", svm_type, "--lambda", lambda_, data("iris.train"), out)
    assert (done.returncode, len(done.stderr.splitlines())) == ((0, 0) if out.exists() else (2, 1))
    assert not out.exists() or b"nan" not in out.read_bytes()
    assert lambda_ != "1e-320" or b"outside the range of floating point; lambda is" in done.stderr
