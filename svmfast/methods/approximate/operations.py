"""The counted cost of a prediction, known before a model is made.

The unit is one multiply-add of a dense row in double precision, in full vectors.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from svmfast.models.expansion import KernelExpansion, Tier


class Rates(NamedTuple):
    """The costs of a kernel value in one of the exact engine's tiers.

    Attributes
    ----------
    column : float
        For each column of a dense row.
    entry : float
        For each stored value of a sparse row.
    value : float
        The exponential and overhead.
    coefficient : float
        For each coefficient of the support vector.
    reading : float
        Once a row: for each of its columns, or for each stored value of one-hot and scattered rows.
    """

    column: float
    entry: float
    value: float
    coefficient: float
    reading: float


# Measured on an AMD EPYC with AVX-512 and VNNI, one thread, in turn, as multiples of 0.020 ns, a multiply-add
# of a dense row in double precision. They are constants so that a plan is the same on every machine; the
# chosen model is then timed against the exact one on the machine that runs.
RATES: dict[Tier, Rates] = {
    # 2.7 times the cost of single precision for 8 columns, 2.2 times for 128.
    "double": Rates(1.0, 2.6, 14.0, 1.0, 17.0),
    # Wide, sparse support vectors, stored by columns: 30 for 12 stored values, 66 for 60.
    "scattered": Rates(1.0, 1.0, 14.0, 1.0, 17.0),
    # 0.08 ns and 0.0089 ns for each column; sparse 21 for 14 stored values, 46 for 30.
    "single": Rates(0.43, 1.5, 4.0, 0.43, 17.0),
    # Integers, with four or two columns in a lane. Bytes take 0.5 of single precision's time for 24 columns,
    # 0.3 for 784; words 0.7 and 0.54. Converting a row takes 6 ns per column. Sparse rows: `entry` is for
    # each lane in use.
    "bytes": Rates(0.12, 0.9, 4.5, 0.43, 300.0),
    "words": Rates(0.23, 0.9, 5.0, 0.43, 300.0),
    # A register holds one feature of 64 support vectors, and kernel values are looked up: 4.3 for 5 stored
    # values, 8.2 for 14, 14.7 for 30.
    "one-hot": Rates(math.inf, 0.42, 1.3, 1.0, 200.0),
}
# The overhead of each row, 40 ns.
ROW = 2000.0
# A term of a sparse row is a load from an arbitrary address, and does not fill a vector.
SPARSE_TERM = 18.0
# A term of a dense row in single precision: 0.54 to 0.60 for orders 2 to 4. Sparse rows gain nothing.
SINGLE_TERM = 0.57
# Reading a row for its polynomials: for each column, or for each stored value of a sparse row.
READ_COLUMN, READ_ENTRY = 30.0, 200.0
# Most centers are compared in blocks, which is far cheaper than a polynomial's terms.
ROUTING = 0.25
# Certifying a row: the bounds, their comparison and the label; for each of several functions, also the vote.
# Measured: 1,700, 630 and 340 a function for 3, 10 and 45 functions.
CERTIFICATE, CERTIFICATE_OF_A_PAIR = 1000.0, 300.0
# The numbers of the certificate that are stored with each polynomial.
CERTIFICATE_NUMBERS = 16

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
    return CERTIFICATE + (CERTIFICATE_OF_A_PAIR * functions if functions > 1 else 0.0)


def reading_operations(d: int, entries: float) -> float:
    """Return the cost of reading a row with `entries` stored values for its polynomials."""
    return min(READ_COLUMN * d, READ_ENTRY * entries)


def routing_operations(d: int, cells: int) -> float:
    """Return the cost of finding the nearest of `cells` centers."""
    return ROUTING * cells * d if cells > 1 else 0.0


def polynomial_operations(
    d: int, order: int, entries: float, *, about_zero: bool, single_precision: bool = False
) -> float:
    """Return the cost of one polynomial for a row with `entries` stored values.

    Parameters
    ----------
    d, order : int
    entries : float
    about_zero : bool
    single_precision : bool
        Only the label is wanted, and the bound in single precision proves it (docs/certificate.md).
    """
    # As the native code chooses, whatever the precision.
    if about_zero and sparse_is_cheaper(d, order, entries):
        return SPARSE_TERM * _monomials(entries, order)
    return math.comb(d + order, order) * (SINGLE_TERM if single_precision else 1.0)


def exact_operations(model: KernelExpansion, d: int, entries: float) -> float:
    """Return the cost of the exact label, or value for regression, of a row with `entries` stored values.

    The rates are those of the arithmetic that answers most rows, :attr:`KernelExpansion.tier`.
    """
    n, width, tier = len(model.sv), len(model.sv_coef), model.tier
    rates = RATES[tier]
    if tier in ("bytes", "words"):
        entries = _lanes(model, 4 if tier == "bytes" else 2)
    per_kernel = min(rates.column * d, rates.entry * entries) + rates.coefficient * width
    if model.kernel.kind == "rbf":
        per_kernel += rates.value
    return float(n * per_kernel)


def exact_reading(model: KernelExpansion, d: int, entries: float) -> float:
    """Return the cost of reading a row with `entries` stored values before it meets the support vectors."""
    return ROW + RATES[model.tier].reading * (entries if model.tier in ("one-hot", "scattered") else d)


def _lanes(model: KernelExpansion, columns: int) -> float:
    """Return the mean number of lanes, of `columns` columns each, in which a support vector has values."""
    sv = model.sv
    # Bytes count from the smallest value, so that a zero is not a zero byte and rows are dense.
    if columns == 4 and sv.nnz and sv.values.min() < 0:
        return math.inf
    lane = np.searchsorted(np.unique(sv.indices), sv.indices) // columns
    row = np.repeat(np.arange(len(sv)), np.diff(sv.indptr))
    same = (lane[1:] == lane[:-1]) & (row[1:] == row[:-1])
    return (sv.nnz - int(np.count_nonzero(same))) / max(1, len(sv))


def exact_numbers(model: KernelExpansion) -> int:
    """Return the count of numbers that the exact model stores: entries and coefficients."""
    return model.sv.nnz + model.sv_coef.size
