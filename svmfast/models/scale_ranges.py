"""svm-scale's linear maps: the limits of columns and of labels, and the values to which they are scaled."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmfast.errors import NotFiniteError
from svmfast.models.sizes import expect
from svmfast.rows import FloatArray


@dataclass(frozen=True)
class TargetRange:
    """svm-scale's ``-y``: labels from `minimum` to `maximum` become values from `lower` to `upper`."""

    lower: float
    upper: float
    minimum: float
    maximum: float

    def __post_init__(self) -> None:
        holds = all(map(math.isfinite, vars(self).values())) and self.lower < self.upper
        expect("y_lower", holds, "not the limits of a scaled label", "finite numbers, lower below upper")
        _check_ranges("the labels", np.array([self.minimum]), np.array([self.maximum]))

    def apply(self, labels: FloatArray) -> FloatArray:
        """Scale labels in svm-scale's order of operations."""
        span = self.maximum - self.minimum
        with np.errstate(all="ignore"):
            scaled = self.lower + (self.upper - self.lower) * (labels - self.minimum) / span
        scaled = np.where(labels == self.maximum, self.upper, scaled)
        found: FloatArray = np.where(labels == self.minimum, self.lower, scaled)
        if np.any(np.isfinite(labels) & ~np.isfinite(found)):
            raise NotFiniteError("a scaled label leaves the range of floating point")
        return found


@dataclass(frozen=True, eq=False)
class ColumnRanges:
    """svm-scale's map of columns: values from `minimum` to `maximum` get values from `lower` to `upper`."""

    #: (d,) equal for a column that is dropped; svm-scale drops the columns that its range file does not list.
    minimum: FloatArray
    maximum: FloatArray
    lower: float = -1.0
    upper: float = 1.0

    def __post_init__(self) -> None:
        for name in ("minimum", "maximum"):
            object.__setattr__(self, name, finite_vector(name, getattr(self, name)))
        same = self.minimum.shape == self.maximum.shape
        expect("maximum", same, f"{self.maximum.size} values", f"{self.minimum.size}, as in minimum")
        ascending = bool((self.minimum <= self.maximum).all())
        expect("maximum", ascending, "below the minimum", "no value below that of minimum")
        _check_ranges("feature {}", self.minimum, self.maximum)
        limits = math.isfinite(self.lower) and math.isfinite(self.upper) and self.lower < self.upper
        expect("lower", limits, "not below upper", "finite limits, lower below upper")

    def as_affine(self) -> tuple[FloatArray, FloatArray]:
        """Compute offset and factor of the same map, both ``(d,)``; the factor of a dropped column is 0."""
        with np.errstate(all="ignore"):
            span = self.maximum - self.minimum
            factor = np.where(span > 0, (self.upper - self.lower) / span, 0.0)
            offset = np.where(span > 0, self.minimum - self.lower * span / (self.upper - self.lower), 0.0)
        # Ranges near the limits of float64 have no such form; they are used in svm-scale's arithmetic only.
        return np.nan_to_num(offset), np.nan_to_num(factor)


def _check_ranges(what: str, minimum: FloatArray, maximum: FloatArray) -> None:
    """Refuse ranges so wide that svm-scale's arithmetic overflows and maps all values between to one."""
    with np.errstate(over="ignore"):
        wide = np.flatnonzero(~np.isfinite(maximum - minimum))
    for j in wide[:1].tolist():
        found = f"{what.format(j + 1)} from {minimum[j]:g} to {maximum[j]:g}"
        raise NotFiniteError(f"the range of {found} leaves the range of floating point")


def finite_vector(name: str, given: NDArray[Any]) -> FloatArray:
    """Copy finite numbers, read-only."""
    values = np.array(given, dtype=np.float64)
    expect(name, values.ndim == 1, f"an array of {values.ndim} dimensions", "one")
    expect(name, bool(np.isfinite(values).all()), "nan or inf among the numbers", "finite numbers")
    values.setflags(write=False)
    return values
