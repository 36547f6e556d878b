"""Each term of NAME_certain's bound, in a case whose error comes close to that term, with fifty digits.

In the worst case of a term the error is more than half of the bound, and the bound without half of the term
is smaller than the error.
"""

from dataclasses import replace
from itertools import combinations_with_replacement, product
from typing import Any, NamedTuple, cast

import certain_twin
import export_twin as twin
import mpmath
import numpy as np
import pytest
from c_exports import compiled, needs_compiler
from cell_models import one_function
from certain_conversions import CASES, PRECISIONS, made
from fifty_digits import exactly, mpf
from nightly import nightly_but

from svmfast.commands.exported import Export
from svmfast.exports.accuracy import Settings
from svmfast.exports.c import write
from svmfast.exports.certain import bound_of
from svmfast.exports.computation import Computation, computation_of
from svmfast.models.head import Head
from svmfast.models.scaling import Scaling
from svmfast.rows import FloatArray, as_rows

#: The factor of a number that is lost when it is added to 1: nearly half the distance to the next number.
LOST = 0.99
HEAD = Head("c_svc", np.array([1, -1]))
KINDS = pytest.mark.parametrize("kind", PRECISIONS.values(), ids=PRECISIONS)


class Case(NamedTuple):
    """A computation, the row that the file gets, and how far the model's row lies from it, in units."""

    computation: Computation
    row: FloatArray
    moved: float = 1.0


def polynomial(
    c, *, d=1, order=0, gamma=0.0, rho=0.0, center=None, about="centre", degrees=(0,), rest=(0,) * 5
):  # fmt: skip
    """A polynomial that is its own exact model, except for what the certificate's numbers allow."""
    numbers = {"bound_degrees": np.array([[degrees]], float), "bound_rest": np.array([[rest]], float)}
    values = one_function(
        d, order, np.array(c, float), about, center, head=HEAD, gamma=gamma, rho=np.array([rho]), **numbers
    )
    return Computation(values.head, d, values.features, None, values)


def largest_error(case, value, unit):
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


def twins(computation, row, kind):
    bound = bound_of(computation, kind)
    found = twin.values(computation, as_rows(row[None]), kind)
    limits = certain_twin.error_bounds(computation, bound, *found)
    return found[0], limits, certain_twin.certain(computation, bound, *found)


def cases_of(name, kind):
    found = MAKERS[name](float(np.finfo(kind).eps) / 2)
    return [case._replace(row=case.row.astype(kind).astype(np.float64)) for case in found]


def share_of_the_bound(case, kind):
    values, limits, _ = twins(case.computation, case.row, kind)
    error = largest_error(case, float(values[0, 0]), float(np.finfo(kind).eps) / 2)
    return float(error / mpf(float(limits[0, 0])))


def worst_cases(u):
    """Rows in whose values all roundings go one way."""
    single = u > 1e-9

    def lost(d):
        """Numbers whose squares a sum loses, one by one, after the first."""
        return np.array([1.0] + [np.sqrt(LOST * u)] * (d - 1))

    w, w_300, d, first = lost(200), lost(300), 50, np.eye(1, 200)[0]
    # Nested sums that lose all products but the first, on both levels.
    second = [[1.0 if i == j == 0 else w[j] * (i == 0) for j in range(i, d)] for i in range(d)]
    both = [0.0, 0.0, *w[1:d], *np.concatenate(second)]
    # 1 + step times 1 + step - 2 u has an error of nearly u.
    step = round(0.5 * u**-0.5) * 2 * u
    c, rho = 1 + step - 2 * u + LOST * u * single, 1 + 2 * step - 2 * u - LOST * u * single
    once = polynomial([LOST * u, c], order=1, rho=rho, center=np.array([-LOST * u]))
    # A center that the file stores wrongly (in double precision it does not), a row near it, and eps.
    center, x = np.array([1026 - LOST * 1024 * u * single]), np.array([1027.0])
    eps = (1026 + float(1026 - center[0]) / u) * u
    at, narrow = {"center": center}, {"center": center, "gamma": min(70, 0.0045 / eps)}
    slopes = [polynomial([0.0] * m + [1.0], order=m, rho=1.0, **at) for m in (1, 2, 4)]
    scaled = replace(polynomial([0.0, 1.0], order=1, rho=1.0), scaling=Scaling(center, np.ones(1)))
    at_the_center = [
        polynomial([1.0], gamma=0.009 / eps**2, center=center),
        polynomial([0.0], rest=(0, 0, 1, 0, 0), **at),
        polynomial([0.0, 1.0], order=1, rest=(0, 0, 0, 1, 0), **at),
    ]
    # A polynomial in z, whose rounding grows with the distance from zero, not from the center.
    far = {"about": "zero", "center": 1023 * first, "rho": 1024.0, "gamma": 1e-12}
    # One number of the certificate each; sizes relative to the value, with and without rho.
    truncated = [polynomial([0.0], gamma=0.5, degrees=one) for one in np.eye(4)]
    for one, of_rho in product(np.eye(5), (0.0, 0.25, 1.0)):
        numbers = {"gamma": 0.5 * (of_rho == 0), "rho": of_rho, "degrees": [0.0] * 3, "rest": one}
        truncated.append(polynomial([1.0], **numbers))
    return {
        "sum": [Case(polynomial([0.0, *w], d=200, order=1, rho=1.0), w)],
        "both levels": [Case(polynomial(both, d=d, order=2, rho=1.0), w[:d])],
        "one term": [Case(once, np.array([1 + step]))],
        "exponent": [Case(polynomial([1.0], d=300, gamma=50.0), w_300)],
        "distance": [Case(polynomial([0.0], d=300, degrees=[0.0] * 25 + [1.0]), w_300, 0)],
        "center in the exponent": [Case(polynomial([1.0], **narrow), x)],
        "slope": [Case(one, x) for one in slopes],
        "offset": [Case(scaled, x)],
        "at the center": [Case(one, x - 1) for one in at_the_center],  # the file's distance is 0
        "about zero": [Case(polynomial([0.0, *w], d=200, order=1, **far), 1024 * w)],
        "truncation": [Case(one, np.array([1.5]), 0) for one in truncated],
        # The file's factor is smaller than the model's: a row that is farther away than the model's.
        "factor": [Case(polynomial([0.0], degrees=[1.0], **narrow), 2 * center.round() - x)],
    }


