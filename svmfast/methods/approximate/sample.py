"""The rows that choose centers and orders, and the others, on which the result is measured and raced.

The exact decision values of all rows are known. A certified value lies within its bound of the exact value,
and is far closer in practice. While plans are compared, a row therefore counts as certified if its exact
values exceed the bounds, and no polynomial is evaluated. The result is measured on held-out rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from svmfast.errors import OptionError
from svmfast.methods.approximate import MOST_ROWS
from svmfast.methods.approximate.certificate import DualExpansion
from svmfast.methods.common.equal_rows import groups_of, row_keys
from svmfast.models.certified import certified_rows
from svmfast.models.expansion import KernelExpansion
from svmfast.models.head import Head
from svmfast.rows import FloatArray, Rows

# Regression without a tolerance: an error bar may be up to this share of the standard deviation of the
# values.
REGRESSION_SHARE = 0.01
# A quarter of the distinct rows is held out to measure; a third of the others only serves to choose a plan.
HELD_OUT, CHOOSING = 0.25, 1 / 3
# Rows for measuring if nothing is chosen: as many as this much work allows, within these limits.
MEASURED, MEASURING_WORK = (1_000, 5_000), 2e10
# Fewer distinct rows or support vectors than this are not divided.
LEAST_ROWS = 8
# The number of support vectors that are looked up in the data.
SOUGHT = 2_000
# The most numbers that are held at once as dense points.
_BLOCK = 1 << 22

#: Names of the sources of rows in reports.
OF_DATA, OF_VECTORS = "data", "support vectors and points between them"


@dataclass(frozen=True, eq=False)
class CertificationSample:
    """Rows with the exact model's values."""

    head: Head
    terms: DualExpansion
    rows: Rows
    values: FloatArray
    #: Regression: the largest error bar that counts as certified.
    tolerance: float | None
    source: str
    #: The rows on which plans are compared; centers and orders are fitted to the others, or to all.
    choosing: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def fitting(self) -> NDArray[np.bool_]:
        """The rows to which centers and orders are fitted; ``(n,)`` bool."""
        return self.choosing if self.choosing.all() else ~self.choosing

    @cached_property
    def points(self) -> FloatArray:
        """The rows as dense vectors of the features of the support vectors; ``(n, d)`` float64."""
        return self.terms.dense(self.rows)

    @cached_property
    def outside(self) -> FloatArray:
        """Squared norm of each row's entries in columns that no support vector uses; ``(n,)`` float64."""
        inside = np.einsum("ij,ij->i", self.points, self.points)
        outside: FloatArray = np.maximum(self.rows.squared_norms() - inside, 0.0)
        return outside

    def certified(self, rows: NDArray[np.int64], bounds: FloatArray) -> NDArray[np.bool_]:
        """Which of `rows` would be certified under the bounds ``(len(rows), p)``."""
        tolerance = self.tolerance if self.head.is_regression else None
        return certified_rows(self.head, self.values[rows], bounds, tolerance=tolerance)

    def squared_distances(self, rows: NDArray[np.int64], center: FloatArray) -> FloatArray:
        """``||z - center||^2`` of `rows`, over all columns."""
        u = self.points[rows] - center
        squared: FloatArray = np.einsum("ij,ij->i", u, u) + self.outside[rows]
        return squared


class Divided(NamedTuple):
    """The rows for planning (None: nothing is chosen) and those for measuring; no row serves for both.

    `trained_on` says whether the data contains most of the support vectors: the exact model was then trained
    on such rows, and is more confident on them than on others. None without data.
    """

    planning: CertificationSample | None
    held_out: CertificationSample
    trained_on: bool | None


