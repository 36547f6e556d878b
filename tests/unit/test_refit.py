"""Coefficients for fixed vectors, and Platt's sigmoid, against SciPy's minimizer."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from two_moons import block_of, kernel, refit, two_moons

from svmfast.methods.budget import finish
from svmfast.methods.budget.finish import MAX_ITERATIONS
from svmfast.methods.budget.sgd import BudgetExpansion, StepOptions
from svmfast.solvers.platt import fit_sigmoid, laplace_scale


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


def test_refit_survives_equal_vectors():
    x, y, options = case("plain")
    start = BudgetExpansion(np.repeat(x[:4], 3, axis=0), np.zeros(12), 0.0)
    found, report = refit(start, lambda: [(block_of(x, y), np.arange(300))], 300, options)
    assert report.iterations < MAX_ITERATIONS
    assert np.isfinite(found.coef).all()


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
