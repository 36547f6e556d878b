"""Packed polynomials against slow sums of powers; expansions in many cells against slow twins."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from bound_twin import bounds_of
from cell_models import exact_model, in_cells

from svmfast import _core
from svmfast.certificate import SPARE_ENTRIES
from svmfast.errors import ModelContentError, NotFiniteError
from svmfast.models.head import Head
from svmfast.models.polynomial import PolynomialModel
from svmfast.monomials import symmetric_norms
from svmfast.rows import FloatArray, Rows
from svmfast.solvers.taylor import shorten


def one_function(d, order, coefficients, about="centre", center=None, **changes) -> PolynomialModel:
    """A polynomial without a factor, in one cell about `center`, or in a cell about each of several."""
    centers = np.zeros((1, d)) if center is None else np.atleast_2d(center)
    known = {
        "head": Head("epsilon_svr"),
        "gamma": 0.0,
        "n_features": d,
        "features": np.arange(d),
        "about": about,
        "centers": centers,
        "orders": np.full((len(centers), 1), order, dtype=np.int32),
        "coefficients": np.array(coefficients),
        "rho": np.zeros(1),
        "sv_squared_norm": 1.0,
        "sv_squared_norms": np.ones(len(centers)),
    }
    return PolynomialModel(**{**known, **changes})


@pytest.mark.parametrize(
    ("d", "order"), [(d, k) for d in (1, 2, 7, 8, 9, 17) for k in range(6)] + [(33, 2), (33, 3), (64, 3)]
)
def test_values_of_any_order(d: int, order: int) -> None:
    rng = np.random.default_rng(d * 10 + order)
    points, weights = rng.normal(size=(70, d)), rng.normal(size=(order + 1, 70))
    coefficients = _core.power_sum_coefficients(points, weights, 2)
    assert coefficients.tobytes() == _core.power_sum_coefficients(points, weights, 1).tobytes()
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
def test_a_value_out_of_range_is_refused(coefficients: list[float], rho: float, about: str) -> None:
    model = one_function(1, 1, coefficients, about, rho=np.array([rho]))
    with pytest.raises(NotFiniteError, match="leaves the range of floating point"):
        model.decision_values(Rows.from_dense([[0.0], [2.0], [-2.0]]))


@pytest.mark.parametrize("about", ["zero", "centre"])
@pytest.mark.parametrize("far", [1e160, 1e300])
def test_a_row_whose_distance_overflows_is_far_away(far: float, about: str) -> None:
    # About the center 1e10 the product with the row overflows as well as the row's square.
    changes = {"gamma": 1e-20, "rho": np.array([0.25])}
    model = one_function(2, 1, [3.0, 1.0, 1.0], about, np.full(2, 1e10), **changes)
    values = model.decision_values(Rows.from_dense([[far, 0.0], [0.0, -far], [1e10, 1e10]]))[:, 0]
    assert values[:2] == pytest.approx([-0.25, -0.25], abs=1e-7)  # 2^-1022 stands for the factor zero
    assert values[2] > 1


def test_with_gamma_zero_the_distance_does_not_matter() -> None:
    model = one_function(2, 1, [3.0, 0.0, 2.0], "zero")
    assert model.decision_values(Rows.from_dense([[1e200, 5.0]]))[0, 0] == 13.0


@pytest.fixture
def cells() -> PolynomialModel:
    """Three cells, three functions, every order different."""
    rng, orders = np.random.default_rng(4), np.array([[0, 3, 0], [2, 1, 2], [4, 2, 4]], dtype=np.int32)
    coefficients = rng.normal(size=sum(math.comb(9 + int(k), int(k)) for k in orders.flat))
    return one_function(
        *(9, 0, coefficients, "centre", rng.normal(size=(3, 9))),
        head=Head("c_svc", np.array([3, 1, 2])),
        gamma=0.2,
        n_features=14,
        features=np.array([0, 1, 2, 4, 5, 7, 8, 11, 13]),
        orders=orders,
        rho=rng.normal(size=3),
    )


def test_wide_models_translate_columns_without_a_table(cells: PolynomialModel) -> None:
    rng = np.random.default_rng(7)
    wide = replace(cells, n_features=2**31 - 1, features=cells.features * 150_000_000)
    z = Rows.from_dense(rng.normal(size=(40, 14)))
    spread = Rows(z.indptr, (z.indices.astype(np.int64) * 150_000_000).astype(np.int32), z.values, 2**31 - 1)
    assert np.array_equal(wide.decision_values(spread), cells.decision_values(z))


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"gamma": -1.0}, "gamma"),
        ({"about": "nowhere"}, "about"),
        ({"rho": np.zeros(2)}, "rho"),
        ({"features": np.arange(8)}, "features"),
        ({"features": np.arange(9)[::-1]}, "features"),
        ({"n_features": 5}, "features"),
        ({"orders": np.zeros((2, 3), np.int32)}, "orders"),
        ({"orders": np.full((3, 3), -1, np.int32)}, "orders"),
        ({"orders": np.full((3, 3), 2**31 - 1, np.int32)}, "orders"),
        ({"sv_squared_norms": np.zeros(2)}, "sv_squared_norms"),
        ({"coefficients": np.zeros(7)}, "coefficients"),
    ],
)
def test_contradictions_are_refused(cells: PolynomialModel, change: dict[str, object], field: str) -> None:
    with pytest.raises(ModelContentError) as caught:
        replace(cells, **change)
    assert caught.value.field == field


def test_symmetric_norms_bound_every_degree() -> None:
    rng = np.random.default_rng(11)
    d, order = 5, 4
    packed = rng.normal(size=math.comb(d + order, order))
    norms, z = symmetric_norms(packed, d, order), rng.normal(size=(300, d))
    length = np.sqrt((z * z).sum(axis=1))
    for m in range(order + 1):
        only = packed.copy()
        only[: math.comb(d + m - 1, m - 1) if m else 0] = 0
        only[math.comb(d + m, m) :] = 0
        values = one_function(d, order, only).decision_values(Rows.from_dense(z))[:, 0]
        assert (np.abs(values) <= norms[m] * length**m * (1 + 1e-12)).all()
    # Degree 1 is Cauchy-Schwarz itself, which is sharp in the direction of the coefficients.
    assert norms[1] == pytest.approx(np.linalg.norm(packed[1 : d + 1]))


@pytest.mark.parametrize("scale", [1e-30, 1e-6, 1.0, 1e20])
def test_shorten_keeps_its_tolerance(scale: float) -> None:
    rng = np.random.default_rng(12)
    d, order = 6, 3
    packed = rng.normal(size=math.comb(d + order, order)) * scale
    tolerance = symmetric_norms(packed, d, order) * 1e-5
    tolerance[0] = 0
    short = shorten(packed, d, order, tolerance)
    assert short[0] == packed[0]
    assert (symmetric_norms(short - packed, d, order) <= tolerance).all()
    assert np.mean([len(repr(float(c))) for c in short]) < np.mean([len(repr(float(c))) for c in packed]) - 7


def routed(centers: FloatArray) -> PolynomialModel:
    """A model in which only the routing matters."""
    return one_function(centers.shape[1], 0, np.zeros(len(centers)), center=centers)


def nearest(centers: FloatArray, z: FloatArray) -> list[int]:
    """The nearest center in exact arithmetic, the first of equals."""
    exactly = np.vectorize(Fraction, otypes=[object])
    return [((exactly(centers) - row) ** 2).sum(axis=1).argmin() for row in exactly(z)]


@pytest.mark.parametrize("scale", [1.0, 1e-200, 1e150])
@pytest.mark.parametrize(("cells", "d"), [(2, 1), (65, 4), (430, 5)])
def test_rows_go_to_the_nearest_center(cells: int, d: int, scale: float) -> None:
    rng = np.random.default_rng(cells)
    centers = (rng.normal(size=(cells, d)) + 5) * scale
    z = (rng.normal(size=(25, d)) * 2 + 5) * scale * (rng.uniform(size=(25, d)) < 0.8)
    assert routed(centers).cells(Rows.from_dense(z), threads=2).tolist() == nearest(centers, z)


def test_nearly_equal_distances_are_decided_in_double_precision() -> None:
    """Centers so close to each other that single precision cannot tell them apart; and equal ones."""
    rng = np.random.default_rng(1)
    centers = np.repeat(rng.normal(size=(6, 3)), 4, axis=0)
    centers[1::4] += 1e-9
    centers[2::4] -= 1e-9
    z = rng.normal(size=(40, 3))
    got = routed(centers).cells(Rows.from_dense(z))
    assert got.tolist() == nearest(centers, z)
    assert 3 not in got % 4


def test_rows_beyond_single_precision_find_some_cell() -> None:
    z = Rows.from_dense(np.array([[1e300, 1e300], [-1e300, 0.0], [1e-300, 0.0]]))
    got = routed(np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]])).cells(z)
    # The last row's distances from the first two centers differ only after 300 digits.
    assert got.tolist() == [2, 0, 0]


@pytest.mark.parametrize("about", ["zero", "centre"])
@pytest.mark.parametrize("density", [0.15, 0.9])
def test_native_bounds_and_values(about: str, density: float) -> None:
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
    twin = bounds_of(made, rows)
    assert np.array_equal(np.isinf(bounds), np.isinf(twin))
    finite = np.isfinite(twin)
    # If the squared distance cancels, the native bound uses the end of its interval.
    assert (bounds[finite] >= twin[finite] * (1 - 1e-12)).all()
    assert bounds[10:][finite[10:]] == pytest.approx(twin[10:][finite[10:]], rel=1e-7)
    assert (np.abs(values - model.decision_values(rows)) <= bounds).all()
    for i in range(0, 300, 17):
        alone = made.certified_values(rows[i : i + 1])
        assert np.array_equal(alone, [values[i : i + 1], bounds[i : i + 1]])


def test_rows_too_long_are_not_certified() -> None:
    model = exact_model(7, 2, 5, 3, 0.1)
    made = in_cells(model, np.zeros((1, 3)), np.array([[2]]), "centre")
    long = np.concatenate([np.full(3, 0.1), np.full(SPARE_ENTRIES + 1, 1e-9)])[None]
    rows = Rows.concatenate([Rows.from_dense(long[:, :-1]), Rows.from_dense(long)])
    assert np.isfinite(made.certified_values(rows)[1][:, 0]).tolist() == [True, False]


def test_a_polynomial_that_overflows_certifies_nothing() -> None:
    model = exact_model(8, 2, 5, 2, 1e-9)
    made = in_cells(model, np.zeros((1, 2)), np.array([[2]]), "centre")
    huge = replace(made, coefficients=np.full(6, 1e308))
    values, bounds = huge.certified_values(Rows.from_dense(np.array([[1e3, 1e3]])))
    assert values[0, 0] == -made.rho[0]
    assert np.isinf(bounds[0, 0])
