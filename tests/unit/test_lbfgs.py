"""L-BFGS: known minima, SciPy's answer, and the behaviour for bad functions."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize as scipy_minimize
from scipy.optimize import rosen, rosen_der

from svmfast.methods.dcpred.lbfgs import minimize

FloatArray = NDArray[np.float64]


def rosenbrock(x: FloatArray) -> tuple[float, FloatArray]:
    return float(rosen(x)), np.asarray(rosen_der(x))


@pytest.mark.parametrize("n", [2, 10, 50])
def test_rosenbrock(n: int) -> None:
    start = np.full(n, -1.1)
    found = minimize(rosenbrock, start, 2000, tolerance=0)
    other = scipy_minimize(rosenbrock, start, jac=True, method="L-BFGS-B")
    assert found.value <= max(1e-12, 1.01 * other.fun)
    assert found.evaluations < 3 * found.iterations


def test_quadratic_of_few_dimensions_is_solved_exactly() -> None:
    rng = np.random.default_rng(0)
    root = rng.normal(size=(8, 8))
    matrix, right = root @ root.T + np.eye(8), rng.normal(size=8)
    found = minimize(
        lambda x: (0.5 * x @ matrix @ x - right @ x, matrix @ x - right), np.zeros(8), 200, tolerance=0
    )
    assert np.allclose(found.x, np.linalg.solve(matrix, right), atol=1e-5)


def test_a_gradient_with_kinks() -> None:
    """Squared hinge of random rows, against SciPy."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(300, 12))
    y = np.sign(x @ rng.normal(size=12) + rng.normal(size=300))

    def fun(w: FloatArray) -> tuple[float, FloatArray]:
        slack = np.maximum(0, 1 - y * (x @ w))
        return float(0.5 * w @ w + slack @ slack), w - 2 * x.T @ (y * slack)

    found = minimize(fun, np.zeros(12), 200, tolerance=0)
    other = scipy_minimize(fun, np.zeros(12), jac=True, method="L-BFGS-B", options={"ftol": 0, "gtol": 1e-10})
    assert found.value == pytest.approx(other.fun, rel=1e-10)


def test_limits() -> None:
    assert minimize(rosenbrock, np.zeros(3), 3).iterations == 3
    start = np.ones(3)  # the minimum itself
    assert np.array_equal(minimize(rosenbrock, start, 10).x, start)
    # A wrong gradient: no step to a worse point is accepted.
    lying = minimize(lambda x: (float(x @ x), -2 * x), np.ones(2), 10)
    assert lying.value == 2.0


def test_a_nan_counts_as_too_high() -> None:
    def fun(x: FloatArray) -> tuple[float, FloatArray]:
        with np.errstate(invalid="ignore"):
            return float(x[0] - np.log(x[0])) if x[0] > 0 else float("nan"), 1 - 1 / x

    assert minimize(fun, np.array([5.0]), 100).x[0] == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_the_unit_of_the_function_does_not_matter(scale: float) -> None:
    curvatures = np.geomspace(1, 100, 20)

    def fun(x: FloatArray) -> tuple[float, FloatArray]:
        return scale * float(curvatures @ x**2) / 2, scale * curvatures * x

    found = minimize(fun, np.ones(20), 150, tolerance=0)
    assert found.value < 1e-20 * fun(np.ones(20))[0]
    assert found.evaluations < 250
