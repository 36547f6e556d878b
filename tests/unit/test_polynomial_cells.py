"""Expansions in many cells: routing, native error bounds and polynomials about zero, against slow twins."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from bound_twin import bounds_of
from cell_models import exact_model, in_cells
from program import TEST_PATH

from svmfast.certificate import SPARE_ENTRIES
from svmfast.models.head import Head
from svmfast.models.polynomial import PolynomialModel
from svmfast.rows import FloatArray, Rows


def routed(centers: FloatArray) -> PolynomialModel:
    """A model in which only the routing matters."""
    cells, d = centers.shape
    return PolynomialModel(
        head=Head("one_class"),
        gamma=0.1,
        n_features=d,
        features=np.arange(d),
        about="centre",
        centers=centers,
        orders=np.zeros((cells, 1), np.int32),
        coefficients=np.zeros(cells),
        rho=np.zeros(1),
        sv_squared_norm=1.0,
        sv_squared_norms=np.ones(cells),
    )


def nearest(centers: FloatArray, z: FloatArray) -> list[int]:
    """The nearest center in exact arithmetic, the first of equals."""
    out = []
    for row in z:
        mine = [Fraction(float(v)) for v in row]
        squares = [
            sum((a - Fraction(float(b))) ** 2 for a, b in zip(mine, center, strict=True))
            for center in centers
        ]
        out.append(squares.index(min(squares)))
    return out


@pytest.mark.parametrize("scale", [1.0, 1e-200, 1e150])
@pytest.mark.parametrize(("cells", "d"), [(2, 1), (7, 3), (65, 4), (200, 2), (430, 5)])
def test_rows_go_to_the_nearest_center(cells: int, d: int, scale: float) -> None:
    rng = np.random.default_rng(cells)
    centers = (rng.normal(size=(cells, d)) + 5) * scale
    z = (rng.normal(size=(25, d)) * 2 + 5) * scale * (rng.uniform(size=(25, d)) < 0.8)
    model = routed(centers)
    assert model.cells(Rows.from_dense(z), threads=2).tolist() == nearest(centers, z)


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


PRINT_CELLS = """
import numpy as np
import test_polynomial_cells as t
from svmfast.rows import Rows
rng = np.random.default_rng(2)
centers = np.repeat(rng.normal(size=(50, 6)), 2, axis=0)
centers[1::2] += rng.normal(size=(50, 6)) * 1e-7
z = rng.normal(size=(4000, 6))
print(t.routed(centers).cells(Rows.from_dense(z), threads=2).tolist())
"""


def test_every_machine_finds_the_same_cells() -> None:
    def run(isa: str) -> bytes:
        environment = {**os.environ, "SVMFAST_ISA": isa, "PYTHONPATH": TEST_PATH}
        return subprocess.run(
            [sys.executable, "-c", PRINT_CELLS], env=environment, check=True, capture_output=True
        ).stdout

    best = run("")
    assert run("baseline") == best
    assert run("avx2") == best


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
        assert np.array_equal(alone[0][0], values[i])
        assert np.array_equal(alone[1][0], bounds[i])


def test_polynomials_about_zero_are_those_about_the_center() -> None:
    model = exact_model(5, 2, 40, 10, 0.05, density=0.4)
    rng = np.random.default_rng(6)
    centers = rng.normal(size=(4, 10)) * 0.5
    orders = np.array([[2], [3], [1], [4]])
    zero, center = (in_cells(model, centers, orders, about) for about in ("zero", "centre"))
    z = rng.normal(size=(400, 10)) * (rng.uniform(size=(400, 10)) < 0.25)
    rows = Rows.from_dense(z)
    assert zero.decision_values(rows) == pytest.approx(center.decision_values(rows), rel=1e-10, abs=1e-10)
    assert np.array_equal(zero.cells(rows), center.cells(rows))
    stored_zeros = Rows(np.arange(401) * 10, np.tile(np.arange(10, dtype=np.int32), 400), z.ravel(), 10)
    expected = zero.decision_values(rows)
    assert zero.decision_values(stored_zeros) == pytest.approx(expected, rel=1e-10, abs=1e-10)


def test_rows_too_long_are_not_certified() -> None:
    model = exact_model(7, 2, 5, 3, 0.1)
    made = in_cells(model, np.zeros((1, 3)), np.array([[2]]), "centre")
    long = np.concatenate([np.full(3, 0.1), np.full(SPARE_ENTRIES + 1, 1e-9)])
    rows = Rows.concatenate([Rows.from_dense(long[None, :-1]), Rows.from_dense(long[None, :])])
    assert np.isfinite(made.certified_values(rows)[1][:, 0]).tolist() == [True, False]


def test_a_polynomial_that_overflows_certifies_nothing() -> None:
    model = exact_model(8, 2, 5, 2, 1e-9)
    made = in_cells(model, np.zeros((1, 2)), np.array([[2]]), "centre")
    huge = replace(made, coefficients=np.full(6, 1e308))
    values, bounds = huge.certified_values(Rows.from_dense(np.array([[1e3, 1e3]])))
    assert values[0, 0] == -made.rho[0]
    assert np.isinf(bounds[0, 0])
