"""The counted cost of predictions, known before a model is made, and the limits that a plan exceeds.

The unit is one multiply-add of a dense row in double precision, in full vectors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from svmfast.methods.approximate import ApproximateOptions
from svmfast.methods.approximate.certificate import DualExpansion
from svmfast.models.expansion import KernelExpansion, Tier
from svmfast.solvers.taylor import coefficient_count


class Rates(NamedTuple):
    """The costs of a kernel value in one of the exact engine's tiers."""

    #: For each column of a dense row, and for each stored value of a sparse one.
    column: float
    entry: float
    #: The exponential and overhead, and for each coefficient of the support vector.
    value: float
    coefficient: float
    #: Once a row: for each of its columns, or for each stored value of one-hot and scattered rows.
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

#: A model is worth a file if it takes at most this share of the exact model's time or counted operations.
WORTHWHILE = 0.75
BETTER = "the exact model is the better choice: "
# The most numbers that `auto` stores: about 20 MB of text.
LARGEST_AUTO = 1 << 21


def _monomials(variables: float, order: int) -> float:
    total = 1.0
    for m in range(1, order + 1):
        total *= (variables + m) / m
    return total


def sparse_is_cheaper(d: int, order: int, entries: float) -> bool:
    """Whether rows with `entries` stored values are cheaper term by term than in dense blocks."""
    return SPARSE_TERM * _monomials(entries, order) < coefficient_count(d, order)


def routing_operations(d: int, cells: int) -> float:
    return ROUTING * cells * d if cells > 1 else 0.0


def polynomial_operations(
    d: int, order: int, entries: float, *, about_zero: bool, single_precision: bool = False
) -> float:
    """The cost of one polynomial for a row with `entries` stored values; with its label or its value."""
    # As the native code chooses, whatever the precision.
    if about_zero and sparse_is_cheaper(d, order, entries):
        return SPARSE_TERM * _monomials(entries, order)
    return coefficient_count(d, order) * (SINGLE_TERM if single_precision else 1.0)


def exact_operations(model: KernelExpansion, d: int, entries: float) -> float:
    """The cost of the exact label or value of a row, at the rates of :attr:`KernelExpansion.tier`."""
    n, width, tier = len(model.sv), len(model.sv_coef), model.tier
    rates = RATES[tier]
    if tier in ("bytes", "words"):
        entries = _lanes(model, 4 if tier == "bytes" else 2)
    per_kernel = min(rates.column * d, rates.entry * entries) + rates.coefficient * width
    if model.kernel.kind == "rbf":
        per_kernel += rates.value
    return float(n * per_kernel)


def exact_reading(model: KernelExpansion, d: int, entries: float) -> float:
    """The cost of reading a row with `entries` stored values before it meets the support vectors."""
    return ROW + RATES[model.tier].reading * (entries if model.tier in ("one-hot", "scattered") else d)


def _lanes(model: KernelExpansion, columns: int) -> float:
    """The mean number of lanes, of `columns` columns each, in which a support vector has values."""
    sv = model.sv
    # Bytes count from the smallest value, so that a zero is not a zero byte and rows are dense.
    if columns == 4 and sv.nnz and sv.values.min() < 0:
        return math.inf
    lane = np.searchsorted(np.unique(sv.indices), sv.indices) // columns
    row = np.repeat(np.arange(len(sv)), np.diff(sv.indptr))
    same = (lane[1:] == lane[:-1]) & (row[1:] == row[:-1])
    return (sv.nnz - int(np.count_nonzero(same))) / max(1, len(sv))


def exact_numbers(model: KernelExpansion) -> int:
    return model.sv.nnz + model.sv_coef.size


def entries_of(model: KernelExpansion) -> float:
    """Stored values of the mean support vector, and so of the rows that are counted with."""
    return model.sv.nnz / max(len(model.sv), 1)


class Costs:
    """The costs of plans for one model, compared with those of the model itself.

    `about_zero` says for each order whether the polynomials are in powers of z rather than of z - center.
    """

    def __init__(
        self,
        model: KernelExpansion,
        terms: DualExpansion,
        options: ApproximateOptions,
        about_zero: Sequence[bool],
    ) -> None:
        self.gamma, self.options, self._about_zero = model.kernel.gamma, options, about_zero
        self._features, self.functions = len(terms.features), terms.n_functions
        self._entries = entries_of(model)
        # predict with the exact model needs the label alone; regression needs the value.
        self._single_precision = options.certificate != "none" and not model.head.is_regression
        of_a_row = model, self._features, self._entries
        #: The exact model's multiply-adds per row, including the cost of reading it.
        self.exact = exact_operations(*of_a_row) + exact_reading(*of_a_row)
        self.exact_numbers = exact_numbers(model)

    def polynomial(self, order: int) -> float:
        about_zero, single = self._about_zero[order], self._single_precision
        return polynomial_operations(
            self._features, order, self._entries, about_zero=about_zero, single_precision=single
        )

    def each_row(self, cells: int) -> float:
        """Each row's multiply-adds apart from polynomials: reading, routing, the certificate."""
        reading = min(READ_COLUMN * self._features, READ_ENTRY * self._entries)
        pairs = CERTIFICATE_OF_A_PAIR * self.functions if self.functions > 1 else 0.0
        return reading + routing_operations(self._features, cells) + (CERTIFICATE + pairs)

    def numbers(self, orders: np.ndarray) -> int:
        each = [coefficient_count(self._features, order) for order in orders.ravel().tolist()]
        return len(orders) * self._features + sum(each) + CERTIFICATE_NUMBERS * len(each)

    def worth(self, numbers: int, operations: float) -> bool:
        """Whether the size grows by no larger factor than the speed, unless an option says otherwise."""
        options = self.options
        if not options.free or options.force or options.max_bytes is not None:
            return True
        return numbers <= max(1.0, self.exact / operations) * self.exact_numbers

    def obstacle(self, cells: int, order: int) -> str | None:
        """Why `cells` cells of this order are not allowed, as the end of a sentence, or None."""
        options = self.options
        stored = cells * self.functions * coefficient_count(self._features, order)
        cost = self.functions * self.polynomial(order) + self.each_row(cells)
        if options.free and not options.force and cost >= self.exact:
            return f"takes {cost:,.0f} multiply-adds per row, the exact model {self.exact:,.0f}"
        if options.free and stored > LARGEST_AUTO:
            return f"stores {stored:,} numbers, more than auto makes"
        return too_large(stored, options.max_bytes, options.memory)


def too_large(stored: int, max_bytes: int | None, memory_limit: int) -> str | None:
    """Why `stored` numbers do not fit into a file or into memory, or None."""
    if max_bytes is not None and 2 * stored > max_bytes:  # a dropped coefficient still takes two bytes
        return f"stores {stored:,} numbers, more than {max_bytes:,} bytes hold"
    if 8 * stored > memory_limit:
        return f"takes {8 * stored:,} bytes of memory, more than the limit of {memory_limit:,}"
    return None
