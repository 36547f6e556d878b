"""Chooses the units of a file in integer arithmetic and rounds its numbers, so that no sum leaves 32 bits.

It also decides which labels of the file are certain: docs/export.md, "Integers: the proof". The bound depends
on a row by s, its squared distance in units, and by the value itself. It is solved for the value here, so
that the file only compares: a table has the threshold of every value for each part of s.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from svmfast.certificate import SPARE_ENTRIES
from svmfast.errors import UnsupportedError
from svmfast.exports.certain import MODEL_UNITS
from svmfast.exports.computation import Computation, Degree, KernelSums, degrees
from svmfast.exports.fixed import EXP_ERROR, Fixed, Inputs, Ranges
from svmfast.exports.reference import owned_functions
from svmfast.models.polynomial import PolynomialModel
from svmfast.monomials import monomials, multiplicities, symmetric_norms, times_each_variable
from svmfast.rows import FloatArray, IntArray

#: The largest size of a v_j: one less than 16 bits hold, so that a row beyond the ranges can say so.
LARGEST = 32766
#: What sums may reach.
LIMIT = 2**31 - 1
#: The smallest and the largest k of a file.
_EXPONENTS = range(16, 41)
_U32 = 2.0**-24


def planned(computation: Computation, ranges: Ranges) -> Fixed:
    """Choose units and round all numbers; an UnsupportedError says why a model has no such form."""
    values, scaling, what = computation.values, computation.scaling, ""
    sums, instead = isinstance(values, KernelSums), "export without `fixed`"
    if computation.route is not None:
        what = "a model with cells"
    elif computation.map is not None:
        what = "a model with a map of the features"
    elif scaling is not None and scaling.clip is not None:
        what = "a scaling that clips"
    elif isinstance(values, KernelSums) and not len(values.vectors):
        what = "a model without vectors"
    elif isinstance(values, KernelSums) and values.kernel != "rbf":
        what = f"a {values.kernel} kernel"
        if values.kernel in ("linear", "polynomial"):
            instead = f"approximate it, which is exact for this kernel, or {instead}"
    if what:
        raise UnsupportedError(f"{what} has no form in fixed point", instead)
    ends = np.stack([ranges.least, ranges.largest])
    if scaling is not None:
        ends = (ends - scaling.offset) * scaling.factor
    return (_sums if sums else _polynomial)(computation, ranges, ends)


def _in_units(
    computation: Computation, ranges: Ranges, gamma: float, center: FloatArray, vectors: FloatArray
) -> tuple[Inputs, IntArray, int]:
    """The integers of rows and of vectors in the finest unit of a kernel, and its k."""
    for k in reversed(_EXPONENTS):
        unit = np.full(len(center), math.sqrt(math.log(2) / gamma / 2.0**k))
        made, whole = inputs_of(computation, ranges, center, unit), np.rint((vectors - center) / unit)
        if made is not None:
            far = made.reach + np.abs(whole).max(axis=0)
            if far.max() <= LARGEST and (far**2).sum() < 2**32:
                return made, whole.astype(np.int64), k
    raise UnsupportedError(
        f"gamma {gamma:g} is too large for the ranges of the data in fixed point", "export without `fixed`"
    )


def inputs_of(
    computation: Computation, ranges: Ranges, center: FloatArray, unit: FloatArray
) -> Inputs | None:
    """The integers of rows; None if they do not fit into 16 bits."""
    n, scaling = computation.n_features, computation.scaling
    factor = np.ones(n) if scaling is None else scaling.factor
    start = np.zeros(n) if scaling is None else scaling.offset
    scale = factor / unit
    offset = start + np.divide(center, factor, out=np.zeros(n), where=factor != 0)
    constant = np.where(factor == 0, np.rint(-center / unit), 0.0)
    ends = np.stack([ranges.least, ranges.largest])
    box = np.sort((ends - offset) * scale + constant, axis=0)
    if (np.abs(box) > LARGEST - 2).any():
        return None
    low, high = np.floor(box[0]).astype(np.int64), np.ceil(box[1]).astype(np.int64)
    reach, error = np.maximum(np.abs(low), np.abs(high)), 0.5 + _quantizing(ranges, offset, scale, box)
    bias = multiplier = np.zeros(n, dtype=np.int64)
    if ranges.whole:
        low, high = ends.astype(np.int64)
        multiplier = np.rint(scale * 65536).astype(np.int64)
        bias = np.rint((((low - offset) * scale + constant) + 32768.5) * 65536).astype(np.int64)
        error = 0.5 + ((high - low) * np.abs(scale * 65536 - multiplier) + 1) / 65536
        reach = reach + 1
    made = Inputs(ranges, low, high, offset, scale, bias, multiplier, unit, center, reach, error)
    # The model's own scaling, and that of this function in double precision.
    z = np.abs(center) + unit * (reach + 1)
    lower = 0.0 if scaling is None or scaling.ranges is None else abs(scaling.ranges.lower)
    digits = 0.0 if scaling is None or scaling.digits is None else 0.5 * 10.0 ** (1 - scaling.digits)
    double = (MODEL_UNITS + 2.0**-48) * (z + np.abs(factor * start) + lower)
    return replace(made, error=unit * error + digits * z + double)


def _quantizing(ranges: Ranges, offset: FloatArray, scale: FloatArray, box: FloatArray) -> FloatArray:
    """How far the single precision of NAME_quantize moves v_j before it is rounded, ``(n_features,)``."""
    with np.errstate(over="ignore"):
        of, by = offset.astype(np.float32).astype(float), scale.astype(np.float32).astype(float)
    y = np.maximum(np.abs(ranges.least), np.abs(ranges.largest))
    relative = np.divide(np.abs(by - scale), np.abs(scale), out=np.zeros(len(y)), where=scale != 0)
    moved = np.abs(scale) * (_U32 * y + np.abs(of - offset))
    return np.asarray(1.01 * (moved + (4 * _U32 + relative) * (np.abs(box).max(axis=0) + 3)))


def _polynomial(computation: Computation, ranges: Ranges, ends: FloatArray) -> Fixed:
    model, exponent = computation.values, None
    assert isinstance(model, PolynomialModel)
    inputs: Inputs | None
    if model.gamma:
        center = np.zeros(computation.n_features)
        center[computation.variables] = model.centers[0]
        inputs, _, exponent = _in_units(computation, ranges, model.gamma, center, center[None])
    else:
        center, half = ends.mean(axis=0), np.abs(ends[1] - ends[0]) / 2
        inputs = inputs_of(computation, ranges, center, np.where(half > 0, half, 1.0) / (LARGEST - 4))
        assert inputs is not None
    order = max(1, model.order)
    found = _about(model, order, center[computation.variables])
    return _rounded(computation, inputs, exponent, *found, order)


def _about(model: PolynomialModel, order: int, center: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The polynomials in z - center, ``(p, count)``, and bounds on what double precision loses, of both."""
    d = model.centers.shape[1]
    count = math.comb(d + order, order)
    packed = np.zeros((len(model.rho), count))
    for p, (start, size) in enumerate(zip(model.starts[0].tolist(), model.counts(), strict=True)):
        packed[p, :size] = model.coefficients[start : start + size]
    step = center - (model.centers[0] if model.about == "centre" else 0.0)
    loss = moved(np.abs(packed), d, order, np.abs(step)) * ((16 * order * (d + 4) + 100) * 2.0**-53)
    return moved(packed, d, order, step), loss


