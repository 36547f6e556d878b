"""Each term of NAME_certain's bound, in a case whose error comes close to that term, with fifty digits.

In the worst case of a term the error is more than half of the bound, and the bound without half of the term
is smaller than the error.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any, NamedTuple, cast

import certain_twin
import export_twin as twin
import mpmath
import numpy as np
import pytest
from c_exports import compiled, needs_compiler
from certain_conversions import CASES, PRECISIONS, made
from fifty_digits import exactly, mpf

from svmfast.commands.export_report import Export
from svmfast.exports.accuracy import Settings
from svmfast.exports.c import write
from svmfast.exports.certain import bound_of
from svmfast.exports.computation import Computation, computation_of
from svmfast.models.head import Head
from svmfast.models.polynomial import PolynomialModel
from svmfast.models.scaling import Scaling
from svmfast.rows import FloatArray, as_rows

#: The factor of a number that is lost when it is added to 1: nearly half the distance to the next number.
LOST = 0.99
KINDS = pytest.mark.parametrize("kind", PRECISIONS.values(), ids=PRECISIONS)


class Case(NamedTuple):
    """A computation, the row that the file gets, and how far the model's row lies from it, in units."""

    computation: Computation
    row: FloatArray
    moved: float = 0.0


def polynomial(
    c, *, d=1, order=0, gamma=0.0, rho=0.0, center=None, about="centre", degrees=(0,), rest=(0,) * 5
) -> Computation:  # fmt: skip
    """A polynomial that is its own exact model, except for what the certificate's numbers allow."""
    values = PolynomialModel(
        head=Head("c_svc", np.array([1, -1])),
        gamma=gamma,
        n_features=d,
        features=np.arange(d),
        about=about,
        centers=np.zeros((1, d)) if center is None else center[None],
        orders=np.array([[order]], dtype=np.int32),
        coefficients=np.array(c, dtype=np.float64),
        rho=np.array([rho]),
        sv_squared_norm=0.0,
        sv_squared_norms=np.zeros(1),
        bound_degrees=np.array([[degrees]], dtype=np.float64),
        bound_rest=np.array([[rest]], dtype=np.float64),
    )
    return Computation(values.head, d, values.features, None, values)


def largest_error(case: Case, value: float, unit: float) -> mpmath.mpf:
    """The distance of the file's value from the worst exact model that the certificate allows."""
    values = case.computation.values
    z = [x * (1 + mpf(case.moved) * unit) for x in exactly(case.row)]
    if (scaling := case.computation.scaling) is not None:
        z = [(x - a) * b for x, a, b in zip(z, exactly(scaling.offset), exactly(scaling.factor), strict=True)]
    apart = [a - b for a, b in zip(z, exactly(values.centers[0]), strict=True)]
    s = mpmath.fsum(a * a for a in apart)
    w, coefficients = (apart if values.about == "centre" else z), iter(exactly(values.coefficients))
    total = mpmath.fsum(
        next(coefficients) * mpmath.fprod(w[i] for i in indices)
        for m in range(int(values.orders[0, 0]) + 1)
        for indices in combinations_with_replacement(range(len(w)), m)
    )
    factor, r = mpmath.exp(-mpf(values.gamma) * s), mpmath.sqrt(s)
    exact = factor * total - mpf(float(values.rho[0]))
    degrees, rest = exactly(values.bound_degrees[0, 0]), exactly(values.bound_rest[0, 0])
    allowed = factor * mpmath.fsum(c * r**j for j, c in enumerate(degrees)) + rest[0] * r ** len(degrees)
    allowed += rest[1] + rest[2] * s + abs(factor * total) * (rest[3] + rest[4] * s)
    return abs(mpf(value) - exact) + allowed


def twins(computation: Computation, row: FloatArray, kind: Any) -> tuple[Any, Any, Any]:
    """The twin's values, their bounds, and whether the label is certain."""
    bound = bound_of(computation, kind)
    found = twin.values(computation, as_rows(row[None]), kind)
    limits = certain_twin.error_bounds(computation, bound, *found)
    return found[0], limits, certain_twin.certain(computation, bound, *found)


def cases_of(make: Callable[[float], list[Case]], kind: Any) -> list[Case]:
    """The cases with rows that the file can have."""
    unit = float(np.finfo(kind).eps) / 2
    return [case._replace(row=case.row.astype(kind).astype(np.float64)) for case in make(unit)]


def share_of_the_bound(case: Case, kind: Any) -> float:
    values, limits, _ = twins(case.computation, case.row, kind)
    error = largest_error(case, float(values[0, 0]), float(np.finfo(kind).eps) / 2)
    return float(error / mpf(float(limits[0, 0])))


def lost_sum(d: int, u: float) -> FloatArray:
    """Numbers whose squares a sum loses, one by one, after the first."""
    return np.array([1.0] + [np.sqrt(LOST * u)] * (d - 1))


