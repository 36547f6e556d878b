"""An expansion compared with the exact model on rows, and when it is refused: inaccurate, or not faster.

The rows are divided into those that make centers, that choose an expansion and that measure the result. Those
that choose or measure come with the exact model's values. Of the user's data ``commands.method_inputs`` has
drawn at most :data:`MOST_ROWS` rows before; here the limit applies to the support vectors.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from svmfast.class_scores import MIN_ROWS, KeptLabels, class_scores
from svmfast.errors import OptionError
from svmfast.figures import Figures, computed, figure
from svmfast.methods.approximate import MOST_ROWS
from svmfast.methods.common.equal_rows import Counted, groups_of, row_keys
from svmfast.models.answer import answer
from svmfast.models.certified import certified_rows
from svmfast.models.expansion import KernelExpansion
from svmfast.models.polynomial import PolynomialModel
from svmfast.rows import FloatArray, Rows
from svmfast.score import interval_text, values_differing_percent

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


#: A chosen model is worth a file if it is this many times as fast as the exact one.
LEAST_SPEEDUP = 4 / 3
#: A class is lost if fewer than this percentage of its rows keep their label.
LEAST_KEPT = 90.0
#: What may serve where no expansion does.
OTHERS = "svmfast compress or svmfast dcpred may be better; svmfast frontier tries every method"


@dataclass(frozen=True, kw_only=True)
class Measured(Figures):
    """The answers of an approximation compared with the exact model's."""

    labels_differing: int | None = figure(
        "Rows whose label differs from the exact model's; if that is embedded, it answers the rows that are "
        "not certified. Null for regression.",
        default=None,
    )
    #: At 95 %, of their share among rows of data; equal rows are one cluster.
    interval: tuple[float, float] | None = None

    @computed.figure("The same in percent.")
    def labels_differing_percent(self) -> float | None:
        n = self.labels_differing
        return None if n is None else 100 * n / max(1, self.measured_rows)

    @computed.figure("Lower end of its interval at 95%; null unless it was measured on data.")
    def labels_differing_percent_low(self) -> float | None:
        return None if self.interval is None else 100 * self.interval[0]

    @computed.figure("Upper end of its interval.")
    def labels_differing_percent_high(self) -> float | None:
        return None if self.interval is None else 100 * self.interval[1]

    values_differing_percent: float | None = figure(
        "Regression: root mean square difference from the exact values in percent of their standard "
        "deviation, which `max_diff` limits; null for labels.",
        default=None,
    )
    kept: KeptLabels = figure("", spread=True, default_factory=KeptLabels)
    labels_differing_without_fallback: int | None = figure(
        "Rows on which the fast model alone differs; null unless an exact model is embedded.", default=None
    )
    measured_rows: int = figure("Rows on which the difference from the exact model was measured.")
    measured_on: str = figure("Their source: `data`, or support vectors.")
    certified_percent: float | None = figure(
        "Percent of rows whose label (regression: value, within `tolerance`) is proven; null without a "
        "certificate."
    )
    tolerance: float | None = figure("Regression: the largest error that counts as certified.", default=None)
    speedup: float | None = figure(
        "How many times as fast as the exact model the model is alone; null unless it was raced alone.",
        default=None,
    )
    speedup_with_fallback: float | None = figure(
        "The same, with the exact model for the rows that are not certified; null unless it was raced so.",
        default=None,
    )

    @property
    def percent(self) -> float:
        """The figure that decides: differing labels, or values for regression."""
        labels = self.labels_differing_percent
        return labels if labels is not None else self.values_differing_percent or 0.0

    def difference(self, rows_of_data: str = "held-out rows of the data") -> str:
        if not self.measured_rows:
            return "there are no rows for a comparison with the exact model: it has no support vectors"
        rows = f"{self.measured_rows:,} {rows_of_data if self.measured_on == OF_DATA else self.measured_on}"
        if self.labels_differing is None:
            return f"values differ by {self.percent:.3g}% of their spread, on {rows}"
        found = f"{self.percent:.3g}% of the labels differ"
        if self.interval is not None:
            found += f" ({interval_text(100 * self.interval[0], 100 * self.interval[1])})"
        return f"{found}: {self.labels_differing:,} of {rows}"

    def inaccurate(self, max_diff: float) -> str | None:
        if self.percent > 100 * max_diff:
            return f"{self.difference()}, more than {100 * max_diff:g}%"
        return self.kept.lost(LEAST_KEPT, MIN_ROWS)

    @property
    def slow(self) -> str | None:
        """Why the exact model is the better choice, if it is."""
        speed = self.speedup or self.speedup_with_fallback
        if speed is None or speed >= LEAST_SPEEDUP:
            return None
        joined = "" if self.speedup is not None else "with it for the rows that are not certified, "
        return (
            f"the exact model is the better choice: {joined}the approximation is {speed:.2f} times as fast; "
            f"less than {LEAST_SPEEDUP:.2f} is not worth a file"
        )

    @property
    def advice_if_refused(self) -> str:
        words = [OTHERS, "`force` writes it anyway"]
        if self.measured_on == OF_VECTORS:
            words.insert(0, "`data` measures rows like yours: support vectors are harder than most")
        return "; ".join(words)


def measure(made: PolynomialModel, exact: KernelExpansion, sample: Sample, *, threads: int) -> Measured:
    """Measure `made`, with or without an embedded exact model, on the rows of `sample`."""
    rows, head = sample.rows, made.head
    n = len(rows)
    found = Measured(measured_rows=n, measured_on=sample.source, certified_percent=None)
    if made.has_error_bound:
        values, bounds = made.certified_values(rows, threads=threads)
        tolerance = sample.tolerance if head.is_regression else None
        flags = certified_rows(head, values, bounds, tolerance=tolerance)
        found = replace(found, certified_percent=100 * float(flags.mean()) if n else None)
    else:
        values = made.decision_values(rows, threads=threads)
    if head.is_regression:
        percent = values_differing_percent(values, sample.values)
        return replace(found, values_differing_percent=percent, tolerance=sample.tolerance)
    theirs = exact.head.predict(sample.values)
    ours = head.predict(values)
    without = None
    if made.embedded_exact is not None:
        without = int(np.count_nonzero(ours != theirs))
        ours = answer(made, rows, exact=made.embedded_exact, threads=threads).predicted
    differing, interval = ours != theirs, None
    if sample.source == OF_DATA and n:
        group, first = groups_of(row_keys(rows))
        times = np.bincount(group).astype(np.float64)
        counted = Counted(times, np.zeros(len(times), dtype=np.bool_), times)
        interval = counted.share(differing[first])[1:]
    return replace(
        found,
        labels_differing=int(np.count_nonzero(differing)),
        labels_differing_without_fallback=without,
        interval=interval,
        kept=KeptLabels(class_scores(ours, theirs)),
    )
