"""A model's answers for rows: decision values, labels and probabilities together.

The rows that one precision leaves open go to the next one, and at last to the exact model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmfast.caches import Cacheless, cached
from svmfast.display import aligned, count
from svmfast.errors import OptionError
from svmfast.models.base import Model
from svmfast.models.certified import certified_rows, fall_back_values, first_proven
from svmfast.models.expansion import KernelExpansion
from svmfast.models.head import Head
from svmfast.models.requirements import LABELS, Columns, require
from svmfast.models.scaling import Scaling
from svmfast.pages.notebook import Shown, plain_table, table_of_lines
from svmfast.prediction_words import not_the_vote
from svmfast.rows import BoolArray, FloatArray, IntArray, Rows

#: Rows of an answer that are shown.
_SHOWN = 10


@dataclass(frozen=True)
class Answer(Shown, Cacheless):
    """A model's answer for n rows.

    Attributes
    ----------
    predicted : (n,) float64
        Labels; for regression, the predicted values. With probabilities, a classifier's most probable label,
        as ``svm-predict -b 1`` prints it.
    probabilities : (n, k) float64 or None
        Columns in the order of the model's labels (``model.head.labels``); for one-class, normal and outlier.
        None unless requested.
    voted : (n,) float64 or None
        With probabilities, the winner of the vote, which is the label that is predicted without them. None
        without probabilities, and for regression.
    differing_from_vote : int
        Number of rows whose most probable label differs from the winner of the vote.
    inside : (n,) bool or None
        Whether the row lies inside the model's validity bound. None unless requested.
    certified : (n,) bool or None
        Whether the approximation's own answer is provably the exact model's; True for every row of a LIBSVM
        model. None unless requested.
    error_bounds : (n,) float64 or None
        Bound on |approximate - exact|, the largest over the row's decision functions. If an exact model is
        the fallback and only labels are requested, the bound of the precision that proved the label. 0 for a
        LIBSVM model, unless it answers within a tolerance. None unless requested.
    decide : callable
        Computes `decisions`: a LIBSVM model's labels are known before its decision values.
    class_names : mapping of float to str, or None
        The name of each label, if the model's classes have names.
    boolean_classes : bool
        Whether these names are words for False and True.
    notes : tuple of str
        Warnings and remarks on the model and the rows.
    """

    predicted: FloatArray
    decide: Callable[[], FloatArray]
    probabilities: FloatArray | None = None
    voted: FloatArray | None = None
    differing_from_vote: int = 0
    inside: BoolArray | None = None
    certified: BoolArray | None = None
    error_bounds: FloatArray | None = None
    class_names: Mapping[float, str] | None = None
    notes: tuple[str, ...] = ()
    boolean_classes: bool = False

    def __len__(self) -> int:
        return len(self.predicted)

    def heading(self) -> str:
        first = f", the first {_SHOWN}" if len(self) > _SHOWN else ""
        return f"{count(len(self), 'answer')}{first}"

    def lines(self) -> list[str]:
        """The first rows: labels or names, and what else was requested."""
        return [*aligned(*self._cells()), *self.notes]

    def html(self) -> list[str]:
        return [plain_table(*self._cells()), table_of_lines(self.notes)]

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        columns = {"predicted": self.predicted if self.names is None else self.names}
        if self.probabilities is not None:
            numbers = range(1, self.probabilities.shape[1] + 1)
            columns |= {f"probability {one}": self.probabilities[:, one - 1] for one in numbers}
        more = {"inside": self.inside, "certified": self.certified, "error bound": self.error_bounds}
        columns |= {name: one for name, one in more.items() if one is not None}
        rows = zip(*(one[:_SHOWN].tolist() for one in columns.values()), strict=True)
        words = [[f"{one:.6g}" if isinstance(one, float) else str(one) for one in row] for row in rows]
        return ["row", *columns], [[str(number), *row] for number, row in enumerate(words)]

    @property
    def names(self) -> NDArray[np.str_] | BoolArray | None:
        """The name of each label in `predicted`, ``(n,)`` str, or bool; None if the classes have no names."""
        return self._names_of(self.predicted)

    @property
    def voted_names(self) -> NDArray[np.str_] | BoolArray | None:
        """The name of each label in `voted`, ``(n,)`` str; None without probabilities or names."""
        return None if self.voted is None else self._names_of(self.voted)

    def _names_of(self, labels: FloatArray) -> NDArray[np.str_] | BoolArray | None:
        if self.class_names is None:
            return None
        known, places = name_places(self.class_names, labels)
        names = np.array(known)
        return (names == "True" if self.boolean_classes else names)[places]

    @cached
    def decisions(self) -> FloatArray:
        """Decision values in LIBSVM's pair order, ``(n, p)``; computed on first use."""
        return self.decide()


