"""Packed polynomials against slow sums of powers, and the kind of model that contains them."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from svmfast import _core
from svmfast.errors import ModelContentError, NotFiniteError
from svmfast.formats.model_files import load_model, model_bytes
from svmfast.models.head import Head
from svmfast.models.polynomial import PolynomialModel
from svmfast.monomials import multiplicities, symmetric_norms
from svmfast.rows import FloatArray, Rows
from svmfast.solvers.taylor import gaussian_coefficients, shorten


def power_sums(points: FloatArray, weights: FloatArray, z: FloatArray) -> FloatArray:
    """sum_m sum_i weights[m, i] (points_i . z)^m, straight from the definition."""
    products = z @ points.T
    return sum(((products**m) @ weights[m] for m in range(len(weights))), np.zeros(len(z)))


def one_function(
    d: int, order: int, coefficients: FloatArray, about: str, center: FloatArray
) -> PolynomialModel:
    return PolynomialModel(
        head=Head("epsilon_svr"),
        gamma=0.0,
        n_features=d,
        features=np.arange(d),
        about=about,
        centers=center[None, :],
        orders=np.array([[order]], dtype=np.int32),
        coefficients=coefficients,
        rho=np.zeros(1),
        sv_squared_norm=1.0,
        sv_squared_norms=np.ones(1),
    )


@pytest.mark.parametrize(
    ("d", "order"), [(d, k) for d in (1, 2, 7, 8, 9, 17) for k in range(6)] + [(33, 2), (33, 3), (64, 3)]
)
def test_values_of_any_order(d: int, order: int) -> None:
    rng = np.random.default_rng(d * 10 + order)
    points, weights = rng.normal(size=(70, d)), rng.normal(size=(order + 1, 70))
    coefficients = _core.power_sum_coefficients(points, weights, 2)
    assert len(coefficients) == math.comb(d + order, order)
    z = rng.normal(size=(53, d)) * (rng.uniform(size=(53, d)) < 0.4)
    expected = power_sums(points, weights, z)
    rows = Rows.from_dense(z)
    dense = Rows(np.arange(54) * d, np.tile(np.arange(d, dtype=np.int32), 53), z.ravel(), d)
    for about in ("zero", "centre"):
        model = one_function(d, order, coefficients, about, np.zeros(d))
        for form in (rows, dense):
            got = model.decision_values(form)[:, 0]
            assert np.abs(got - expected).max() <= 1e-12 * np.abs(expected).max()


@pytest.mark.parametrize("about", ["zero", "centre"])
@pytest.mark.parametrize(
    ("coefficients", "rho"),
    [([1e308, 1e308], 0.0), ([1.7e308, 0.0], -1.7e308), ([0.0, 1e308], 0.0), ([1e308, -1e308], 1e308)],
)
def test_a_value_out_of_range_is_refused(coefficients: list[float], rho: float, about: str) -> None:
    model = one_function(1, 1, np.array(coefficients), about, np.zeros(1))
    model = replace(model, rho=np.array([rho]))
    with pytest.raises(NotFiniteError, match="leaves the range of floating point"):
        model.decision_values(Rows.from_dense([[0.0], [2.0], [-2.0]]))


@pytest.mark.parametrize("about", ["zero", "centre"])
@pytest.mark.parametrize("far", [1e160, 1e300])
def test_a_row_whose_distance_overflows_is_far_away(far: float, about: str) -> None:
    # About the center 1e10 the product with the row overflows as well as the row's square.
    model = replace(one_function(2, 1, np.array([3.0, 1.0, 1.0]), about, np.full(2, 1e10)), gamma=1e-20)
    rows = Rows.from_dense([[far, 0.0], [0.0, -far], [1e10, 1e10]])
    values = replace(model, rho=np.array([0.25])).decision_values(rows)[:, 0]
    assert values[:2] == pytest.approx([-0.25, -0.25], abs=1e-7)  # 2^-1022 stands for the factor zero
    assert values[2] > 1


def test_with_gamma_zero_the_distance_does_not_matter() -> None:
    model = one_function(2, 1, np.array([3.0, 0.0, 2.0]), "zero", np.zeros(2))
    assert model.decision_values(Rows.from_dense([[1e200, 5.0]]))[0, 0] == 13.0


def test_coefficients_do_not_depend_on_threads() -> None:
    rng = np.random.default_rng(3)
    points, weights = rng.normal(size=(500, 12)), rng.normal(size=(5, 500))
    one = _core.power_sum_coefficients(points, weights, 1)
    assert np.array_equal(one, _core.power_sum_coefficients(points, weights, 3))


def test_multiplicities_are_multinomial() -> None:
    # d = 2, degree 3: x^3, x^2 y, x y^2, y^3
    assert multiplicities(2, 3).tolist() == [1, 3, 3, 1]
    assert multiplicities(3, 2).tolist() == [1, 2, 2, 1, 2, 1]
    assert multiplicities(4, 0).tolist() == [1]


@pytest.fixture
def cells() -> PolynomialModel:
    """Three cells, two functions, every order different."""
    rng = np.random.default_rng(4)
    d, orders = 9, np.array([[0, 3], [2, 1], [4, 2]], dtype=np.int32)
    count = sum(math.comb(d + int(k), int(k)) for k in orders.flat)
    return PolynomialModel(
        head=Head("c_svc", np.array([1, 2])) if orders.shape[1] == 1 else Head("c_svc", np.array([3, 1, 2])),
        gamma=0.2,
        n_features=14,
        features=np.array([0, 1, 2, 4, 5, 7, 8, 11, 13]),
        about="centre",
        centers=rng.normal(size=(3, d)),
        orders=np.concatenate([orders, orders[:, :1]], axis=1),
        coefficients=rng.normal(size=count + sum(math.comb(d + int(k), int(k)) for k in orders[:, 0])),
        rho=rng.normal(size=3),
        sv_squared_norm=3.0,
        sv_squared_norms=np.array([1.0, 2.0, 3.0]),
        provenance={"method": "approximate"},
    )


def slow_values(model: PolynomialModel, z: FloatArray) -> FloatArray:
    """The definition, monomial by monomial."""
    from itertools import combinations_with_replacement

    out = np.empty((len(z), len(model.rho)))
    start = 0
    values = np.empty((model.n_cells, len(z), len(model.rho)))
    distances = np.empty((model.n_cells, len(z)))
    known = z[:, model.features]
    others = (np.delete(z, model.features, axis=1) ** 2).sum(axis=1)
    for cell in range(model.n_cells):
        w = known - model.centers[cell]
        distances[cell] = (w * w).sum(axis=1) + others
        for p in range(len(model.rho)):
            total = np.zeros(len(z))
            for degree in range(model.orders[cell, p] + 1):
                for tuple_ in combinations_with_replacement(range(w.shape[1]), degree):
                    total += model.coefficients[start] * np.prod(w[:, list(tuple_)], axis=1)
                    start += 1
            values[cell, :, p] = np.exp(-model.gamma * distances[cell]) * total - model.rho[p]
    nearest = distances.argmin(axis=0)
    for row, cell in enumerate(nearest):
        out[row] = values[cell, row]
    return out


def test_cells_route_to_the_nearest_center(cells: PolynomialModel) -> None:
    rng = np.random.default_rng(5)
    # Wider than the model: unknown columns affect only the distance.
    z = rng.normal(size=(200, 17)) * (rng.uniform(size=(200, 17)) < 0.5)
    rows = Rows.from_dense(z)
    got = cells.decision_values(rows, threads=2)
    assert got == pytest.approx(slow_values(cells, z), rel=1e-11, abs=1e-11)
    assert len(set(cells.cells(rows).tolist())) == 3


def test_a_row_does_not_depend_on_other_rows(cells: PolynomialModel) -> None:
    rng = np.random.default_rng(6)
    rows = Rows.from_dense(rng.normal(size=(150, 14)) * (rng.uniform(size=(150, 14)) < 0.6))
    together = cells.decision_values(rows, threads=2)
    for i in range(len(rows)):
        assert np.array_equal(cells.decision_values(rows[i : i + 1])[0], together[i])


def test_wide_models_translate_columns_without_a_table(cells: PolynomialModel) -> None:
    rng = np.random.default_rng(7)
    wide = replace(cells, n_features=2**31 - 1, features=cells.features * 150_000_000)
    z = Rows.from_dense(rng.normal(size=(40, 14)))
    spread = Rows(z.indptr, (z.indices.astype(np.int64) * 150_000_000).astype(np.int32), z.values, 2**31 - 1)
    assert np.array_equal(wide.decision_values(spread), cells.decision_values(z))


def test_record_round_trip(cells: PolynomialModel) -> None:
    text = model_bytes(cells)
    again = load_model(text)
    assert model_bytes(again) == text
    rows = Rows.from_dense(np.random.default_rng(8).normal(size=(20, 14)))
    assert np.array_equal(again.decision_values(rows), cells.decision_values(rows))
    assert again.provenance == {"method": "approximate"}


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


def truncated_exponential(t: FloatArray, order: int) -> FloatArray:
    return sum((t**m / math.factorial(m) for m in range(order + 1)), np.zeros_like(t))


def test_expansion_is_the_truncated_exponential() -> None:
    rng = np.random.default_rng(9)
    x, beta, center, gamma = rng.normal(size=(60, 5)), rng.normal(size=60), rng.normal(size=5), 0.1
    z = rng.normal(size=(30, 5))
    u, w = x - center, z - center
    a = beta * np.exp(-gamma * (u * u).sum(axis=1))
    for order in range(6):
        expected = truncated_exponential(2 * gamma * w @ u.T, order) @ a
        for about in ("zero", "centre"):
            packed = gaussian_coefficients(x, beta, gamma, center, order, about_zero=about == "zero")
            got = one_function(5, order, packed, about, center).decision_values(Rows.from_dense(z))[:, 0]
            assert got == pytest.approx(expected, rel=1e-10, abs=1e-10)


def test_second_order_is_the_papers_form() -> None:
    # c = sum a, v = 2 gamma X^T a, M = 2 gamma^2 X^T diag(a) X; a triangle counts off-diagonal entries twice.
    rng = np.random.default_rng(10)
    x, beta, gamma = rng.normal(size=(40, 4)), rng.normal(size=40), 0.3
    a = beta * np.exp(-gamma * (x * x).sum(axis=1))
    m = 2 * gamma**2 * (x.T * a) @ x
    packed = gaussian_coefficients(x, beta, gamma, np.zeros(4), 2, about_zero=True)
    assert packed[0] == pytest.approx(a.sum())
    assert packed[1:5] == pytest.approx(2 * gamma * x.T @ a)
    triangle = (m + m.T - np.diag(np.diag(m)))[np.triu_indices(4)]
    assert packed[5:] == pytest.approx(triangle)


def test_symmetric_norms_bound_every_degree() -> None:
    rng = np.random.default_rng(11)
    d, order = 5, 4
    packed = rng.normal(size=math.comb(d + order, order))
    norms = symmetric_norms(packed, d, order)
    z = rng.normal(size=(300, d))
    length = np.sqrt((z * z).sum(axis=1))
    for m in range(order + 1):
        only = packed.copy()
        only[: math.comb(d + m - 1, m - 1) if m else 0] = 0
        only[math.comb(d + m, m) :] = 0
        values = np.abs(
            one_function(d, order, only, "centre", np.zeros(d)).decision_values(Rows.from_dense(z))[:, 0]
        )
        assert (values <= norms[m] * length**m * (1 + 1e-12)).all()
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
