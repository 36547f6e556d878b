"""The rows that choose centers and orders, and the others, on which the result is measured and raced."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from svmfast.errors import OptionError
from svmfast.methods.approximate import MOST_ROWS
from svmfast.methods.approximate.certificate import DualExpansion
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
# The most numbers that are held at once as dense points.
_BLOCK = 1 << 22

#: Names of the sources of rows in reports.
OF_DATA, OF_VECTORS = "data", "support vectors and points between them"


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
    """The rows for planning (None: nothing is chosen) and those for measuring; no row serves for both."""

    planning: Sample | None
    held_out: Sample


def divided(
    model: KernelExpansion,
    terms: DualExpansion,
    data: Rows | None,
    *,
    plans: bool,
    seed: int = 0,
    threads: int = 1,
) -> Divided:
    """Divide a sample of `data`, or of the support vectors and of points between them.

    Equal rows stay together. Fewer than :data:`LEAST_ROWS` distinct rows are not divided; the result is then
    measured on support vectors. If nothing is chosen (`plans`), all rows measure.
    """
    rng = np.random.default_rng([seed, 2])
    planning, measuring, tolerance = None, Rows.empty(), None
    most = _measured(model)
    if data is not None:
        if not len(data):
            raise OptionError("there are no rows in the data")
        data = _sample(data, MOST_ROWS, np.random.default_rng(seed))
        planning, measuring = _divided(data, plans, rng)
    source = OF_DATA
    if not len(measuring):
        source = OF_VECTORS
        vectors, measuring = _near_vectors(model, terms, plans and data is None, most, rng)
        planning = vectors if data is None else planning

    def sample(rows: Rows, source: str) -> Sample:
        nonlocal tolerance
        values = model.decision_values(rows, threads=threads)
        if tolerance is None and model.head.is_regression:
            tolerance = REGRESSION_SHARE * float(values.std()) if values.size else 0.0
        return Sample(rows, values, tolerance, source)

    choosers = None
    if plans:
        assert planning is not None, "data and support vectors both give rows to choose by"
        choosers = sample(planning, OF_VECTORS if data is None else OF_DATA)
    else:
        measuring = _sample(measuring, most, rng)
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


def _near_vectors(
    model: KernelExpansion,
    terms: DualExpansion,
    plans: bool,
    most: int,
    rng: np.random.Generator,
) -> tuple[Rows | None, Rows]:
    """Do as :func:`_divided`, with support vectors and points between them in place of data."""
    n = len(terms.points)
    everything = np.arange(n)
    if not plans:
        return None, near_vectors(model, terms, everything, most, rng)
    if n < LEAST_ROWS:
        rows = near_vectors(model, terms, everything, MOST_ROWS, rng)
        between = near_vectors(model, terms, everything, most, rng)
        return rows, between[len(between) // 2 :]
    held = _held_out(n, rng)
    rows = near_vectors(model, terms, np.flatnonzero(~held), MOST_ROWS, rng)
    return rows, near_vectors(model, terms, np.flatnonzero(held), most, rng)


def near_vectors(
    model: KernelExpansion,
    terms: DualExpansion,
    which: NDArray[np.int64],
    most: int,
    rng: np.random.Generator,
) -> Rows:
    """Draw support vectors among `which`, and as many points on the line from each to another one nearby."""
    m = len(which)
    if m < 2:
        return model.sv.take(which)
    start = which[np.sort(rng.permutation(m)[: max(1, most // 2)])]
    others = which[rng.integers(0, m, size=(len(start), 8))]
    along = rng.uniform(0, 0.5, size=(len(start), 1))
    between: list[Rows] = []
    step = max(1, _BLOCK // max(1, 8 * terms.points.shape[1]))
    for at in range(0, len(start), step):
        here = terms.points[start[at : at + step]]
        with np.errstate(over="ignore", invalid="ignore"):
            ways = terms.points[others[at : at + step]] - here[:, None, :]
            squared = np.einsum("ijk,ijk->ij", ways, ways)
            nearest = np.where(squared > 0, squared, np.inf).argmin(axis=1)
            there = here + along[at : at + step] * ways[np.arange(len(here)), nearest]
        # No point lies between vectors whose difference overflows; the vector itself stands in for it.
        points = Rows.from_dense(np.where(np.isfinite(there).all(axis=1, keepdims=True), there, here))
        columns = terms.features[points.indices].astype(np.int32)
        between.append(Rows(points.indptr, columns, points.values, model.n_features))
    return Rows.concatenate([model.sv.take(start), *between])
