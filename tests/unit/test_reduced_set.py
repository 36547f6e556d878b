"""Reduced sets against slow twins: the objective and gradient, the least squares, the starts."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from svmfast.kernels import Kernel
from svmfast.methods.compress.landmark_start import start_vectors
from svmfast.methods.compress.reduced_set import (
    EarlyStop,
    ReducedSet,
    Target,
    Variables,
    optimize,
    solve_coefficients,
)
from svmfast.rows import Rows

FloatArray = NDArray[np.float64]
KERNELS = [
    Kernel("linear"),
    Kernel("polynomial", 0.3, 0.4, 3),
    Kernel("polynomial", 0.3, 0.4, 0),
    Kernel("rbf", 0.2),
    Kernel("sigmoid", 0.1, -0.2),
]


class Case:
    """Random rows, targets and a reduced set; `decisions` is the twin, written from LIBSVM's definition."""

    def __init__(self, kernel: Kernel, sizes: list[int], *, n: int = 75, d: int = 6, density: float = 1.0):
        rng = np.random.default_rng(5)
        k, m = len(sizes), sum(sizes)
        width, pairs = max(k - 1, 1), max(k * (k - 1) // 2, 1)
        self.kernel, self.k = kernel, k
        self.x = rng.normal(size=(n, d)) * (rng.random((n, d)) < density)
        self.winner = np.sort(rng.integers(0, k, n))
        self.values, self.weight = rng.normal(size=(n, width)), rng.random((n, width))
        self.reduced = ReducedSet(
            rng.normal(size=(m, d)), rng.normal(size=(width, m)), rng.normal(size=pairs), np.array(sizes)
        )

    def target(self, threads: int = 1) -> Target:
        rows = Rows.from_dense(self.x)
        return Target(
            self.kernel, rows, self.x.shape[1], self.winner, self.values, self.weight, threads=threads
        )

    def decisions(self, s: ReducedSet) -> FloatArray:
        kernel = self.kernel.matrix(self.x, s.vectors)
        if self.k == 1:
            return kernel @ s.coef.T - s.rho
        edge = np.concatenate([[0], np.cumsum(s.sizes)])
        out = np.empty_like(self.values)
        for row, t in enumerate(self.winner):
            pairs = [(i, j) for i in range(self.k) for j in range(i + 1, self.k)]
            mine = []
            for p, (i, j) in enumerate(pairs):
                if t in (i, j):
                    first, second = slice(edge[i], edge[i + 1]), slice(edge[j], edge[j + 1])
                    total = (
                        kernel[row, first] @ s.coef[j - 1, first] + kernel[row, second] @ s.coef[i, second]
                    )
                    mine.append(((j if t == i else i), total - s.rho[p]))
            out[row] = [value for _, value in sorted(mine)]
        return out

    def objective(self, s: ReducedSet) -> float:
        return 0.5 * float(np.sum(self.weight * (self.decisions(s) - self.values) ** 2))


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: f"{k.kind}{k.degree}")
@pytest.mark.parametrize("sizes", [[13], [5, 0, 30, 9]], ids=["one function", "four classes"])
@pytest.mark.parametrize("density", [1.0, 0.1])
def test_value_and_gradient(kernel: Kernel, sizes: list[int], density: float) -> None:
    case = Case(kernel, sizes, density=density, d=6 if density == 1 else 40)
    s, target = case.reduced, case.target(2)
    assert target.decisions(s) == pytest.approx(case.decisions(s), abs=1e-12 * 40)
    value, by_vectors, by_coef, by_rho = target.gradient(s)
    assert value == pytest.approx(case.objective(s), rel=1e-12)
    rng = np.random.default_rng(6)
    step = 1e-5
    for name, gradient in (("vectors", by_vectors), ("coef", by_coef), ("rho", by_rho)):
        direction = rng.normal(size=gradient.shape)
        sides = []
        for sign in (1, -1):
            moved = {f: getattr(s, f) for f in ("vectors", "coef", "rho", "sizes")}
            moved[name] = moved[name] + sign * step * direction
            sides.append(case.objective(ReducedSet(**moved)))
        expected = (sides[0] - sides[1]) / (2 * step)
        # Central differences: error of order step^2 and rounding / step.
        assert float(np.sum(gradient * direction)) == pytest.approx(expected, rel=1e-6, abs=1e-6)


