"""Measurements of models in comparison with an exact model on the same rows: one result per model."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from svmfast.errors import UnsupportedError
from svmfast.evaluation.linear import linear_multiply_adds, linear_seconds
from svmfast.evaluation.timing import Timing, measure
from svmfast.models.answer import Answer, answer
from svmfast.models.base import CountedModel, Model, bounded
from svmfast.models.cascade import CascadeModel
from svmfast.models.certified import bounds_its_error, certified_rows
from svmfast.models.expansion import KernelExpansion
from svmfast.rows import FloatArray, Rows
from svmfast.score import Quality, percent, quality, values_differing_percent


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
    speedup : float
        The exact model's `predict_seconds` divided by this model's.
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
    values_differing_percent: float | None
    mean_abs_error: float | None
    max_abs_error: float | None
    inside_bound_percent: float | None
    n_bytes: int | None
    load_seconds: float | None
    parse_seconds: float | None
    predict_seconds: float
    predict_seconds_range: tuple[float, float]
    speedup: float
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
    speedup_with_fallback: float | None = None
    labels_differing_without_fallback: int | None = None
    accuracy_without_fallback: float | None = None
    balanced_accuracy_without_fallback: float | None = None
    predict_seconds_without_fallback: float | None = None
    speedup_without_fallback: float | None = None
    mean_abs_error_without_fallback: float | None = None
    max_abs_error_without_fallback: float | None = None


@dataclass(frozen=True)
class _Measured:
    """The answers for the rows, and the time they took."""

    answer: Answer
    timing: Timing


class Benchmark:
    """The exact model and the rows on which models are measured, one after the other.

    Attributes
    ----------
    exact : ComparedModel
    linear_seconds : float
        Prediction time of a linear model on the rows.
    exact_seconds : float
        Prediction time of the exact model; nan before the first measurement.
    """

    def __init__(
        self,
        exact: ComparedModel,
        rows: Rows,
        targets: FloatArray,
        *,
        threads: int = 1,
        repeats: int = 5,
        limit_seconds: float = 20.0,
    ) -> None:
        self.exact, self._rows, self._targets = exact, rows, targets
        self._threads, self._repeats, self._limit = threads, repeats, limit_seconds
        self._unit = linear_multiply_adds(exact.model.head, rows)
        self._reference: Answer | None = None
        self.exact_seconds = math.nan
        self.linear_seconds = self._time_linear()

    def check(self, other: ComparedModel) -> None:
        """Raise UnsupportedError if `other` does not answer the same question as the exact model."""
        check_same_question(self.exact, other)

    def _time_linear(self) -> float:
        head = self.exact.model.head
        return linear_seconds(head, self._rows, threads=self._threads, repeats=self._repeats).seconds

    def row(self, entrant: ComparedModel, *, parse_seconds: float | None = None) -> ModelResult:
        """Measure a model; the exact model is measured before any other."""
        if self._reference is None and entrant is not self.exact:
            self.row(self.exact)
        model, head = entrant.model, entrant.model.head
        inside = inside_exact(model)
        alone = self._measured(model)
        backed = self._backed(entrant, inside)
        main = alone if inside is None or backed is None else backed
        if self._reference is None:
            self._reference, self.exact_seconds = main.answer, main.timing.seconds
        regression = head.is_regression
        seconds, differing = main.timing.seconds, self._differing(main)
        mean_error, max_error = self._errors(model, self._values(model, inside, main))
        open_share = None if inside is None else _open_share(main.answer)
        counted = counted_work(model, self._rows, inside, open_share)
        return ModelResult(
            path=entrant.path,
            kind=model.kind,
            **vars(
                quality(
                    main.answer.predicted,
                    self._targets,
                    regression=regression,
                    decisions=main.answer.decisions,
                    sides=head.sides,
                )
            ),
            labels_differing=differing,
            labels_differing_percent=None if differing is None else percent(differing, len(self._rows)),
            values_differing_percent=self._values_differing(main),
            mean_abs_error=mean_error,
            max_abs_error=max_error,
            inside_bound_percent=_inside_percent(model, self._rows),
            n_bytes=entrant.n_bytes,
            load_seconds=entrant.load_seconds,
            parse_seconds=parse_seconds,
            predict_seconds=seconds,
            predict_seconds_range=(main.timing.fastest, main.timing.slowest),
            speedup=self.exact_seconds / seconds,
            linear_cost=seconds / self.linear_seconds,
            multiply_adds=counted,
            linear_cost_counted=None if counted is None or not self._unit else counted / self._unit,
            exact_percent=None if open_share is None else 100 * open_share,
            **self._certificate(entrant),
            **self._halves(model, alone, backed),
        )

    def _measured(self, model: Model, exact: KernelExpansion | None = None) -> _Measured:
        def call() -> Answer:
            return answer(model, self._rows, exact=exact, threads=self._threads)

        return _Measured(*measure(call, repeats=self._repeats, limit_seconds=self._limit))

    def _backed(self, entrant: ComparedModel, inside: KernelExpansion | None) -> _Measured | None:
        """Measure with the embedded exact model as fallback, or otherwise with that of the comparison."""
        model = entrant.model
        exact = inside
        if exact is None and bounds_its_error(model) and self._is_source(entrant):
            given = self.exact.model
            exact = given if isinstance(given, KernelExpansion) else None
        if exact is None or model.head.is_regression:
            return None
        return self._measured(model, exact)

    def _is_source(self, entrant: ComparedModel) -> bool:
        """Return whether `entrant` may have been made from the exact model: known hashes must agree."""
        sha256, source = self.exact.sha256, entrant.source
        return sha256 is None or source is None or source == f"sha256:{sha256}"

    def _differing(self, measured: _Measured) -> int | None:
        if self.exact.model.head.is_regression:
            return None
        assert self._reference is not None
        return int(np.count_nonzero(measured.answer.predicted != self._reference.predicted))

    def _values_differing(self, measured: _Measured) -> float | None:
        if not self.exact.model.head.is_regression:
            return None
        assert self._reference is not None
        return values_differing_percent(measured.answer.predicted, self._reference.predicted)

    def _values(self, model: Model, inside: KernelExpansion | None, main: _Measured) -> FloatArray:
        """Return the values that predict prints; for rows left to the exact model, they are its values."""
        if inside is None or model.head.n_functions <= 1 or not inside.head.same_functions(model.head):
            return main.answer.decisions
        return answer(model, self._rows, exact=inside, threads=self._threads).decisions

    def _errors(self, model: Model, decisions: FloatArray) -> tuple[float | None, float | None]:
        if not model.head.same_functions(self.exact.model.head):
            return None, None
        assert self._reference is not None
        if not decisions.size:
            return 0.0, 0.0
        difference = np.abs(decisions - self._reference.decisions)
        return float(difference.mean()), float(difference.max())

    def _certificate(self, entrant: ComparedModel) -> dict[str, Any]:
        """Return the certificate's figures, which are valid only for the exact model of the conversion."""
        model = entrant.model
        if not bounds_its_error(model) or not model.is_rigorous or not self._is_source(entrant):
            return {}
        assert self._reference is not None
        decisions, bounds = model.certified_values(self._rows, threads=self._threads)
        broken = (np.abs(decisions - self._reference.decisions) > bounds).any(axis=1)
        found: dict[str, Any] = {"violations": int(np.count_nonzero(broken))}
        if not model.head.is_regression:
            certified = certified_rows(model.head, decisions, bounds)
            found["certified_percent"] = percent(int(np.count_nonzero(certified)), len(self._rows))
        return found

    def _halves(self, model: Model, alone: _Measured, backed: _Measured | None) -> dict[str, Any]:
        """Return the figures with and without fallback."""
        if backed is None:
            return {}
        found: dict[str, Any] = {}
        for ending, part in (("with_fallback", backed), ("without_fallback", alone)):
            worth = quality(part.answer.predicted, self._targets, regression=False)
            found |= {
                f"labels_differing_{ending}": self._differing(part),
                f"accuracy_{ending}": worth.accuracy,
                f"balanced_accuracy_{ending}": worth.balanced_accuracy,
                f"predict_seconds_{ending}": part.timing.seconds,
                f"speedup_{ending}": self.exact_seconds / part.timing.seconds,
            }
        mean, largest = self._errors(model, alone.answer.decisions)
        return found | {
            "mean_abs_error_without_fallback": mean,
            "max_abs_error_without_fallback": largest,
        }


