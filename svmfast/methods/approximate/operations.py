"""The counted cost of a prediction in multiply-adds of full vectors, known before a model is made."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from svmfast.models.expansion import KernelExpansion

# Measured: a term of a sparse row is a load from an arbitrary address, and does not fill a vector.
SPARSE_TERM = 18.0
# The exponential and overhead of one kernel value.
KERNEL_VALUE = 14.0
# Labels are computed in single precision first, with twice as many numbers in a vector.
SINGLE_PRECISION = 0.5
# One-hot support vectors: a register holds one feature of 64 vectors as bytes, and kernel values are looked
# up.
ONE_HOT_ENTRY, ONE_HOT_VALUE = 1 / 8, 6.0
# Most centers are compared in blocks, which is far cheaper than a polynomial's terms.
ROUTING = 0.25
# Certifying a row: the bound and its comparison for a single function; for each of several, also the vote.
CERTIFICATE, CERTIFICATE_OF_A_PAIR = 100.0, 250.0
# The numbers of the certificate that are stored with each polynomial.
CERTIFICATE_NUMBERS = 16
# A dot product over stored entries must also load their indices.
SPARSE_ENTRY = 1.7

# To estimate times: the matrix products of the certificate (one per degree), their rate on one core, and the
# seconds for the powers of one entry of the Gram matrix.
SPECTRAL_DEGREES = 10.0
FLOPS = 1.5e10
POWERS = 2e-8


def _monomials(variables: float, order: int) -> float:
    total = 1.0
    for m in range(1, order + 1):
        total *= (variables + m) / m
    return total


@dataclass(frozen=True)
class WorkEstimate:
    """The estimated time and memory of building expansions: seconds per cell, and bytes in total."""

    seconds_a_cell: float
    bytes: int


def work_estimate(
    model: KernelExpansion, order: int, cells: int, *, full: bool, threads: int
) -> WorkEstimate:
    """Estimate the time to certify and build each cell of an expansion, and the memory for all.

    Parameters
    ----------
    model : KernelExpansion
    order, cells : int
    full : bool
        Whether the certificate uses the Gram matrix; without it the time is negligible.
    threads : int
    """
    d, n, p = len(np.unique(model.sv.indices)), len(model.sv), model.head.n_functions
    # In a multiclass model each pair uses the support vectors of two classes.
    a_function = n if p < 2 else 2 * n / model.head.n_classes
    pairs = p * a_function**2 / 2 if full else 0.0
    seconds = pairs * (SPECTRAL_DEGREES * 2 * d / FLOPS + POWERS) / threads
    stored = cells * p * math.comb(d + order, order)
    seconds += p * a_function * math.comb(d + order, order) * 2 / FLOPS / threads
    return WorkEstimate(seconds, 8 * (3 * n * d + 3 * stored))


def sparse_is_cheaper(d: int, order: int, entries: float) -> bool:
    """Return whether rows with `entries` stored values are cheaper term by term than in dense blocks."""
    return SPARSE_TERM * _monomials(entries, order) < math.comb(d + order, order)


def certificate_operations(functions: int) -> float:
    """Return the cost of certifying the label of a row."""
    return CERTIFICATE if functions < 2 else CERTIFICATE_OF_A_PAIR * functions


def routing_operations(d: int, cells: int) -> float:
    """Return the cost of finding the nearest of `cells` centers."""
    return ROUTING * cells * d if cells > 1 else 0.0


def polynomial_operations(d: int, order: int, entries: float, *, about_zero: bool) -> float:
    """Return the cost of one polynomial for a row with `entries` stored values."""
    dense = float(math.comb(d + order, order))
    return min(dense, SPARSE_TERM * _monomials(entries, order)) if about_zero else dense


def exact_operations(model: KernelExpansion, d: int, entries: float) -> float:
    """Return the cost of the exact label, or value for regression, of a row with `entries` stored values."""
    n, width, tier = len(model.sv), len(model.sv_coef), model.tier
    if tier == "one-hot":
        return float(n * (ONE_HOT_ENTRY * entries + ONE_HOT_VALUE + width))
    per_kernel = min(float(d), SPARSE_ENTRY * entries)
    if model.kernel.kind == "rbf":
        per_kernel += KERNEL_VALUE
    return float(n * (per_kernel + width)) * (SINGLE_PRECISION if tier == "single" else 1.0)


def exact_numbers(model: KernelExpansion) -> int:
    """Return the count of numbers that the exact model stores: entries and coefficients."""
    return model.sv.nnz + model.sv_coef.size