def test_sums_do_not_depend_on_threads() -> None:
    case = Case(Kernel("rbf", 0.2), [7, 12, 9], n=2000)
    one, four = case.target(1).gradient(case.reduced), case.target(4).gradient(case.reduced)
    assert one[0] == four[0]
    for a, b in zip(one[1:], four[1:], strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("sizes", [[9], [4, 3, 5]])
def test_least_squares_is_the_minimum(sizes: list[int]) -> None:
    case = Case(Kernel("rbf", 0.2), sizes, n=300)
    target = case.target(2)
    solved = solve_coefficients(target, case.reduced.vectors, case.reduced.sizes)
    value, _, by_coef, by_rho = target.gradient(solved)
    assert value < case.objective(case.reduced)
    # At the minimum the derivatives vanish, up to the ridge of 1e-10 and the condition of the problem.
    assert np.abs(by_coef).max() < 1e-5 * max(1.0, np.abs(solved.coef).max())
    assert np.abs(by_rho).max() < 1e-5 * max(1.0, np.abs(solved.coef).max())


def test_least_squares_survives_equal_vectors() -> None:
    case = Case(Kernel("rbf", 0.2), [6])
    vectors = np.repeat(case.reduced.vectors[:2], 3, axis=0)
    solved = solve_coefficients(case.target(), vectors, np.array([6]))
    alone = solve_coefficients(case.target(), vectors[::3].copy(), np.array([2]))
    assert case.objective(solved) == pytest.approx(case.objective(alone), rel=1e-6)


def test_optimization_recovers_a_small_expansion() -> None:
    """An expansion of four vectors is found again from a start nearby."""
    case = Case(Kernel("rbf", 0.2), [4], n=400)
    case.values = case.decisions(case.reduced)
    case.weight = np.ones_like(case.values)
    target = case.target(2)
    rng = np.random.default_rng(1)
    start = solve_coefficients(
        target, case.reduced.vectors + 0.3 * rng.normal(size=case.reduced.vectors.shape), np.array([4])
    )
    moved = optimize(target, start, held_out=target, max_iterations=500, patience=100)
    assert target.error(start) > 1e-4
    assert target.error(moved.reduced) < 1e-9


def test_optimization_stops_by_held_out_rows() -> None:
    case, other = Case(Kernel("rbf", 0.5), [25]), Case(Kernel("rbf", 0.5), [25])
    other.values = -case.values
    moved = optimize(case.target(), case.reduced, held_out=other.target(), max_iterations=5000, patience=2)
    assert moved.stopped == "held-out"
    assert moved.iterations < 5000


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: f"{k.kind}{k.degree}")
def test_variables_of_the_optimizer(kernel: Kernel) -> None:
    """The array converts back to the set, and the objective's derivatives by the array are its gradient."""
    case = Case(kernel, [5, 4, 3])
    s, target = case.reduced, case.target()
    variables = Variables(target, s)
    x = variables.pack(s)
    again = variables.unpack(x)
    for name in ("vectors", "coef", "rho"):
        np.testing.assert_allclose(getattr(again, name), getattr(s, name), rtol=1e-15)
    gradient = variables.gradient(*target.gradient(s)[1:])
    direction = np.random.default_rng(3).normal(size=len(x))
    step = 1e-5
    sides = [case.objective(variables.unpack(x + sign * step * direction)) for sign in (1, -1)]
    assert float(gradient @ direction) == pytest.approx(
        (sides[0] - sides[1]) / (2 * step), rel=1e-5, abs=1e-6
    )


@pytest.mark.parametrize(
    ("errors", "best_iteration", "stops_at"),
    [
        ([10.0, 9, 8, 7, 6], 80, None),
        ([10.0, 9, 9.5, 9.5, 1], 20, 60),
        ([10.0, 9.9999, 9.9998, 1], 40, 40),  # gains of less than a thousandth are accepted but do not count
        ([10.0, float("nan"), 11, 1], 0, 40),
    ],
)
def test_early_stop(errors: list[float], best_iteration: int, stops_at: int | None) -> None:
    """Two checks of patience, one check in 20 iterations."""
    left = iter(errors)
    held_out: Any = SimpleNamespace(error=lambda _: next(left))
    sets: Any = {iteration: object() for iteration in range(0, 20 * len(errors), 20)}
    best = EarlyStop(held_out, sets[0], patience=2)
    stopped = next((at for at in list(sets)[1:] if best.check(sets[at], at)), None)
    assert (best.best, stopped) == (sets[best_iteration], stops_at)


def starting(how: str, count: int) -> FloatArray:
    rng = np.random.default_rng(2)
    sv = rng.normal(size=(60, 3))
    options: Any = {"n_columns": 3, "seed": 1, "memory": 1 << 30}
    coef = rng.normal(size=(2, 60))
    return start_vectors(how, Kernel("rbf", 0.5), Rows.from_dense(sv), coef, count, **options)


@pytest.mark.parametrize("how", ["kmeans", "lars"])
@pytest.mark.parametrize("count", [0, 1, 7, 59, 60])
def test_starts_give_as_many_vectors_as_asked(how: str, count: int) -> None:
    vectors = starting(how, count)
    assert vectors.shape == (count, 3)
    assert len(np.unique(vectors, axis=0)) == count
    np.testing.assert_array_equal(vectors, starting(how, count))


def test_lars_takes_what_scikit_learn_takes_from_omega() -> None:
    """Against LARS on the paper's own design matrix, Omega = S^(1/2) U^T with columns of unit length."""
    from sklearn.linear_model import lars_path

    rng = np.random.default_rng(2)
    sv = rng.normal(size=(60, 3))
    coef = rng.normal(size=(2, 60))[:1]
    kernel = Kernel("rbf", 2.0)
    gram, c = kernel.matrix(sv, sv), float(np.abs(coef).max())
    values, basis = np.linalg.eigh(0.5 * gram + c * gram @ gram)
    omega = np.sqrt(np.maximum(values, 0))[:, None] * basis.T
    used = values > 1e-10 * values.max()
    aim = np.zeros(60)
    aim[used] = (c * basis.T @ (gram @ (gram @ coef[0])))[used] / np.sqrt(values[used])
    omega /= np.linalg.norm(omega, axis=0)
    _, active, _ = lars_path(omega, aim, max_iter=5, method="lar")
    got = start_vectors("lars", kernel, Rows.from_dense(sv), coef, 5, n_columns=3, seed=0, memory=1 << 30)
    np.testing.assert_array_equal(got, sv[np.sort(active[:5])])