def of_sum(u: float) -> list[Case]:
    """All products but the first are lost."""
    w = lost_sum(200, u)
    return [Case(polynomial([0.0, *w], d=200, order=1, rho=1.0), w, 1)]


def of_both_levels(u: float) -> list[Case]:
    """Nested sums that lose all products but the first, on both levels."""
    d = 50
    w = lost_sum(d, u)
    second = [[1.0 if i == j == 0 else w[j] if i == 0 else 0.0 for j in range(i, d)] for i in range(d)]
    return [Case(polynomial([0.0, 0.0, *w[1:], *np.concatenate(second)], d=d, order=2, rho=1.0), w, 1)]


def of_one_term(u: float) -> list[Case]:
    """One rounding each: of the coefficient, the row, the difference, the product, the sum and rho."""
    step = round(0.5 * u**-0.5) * 2 * u  # 1 + step times 1 + step - 2 u has an error of nearly u
    single = u > 1e-9
    c, x, rho = 1 + step - 2 * u + LOST * u * single, 1 + step, 1 + 2 * step - 2 * u - LOST * u * single
    center = np.array([-LOST * u])
    return [Case(polynomial([LOST * u, c], order=1, rho=rho, center=center), np.array([x]), 1)]


def of_exponent(u: float) -> list[Case]:
    """A squared distance that loses all squares but the first."""
    w = lost_sum(300, u)
    return [Case(polynomial([1.0], d=300, gamma=50.0), w, 1)]


def of_distance(u: float) -> list[Case]:
    """The same in a high power of the distance."""
    return [Case(polynomial([0.0], d=300, degrees=[0.0] * 25 + [1.0]), lost_sum(300, u))]


def far_center(u: float) -> tuple[FloatArray, FloatArray, float]:
    """A center that the file stores wrongly (in double precision it does not), a row near it, and eps."""
    center = np.array([1026 - LOST * 1024 * u * (u > 1e-9)])
    return center, np.array([1027.0]), (1026 + float(1026 - center[0]) / u) * u


def of_center_in_the_exponent(u: float) -> list[Case]:
    center, x, eps = far_center(u)
    return [Case(polynomial([1.0], gamma=min(70, 0.0045 / eps), center=center), x, 1)]


def of_slope(u: float) -> list[Case]:
    center, x, _ = far_center(u)
    return [Case(polynomial([0.0] * m + [1.0], order=m, rho=1.0, center=center), x, 1) for m in (1, 2, 4)]


def of_offset(u: float) -> list[Case]:
    offset, x, _ = far_center(u)
    made_ = polynomial([0.0, 1.0], order=1, rho=1.0)
    return [Case(replace(made_, scaling=Scaling(offset, np.ones(1))), x, 1)]


def at_the_center(u: float) -> list[Case]:
    """Where the file's distance is 0 and the model's is not."""
    center, x, eps = far_center(u)
    x = x - 1
    return [
        Case(polynomial([1.0], gamma=0.009 / eps**2, center=center), x, 1),
        Case(polynomial([0.0], center=center, rest=(0, 0, 1, 0, 0)), x, 1),
        Case(polynomial([0.0, 1.0], order=1, center=center, rest=(0, 0, 0, 1, 0)), x, 1),
    ]


def about_zero(u: float) -> list[Case]:
    """A polynomial in z, whose rounding grows with the distance from zero, not from the center."""
    w = lost_sum(200, u)
    center = np.zeros(200)
    center[0] = 1023
    made_ = polynomial([0.0, *w], d=200, order=1, rho=1024.0, gamma=1e-12, center=center, about="zero")
    return [Case(made_, 1024 * w, 1)]


def of_truncation(u: float) -> list[Case]:
    """One number of the certificate each; sizes relative to the value, with and without rho."""
    x, out = np.array([1.5]), []
    for m in range(4):
        out.append(Case(polynomial([0.0], gamma=0.5, degrees=np.eye(4)[m]), x))
    for i in range(5):
        for rho in (0.0, 0.25, 1.0):
            numbers = {"gamma": 0.5 * (rho == 0), "rho": rho, "degrees": [0.0] * 3, "rest": np.eye(5)[i]}
            out.append(Case(polynomial([1.0], **numbers), x))
    return out


def of_factor_in_the_truncation(u: float) -> list[Case]:
    """The file's factor is smaller than the model's: a row that is farther away than the model's."""
    center, x, eps = far_center(u)
    made_ = polynomial([0.0], gamma=min(70, 0.0045 / eps), center=center, degrees=[1.0])
    return [Case(made_, 2 * center.round() - x, 1)]


def of_underflow(u: float) -> list[Case]:
    single = u > 1e-9
    small, stored = (1e-20, 1e-38) if single else (1e-165, 1e-308)
    return [
        Case(polynomial([0.0], degrees=[0.0, 1.0 / small]), np.array([small])),
        Case(polynomial([0.0, stored], order=1), np.array([1e3])),
        Case(polynomial([0.0], rho=stored), np.array([1.0])),
    ]


