"""Models in integer arithmetic: their integers, and the values of an exported file in NumPy, bit by bit.

A row enters as integers x_j, which are limited to the ranges of the data and become
``v_j = (z_j - center_j) / unit_j``, where z is the row as the model sees it. ``2^-k`` stands for
``exp(-gamma r^2)`` if the unit makes ``gamma r^2 / ln 2 = s / 2^k`` for the sum s of the squared v_j.
No sum leaves 32 bits: `planned` of ``fixed_plan`` adds up what the integers can reach, and fails otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmfast.errors import OptionError
from svmfast.exports.computation import Computation, Degree, KernelSums, degrees
from svmfast.exports.reference import owned_functions
from svmfast.rows import FloatArray, IntArray, Rows

#: ``2^-f = 1 - f (e_0 - f (e_1 - f (e_2 - f e_3)))`` for a fraction f, in units of 2^-16, and a bound on the
#: relative error for any fraction that is cut off to 16 bits; all of these are tried by the tests.
EXP = (45417, 15690, 3486, 445)
EXP_ERROR = 6.2e-5
_BLOCK = 1 << 21


def _none() -> IntArray:
    return np.zeros((0, 0), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Ranges:
    """The least and the largest value of every column, ``(n_features,)``, before the model's scaling."""

    least: FloatArray
    largest: FloatArray
    #: The type of the file's input.
    kind: np.dtype[Any]
    #: Whether the input is the data itself, whole numbers, and not `kind` in units of a part of the range.
    whole: bool
    #: Where they come from, in words.
    of: str


@dataclass(frozen=True, eq=False)
class Inputs:
    """How a row becomes integers, for each of the `n_features` columns."""

    ranges: Ranges
    #: The ends of the x_j.
    low: IntArray
    high: IntArray
    #: Without `whole` x_j = v_j = (y_j - offset_j) * scale_j rounded, for the value y_j of the data.
    offset: FloatArray
    scale: FloatArray
    #: With `whole` v_j = (bias_j + (x_j - low_j) * multiplier_j modulo 2^32) / 2^16 - 2^15, rounded down.
    bias: IntArray
    multiplier: IntArray
    unit: FloatArray
    center: FloatArray
    #: Bound on |v_j|, and on |z_j - center_j - unit_j v_j| for every row that becomes v.
    reach: IntArray
    error: FloatArray

    def variables(self, rows: Rows) -> tuple[IntArray, NDArray[np.bool_], IntArray]:
        """The integers x, whether each row is inside the ranges, and v."""
        x = rows.to_dense(len(self.low))
        if not self.ranges.whole:
            x = (x - self.offset) * self.scale
            x = np.trunc(x + np.copysign(0.5, x))
        x = np.clip(x, -(2.0**40), 2.0**40)
        inside = np.asarray(((x >= self.low) & (x <= self.high)).all(axis=1))
        kept = np.clip(x, self.low, self.high).astype(np.int64)
        limits = np.iinfo(self.ranges.kind)
        return np.clip(x, limits.min, limits.max).astype(np.int64), inside, self.to_units(kept)

    def to_units(self, x: IntArray) -> IntArray:
        """The v_j of integers inside the ranges."""
        if not self.ranges.whole:
            return x
        return ((self.bias + (x - self.low) * self.multiplier) % 2**32 >> 16) - 2**15


