"""Labels from single precision: the bound against 50 digits, the labels against LIBSVM's own order."""

from __future__ import annotations

import itertools
from pathlib import Path

import mpmath
import numpy as np
import pytest
from fifty_digits import kernel_values, mpf
from hypothesis import given, settings
from hypothesis import strategies as st
from instruction_sets import ISAS, printed_on
from single_problems import Problem

import svmfast
from svmfast.errors import UnsupportedError
from svmfast.kernels import DecisionEngine, Kernel
from svmfast.rows import FloatArray, Rows

FIXTURES = Path(__file__).parents[2] / "fixtures"


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 2**31),
    n=st.integers(4, 70),
    d=st.integers(1, 20),
    classes=st.integers(1, 4),
    gamma=st.floats(-4, 2).map(lambda e: 10**e),
    scale=st.floats(-3, 3).map(lambda e: 10**e),
    density=st.sampled_from([1.0, 0.3]),
    mixed=st.booleans(),
)
def test_bound_holds_in_fifty_digits(
    seed: int, n: int, d: int, classes: int, gamma: float, scale: float, density: float, mixed: bool
) -> None:
    problem = Problem(seed, n, d, classes, gamma / scale**2, scale, density, mixed)
    values, bounds = problem.engine.single_values(Rows.from_dense(problem.test))
    for z, value, bound in zip(problem.test, values, bounds, strict=True):
        for true, v, b in zip(problem.exactly(z), value, bound, strict=True):
            assert abs(mpf(float(v)) - true) <= mpf(float(b))


@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("classes", [1, 2, 3, 5])
@pytest.mark.parametrize("gamma", [0.003, 0.3, 30.0])
@pytest.mark.parametrize("density", [1.0, 0.15])
def test_labels_are_the_vote_in_libsvms_order(
    classes: int, gamma: float, density: float, mixed: bool
) -> None:
    problem = Problem(classes, 400, 24, classes, gamma / 24, 1.0, density, mixed)
    rng = np.random.default_rng(3)
    rows = Rows.from_dense(problem.sv[rng.integers(0, 400, 300)] + rng.normal(0, 0.3, (300, 24)))
    winner, counts = problem.engine.labels(rows, threads=2)
    decisions = problem.engine.decision_values(rows, libsvm_order=True)
    votes = np.zeros((300, max(classes, 2)), dtype=int)
    for p, (i, j) in enumerate(problem.pairs):
        votes[np.arange(300), np.where(decisions[:, p] > 0, i, j if j >= 0 else 1)] += 1
    assert winner.tolist() == votes.argmax(axis=1).tolist()
    assert counts.single > 250  # or single precision proves nothing, and this test nothing of it
    double, none, _ = problem.engine._sums.labels(rows, single_first=False, threads=1)
    assert double.tolist() == winner.tolist()
    assert none == 0


@pytest.mark.parametrize("offset", [0.0, 1e-17, -1e-17, 3e-16, -3e-16, 1e-9, -1e-9, 0.01, -0.01])
def test_rows_on_the_boundary(offset: float) -> None:
    """rho is the row's own value in LIBSVM's order, or next to it: its label hangs on the last bit."""
    problem = Problem(5, 300, 12, 2, 0.1, 1.0, 1.0, False)
    row = Rows.from_dense(problem.test[:1])
    at = problem.engine.decision_values(row, libsvm_order=True)[0] + problem.rho
    sizes = np.bincount(problem.owner).astype(np.int64)
    engine = DecisionEngine(
        problem.kernel, Rows.from_dense(problem.sv), problem.coef, at * (1 + offset), sizes
    )
    expected = engine.decision_values(row, libsvm_order=True)[0, 0] > 0
    winner, counts = engine.labels(row)
    assert winner[0] == (0 if expected else 1)
    assert counts.libsvm_order == (abs(offset) < 1e-12)
    assert counts.single == (abs(offset) > 1e-3)


