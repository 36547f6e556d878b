"""Sums in LIBSVM's order have svm-predict's bits, and rows on the boundary its labels; bounds of rounding."""

import math
from dataclasses import replace

import libsvm_twin
import mpmath
import numpy as np
import pytest
from command import ran, svmfast
from fifty_digits import kernel_values, mpf
from hypothesis import given, settings
from hypothesis import strategies as st
from program import FIXTURES, data
from single_problems import Problem

import svmfast as package
from svmfast.certificate import proven_signs
from svmfast.formats.model_files import save_model
from svmfast.kernels import DecisionEngine, Kernel
from svmfast.models.answer import answer
from svmfast.models.certified import certified_rows, first_proven, label_margins
from svmfast.models.expansion import KernelExpansion
from svmfast.models.head import Head
from svmfast.models.requirements import Columns
from svmfast.rows import Rows


def squares(top, n):
    return np.sqrt(np.random.default_rng(n).uniform(0, top, n))


ENDS = [0.0, 1e-200, 26.457513110645905, 26.5, 27.2, 27.3, 1e10, 1e200]
RANGES = ((1e-15, 20_000), (1e-3, 100_000), (1.0, 300_000), (40.0, 200_000), (800.0, 100_000))


@pytest.mark.parametrize(
    ("z", "gamma"),
    # Negative gamma: exponents above 0, up to overflow.
    [(np.concatenate([ENDS, *(squares(*one) for one in RANGES)]), 1.0), (squares(720.0, 20_000), -1.0)],
)
def test_bits_are_those_of_libm(z, gamma):
    """Kernel values of a vector without entries, in LIBSVM's order, are exp(-gamma z^2)."""
    empty = Rows.from_dense([[0.0]])
    engine = DecisionEngine(Kernel("rbf", gamma), empty, np.ones((1, 1)), np.zeros(1), None)
    rows = Rows(np.arange(len(z) + 1), np.zeros(len(z), np.int32), z, 1)
    found = engine.decision_values(rows, libsvm_order=True)[:, 0]
    with np.errstate(over="ignore"):
        x = -gamma * (z * z)
    inside = x < 709.7
    assert found[inside].tolist() == [math.exp(one) for one in x[inside].tolist()]


def test_libm_rounds_as_assumed():
    """Its error is below 0.511 units in the last place, as docs/certificate.md says."""
    drawn = np.random.default_rng(1).uniform(-30, 0, 20_000).tolist()
    units = (abs(mpf(math.exp(x)) - mpmath.exp(mpf(x))) / mpf(math.ulp(math.exp(x))) for x in drawn)
    assert max(units) < 0.511


HEAD = Head("c_svc", np.array([1, -1]))


def crowded(n, vectors=2):
    """A model with one feature, and a row with `n` more whose squares are lost when they are added to 1."""
    t, rest = float(np.sqrt(0.45 * 2.0**-52)), vectors - 1
    sv, coef = Rows.from_dense(np.ones((vectors, 1))), np.array([[1.0, *[-1e-30] * rest]])
    rho, sizes = np.array([1 - n * t * t / 2]), np.array([1, rest])
    model = KernelExpansion(HEAD, Kernel("rbf", 1.0), sv, coef, rho, sizes)
    values = np.array([1.0] + [t] * n)
    return model, Rows(np.array([0, n + 1]), np.arange(n + 1, dtype=np.int32), values, n + 1)


def libsvm_labels(path, rows):
    return libsvm_twin.libsvms(path, libsvm_twin.vectors(rows), HEAD)[:, 0].tolist()


@pytest.mark.parametrize("n", [1000, 20000])
def test_entries_that_the_model_lacks_count(n, tmp_path):
    """Also for rounding, since the row's norm includes them. Alone, and as the fallback of a fast model."""
    model, row = crowded(n)
    exact, fast, data = (tmp_path / name for name in ("exact.model", "fast.model", "data"))
    save_model(model, exact)
    data.write_text(libsvm_twin.lines(row))
    wanted = libsvm_labels(exact, row)
    assert wanted == [-1.0] == model.head.predict(libsvm_twin.decision_values(model, row)).tolist()
    ran("approximate", "-q", exact, "-o", fast)
    for command in ([data, exact], [data, fast, "-", "--exact", exact]):
        assert svmfast("predict", "-q", *command).stdout == b"-1\n"


