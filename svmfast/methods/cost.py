"""Counted cost of a prediction, in multiply-adds of full vectors, to compare ways before anything is run."""

from __future__ import annotations

import math

from svmfast.models.expansion import KernelExpansion

# Measured: a term of a sparse row is a load from an arbitrary place and fills no vector.
SPARSE_TERM = 18.0
# Exponential and bookkeeping of one kernel value.
KERNEL_VALUE = 14.0
# Most centres are passed over in blocks, far cheaper than a polynomial's terms.
ROUTING = 0.25
# A dot product over stored entries only needs their indices as well.
SPARSE_ENTRY = 1.7


def _monomials(variables: float, order: int) -> float:
    total = 1.0
    for m in range(1, order + 1):
        total *= (variables + m) / m
    return total


def sparse_pays(d: int, order: int, entries: float) -> bool:
    """Tell whether rows with so many entries are cheaper term by term than as dense blocks."""
    return SPARSE_TERM * _monomials(entries, order) < math.comb(d + order, order)


def routing_operations(d: int, cells: int) -> float:
    """Return the cost of finding the nearest of so many centres."""
    return ROUTING * cells * d if cells > 1 else 0.0


def polynomial_operations(d: int, order: int, entries: float, *, about_zero: bool) -> float:
    """Return the cost of one polynomial for a row with `entries` stored values."""
    dense = float(math.comb(d + order, order))
    return min(dense, SPARSE_TERM * _monomials(entries, order)) if about_zero else dense


def exact_operations(model: KernelExpansion, d: int, entries: float) -> float:
    """Return the cost of the exact decision values of one such row."""
    n = len(model.sv)
    per_kernel = min(float(d), SPARSE_ENTRY * entries)
    if model.kernel.kind == "rbf":
        per_kernel += KERNEL_VALUE
    return float(n * (per_kernel + len(model.sv_coef)))
