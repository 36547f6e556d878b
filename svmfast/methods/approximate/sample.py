"""The rows that choose centers and orders, and the others, on which the result is measured and raced."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from svmfast.errors import OptionError
from svmfast.methods.approximate import MOST_ROWS
from svmfast.methods.common.equal_rows import groups_of, row_keys
from svmfast.models.expansion import KernelExpansion
from svmfast.rows import FloatArray, Rows

# Regression: a row is certified if its error bar is at most this share of the standard deviation of the
# exact values.
REGRESSION_SHARE = 0.01
# The share of the distinct rows that is held out to measure.
HELD_OUT = 0.25
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


class Divided(NamedTuple):
    """The rows for planning (None: nothing is chosen) and those for measuring.

    No row serves for both, unless there are fewer than :data:`LEAST_ROWS` support vectors and no data.
    """

    planning: Sample | None
    held_out: Sample


def divided(
    model: KernelExpansion,
    data: Rows | None,
    *,
    plans: bool,
    seed: int = 0,
    threads: int = 1,
) -> Divided:
    """Divide a sample of `data`, or of the support vectors.

    Equal rows stay together. Fewer than :data:`LEAST_ROWS` distinct rows are not divided; the result is then
    measured on support vectors. If nothing is chosen (`plans`), all rows measure.
    """
    rng = np.random.default_rng([seed, 2])
    tolerance = None
    if data is not None and not len(data):
        raise OptionError("there are no rows in the data")
    source, rows = (OF_VECTORS, model.sv) if data is None else (OF_DATA, data)
    planning, measuring = _divided(_sample(rows, MOST_ROWS, np.random.default_rng(seed)), plans, rng)
    chosen_by = source
    if not len(measuring):
        source, measuring = OF_VECTORS, _sample(model.sv, _measured(model), rng)

    def sample(rows: Rows, source: str) -> Sample:
        nonlocal tolerance
        values = model.decision_values(rows, threads=threads)
        if tolerance is None and model.head.is_regression:
            tolerance = REGRESSION_SHARE * float(values.std()) if values.size else 0.0
        return Sample(rows, values, tolerance, source)

    choosers = None
    if planning is not None:
        choosers = sample(planning, chosen_by)
    else:
        measuring = _sample(measuring, _measured(model), rng)
    return Divided(choosers, sample(measuring, source))


def _measured(model: KernelExpansion) -> int:
    """How many rows to measure on: few enough that their exact values are computed quickly."""
    work = max(1, len(model.sv)) * max(1.0, model.sv.nnz / max(1, len(model.sv)))
    return int(min(max(MEASURING_WORK / work, MEASURED[0]), MEASURED[1]))


def _sample(rows: Rows, most: int, rng: np.random.Generator) -> Rows:
    return rows if len(rows) <= most else rows.take(np.sort(rng.permutation(len(rows))[:most]))


def _divided(data: Rows, plans: bool, rng: np.random.Generator) -> tuple[Rows | None, Rows]:
    """The planning rows and the measuring rows."""
    if not plans:
        return None, data
    group, first = groups_of(row_keys(data))
    n = len(first)
    if n < LEAST_ROWS:
        return data, Rows.empty()
    held = _held_out(n, rng)[group]
    return data.take(~held), data.take(held)


def _held_out(n: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Draw which of `n` items are held out."""
    held = np.zeros(n, dtype=np.bool_)
    held[rng.permutation(n)[: max(1, round(HELD_OUT * n))]] = True
    return held
