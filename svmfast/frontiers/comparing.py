"""Compares models with the exact one: their losses on the choosing and on the confirming rows.

If a model is no better than chance, the rows may belong to another problem.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from svmfast.class_scores import LostClass, lost_classes
from svmfast.evaluation.loss import Estimate, Loss, loss, no_loss
from svmfast.frontiers.row_sets import LabelledRows
from svmfast.methods.common.equal_rows import Counted, frequent_groups, groups_of, row_keys
from svmfast.models.answer import answer
from svmfast.models.base import Model
from svmfast.models.certified import certified_rows
from svmfast.models.expansion import KernelExpansion
from svmfast.models.scaled import counted_work, with_scaling
from svmfast.models.scaling import Scaling
from svmfast.rows import BoolArray, FloatArray, IntArray, Rows
from svmfast.score import percent

#: With at least _ENOUGH_ROWS rows, accuracy must exceed chance by _DEVIATIONS standard deviations.
_ENOUGH_ROWS, _DEVIATIONS = 50, 2.0


def better_than_chance(predicted: FloatArray, target: FloatArray, *, regression: bool) -> bool:
    """Whether n > 0 predictions are better than chance.

    Chance means that the predicted labels are randomly permuted, or for regression the targets' mean. The
    variance of the number of correct labels is that of Hoeffding's combinatorial central limit theorem
    (Annals of Mathematical Statistics 22, 1951). If all targets are of one class, chance cannot be
    distinguished from skill, and any correct label counts.
    """
    if regression:
        with np.errstate(over="ignore", invalid="ignore"):
            error, variance = float(np.mean((predicted - target) ** 2)), float(target.var())
        return error < variance or error == 0
    n, right = len(target), int(np.count_nonzero(predicted == target))
    if (target == target[0]).all():
        return right > 0
    labels = np.unique(np.concatenate((predicted, target)))
    given, true = (
        np.array([np.count_nonzero(values == label) for label in labels]) / n
        for values in (predicted, target)
    )
    chance = float(given @ true)
    # Sum over all pairs of rows of the squared centered agreements, by pairs of labels.
    centered = np.eye(len(labels)) - true[:, None] - given[None, :] + chance
    variance = n * n * float(given @ (centered**2) @ true) / max(1, n - 1)
    return right > n * chance + (_DEVIATIONS * math.sqrt(variance) if n >= _ENOUGH_ROWS else 0.0)


class Measurements(NamedTuple):
    """The measurements of one model on both sets of rows: the fields of Point that come from its answers."""

    loss_choosing: Loss
    loss_confirming: Loss
    lost_classes_choosing: tuple[LostClass, ...] = ()
    lost_classes_confirming: tuple[LostClass, ...] = ()
    certified_choosing: float | None = None
    certified_confirming: float | None = None
    linear_cost_counted: float | None = None
    skilled: bool = True


@dataclass(frozen=True)
class _RowAnswers:
    predicted: FloatArray
    #: The rows that a model with bounds answers itself; None for others.
    sure: BoolArray | None = None

    def backed(self, by_exact: _RowAnswers) -> _RowAnswers:
        """These answers, with the exact model's for the rows that this model leaves open."""
        if self.sure is None:
            return self
        return _RowAnswers(np.where(self.sure, self.predicted, by_exact.predicted), self.sure)


@dataclass(frozen=True, eq=False)
class ComparedRows(LabelledRows):
    """Rows on which models are compared with the exact one, and its answers."""

    exact_answers: _RowAnswers
    #: The first row of each group of equal ones, and the groups; None if all rows are different.
    repeats: tuple[IntArray, Counted] | None

    def loss(self, found: _RowAnswers, *, regression: bool, proven: bool) -> Loss:
        """The loss of answers; equal rows are one observation of the share of labels that differ."""
        predicted, expected = found.predicted, self.exact_answers.predicted
        if proven and (predicted == expected).all():
            return no_loss(predicted, self.labels, regression=regression)
        known = loss(predicted, expected, self.labels, regression=regression)
        if self.repeats is None or regression:
            return known
        first, counted = self.repeats
        share = counted.share((predicted != expected)[first])
        return replace(known, differing=Estimate(*(100 * end for end in share)))