def test_one_open_pair_of_three_classes() -> None:
    """Single precision answers if the pair on the boundary cannot change the winner, ties included."""
    problem = Problem(5, 300, 12, 3, 0.1, 1.0, 1.0, False)
    row = Rows.from_dense(problem.test[:1])
    at = problem.engine.decision_values(row, libsvm_order=True)[0] + problem.rho
    sizes = np.bincount(problem.owner).astype(np.int64)
    for boundary, signs in itertools.product(range(3), itertools.product((-1, 1), repeat=3)):
        rho = at - np.abs(at).max() * np.array(signs)
        rho[boundary] = np.nextafter(at[boundary], -signs[boundary] * np.inf)
        engine = DecisionEngine(problem.kernel, Rows.from_dense(problem.sv), problem.coef, rho, sizes)
        won = engine.decision_values(row, libsvm_order=True)[0] > 0
        assert won.tolist() == [sign > 0 for sign in signs]
        outcomes = []
        for open_pair in (won[boundary], not won[boundary]):
            won[boundary] = open_pair
            votes = np.bincount(np.where(won, [0, 0, 1], [1, 2, 2]), minlength=3)
            outcomes.append(votes.argmax())
        winner, counts = engine.labels(row)
        assert winner[0] == outcomes[0]
        assert counts.single == (outcomes[0] == outcomes[1])


def test_large_coefficients_and_small_gamma_are_proven_by_the_polynomial_in_front() -> None:
    """Kernel values near 1 cancel: without the polynomial the bound is about 1e-6 of sum |coef|."""
    rng = np.random.default_rng(8)
    sv = rng.normal(0, 0.3, (900, 10)) + 5.0
    coef = rng.exponential(300.0, 900)
    coef[450:] *= -coef[:450].sum() / coef[450:].sum()
    engine = DecisionEngine(
        Kernel("rbf", gamma=0.02), Rows.from_dense(sv), coef[None], np.zeros(1), np.array([450, 450])
    )
    rows = Rows.from_dense(rng.normal(0, 0.3, (50, 10)) + 5.0)
    _, bounds = engine.single_values(rows)
    assert np.median(bounds) < 1e-8 * np.abs(coef).sum()
    assert engine.labels(rows)[1].single >= 48


@pytest.mark.parametrize(
    "row", [[1e300, 0.0], [1e38, -1e38], [1e10, 1e10], [5e-324, 1e-310], [1e-46, 0.0], [-1.7e308, 1.7e308]]
)
@pytest.mark.parametrize("gamma", [1e-30, 1.0, 1e30])
def test_numbers_out_of_range_go_to_double_precision(row: list[float], gamma: float) -> None:
    for scale in (1e-25, 1.0, 1e25):
        sv = Rows.from_dense(np.array([[0.3, 1.0], [1.1, -0.4], [0.2, 0.7]]) * scale)
        engine = DecisionEngine(
            Kernel("rbf", gamma=gamma), sv, np.array([[1.0, 0.5, -0.75]]), np.array([0.1]), np.array([2, 1])
        )
        rows = Rows.from_dense([row])
        expected = engine.decision_values(rows, libsvm_order=True)[0, 0] > 0
        assert engine.labels(rows)[0][0] == (0 if expected else 1)


@pytest.mark.parametrize("path", sorted((FIXTURES / "models").glob("*.model")), ids=lambda p: p.stem)
def test_fixtures_get_the_same_labels(path: Path) -> None:
    model = svmfast.load_model(path)
    data = FIXTURES / "data" / f"{path.stem.split('_')[0]}.test"
    if model.kernel.kind == "precomputed" or not data.exists():
        pytest.skip("nothing to predict")
    rows = svmfast.read_svmlight(data).rows
    if model.head.is_regression:
        with pytest.raises(UnsupportedError, match="a regression model has no labels"):
            model.labels(rows)
        return
    expected = model.head.predict(model.decision_values(rows))
    assert model.labels(rows).tolist() == expected.tolist()
    answers = svmfast.predict(model, rows)
    assert answers.predicted.tolist() == expected.tolist()
    assert answers.decisions.tobytes() == model.decision_values(rows).tobytes()


def test_threads_blocks_and_copies_change_nothing() -> None:
    problem = Problem(11, 500, 15, 4, 0.2, 1.0, 1.0, False)
    rng = np.random.default_rng(1)
    rows = Rows.from_dense(rng.normal(0, 1.5, (700, 15)) + problem.sv.mean(axis=0))
    whole = problem.engine.labels(rows)[0]
    values, bounds = problem.engine.single_values(rows)
    for threads in (2, 5):
        assert problem.engine.labels(rows, threads=threads)[0].tobytes() == whole.tobytes()
    for i in (0, 1, 13, 699):
        assert problem.engine.labels(rows[i : i + 1])[0][0] == whole[i]
        one, reach = problem.engine.single_values(rows[i : i + 1])
        assert (one.tobytes(), reach.tobytes()) == (values[i : i + 1].tobytes(), bounds[i : i + 1].tobytes())