def divided(
    model: KernelExpansion,
    terms: DualExpansion,
    data: Rows | None,
    *,
    seen: int | None = None,
    plans: bool,
    tolerance: float | None = None,
    seed: int = 0,
    threads: int = 1,
) -> Divided:
    """Divide a sample of `data`, or of the support vectors and of points between them.

    Equal rows stay together. Fewer than :data:`LEAST_ROWS` distinct rows are not divided; the result is then
    measured on support vectors. `data` is a sample of `seen` rows. If nothing is chosen (`plans`), all rows
    measure. `tolerance` is for regression; by default a hundredth of the standard deviation of the exact
    values.
    """
    rng = np.random.default_rng([seed, 2])
    planning, measuring, trained_on = None, Rows.empty(), None
    most = _measured(model)
    if data is not None:
        if not len(data):
            raise OptionError("there are no rows in the data")
        seen = len(data) if seen is None else seen
        data = _sample(data, MOST_ROWS, np.random.default_rng(seed))
        keys = row_keys(data)
        trained_on = _holds_vectors(model, keys, len(data) / seen)
        planning, measuring = _divided(data, keys, plans, rng)
    source = OF_DATA
    if not len(measuring):
        source = OF_VECTORS
        vectors, measuring = _near_vectors(model, terms, plans and data is None, most, rng)
        planning = vectors if data is None else planning

    def sample(rows: Rows, choosing: NDArray[np.bool_], source: str) -> CertificationSample:
        nonlocal tolerance
        values = model.decision_values(rows, threads=threads)
        if tolerance is None and model.head.is_regression:
            tolerance = REGRESSION_SHARE * float(values.std()) if values.size else 0.0
        return CertificationSample(model.head, terms, rows, values, tolerance, source, choosing)

    choosers = None
    if plans:
        assert planning is not None, "data and support vectors both give rows to choose by"
        choosers = sample(*planning, OF_VECTORS if data is None else OF_DATA)
    else:
        measuring = _sample(measuring, most, rng)
    every = np.ones(len(measuring), dtype=np.bool_)
    return Divided(choosers, sample(measuring, every, source), trained_on)


def _measured(model: KernelExpansion) -> int:
    """How many rows to measure on: few enough that their exact values are computed quickly."""
    work = max(1, len(model.sv)) * max(1.0, model.sv.nnz / max(1, len(model.sv)))
    return int(min(max(MEASURING_WORK / work, MEASURED[0]), MEASURED[1]))


def _sample(rows: Rows, most: int, rng: np.random.Generator) -> Rows:
    return rows if len(rows) <= most else rows.take(np.sort(rng.permutation(len(rows))[:most]))


def _holds_vectors(model: KernelExpansion, keys: list[bytes], share: float) -> bool:
    """Whether the data contains most support vectors; `keys` are those of a `share` of its rows."""
    n = len(model.sv)
    sought = row_keys(model.sv.take(np.unique(np.linspace(0, n - 1, min(n, SOUGHT)).astype(np.int64))))
    found = len(set(sought) & set(keys))
    return 2 * found > share * len(set(sought))


def _divided(
    data: Rows, keys: list[bytes], plans: bool, rng: np.random.Generator
) -> tuple[tuple[Rows, NDArray[np.bool_]] | None, Rows]:
    """The planning rows with a mask of the choosing rows, and the measuring rows."""
    if not plans:
        return None, data
    group, first = groups_of(keys)
    n = len(first)
    if n < LEAST_ROWS:
        return (data, np.ones(len(data), dtype=np.bool_)), Rows.empty()
    held, choosing = _parts(n, rng)
    rest = np.flatnonzero(~held[group])
    return (data.take(rest), choosing[group[rest]]), data.take(held[group])


def _parts(n: int, rng: np.random.Generator) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Draw which of `n` items are held out, and which serve to choose; two masks."""
    order = rng.permutation(n)
    aside = max(1, round(HELD_OUT * n))
    held, choosing = np.zeros((2, n), dtype=np.bool_)
    held[order[:aside]] = True
    choosing[order[aside : aside + max(1, round(CHOOSING * (n - aside)))]] = True
    return held, choosing


def _near_vectors(
    model: KernelExpansion,
    terms: DualExpansion,
    plans: bool,
    most: int,
    rng: np.random.Generator,
) -> tuple[tuple[Rows, NDArray[np.bool_]] | None, Rows]:
    """Do as :func:`_divided`, with support vectors and points between them in place of data."""
    n = len(terms.points)
    everything = np.arange(n)
    if not plans:
        rows, _ = near_vectors(model, terms, everything, most, rng)
        return None, rows
    if n < LEAST_ROWS:
        rows, _ = near_vectors(model, terms, everything, MOST_ROWS, rng)
        between, start = near_vectors(model, terms, everything, most, rng)
        return (rows, np.ones(len(rows), dtype=np.bool_)), between[len(start) // 2 :]
    held, choosing = _parts(n, rng)
    rows, start = near_vectors(model, terms, np.flatnonzero(~held), MOST_ROWS, rng)
    measuring, _ = near_vectors(model, terms, np.flatnonzero(held), most, rng)
    return (rows, choosing[start]), measuring


def near_vectors(
    model: KernelExpansion,
    terms: DualExpansion,
    which: NDArray[np.int64],
    most: int,
    rng: np.random.Generator,
) -> tuple[Rows, NDArray[np.int64]]:
    """Draw support vectors among `which`, and as many points on the line from each to another one nearby.

    With each row comes the support vector that it is, or from which its line starts.
    """
    m = len(which)
    if m < 2:
        return model.sv.take(which), which
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
    return Rows.concatenate([model.sv.take(start), *between]), np.concatenate([start, start])
