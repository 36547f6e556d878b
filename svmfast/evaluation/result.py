"""The figures of a model in a comparison: the meaning, measurement, key and column of each, in one place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from svmfast.class_scores import ClassScore
from svmfast.evaluation.subject import Subject
from svmfast.evaluation.timing import Speed
from svmfast.evaluation.words import area, differing, faster, number, seconds, share, times, whole
from svmfast.figures import Figures, figure, figures_of
from svmfast.score import Quality, of_values, percent

#: Head of the column of the confidence bound, which the narrow table also has if there is a limit.
BOUND = "95% bound"


def _score(name: str, **declared: Any) -> Any:
    """A figure of :class:`Quality`; those of labels and those of values exclude each other."""
    one = next(one for one in figures_of(Quality) if one.name == name)
    values = one.optional is of_values
    return figure(
        one.help,
        of=lambda of: getattr(of.quality, name),
        optional=lambda row: (row.values_differing_percent is not None) == values,
        **declared,
    )


def _differing_percent(of: Subject) -> float | None:
    return None if of.labels_differing is None else percent(of.labels_differing, len(of.given.rows))


@dataclass(frozen=True, kw_only=True)
class ModelResult(Figures):
    """The figures of a model in a comparison, in the order of tables and JSON; None if one does not apply.

    They refer to the answers of ``predict MODEL``. A model with an embedded exact model (a cascade, or
    ``--embed-exact``) is measured with it.
    """

    path: str = figure("The model's name.", of=lambda of: of.entrant.path)
    kind: str = figure("The kind of model.", of=lambda of: of.model.kind)
    accuracy: float | None = _score("accuracy", head="accuracy", words=share(2), main=True)
    balanced_accuracy: float | None = _score("balanced_accuracy", head="balanced", words=share(2), main=True)
    auc: float | None = _score("auc", head="ROC AUC", words=area)
    labels_differing: int | None = figure(
        "Rows whose label is not the exact model's; null for regression.",
        of=lambda of: of.labels_differing,
        head="labels differ",
        words=differing,
        shows="differing",
        main=True,
    )
    labels_differing_percent: float | None = figure("The same in percent.", of=_differing_percent)
    labels_differing_limit_percent: float | None = figure(
        "The upper 95 % confidence bound of that share among all rows like these; 0 if it is proven that no "
        "label can differ; null for regression, and for the exact model.",
        of=lambda of: of.labels_differing_limit_percent,
        head=BOUND,
        words=share(3),
    )
    mse: float | None = _score("mse", head="MSE", words=number, main=True)
    scc: float | None = _score("scc", head="SCC", words=number, main=True)
    rmse: float | None = _score("rmse", head="RMSE", words=number)
    mae: float | None = _score("mae", head="MAE", words=number)
    r2: float | None = _score("r2", head="R^2", words=number)
    values_differing_percent: float | None = figure(
        "Regression: root mean square difference from the exact values in percent of their standard "
        "deviation; null for labels.",
        of=lambda of: of.values_differing_percent,
        head="values differ",
        words=share(3),
        main=True,
    )
    speed: Speed = figure(
        "How many times as fast as the exact model it is, from samples of both in turn.",
        head="speed-up",
        words=faster,
        main=True,
        spread=True,
    )
    n_bytes: int | None = figure(
        "Size of the file.",
        of=lambda of: of.entrant.n_bytes,
        key="bytes",
        head="bytes",
        words=whole,
        main=True,
    )
    certified_percent: float | None = figure(
        "Percent of rows whose label is proven to be the exact model's; null for a model without a "
        "certificate, and for regression, where a certificate is an error bar.",
        of=lambda of: of.certificate[1],
        head="certified",
        words=share(2),
        main=True,
    )
    violations: int | None = figure(
        "Rows with a decision value whose difference from the exact one exceeds the certificate's bound.",
        of=lambda of: of.certificate[0],
        head="violations",
        words=whole,
    )
    exact_percent: float | None = figure(
        "Percent of rows that the embedded exact model answers; null without one.",
        of=lambda of: None if of.exact_share is None else 100 * of.exact_share,
        head="by exact",
        words=share(2),
    )
    mean_abs_error: float | None = figure(
        "Mean absolute difference of decision values from the exact model's, over all rows and functions; "
        "null if the functions differ: values per class and values per pair, or different orders of labels.",
        of=lambda of: of.errors and of.errors[0],
        head="mean error",
        words=number,
    )
    max_abs_error: float | None = figure(
        "The largest such difference.",
        of=lambda of: of.errors and of.errors[1],
        head="max error",
        words=number,
    )
    predict_seconds: float = figure(
        "Median of the repeats, from parsed rows to labels, without parsing.",
        head="predict",
        words=seconds,
    )
    multiply_adds: float = figure("Counted multiply-adds for a dense row.", of=lambda of: of.multiply_adds)
    linear_cost_counted: float | None = figure(
        "The same divided by the linear model's.",
        of=lambda of: of.multiply_adds / of.linear_multiply_adds if of.linear_multiply_adds else None,
        head="counted",
        words=times,
    )
    classes: tuple[ClassScore, ...] = _score("classes")

    @property
    def speedup(self) -> float:
        """How many times as fast as the exact model it is."""
        return self.speed.ratio

    @property
    def differing(self) -> tuple[int, float | None] | None:
        """The number of labels that differ, and their share in percent; None for regression."""
        count = self.labels_differing
        return None if count is None else (count, self.labels_differing_percent)