# One-hot data: counts of shared features, and a table of kernel values.


def one_hot_problem(
    value: float, most: int, classes: int, gamma: float
) -> tuple[DecisionEngine, Rows, FloatArray]:
    rng = np.random.default_rng(most)
    d, n = 2 * most + 5, 230
    sv = np.where(rng.permuted(np.tile(np.arange(d) < most, (n, 1)), axis=1), value, 0.0)
    sv[3] = 0.0
    test = np.where(rng.random((120, d + 3)) < most / d, value, 0.0)
    test[0] = 0.0
    test[5, 2] = 1.5 * value  # another value: this row cannot be counted
    sizes = np.array([100, 90, 40][:classes]) if classes == 3 else np.array([130, 100])
    coef = rng.normal(0, 5, (classes - 1, n))
    rho = rng.normal(0, 1, classes * (classes - 1) // 2)
    engine = DecisionEngine(Kernel("rbf", gamma=gamma), Rows.from_dense(sv), coef, rho, sizes)
    kernel = np.exp(
        -gamma * ((test[:, None, :d] - sv[None]) ** 2).sum(axis=2)
        - gamma * (test[:, d:] ** 2).sum(1)[:, None]
    )
    ends = np.concatenate([[0], np.cumsum(sizes)])
    columns = []
    for i in range(classes):
        for j in range(i + 1, classes):
            a, b = slice(ends[i], ends[i + 1]), slice(ends[j], ends[j + 1])
            columns.append(kernel[:, a] @ coef[j - 1, a] + kernel[:, b] @ coef[i, b] - rho[len(columns)])
    return engine, Rows.from_dense(test), np.column_stack(columns)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    ("most", "value"), [(9, 1.0), (15, -0.5), (16, 1.0), (31, 2.0), (40, 1.0), (255, 0.25)]
)
def test_one_hot_values(most: int, value: float, classes: int) -> None:
    """Tables of 16 and 32 numbers and larger ones; rows with another value, and with unknown features."""
    engine, rows, expected = one_hot_problem(value, most, classes, 2.0 / (most * value**2))
    np.testing.assert_allclose(engine.decision_values(rows), expected, rtol=0, atol=1e-11)
    for size in (1, 50):
        assert engine.decision_values(rows[:size]).tobytes() == engine.decision_values(rows)[:size].tobytes()


def test_one_hot_rows_of_any_length_together() -> None:
    """Each row reads the smallest table that holds what it can share; the values do not tell which."""
    rng = np.random.default_rng(6)
    d, n = 120, 150
    sv = (rng.random((n, d)) < rng.random((n, 1))).astype(float)
    lengths = np.r_[0, 1, 14, 15, 16, 17, 30, 31, 32, 33, 60, 120, rng.integers(0, 121, 60)]
    test = np.array([rng.permutation(d) < length for length in lengths], dtype=float)
    coef, rho = rng.normal(0, 5, (1, n)), np.array([0.3])
    engine = DecisionEngine(Kernel("rbf", gamma=0.02), Rows.from_dense(sv), coef, rho, np.array([70, n - 70]))
    assert engine.one_hot
    rows = Rows.from_dense(test)
    kernel = np.exp(-0.02 * ((test[:, None] - sv[None]) ** 2).sum(axis=2))
    np.testing.assert_allclose(engine.decision_values(rows), kernel @ coef.T - rho, rtol=0, atol=1e-11)
    together = engine.decision_values(rows)
    for row, value in zip(test, together, strict=True):
        assert engine.decision_values(Rows.from_dense([row])).tobytes() == value.tobytes()


@pytest.mark.parametrize("gamma", [1e-12, 5.0, 31.0, 400.0])
def test_one_hot_factors_stay_in_range(gamma: float) -> None:
    """exp(gamma ||x||^2) would overflow: such models and rows take the general path."""
    engine, rows, expected = one_hot_problem(1.0, 10, 2, gamma)
    np.testing.assert_allclose(engine.decision_values(rows), expected, rtol=0, atol=1e-11)


