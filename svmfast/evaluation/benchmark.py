"""Measures models in comparison with an exact model on the same rows: one result per model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from svmfast.errors import UnsupportedError
from svmfast.evaluation.result import SCORES, ModelResult
from svmfast.evaluation.timing import first_call, timed
from svmfast.models.answer import Answer, answer
from svmfast.models.base import Model
from svmfast.models.certified import certified_rows
from svmfast.models.expansion import KernelExpansion
from svmfast.models.head import Head
from svmfast.models.scaled import mean_work, with_scaling
from svmfast.models.scaling import Scaling
from svmfast.progress import Progress, silent
from svmfast.rows import FloatArray, Rows
from svmfast.score import percent, quality, values_differing_percent
from svmfast.solvers.intervals import upper_limit

#: A call that takes this many seconds needs no warm-up; shorter ones are repeated up to this time per sample.
SLOW, LONGEST_SAMPLE = 1.0, 0.2
#: Seconds of timing for each call, at most.
LIMIT_SECONDS = 20.0


@dataclass(frozen=True)
class ComparedModel:
    """A model in a comparison, with its name in the report and the properties of its file."""

    path: str
    model: Model
    n_bytes: int | None = None
    #: Hash of the file, and the source recorded in it, ``sha256:...``.
    sha256: str | None = None
    source: str | None = None


@dataclass(frozen=True, eq=False)
class _Given:
    """The rows of a comparison and their targets.

    The models take the rows `timed`, which are `rows` or, if there is a `scaling`, some of them, scaled; the
    time of the scaling is not counted.
    """

    rows: Rows
    timed: Rows
    targets: FloatArray
    scaling: Scaling | None
    threads: int


class _Subject:
    """A model under measurement; `exact` is the subject of the exact model, or None if this is it."""

    def __init__(self, entrant: ComparedModel, given: _Given, exact: _Subject | None) -> None:
        self.entrant, self._given, self.model = entrant, given, entrant.model
        self._exact = exact or self
        self._inside = inside_exact(self.model)
        self._unscaled: Any = with_scaling(self.model, given.scaling)  # for rows as read
        self.answer, self.seconds = first_call(self.call, slow=SLOW)
        if len(given.timed) < len(given.rows):
            self.answer = answer(self._unscaled, given.rows, exact=self._inside, threads=given.threads)

    def call(self) -> Answer:
        """Answer the timed rows as predict does."""
        return answer(self.model, self._given.timed, exact=self._inside, threads=self._given.threads)

    def figures(self) -> dict[str, Any]:
        """The figures of ModelResult, but those of time."""
        head, given, found = self.model.head, self._given, self.answer
        exact, n = self._exact.answer, len(given.rows)
        worth = quality(
            found.predicted,
            given.targets,
            regression=head.is_regression,
            decisions=found.decisions,
            sides=head.sides,
        )
        differing = values = None
        if self._exact.model.head.is_regression:
            values = values_differing_percent(found.predicted, exact.predicted)
        else:
            differing = int(np.count_nonzero(found.predicted != exact.predicted))
        open_share = None if self._inside is None else float(np.mean(~np.asarray(found.certified)))
        violations, certified = self._certificate()
        mean, largest = self._errors()
        counted = counted_work(self.model, given.rows, self._inside, open_share, given.scaling)
        #: The multiply-adds of a linear model.
        unit = self._exact.model.head.linear_functions * given.timed.n_columns
        return {
            "path": self.entrant.path,
            "kind": self.model.kind,
            **{name: getattr(worth, name) for name in SCORES},
            "labels_differing": differing,
            "labels_differing_percent": None if differing is None else percent(differing, n),
            "labels_differing_limit_percent": None if differing is None else self._limit(differing),
            "values_differing_percent": values,
            "n_bytes": self.entrant.n_bytes,
            "certified_percent": certified,
            "violations": violations,
            "exact_percent": None if open_share is None else 100 * open_share,
            "mean_abs_error": mean,
            "max_abs_error": largest,
            "multiply_adds": counted,
            "linear_cost_counted": counted / unit if unit else None,
        }

    def _limit(self, differing: int) -> float | None:
        """The upper confidence bound, in percent, of the share of labels that differ."""
        if self._exact is self:
            return None
        sha256 = self._exact.entrant.sha256
        proven = self._inside is not None and self.model.certifies
        if proven and not differing and sha256 is not None and self.entrant.source == f"sha256:{sha256}":
            return 0.0
        return 100 * upper_limit(differing, len(self._given.rows))

    def _errors(self) -> tuple[float | None, float | None]:
        """Mean and largest error of the values that predict prints: the exact model's for rows left to it."""
        if not self.model.head.same_functions(self._exact.model.head):
            return None, None
        values = self.answer.decisions
        if not values.size:
            return 0.0, 0.0
        difference = np.abs(values - self._exact.answer.decisions)
        return float(difference.mean()), float(difference.max())

    def _certificate(self) -> tuple[int | None, float | None]:
        """Rows that break the certificate, and percent of certified rows.

        None if the model has none, or is known to be made from another exact model.
        """
        model, head, sha256 = self.model, self.model.head, self._exact.entrant.sha256
        other = None not in (sha256, self.entrant.source) and self.entrant.source != f"sha256:{sha256}"
        if not model.certifies or other:
            return None, None
        decisions, bounds = self._unscaled.certified_values(self._given.rows, threads=self._given.threads)
        broken = (np.abs(decisions - self._exact.answer.decisions) > bounds).any(axis=1)
        violations = int(np.count_nonzero(broken))
        if head.is_regression:
            return violations, None
        return violations, percent(
            int(np.count_nonzero(certified_rows(head, decisions, bounds))), len(broken)
        )


