"""Measures models in comparison with an exact model on the same rows: one result per model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from svmfast.class_scores import ClassScore, class_scores
from svmfast.errors import UnsupportedError
from svmfast.evaluation.linear import linear_multiply_adds, linear_seconds
from svmfast.evaluation.result import ModelResult
from svmfast.evaluation.timing import Speed, Timed, Timing, first_call, timed
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
    load_seconds: float | None = None
    #: Hash of the file, and the source recorded in it, ``sha256:...``.
    sha256: str | None = None
    source: str | None = None


class Benchmark:
    """The exact model and the rows on which models are measured.

    If there is a `scaling`, the rows still need it and the models take scaled rows; its time is not counted.
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
        parse_seconds: float | None = None,
    ) -> None:
        self.exact, self.rows, self.targets = exact, rows, targets
        self.scaling, self._threads, self._repeats = scaling, threads, repeats
        self.parse_seconds: float | None = parse_seconds
        self._timed = rows if scaling is None else scaling.apply(rows[: scaling.timed_rows])
        #: The width of scaled rows, and the multiply-adds and seconds of a linear model.
        self.columns = self._timed.n_columns
        self.unit: int = linear_multiply_adds(exact.model.head, self.columns)
        found = linear_seconds(exact.model.head, self._timed, threads=threads, repeats=repeats)
        self.linear_seconds: float = self.all_rows(found.seconds)
        #: The exact model's answer, and by the names of their calls those of the model under measurement.
        self.reference: Answer | None = None
        self.answers: dict[str, Answer] = {}
        self.times: Timed
        self._calls: dict[str, Callable[[], Answer]] = {}
        self._once: dict[str, float] = {}

    def all_rows(self, seconds: float) -> float:
        """Seconds for all rows, from those for the rows that are timed."""
        return seconds * len(self.rows) / len(self._timed)

    def results(
        self, others: Sequence[ComparedModel], progress: Progress = silent
    ) -> tuple[ModelResult, ...]:
        """Measure the exact model and `others`; all are timed in turn."""
        entrants, figures = [self.exact, *others], figures_of(ModelResult)
        subjects, found = [], []
        for done, one in enumerate(entrants):
            progress(done, len(entrants), "models")
            subject = Subject(self, one)
            subjects.append(subject)
            found.append({each.name: each.measured(subject) for each in figures if each.measured is not None})
            self.answers.clear()  # those for many rows are large
        progress(len(entrants), len(entrants), "models")
        reference = subjects[0].main
        self.times = timed(
            {reference: self._calls[reference], **self._calls},
            self._once,
            longest=LONGEST_SAMPLE,
            limit_seconds=LIMIT_SECONDS * len(self._calls),
            rounds=self._repeats,
            progress=progress,
        )
        for values, subject in zip(found, subjects, strict=True):
            values |= {each.name: each.timed(subject) for each in figures if each.timed is not None}
        return tuple(ModelResult(**values) for values in found)

    def measure(self, model: Model, exact: KernelExpansion | None = None) -> str:
        """Answer all rows by `model`, those that it leaves open by `exact`; name the call, to time later."""

        def call() -> Answer:
            return answer(model, self._timed, exact=exact, threads=self._threads)

        name = f"call {len(self._calls)}"
        self._calls[name] = call
        found, self._once[name] = first_call(call, slow=SLOW)
        self.answers[name] = found if len(self._timed) == len(self.rows) else self.answer(model, exact)
        return name

    def unscaled(self, model: Model) -> Any:
        """The model for rows as read."""
        return with_scaling(model, self.scaling)

    def answer(self, model: Model, exact: KernelExpansion | None) -> Answer:
        return answer(self.unscaled(model), self.rows, exact=exact, threads=self._threads)

    def certified_values(self, model: Model) -> tuple[FloatArray, FloatArray]:
        """Decision values of all rows, and the bounds on their errors."""
        found: tuple[FloatArray, FloatArray] = self.unscaled(model).certified_values(
            self.rows, threads=self._threads
        )
        return found