SAMPLE = """
import numpy as np
from svmfast import _core
from test_single_precision import Problem, one_hot_problem
from svmfast.rows import Rows
import mpmath
cases = (1, 1, 1.0, 0.1), (2, 2, 0.3, 0.5), (3, 3, 1.0, 0.02), (4, 2, 1.0, 0.001)
for seed, classes, density, gamma in cases:
    p = Problem(seed, 60, 11, classes, gamma, 1.0, density, seed == 2)
    values, bounds = p.engine.single_values(Rows.from_dense(p.test))
    assert np.isfinite(bounds).mean() > 0.5
    for z, value, bound in zip(p.test, values, bounds):
        for true, v, b in zip(p.exactly(z), value, bound):
            assert abs(mpmath.mpf(float(v)) - true) <= mpmath.mpf(float(b))
    rows = Rows.from_dense(p.test)
    fast = p.engine.labels(rows)[0]
    slow = p.engine._sums.labels(rows, single_first=False, threads=1)[0]
    assert (fast == slow).all()
for most in (12, 20, 60):
    engine, rows, expected = one_hot_problem(1.0, most, 3, 1 / most)
    np.testing.assert_allclose(engine.decision_values(rows), expected, rtol=0, atol=1e-11)
print(_core.isa())
"""


@pytest.mark.parametrize("isa", ISAS)
def test_every_instruction_set(isa: str) -> None:
    assert printed_on(isa, SAMPLE) == []  # the sample's own checks held


def proves(sv: Rows, coef: float = 1.0, gamma: float = 1.0) -> bool:
    """Whether single precision proves the values of the support vectors."""
    engine = DecisionEngine(Kernel("rbf", gamma=gamma), sv, np.full((1, len(sv)), coef), np.zeros(1), None)
    return bool(np.isfinite(engine.single_values(sv)[1]).all())


def test_the_range_of_the_proof() -> None:
    """The bound presumes coefficients and features whose products are far from both ends of doubles."""
    sv = np.array([[0.25, 1.0], [1.25, -0.5], [0.5, 0.75]])
    for inside, outside in ((2e-200, 5e-201), (5e199, 2e200)):
        assert proves(Rows.from_dense(sv), coef=inside)
        assert not proves(Rows.from_dense(sv), coef=outside)
    for inside, outside, gamma in ((2.0**-331, 2.0**-334, 1.0), (2.0**331, 2.0**334, 2.0**-700)):
        assert proves(Rows.from_dense(sv * inside), gamma=gamma)
        assert not proves(Rows.from_dense(sv * outside), gamma=gamma)
    # Whatever the features are, gamma log2(e) stays below 1e150.
    small = Rows.from_dense(sv * 2.0**-300)
    assert proves(small, gamma=0.5e150)
    assert not proves(small, gamma=1e150)


@pytest.mark.parametrize("gamma", [1e-120, 1e-99, 1.0, 1e99, 1e140])
@pytest.mark.parametrize("size", [2e-199, 1.0, 5e198])
def test_the_polynomial_in_front_does_not_leave_the_range(gamma: float, size: float) -> None:
    """Its coefficients, a gamma x and a (gamma x)^2, for the vectors and rows for which they are largest."""
    x = np.array([[0.5], [-0.5], [0.25], [-0.25]]) / np.sqrt(gamma)
    coef, kernel = np.array([[1.0, -0.75, 0.5, 0.3]]) * size, Kernel("rbf", gamma=gamma)
    engine = DecisionEngine(kernel, Rows.from_dense(x), coef, np.zeros(1), None)
    rows = np.array([[0.01], [0.9]]) / np.sqrt(gamma)
    values, bounds = engine.single_values(Rows.from_dense(rows))
    assert np.isfinite(bounds).all()
    for z, value, bound in zip(rows, values[:, 0], bounds[:, 0], strict=True):
        true = mpmath.fsum(mpf(c) * k for c, k in zip(coef[0], kernel_values(kernel, x, z), strict=True))
        assert abs(mpf(value) - true) <= mpf(bound)
    assert (bounds[0] < 1e-10 * size) == (1e-100 < gamma < 1e100)


def test_the_most_features_of_the_proof() -> None:
    for d, proven in ((50_000, True), (50_001, False)):
        assert proves(Rows.from_dense(np.full((2, d), 1e-3))) == proven