def test_the_vote_beside_probabilities_is_svm_predicts(tmp_path):
    """Rounding decides the sign of the value, though not the printed digits of the probabilities."""
    model, row = crowded(1000, 20)
    many = replace(model, head=replace(HEAD, prob_a=np.array([-1.0]), prob_b=np.array([0.3])))
    save_model(many, tmp_path / "model")
    assert libsvm_labels(tmp_path / "model", row) == [-1.0]
    assert answer(many, row, columns=Columns(probability=True)).voted.tolist() == [-1.0]


def random_model(rng, kind, d, scale, other, size):
    """Two classes; kernel arguments of about 1 if gamma allows, coefficients of `size`."""
    product = max(scale * (scale if kind == "rbf" else other), 1e-300)
    gamma = float(np.clip(rng.uniform(0.1, 2) / d / product, 1e-300, 1e300))
    coef0, degree = rng.choice([0.0, 1.0, 0.5]), int(rng.integers(1, 6))
    powers = {"polynomial": (gamma, coef0, degree), "sigmoid": (gamma, coef0), "rbf": (gamma,), "linear": ()}
    x = rng.normal(size=(6, d)) * scale * (rng.uniform(size=(6, d)) >= 0.3)
    vectors, coef = Rows.from_dense(x), rng.normal(size=(1, 6)) * size
    return KernelExpansion(HEAD, Kernel(kind, *powers[kind]), vectors, coef, np.zeros(1), np.array([3, 3]))


@pytest.mark.parametrize("kind", ["linear", "polynomial", "rbf", "sigmoid"])
@settings(max_examples=4 * settings.default.max_examples)
@given(
    seed=st.integers(0, 2**31), d=st.integers(1, 9), vectors=st.integers(-200, 150),
    row=st.integers(-200, 150), size=st.integers(-320, 250), ordinary=st.booleans(),
)  # fmt: skip
def test_rows_on_the_boundary(kind, seed, d, vectors, row, size, ordinary):
    """rho is LIBSVM's own sum or its neighbour: the label depends on the last bit, even with underflow."""
    rng = np.random.default_rng(seed)
    scale, other = (1.0, 1.0) if ordinary else (10.0**vectors, 10.0**row)
    model = random_model(rng, kind, d, scale, other, 10.0 ** (0 if ordinary else size))
    z = rng.normal(size=(3, d + 2)) * (scale if kind == "rbf" else other)
    z[:, d:] *= rng.uniform(size=(3, 2)) < 0.5
    rows = Rows.from_dense(z)
    with np.errstate(all="ignore"):
        sums = libsvm_twin.decision_values(model, rows)[:, 0]
        for i in np.flatnonzero(np.isfinite(sums)).tolist():
            one = rows[i : i + 1]
            for rho in (sums[i], np.nextafter(sums[i], -np.inf), np.nextafter(sums[i], np.inf)):
                at = replace(model, rho=np.array([rho]))
                assert answer(at, one).predicted == at.head.predict(libsvm_twin.decision_values(at, one))


INF, NAN = np.inf, np.nan
HEADS = {
    **{"two classes": Head("c_svc", np.array([1, -1])), "vote": Head("c_svc", np.arange(3))},
    **{"one class": Head("one_class"), "regression": Head("epsilon_svr")},
    "one against the rest": Head("c_svc", np.arange(3), one_vs_rest=True),
}


@pytest.mark.parametrize(("value", "bound"), [(INF, 1e-9), (-INF, 1e-9), (NAN, 1e-9), (9.0, INF), (9.0, NAN)])
@pytest.mark.parametrize("name", HEADS)
def test_a_value_or_bound_that_is_not_finite_certifies_nothing(name, value, bound):
    head = HEADS[name]
    values, bounds = np.array([9.0, 8.0, 7.0])[None, : head.n_functions], np.full((1, head.n_functions), 1e-9)
    tolerance = 1.0 if head.is_regression else None
    assert certified_rows(head, values, bounds, tolerance=tolerance).all()
    values[0, 0], bounds[0, 0] = value, bound
    assert not certified_rows(head, values, bounds, tolerance=tolerance).any()
    assert not proven_signs(values, bounds)[0, 0]
    if not (head.is_regression or np.isfinite(value)):
        assert label_margins(head, values).tolist() == [0.0]
    signs = proven_signs(np.array([-0.5, 0.5, 0.0]), np.array([0.4, 0.5, 0.0]))
    assert signs.tolist() == [True, False, False]


