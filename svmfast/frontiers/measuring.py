"""The measurements of ``svmfast frontier``: a model's loss on choosing and on confirming rows."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from svmfast.class_scores import LostClass, lost_classes
from svmfast.evaluation.benchmark import counted_work
from svmfast.evaluation.linear import linear_multiply_adds
from svmfast.evaluation.loss import Estimate, Loss, Ranking, loss, no_loss
from svmfast.evaluation.skill import Skill, skill
from svmfast.methods.common.equal_rows import Counted, frequent_groups, groups_of, row_keys
from svmfast.models.answer import answer
from svmfast.models.base import Model
from svmfast.models.certified import certified_rows
from svmfast.models.expansion import KernelExpansion
from svmfast.models.head import Head
from svmfast.models.scaled import with_scaling
from svmfast.models.scaling import Scaling
from svmfast.rows import FloatArray, Rows
from svmfast.score import percent


@dataclass(frozen=True)
class Part:
    """Rows with their true labels or values, all nan if they are unknown."""

    rows: Rows
    labels: FloatArray

    def __len__(self) -> int:
        return len(self.labels)

    def unlabelled(self) -> Part:
        """The rows with unknown labels."""
        return Part(self.rows, np.full(len(self), np.nan))


class Losses(NamedTuple):
    """The losses of one model on both sets of rows: the fields of Point that are measured on answers."""

    choosing: Loss
    confirming: Loss
    lost_choosing: tuple[LostClass, ...] = ()
    lost_confirming: tuple[LostClass, ...] = ()
    certified_choosing: float | None = None
    certified_percent: float | None = None
    linear_cost_counted: float | None = None
    skilled: bool = True


@dataclass(frozen=True)
class _Answer:
    """A model's answer for a set of rows."""

    predicted: FloatArray
    #: None unless there is a single decision value per row.
    ranking: Ranking | None
    #: The rows that a model with bounds answers itself; None for others.
    sure: NDArray[np.bool_] | None = None

    def backed(self, exact: _Answer) -> _Answer:
        """This answer, with the exact model's for the rows that this one leaves open."""
        if self.sure is None:
            return self
        ranking = None
        if self.ranking is not None and exact.ranking is not None:
            ours, theirs = self.ranking, exact.ranking
            values = ours.values if ours.sides == theirs.sides else -ours.values
            ranking = Ranking(np.where(self.sure, values, theirs.values), theirs.sides)
        return _Answer(np.where(self.sure, self.predicted, exact.predicted), ranking, self.sure)


@dataclass(frozen=True, eq=False)
class _Repeats:
    """Rows of which some are equal: these are one observation of the share of labels that differ."""

    first: NDArray[np.int64]
    counted: Counted

    @classmethod
    def of(cls, parts: Iterable[Rows]) -> _Repeats | None:
        """The repeats of the rows of all parts; None if there are none."""
        group, first = groups_of([key for few in parts for key in row_keys(few)])
        if len(first) == len(group):
            return None
        times, frequent = np.bincount(group).astype(np.float64), frequent_groups(group)
        return cls(first, Counted(times, frequent, times[~frequent]))

    def share(self, differs: NDArray[np.bool_]) -> Estimate:
        """The share of the rows, in percent, that `differs` is true of."""
        return Estimate(*(100 * end for end in self.counted.share(differs[self.first])))


def _answered(head: Head, predicted: FloatArray, decisions: FloatArray) -> _Answer:
    return _Answer(predicted, None if head.sides is None else Ranking(decisions[:, 0], head.sides))


