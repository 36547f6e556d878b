"""Measurements of models in comparison with an exact model on the same rows: one result per model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from svmfast.class_scores import ClassScore, class_scores
from svmfast.errors import UnsupportedError
from svmfast.evaluation.linear import linear_multiply_adds, linear_seconds
from svmfast.evaluation.model_result import ComparedModel, ModelResult
from svmfast.evaluation.timing import Timed, first_call, timed
from svmfast.models.answer import Answer, answer
from svmfast.models.base import CountedModel, Model, bounded
from svmfast.models.cascade import CascadeModel
from svmfast.models.certified import bounds_its_error, certified_rows
from svmfast.models.expansion import KernelExpansion
from svmfast.models.scaled import mean_work, with_scaling
from svmfast.models.scaling import Scaling
from svmfast.progress import Progress, silent
from svmfast.rows import FloatArray, Rows
from svmfast.score import percent, quality, values_differing_percent
from svmfast.solvers.intervals import upper_limit

#: A call that takes this many seconds needs no warm-up; shorter ones are repeated up to this time per sample.
SLOW, LONGEST_SAMPLE = 1.0, 0.2


@dataclass(frozen=True)
class _Measured:
    """The answers for the rows, and the name of the call that gave them."""

    answer: Answer
    call: str


@dataclass(frozen=True)
class _Draft:
    """The figures of a model without its times, and the names of its calls."""

    figures: dict[str, Any]
    main: str
    alone: str
    backed: str | None


class Benchmark:
    """The exact model and the rows on which models are measured.

    Parameters
    ----------
    exact : ComparedModel
    rows : Rows
    targets : (n,) float64
    scaling : Scaling, optional
        The scaling that the rows still need; the models take scaled rows. Its time is not counted.
    threads, repeats : int
    limit_seconds : float

    Attributes
    ----------
    exact : ComparedModel
    columns : int
        The width of scaled rows.
    linear_seconds : float
        Prediction time of a linear model on the rows.
    """

    def __init__(
        self,
        exact: ComparedModel,
        rows: Rows,
        targets: FloatArray,
        *,
        scaling: Scaling | None = None,
        threads: int = 1,
        repeats: int = 7,
        limit_seconds: float = 20.0,
    ) -> None:
        self.exact, self._rows, self._targets = exact, rows, targets
        self._threads, self._repeats, self._limit = threads, repeats, limit_seconds
        self._scaling = scaling
        self._timed = rows if scaling is None else scaling.apply(rows[: scaling.timed_rows])
        self.columns = self._timed.n_columns
        self._unit = linear_multiply_adds(exact.model.head, self.columns)
        self._reference: Answer | None = None
        self._calls: dict[str, Callable[[], Answer]] = {}
        self._once: dict[str, float] = {}
        self.linear_seconds = self._time_linear()

    def check(self, other: ComparedModel) -> None:
        """Raise UnsupportedError if `other` does not answer the same question as the exact model."""
        check_same_question(self.exact, other)

    def _time_linear(self) -> float:
        found = linear_seconds(
            self.exact.model.head, self._timed, threads=self._threads, repeats=self._repeats
        )
        return self._of_all(found.seconds)

    def _of_all(self, seconds: float) -> float:
        """Return the seconds for all rows from those for the rows that are timed."""
        return seconds * len(self._rows) / len(self._timed)

    def results(
        self,
        others: Sequence[ComparedModel],
        *,
        parse_seconds: float | None = None,
        progress: Progress = silent,
    ) -> tuple[ModelResult, ...]:
        """Return the figures of the exact model and of `others`; all are timed in turn."""
        entrants, drafts = [self.exact, *others], []
        for done, one in enumerate(entrants):
            progress(done, len(entrants), "models")
            drafts.append(self._draft(one))
        progress(len(entrants), len(entrants), "models")
        reference = drafts[0].main
        times = timed(
            {reference: self._calls[reference], **self._calls},
            self._once,
            longest=LONGEST_SAMPLE,
            limit_seconds=self._limit * len(self._calls),
            rounds=self._repeats,
            progress=progress,
        )
        return tuple(
            ModelResult(**draft.figures, parse_seconds=parse_seconds, **self._times(draft, times))
            for draft in drafts
        )

    def _times(self, draft: _Draft, times: Timed) -> dict[str, Any]:
        timing = times.timings[draft.main]
        seconds = self._of_all(timing.seconds)
        found: dict[str, Any] = {
            "predict_seconds": seconds,
            "predict_seconds_range": (self._of_all(timing.fastest), self._of_all(timing.slowest)),
            "speed": times.speeds[draft.main],
            "linear_cost": seconds / self.linear_seconds,
        }
        if draft.backed is not None:
            for ending, call in (("with_fallback", draft.backed), ("without_fallback", draft.alone)):
                found[f"predict_seconds_{ending}"] = self._of_all(times.timings[call].seconds)
                found[f"speed_{ending}"] = times.speeds[call]
        return found

    def _draft(self, entrant: ComparedModel) -> _Draft:
        """Measure all but the times of a model; the first one is the exact model."""
        model, head = entrant.model, entrant.model.head
        inside = inside_exact(model)
        alone = self._measured(model)
        backed = self._backed(entrant, inside)
        main = alone if inside is None or backed is None else backed
        if self._reference is None:
            self._reference = main.answer
        differing = self._differing(main)
        mean_error, max_error = self._errors(model, self._values(model, inside, main))
        open_share = None if inside is None else _open_share(main.answer)
        counted = counted_work(model, self._rows, inside, open_share, self._scaling)
        worth = quality(
            main.answer.predicted,
            self._targets,
            regression=head.is_regression,
            decisions=main.answer.decisions,
            sides=head.sides,
        )
        figures = {
            "path": entrant.path,
            "kind": model.kind,
            **vars(worth),
            "labels_differing": differing,
            "labels_differing_percent": None if differing is None else percent(differing, len(self._rows)),
            "labels_differing_limit_percent": self._differing_limit(entrant, inside, differing),
            "by_exact_label": self._by_exact_label(main),
            "values_differing_percent": self._values_differing(main),
            "mean_abs_error": mean_error,
            "max_abs_error": max_error,
            "inside_bound_percent": _inside_percent(self._unscaled(model), self._rows),
            "n_bytes": entrant.n_bytes,
            "load_seconds": entrant.load_seconds,
            "multiply_adds": counted,
            "linear_cost_counted": None if counted is None or not self._unit else counted / self._unit,
            "exact_percent": None if open_share is None else 100 * open_share,
            **self._certificate(entrant),
            **self._halves(model, alone, backed),
        }
        return _Draft(figures, main.call, alone.call, None if backed is None else backed.call)

    def _measured(self, model: Model, exact: KernelExpansion | None = None) -> _Measured:
        def call() -> Answer:
            return answer(model, self._timed, exact=exact, threads=self._threads)

        name = f"call {len(self._calls)}"
        self._calls[name] = call
        found, self._once[name] = first_call(call, slow=SLOW)
        if len(self._timed) < len(self._rows):
            found = self._answer(model, exact)
        return _Measured(found, name)

    def _unscaled(self, model: Model) -> Model:
        """Return the model for rows as read."""
        return with_scaling(model, self._scaling)

    def _answer(self, model: Model, exact: KernelExpansion | None) -> Answer:
        return answer(self._unscaled(model), self._rows, exact=exact, threads=self._threads)

    def _differing_limit(
        self, entrant: ComparedModel, inside: KernelExpansion | None, differing: int | None
    ) -> float | None:
        """Return the upper confidence bound, in percent, of the share of labels that differ."""
        if differing is None or entrant is self.exact:
            return None
        model, sha256 = entrant.model, self.exact.sha256
        proven = inside is not None and bounds_its_error(model) and model.is_rigorous
        if proven and not differing and sha256 is not None and entrant.source == f"sha256:{sha256}":
            return 0.0
        return 100 * upper_limit(differing, len(self._rows))

    def _by_exact_label(self, measured: _Measured) -> tuple[ClassScore, ...]:
        """Return how many rows of each of the exact model's labels have the same label."""
        if self.exact.model.head.is_regression:
            return ()
        assert self._reference is not None
        found = class_scores(measured.answer.predicted, self._reference.predicted)
        return tuple(one for one in found if one.rows)

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
        return self._answer(model, inside).decisions

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
        raw: Any = self._unscaled(model)
        decisions, bounds = raw.certified_values(self._rows, threads=self._threads)
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
    model: Model,
    rows: Rows,
    exact: KernelExpansion | None = None,
    open_share: float | None = None,
    scaling: Scaling | None = None,
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
    scaling : Scaling, optional
        The scaling that the rows still need; it is not counted.
    """
    part = model.fast if isinstance(model, CascadeModel) else model
    if not isinstance(part, CountedModel):
        return None
    count = mean_work(part, rows, scaling)
    if exact is None or open_share is None:
        return count
    if model.head.n_functions > 1 and not isinstance(model, CascadeModel):
        return None  # only the uncertain pairs are evaluated
    return count + open_share * mean_work(exact, rows, scaling)


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