class Subject:
    """A model under measurement, from which the figures of ModelResult are computed.

    `alone` and `backed` name its calls without and with fallback, `main` that of predict; `bare` is `alone`
    if it is also measured with fallback.
    """

    def __init__(self, bench: Benchmark, entrant: ComparedModel) -> None:
        self.bench: Benchmark = bench
        self.entrant: ComparedModel = entrant
        self.model: Model = entrant.model
        self.inside = inside_exact(self.model)
        self.alone: str = bench.measure(self.model)
        exact = self.inside
        if exact is None and self.model.has_error_bound and self._is_of_exact:
            exact = bench.exact.model.expansion
        open_rows = exact is not None and not self.model.head.is_regression
        self.backed: str | None = bench.measure(self.model, exact) if open_rows else None
        self.bare: str | None = self.alone if open_rows else None
        self.main: str = self.alone if self.inside is None else self.backed or self.alone
        self.regression: bool = bench.exact.model.head.is_regression
        if bench.reference is None:
            bench.reference = bench.answers[self.main]
        self.exact: Answer = bench.reference
        self._scores: dict[str | None, Quality] = {None: Quality()}

    @property
    def answer(self) -> Answer:
        """The answer of predict."""
        return self.bench.answers[self.main]

    @property
    def _is_of_exact(self) -> bool:
        """Whether it may have been made from the exact model: known hashes must agree."""
        sha256, source = self.bench.exact.sha256, self.entrant.source
        return sha256 is None or source is None or source == f"sha256:{sha256}"

    @property
    def timing(self) -> Timing:
        return self.bench.times.timings[self.main]

    def seconds(self, call: str | None) -> float | None:
        return None if call is None else self.bench.all_rows(self.bench.times.timings[call].seconds)

    def speed(self, call: str | None) -> Speed | None:
        return None if call is None else self.bench.times.speeds[call]

    def percent(self, rows: int | None) -> float | None:
        return None if rows is None else percent(rows, len(self.bench.rows))

    def quality(self, call: str | None) -> Quality:
        """The scores of a call's answers."""
        if call not in self._scores:
            assert call is not None
            head, found = self.model.head, self.bench.answers[call]
            self._scores[call] = quality(
                found.predicted,
                self.bench.targets,
                regression=head.is_regression,
                decisions=found.decisions,
                sides=head.sides,
            )
        return self._scores[call]

    def differing(self, call: str | None) -> int | None:
        """Rows whose label is not the exact model's."""
        if self.regression or call is None:
            return None
        return int(np.count_nonzero(self.bench.answers[call].predicted != self.exact.predicted))

    @property
    def differing_limit(self) -> float | None:
        """The upper confidence bound, in percent, of the share of labels that differ."""
        differing, sha256 = self.differing(self.main), self.bench.exact.sha256
        if differing is None or self.entrant is self.bench.exact:
            return None
        proven = self.inside is not None and self.model.has_error_bound and self.model.is_rigorous
        if proven and not differing and sha256 is not None and self.entrant.source == f"sha256:{sha256}":
            return 0.0
        return 100 * upper_limit(differing, len(self.bench.rows))

    @property
    def by_exact_label(self) -> tuple[ClassScore, ...] | None:
        """How many rows of each of the exact model's labels have the same label."""
        if self.regression:
            return None
        found = class_scores(self.answer.predicted, self.exact.predicted)
        return tuple(one for one in found if one.rows)

    @property
    def values_differing(self) -> float | None:
        """How much the values of a regression differ, in percent of their spread."""
        if not self.regression:
            return None
        return values_differing_percent(self.answer.predicted, self.exact.predicted)

    @cached_property
    def errors(self) -> tuple[float | None, float | None]:
        """Mean and largest error of the values that predict prints: the exact model's for rows left to it."""
        inside, head, values = self.inside, self.model.head, self.answer.decisions
        if inside is not None and head.n_functions > 1 and inside.head.same_functions(head):
            values = self.bench.answer(self.model, inside).decisions
        return self._errors(values)

    @cached_property
    def bare_errors(self) -> tuple[float | None, float | None]:
        """The same of the fast model alone."""
        return (None, None) if self.bare is None else self._errors(self.bench.answers[self.bare].decisions)

    def _errors(self, values: FloatArray) -> tuple[float | None, float | None]:
        if not self.model.head.same_functions(self.bench.exact.model.head):
            return None, None
        if not values.size:
            return 0.0, 0.0
        difference = np.abs(values - self.exact.decisions)
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
        bench = self.bench
        return counted_work(self.model, bench.rows, self.inside, self.open_share, bench.scaling)

    @property
    def inside_bound_percent(self) -> float | None:
        """Percent of rows inside the validity bound."""
        model = self.bench.unscaled(self.model)
        if not model.has_validity_bound:
            return None
        return self.percent(int(np.count_nonzero(model.inside_bound(self.bench.rows))))

    @cached_property
    def certificate(self) -> tuple[int | None, float | None]:
        """Rows that break the certificate, and percent of certified rows, for the converted model only."""
        model, head = self.model, self.model.head
        if not model.has_error_bound or not model.is_rigorous or not self._is_of_exact:
            return None, None
        decisions, bounds = self.bench.certified_values(model)
        broken = (np.abs(decisions - self.exact.decisions) > bounds).any(axis=1)
        violations = int(np.count_nonzero(broken))
        if head.is_regression:
            return violations, None
        return violations, self.percent(int(np.count_nonzero(certified_rows(head, decisions, bounds))))


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
