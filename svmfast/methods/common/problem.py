"""What a model of rows is fitted to: classes with weights, real values, or an exact model's values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from svmfast.errors import OptionError, SingleClassError
from svmfast.methods.method import Setting
from svmfast.models.head import Head
from svmfast.rows import BoolArray, FloatArray, IntArray, Rows
from svmfast.score import Quality, Score, roc_auc
from svmfast.solvers.training_data import check_class_labels

#: The most rows on which the score on the training rows is measured: the first ones.
MOST_SCORED = 20_000


class HeadScore:
    """A running score of decision values, which `head` turns into predictions."""

    def __init__(self, head: Head) -> None:
        self._head = head
        self._score = Score(by_class=True)
        #: Decision values and labels, for the ROC AUC, if there is a single value per row.
        self._ranked: list[tuple[FloatArray, FloatArray]] = []

    def add(self, decisions: FloatArray, target: FloatArray) -> None:
        """Add n rows: decision values ``(n, p)`` and labels, or values for regression, ``(n,)``."""
        head = self._head
        self._score.add(head.predict(decisions), target, regression=head.is_regression)
        if head.sides is not None:
            self._ranked.append((decisions[:, 0], target))

    @property
    def quality(self) -> Quality:
        """The figures of all rows, of which there must be at least one."""
        found = self._score.quality(regression=self._head.is_regression)
        if self._head.sides is None:
            return found
        decisions, target = map(np.concatenate, zip(*self._ranked, strict=True))
        return replace(found, auc=roc_auc(decisions, target, self._head.sides))


def head_quality(head: Head, decisions: FloatArray, target: FloatArray) -> Quality:
    """Compare decision values ``(n, p)`` with labels or values ``(n,)``; n > 0."""
    score = HeadScore(head)
    score.add(decisions, target)
    return score.quality


def remark_on_classes(found: Quality | None, setting: Setting) -> None:
    for line in () if found is None else found.neglected_lines(setting.names_of_labels()):
        setting.note(line)


#: Tasks whose targets are classes, for the squared hinge loss; all others fit values by least squares.
CLASSES = ("svc", "labels")


@dataclass(frozen=True, eq=False)
class Problem:
    """n rows with the targets of p functions."""

    rows: Rows
    #: (n, p): +1 and -1, in one column for each class or a single one for two classes; or any values.
    targets: FloatArray
    #: The head of the model.
    head: Head
    #: ``svc`` or ``ridge``; of a conversion, what is fitted.
    task: str
    #: (n,) weights of the rows' classes, by which C is multiplied.
    weights: FloatArray | None = None
    #: Vectors of an exact model and their squared coefficients, the weights for k-means.
    vectors: tuple[Rows, FloatArray] | None = None

    @classmethod
    def of_task(
        cls,
        task: str | None,
        rows: Rows,
        labels: FloatArray,
        weights: Sequence[tuple[int, float]] = (),
        *,
        pairs: bool = False,
    ) -> Problem:
        """Set up ``svc``, integer labels, or regression; with `pairs` the model votes."""
        if task != "svc":
            return cls(rows, np.ascontiguousarray(labels[:, None]), Head("epsilon_svr"), "ridge")
        head, which = numbered_classes(labels, pairs=pairs)
        targets = targets_of(which, range(1 if head.n_classes == 2 else head.n_classes))
        return cls(rows, targets, head, "svc", row_weights(weights, labels))

    @property
    def hinge(self) -> bool:
        return self.task in CLASSES

    def only(self, chosen: IntArray | BoolArray) -> Problem:
        weights = None if self.weights is None else self.weights[chosen]
        return replace(self, rows=self.rows.take(chosen), targets=self.targets[chosen], weights=weights)

    @property
    def truth(self) -> FloatArray:
        """The labels or the values of the data, ``(n,)``."""
        if not self.hinge:
            return self.targets[:, 0]
        assert self.head.labels is not None
        if self.targets.shape[1] == 1:
            which = (self.targets[:, 0] <= 0).astype(np.int64)
        else:
            which = np.argmax(self.targets, axis=1)
        labels: FloatArray = self.head.labels[which].astype(np.float64)
        return labels

    def quality(self, head: Head, decisions: FloatArray) -> Quality:
        """Compare a model's decision values of the first rows with the targets.

        `head` is the model's; its labels may have another order.
        """
        n = len(decisions)
        if self.hinge:
            return head_quality(head, decisions, self.truth[:n])
        score = Score()  # of all functions together
        for column in range(self.targets.shape[1]):  # all at once would take several times the memory
            score.add(decisions[:, column], self.targets[:n, column], regression=True)
        return score.quality(regression=True)


def targets_of(which: IntArray, classes: range) -> FloatArray:
    """Make the +1/-1 targets of some classes, ``(n, len(classes))``, from the number of each row's class."""
    targets = np.full((len(which), len(classes)), -1.0)
    rows = np.flatnonzero((which >= classes.start) & (which < classes.stop))
    targets[rows, which[rows] - classes.start] = 1
    return targets


def numbered_classes(labels: FloatArray, *, pairs: bool) -> tuple[Head, IntArray]:
    """Make the head, and number each row's class; labels are in LIBSVM's order: as they occur, but +1 before
    -1.
    """
    if not len(labels):
        raise OptionError("no rows to train on")
    check_class_labels(labels)
    values, first, which = np.unique(labels.astype(np.int64), return_index=True, return_inverse=True)
    order = np.argsort(first)
    if values.tolist() == [-1, 1]:
        order = np.array([1, 0])
    k = len(values)
    if k < 2:
        raise SingleClassError(labels[0])
    head = Head("c_svc", values[order], one_vs_rest=k > 2 and not pairs)
    position = np.empty(k, dtype=np.int64)
    position[order] = np.arange(k)
    return head, position[which]


def row_weights(weights: Sequence[tuple[int, float]], labels: FloatArray) -> FloatArray | None:
    """The weight of every row, ``(n,)``; None without weights. Several weights of a label multiply."""
    if not weights:
        return None
    found = np.ones(len(labels))
    for label, weight in weights:
        found[np.trunc(labels) == label] *= weight
    return found


def class_weights_of(which: IntArray, weights: FloatArray | None) -> tuple[tuple[int, float], ...]:
    """The weight of each class from weights of rows, ``(n,)``, that are equal within a class."""
    if weights is None:
        return ()
    present, first = np.unique(which, return_index=True)
    return tuple(zip(present.tolist(), weights[first].tolist(), strict=True))


def absent_weights(weights: Sequence[tuple[int, float]], labels: ArrayLike) -> list[int]:
    """The labels that have a class weight but no row, in the order of the weights."""
    present = set(np.trunc(np.asarray(labels, dtype=np.float64)).tolist())
    return list(dict.fromkeys(label for label, _ in weights if label not in present))


def warn_of_absent(
    weights: Sequence[tuple[int, float]], labels: ArrayLike, data: str, setting: Setting
) -> None:
    """Warn of every class weight that applies to no row, as svm-train does; `data` is the rows' name."""
    for label in absent_weights(weights, labels):
        setting.warn(f"{data}: no row has label {label}, which has a weight")