class Comparing:
    """Compares the answers of models with those of the exact model, on both sets of rows.

    The constructor runs the exact model on all rows, and so may take long. If there is a `scaling`, the rows
    still need it; the models take scaled rows.
    """

    def __init__(
        self,
        exact: KernelExpansion,
        choosing: LabelledRows,
        confirming: LabelledRows,
        *,
        scaling: Scaling | None = None,
        threads: int = 1,
    ) -> None:
        self.exact, self._scaling, self._threads = exact, scaling, threads
        self._regression = exact.head.is_regression
        rows = choosing.rows if scaling is None else scaling.apply(choosing.rows[: scaling.timed_rows])
        begin = time.process_time()
        timed = self._answer(exact, rows, scaled=True)
        #: The exact model's seconds for the choosing rows on this machine if it did nothing else.
        self.exact_seconds: float
        self.exact_seconds = (time.process_time() - begin) / threads * len(choosing) / max(1, len(rows))
        whole = timed if len(rows) == len(choosing) else self._answer(exact, choosing.rows)
        self.choosing = self._compared_rows(choosing, whole)
        self.confirming = self._compared_rows(confirming, self._answer(exact, confirming.rows))
        self.sides = self.choosing, self.confirming
        #: Whether the rows have true labels, by which models are scored.
        self.scored = not bool(np.isnan(choosing.labels).all())
        widths = [side.rows.n_columns if scaling is None else scaling.width(side.rows) for side in self.sides]
        self._last: tuple[Model, list[_RowAnswers]] | None = None
        self.columns, self._linear_work = max(widths), exact.head.linear_functions * widths[0]

    def _compared_rows(self, given: LabelledRows, exact_answers: _RowAnswers) -> ComparedRows:
        parts = [given.rows] if self._scaling is None else self._scaling.parts(given.rows)
        group, first = groups_of([key for rows in parts for key in row_keys(rows)])
        if len(first) == len(group):
            return ComparedRows(given.rows, given.labels, exact_answers, None)
        times, frequent = np.bincount(group).astype(np.float64), frequent_groups(group)
        counted = Counted(times, frequent, times[~frequent])
        return ComparedRows(given.rows, given.labels, exact_answers, (first, counted))

    @property
    def exact_skilled(self) -> bool:
        """Whether the exact model is better than chance on both sets together; true if that is unknown."""
        predicted = np.concatenate([side.exact_answers.predicted for side in self.sides])
        return self._skilled(predicted, np.concatenate([side.labels for side in self.sides]))

    def _skilled(self, predicted: FloatArray, labels: FloatArray) -> bool:
        if self.exact.head.svm_type == "one_class" or not self.scored:
            return True
        return better_than_chance(predicted, labels, regression=self._regression)

    def of_exact(self) -> Measurements:
        """The measurements of the exact model itself."""
        losses = [
            no_loss(side.exact_answers.predicted, side.labels, regression=self._regression)
            for side in self.sides
        ]
        return Measurements(losses[0], losses[1], linear_cost_counted=self._counted(self.exact))

    def _answer(self, model: Model, rows: Rows, *, scaled: bool = False) -> _RowAnswers:
        raw: Any = with_scaling(model, None if scaled else self._scaling)
        head, sure = model.head, None
        if not model.has_error_bound or head.is_regression:
            predicted = answer(raw, rows, threads=self._threads).predicted
        else:
            decisions, bounds = raw.certified_values(rows, threads=self._threads)
            predicted, sure = head.predict(decisions), certified_rows(head, decisions, bounds)
        return _RowAnswers(predicted, sure)

    def compare(self, model: Model, *, backed: bool = False) -> Measurements:
        """Compare `model`, alone or with the exact model's answers for the rows that it leaves open."""
        regression, sides = self._regression, self.sides
        # A model that can contain the exact one is compared alone, then backed: its own answers are the same.
        if self._last is None or self._last[0] is not model:
            self._last = model, [self._answer(model, side.rows) for side in sides]
        own = self._last[1]
        whole = own
        if backed:
            whole = [one.backed(side.exact_answers) for one, side in zip(own, sides, strict=True)]
        losses = [
            side.loss(one, regression=regression, proven=backed and model.certifies)
            for one, side in zip(whole, sides, strict=True)
        ]
        lost = [self._lost(one, side) for one, side in zip(whole, sides, strict=True)]
        skilled = self._skilled(whole[0].predicted, self.choosing.labels)
        sure = [one.sure for one in own if one.sure is not None]
        certified: list[float | None] = [None, None]
        if sure and model.certifies:
            certified = [percent(int(np.count_nonzero(rows)), len(rows)) for rows in sure]
        counted = self._counted(model, float(np.mean(~sure[0])) if backed and sure else None)
        return Measurements(
            losses[0], losses[1], lost[0], lost[1], certified[0], certified[1], counted, skilled
        )

    def _lost(self, found: _RowAnswers, side: ComparedRows) -> tuple[LostClass, ...]:
        if self._regression:
            return ()
        expected = side.exact_answers.predicted
        return lost_classes(found.predicted, expected, side.labels if self.scored else expected)

    def _counted(self, model: Model, open_share: float | None = None) -> float | None:
        fallback = None if open_share is None else self.exact
        work = counted_work(model, self.choosing.rows, fallback, open_share, self._scaling)
        return work / self._linear_work if self._linear_work else None