def inside_exact(model: Model) -> KernelExpansion | None:
    """Return the exact model with which ``predict MODEL`` answers the rows that `model` leaves open, or None.

    It is None for regression, where a tolerance that only the user knows decides which rows are open.
    """
    if not bounds_its_error(model) or model.head.is_regression:
        return None
    return model.embedded_exact


def counted_work(
    model: Model, rows: Rows, exact: KernelExpansion | None = None, open_share: float | None = None
) -> float | None:
    """Return the multiply-adds per row, or None if they cannot be counted.

    Parameters
    ----------
    model : Model
    rows : Rows
    exact : KernelExpansion, optional
        Answers the rows that `model` leaves open; its multiply-adds are included.
    open_share : float, optional
        The share of rows that `exact` answers.
    """
    part = model.fast if isinstance(model, CascadeModel) else model
    if not isinstance(part, CountedModel):
        return None
    count = part.multiply_adds(rows)
    if exact is None or open_share is None:
        return count
    if model.head.n_functions > 1 and not isinstance(model, CascadeModel):
        return None  # only the uncertain pairs are evaluated
    return count + open_share * exact.multiply_adds(rows)


def _open_share(answer: Answer) -> float:
    """Return the share of rows that the exact model answered."""
    assert answer.certified is not None
    return float(np.mean(~answer.certified))


def _inside_percent(model: Model, rows: Rows) -> float | None:
    if not bounded(model):
        return None
    return percent(int(np.count_nonzero(model.inside_bound(rows))), len(rows))


def check_same_question(exact: ComparedModel, other: ComparedModel) -> None:
    """Raise UnsupportedError if `other` does not answer the same question as `exact`."""
    a, b = exact.model.head, other.model.head
    kinds = [_question(head.is_classifier, head.is_regression) for head in (a, b)]
    if kinds[0] != kinds[1]:
        raise UnsupportedError(
            f"{other.path} is a {kinds[1]} model, {exact.path} a {kinds[0]} model",
            "compare models that answer the same question",
        )
    if a.labels is None or b.labels is None:
        return
    # The order of labels depends on the order of the training rows.
    if sorted(a.labels.tolist()) != sorted(b.labels.tolist()):
        raise UnsupportedError(
            f"{other.path} has the labels {_listed(b.labels)}, {exact.path} {_listed(a.labels)}",
            "compare models with the same labels",
        )


def _question(classifier: bool, regression: bool) -> str:
    return "classification" if classifier else "regression" if regression else "one-class"


def _listed(labels: np.ndarray) -> str:
    shown = " ".join(str(int(label)) for label in labels[:8])
    return f"{shown} ..." if len(labels) > 8 else shown