def name_places(names: Mapping[float, str], predicted: FloatArray) -> tuple[list[str], IntArray]:
    """List the names in ascending order of the labels, and find the index of each row's name, ``(n,)``."""
    ordered = sorted(names)
    return [names[label] for label in ordered], np.searchsorted(ordered, predicted)


def answer(
    model: Model,
    rows: Rows,
    columns: Columns = LABELS,
    *,
    exact: KernelExpansion | None = None,
    tolerance: float | None = None,
    threads: int = 1,
) -> Answer:
    """Answer rows by LIBSVM's rules; raise UnsupportedError if the model lacks what the columns need.

    Parameters
    ----------
    model : Model
    rows : Rows of n rows
    columns : Columns
        What to compute besides labels; decision values are always available.
    exact : KernelExpansion, optional
        Answers the rows that are not certified, without probabilities; it takes rows that the scaling of
        `model` has scaled. If it has one value for each pair of classes and `model` one for each class,
        `decisions` are the model's own for all rows.
    tolerance : float, optional
        A row is certified only if its error bound is at most this. Required for regression; the values of a
        LIBSVM regression model may then be off by this much.
    threads : int
    """
    require(model, columns, exact=exact, tolerance=tolerance)
    return answered(model, rows, columns, exact, tolerance, threads)


def answered(
    model: Model,
    rows: Rows,
    columns: Columns,
    exact: KernelExpansion | None,
    tolerance: float | None,
    threads: int,
) -> Answer:
    """Answer rows as :func:`answer`, without its checks."""
    if model.scaling is not None:
        return _by_blocks(model, model.scaling, rows, (columns, exact, tolerance, threads))
    head = model.head
    if exact is None and model.expansion is not None:
        if head.is_regression and tolerance is not None:
            return _rounded_answer(model.expansion, rows, columns.certify, tolerance, threads)
        if columns.certify or not (columns.probability or head.is_regression):
            return _libsvm_answer(model.expansion, rows, columns.certify, threads)
    if head.is_classifier and model.has_labels and columns == LABELS and exact is None:
        return Answer(
            model.labels(rows, threads=threads), partial(model.decision_values, rows, threads=threads)
        )
    values_alone = not model.has_error_bound or (exact is None and not columns.certify)
    decisions, bounds, certified, decide = _values(model, rows, columns, values_alone, tolerance, threads)
    inside = model.inside_bound(rows) if columns.bound and model.has_validity_bound else None
    if exact is None or (certified is not None and certified.all()):
        found = replace(_from_values(head, decisions, columns.probability), decide=decide)
    elif certified is None:
        raise OptionError("values are certified within a tolerance; give the largest error to accept")
    elif head.is_regression:
        found = _from_values(head, fall_back_values(decide, certified, exact, rows, threads=threads), False)
    else:
        predicted, unsure = head.predict(decisions), np.flatnonzero(~certified)
        predicted[unsure] = exact.labels(rows.take(unsure), threads=threads)
        # Where the values of the two differ in kind (by class and by pair) only the exact label can be used.
        if exact.head.same_functions(head):
            decide = partial(fall_back_values, decide, certified, exact, rows, threads=threads)
        found = Answer(predicted, decide)
    error_bounds = None if bounds is None else bounds.max(axis=1, initial=0.0)
    return replace(found, inside=inside, certified=certified, error_bounds=error_bounds)


#: The arguments of :func:`answered` after the rows.
_Asked = tuple[Columns, KernelExpansion | None, float | None, int]