class Measuring:
    """Compares the answers of models with those of the exact model, on both sets of rows.

    If there is a `scaling`, the rows still need it; the models take scaled rows.
    """

    def __init__(
        self,
        exact: KernelExpansion,
        choosing: Part,
        confirming: Part,
        *,
        scaling: Scaling | None = None,
        threads: int = 1,
    ) -> None:
        self.exact, self.choosing, self.confirming, self._threads = exact, choosing, confirming, threads
        self._scaling = scaling
        rows = choosing.rows if scaling is None else scaling.apply(choosing.rows[: scaling.timed_rows])
        #: The exact model's seconds for the choosing rows on this machine if it did nothing else.
        self.exact_seconds: float
        begin = time.process_time()
        timed = self._answer(exact, rows, scaled=True)
        self.exact_seconds = (time.process_time() - begin) / threads * len(choosing) / max(1, len(rows))
        whole = timed if len(rows) == len(choosing) else self._answer(exact, choosing.rows)
        self._exact_answers = [whole, self._answer(exact, confirming.rows)]
        widths = [
            part.rows.n_columns if scaling is None else scaling.width(part.rows) for part in self._parts()
        ]
        self._unit, self.columns = linear_multiply_adds(exact.head, widths[0]), max(widths)
        self._repeats = [
            _Repeats.of([part.rows] if scaling is None else scaling.parts(part.rows))
            for part in self._parts()
        ]

    @property
    def choosing_labels(self) -> FloatArray:
        """The exact model's labels of the choosing rows."""
        return self._exact_answers[0].predicted

    @property
    def confirming_labels(self) -> FloatArray:
        """The exact model's labels of the confirming rows."""
        return self._exact_answers[1].predicted

    @property
    def labelled(self) -> bool:
        """Whether the true labels are known."""
        return not np.isnan(self.choosing.labels).all()

    @property
    def exact_skill(self) -> Skill | None:
        """The improvement of the exact model over chance on both sets together; None without labels."""
        if not self.labelled:
            return None
        return skill(
            np.concatenate([one.predicted for one in self._exact_answers]),
            np.concatenate((self.choosing.labels, self.confirming.labels)),
            regression=self.exact.head.is_regression,
        )

    def of_exact(self) -> Losses:
        """The losses of the exact model itself."""
        lines = [
            no_loss(one.predicted, part.labels, regression=self.exact.head.is_regression, ranking=one.ranking)
            for one, part in zip(self._exact_answers, self._parts(), strict=True)
        ]
        return Losses(lines[0], lines[1], linear_cost_counted=self._counted(self.exact))

    def _parts(self) -> tuple[Part, Part]:
        return self.choosing, self.confirming

    def _answer(self, model: Model, rows: Rows, *, scaled: bool = False) -> _Answer:
        raw: Any = with_scaling(model, None if scaled else self._scaling)
        if not model.has_error_bound or model.head.is_regression:
            found = answer(raw, rows, threads=self._threads)
            return _answered(model.head, found.predicted, found.decisions)
        decisions, bounds = raw.certified_values(rows, threads=self._threads)
        ours = _answered(model.head, model.head.predict(decisions), decisions)
        return replace(ours, sure=certified_rows(model.head, decisions, bounds))

    def losses(self, model: Model, *, backed: bool = False) -> Losses:
        """The losses of `model`, alone or with the exact model's answers for the rows that it leaves open."""
        answers = [self._answer(model, part.rows) for part in self._parts()]
        regression = self.exact.head.is_regression
        found, lost = [], []
        sides = zip(answers, self._exact_answers, self._parts(), self._repeats, strict=True)
        for one, exact, part, repeats in sides:
            whole = one.backed(exact) if backed else one
            predicted, theirs, ranking = whole.predicted, exact.predicted, whole.ranking
            if backed and model.certifies and (predicted == theirs).all():  # proven, not estimated
                found.append(no_loss(predicted, part.labels, regression=regression, ranking=ranking))
            else:
                known = loss(predicted, theirs, part.labels, regression=regression, ranking=ranking)
                if repeats is not None and not regression:
                    known = replace(known, differing=repeats.share(predicted != theirs))
                found.append(known)
            targets = part.labels if self.labelled else theirs
            lost.append(() if regression else lost_classes(predicted, theirs, targets))
            if len(found) == 1:
                skilled = self.exact.head.svm_type == "one_class" or not self.labelled
                skilled = skilled or skill(predicted, part.labels, regression=regression).some
        sure = [one.sure for one in answers if one.sure is not None]
        counted = self._counted(model, float(np.mean(~sure[0]))) if backed and sure else self._counted(model)
        certified: list[float | None] = [None, None]
        if sure and model.certifies:
            certified = [percent(int(np.count_nonzero(rows)), len(rows)) for rows in sure]
        return Losses(found[0], found[1], lost[0], lost[1], certified[0], certified[1], counted, skilled)

    def _counted(self, model: Model, open_share: float | None = None) -> float | None:
        exact = None if open_share is None else self.exact
        work = counted_work(model, self.choosing.rows, exact, open_share, self._scaling)
        return None if work is None or not self._unit else work / self._unit
