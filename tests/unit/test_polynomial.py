"""Packed polynomials against slow sums of powers; expansions in many cells against slow twins."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import pytest
from cell_models import exact_model, in_cells, one_function

from svmfast.certificate import SPARE_ENTRIES
from svmfast.errors import NotFiniteError
from svmfast.monomials import symmetric_norms
from svmfast.rows import Rows
from svmfast.solvers.taylor import power_sum_coefficients, shorten


def slow_bounds(model, rows):
    """The theorem of docs/certificate.md; the last factors cover underflow and the rounding of the bound."""
    sums, cells = model.decision_values(rows) + model.rho, model.cells(rows)
    dense = rows.to_dense(max(rows.n_columns, model.n_features))
    centers = np.zeros((model.n_cells, dense.shape[1]))
    centers[:, model.features] = model.centers
    degrees, rest = model.bound_degrees[cells], np.moveaxis(model.bound_rest[cells], -1, 0)
    with np.errstate(over="ignore", invalid="ignore"):
        s = np.square(dense - centers[cells]).sum(axis=1)[:, None]
        r, j = np.sqrt(s + 1e-300)[..., None], np.arange(degrees.shape[-1] + 1)
        inner = np.exp(-model.gamma * s) * (degrees * r ** j[:-1]).sum(axis=-1)
        bound = inner + rest[0] * r[..., 0] ** j[-1]
        bound += rest[1] + rest[2] * s + np.abs(sums) * (rest[3] + rest[4] * s)
    return np.where((model.gamma * s < 600) & np.isfinite(bound), bound * (1 + 1e-9), np.inf)


@pytest.mark.parametrize(
    ("d", "order"), [(d, k) for d in (1, 2, 7, 8, 9, 17) for k in range(6)] + [(33, 2), (33, 3), (64, 3)]
)
def test_values_of_any_order(d, order):
    rng = np.random.default_rng(d * 10 + order)
    points, weights = rng.normal(size=(70, d)), rng.normal(size=(order + 1, 70))
    coefficients = power_sum_coefficients(points, weights, threads=2)
    assert coefficients.tobytes() == power_sum_coefficients(points, weights).tobytes()
    assert len(coefficients) == math.comb(d + order, order)
    z = rng.normal(size=(53, d)) * (rng.uniform(size=(53, d)) < 0.4)
    expected = np.einsum("nim,mi->n", (z @ points.T)[..., None] ** np.arange(order + 1), weights)
    rows = Rows.from_dense(z)
    dense = Rows(np.arange(54) * d, np.tile(np.arange(d, dtype=np.int32), 53), z.ravel(), d)
    for about in ("zero", "centre"):
        model = one_function(d, order, coefficients, about)
        for form in (rows, dense):
            got = model.decision_values(form)[:, 0]
            assert np.abs(got - expected).max() <= 1e-12 * np.abs(expected).max()


@pytest.mark.parametrize("about", ["zero", "centre"])
@pytest.mark.parametrize(
    ("coefficients", "rho"),
    [([1e308, 1e308], 0.0), ([1.7e308, 0.0], -1.7e308), ([0.0, 1e308], 0.0), ([1e308, -1e308], 1e308)],
)
def test_a_value_out_of_range_is_refused(coefficients, rho, about):
    model = one_function(1, 1, coefficients, about, rho=np.array([rho]))
    with pytest.raises(NotFiniteError, match="leaves the range of floating point"):
        model.decision_values(Rows.from_dense([[0.0], [2.0], [-2.0]]))


@pytest.mark.parametrize("about", ["zero", "centre"])
@pytest.mark.parametrize("far", [1e160, 1e300])
def test_a_row_whose_distance_overflows_is_far_away(far, about):
    # About the center 1e10 the product with the row overflows as well as the row's square.
    changes = {"gamma": 1e-20, "rho": np.array([0.25])}
    model = one_function(2, 1, [3.0, 1.0, 1.0], about, np.full(2, 1e10), **changes)
    values = model.decision_values(Rows.from_dense([[far, 0.0], [0.0, -far], [1e10, 1e10]]))[:, 0]
    assert values[:2] == pytest.approx([-0.25, -0.25], abs=1e-7)  # 2^-1022 stands for the factor zero
    assert values[2] > 1
    # Without a factor the distance does not matter.
    flat = one_function(2, 1, [3.0, 0.0, 2.0], about)
    assert flat.decision_values(Rows.from_dense([[far, 5.0]]))[0, 0] == 13.0


#: Three cells, three functions, every order different.
ORDERS = np.array([[0, 3, 0], [2, 1, 2], [4, 2, 4]])
CELLS = in_cells(exact_model(4, 3, 9, 9, 0.2), np.random.default_rng(4).normal(size=(3, 9)), ORDERS, "centre")


def test_wide_models_translate_columns_without_a_table():
    rng = np.random.default_rng(7)
    wide = replace(CELLS, n_features=2**31 - 1, features=CELLS.features * 150_000_000)
    z = Rows.from_dense(rng.normal(size=(40, 14)))
    spread = Rows(z.indptr, (z.indices.astype(np.int64) * 150_000_000).astype(np.int32), z.values, 2**31 - 1)
    assert np.array_equal(wide.decision_values(spread), CELLS.decision_values(z))


def test_symmetric_norms_are_those_of_symmetric_tensors():
    """A monomial stands for as many equal entries of the tensor as its variables have orders."""
    d, order = 5, 4
    packed = np.random.default_rng(11).normal(size=math.comb(d + order, order))
    squares, values = np.zeros(order + 1), iter(packed)
    for m in range(order + 1):
        for chosen in combinations_with_replacement(range(d), m):
            equal = math.factorial(m) / math.prod(math.factorial(chosen.count(i)) for i in range(d))
            squares[m] += next(values) ** 2 / equal
    assert symmetric_norms(packed, d, order) == pytest.approx(np.sqrt(squares))


@pytest.mark.parametrize("scale", [1e-30, 1e-6, 1.0, 1e20])
def test_shorten_keeps_its_tolerance(scale):
    rng = np.random.default_rng(12)
    d, order = 6, 3
    packed = rng.normal(size=math.comb(d + order, order)) * scale
    tolerance = symmetric_norms(packed, d, order) * 1e-5
    tolerance[0] = 0
    short = shorten(packed, d, order, tolerance)
    assert short[0] == packed[0]
    assert (symmetric_norms(short - packed, d, order) <= tolerance).all()
    assert np.mean([len(repr(float(c))) for c in short]) < np.mean([len(repr(float(c))) for c in packed]) - 7


def cells_of(centers, z):
    model = one_function(centers.shape[1], 0, np.zeros(len(centers)), center=centers)
    return model.cells(Rows.from_dense(z), threads=2).tolist()


def nearest(centers, z):
    exactly = np.vectorize(Fraction, otypes=[object])
    return [((exactly(centers) - row) ** 2).sum(axis=1).argmin() for row in exactly(z)]


@pytest.mark.parametrize("scale", [1.0, 1e-200, 1e150])
@pytest.mark.parametrize(("cells", "d"), [(2, 1), (65, 4), (430, 5)])
def test_rows_go_to_the_nearest_center(cells, d, scale):
    rng = np.random.default_rng(cells)
    centers = (rng.normal(size=(cells, d)) + 5) * scale
    z = (rng.normal(size=(25, d)) * 2 + 5) * scale * (rng.uniform(size=(25, d)) < 0.8)
    assert cells_of(centers, z) == nearest(centers, z)


def test_nearly_equal_distances_are_decided_in_double_precision():
    rng = np.random.default_rng(1)
    near = np.array([0, 1e-9, -1e-9, 0])[:, None]
    centers, z = np.concatenate(rng.normal(size=(6, 1, 3)) + near), rng.normal(size=(40, 3))
    got = cells_of(centers, z)
    assert got == nearest(centers, z)
    assert 3 not in np.array(got) % 4


def test_rows_beyond_single_precision_find_some_cell():
    z, centers = [[1e300, 1e300], [-1e300, 0.0], [1e-300, 0.0]], [[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]]
    # The last row's distances from the first two centers differ only after 300 digits.
    assert cells_of(np.array(centers), np.array(z)) == [2, 0, 0]


@pytest.mark.parametrize("about", ["zero", "centre"])
@pytest.mark.parametrize("density", [0.15, 0.9])
def test_native_bounds_and_values(about, density):
    """Bounds equal NumPy's and are never violated, for sparse and dense rows, near, far and too long."""
    model = exact_model(3, 3, 12, 8, 0.3, density=0.5)
    rng = np.random.default_rng(4)
    centers = rng.normal(size=(5, 8)) * 0.7
    made = in_cells(model, centers, np.array([[0, 3, 1], [4, 2, 0], [2, 2, 2], [3, 1, 4], [0, 0, 0]]), about)
    z = rng.normal(size=(300, 11)) * rng.choice([0.3, 1.0, 4.0, 50.0, 1e80], size=(300, 1))
    z *= rng.uniform(size=z.shape) < density
    z[:5, :8] = centers
    z[5:10, :8] = centers * (1 + 1e-15)
    z[:10, 8:] = 0
    rows = Rows.from_dense(z)
    values, bounds = made.certified_values(rows, threads=2)
    again, cells = made.decision_values(rows), made.cells(rows)
    assert np.array_equal(values, again)
    assert len(set(cells.tolist())) == 5
    assert (np.abs(values - model.decision_values(rows)) <= bounds).all()
    # Of a model most numbers are negligible.
    sizes = made.bound_degrees.shape, made.bound_rest.shape
    other = replace(made, bound_degrees=rng.random(sizes[0]), bound_rest=rng.random(sizes[1]))
    for twin, found in ((made, bounds), (other, other.certified_values(rows)[1])):
        expected = slow_bounds(twin, rows)
        assert np.array_equal(np.isinf(found), np.isinf(expected))
        finite = np.isfinite(expected)
        # If the squared distance cancels, the native bound uses the end of its interval.
        assert (found[finite] >= expected[finite] * (1 - 1e-12)).all()
        assert found[10:][finite[10:]] == pytest.approx(expected[10:][finite[10:]], rel=1e-7)
    for i in range(0, 300, 17):
        alone = made.certified_values(rows[i : i + 1])
        assert np.array_equal(alone, [values[i : i + 1], bounds[i : i + 1]])


