"""The difference between an approximation and the exact model on held-out rows, and when it is too large."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from svmfast.class_scores import MIN_ROWS, KeptLabels, class_scores
from svmfast.methods.approximate.certification_sample import OF_DATA, OF_VECTORS, CertificationSample
from svmfast.methods.approximate.operations import exact_operations
from svmfast.methods.approximate.options import Limit
from svmfast.methods.common.equal_rows import Counted, groups_of, row_keys
from svmfast.methods.given import Race
from svmfast.models.answer import answer
from svmfast.models.base import Model
from svmfast.models.certified import certified_rows
from svmfast.models.expansion import KernelExpansion
from svmfast.models.polynomial import PolynomialModel
from svmfast.score import interval_text, values_differing_percent

#: Percent of differing labels (regression: of the spread) above which there is a warning.
WARN_ABOVE = 1.0
#: A model is worth a file if it takes at most this share of the exact model's time or counted operations.
WORTHWHILE = 0.75
#: Rows for the race: as many as the exact model answers with RACED_WORK multiply-adds, within these limits.
RACED_WORK, RACED_ROWS = 2e9, (2_000, 20_000)
BETTER = "the exact model is the better choice: "
_FORCE = "`force` writes it anyway"
#: What may serve where no expansion does.
OTHERS = "svmfast compress or svmfast dcpred may be faster; svmfast frontier tries every method"


@dataclass(frozen=True)
class Measured:
    """The answers of an approximation compared with the exact model's.

    Attributes
    ----------
    rows : int
    source : str
        The source of the rows: ``OF_DATA`` of :mod:`svmfast.methods.approximate.certification_sample`, held
        out from every choice, or its ``OF_VECTORS``.
    labels_differing : int or None
        Rows whose label differs from the exact model's. An embedded exact model answers the rows that are not
        certified. None for regression.
    labels_differing_without_fallback : int or None
        The same for the expansion alone; None unless an exact model is embedded.
    values_differing_percent : float or None
        Regression: how much the values differ (:func:`svmfast.score.values_differing_percent`).
    certified_percent : float or None
        Rows whose label (or value, within the tolerance) is certified; None without a certificate.
    speedup, speedup_with_fallback : float or None
        How many times as fast as the exact model it is alone, or if the exact model answers the rows that are
        not certified; None if this was not raced.
    growth : float or None
        The file's size as a multiple of the exact model's; None if it does not matter.
    tolerance : float or None
        Regression: the largest error bound of a certified row.
    interval : (float, float) or None
        The interval at 95 % of the share of labels that differ, for rows of data; equal rows are one cluster.
    kept : KeptLabels
    """

    rows: int
    source: str
    labels_differing: int | None
    labels_differing_without_fallback: int | None
    values_differing_percent: float | None
    certified_percent: float | None
    speedup: float | None = None
    speedup_with_fallback: float | None = None
    growth: float | None = None
    tolerance: float | None = None
    interval: tuple[float, float] | None = None
    kept: KeptLabels = field(default_factory=KeptLabels)

    @property
    def labels_differing_percent(self) -> float | None:
        """Share of the rows whose label differs, in percent."""
        return None if self.labels_differing is None else 100 * self.labels_differing / max(1, self.rows)

    @property
    def percent(self) -> float:
        """The figure that decides: differing labels, or values for regression."""
        labels = self.labels_differing_percent
        return labels if labels is not None else self.values_differing_percent or 0.0

    @property
    def sentence(self) -> str:
        """The figure in words."""
        if not self.rows:
            return "there are no rows for a comparison with the exact model: it has no support vectors"
        rows = f"{self.rows:,} "
        rows += "held-out rows of the data" if self.source == OF_DATA else self.source
        if self.labels_differing is None:
            return f"values differ by {self.percent:.3g}% of their spread, on {rows}"
        found = f"{self.percent:.3g}% of the labels differ"
        if self.interval is not None:
            found += f" ({interval_text(100 * self.interval[0], 100 * self.interval[1])})"
        return f"{found}: {self.labels_differing:,} of {rows}"


def measure(
    made: PolynomialModel, exact: KernelExpansion, sample: CertificationSample, *, threads: int
) -> Measured:
    """Measure `made`, with or without an embedded exact model, on the rows of `sample`.

    For regression ``certified_percent`` is the share of rows with an error bar of at most the tolerance.
    """
    rows, head = sample.rows, made.head
    n = len(rows)
    certified = None
    if made.has_error_bound:
        values, bounds = made.certified_values(rows, threads=threads)
        tolerance = sample.tolerance if head.is_regression else None
        flags = certified_rows(head, values, bounds, tolerance=tolerance)
        certified = 100 * float(flags.mean()) if n else None
    else:
        values = made.decision_values(rows, threads=threads)
    if head.is_regression:
        percent = values_differing_percent(values, sample.values)
        return Measured(n, sample.source, None, None, percent, certified, tolerance=sample.tolerance)
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
    return Measured(
        n,
        sample.source,
        int(np.count_nonzero(differing)),
        without,
        None,
        certified,
        interval=interval,
        kept=KeptLabels(class_scores(ours, theirs)),
    )


def raced(
    measured: Measured,
    made: PolynomialModel,
    exact: KernelExpansion,
    sample: CertificationSample,
    race: Race,
    size_of: Callable[[Model], int] | None,
    max_bytes: int | None,
    *,
    fallback: KernelExpansion | None,
    threads: int,
) -> Measured:
    """Return `measured` with the speed and the size of `made`.

    Parameters
    ----------
    sample : CertificationSample
        Its rows are predicted. If there are few they are repeated, since a call with few rows is mostly
        overhead.
    race : callable
        See :func:`svmfast.methods.approximate.convert.approximate`.
    size_of : callable or None
    max_bytes : int or None
        A model whose size was limited by the user is not judged by its size.
    fallback : KernelExpansion or None
        The model that answers the rows that are not certified.
    """
    n = len(sample)
    if not n:
        return measured
    cost = exact_operations(exact, len(sample.terms.features), exact.sv.nnz / max(1, len(exact.sv)))
    raced = int(min(max(RACED_WORK / max(cost, 1.0), RACED_ROWS[0]), RACED_ROWS[1]))
    rows = sample.rows.take(np.resize(np.arange(n), raced))
    tolerance = sample.tolerance if made.head.is_regression else None

    def ours() -> object:
        return answer(made, rows, exact=fallback, tolerance=tolerance, threads=threads)

    speed = race(lambda: answer(exact, rows, threads=threads), ours)
    growth = None
    if size_of is not None and max_bytes is None:
        growth = size_of(replace(made, embedded_exact=None)) / max(1, size_of(exact))
    if fallback is None:
        return replace(measured, speedup=speed, growth=growth)
    return replace(measured, speedup_with_fallback=speed, growth=growth)


def inaccurate(measured: Measured, limit: Limit) -> str | None:
    """Return what differs too much from the exact model, or None."""
    if measured.percent > limit.differing:
        return f"{measured.sentence}, more than {limit.differing:g}%"
    return measured.kept.lost(limit.recall, MIN_ROWS)


def refusal(measured: Measured, limit: Limit) -> str | None:
    """Return why the approximation should not be used, or None."""
    if found := inaccurate(measured, limit):
        return found
    speed, growth = measured.speedup or measured.speedup_with_fallback, measured.growth
    if speed is not None and speed < 1 / WORTHWHILE:
        joined = "" if measured.speedup is not None else "with it for the rows that are not certified, "
        return (
            f"{BETTER}{joined}the approximation is {speed:.2f} times as fast on held-out rows; less than "
            f"{1 / WORTHWHILE:.2f} is not worth a file"
        )
    if speed is not None and growth is not None and growth > max(1.0, speed):
        return f"{BETTER}the approximation is {speed:.1f} times as fast, but {growth:.1f} times as large"
    return None


def advice(measured: Measured, made: PolynomialModel, limit: Limit) -> str:
    """Return what may help if `made` is refused."""
    if inaccurate(measured, limit):
        return f"{alternatives(made, measured.source)}; {_FORCE}"
    speed = measured.speedup or measured.speedup_with_fallback
    if speed is None or speed < 1 / WORTHWHILE:
        return f"{OTHERS}; {_FORCE}"
    return f"a limit on the file's size (`max_bytes`) allows a larger file; {_FORCE}"


def difference_warning(measured: Measured, made: PolynomialModel) -> str | None:
    """Return a warning about the error of `made`, or None."""
    return (
        f"{measured.sentence}; {alternatives(made, measured.source)}"
        if measured.percent > WARN_ABOVE
        else None
    )


def alternatives(made: PolynomialModel, source: str) -> str:
    """Return a suggestion of options and commands that may give a closer model than `made`.

    `source` tells on which rows `made` was measured.
    """
    ways = ["svmfast compress", "svmfast dcpred of the exact model"]
    if made.gamma > 0:
        ways.insert(0, "more `cells`" if made.n_cells > 1 else "`cells` auto with `data`")
    found = f"try {', '.join(ways[:-1])} or {ways[-1]}"
    if made.head.is_regression:
        if made.has_error_bound:
            found += ", or leave rows with a large error bound to the exact model (svmfast predict `exact` "
            found += "`tolerance`)"
    else:
        joined = ["`embed_exact`"] if made.has_error_bound and made.embedded_exact is None else []
        joined.append("svmfast cascade")
        found += f", or leave uncertain rows to the exact model with {' or '.join(joined)}"
    if source == OF_VECTORS:
        why = "are not like other rows" if made.head.is_regression else "lie closest to the boundary"
        found += f"; support vectors {why}: `data` measures your own rows instead"
    return found
