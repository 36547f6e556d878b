"""The report of ``dcpred``."""

from __future__ import annotations

from dataclasses import dataclass

from svmfast.methods.common.equal_rows import FREQUENT
from svmfast.methods.common.error_statement import labels_line
from svmfast.methods.common.landmark_report import LandmarkReport


@dataclass(frozen=True)
class Trial:
    """A candidate within `max_operations`, and its score on held-out rows.

    Attributes
    ----------
    clusters, levels, landmarks : int
    pseudo : str
    pseudo_landmarks : int
    counted_cost : float
        Multiply-adds of a prediction divided by those of a linear model.
    score : float
    """

    clusters: int
    levels: int
    landmarks: int
    pseudo: str
    pseudo_landmarks: int
    counted_cost: float
    score: float


#: Describes the targets, after the score on the training rows.
_FITTED = {
    "values": ", fitted to the exact decision values",
    "labels": ", fitted to the exact labels",
    "pairs": ", fitted to the exact values of the pairs",
}


@dataclass(frozen=True, kw_only=True)
class DcpredReport(LandmarkReport):
    """The report of a training run.

    Attributes
    ----------
    task : str
        ``svc`` or ``ridge``; for a conversion, ``values`` or ``labels``, whichever was fitted; ``pairs`` if
        pairs were fitted.
    regularization : float or None
        None if the values of a given model's pairs were fitted.
    leaf_rows : (int, int)
        Number of rows of the smallest and of the largest leaf.
    pseudo_landmarks : int
        Sum over all leaves.
    pseudo : str
    leaf_gammas : (float, float)
        Smallest and largest gamma after the optimization.
    candidates : tuple of Trial
        The candidates that were compared, with `max_operations`.
    held_out : dict or None
        The result of :func:`svmfast.methods.dcpred.held_out.held_out`.
    """

    leaf_rows: tuple[int, int]
    pseudo_landmarks: int
    pseudo: str
    leaf_gammas: tuple[float, float]
    candidates: tuple[Trial, ...]

    @property
    def classes(self) -> bool:
        return self.task in ("svc", "labels", "pairs")

    def lines(self) -> list[str]:
        """Return the report as text."""
        low, high = self.leaf_rows
        narrow, wide = self.leaf_gammas
        pseudo = f", {self.pseudo_landmarks:,} {self.pseudo} pseudo" if self.pseudo_landmarks else ""
        return [
            *(
                f"choice       {one.clusters} clusters on {one.levels} level(s), {one.landmarks} landmarks, "
                f"{one.pseudo_landmarks} pseudo: {one.counted_cost:.3g}x, {one.score:.6g} on held-out rows"
                for one in self.candidates
            ),
            *self.score_lines(),
            f"data         {self.rows:,} rows, {self.features:,} features; "
            f"{self.clusters} clusters of {low:,} to {high:,} rows",
            f"kernel       rbf, gamma {self.gamma:.6g} (leaves {narrow:.4g} to {wide:.4g})"
            + self.regularization_text(),
            self.training_line(_FITTED.get(self.task, "")),
            *self._held_out_lines(),
            *self.closing_lines(pseudo),
        ]

    def _held_out_lines(self) -> list[str]:
        held = self.held_out
        if not held:
            return []
        parts = []
        if "labels_differing_percent" in held:
            parts.append(labels_line(held))
        if "values_differing_percent" in held:
            parts.append(f"values differ by {held['values_differing_percent']:.3g}% of their spread")
        if "median" in held:
            parts.append(
                f"|difference| median {held['median']:.3g}, 99% below {held['quantile_99']:.3g}, "
                f"99.9% below {held['quantile_999']:.3g}"
            )
        if held.get("trained_on"):
            parts.append("the exact model was trained on these rows; more labels differ on others")
        frequent = ""
        if held["frequent_rows"]:
            frequent = f" and {held['frequent_rows']:,.0f} that occur {FREQUENT} times or more"
        return [f"held out     {held['rows']:,.0f} rows{frequent}: {'; '.join(parts)}"]
