"""Decides which labels of a file in integer arithmetic are certain: docs/export.md, "Integers: the proof".

The bound depends on a row by s, its squared distance in units, and by the value itself. It is solved for the
value here, so that the file only compares: a table has the threshold of every value for each part of s.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from svmfast.certificate import SPARE_ENTRIES
from svmfast.exports.fixed import EXP_ERROR, Fixed
from svmfast.exports.fixed_plan import LIMIT
from svmfast.models.polynomial import PolynomialModel
from svmfast.rows import FloatArray, IntArray

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