def out_of_range(u: float) -> list[Case]:
    """A factor that is lost to underflow, and one that is wrong by a factor of 1000."""
    single = u > 1e-9
    large, s = (3e37, 86.5) if single else (1e307, 707.0)
    center = np.array([1026 * 2.0**-10 / u])
    return [
        Case(polynomial([large], gamma=1.0, rho=large * 2.7**-90), np.array([np.sqrt(s + 1.5)])),
        Case(polynomial([1.0], gamma=50.0, center=center), center + 1, -1),
        Case(polynomial([1.0], gamma=50.0, center=center), center + 1, 1),
    ]


SHARP = (
    *(of_sum, of_both_levels, of_one_term, of_exponent, of_distance, of_center_in_the_exponent, of_slope),
    *(of_offset, at_the_center, about_zero, of_truncation, of_factor_in_the_truncation),
)


@KINDS
@pytest.mark.parametrize("cases", [*SHARP, of_underflow], ids=lambda cases: cases.__name__)
def test_the_bound_covers_the_worst_case_and_hardly_more(cases, kind) -> None:
    for case in cases_of(cases, kind):
        assert 0.65 * (cases is not of_underflow) <= share_of_the_bound(case, kind) <= 1


@KINDS
def test_nothing_is_claimed_where_the_factor_is_lost(kind: Any) -> None:
    assert [share_of_the_bound(case, kind) for case in cases_of(out_of_range, kind)] == [0, 0, 0]


@KINDS
def test_an_exponential_that_errs_by_eight_units(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a C library's may; with the worst roundings of the coefficient, the product and rho."""
    u, exact, single = float(np.finfo(kind).eps) / 2, twin.exp, kind is np.float32
    for module in (twin, certain_twin):
        monkeypatch.setattr(module, "exp", lambda t: exact(t) * t.dtype.type(1 + 8 * u))
    c = 1 + round(0.065 / u) * 2 * u
    rho = float(kind(kind(c) * kind(1 + 8 * u)))
    case = Case(polynomial([c - LOST * u * single], gamma=1.0, rho=rho + LOST * u * single), np.zeros(1))
    assert (0.9 if single else 0.75) < share_of_the_bound(case, kind) <= 1


@pytest.mark.parametrize("name", CASES)
def test_the_bounds_own_arithmetic(name: str) -> None:
    """In single precision the bound is at least the same formula in double precision."""
    computation = computation_of(made(name)[1])
    bound = bound_of(computation, np.float32)
    rows = as_rows(np.random.default_rng(1).normal(size=(2000, computation.n_features)) * 0.5)
    values, cells, squared = twin.values(computation, rows, np.float32)
    wide = {name: one.astype(np.float64) for name, one in vars(bound).items() if name != "precision"}
    exact = replace(bound, precision=replace(bound.precision, slack=1.0), **wide)
    ours = certain_twin.error_bounds(computation, bound, values, cells, squared)
    found = values.astype(np.float64), cells, squared.astype(np.float64)
    plain = certain_twin.error_bounds(computation, exact, *found)
    share = (ours / plain)[np.isfinite(plain)]
    assert share.min() >= 1
    assert share.max() <= 1.0002


def at_the_bound(case: Case, kind: Any, factor: float) -> Computation:
    """The same with another offset, so that the value is `factor` times its bound."""
    made_, rho = case.computation, np.zeros(1)
    for _ in range(60):
        made_ = replace(made_, values=replace(made_.values, rho=rho))
        values, limits, _ = twins(made_, case.row, kind)
        rho = rho + np.float64(values[0, 0]) - factor * float(limits[0, 0])
    return made_


def certain_in_c(computation: Computation, row: FloatArray, kind: Any, folder: Path) -> bool:
    export = Export(write(computation, Settings("model", np.dtype(kind), {}))[0], cast(Any, None))
    return bool(compiled(export, folder).certain(row[None])[0])


#: Cases whose value can be set to about any multiple of the bound.
MOVED = (*(cases for cases in SHARP if cases not in (of_one_term, of_truncation)), of_underflow)


@pytest.mark.nightly
@needs_compiler
@KINDS
@pytest.mark.parametrize("cases", [*MOVED, out_of_range], ids=lambda cases: cases.__name__)
def test_the_c_text_has_the_same_terms(cases, kind, tmp_path) -> None:
    """Where the factor is lost, nothing is certain."""
    found = set()
    for case in cases_of(cases, kind):
        for factor in (0.93, 1.07) if cases is not out_of_range else (None,):
            made_ = case.computation if factor is None else at_the_bound(case, kind, factor)
            sure = bool(twins(made_, case.row, kind)[2][0])
            assert certain_in_c(made_, case.row, kind, tmp_path) == sure
            found.add(sure)
    assert found == ({False} if cases is out_of_range else {True, False})