def moved(packed: FloatArray, d: int, order: int, step: FloatArray) -> FloatArray:
    """The polynomials of w from those of ``w + step``: powers of ``step . gradient`` over j!, summed."""
    ends = np.cumsum([0] + [math.comb(d + m - 1, m) for m in range(order + 1)])
    out, term = packed.copy(), packed
    order = order if step.any() else 0
    for j in range(1, order + 1):
        following = np.zeros_like(packed)
        for m in range(1, order + 1):
            for variable, at in enumerate(times_each_variable(d, m - 1)):
                exponent = m * multiplicities(d, m - 1) / multiplicities(d, m)[at]
                following[:, ends[m - 1] : ends[m]] += step[variable] / j * exponent * term[:, ends[m] + at]
        term = following
        out += term
    return np.asarray(out)


def _rounded(
    computation: Computation,
    inputs: Inputs,
    exponent: int | None,
    polynomials: FloatArray,
    loss: FloatArray,
    order: int,
) -> Fixed:
    variables, rho = computation.variables, computation.values.rho.reshape(-1)
    d, reach, of = len(variables), inputs.reach[variables], list(degrees(len(variables), order))
    ends = np.cumsum([0] + [len(one.last) for one in of])
    powers = [monomials(inputs.unit[variables, None], m)[:, 0] for m in range(order + 1)]
    parts = [polynomials[:, ends[m] : ends[m + 1]] * powers[m] for m in range(order + 1)]
    if exponent is None:  # nothing comes between the constant and rho
        parts[0], rho = parts[0] - rho[:, None], np.zeros_like(rho)
    largest = _largest([np.abs(part) for part in parts], of, reach)
    largest[0] = largest[0] + np.abs(rho)[:, None]
    sizes = [max(float(one.max(initial=0.0)), 1e-300) / (0.99 * LIMIT) for one in largest[:order]]
    unit, drop = max(float(np.abs(parts[order]).max(initial=0.0)) / 32766, sizes[-1]), 0
    while any(size > unit * 2.0 ** ((16 + drop) * m) for m, size in enumerate(sizes[::-1])):
        drop += 1
    units = [unit * 2.0 ** ((16 + drop) * (order - 1 - m)) for m in range(order)] + [unit]
    whole = [np.rint(part / one).astype(np.int64) for part, one in zip(parts, units, strict=True)]
    whole_rho = np.rint(rho / units[0]).astype(np.int64)
    reached = _largest([np.abs(part) for part in whole], of, reach, 16 + drop)
    reached[0] = reached[0] + np.abs(whole_rho)[:, None]
    assert max(int(one.max()) for one in reached) <= LIMIT
    assert np.abs(whole[order]).max() < 2**15
    apart = [np.abs(whole[m] * units[m] - parts[m]) + 2.0**-49 * np.abs(parts[m]) for m in range(order + 1)]
    errors = np.hstack([one / by for one, by in zip(apart, powers, strict=True)]) * (1 + 1e-9) + loss
    exact = np.hstack([one / by for one, by in zip(parts, powers, strict=True)])
    norms, full = (np.array([symmetric_norms(row, d, order) for row in one]) for one in (errors, exact))
    # A cut product is off by less than 2 units, and what its sum is off by goes on to the next degree.
    lost = 0.0
    for _ in range(order - 1):
        lost = float(reach.sum()) * lost / 2.0 ** (16 + drop) + 2 * d
    constant = np.full(len(rho), lost + 4)  # two roundings of the product with the factor, rho, the rest
    lower, top = np.hstack(whole[:order]), whole[order]
    return Fixed(
        computation, inputs, exponent, units[0], whole_rho, drop, constant, lower, top, order, norms, full
    )


