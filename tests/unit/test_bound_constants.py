"""The bounds of the engine are the documented formulas: every constant counts in one of these regimes.

Errors that come near a bound are rare, so that comparing with exact values does not tell a bound from half of
it. The formulas are proven in docs/single-precision.md and docs/certificate.md.
"""

from itertools import combinations, product

import mpmath
import numpy as np
import pytest
from fifty_digits import kernel_values, mpf
from hypothesis import given
from hypothesis import strategies as st

from svmfast.kernels import DecisionEngine, Kernel
from svmfast.rows import Rows

U, UNIT = 2.0**-24, 2.0**-53
LOG2E = np.log2(np.e)


def power_of_two(x):
    return float(2.0 ** np.floor(np.log2(x)))


def additions(d, known):
    """Return the additions that a product passes: of sparse rows, their own entries."""
    return known if known * 1.7 < d else d


class SingleTwin:
    """The bounds of single precision for one row, from dense support vectors and without a lattice."""

    def __init__(self, gamma, sv, coef, sizes, rho):
        self.gamma, self.sv, self.coef, self.rho = gamma, sv, coef, rho
        self.n, self.d = len(sv), int(sv.any(axis=0).sum())
        self.owner = np.repeat(np.arange(len(sizes)), sizes)
        counts = np.array(sizes) if len(sizes) > 1 else None
        self.engine = DecisionEngine(Kernel("rbf", gamma), Rows.from_dense(sv), coef, rho, counts)
        self.centered = np.count_nonzero(sv) > 0.5 * self.n * self.d
        self.center = sv.mean(axis=0) if self.centered else np.zeros(sv.shape[1])
        self.reach = float(np.sqrt(((sv - self.center) ** 2).sum(axis=1)).max())
        self.pairs = list(combinations(range(max(len(sizes), 2)), 2))

    def kernel_values(self, z):
        exponents = -self.gamma * LOG2E * ((self.sv - z[: self.sv.shape[1]]) ** 2).sum(axis=1)
        others = self.gamma * LOG2E * (z[self.sv.shape[1] :] ** 2).sum()
        return np.exp2(np.maximum(exponents - others, -126))

    def shares(self, i, j):
        """The coefficients of a pair, 0 for other classes; of a single function all."""
        if len(self.coef) == 1:
            return self.coef[0]
        first, second = self.owner == i, self.owner == j
        return np.where(first, self.coef[j - 1], np.where(second, self.coef[i], 0.0))

    def sizes(self, i, j):
        """As `shares`, of magnitudes: where signs are mixed the largest over the functions."""
        both, of_pair = self.engine.n_functions == 1, self.shares(i, j)
        largest = np.abs(self.coef).max(axis=0)
        signs = [np.unique(np.sign(row[self.owner == c])) for row in self.coef for c in set(self.owner)]
        if all(len(one) == 1 for one in signs):
            return np.abs(of_pair)
        return np.where(both | np.isin(self.owner, (i, j)), largest, 0.0)

    def bounds(self, z, exponent_error=None, total=None):
        d, gamma = self.d, self.gamma
        away = z.copy()
        away[: len(self.center)] -= self.center
        far = self.reach + (norm := float(np.linalg.norm(away)))
        entries, known = np.count_nonzero(z), np.count_nonzero(z[: self.sv.shape[1]])
        terms = additions(d, d if self.centered else known)
        error = 1.01 * U * (terms + 8) * gamma * LOG2E * far**2 if exponent_error is None else exponent_error
        relative = 1.001 * (0.72 * error + 1.1 * 2.0**-21 + 1.01 * 40 * U)
        libsvm = 2.0**-52 * ((d + entries + 10) * gamma * far**2 + self.n + 30)
        lost = self.n * 2.0**-118 * power_of_two(np.abs(self.coef).max())
        found = []
        for (i, j), rho in zip(self.pairs, self.rho, strict=True):
            rest = libsvm * np.abs(self.shares(i, j)).sum() + lost + 2.0**-51 * abs(rho)
            reach = relative * (total or (self.sizes(i, j) * self.kernel_values(z)).sum())
            in_front = self.centered and d <= 128 and 2 * gamma * self.reach**2 <= 0.7
            if in_front and self.engine.n_functions == 1:
                t = 2 * gamma * self.reach * norm
                a = np.abs(self.coef[0]) * np.exp(-gamma * ((self.sv - self.center) ** 2).sum(axis=1))
                inner = t * 1.01 * U * (d + 8) * t**2 / 2 + (2.0**-20 + 1.01 * 40 * U) * t**3 / 6
                inner += 2.0**-52 * (self.n + (d + 4) ** 2)
                reach = 1.01 * np.exp(-gamma * norm**2) * np.exp(t) * a.sum() * inner
            found.append(reach + rest)
        return np.array(found)