@pytest.mark.parametrize("seed", range(25))
def test_every_tier_of_one_hot_rows(seed):
    """Compare with 50 digits and with LIBSVM's order: coefficients of 1e-300 to 1e300, exponents to 2000."""
    rng = np.random.default_rng(seed)
    k, d, n = int(rng.integers(1, 40)), 60, 12
    sv = np.array([rng.permutation(d) < k for _ in range(n)], dtype=float) * rng.choice([1.0, -0.5, 1e-8])
    value = sv.max() or sv.min()
    test = np.vstack([sv[:3], np.where(rng.random((5, d)) < k / d, value, 0.0)])
    test = np.hstack([test, value * (rng.random((len(test), 2)) < 0.5)])  # columns the model lacks
    kernel = Kernel("rbf", rng.choice([0.1, 10.0, 150.0, 290.0, 310.0, 2000.0]) / k / value**2)
    coef = 10.0 ** rng.integers(-300, 299) * rng.choice([1.0, 1e-8, 1e-150], n) * rng.normal(size=n)
    if rng.random() < 0.5:
        coef = np.abs(coef) * np.where(np.arange(n) < 6, 1, -1)
    exact = [kernel_values(kernel, np.hstack([sv, np.zeros((n, 2))]), z) for z in test]
    sums = [mpmath.fsum(mpf(float(c)) * one for c, one in zip(coef, row, strict=True)) for row in exact]
    for rho in (0.0, float(sums[0]), float(sums[1]) * (1 + 1e-14), float(sums[4]) * (1 - 1e-3)):
        vectors, rows = Rows.from_dense(sv), Rows.from_dense(test)
        engine = DecisionEngine(kernel, vectors, coef[None], np.array([rho]), np.array([6, 6]))
        theirs = engine.decision_values(rows, libsvm_order=True)[:, 0]
        assert engine.labels(rows)[0].tolist() == np.where(theirs > 0, 0, 1).tolist()
        values, bounds = (found[:, 0] for found in engine.double_values(rows))
        for value, bound, their, true in zip(values, bounds, theirs, sums, strict=True):
            assert abs(value - their) <= bound
            assert not bound or abs(mpf(float(value)) - (true - mpf(rho))) <= mpf(float(bound))


@pytest.mark.parametrize("size", [0.0, 9e-151, 1e-150, 1e150, 1.1e150])
def test_one_hot_columns_are_counted_where_no_product_leaves_the_range(size):
    sv, coef = Rows.from_dense(np.eye(3)), np.array([[1.0, -1.0, -size]])
    engine = DecisionEngine(Kernel("rbf", 1.0), sv, coef, np.zeros(1), np.array([1, 2]))
    assert engine.one_hot == (size in (0.0, 1e-150, 1e150))


def test_every_tier_where_sums_overflow():
    """LIBSVM's order stays in range, where lanes that sum every eighth vector do not."""
    coef = np.zeros((1, 32))
    coef[0, [0, 1, 16]] = 1.5e300, -1.5e300, 1.5e300
    kernel, sv, rows = Kernel("polynomial", 1.0, degree=2), np.full((32, 1), 100.0), Rows.from_dense([[100]])
    engine = DecisionEngine(kernel, Rows.from_dense(sv), coef, np.array([1.7e308]), np.array([17, 15]))
    assert engine.decision_values(rows, libsvm_order=True) == pytest.approx(-2e307)
    assert engine.labels(rows)[0].tolist() == [1]
    assert engine.double_values(rows)[1].tolist() == [[0.0]]


@pytest.mark.parametrize("scale", [1.0, 1e-30, 1e-48, 1e-70])
def test_every_tier_of_equal_vectors(scale):
    """Differences from the center are 0, and the scale of single precision's rows was infinite."""
    coef = np.array([[1.0, 1.0, -2.0, -3.0], [1.0, 1.0, 1.0, -2.0]])
    sizes, vectors = np.array([2, 1, 1]), Rows.from_dense(np.full((4, 1), scale))
    engine = DecisionEngine(Kernel("rbf", scale**-2), vectors, coef, np.full(3, 0.01), sizes)
    rows = Rows.from_dense(scale * np.array([[2.0], [1.5], [1.0]]))
    values, bounds = engine.single_values(rows)
    theirs = engine.decision_values(rows, libsvm_order=True)
    assert (proven_signs(values, bounds) <= (np.abs(values - theirs) <= bounds)).all()


def rounded_values(model, rows, tolerance=None, start=0):
    return first_proven(model.head, rows, model.attempts(tolerance, threads=1)[start:], tolerance)


