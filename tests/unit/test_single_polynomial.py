"""Certified polynomials in single precision: bounds against 50 digits, labels as in double precision."""

from dataclasses import replace

import numpy as np
import pytest
from approximations import approximate
from cell_models import exact_model, in_cells
from fifty_digits import mpf
from hypothesis import given
from hypothesis import strategies as st
from random_models import exact_sums, random_model

from svmfast.models.answer import answer
from svmfast.models.certified import certified_rows, first_proven
from svmfast.models.requirements import Columns
from svmfast.rows import Rows


def largest_share(model, z):
    """Return the largest error of single precision over what its bounds allow beyond double precision's."""
    rows = Rows.from_dense(z)
    (values, bounds), (double, narrower) = (model.certified_values(rows, single=one) for one in (True, False))
    # Less what doubles leave of the values, of rho, and of the difference of the bounds.
    error = np.abs(values - double) - 1e-15 * (bounds + np.abs(double) + np.abs(model.rho))
    worse = np.isfinite(bounds) & (error > 0)
    with np.errstate(divide="ignore"):
        return float((error[worse] / (bounds[worse] - narrower[worse])).max(initial=0))


def assert_labels_agree(model, rows):
    """Compare with double precision; return the share of rows that single precision proves."""
    values, bounds = model.certified_values(rows)
    certified, label = certified_rows(model.head, values, bounds), model.head.predict(values)
    found, quick = first_proven(model.head, rows, model.attempts(None, threads=2)), {"single": True}
    single = certified_rows(model.head, *model.certified_values(rows, **quick))
    assert found.certified.tolist() == certified.tolist()
    assert model.head.predict(found.values)[certified].tolist() == label[certified].tolist()
    assert (found.bounds[single] >= bounds[single]).all()
    assert np.array_equal(found.values[~single], values[~single])
    # Threads and neighbours change nothing.
    once = np.array(model.certified_values(rows, **quick))
    assert np.array(model.certified_values(rows, threads=3, **quick)).tobytes() == once.tobytes()
    for i in (0, 1, len(rows) - 1):
        assert np.array_equal(model.certified_values(rows[i : i + 1], **quick), once[:, i : i + 1])
    return float(single.mean())


@given(
    seed=st.integers(0, 2**31), d=st.integers(1, 6), classes=st.integers(2, 3),
    orders=st.lists(st.integers(0, 5), min_size=6, max_size=6), gamma=st.floats(-3, 1).map(lambda e: 10**e),
    scale=st.floats(-6, 6).map(lambda e: 10**e), size=st.floats(-6, 6).map(lambda e: 10**e),
    density=st.sampled_from([0.2, 0.6, 1.0]), about=st.sampled_from(["zero", "centre"]),
)  # fmt: skip
def test_bounds_hold_in_fifty_digits(seed, d, classes, orders, gamma, scale, size, density, about):
    model = exact_model(seed, classes, 9, d, gamma / scale**2, density=density)
    vectors = Rows.from_dense(model.sv.to_dense(d) * scale)
    model = replace(model, sv=vectors, sv_coef=model.sv_coef * size, rho=model.rho * size)
    rng = np.random.default_rng(seed)
    functions = classes * (classes - 1) // 2
    centers = rng.normal(size=(2, d)) * scale
    made = in_cells(model, centers, np.array(orders[: 2 * functions]).reshape(2, functions), about)
    z = rng.normal(size=(12, d + 1)) * scale * rng.choice([0.1, 1.0, 3.0], size=(12, 1))
    z *= rng.uniform(size=z.shape) < density
    z[:2, :d] = centers
    assert largest_share(made, z) <= 1
    assert_labels_agree(made, Rows.from_dense(z))
    values, bounds = made.certified_values(Rows.from_dense(z), single=True)
    exact = [one for row in exact_sums(model, z[:4]) for one in row]
    for true, v, b in zip(exact, values[:4].ravel().tolist(), bounds[:4].ravel().tolist(), strict=True):
        assert abs(mpf(v) - true) <= mpf(b)