@dataclass(frozen=True, eq=False)
class Fixed:
    """All integers of a file."""

    computation: Computation
    inputs: Inputs
    #: k; None if there is no factor.
    exponent: int | None
    #: Of a decision value.
    unit: float
    #: (p,) subtracted from the values.
    rho: IntArray
    #: Products are divided by 2^drop: polynomials' of v_j and a sum, then by 2^16 too; sums' of coefficients.
    drop: int
    #: (p,) bound on the error of a value that does not depend on the row, in units.
    constant: FloatArray
    #: (p, lower) the coefficients of all degrees but the highest, and (p, top) those of the highest.
    lower: IntArray = field(default_factory=_none)
    top: IntArray = field(default_factory=_none)
    #: The highest degree, at least 1.
    order: int = 0
    #: (p, order + 1) norms of the polynomials' errors, and of the polynomials, about the inputs' center.
    norms: FloatArray | None = None
    sizes: FloatArray | None = None
    #: Sums: (m, d) integers of the vectors, and (rows, m) of the coefficients in the layout of KernelSums.
    vectors: IntArray = field(default_factory=_none)
    coef: IntArray = field(default_factory=_none)

    @property
    def largest(self) -> int:
        """The largest s."""
        return int((self.inputs.reach**2).sum())

    def _blocks(self, rows: Rows) -> list[slice]:
        step = max(1, _BLOCK // max(1, self.top.shape[1], self.computation.n_features))
        return [slice(at, at + step) for at in range(0, len(rows), step)]

    def evaluate(self, _computation: Computation, rows: Rows, _dtype: Any) -> FloatArray:
        """Compute the decision values of rows, ``(n, p)``."""
        parts = [self.values(rows[block]) for block in self._blocks(rows)]
        return np.concatenate([np.zeros((0, len(self.rho))), *parts]) * self.unit

    def outside(self, rows: Rows) -> int:
        """Count the rows with a value beyond the ranges; an OptionError names a value that is no input."""
        values, whole = rows.values, self.inputs.ranges.whole
        wrong = (values != np.floor(values)) & (rows.indices < self.computation.n_features)
        if whole and wrong.any():
            at = int(wrong.argmax())
            row, column = np.searchsorted(rows.indptr, at, side="right"), rows.indices[at] + 1
            raise OptionError(
                f"row {row}: column {column} has {values[at]:g}; the file takes whole numbers, as in `data`"
            )
        inside = (self.inputs.variables(rows[block])[1] for block in self._blocks(rows))
        return len(rows) - sum(int(part.sum()) for part in inside)

    def values(self, rows: Rows) -> IntArray:
        """Compute the integers of the decision values, ``(n, p)``."""
        v = self.inputs.variables(rows)[2]
        s = (v * v).sum(axis=1)
        w = v[:, self.computation.variables]
        if not self.order:
            return self._sums(w)
        monomials = list(degrees(w.shape[1], self.order))
        out = np.stack([self._polynomial(w, p, monomials) for p in range(len(self.rho))], axis=1)
        if self.exponent is not None:
            part, whole = powers(s, self.exponent)
            size = np.abs(out)
            size = size - (size * part[:, None] >> 16) >> np.minimum(whole, 62)[:, None]
            out = np.sign(out) * size
        return np.asarray(out - self.rho)

    def _polynomial(self, w: IntArray, p: int, monomials: list[Degree]) -> IntArray:
        ends = np.cumsum([0] + [len(one.last) for one in monomials[:-1]])
        sums: IntArray = np.broadcast_to(self.top[p], (len(w), self.top.shape[1]))
        for m in range(self.order, 0, -1):
            of = monomials[m]
            terms = sums * w[:, of.last]
            if m < self.order:
                terms = cut(sums, w[:, of.last], self.drop)
            sums = self.lower[p, ends[m - 1] : ends[m]] + np.add.reduceat(terms, of.first, axis=1)
        return sums[:, 0]

    def _sums(self, w: IntArray) -> IntArray:
        values = self.computation.values
        assert isinstance(values, KernelSums)
        assert self.exponent is not None
        out = np.zeros((len(w), len(self.rho)), dtype=np.int64)
        functions, owner = owned_functions(values, 0, len(self.vectors))
        for i, c in enumerate(owner.tolist()):
            part, whole = powers(((w - self.vectors[i]) ** 2).sum(axis=1), self.exponent)
            k = (65536 - part + (1 << np.minimum(whole, 40) >> 1) >> np.minimum(whole, 40))[:, None]
            out[:, functions[c]] += divided(self.coef[:, i] * k, 1 << self.drop)
        return np.asarray(out - self.rho)


def divided(value: IntArray, by: int) -> IntArray:
    """The quotient of C: rounded to zero."""
    return np.asarray(np.sign(value) * (np.abs(value) // by))


def cut(t: IntArray, v: IntArray, drop: int) -> IntArray:
    """The product of 32 by 16 bits over 2^(16 + drop), in the steps of the file."""
    product = (t >> 16) * v + ((t & 0xFFFF) * v >> 16)
    return divided(product, 1 << drop) if drop else product


def powers(s: IntArray, k: int) -> tuple[IntArray, IntArray]:
    """``2^-(s / 2^k) = (1 - part / 2^16) / 2^whole``."""
    f = (s >> k - 16) & 0xFFFF
    part = np.full_like(s, EXP[-1])
    for number in EXP[-2::-1]:
        part = number - (part * f >> 16)
    return part * f + 32768 >> 16, s >> k
