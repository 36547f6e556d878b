"""Which answers are proven by bounds on the decision values, and which the exact model must compute.

With each decision value, a certified model returns a bound on its distance from the exact model's value. This
module derives statements about labels from these intervals: docs/certificate.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from svmfast.certificate import proven_signs, vote_is_certain
from svmfast.errors import OptionError, UnsupportedError
from svmfast.models.base import Attempt, Model
from svmfast.models.expansion import KernelExpansion
from svmfast.models.head import Head
from svmfast.rows import BoolArray, FloatArray, Rows


def certified_rows(
    head: Head,
    decisions: FloatArray,
    bounds: FloatArray,
    *,
    tolerance: float | None = None,
) -> BoolArray:
    """Decide for which rows the printed answer is provably the exact model's, from ``(n, p)`` bounds.

    Two classes and one-class: the sign cannot change, ``|value| > bound``. More classes: no uncertain pair
    can change the winner of the vote. One-vs-rest: no other class can reach the largest value. Regression:
    the bound is an error bar, and a row is certified if it is at most `tolerance`, which every other bound
    must not exceed either.
    """
    n = len(decisions)
    # Nothing is known of a value that is not finite, or whose bound is not.
    known = np.isfinite(decisions) & np.isfinite(bounds)
    if not known.all():
        decisions, bounds = np.where(known, decisions, 0.0), np.where(known, bounds, np.inf)
    within: BoolArray = np.ones(n, dtype=np.bool_)
    if tolerance is not None:
        within = np.all(bounds <= tolerance, axis=1)
    if head.is_regression:
        if tolerance is None:
            raise OptionError("values are certified within a tolerance; give the largest error to accept")
        return within
    if not head.n_functions:  # a single class: there is one answer
        return within
    sure: BoolArray
    if head.one_vs_rest:
        reach = decisions + bounds
        best = decisions.argmax(axis=1)[:, None]
        np.put_along_axis(reach, best, -np.inf, axis=1)
        lowest = np.take_along_axis(decisions - bounds, best, axis=1)[:, 0]
        sure = lowest > reach.max(axis=1)
    else:
        signs = proven_signs(decisions, bounds)
        sure = signs[:, 0] if head.n_functions == 1 else vote_is_certain(signs, decisions, head.n_classes)
    return within & sure


class Proven(NamedTuple):
    """Decision values that prove labels, with bounds on their errors, both ``(n, p)``."""

    values: FloatArray
    bounds: FloatArray
    #: (n,) whether the label is certified.
    certified: BoolArray


def first_proven(
    head: Head, rows: Rows, attempts: Sequence[Attempt], tolerance: float | None = None
) -> Proven:
    """Take each row's values from the first attempt whose bound proves the answer, else from the last one."""
    n, p = len(rows), head.n_functions
    values, bounds = np.zeros((n, p)), np.full((n, p), np.inf)
    certified = np.zeros(n, dtype=np.bool_)
    for attempt in attempts:
        unsure = np.flatnonzero(~certified)
        if len(unsure):
            few = rows if len(unsure) == n else rows.take(unsure)
            values[unsure], bounds[unsure] = found = attempt(few)
            certified[unsure] = certified_rows(head, *found, tolerance=tolerance)
    return Proven(values, bounds, certified)


def label_margins(head: Head, decisions: FloatArray) -> FloatArray:
    """Find, for each row, the smallest error of its decision values that could change its label.

    A row whose values all have the bound `error` is certified (:func:`certified_rows`) if and only if its
    margin exceeds `error`.
    """
    n, p = decisions.shape
    if not p:
        return np.full(n, np.inf)
    finite = np.isfinite(decisions)
    if head.one_vs_rest:
        top = np.partition(np.where(finite.all(axis=1, keepdims=True), decisions, 0.0), -2, axis=1)
        gap: FloatArray = (top[:, -1] - top[:, -2]) / 2
        return gap
    size: FloatArray = np.where(finite, np.abs(decisions), 0.0)
    if p == 1:
        return size[:, 0]
    # As the error grows, the pairs become uncertain one by one, in ascending order of |value|. Bisection
    # finds the first pair that leaves the vote undecided.
    steps = np.sort(size, axis=1)
    low, high = np.zeros(n, dtype=np.int64), np.full(n, p - 1)
    while (low < high).any():
        middle = (low + high) // 2
        error = np.take_along_axis(steps, middle[:, None], axis=1)
        open_vote = ~vote_is_certain(size > error, decisions, head.n_classes)
        high = np.where(open_vote, middle, high)
        low = np.where(open_vote, low, np.minimum(middle + 1, high))
    found: FloatArray = np.take_along_axis(steps, high[:, None], axis=1)[:, 0]
    return found


def fall_back_values(
    decide: Callable[[], FloatArray],
    certified: BoolArray,
    exact: KernelExpansion,
    rows: Rows,
    *,
    threads: int = 1,
) -> FloatArray:
    """Replace the values of the rows that are not certified by the exact model's."""
    decisions, open_rows = decide(), np.flatnonzero(~certified)
    if not len(open_rows):
        return decisions
    out: FloatArray = decisions.copy()
    out[open_rows] = exact.decision_values(rows.take(open_rows), threads=threads)
    return out


def check_same_labels(model: Model, exact: Model) -> KernelExpansion:
    """Check that `exact` is a LIBSVM model with the labels of `model`, in any order; return it."""
    a, b = model.head, exact.head
    same = a.is_classifier == b.is_classifier and a.is_regression == b.is_regression
    return _expansion(exact, same and sorted(_labels(a)) == sorted(_labels(b)))


def check_exact(model: Model, exact: Model) -> KernelExpansion:
    """Check that `exact` can answer in place of `model`; return it.

    The two models of a cascade, whose error is assumed, may be of different types.
    """
    if model.assumed_error is not None:
        return check_same_labels(model, exact)
    a, b = model.head, exact.head
    return _expansion(exact, a.svm_type == b.svm_type and _labels(a) == _labels(b))


def _labels(head: Head) -> list[int]:
    return [] if head.labels is None else head.labels.tolist()


def _expansion(exact: Model, same: bool) -> KernelExpansion:
    if exact.expansion is None or not same:
        raise UnsupportedError(
            "the exact model has a different type or different labels",
            "give the LIBSVM model that was approximated",
        )
    return exact.expansion


def check_source(model: Model, source: str | None, identity: str) -> None:
    """Check that the exact model, whose hash is `identity`, is the `source` that `model` records."""
    if source is None:
        raise UnsupportedError(
            f"this {model.kind} model does not name the model it was made from", "convert that model again"
        )
    if source != identity:
        raise UnsupportedError(
            "the exact model is not the one that the model was converted from: their hashes differ",
            "the certificate holds only for that model; give it, or convert the one given",
        )