@pytest.mark.parametrize(("order", "d"), [(1, 650), (2, 150), (3, 92), (4, 37)])
def test_sparse_rows_of_any_length(order, d):
    """Rows of few entries go through pairs of entries, four at a time or alone, longer ones one by one."""
    rng = np.random.default_rng(order)
    model = exact_model(1, 2, 5, d, 0.5 / d)
    center = np.full((1, d), 0.01)
    zero, about = (in_cells(model, center, np.array([[order]]), about) for about in ("zero", "centre"))
    z = np.zeros((13, d))
    for row, nnz in zip(z, (0, 1, 2, 3, 4, 7, 15, 16, 17, 31, 32, 33, 36), strict=True):
        row[rng.choice(d, nnz, replace=False)] = rng.normal(size=nnz)
    rows = Rows.from_dense(z)
    assert zero.decision_values(rows) == pytest.approx(about.decision_values(rows), rel=1e-11, abs=1e-11)
    assert largest_share(zero, z) <= 1
    values, double = (zero.certified_values(rows, single=single)[0] for single in (True, False))
    assert np.abs(values - double).max() < 1e-5 * np.abs(model.sv_coef).sum()


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("about", ["zero", "centre"])
@pytest.mark.parametrize("density", [0.15, 1.0])
def test_labels_are_those_of_double_precision(classes, about, density):
    model = exact_model(classes, classes, 60, 12, 0.02, density=density)
    rng = np.random.default_rng(5)
    pairs = classes * (classes - 1) // 2
    made = in_cells(model, rng.normal(size=(3, 12)) * 0.3, np.tile([[2], [3], [4]], pairs), about)
    z = rng.normal(size=(700, 14)) * (rng.uniform(size=(700, 14)) < density)
    rows = Rows.from_dense(z * rng.choice([0.3, 1, 4], (700, 1)))
    assert assert_labels_agree(made, rows) > 0.3
    # Behind it the exact model, whose labels all rows get.
    for columns in (Columns(), Columns(decision_values=True)):
        found = answer(made, rows, columns, exact=model)
        assert found.predicted.tolist() == model.head.predict(model.decision_values(rows)).tolist()
        assert found.certified.tolist() == certified_rows(made.head, *made.certified_values(rows)).tolist()
        expected = np.where(found.certified[:, None], made.decision_values(rows), model.decision_values(rows))
        assert np.array_equal(found.decisions, expected)


@pytest.mark.parametrize("kernel", ["rbf", "polynomial", "linear"])
@pytest.mark.parametrize("scale", [1e-15, 1.0, 1e15])
def test_models_and_rows_of_any_size(kernel, scale):
    for seed, order in ((1, 2), (3, 7)):
        model = random_model(seed, 8, 3, 2, 0.1 / scale**2, scale, 10.0, kernel)
        made, _ = approximate(model, order=order if kernel == "rbf" else "auto")
        if not made.has_error_bound:
            continue
        rng = np.random.default_rng(seed)
        z = rng.normal(size=(40, 4)) * scale * rng.choice([1e-50, 1e-3, 1.0, 30.0, 1e20, 1e200], size=(40, 1))
        z[0], z[1], z[2] = 0, 5e-324, 1e-310
        z[3:7, :3] = model.sv.to_dense(3)[:4]
        assert_labels_agree(made, Rows.from_dense(z))
        assert largest_share(made, z[:12]) <= 1