def _by_blocks(model: Model, scaling: Scaling, rows: Rows, asked: _Asked) -> Answer:
    """Join the answers for the scaled blocks of `rows`, one of which is in memory at a time."""
    names = ("predicted", "probabilities", "voted", "inside", "certified", "error_bounds")
    parts, differing = [], 0
    for scaled in scaling.parts(rows):
        one = answered(model.unscaled, scaled, *asked)
        if len(scaled) == len(rows):
            return one
        parts.append([getattr(one, name) for name in names])
        differing += one.differing_from_vote
    joined = [None if arrays[0] is None else np.concatenate(arrays) for arrays in zip(*parts, strict=True)]
    arrays: dict[str, Any] = dict(zip(names, joined, strict=True))
    notes = (not_the_vote(differing, len(rows)),) if differing else ()
    decide = partial(_decisions_by_blocks, model, scaling, rows, asked)
    return Answer(decide=decide, differing_from_vote=differing, notes=notes, **arrays)


# Not a lambda, because an answer can be pickled before its decision values are known.
def _decisions_by_blocks(model: Model, scaling: Scaling, rows: Rows, asked: _Asked) -> FloatArray:
    return np.concatenate([answered(model, rows[part], *asked).decisions for part in scaling.blocks(rows)])


#: Decision values, bounds on their errors, the rows that these certify, and what gives double precision.
_Values = tuple[FloatArray, FloatArray | None, BoolArray | None, Callable[[], FloatArray]]


def _values(
    model: Model, rows: Rows, columns: Columns, alone: bool, tolerance: float | None, threads: int
) -> _Values:
    """Compute the model's own values, with their error bounds unless `alone`."""
    head = model.head
    if alone:
        compute = model.probability_values if columns.probability else model.decision_values
        decisions = compute(rows, threads=threads)
        return decisions, None, None, partial(np.asarray, decisions)
    if not (columns.certify or columns.decision_values or head.is_regression):
        found = first_proven(head, rows, model.attempts(tolerance, threads=threads), tolerance)
        return *found, partial(model.decision_values, rows, threads=threads)
    # Values and bounds that are requested come from double precision.
    decisions, bounds = model.certified_values(rows, threads=threads)
    certified = None
    # A regression's error bound is useful even without a tolerance.
    if not (head.is_regression and tolerance is None):
        certified = certified_rows(head, decisions, bounds, tolerance=tolerance)
    return decisions, bounds, certified, partial(np.asarray, decisions)


def _libsvm_answer(model: KernelExpansion, rows: Rows, certify: bool, threads: int) -> Answer:
    """Answer with LIBSVM's labels, all of which are certified; bounds of 0 need LIBSVM's own sums."""
    compute = model.libsvm_values if certify else model.decision_values
    return Answer(
        model.labels(rows, threads=threads),
        partial(compute, rows, threads=threads),
        certified=np.ones(len(rows), dtype=np.bool_) if certify else None,
        error_bounds=np.zeros(len(rows)) if certify else None,
    )


def _rounded_answer(
    model: KernelExpansion, rows: Rows, certify: bool, tolerance: float, threads: int
) -> Answer:
    """Answer with values within the tolerance of LIBSVM's, and the bounds on their rounding."""
    attempts = model.attempts(tolerance, threads=threads)
    values, bounds, _ = first_proven(model.head, rows, attempts, tolerance)
    return Answer(
        model.head.predict(values),
        partial(np.asarray, values),
        certified=np.ones(len(rows), dtype=np.bool_) if certify else None,
        error_bounds=bounds.max(axis=1, initial=0.0),
    )


def _from_values(head: Head, decisions: FloatArray, probability: bool) -> Answer:
    """Answer with what follows from these values, with probabilities if requested."""
    if not probability or head.is_regression:
        return Answer(head.predict(decisions), partial(np.asarray, decisions))
    predicted, probabilities = head.predict_with_probabilities(decisions)
    voted = head.predict(decisions)
    differing = int(np.count_nonzero(predicted != voted))
    notes = (not_the_vote(differing, len(predicted)),) if differing else ()
    return Answer(predicted, partial(np.asarray, decisions), probabilities, voted, differing, notes=notes)
