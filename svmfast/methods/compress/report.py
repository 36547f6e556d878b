"""The report of ``compress``."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from svmfast.class_scores import KeptLabels
from svmfast.methods.common.equal_rows import FREQUENT
from svmfast.methods.common.error_statement import ErrorStatement, held_out, labels_line


@dataclass(frozen=True)
class StartReport:
    """The scores of one start, with least-squares coefficients.

    Attributes
    ----------
    name : str
    labels_differing_percent : float or None
    median_difference : float
        Both before the vectors are moved, on the held-out rows.
    choosing_error : float
        On the choosing rows: the mean of r^2 / (r^2 + f^2), with the error r of an exact value f; for
        regression the weighted mean squared error.
    moved : int or None
        Number of iterations after which the starts were compared; None if there was only one, or if no vector
        was moved.
    moved_labels_differing_percent, moved_choosing_error : float or None
        The same figures after these iterations. The start with the smallest `moved_choosing_error` is chosen.
    """

    name: str
    labels_differing_percent: float | None
    median_difference: float
    choosing_error: float
    moved: int | None = None
    moved_labels_differing_percent: float | None = None
    moved_choosing_error: float | None = None

    def line(self) -> str:
        """Return the scores as text."""
        labels = _labels(self.labels_differing_percent)
        line = f"{self.name}: {labels}median difference {self.median_difference:.3g}"
        if self.moved is None:
            return line
        labels = _labels(self.moved_labels_differing_percent)
        error = f"error {self.moved_choosing_error:.3g} on the rows for choices"
        return f"{line}; after {self.moved} iterations {labels}{error}"


def _labels(differing: float | None) -> str:
    return "" if differing is None else f"{differing:.3g}% of the labels differ, "


@dataclass(frozen=True)
class CompressReport:
    """The report of ``compress``: the work done, and the difference from the exact model.

    Attributes
    ----------
    method : str
        ``reduced set``, ``selection`` (`select_only`), ``collapse`` (linear kernel) or ``none``.
    support_vectors, source_support_vectors : int
    bytes, source_bytes : int or None
        Sizes of the files, if known.
    start : str
        The chosen start; `starts` has the figures of all starts that were tried.
    iterations, evaluations : int
    stopped : str
    rows_fitted, rows_choosing : int
    statement : ErrorStatement
    choosing_difference : float
        The figure that `max_diff` limits, on the rows for choices: the share of labels that differ, or for
        regression the share of the spread by which the values differ.
    kept, kept_choosing : KeptLabels
        On the rows of the statement, and on the rows for choices.
    probabilities : str
        ``none``, ``refitted`` or ``kept``.
    sizes_tried : tuple of (int, float)
        The numbers of support vectors that were tried, each with the difference on the rows for choices.
    notes : tuple of str
        Sentences for the user.
    verdict : str
        ``compressed``, or why there is no model.
    """

    method: str
    support_vectors: int
    source_support_vectors: int
    bytes: int | None
    source_bytes: int | None
    start: str
    starts: tuple[StartReport, ...]
    iterations: int
    evaluations: int
    stopped: str
    rows_fitted: int
    rows_choosing: int
    statement: ErrorStatement
    choosing_difference: float
    kept: KeptLabels
    kept_choosing: KeptLabels
    probabilities: str
    sizes_tried: tuple[tuple[int, float], ...] = ()
    notes: tuple[str, ...] = ()
    verdict: str = "compressed"

    def to_dict(self) -> dict[str, Any]:
        """Return the figures of docs/json.md."""
        values = asdict(self)
        del values["notes"]  # reported at the top level
        del values["choosing_difference"]  # that of a size in `sizes_tried`
        del values["kept"], values["kept_choosing"]
        return {
            "verdict": values.pop("verdict"),
            "bytes_exact": values.pop("source_bytes"),
            "support_vectors_exact": values.pop("source_support_vectors"),
            "held_out": held_out(values.pop("statement")),
            **values,
            **self.kept.to_dict(),
        }

    def lines(self) -> list[str]:
        """Return the report as text."""
        held, n = self.statement, self.source_support_vectors
        lines = [f"vectors      {n:,} -> {self.support_vectors:,} ({self.support_vectors / n:.2%})"]
        if self.bytes is not None and self.source_bytes is not None:
            factor = self.source_bytes / self.bytes
            lines.append(f"bytes        {self.source_bytes:,} -> {self.bytes:,} ({factor:.1f}x smaller)")
        lines.append(f"rows         {self.rows_fitted:,} fitted, {self.rows_choosing:,} for choices")
        lines += [f"start        {start.line()}" for start in self.starts]
        if self.method == "reduced set":
            lines.append(
                f"moved        from {self.start}, {self.iterations:,} iterations "
                f"({self.evaluations:,} evaluations), stopped by: {self.stopped}"
            )
        elif self.method == "collapse":
            lines.append(
                "collapsed    a linear kernel needs one vector per function and class; this is exact"
            )
        frequent = ""
        if held.frequent_rows:
            frequent = f" and {held.frequent_rows:,} rows that occur {FREQUENT} times or more"
        lines.append(
            f"difference   of decision values on {held.rows:,} held-out rows ({held.rows_from}) on which "
            f"nothing was chosen{frequent}: half below {held.median:.3g}, 99% below {held.quantile_99:.3g}, "
            f"99.9% below {held.quantile_999:.3g}"
        )
        if held.labels_differing_percent is not None:
            lines.append(f"labels       {labels_line(asdict(held))}, on these rows")
            lines += self.kept.lines()
        if held.values_differing_percent is not None:
            lines.append(
                f"values       differ by {held.values_differing_percent:.3g}% of their spread (standard "
                "deviation), root mean square"
            )
        if self.sizes_tried:
            tried = ", ".join(f"{size:,}: {value:.2%}" for size, value in self.sizes_tried)
            lines.append(f"sizes tried  {tried} (difference on the {self.rows_choosing:,} rows for choices)")
        return lines


@dataclass(frozen=True)
class Nothing:
    """The report of a run that made no model.

    Attributes
    ----------
    verdict : str
        Why there is no model.
    """

    verdict: str

    def lines(self) -> list[str]:
        """Return no lines, since the refusal is printed."""
        return []

    def to_dict(self) -> dict[str, Any]:
        """Return the figures of docs/json.md."""
        return {"verdict": self.verdict}