def _largest(parts: list[Any], of: list[Degree], reach: IntArray, cut: int | None = None) -> list[Any]:
    """What the sums of every degree reach at most, ``(p, count)`` each; `cut`: those of the integers."""
    found = [parts[-1]]
    for m in range(len(parts) - 1, 0, -1):
        terms = found[0] * reach[of[m].last]
        if cut is not None and m < len(parts) - 1:
            terms = (terms >> cut) + 2
        found.insert(0, parts[m - 1] + np.add.reduceat(terms, of[m].first, axis=1))
    return found


def _sums(computation: Computation, ranges: Ranges, ends: FloatArray) -> Fixed:
    values = computation.values
    assert isinstance(values, KernelSums)
    gamma, rho = float(values.gamma[0]), values.rho[0]
    center = np.vstack([ends, values.vectors])
    center = (center.min(axis=0) + center.max(axis=0)) / 2
    inputs, whole, k = _in_units(computation, ranges, gamma, center, values.vectors)
    step = max(float(np.abs(values.coef).max()) / 32767, 1e-300)
    small = np.rint(values.coef / step).astype(np.int64)
    apart = np.sqrt(((values.vectors - center - whole * inputs.unit) ** 2).sum(axis=1)) * (1 + 1e-9)
    moved_by = math.sqrt(float((inputs.error**2).sum())) + apart
    # A kernel value: the distance (its derivative is at most sqrt(2 gamma / e)), 2^-k, and its last unit.
    kernel = math.sqrt(2 * gamma / math.e) * moved_by + EXP_ERROR + 2.0**-17 + 1e-9
    totals, lost, error = (np.zeros(len(rho)) for _ in range(3))
    functions, owner = owned_functions(values, 0, len(whole))
    for i, c in enumerate(owner.tolist()):
        totals[functions[c]] += np.abs(small[:, i])
        lost[functions[c]] += 1
        error[functions[c]] += np.abs(values.coef[:, i]) * kernel[i]
        error[functions[c]] += np.abs(small[:, i] * step - values.coef[:, i])
    totals = (totals + np.abs(rho) / step) * 65536
    drop = 0
    while (totals / 2**drop + lost > LIMIT - 2).any():
        drop += 1
    unit = step / 65536 * 2**drop
    constant = error / unit * (1 + 1e-9) + lost + 1
    whole_rho = np.rint(rho / unit).astype(np.int64)
    return Fixed(computation, inputs, k, unit, whole_rho, drop, constant, vectors=whole, coef=small)


#: Powers of two of s that are divided; each part is looked at in `_FINE` pieces.
_POWERS, _FINE = 8, 4
#: The theorem says nothing of rows with a larger gamma r^2.
_LARGEST_EXPONENT = 599.0


class Thresholds(NamedTuple):
    """A sign is certain if the size of the integer value exceeds that of the part of s.

    The number of the part is t = s >> shift below ``2 * step``; else t is halved until it is, and `step` is
    added each time.
    """

    of: IntArray
    shift: int = 0
    step: int = 1

    def parts(self, s: IntArray) -> IntArray:
        """The number of the part of each s."""
        t = s >> self.shift
        halved = np.zeros_like(t)
        while (over := t >= 2 * self.step).any():
            t, halved = np.where(over, t >> 1, t), halved + over
        return np.asarray(t + self.step * halved)


