"""What is given of a model in a comparison, and what is found: its figures."""

from __future__ import annotations

from dataclasses import dataclass

from svmfast.class_scores import ClassScore
from svmfast.evaluation.timing import Speed
from svmfast.models.base import Model
from svmfast.score import Quality


@dataclass(frozen=True)
class ComparedModel:
    """A model in a comparison, with the properties of its file.

    Attributes
    ----------
    path : str
        Its name in the report.
    model : Model
    n_bytes : int or None
        Size of its file.
    load_seconds : float or None
    sha256 : str or None
        Hash of its file.
    source : str or None
        The source recorded in its file, ``sha256:...``.
    """

    path: str
    model: Model
    n_bytes: int | None = None
    load_seconds: float | None = None
    sha256: str | None = None
    source: str | None = None


@dataclass(frozen=True, kw_only=True)
class ModelResult(Quality):
    """The figures of one model in a comparison; those that do not apply are None.

    Figures without an ending refer to the answers of ``predict MODEL``. A model with an embedded exact model
    (a cascade, or ``--embed-exact``) is measured with it. Such a model, and one with only a certificate, has
    two more sets of figures. For ``_with_fallback``, an exact model answers the rows that are not certified
    or that a cascade leaves open: the embedded one, or otherwise the one of the comparison
    (``predict --exact``). For ``_without_fallback``, the fast model answers all rows
    (``predict --no-fallback``).

    Attributes
    ----------
    path, kind : str
    labels_differing : int or None
        Rows whose label is not the exact model's; None for regression.
    labels_differing_percent : float or None
    labels_differing_limit_percent : float or None
        The upper 95 % confidence bound of that share among all rows like these; 0 if it is proven that no
        label can differ. None for regression, and for the exact model.
    by_exact_label : tuple of ClassScore
        For each label that the exact model gives: the rows with it, and how many of them the model labels
        the same (`correct`). Empty for regression and for more than 1,000 labels.
    values_differing_percent : float or None
        Regression: how much the values differ (:func:`svmfast.score.values_differing_percent`).
    mean_abs_error, max_abs_error : float or None
        |difference of decision values| from the exact model's, over all rows and decision functions; None if
        the functions differ: values per class and values per pair, or different orders of labels.
    inside_bound_percent : float or None
        Rows inside the validity bound for the model's orders; None for a model without a known bound.
    n_bytes : int or None
    load_seconds, parse_seconds : float or None
        Time to read the model, and the data (the same for all).
    predict_seconds : float
        Median of the repeats, from parsed rows to labels, without parsing.
    predict_seconds_range : (float, float)
        Fastest and slowest repeat.
    speed : Speed
        How many times as fast as the exact model it is, from samples of both in turn.
    linear_cost : float
        `predict_seconds` divided by that of a linear model on the same rows.
    multiply_adds, linear_cost_counted : float or None
        Counted for a dense row, and the same divided by the linear model's. None if the kind of model does
        not count them, or if an embedded exact model evaluates only some pairs of classes.
    exact_percent : float or None
        Rows that the embedded exact model answers; None without one.
    certified_percent : float or None
        Rows whose label is provably the exact model's; None for a model without a certificate, and for
        regression, where a certificate is an error bar.
    violations : int or None
        Rows with a decision value whose difference from the exact one exceeds the certificate's bound.
    """

    path: str
    kind: str
    labels_differing: int | None
    labels_differing_percent: float | None
    labels_differing_limit_percent: float | None
    by_exact_label: tuple[ClassScore, ...]
    values_differing_percent: float | None
    mean_abs_error: float | None
    max_abs_error: float | None
    inside_bound_percent: float | None
    n_bytes: int | None
    load_seconds: float | None
    parse_seconds: float | None
    predict_seconds: float
    predict_seconds_range: tuple[float, float]
    speed: Speed
    linear_cost: float
    multiply_adds: float | None
    linear_cost_counted: float | None
    exact_percent: float | None = None
    certified_percent: float | None = None
    violations: int | None = None
    labels_differing_with_fallback: int | None = None
    accuracy_with_fallback: float | None = None
    balanced_accuracy_with_fallback: float | None = None
    predict_seconds_with_fallback: float | None = None
    speed_with_fallback: Speed | None = None
    labels_differing_without_fallback: int | None = None
    accuracy_without_fallback: float | None = None
    balanced_accuracy_without_fallback: float | None = None
    predict_seconds_without_fallback: float | None = None
    speed_without_fallback: Speed | None = None
    mean_abs_error_without_fallback: float | None = None
    max_abs_error_without_fallback: float | None = None

    @property
    def speedup(self) -> float:
        """How many times as fast as the exact model it is."""
        return self.speed.ratio

    @property
    def differing(self) -> tuple[int | None, float | None]:
        """The number of labels that differ, and their share in percent."""
        return self.labels_differing, self.labels_differing_percent

    @property
    def differing_by_label(self) -> tuple[ClassScore, ...] | None:
        """:attr:`by_exact_label`; None for regression."""
        return None if self.labels_differing is None else self.by_exact_label

    @property
    def worst_label(self) -> ClassScore | None:
        """The exact model's label of whose rows the largest share differs; None if no label differs."""
        found = [one for one in self.by_exact_label if one.correct < one.rows]
        return max(found, key=lambda one: ((one.rows - one.correct) / one.rows, one.rows), default=None)