def test_bounds_without_use_are_infinite():
    """Coefficients out of range, a certificate that ends before the polynomial, a large relative part.

    This stays below 0.005, also for the rows farthest out that are certified, at gamma r^2 = 600.
    """
    made = in_cells(exact_model(8, 2, 5, 2, 0.1), np.zeros((1, 2)), np.array([[2]]), "centre")
    rows, limits = Rows.from_dense(np.array([[0.5, 1.0]])), np.diag([0, 0, 0, 0.005, 0.005 * 0.1 / 600])
    cases = [({}, True), ({"coefficients": np.full(6, 1e305)}, False)]
    cases.append(({"bound_degrees": made.bound_degrees[:, :, :2]}, False))
    cases += [({"bound_rest": f * limits[None, None, at]}, f < 1) for at in (3, 4) for f in (0.99, 1.01)]
    for changes, useful in cases:
        bounds = replace(made, **changes).certified_values(rows, single=True)[1]
        assert np.isfinite(bounds).all() == useful


@pytest.mark.parametrize(("d", "proven"), [(82_000, True), (84_000, False)])
def test_the_most_roundings_of_the_proof(d, proven):
    """About 2 d roundings of 2^-24 each must be below 0.0099."""
    made = in_cells(exact_model(2, 2, 1, 2, 1e-5), np.zeros((1, 2)), np.array([[1]]), "centre")
    features, centers = np.arange(d, dtype=made.features.dtype), np.zeros((1, d))
    made = replace(made, n_features=d, features=features, centers=centers, coefficients=np.ones(d + 1))
    bounds = made.certified_values(Rows.from_dense(np.full((1, d), 0.01)), single=True)[1]
    assert np.isfinite(bounds).all() == proven


@pytest.mark.parametrize(
    ("about", "shift", "sizes", "exponent"),
    [
        ("centre", 0.5, (1, 1, 1), -1),
        ("zero", 0.5, (1, 1, 1), -1),
        ("centre", 0.0, (0, 0, 1), -1),  # at r = 0 only underflow is left
        ("centre", 0.5, (1e-290, 1e-290, 1e-290), -1),
        ("zero", 1e18, (1, 0, 0), -1),  # underflow, multiplied by large variables
        ("zero", 1e-170, (0, 1, 1), 450),  # the square of the center's norm underflows
    ],
)
def test_bounds_are_the_documented_sum(about, shift, sizes, exponent):
    rng, d, order = np.random.default_rng(7), 3, 2
    made = in_cells(exact_model(3, 2, 9, d, 0.25), np.zeros((1, d)), np.array([[order]]), about)
    c = made.coefficients * np.repeat(sizes, [1, d, 6])  # of rows times 2^exponent
    power = 2.0 ** (exponent * np.arange(3))
    degrees, rest = made.bound_degrees * 0, np.zeros((1, 1, 5))
    numbers = {"coefficients": c * np.repeat(power, [1, d, 6]), "bound_degrees": degrees, "bound_rest": rest}
    made = replace(made, gamma=4.0**exponent, centers=np.full((1, d), shift), **numbers)
    doubled = np.array([1.0 if i == j else 0.5 for i in range(d) for j in range(i, d)])
    scale = 2.0 ** np.frexp(np.abs(c).max())[1]
    of = c / scale
    norms = np.sqrt([of[0] ** 2, (of[1 : d + 1] ** 2).sum(), (of[d + 1 :] ** 2 * doubled).sum()])
    lost = 2 * 2.0**-149 * (order + 4) * 10 * np.array([1, 0, 1])
    roundings = 2 * order * (d + 4) + 20
    errors = (1.01 * 1.02 * roundings * 2.0**-24 * norms + lost) * scale * power + 1e-300
    if about == "zero":
        by = float(np.linalg.norm(made.centers)) * (1 + 1e-9) + 1e-150
        errors = np.array([errors @ [1, by, by**2], errors[1] + 2 * by * errors[2], errors[2]])
    degrees = degrees.copy()
    degrees[0, 0, : order + 1] = errors
    rows = Rows.from_dense(shift + 2.0**-exponent * np.outer([0.0, 1e-60, 0.5, 1.5], rng.normal(size=d)))
    wanted = replace(made, bound_degrees=degrees).certified_values(rows)[1]
    assert np.isfinite(wanted[0, 0])
    np.testing.assert_allclose(made.certified_values(rows, single=True)[1], wanted, rtol=1e-11)