@pytest.mark.parametrize("degrees", [[1.0, 0.0], [0.0, 1.0]])
def test_bounds_where_the_norms_of_row_and_center_cancel(degrees):
    """Of the distance only an interval is known: the factor is that of its lower end, r the upper one."""
    d, far = 100, 2.0**20  # many features, so that short rows stay sparse
    center, z = np.eye(1, d) * far, np.eye(1, d) * (far + np.array([[0.0], [0.25], [0.5], [1.0]]))
    numbers = {"bound_degrees": np.array([[degrees]]), "bound_rest": np.zeros((1, 1, 5)), "gamma": 1.0}
    made, rows = one_function(d, 1, np.zeros(d + 1), "zero", center, **numbers), Rows.from_dense(z)
    found, exact = made.certified_values(rows)[1], slow_bounds(made, rows)
    assert (found >= exact * (1 - 1e-12)).all()
    assert found[2:] == pytest.approx(exact[2:], rel=0.2)


def test_rows_too_long_are_not_certified():
    model = exact_model(7, 2, 5, 3, 0.1)
    made = in_cells(model, np.zeros((1, 3)), np.array([[2]]), "centre")
    long = np.concatenate([np.full(3, 0.1), np.full(SPARE_ENTRIES + 1, 1e-9)])[None]
    rows = Rows.concatenate([Rows.from_dense(long[:, :-1]), Rows.from_dense(long)])
    assert np.isfinite(made.certified_values(rows)[1][:, 0]).tolist() == [True, False]


def test_a_polynomial_that_overflows_certifies_nothing():
    model = exact_model(8, 2, 5, 2, 1e-9)
    made = in_cells(model, np.zeros((1, 2)), np.array([[2]]), "centre")
    huge = replace(made, coefficients=np.full(6, 1e308))
    values, bounds = huge.certified_values(Rows.from_dense(np.array([[1e3, 1e3]])))
    assert values[0, 0] == -made.rho[0]
    assert np.isinf(bounds[0, 0])