def compare(twin, z, exponent_error=None):
    values, bounds = (found[0] for found in twin.engine.single_values(Rows.from_dense(z[None])))
    # Integers leave out the residuals, so that the sum of magnitudes is the value itself.
    total = None if exponent_error is None else float(values[0])
    np.testing.assert_allclose(bounds, twin.bounds(z, exponent_error, total), rtol=1e-4)


@pytest.mark.parametrize("density", [1.0, 0.2])
@pytest.mark.parametrize("sizes", [[30], [12, 18], [12, 10, 8]])
@pytest.mark.parametrize("mixed", [False, True])
def test_single_precision(density, sizes, mixed):
    """Near rows: the exponent, the function, the sum. Far rows: LIBSVM's rounding. Large rho: its digits."""
    n, d, classes = 30, 12, len(sizes)
    rng = np.random.default_rng(classes)
    sv = rng.normal(size=(n, d)) * (rng.random((n, d)) < density)
    sv[0] = 0.5 * (density == 1)
    coef = rng.exponential(size=(max(classes - 1, 1), n)) * (rng.choice([-1.0, 1.0], n) if mixed else 1)
    coef[:, 0] *= 1e-3
    for gamma, rho, stretch in product((0.1, 3.0), (0.0, 1e9), (1.0, 3.0)):
        twin = SingleTwin(gamma, sv, coef, sizes, np.full(max(classes * (classes - 1) // 2, 1), rho))
        compare(twin, np.r_[sv[3] * stretch, 0.0, 0.01])


@pytest.mark.parametrize("sizes", [[8, 4], [4, 4, 4]])
@pytest.mark.parametrize("d", [128, 500])
def test_single_precision_of_many_features(d, sizes):
    rng, pairs = np.random.default_rng(d), len(sizes) - 1
    sv, coef = rng.normal(size=(12, d)), rng.exponential(size=(pairs, 12))
    twin = SingleTwin(3 / d, sv, coef, sizes, np.zeros(pairs * (pairs + 1) // 2))
    for stretch in (1.0, 3.0):
        compare(twin, sv[3] * stretch)


def test_single_precision_of_a_pair_with_tiny_coefficients():
    coef = np.array([[1e-46, -1e-46, -1.0], [1.0, 1.0, -1.0]])
    twin = SingleTwin(1.0, np.array([[1.0, 0.3], [0.5, 1.0], [0.2, 0.1]]), coef, [1, 1, 1], np.zeros(3))
    bounds = twin.engine.single_values(Rows.from_dense([[0.9, 0.7]]))[1][0]
    assert bounds[0] == pytest.approx(twin.bounds(np.array([0.9, 0.7]))[0], rel=1e-9, abs=0)


def bound_of_dot_kernel(kernel, sv, coef, rho, z):
    engine = DecisionEngine(kernel, Rows.from_dense(sv), coef[None], np.array([rho]), None)
    n, d = len(sv), int(sv.any(axis=0).sum())
    x, norm = np.sqrt((sv**2).sum(axis=1)).max(), np.linalg.norm(z)
    gamma, coef0 = abs(kernel.gamma), abs(kernel.coef0)
    argument, degree, l1 = gamma * x * norm + coef0, kernel.degree, np.abs(coef).sum()
    power = kernel.kind == "polynomial"
    unit = power_of_two(gamma * x**2 + coef0) if power and gamma * x**2 + coef0 else 1.0
    known = np.count_nonzero(z[sv.any(axis=0)])
    error = 1.01 * U * (additions(d, known) + 8) * argument + 2.0**-120 * unit
    stretch = max(1.0, (1.01 * argument + error) / unit) ** degree if power else 1.0
    lost = n * 2.0**-118 * power_of_two(np.abs(coef).max()) * stretch * (unit**degree if power else 1.0)
    t = kernel.gamma * sv @ z + kernel.coef0
    size = float((np.abs(coef) * np.abs(t) ** degree).sum())
    if power:
        mean = (1.001 * (size + lost) / l1) ** (1 / max(degree, 1))
        found = 1.001 * (1.01 * degree + 1.01 * 40) * U * size
        found += 1.01 * degree * error * (mean + error) ** max(degree - 1, 0) * l1 * (degree > 0)
    else:
        found = (error + 1.001 * (2.0**-19 + 1.01 * 40 * U) * min(1.0, 1.01 * argument + error)) * l1
    terms, slight = np.count_nonzero(sv, axis=1).max() + np.count_nonzero(z) + 10, 1e-280
    largest, of_kernel = 1.0, argument + slight
    if power:
        largest, of_kernel = (argument + slight) ** degree, degree * (argument + slight) ** degree
    found += (2 * UNIT * terms * of_kernel + 2 * UNIT * (n + 30) * largest) * l1 + 4 * UNIT * rho + lost
    return found, float(engine.single_values(Rows.from_dense(z[None]))[1][0, 0])


@pytest.mark.parametrize(
    "kernel",
    [
        *(Kernel("polynomial", 0.3, coef0, degree) for coef0 in (0.0, 0.9) for degree in (0, 1, 2, 3, 9)),
        *(Kernel("sigmoid", gamma, coef0) for coef0 in (0.0, 0.9) for gamma in (1e-4, 0.01, 1.0)),
        Kernel("polynomial", 0.0, 0.0, 1),
        Kernel("sigmoid", 0.0, 0.0),
    ],
    ids=lambda k: f"{k.kind}-{k.gamma:g}-{k.coef0:g}-{k.degree}",
)
@pytest.mark.parametrize("mixed", [False, True])
def test_single_precision_of_polynomials_and_sigmoids(kernel, mixed):
    """Near rows, long ones, orthogonal ones; 600 features are summed in parts."""
    rng = np.random.default_rng(9)
    coef = rng.exponential(size=7) * (rng.choice([-1.0, 1.0], 7) if mixed else 1)
    for d in (5, 600):
        sv, across = rng.normal(size=(7, d)) / np.sqrt(d), np.zeros(d)
        across[:2] = 1.0
        for z, rho in product((sv[2], sv[3] * 30, sv[1] * 1e-3, across * 30), (0.0, 1e12)):
            expected, found = bound_of_dot_kernel(kernel, sv * (across == 0), coef, rho, z)
            assert found == pytest.approx(expected, rel=1e-4, abs=0)


def test_single_precision_of_kernels_ends_where_the_proof_does():
    """Arguments, and their powers, are at most 2^60 of what a row as long as a support vector has."""
    cube, sigmoid = Kernel("polynomial", 1.0, 0.0, 3), Kernel("sigmoid", 1.0, 0.0)
    ends = [(cube, 0.98 * 2.0**20 / 1.01, True), (cube, 2.0**20, False)]
    ends += [(sigmoid, 0.98 * 2.0**60 / 1.01, True), (sigmoid, 2.0**60, False)]
    ends += [(Kernel("polynomial", 1.0, 0.0, degree), 0.5, degree == 64) for degree in (64, 65)]
    for kernel, size, inside in ends:
        bound = bound_of_dot_kernel(kernel, np.eye(2)[:1], np.ones(1), 0.0, np.array([0.0, size]))[1]
        assert np.isfinite(bound) == inside


@pytest.mark.parametrize("t", [1e-5, 0.02, 0.4, 0.99])
def test_single_precision_behind_a_second_order_polynomial(t):
    rng = np.random.default_rng(3)
    sv = rng.normal(size=(20, 3))
    gamma = 0.3 / float(((sv - sv.mean(axis=0)) ** 2).sum(axis=1).max())
    twin = SingleTwin(gamma, sv, rng.normal(size=(1, 20)) + 1e-3, [10, 10], np.array([0.3]))
    z = np.array([1.0, 0.0, 0.0]) * t / (2 * gamma * twin.reach)
    compare(twin, sv.mean(axis=0) + z)
    beyond = sv.mean(axis=0) + z * 1.02 / t
    assert np.isinf(twin.engine.single_values(Rows.from_dense(beyond[None]))[1]).all()


@pytest.mark.parametrize("inside", [True, False])
def test_single_precision_ends_where_the_proof_does(inside):
    """The exponents' error is below 0.05, on a lattice too; behind a polynomial gamma Z^2 is at most 50."""
    factor = 1 - 1e-6 if inside else 1 + 1e-6

    def finite(gamma, sv, z):
        twin = SingleTwin(gamma, np.tile(sv, (20, 1)), np.ones((1, 40)), [20, 20], np.zeros(1))
        return bool(np.isfinite(twin.engine.single_values(Rows.from_dense(z[None]))[1]).all())

    far = np.sqrt(0.05 * factor / (1.01 * U * 10 * LOG2E))
    assert finite(1.0, np.eye(2), np.full(2, (far - 1) / np.sqrt(2))) == inside
    assert finite(1.0, np.array([[1e-3], [-1e-3]]), np.array([np.sqrt(50 * factor)])) == inside
    assert finite(0.05 * factor / (1.01 * 4 * U * LOG2E), np.eye(2), np.zeros(2)) == inside


@pytest.mark.parametrize(
    ("origin", "off", "d", "exponent"),
    [(0.0, 0.0, 40, 375), (5e4, 0.0, 40, 375), (0.0, 1e-6, 40, 375), (5e4, 3e-3, 8000, 0.3)],
)
def test_single_precision_on_a_lattice(origin, off, d, exponent):
    rng = np.random.default_rng(4)
    level = rng.integers(0, 4, (20, d)).astype(float)
    level[0], level[1] = 0, 3
    sv = origin + level + off * (level == 1)
    gamma = 4 * exponent / (9 * d)
    twin = SingleTwin(gamma, sv, np.ones((1, 20)), [10, 10], np.zeros(1))
    assert twin.engine._sums.lattice
    z = sv[1].copy()
    z[2] -= off
    width = sv.max() - sv.min()
    places = np.r_[sv, z[None]] - origin - width / 3 * np.round((np.r_[sv, z[None]] - origin) / (width / 3))
    distances = np.sqrt((places**2).sum(axis=1))
    e = distances[:-1].max() + distances[-1] + 2.0**-49 * np.sqrt(d) * (origin + width)
    b = twin.reach + np.linalg.norm(z - twin.center) + e
    compare(twin, z, 1.01 * gamma * LOG2E * (4 * U * b**2 + 2 * b * e + e**2))


@pytest.mark.parametrize("kind", ["rbf", "linear", "polynomial", "sigmoid"])
@pytest.mark.parametrize(
    ("gamma", "reach", "row"),
    [(gamma, reach, reach) for gamma in (0.7, 1e275) for reach in (1e-170, 1e-3, 1.0, 30.0)]
    + [(0.7, 1e-170, 1e140), (0.7, 1e140, 1e-170)],
)
@pytest.mark.parametrize("size", [0.0, 1.0, 1e-280])
@pytest.mark.parametrize("rho", [0.0, 1e-278, 1e12])
def test_double_precision(kind, gamma, reach, row, size, rho):
    rng = np.random.default_rng(5)
    sv, z = rng.normal(size=(9, 4)) * reach, np.r_[rng.normal(size=4), 0.5] * row
    coef = np.full((1, 9), size) * np.array([1.0, -1, 1, 1, 1, -1, 1, 1, 1])
    kernel = Kernel(kind, gamma, 0.0 if kind == "rbf" or gamma > 1 else 2.5, 3)
    engine = DecisionEngine(kernel, Rows.from_dense(sv), coef, np.array([rho]), np.array([5, 4]))
    values, bounds = engine.double_values(Rows.from_dense(z[None]))
    x, norm = np.sqrt((sv**2).sum(axis=1)).max() + 1e-150, np.sqrt((z**2).sum()) + 1e-150
    terms, slight = 4 + 5 + 10, 1e-280 * (1 + gamma + x + norm)
    argument = (x * norm if kind == "linear" else gamma * x * norm + kernel.coef0) + slight
    with np.errstate(over="ignore", invalid="ignore"):
        largest, of_kernel = {
            "rbf": (1.0, gamma * (x + norm) ** 2 + slight),
            "linear": (argument, argument),
            "polynomial": (np.float64(argument) ** 3, 3 * np.float64(argument) ** 3),
            "sigmoid": (1.0, argument),
        }[kind]
        of_kernel = 2 * UNIT * terms * of_kernel + 1e-300
        allowed = (of_kernel + 2 * UNIT * (9 + 30) * largest) * np.float64(9 * size)
    allowed += 2 * UNIT * (terms if kind == "linear" else 2) * rho + 1e-300 * (1 + norm)
    if not abs(values[0, 0]) > allowed or (kind == "rbf" and of_kernel >= 1e-9):
        allowed = 0.0  # summed in LIBSVM's order
    np.testing.assert_allclose(bounds, [[allowed]], rtol=1e-9)


@pytest.mark.parametrize("kind", ["linear", "polynomial", "sigmoid", "rbf", "laplacian"])
@given(
    seed=st.integers(0, 2**31), d=st.integers(1, 12), gamma=st.floats(1e-12, 1e6), scale=st.floats(1e-6, 1e3),
    coef0=st.floats(-2, 2), degree=st.integers(1, 5),
)  # fmt: skip
def test_kernels(kind, seed, d, gamma, scale, coef0, degree):
    """Each value is within the rounding error of its formula: some units per term, times the derivative."""
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=(4, d)) * scale, rng.normal(size=(5, d)) * scale
    x[rng.uniform(size=x.shape) < 0.3] = 0
    z[0] = x[0]
    kernel = Kernel(kind, gamma, coef0, degree if kind == "polynomial" else 0)
    engine = DecisionEngine(kernel, Rows.from_dense(x), np.eye(4), np.zeros(4), None)
    exact = [kernel_values(kernel, x, row) for row in z]
    for values in (kernel.matrix(x, z), engine.decision_values(Rows.from_dense(z)).T):
        for i, j in np.ndindex(4, 5):
            off = abs(mpf(float(values[i, j])) - exact[j][i])
            assert off <= allowed(kernel, x[i], z[j], exact[j][i]) + mpf(10) ** -290  # underflow is no error


def allowed(kernel, x, z, value):
    d, gamma, terms = len(x), mpf(kernel.gamma), mpf(float(np.abs(x) @ np.abs(z))) * (1 + 1e-10)
    if kernel.kind == "linear":
        return (2 * d + 8) * UNIT * terms
    argument = gamma * terms + abs(mpf(kernel.coef0))
    of_argument = (2 * d + 12) * UNIT * argument
    if kernel.kind == "polynomial":
        return 2 * kernel.degree * (of_argument + 4 * UNIT * argument) * argument ** (kernel.degree - 1)
    if kernel.kind == "sigmoid":
        return of_argument + 16 * UNIT * abs(value) + 16 * UNIT
    # From norms and a product, or from differences: never worse than the former.
    size = mpf(float(x @ x + z @ z)) if kernel.kind == "rbf" else mpf(float(np.abs(x - z).sum()))
    return 16 * UNIT * value + mpmath.expm1((8 * d + 32) * UNIT * gamma * size) * value
