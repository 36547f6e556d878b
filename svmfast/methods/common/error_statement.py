"""Parts of reports: the error of a converted model on rows that chose nothing, and its probabilities."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from svmfast.display import count
from svmfast.figures import Figures, figure
from svmfast.methods.common.equal_rows import FREQUENT, Counted, quantiles
from svmfast.models.base import Model
from svmfast.models.expansion import KernelExpansion
from svmfast.models.head import Head
from svmfast.rows import FloatArray, Rows
from svmfast.score import interval_text, values_differing_percent
from svmfast.solvers.platt import fit_sigmoid, laplace_scale

#: Said of a statement on rows that the exact model was trained on: its values keep away from 0 there, or it
#: has learned their noise.
TRAINED_ON = (
    "the model was trained on rows of `data`, which contain its support vectors: new rows may differ several "
    "times as much as reported, or less; rows that it was not trained on show how much"
)


@dataclass(frozen=True, kw_only=True)
class ErrorStatement(Figures):
    """A statistical statement from held-out rows, which proves nothing for a single row."""

    rows: int = figure("Rows held out, with their copies.")
    #: See :class:`svmfast.methods.common.equal_rows.Counted`.
    frequent_rows: int = figure("Rows of the data that count besides, because each of them is frequent.")
    rows_from: str = figure("`data` or `support vectors`.")
    #: Statistics over all rows and decision functions; None if these are not to be compared.
    median: float | None = figure(
        "Median difference of the decision values; null if they were not fitted.",
        key="median_abs_error",
        default=None,
    )
    quantile_99: float | None = figure(
        "The 99% quantile of the differences.", key="abs_error_99", default=None
    )
    quantile_999: float | None = figure(
        "The 99.9% quantile of the differences.", key="abs_error_999", default=None
    )
    largest: float | None = figure("The largest difference.", key="max_abs_error", default=None)
    values_differing_percent: float | None = figure(
        "Root mean square difference of the values in percent of their spread; null unless regression.",
        default=None,
    )
    labels_differing_percent: float | None = figure(
        "Percent of rows whose label is not the exact model's; null for regression.", default=None
    )
    labels_differing_percent_low: float | None = figure(
        "Lower end of its 95% confidence interval.", default=None
    )
    labels_differing_percent_high: float | None = figure(
        "Upper end of its 95% confidence interval.", default=None
    )

    @classmethod
    def of(
        cls,
        heads: tuple[Head, Head],
        values: tuple[FloatArray, FloatArray],
        counted: Counted,
        *,
        rows: int,
        rows_from: str = "data",
        values_fitted: bool = True,
    ) -> ErrorStatement:
        """Compare decision values ``(n, p)`` of two models; `heads` and `values` are (exact, new)."""
        (exact, new), (theirs, ours) = heads, values
        found: dict[str, float] = {}
        if ours.size and values_fitted:
            difference = np.abs(ours - theirs)
            names = ("median", "quantile_99", "quantile_999")
            found = dict(zip(names, quantiles(difference, counted.weights, [0.5, 0.99, 0.999]), strict=True))
            found["largest"] = float(difference.max())
        if ours.size and exact.is_regression:
            found["values_differing_percent"] = values_differing_percent(ours, theirs, counted.weights)
        elif ours.size:
            found |= labels_differing(counted.share(new.predict(ours) != exact.predict(theirs)))
        return cls(rows=rows, frequent_rows=counted.frequent_rows, rows_from=rows_from, **found)

    @property
    def differing_percent(self) -> float:
        """The figure that limits apply to: differing labels, or values for regression."""
        return self.labels_differing_percent or self.values_differing_percent or 0.0

    def difference(self) -> str:
        """A clause; empty if there are no rows."""
        if self.values_differing_percent is not None:
            return f"values differ by {self.values_differing_percent:.3g}% of their spread"
        low, high = self.labels_differing_percent_low, self.labels_differing_percent_high
        if self.labels_differing_percent is None or low is None or high is None:
            return ""
        return labels_text(self.labels_differing_percent, low, high)

    def lines(self) -> list[str]:
        if not self.rows + self.frequent_rows:
            return ["held out     no rows, so that no difference is measured"]
        frequent = ""
        if self.frequent_rows:
            frequent = f" and {self.frequent_rows:,} that occur {FREQUENT} times or more"
        rows = count(self.rows, "row")
        lines = [f"held out     {rows} ({self.rows_from}) on which nothing was chosen{frequent}"]
        if self.median is not None:
            lines.append(
                f"difference   of decision values: half below {self.median:.3g}, 99% below "
                f"{self.quantile_99:.3g}, 99.9% below {self.quantile_999:.3g}"
            )
        if self.values_differing_percent is not None:
            lines.append(f"values       {self.difference().removeprefix('values ')}")
        elif self.labels_differing_percent is not None:
            lines.append(f"labels       {self.difference()}")
        return lines


def labels_differing(share: tuple[float, float, float]) -> dict[str, float]:
    """The figures of a share with its interval (:meth:`Counted.share`), in percent."""
    names = ("", "_low", "_high")
    # Rounded, so that 7 of 100 do not exceed a limit of 7 %.
    percents = (round(100 * one, 10) for one in share)
    return {f"labels_differing_percent{name}": one for name, one in zip(names, percents, strict=True)}


def labels_text(percent: float, low: float, high: float) -> str:
    return f"{percent:.3g}% of the labels differ ({interval_text(low, high)})"


def probability_lines(what: str) -> list[str]:
    """The line of a report; `what` became of them is ``none`` (there were none), kept or dropped."""
    if what == "none":
        return []
    if what == "dropped":
        return ["probability  dropped: predict with `probability` will refuse the model"]
    return ["probability  probA and probB are the exact model's, applied to the new decision values"]


def probabilities_after(exact: Head, made: Head) -> str:
    """What happened to the probabilities: ``none`` (there were none), kept, refitted or dropped."""
    if not exact.has_probability:
        return "none"
    if not made.has_probability:
        return "dropped"
    pairs = ((getattr(exact, name), getattr(made, name)) for name in ("prob_a", "prob_b", "density_marks"))
    same = all(a is b or (a is not None and b is not None and np.array_equal(a, b)) for a, b in pairs)
    return "kept" if same else "refitted"


def refit_probabilities(
    exact: KernelExpansion,
    compressed: Model,
    labelled: tuple[Rows, FloatArray] | None,
    *,
    threads: int,
    notes: list[str],
) -> tuple[Head, str]:
    """Fit the probabilities of `compressed`, which has the exact head, and say what became of them.

    One-class models need rows, but no labels. `notes` receives remarks.
    """
    head = exact.head
    if not head.has_probability:
        return head, "none"
    if labelled is not None:
        rows, labels = labelled
        decisions = compressed.decision_values(rows, threads=threads)
        if head.svm_type == "one_class":
            new = _matched_marks(exact.decision_values(rows, threads=threads)[:, 0], decisions[:, 0], head)
            return replace(head, density_marks=new), "refitted"
        if head.is_regression:
            if len(np.unique(labels)) > 1:
                return replace(head, prob_a=np.array([laplace_scale(labels - decisions[:, 0])])), "refitted"
        else:
            fitted = _sigmoids(head, decisions, labels)
            if fitted is not None:
                notes.append(
                    "probA and probB were refitted on the labels of `data`; "
                    "if the model was trained on these rows, its probabilities are overconfident"
                )
                return replace(head, prob_a=fitted[0], prob_b=fitted[1]), "refitted"
    notes.append(
        "the exact model's probability parameters were kept: decision values have changed slightly; "
        "labelled rows in `data` refit them"
    )
    return head, "kept"


def _sigmoids(head: Head, decisions: FloatArray, labels: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    """A and B of Platt's sigmoid for each pair; None if a label is unknown or a class has no row."""
    assert head.labels is not None
    known = head.labels.astype(np.float64)
    if not np.isin(labels, known).all() or len(np.unique(labels)) < len(known):
        return None
    a, b = [], []
    for p, (i, j) in enumerate(zip(*np.triu_indices(len(known), 1), strict=True)):
        mine = (labels == known[i]) | (labels == known[j])
        pair = fit_sigmoid(decisions[mine, p], labels[mine] == known[i])
        a.append(pair[0])
        b.append(pair[1])
    return np.array(a), np.array(b)


def _matched_marks(exact: FloatArray, decisions: FloatArray, head: Head) -> FloatArray:
    """Move each density mark so that the same share of rows lies below it as below the exact model's."""
    assert head.density_marks is not None
    ordered, new = np.sort(exact), np.sort(decisions)
    share = np.interp(head.density_marks, ordered, np.linspace(0, 1, len(ordered)))
    moved: FloatArray = np.interp(share, np.linspace(0, 1, len(new)), new)
    # A mark stays on its side of zero, where the label changes.
    return np.where(np.sign(moved) == np.sign(head.density_marks), moved, head.density_marks)
