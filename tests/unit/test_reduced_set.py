"""Reduced sets against slow twins: the objective and gradient, the least squares, the starts."""

from copy import copy
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.linear_model import lars_path

from svmfast.kernels import Kernel
from svmfast.methods.compress.landmark_start import start_vectors
from svmfast.methods.compress.metric import Metric
from svmfast.methods.compress.reduced_set import (
    EarlyStop,
    ReducedSet,
    Target,
    Variables,
    optimize,
    solve_coefficients,
)
from svmfast.methods.compress.score_fit import solve_scores
from svmfast.rows import Rows

RBF = Kernel("rbf", 0.2)
KERNELS = [
    Kernel("linear"), Kernel("polynomial", 0.3, 0.4, 3), Kernel("polynomial", 0.3, 0.4, 0), RBF,
    Kernel("sigmoid", 0.1, -0.2),
]  # fmt: skip


class Case:
    """Random rows, targets and a reduced set; `decisions` is the twin, written from LIBSVM's definition."""

    def __init__(self, kernel, sizes, *, n=75, d=6, density=1.0, rank=None, scores=False):
        rng = np.random.default_rng(5)
        k, m = len(sizes), sum(sizes)
        width, pairs = max(k - 1, 1), max(k * (k - 1) // 2, 1)
        self.kernel, self.k = kernel, k
        self.x = rng.normal(size=(n, d)) * (rng.random((n, d)) < density)
        self.winner = np.sort(rng.integers(0, k, n))
        self.values, self.weight = rng.normal(size=(n, width)), rng.random((n, width))
        rows, functions = (k, k) if scores else (width, pairs)
        vectors, coef, rho = rng.normal(size=(m, d)), rng.normal(size=(rows, m)), rng.normal(size=functions)
        sizes = [m] if scores else sizes
        metric = None if rank is None else Metric(rng.normal(size=(rank, d)) / 3, rng.normal(size=d))
        self.reduced = ReducedSet(np.ascontiguousarray(vectors[:, :rank]), coef, rho, np.array(sizes), metric)

    def target(self, threads=1):
        known = Rows.from_dense(self.x), self.x.shape[1], self.winner, self.values, self.weight
        return Target(self.kernel, *known, threads=threads)

    def decisions(self, s):
        if s.metric is None:
            kernel = self.kernel.matrix(self.x, s.vectors)
        else:
            apart = ((self.x - s.metric.center) @ s.metric.map.T)[:, None] - s.vectors
            kernel = np.exp(-(apart**2).sum(axis=2))
        if self.k == 1:
            return kernel @ s.coef.T - s.rho
        if s.scores:
            return np.einsum("ipc,ic->ip", self.signs, kernel @ s.coef.T - s.rho)
        parts = np.split(np.arange(len(s.vectors)), np.cumsum(s.sizes)[:-1])
        pairs = [(i, j) for i in range(self.k) for j in range(i + 1, self.k)]
        out = np.empty_like(self.values)
        for row, t in enumerate(self.winner):
            mine = {}
            for (i, j), rho in zip(pairs, s.rho, strict=True):
                first, second = kernel[row, parts[i]], kernel[row, parts[j]]
                mine[i, j] = first @ s.coef[j - 1, parts[i]] + second @ s.coef[i, parts[j]] - rho
            out[row] = [mine[min(t, other), max(t, other)] for other in range(self.k) if other != t]
        return out

    @property
    def signs(self):
        """(n, k - 1, k): 1 for the first class of each of a row's pairs, -1 for the second."""
        found = np.zeros((len(self.winner), self.k - 1, self.k))
        for row, t in enumerate(self.winner):
            for q, other in enumerate(one for one in range(self.k) if one != t):
                found[row, q, [min(t, other), max(t, other)]] = 1, -1
        return found

    def objective(self, s):
        return 0.5 * float(np.sum(self.weight * (self.decisions(s) - self.values) ** 2))


@pytest.mark.parametrize(
    ("kernel", "rank"),
    [*((kernel, None) for kernel in KERNELS), (RBF, 3)],
    ids=lambda given: f"{given.kind}{given.degree}" if isinstance(given, Kernel) else str(given),
)
@pytest.mark.parametrize(
    ("sizes", "scores"),
    [([13], False), ([5, 0, 30, 9], False), ([5, 0, 30, 9], True)],
    ids=["one function", "four classes", "scores"],
)
@pytest.mark.parametrize("density", [1.0, 0.1])
def test_value_and_gradient(kernel, rank, sizes, scores, density):
    """By the optimizer's array: vectors, coefficients, offsets and the map, in units of their own."""
    case = Case(kernel, sizes, density=density, d=6 if density == 1 else 40, rank=rank, scores=scores)
    s, target = case.reduced, case.target(2)
    assert target.decisions(s) == pytest.approx(case.decisions(s), abs=1e-12 * 40)
    value, gradients = target.gradient(s)
    assert value == pytest.approx(case.objective(s), rel=1e-12)
    variables, rng, step = Variables(target, s), np.random.default_rng(6), 1e-5
    x = variables.pack(s.arrays)
    for again, one in zip(variables.unpack(x).arrays, s.arrays, strict=True):
        np.testing.assert_allclose(again, one, rtol=1e-15)
    gradient = variables.gradient(gradients)
    part = np.repeat(range(len(s.arrays)), [one.size for one in s.arrays])
    for one in range(len(s.arrays)):
        direction = rng.normal(size=len(x)) * (part == one)
        high, low = (case.objective(variables.unpack(x + sign * step * direction)) for sign in (1, -1))
        # Central differences: error of order step^2 and rounding / step.
        assert gradient @ direction == pytest.approx((high - low) / (2 * step), rel=1e-6, abs=1e-6)


def test_sums_do_not_depend_on_threads():
    case = Case(RBF, [7, 12, 9], n=2000, rank=4)
    (one, ours), (four, theirs) = (case.target(n).gradient(case.reduced) for n in (1, 4))
    assert one == four
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("sizes", [[9], [4, 3, 5]])
def test_least_squares_is_the_minimum(sizes):
    case = Case(RBF, sizes, n=300)
    solved = solve_coefficients(case.target(2), case.reduced.vectors, case.reduced.sizes)
    value, (_, *slopes) = case.target(2).gradient(solved)
    assert value < case.objective(case.reduced)
    # At the minimum the derivatives vanish, up to the ridge of 1e-10 and the condition of the problem.
    for slope in slopes:
        assert np.abs(slope).max() < 1e-5 * max(1.0, np.abs(solved.coef).max())


@pytest.mark.parametrize("rank", [None, 3])
def test_scores_are_those_of_dense_least_squares(rank):
    """With two equal vectors, and a class without rows."""
    case = Case(RBF, [4, 3, 5, 2], n=300, rank=rank, scores=True)
    case.winner[case.winner == 2] = 1
    case.winner.sort()
    s = case.reduced
    s.vectors[1] = s.vectors[0]
    solved = solve_scores(case.target(2), s.vectors, s.metric)
    one = replace(s, coef=np.eye(len(s)), rho=np.zeros(len(s)))
    basis = copy(case)
    basis.k = 1
    phi = np.column_stack([basis.decisions(one), -np.ones(300)])
    root = np.sqrt(case.weight)
    design = (root[..., None, None] * case.signs[..., None] * phi[:, None, None]).reshape(root.size, -1)
    best = np.linalg.lstsq(design, (root * case.values).ravel(), rcond=1e-12)[0]
    least = 0.5 * float(np.sum((design @ best - (root * case.values).ravel()) ** 2))
    assert least <= case.objective(solved) * (1 + 1e-12) <= 1.00001 * least
    assert np.abs(solved.coef.sum(axis=0)).max() < 1e-6 * np.abs(solved.coef).max()


def test_least_squares_survives_equal_vectors():
    case = Case(RBF, [6])
    vectors = case.reduced.vectors[:2]
    repeated, alone = (
        case.objective(solve_coefficients(case.target(), each, np.array([len(each)])))
        for each in (np.repeat(vectors, 3, axis=0), vectors)
    )
    assert repeated == pytest.approx(alone, rel=1e-6)


def test_optimization_recovers_a_small_expansion():
    """An expansion of four vectors is found again from a start nearby."""
    case = Case(RBF, [4], n=400)
    case.values = case.decisions(case.reduced)
    case.weight = np.ones_like(case.values)
    target, vectors = case.target(2), case.reduced.vectors
    vectors = vectors + 0.3 * np.random.default_rng(1).normal(size=vectors.shape)
    start = solve_coefficients(target, vectors, np.array([4]))
    moved = optimize(target, start, held_out=target, max_iterations=500, patience=100)
    assert target.error(start) > 1e-4
    assert target.error(moved.reduced) < 1e-9


def test_optimization_stops_by_held_out_rows():
    case, other = Case(Kernel("rbf", 0.5), [25]), Case(Kernel("rbf", 0.5), [25])
    other.values = -case.values
    moved = optimize(case.target(), case.reduced, held_out=other.target(), max_iterations=5000, patience=2)
    assert moved.stopped == "held-out"
    assert moved.iterations < 5000


@pytest.mark.parametrize(("errors", "best_iteration", "stops_at"), [
    ([10.0, 9, 8, 7, 6], 80, None),
    ([10.0, 9, 9.5, 9.5, 1], 20, 60),
    ([10.0, 9.9999, 9.9998, 1], 40, 40),  # gains of less than a thousandth are accepted but do not count
    ([10.0, float("nan"), 11, 1], 0, 40),
])  # fmt: skip
def test_early_stop(errors, best_iteration, stops_at):
    """Two checks of patience, one check in 20 iterations."""
    left = iter(errors)
    held_out = SimpleNamespace(error=lambda _: next(left))
    sets = {iteration: object() for iteration in range(0, 20 * len(errors), 20)}
    best = EarlyStop(held_out, sets[0], patience=2)
    stopped = next((at for at in list(sets)[1:] if best.check(sets[at], at)), None)
    assert (best.best, stopped) == (sets[best_iteration], stops_at)


def starting(how, count, width=2, gamma=0.5, second=1.0):
    rng = np.random.default_rng(2)
    sv, coef = rng.normal(size=(60, 3)), rng.normal(size=(2, 60))[:width] * [[1.0], [second]][:width]
    options = {"n_columns": 3, "seed": 1, "memory": 1 << 30}
    return sv, coef, start_vectors(how, Kernel("rbf", gamma), Rows.from_dense(sv), coef, count, **options)


@pytest.mark.parametrize("how", ["kmeans", "lars"])
@pytest.mark.parametrize("count", [0, 1, 7, 59, 60])
def test_starts_give_as_many_vectors_as_asked(how, count):
    *_, vectors = starting(how, count)
    assert vectors.shape == (count, 3)
    assert len(np.unique(vectors, axis=0)) == count
    np.testing.assert_array_equal(vectors, starting(how, count)[-1])


def test_lars_takes_what_scikit_learn_takes_from_omega():
    """Against LARS on the paper's own design matrix, Omega = S^(1/2) U^T with columns of unit length."""
    sv, coef, found = starting("lars", 5, width=1, gamma=2.0)
    gram, c = Kernel("rbf", 2.0).matrix(sv, sv), float(np.abs(coef).max())
    values, basis = np.linalg.eigh(0.5 * gram + c * gram @ gram)
    omega = np.sqrt(np.maximum(values, 0))[:, None] * basis.T
    used = values > 1e-10 * values.max()
    aim = np.zeros(60)
    aim[used] = (c * basis.T @ (gram @ (gram @ coef[0])))[used] / np.sqrt(values[used])
    _, active, _ = lars_path(omega / np.linalg.norm(omega, axis=0), aim, max_iter=5, method="lar")
    np.testing.assert_array_equal(found, sv[np.sort(active[:5])])
    # A function without coefficients takes no turn.
    np.testing.assert_array_equal(found, starting("lars", 5, gamma=2.0, second=0.0)[-1])