def measured(
    models: Sequence[ComparedModel],
    rows: Rows,
    targets: FloatArray,
    *,
    scaling: Scaling | None = None,
    threads: int = 1,
    repeats: int = 7,
    progress: Progress = silent,
) -> tuple[ModelResult, ...]:
    """Measure models on the same rows, the exact one first, in at most `repeats` timed predictions of each.

    UnsupportedError if they do not answer the same question, or if there are no rows. The rows still need the
    `scaling`; the models take scaled rows.
    """
    if not len(rows):
        raise UnsupportedError("there are no rows for a comparison", "give a data file with rows")
    for other in models[1:]:
        check_same_question(models[0], other)
    timed_rows = rows if scaling is None else scaling.apply(rows[: scaling.timed_rows])
    given = _Given(rows, timed_rows, targets, scaling, threads)
    subjects: list[_Subject] = []
    found = []
    for done, one in enumerate(models):
        progress(done, len(models), "models")
        subjects.append(_Subject(one, given, subjects[0] if subjects else None))
        found.append(subjects[-1].figures())
        if done:
            del subjects[-1].answer  # that for many rows is large
    progress(len(models), len(models), "models")
    times = timed(
        {str(i): one.call for i, one in enumerate(subjects)},
        {str(i): one.seconds for i, one in enumerate(subjects)},
        longest=LONGEST_SAMPLE,
        limit_seconds=LIMIT_SECONDS * len(subjects),
        rounds=repeats,
        progress=progress,
    )
    whole = len(rows) / len(timed_rows)
    return tuple(
        ModelResult(**values, speed=times.speeds[str(i)], predict_seconds=whole * times.seconds[str(i)])
        for i, values in enumerate(found)
    )


def inside_exact(model: Model) -> KernelExpansion | None:
    """The exact model with which ``predict MODEL`` answers the rows that `model` leaves open, or None.

    It is None for regression, where a tolerance that only the user knows decides which rows are open.
    """
    if not model.has_error_bound or model.head.is_regression:
        return None
    return model.embedded_exact


def counted_work(
    model: Model,
    rows: Rows,
    exact: KernelExpansion | None = None,
    open_share: float | None = None,
    scaling: Scaling | None = None,
) -> float:
    """Multiply-adds per row, with those of `exact` for its share of the rows.

    A `scaling` that the rows still need is not counted.
    """
    count = mean_work(model.fast_part, rows, scaling)
    if exact is None or open_share is None:
        return count
    return count + open_share * mean_work(exact, rows, scaling)


def check_same_question(exact: ComparedModel, other: ComparedModel) -> None:
    """Raise UnsupportedError if `other` does not answer the same question as `exact`."""

    def question(head: Head) -> str:
        return "classification" if head.is_classifier else "regression" if head.is_regression else "one-class"

    def listed(labels: np.ndarray) -> str:
        return " ".join(str(int(label)) for label in labels[:8]) + " ..." * (len(labels) > 8)

    a, b = exact.model.head, other.model.head
    if question(a) != question(b):
        raise UnsupportedError(
            f"{other.path} is a {question(b)} model, {exact.path} a {question(a)} model",
            "compare models that answer the same question",
        )
    # The order of labels depends on the order of the training rows.
    if a.labels is not None and b.labels is not None and sorted(a.labels) != sorted(b.labels):
        raise UnsupportedError(
            f"{other.path} has the labels {listed(b.labels)}, {exact.path} {listed(a.labels)}",
            "compare models with the same labels",
        )
