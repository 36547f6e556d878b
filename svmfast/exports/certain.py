"""Decides when the label that an exported file computes is provably the exact model's.

The bound includes the rounding of the file's own arithmetic. docs/export.md, "The proof", derives every
constant here. All numbers of the bound are rounded up when they are written, and none is below a
floor that is far above the underflow limit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmfast.certificate import proven_signs, vote_is_certain
from svmfast.exports.certain_scaling import entry_errors, stored_numbers
from svmfast.exports.computation import Computation, Polynomials
from svmfast.exports.monomials import degrees
from svmfast.exports.twin import Reals, exp, root

FloatArray = NDArray[np.float64]

#: Bound on the error of the file's exponential, or of the C library's, in rounding units.
EXP_UNITS = 8
#: Entries that a row of pairs may have beyond the variables, as in svmfast.certificate.
SPARE = 4096


@dataclass(frozen=True)
class Precision:
    """The constants that differ between the bounds of single and double precision.

    Attributes
    ----------
    unit : float
        Half the distance between 1 and the next larger number.
    floor : float
        The smallest number that a bound contains.
    tiny : float
        Added to every distance, to cover underflow.
    largest_exponent : float
        Rows with a larger gamma |z - mu|^2 are not certified.
    slack : float
        Factor that covers the rounding errors of the bound itself.
    """

    unit: float
    floor: float
    tiny: float
    largest_exponent: float
    slack: float


PRECISIONS = {
    np.dtype(np.float32): Precision(2.0**-24, 1e-30, 1e-15, 80.0, 1.0001),
    np.dtype(np.float64): Precision(2.0**-53, 1e-290, 1e-149, 600.0, 1.000000001),
}


@dataclass(frozen=True, eq=False)
class Bound:
    """The numbers of an exported certificate, in the file's precision.

    Attributes
    ----------
    degrees : (cells, p, top + 1)
    rest : (cells, p, 5)
        Bounds on the truncation error, as :func:`svmfast.certificate.error_bounds` takes them.
    rounding : (cells, p, order + 1)
        Factors of the m-th powers of the radius: the rounding errors of sums and coefficients of degree m.
    slope : (cells, p, max(order, 1))
        Factors of the (m - 1)-th powers of the radius: how fast the terms of degree m can change.
    reach : (cells,)
        Bound on how much longer the vector of the polynomials' variables is than the distance from the
        center.
    step : ()
        Bound on how far rounding moves a row, relative to its distance from the center.
    shift : (cells,)
        Bound on how far rounding moves the center, and rows independently of their distance.
    """

    precision: Precision
    degrees: Reals
    rest: Reals
    rounding: Reals
    slope: Reals
    reach: Reals
    step: Reals
    shift: Reals


def has_certificate(computation: Computation) -> bool:
    """Return whether the labels of a computation can be certified."""
    values = computation.values
    return (
        isinstance(values, Polynomials)
        and values.certificate is not None
        and not computation.head.is_regression
        and not computation.head.one_vs_rest
        and computation.head.n_functions > 0
    )


def bound_of(computation: Computation, dtype: Any) -> Bound | None:
    """Return the numbers of the certificate of a file in `dtype`.

    None if the computation has no certificate, or if a number is out of the range of `dtype`.
    """
    if not has_certificate(computation):
        return None
    values = computation.values
    assert isinstance(values, Polynomials)
    assert values.certificate is not None
    kind = np.dtype(dtype)
    precision = PRECISIONS[kind]
    if values.gamma and not np.finfo(kind).tiny < values.gamma < np.finfo(kind).max:
        return None
    (cells, p), d = values.orders.shape, len(computation.variables)
    if computation.n_features > d + SPARE:
        return None
    order = int(values.orders.max(initial=0))
    sizes = _norms(values, kind, order, d)
    # The roundings of the products and additions that a term goes through, and of its coefficient.
    rounding = sizes * (1.01 * (order * (d + 1) + 1) * precision.unit)
    slope = (sizes * np.arange(order + 1))[..., 1:] if order else np.zeros((cells, p, 1))
    centers = values.centers
    stored = stored_numbers(centers, kind)
    reach = np.zeros(cells) if values.centered else np.sqrt((centers * centers).sum(axis=1))
    relative, absolute = entry_errors(computation.scaling, kind, precision.unit)
    step = np.asarray(1.005 * (precision.unit + relative))
    shift = (
        np.sqrt(((stored - centers) ** 2).sum(axis=1))
        + relative * np.sqrt((stored**2).sum(axis=1))
        + absolute
    )
    numbers = (values.certificate.degrees, values.certificate.rest, rounding, slope, reach, step, shift)
    with np.errstate(over="ignore"):
        written = [np.asarray(np.maximum(one, precision.floor).astype(kind)) for one in numbers]
    if not all(np.isfinite(one).all() for one in (*written, stored_numbers(values.rho, kind))):
        return None
    return Bound(precision, *written)


def _norms(values: Polynomials, kind: np.dtype[Any], order: int, d: int) -> FloatArray:
    """Return the norms of the stored coefficients of every degree, ``(cells, p, order + 1)``."""
    cells, p = values.orders.shape
    sizes = np.zeros((cells, p, order + 1))
    multiplicities = [one.multiplicity for one in degrees(d, order)]
    stored = stored_numbers(values.coefficients, kind)
    at = 0
    for cell in range(cells):
        for f in range(p):
            for m in range(int(values.orders[cell, f]) + 1):
                share = multiplicities[m]
                sizes[cell, f, m] = _norm(stored[at : at + len(share)], share)
                at += len(share)
    return sizes


def _norm(c: FloatArray, share: FloatArray) -> float:
    """Return sqrt(sum c^2 / multiplicity), the norm of the terms of one degree as a symmetric form."""
    largest = float(np.abs(c).max(initial=0.0))
    if largest == 0 or not math.isfinite(largest):
        return largest
    scale = 2.0 ** math.frexp(largest)[1]
    return scale * math.sqrt(float(((c / scale) ** 2 / share).sum()))


def certain(
    computation: Computation,
    bound: Bound,
    decisions: Reals,
    cells: NDArray[np.int32],
    squared: Reals,
    terms: int | None = None,
) -> NDArray[np.bool_]:
    """Return for each row whether its label is certain, in the file's own arithmetic.

    Parameters
    ----------
    decisions, cells, squared
        As :func:`svmfast.exports.twin.values` gives them.
    terms : int, optional
        Number of entries that a squared distance sums; by default those of a dense row.
    """
    bounds = error_bounds(computation, bound, decisions, cells, squared, terms)
    sure = proven_signs(decisions, bounds)
    head = computation.head
    if head.labels is None or head.n_classes == 2:
        return np.asarray(sure[:, 0])
    return np.asarray(vote_is_certain(sure, decisions.astype(np.float64), head.n_classes))


def error_bounds(
    computation: Computation,
    bound: Bound,
    decisions: Reals,
    cells: NDArray[np.int32],
    squared: Reals,
    terms: int | None = None,
) -> Reals:
    """Return bounds on the distances of the exact model's values from the file's, ``(n, p)``."""
    values = computation.values
    assert isinstance(values, Polynomials)
    kind = squared.dtype
    real = kind.type
    precision = bound.precision
    u = real(precision.unit)
    gamma = real(values.gamma)
    n_terms = real((computation.n_features if terms is None else terms) + 8)
    with np.errstate(all="ignore"):
        s = squared[:, None]
        r = root(np.ascontiguousarray(s))
        r = r + r * (real(0.51) * n_terms * u) + real(precision.tiny)
        eps = bound.step * r + bound.shift[cells][:, None]
        phi = gamma * (real(1.01) * n_terms * u * s + (real(2) * r + eps) * eps)
        open_ = ~(gamma * s < real(precision.largest_exponent)) | ~(phi < real(0.01))
        if values.gamma:
            phi = real(1.05) * (phi + real(EXP_UNITS) * u)
            factor = exp(-gamma * s) * (real(1) + phi)
            of_value = phi + real(2.02) * u
        else:
            factor, of_value = real(1), real(1.01) * u
        r = r + eps
        square = r * r
        rho = r + bound.reach[cells][:, None]
        size = np.abs(decisions) + np.abs(values.rho.astype(kind))
        near = factor * (_horner(bound.rounding[cells], rho) + eps * _horner(bound.slope[cells], rho))
        near = near + size * of_value
        rest = bound.rest[cells]
        beyond = rest[..., 0]
        for _ in range(bound.degrees.shape[-1]):
            beyond = beyond * r
        beyond = beyond + (rest[..., 1] + rest[..., 2] * square)
        beyond = beyond + (size + near) * (rest[..., 3] + rest[..., 4] * square)
        beyond = beyond + factor * _horner(bound.degrees[cells], r)
        out = (near + beyond) * real(precision.slack)
    return np.asarray(np.where(open_ | np.isnan(out), real(np.inf), out))


def _horner(coefficients: Reals, at: Reals) -> Reals:
    total = coefficients[..., -1]
    for j in range(coefficients.shape[-1] - 2, -1, -1):
        total = total * at + coefficients[..., j]
    return np.asarray(total)