@pytest.mark.parametrize("start", [0, -1])  # single precision first, double precision alone
@pytest.mark.parametrize("classes", [1, 2, 4])
@pytest.mark.parametrize("gamma", [0.002, 0.2, 20.0])
@pytest.mark.parametrize("tolerance", [None, 1e-9])
def test_values_are_within_their_bounds_in_fifty_digits(gamma, classes, start, tolerance):
    problem = Problem(classes, 60, 9, classes, gamma, 1.0, 1.0, False)
    rows = Rows.from_dense(problem.test)
    made = problem.expansion()
    found = rounded_values(made, rows, tolerance, start)
    libsvm = made.libsvm_values(rows)
    for z, value, bound, own in zip(problem.test, found.values, found.bounds, libsvm, strict=True):
        for true, v, b, o in zip(problem.exactly(z), value, bound, own, strict=True):
            assert abs(v - o) <= b <= (np.inf if tolerance is None else tolerance)
            # 50 digits are LIBSVM's value but for LIBSVM's own rounding, which the bounds contain.
            assert b == 0 or abs(mpf(float(v)) - true) <= mpf(float(b))
    assert made.head.predict(found.values).tolist() == made.head.predict(libsvm).tolist()


def rows_file(path):
    return data("tie_votes.test" if path.stem.startswith("tie_votes") else f"{path.stem.split('_')[0]}.test")


MODELS = [path for path in sorted((FIXTURES / "models").glob("*.model")) if "precomputed" not in path.stem]
REGRESSION = [path for path in MODELS if path.stem.startswith("diabetes_")]
CLASSIFIERS = [path for path in MODELS if path not in REGRESSION and rows_file(path).exists()]


@pytest.mark.parametrize("path", CLASSIFIERS, ids=lambda p: p.stem)
def test_every_label_is_svm_predicts(path):
    made = package.load_model(path)
    rows = package.read_svmlight(rows_file(path)).rows
    golden = np.loadtxt(FIXTURES / "golden" / f"{path.stem}.out")
    for threads in (1, 3):
        found = package.predict(made, rows, certify=True, threads=threads)
        assert found.predicted.tolist() == golden.tolist()
        assert found.certified.all()
        assert not found.error_bounds.any()
        assert found.decisions.tobytes() == made.libsvm_values(rows).tobytes()


@pytest.mark.parametrize("tolerance", [0.0, 1e-13, 1e-4])
@pytest.mark.parametrize("path", REGRESSION, ids=lambda p: p.stem)
def test_regression_is_within_its_tolerance_of_svm_predict(path, tolerance):
    rows = package.read_svmlight(data("diabetes.test")).rows
    golden = np.loadtxt(FIXTURES / "golden" / f"{path.stem}.out")
    answers = package.predict(path, rows, tolerance=tolerance)
    assert answers.certified is None
    assert (np.abs(answers.predicted - golden) <= answers.error_bounds + 1e-16 * np.abs(golden)).all()
    assert (answers.error_bounds <= tolerance).all()
    assert answers.decisions[:, 0].tobytes() == answers.predicted.tobytes()
    if tolerance == 0:
        assert answers.predicted.tobytes() == package.predict(path, rows).predicted.tobytes()
    assert package.predict(path, rows, tolerance=tolerance, certify=True).certified.all()


def test_single_precision_is_not_tried_where_it_does_not_meet_the_tolerance(monkeypatch):
    """It would be done for nothing. Whether it is depends on the model alone, not on the other rows."""
    problem = Problem(1, 150, 9, 1, 0.1, 1.0, 1.0, True)
    made, rows, asked = problem.expansion(), Rows.from_dense(problem.test), []
    sample = made.sv.take(np.arange(0, 150, 3))
    limit = float(np.sort(made._single(sample)[1][:, 0])[len(sample) // 4])
    for name in ("_single", "_double"):
        original = getattr(KernelExpansion, name)
        count = lambda *args, name=name, original=original, **kw: asked.append(name) or original(*args, **kw)  # noqa: E731
        monkeypatch.setattr(KernelExpansion, name, count)
    rounded_values(replace(made), rows, limit * 0.999)
    assert asked == ["_single", "_double"]  # the sample, then double precision
    above = replace(made)
    tight = rounded_values(above, rows, limit * 1.001)
    assert asked[2:4] == ["_single", "_single"]
    alone = [rounded_values(above, rows[i : i + 1], limit * 1.001).values for i in range(len(rows))]
    assert np.vstack(alone).tobytes() == tight.values.tobytes()
