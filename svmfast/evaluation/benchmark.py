"""Measures models in comparison with an exact model on the same rows: one result per model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from svmfast.errors import UnsupportedError
from svmfast.evaluation.result import ModelResult
from svmfast.evaluation.timing import Speed, Timed, first_call, timed
from svmfast.figures import figures_of
from svmfast.models.answer import Answer, answer
from svmfast.models.base import Model
from svmfast.models.certified import certified_rows
from svmfast.models.expansion import KernelExpansion
from svmfast.models.head import Head
from svmfast.models.scaled import mean_work, with_scaling
from svmfast.models.scaling import Scaling
from svmfast.progress import Progress, silent
from svmfast.rows import FloatArray, Rows
from svmfast.score import Quality, percent, quality, values_differing_percent
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


class Subject:
    """A model under measurement, from which the figures of ModelResult are computed.

    `exact` is the subject of the exact model; None: this is it. The model takes the rows `timed`, which are
    `rows` or, if there is a `scaling`, some of them, scaled; the time of the scaling is not counted.
    """

    def __init__(
        self,
        entrant: ComparedModel,
        rows: Rows,
        timed: Rows,
        targets: FloatArray,
        *,
        exact: Subject | None = None,
        scaling: Scaling | None = None,
        threads: int = 1,
    ) -> None:
        self.entrant: ComparedModel = entrant
        self.rows, self._timed, self._targets = rows, timed, targets
        self._scaling, self._threads = scaling, threads
        self.model: Model = entrant.model
        self.exact: Subject = exact or self
        self.inside = inside_exact(self.model)
        #: The multiply-adds of a linear model.
        self.unit: int = self.exact.model.head.linear_functions * timed.n_columns
        found, self.first_seconds = first_call(self.call, slow=SLOW)
        self.answer = found if len(timed) == len(rows) else self._answer_all()
        self.times: Timed

    @property
    def name(self) -> str:
        """A name of its own among those of all subjects."""
        return str(id(self))

    def call(self) -> Answer:
        """Answer the timed rows as predict does."""
        return answer(self.model, self._timed, exact=self.inside, threads=self._threads)

    def _answer_all(self) -> Answer:
        return answer(self._unscaled, self.rows, exact=self.inside, threads=self._threads)

    @property
    def _unscaled(self) -> Any:
        """The model for rows as read."""
        return with_scaling(self.model, self._scaling)

    @property
    def _is_of_exact(self) -> bool:
        """Whether it may have been made from the exact model: known hashes must agree."""
        sha256, source = self.exact.entrant.sha256, self.entrant.source
        return sha256 is None or source is None or source == f"sha256:{sha256}"

    @property
    def seconds(self) -> float:
        """Seconds for all rows, from those for the rows that are timed."""
        return self.times.timings[self.name].seconds * len(self.rows) / len(self._timed)

    @property
    def speed(self) -> Speed:
        return self.times.speeds[self.name]

    def percent(self, rows: int | None) -> float | None:
        return None if rows is None else percent(rows, len(self.rows))

    @cached_property
    def quality(self) -> Quality:
        head = self.model.head
        return quality(
            self.answer.predicted,
            self._targets,
            regression=head.is_regression,
            decisions=self.answer.decisions,
            sides=head.sides,
        )

    @property
    def _regression(self) -> bool:
        return self.exact.model.head.is_regression

    @cached_property
    def differing(self) -> int | None:
        """Rows whose label is not the exact model's."""
        if self._regression:
            return None
        return int(np.count_nonzero(self.answer.predicted != self.exact.answer.predicted))

    @property
    def differing_limit(self) -> float | None:
        """The upper confidence bound, in percent, of the share of labels that differ."""
        differing, sha256 = self.differing, self.exact.entrant.sha256
        if differing is None or self.exact is self:
            return None
        proven = self.inside is not None and self.model.has_error_bound and self.model.is_rigorous
        if proven and not differing and sha256 is not None and self.entrant.source == f"sha256:{sha256}":
            return 0.0
        return 100 * upper_limit(differing, len(self.rows))

    @property
    def values_differing(self) -> float | None:
        """How much the values of a regression differ, in percent of their spread."""
        if not self._regression:
            return None
        return values_differing_percent(self.answer.predicted, self.exact.answer.predicted)

    @cached_property
    def errors(self) -> tuple[float | None, float | None]:
        """Mean and largest error of the values that predict prints: the exact model's for rows left to it."""
        if not self.model.head.same_functions(self.exact.model.head):
            return None, None
        values = self.answer.decisions
        if not values.size:
            return 0.0, 0.0
        difference = np.abs(values - self.exact.answer.decisions)
        return float(difference.mean()), float(difference.max())

    @cached_property
    def open_share(self) -> float | None:
        """The share of rows that the embedded exact model answered."""
        if self.inside is None:
            return None
        assert self.answer.certified is not None
        return float(np.mean(~self.answer.certified))

    @cached_property
    def counted(self) -> float:
        """Multiply-adds per row."""
        return counted_work(self.model, self.rows, self.inside, self.open_share, self._scaling)

    @cached_property
    def certificate(self) -> tuple[int | None, float | None]:
        """Rows that break the certificate, and percent of certified rows, for the converted model only."""
        model, head = self.model, self.model.head
        if not model.has_error_bound or not model.is_rigorous or not self._is_of_exact:
            return None, None
        decisions, bounds = self._unscaled.certified_values(self.rows, threads=self._threads)
        broken = (np.abs(decisions - self.exact.answer.decisions) > bounds).any(axis=1)
        violations = int(np.count_nonzero(broken))
        if head.is_regression:
            return violations, None
        return violations, self.percent(int(np.count_nonzero(certified_rows(head, decisions, bounds))))


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
    """Measure models, the exact one first; all are timed in turn."""
    timed_rows = rows if scaling is None else scaling.apply(rows[: scaling.timed_rows])
    figures = figures_of(ModelResult)
    subjects: list[Subject] = []
    found = []
    for done, one in enumerate(models):
        progress(done, len(models), "models")
        exact = subjects[0] if subjects else None
        subject = Subject(one, rows, timed_rows, targets, exact=exact, scaling=scaling, threads=threads)
        found.append({each.name: each.measured(subject) for each in figures if each.measured is not None})
        subjects.append(subject)
        if exact is not None:
            del subject.answer  # that for many rows is large
    progress(len(models), len(models), "models")
    times = timed(
        {one.name: one.call for one in subjects},
        {one.name: one.first_seconds for one in subjects},
        longest=LONGEST_SAMPLE,
        limit_seconds=LIMIT_SECONDS * len(subjects),
        rounds=repeats,
        progress=progress,
    )
    for values, subject in zip(found, subjects, strict=True):
        subject.times = times
        values |= {each.name: each.timed(subject) for each in figures if each.timed is not None}
    return tuple(ModelResult(**values) for values in found)


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