def thresholds(plan: Fixed) -> Thresholds | None:
    """Compute them; None for answers that are not votes."""
    computation = plan.computation
    model, head = computation.values, computation.head
    if head.is_regression or head.one_vs_rest:
        return None
    if not isinstance(model, PolynomialModel):
        return Thresholds(_whole(plan.constant[:, None]))
    if computation.n_features > len(computation.variables) + SPARE_ENTRIES:
        return None
    gamma, inputs = model.gamma, plan.inputs
    eps = math.sqrt(float((inputs.error**2).sum())) * (1 + 1e-9)
    if plan.exponent is None:
        nothing = np.zeros(1)
        center, inside = np.zeros(computation.n_features), inputs.unit * inputs.reach
        center[computation.variables] = model.centers[0]
        far = inside + np.abs(inputs.center - center)
        r, reach = (np.array([math.sqrt(float((one**2).sum()))]) for one in (inside, far))
        return Thresholds(_whole(_limits(plan, model, nothing, r, reach, eps, nothing)))
    step = 8 if len(model.rho) <= 3 else 2
    shift = max(0, plan.largest.bit_length() - _POWERS - step.bit_length())
    parts = int(Thresholds(np.zeros(0, np.int64), shift, step).parts(np.array([plan.largest]))[0]) + 1
    number = np.arange(parts + 1)
    halved = np.maximum(number // step - 1, 0)
    ends = (number - step * halved) * 2.0 ** (halved + shift)
    fine = np.arange(_FINE) / _FINE
    edges = np.append(ends[:-1, None] + np.diff(ends)[:, None] * fine, ends[-1])
    edges = np.minimum(edges, plan.largest)
    r = np.sqrt(edges[1:]) * float(inputs.unit[0]) * (1 + 1e-9)
    least_exponent = edges[:-1] * (math.log(2) / 2.0**plan.exponent)
    phi = np.expm1(gamma * (2 * r + eps) * eps)
    found = _limits(plan, model, least_exponent, r, r, eps, phi)
    found[:, gamma * (r + eps) ** 2 > _LARGEST_EXPONENT] = np.inf
    return Thresholds(_whole(found.reshape(len(found), parts, _FINE).max(axis=2)), shift, step)


def _limits(
    plan: Fixed,
    model: PolynomialModel,
    exponent: FloatArray,
    r: FloatArray,
    reach: FloatArray,
    eps: float,
    phi: FloatArray,
) -> FloatArray:
    """What values must exceed, in units, ``(p, number of r)``.

    The file's row is within r of the center of the polynomials, the model's within `eps` of that, and within
    ``reach + eps`` of the center of the expansion.
    """
    assert plan.norms is not None
    assert plan.sizes is not None
    p = len(model.rho)
    rho, constant = np.abs(model.rho)[:, None], plan.constant[:, None] * plan.unit
    factor = np.exp(-exponent) * (1 + phi)
    slope = plan.sizes[:, 1:] * np.arange(1, plan.order + 1)
    polynomial = _at(plan.norms, r + eps) + eps * _at(slope, r + eps)
    of_value = (1 + phi) / (1 - (EXP_ERROR if plan.exponent is not None else 0.0)) - 1
    near = factor * polynomial + constant * (1 + phi)
    degrees, rest = np.zeros((p, 1)), np.zeros((p, 5))
    if model.bound_degrees is not None and model.bound_rest is not None:
        degrees, rest = model.bound_degrees[0], model.bound_rest[0]
    far = reach + eps
    share = rest[:, 3:4] + rest[:, 4:5] * far**2
    beyond = factor * _at(degrees, far) + rest[:, :1] * far ** degrees.shape[1]
    beyond = beyond + rest[:, 1:2] + rest[:, 2:3] * far**2
    share_of_value = of_value + share * (1 + of_value)
    limits = near * (1 + share) + beyond + share_of_value * (rho + constant)
    with np.errstate(divide="ignore"):
        solved = np.where(share_of_value < 1, limits / (1 - share_of_value), np.inf)
    return np.asarray(solved * (1 + 1e-9) / plan.unit)


def _at(coefficients: FloatArray, x: FloatArray) -> FloatArray:
    """Evaluate polynomials of several rows, ``(p, number of x)``."""
    return np.asarray(coefficients @ (x ** np.arange(coefficients.shape[1])[:, None]))


def _whole(limits: FloatArray) -> IntArray:
    return np.ceil(np.minimum(limits, LIMIT)).astype(np.int64)