def of_underflow(u):
    small, stored = (1e-20, 1e-38) if u > 1e-9 else (1e-165, 1e-308)
    return [
        Case(polynomial([0.0], degrees=[0.0, 1.0 / small]), np.array([small]), 0),
        Case(polynomial([0.0, stored], order=1), np.array([1e3]), 0),
        Case(polynomial([0.0], rho=stored), np.array([1.0]), 0),
    ]


def out_of_range(u):
    """A factor that is lost to underflow, one beyond the limit, and one that is wrong by a factor of 1000."""
    large, s, limit = (3e37, 86.5, 80) if u > 1e-9 else (1e307, 707.0, 600)
    center = np.array([1026 * 2.0**-10 / u])
    wrong = polynomial([1.0], gamma=50.0, center=center)
    lost = polynomial([large], gamma=1.0, rho=large * 2.7**-90)
    beyond = Case(polynomial([1.0], gamma=1.0), np.array([np.sqrt(limit + 0.5)]), 0)
    rows = [Case(wrong, center + 1, -1), Case(wrong, center + 1), beyond]
    return [Case(lost, np.array([np.sqrt(s + 1.5)]), 0), *rows]


SHARP = tuple(worst_cases(2.0**-24))
#: Every case, by its name.
MAKERS = {
    **{name: lambda u, name=name: worst_cases(u)[name] for name in SHARP},
    "underflow": of_underflow,
    "out of range": out_of_range,
}


@KINDS
@pytest.mark.parametrize("name", MAKERS)
def test_the_bound_covers_the_worst_case_and_hardly_more(name, kind):
    for case in cases_of(name, kind):
        share = share_of_the_bound(case, kind)
        assert share == 0 if name == "out of range" else 0.65 * (name in SHARP) <= share <= 1


@KINDS
def test_an_exponential_that_errs_by_eight_units(kind, monkeypatch):
    """As a C library's may; with the worst roundings of the coefficient, the product and rho."""
    u, exact, single = float(np.finfo(kind).eps) / 2, twin.exp, kind is np.float32
    for module in (twin, certain_twin):
        monkeypatch.setattr(module, "exp", lambda t: exact(t) * t.dtype.type(1 + 8 * u))
    c = 1 + round(0.065 / u) * 2 * u
    rho = float(kind(kind(c) * kind(1 + 8 * u)))
    case = Case(polynomial([c - LOST * u * single], gamma=1.0, rho=rho + LOST * u * single), np.zeros(1), 0)
    assert (0.9 if single else 0.75) < share_of_the_bound(case, kind) <= 1


@pytest.mark.parametrize("name", CASES)
def test_the_bounds_own_arithmetic(name):
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


def at_the_bound(case, kind, factor):
    """The same with another offset, so that the value is `factor` times its bound."""
    made_, rho = case.computation, np.zeros(1)
    for _ in range(60):
        made_ = replace(made_, values=replace(made_.values, rho=rho))
        values, limits, _ = twins(made_, case.row, kind)
        rho = rho + np.float64(values[0, 0]) - factor * float(limits[0, 0])
    return made_


MOVED = [name for name in MAKERS if name not in ("one term", "truncation")]


@needs_compiler
@KINDS
@pytest.mark.parametrize("name", nightly_but(["underflow", "about zero"], MOVED))
def test_the_c_text_has_the_same_terms(name, kind, tmp_path):
    found, lost = set(), name == "out of range"
    for case, factor in product(cases_of(name, kind), (0.93, 1.07)):
        made_ = case.computation if lost else at_the_bound(case, kind, factor)
        sure = bool(twins(made_, case.row, kind)[2][0])
        export = Export(write(made_, Settings("model", np.dtype(kind), {}))[0], cast(Any, None))
        assert compiled(export, tmp_path).certain(case.row[None])[0] == sure
        found.add(sure)
    assert found == ({False} if lost else {True, False})
