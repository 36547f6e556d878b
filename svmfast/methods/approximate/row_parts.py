"""The parts of the rows: those that make centers, that choose an expansion and that measure the result.

Those that choose or measure come with the exact model's values. Of the user's data ``commands.method_inputs``
has drawn at most :data:`MOST_ROWS` rows before; here the limit applies to the support vectors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from svmfast.errors import OptionError
from svmfast.methods.approximate import MOST_ROWS
from svmfast.methods.common.equal_rows import groups_of, row_keys
from svmfast.models.expansion import KernelExpansion
from svmfast.rows import FloatArray, Rows

# Regression: a row is certified if its error bar is at most this share of the standard deviation of the
# exact values.
REGRESSION_SHARE = 0.01
# The share of the distinct rows that measures the result, and the share that chooses an expansion.
MEASURING, CHOOSING = 0.25, 0.25
# Rows for measuring if nothing is chosen: as many as this much work allows, within these limits.
MEASURED, MEASURING_WORK = (1_000, 5_000), 2e10
# Fewer distinct rows or support vectors than this are not divided.
LEAST_ROWS = 8

#: Names of the sources of rows in reports.
OF_DATA, OF_VECTORS = "data", "support vectors"


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows with the exact model's values."""

    rows: Rows
    values: FloatArray
    #: Regression: the largest error bar that counts as certified.
    tolerance: float | None
    source: str

    def __len__(self) -> int:
        return len(self.rows)

    @classmethod
    def of(cls, model: KernelExpansion, rows: Rows, source: str, threads: int) -> Sample:
        values = model.decision_values(rows, threads=threads)
        tolerance = None
        if model.head.is_regression:
            tolerance = REGRESSION_SHARE * float(values.std()) if values.size else 0.0
        return cls(rows, values, tolerance, source)


class Divided(NamedTuple):
    """The parts of the rows. No row is in two of them, unless there are fewer than :data:`LEAST_ROWS`."""

    centers: Rows
    choosing: Sample
    held_out: Sample


def divided(
    model: KernelExpansion,
    data: Rows | None,
    *,
    centers: bool,
    chooses: bool,
    seed: int = 0,
    threads: int = 1,
) -> Divided:
    """Divide a sample of `data`, or of the support vectors, by what is needed; equal rows stay together.

    If there are neither centers nor choices to make, all rows may measure. Fewer than :data:`LEAST_ROWS`
    distinct rows are not divided; the result is then measured on support vectors.
    """
    if data is not None and not len(data):
        raise OptionError("there are no rows in the data")
    source, rows = (OF_VECTORS, model.sv) if data is None else (OF_DATA, data)
    rng = np.random.default_rng([seed, 2])
    rows = _sample(rows, MOST_ROWS, np.random.default_rng(seed))  # of the user's data, all
    none = Rows.empty()
    if not (centers or chooses):
        held_out = Sample.of(model, _sample(rows, _most_measured(model), rng), source, threads)
        return Divided(none, Sample.of(model, none, source, threads), held_out)
    group, first = groups_of(row_keys(rows))
    n = len(first)
    if n < LEAST_ROWS:
        vectors = _sample(model.sv, _most_measured(model), rng)
        held_out = Sample.of(model, vectors, OF_VECTORS, threads)
        return Divided(rows, Sample.of(model, rows, source, threads), held_out)
    place = np.empty(n, dtype=np.int64)
    place[rng.permutation(n)] = np.arange(n)
    held = max(1, round(MEASURING * n))
    end = held + (max(1, round(CHOOSING * n)) if centers else n) * chooses
    part = np.searchsorted([held, end], place[group], side="right")
    measuring, choosing, others = (rows.take(part == number) for number in range(3))
    samples = (Sample.of(model, one, source, threads) for one in (choosing, measuring))
    return Divided(others, *samples)


def _most_measured(model: KernelExpansion) -> int:
    """How many rows to measure on: few enough that their exact values are computed quickly."""
    work = max(1, len(model.sv)) * max(1.0, model.sv.nnz / max(1, len(model.sv)))
    return int(min(max(MEASURING_WORK / work, MEASURED[0]), MEASURED[1]))


def _sample(rows: Rows, most: int, rng: np.random.Generator) -> Rows:
    return rows if len(rows) <= most else rows.take(np.sort(rng.permutation(len(rows))[:most]))
