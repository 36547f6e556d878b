"""The report of the methods that train landmarks, dcpred and meka: figures and their printed lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from svmfast.methods.common.cross_validation import CrossValidation, score_lines
from svmfast.methods.common.error_statement import held_out
from svmfast.methods.common.probability_lines import probability_lines
from svmfast.methods.given import PredictionTime
from svmfast.models.head import Head
from svmfast.score import Quality


@dataclass(frozen=True, kw_only=True)
class LandmarkReport:
    """The result of a fit."""

    task: str
    rows: int
    features: int
    clusters: int
    #: In all clusters together.
    landmarks: int
    #: As given or chosen.
    gamma: float
    #: C or lambda, as given or chosen; None if the fit used neither.
    regularization: float | None
    #: For a prediction, on average over the rows; and those of a linear model.
    multiply_adds: float
    linear_multiply_adds: float
    #: On at most 20,000 training rows, the first ones, compared with the labels or values that were fitted.
    training: Quality
    cross_validation: tuple[CrossValidation, ...] = ()
    folds: int | None
    #: For a conversion: its error on held-out rows.
    held_out: Mapping[str, float] | None = None
    #: By phase.
    seconds: Mapping[str, float] = field(default_factory=dict)
    #: What became of the exact model's probabilities: ``none`` (it had none), ``kept``, or ``dropped``.
    probabilities: str = "none"
    #: None if it was not measured.
    prediction: PredictionTime | None = None

    @property
    def classes(self) -> bool:
        """Whether a classifier was trained (with C) rather than a regression (with lambda)."""
        return self.task in ("svc", "labels", "pairs")

    @property
    def _linear_multiples(self) -> float:
        """The multiply-adds of a prediction as a multiple of a linear model's."""
        return self.multiply_adds / max(1.0, self.linear_multiply_adds)

    def to_dict(self) -> dict[str, Any]:
        """Return the figures of docs/json.md."""
        values = asdict(self)
        values["training"] = self.training.as_dict()
        values["cross_validation"] = [one.to_dict() for one in self.cross_validation]
        values["phase_seconds"] = values.pop("seconds")
        values["held_out"] = held_out(self.held_out)
        measured = values.pop("prediction")
        if self.prediction is not None:
            measured["linear_cost"] = self.prediction.linear_cost
            measured["counted_cost"] = self._linear_multiples
            values["prediction"] = measured
        return values

    def text(
        self,
        *,
        data: str,
        kernel: str,
        held: str,
        own: Sequence[str] = (),
        fitted: str = "",
        pseudo: str = "",
    ) -> list[str]:
        """Return the lines, of which the arguments are the ends; `own` follow the line of the kernel."""
        if self.regularization is not None:
            kernel += f", {'C' if self.classes else 'lambda'} {self.regularization:.6g}"
        lines = [
            *score_lines(self.cross_validation, classes=self.classes),
            f"data         {self.rows:,} rows, {self.features:,} features{data}",
            f"kernel       {kernel}",
            *own,
            f"training     {self.training.line()} on the training rows{fitted}",
            *([f"held out     {held}"] if held else []),
            *probability_lines(self.probabilities, self.held_out),
        ]
        if self.prediction is not None:
            lines.append(
                f"prediction   {self.prediction.linear_cost:.3g} times a linear model's time, "
                f"{self._linear_multiples:.3g} times its multiply-adds"
            )
        lines.append(f"model        {self.landmarks:,} landmarks{pseudo}")
        spent = (f"{what} {seconds:.2f} s" for what, seconds in self.seconds.items())
        return [*lines, "time         " + ", ".join(spent)]


def linear_functions(head: Head) -> int:
    """Return how many weight vectors a linear model needs: one per class (one-vs-rest), as in the papers."""
    return head.n_classes if head.is_classifier and head.n_classes > 2 else 1
