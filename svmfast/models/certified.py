"""Which answers are proven by bounds on the decision values, and which the exact model must compute.

With each decision value, a certified model returns a bound on its distance from the exact model's value. This
module derives statements about labels from these intervals: docs/certificate.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol, TypeGuard, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from svmfast.certificate import coupled_winner_is_certain, proven_signs, vote_is_certain
from svmfast.errors import OptionError, UnsupportedError
from svmfast.models.base import Model
from svmfast.models.expansion import KernelExpansion
from svmfast.models.head import Head
from svmfast.models.polynomial import PolynomialModel
from svmfast.rows import FloatArray, Rows


@runtime_checkable
class CertifiedModel(Model, Protocol):
    """A model that bounds the distance of its decision values from the exact model's."""

    @property
    def has_error_bound(self) -> bool:
        """Whether bounds were computed when the model was made."""

    @property
    def is_rigorous(self) -> bool:
        """Whether the bounds are proven, not assumed."""

    @property
    def embedded_exact(self) -> KernelExpansion | None:
        """The exact model, if it is embedded in the same file."""

    def certified_values(self, rows: Rows, *, threads: int = 1) -> tuple[FloatArray, FloatArray]:
        """Return decision values and bounds, both ``(n, p)``: ``|exact - value| <= bound``, with rounding."""


class EmbeddingModel(Model, Protocol):
    """A certified model that can contain the exact one, which answers the rows that are not certified."""

    def with_exact(self, exact: KernelExpansion | None) -> Model:
        """Return this model with the exact one inside, or without any."""


def bounds_its_error(model: Model) -> TypeGuard[CertifiedModel]:
    """Return whether `model` has bounds, proven or assumed, on the error of its decision values."""
    # isinstance with a protocol looks up every member, which takes half the time of predicting a single row.
    return bool(getattr(model, "has_error_bound", False))


def certifies(model: Model) -> TypeGuard[CertifiedModel]:
    """Return whether `model` carries a certificate: proven bounds on the error of its decision values."""
    return bounds_its_error(model) and model.is_rigorous


def certified_rows(
    head: Head,
    decisions: FloatArray,
    bounds: FloatArray,
    *,
    probability: bool = False,
    tolerance: float | None = None,
) -> NDArray[np.bool_]:
    """Return for which rows the printed answer is provably the exact model's.

    Two classes and one-class: the sign cannot change, ``|value| > bound``. More classes: no uncertain pair
    can change the winner of the vote. One-vs-rest: no other class can reach the largest value. With
    probabilities: the most probable label cannot change. For two classes this holds because the probability
    is monotone in the value; for more classes the test is a sufficient condition on the winner's pairs,
    whatever the result of LIBSVM's coupling for the other pairs. Regression: the bound is an error bar, and
    a row is certified if it is at most `tolerance`.

    Parameters
    ----------
    head : Head
    decisions, bounds : (n, p) float64
    probability : bool
        Whether the printed label is the most probable one.
    tolerance : float, optional
        Every bound must also be at most this.

    Returns
    -------
    (n,) bool
    """
    n = len(decisions)
    # Nothing is known of a value that is not finite, or whose bound is not.
    known = np.isfinite(decisions) & np.isfinite(bounds)
    if not known.all():
        decisions, bounds = np.where(known, decisions, 0.0), np.where(known, bounds, np.inf)
    within: NDArray[np.bool_] = np.ones(n, dtype=np.bool_)
    if tolerance is not None:
        within = np.all(bounds <= tolerance, axis=1)
    if head.is_regression:
        if tolerance is None:
            raise OptionError("values are certified within a tolerance; give the largest error to accept")
        return within
    if not head.n_functions:  # a single class: there is one answer
        return within
    if probability and head.is_classifier:
        if head.n_classes > 2:
            most_probable: NDArray[np.bool_] = coupled_winner_is_certain(
                _lowest_of_best(head, decisions, bounds)
            )
            return within & most_probable
        finite = np.isfinite(bounds[:, 0])
        ends = [
            head.predict_with_probabilities(np.where(finite[:, None], decisions + sign * bounds, 0.0))[0]
            for sign in (-1.0, 1.0)
        ]
        same: NDArray[np.bool_] = ends[0] == ends[1]
        return within & finite & same
    sure: NDArray[np.bool_] = proven_signs(decisions, bounds)
    if head.n_functions == 1:
        return within & sure[:, 0]
    if head.one_vs_rest:
        reach = decisions + bounds
        best = decisions.argmax(axis=1)[:, None]
        np.put_along_axis(reach, best, -np.inf, axis=1)
        lowest = np.take_along_axis(decisions - bounds, best, axis=1)[:, 0]
        unreachable: NDArray[np.bool_] = lowest > reach.max(axis=1)
        return within & unreachable
    certain: NDArray[np.bool_] = vote_is_certain(sure, decisions, head.n_classes)
    return within & certain


class RoundedValues(NamedTuple):
    """Decision values of a LIBSVM model with bounds on their rounding errors; see :func:`rounded_values`.

    Attributes
    ----------
    values, bounds : (n, p) float64
    single : (n,) bool
        Whether single precision gave the row's values.
    """

    values: FloatArray
    bounds: FloatArray
    single: NDArray[np.bool_]


def rounded_values(
    model: KernelExpansion,
    rows: Rows,
    *,
    tolerance: float | None = None,
    single_precision: bool = True,
    threads: int = 1,
) -> RoundedValues:
    """Return decision values from the first tier whose bound proves the answer, and that bound.

    The tiers are single precision, double precision, and LIBSVM's own operations in LIBSVM's own order, whose
    bound is 0 (docs/single-precision.md). So the answer of every row is proven, and within `tolerance`.

    Parameters
    ----------
    model : KernelExpansion
    rows : Rows of n rows
    tolerance : float, optional
        Every bound must also be at most this. Required for regression, which has no label to prove.
    single_precision : bool
        If False, start with double precision.
    threads : int
    """
    n, p = len(rows), model.head.n_functions
    values, bounds, single = np.zeros((n, p)), np.full((n, p), np.inf), np.zeros(n, dtype=np.bool_)
    # Where its bounds exceed the tolerance, double precision would do all the work again.
    if single_precision and (tolerance is None or model.single_precision_serves(tolerance)):
        values, bounds = model.bounded_values(rows, single_precision=True, threads=threads)
        single = certified_rows(model.head, values, bounds, tolerance=tolerance)
    unsure = np.flatnonzero(~single)
    if len(unsure):
        few = rows if len(unsure) == n else rows.take(unsure)
        values[unsure], bounds[unsure] = model.bounded_values(few, threads=threads)
    # Double precision proves every label: where its bound does not, it has already summed in LIBSVM's order.
    wide = np.flatnonzero(~(bounds <= (np.inf if tolerance is None else tolerance)).all(axis=1))
    if len(wide):
        values[wide], bounds[wide] = model.libsvm_values(rows.take(wide), threads=threads), 0.0
    return RoundedValues(values, bounds, single)


class CertifiedLabels(NamedTuple):
    """Decision values that prove labels, with bounds; see :func:`certified_labels`.

    Attributes
    ----------
    values, bounds : (n, p) float64
    certified : (n,) bool
        Whether the label is certified: the same as :func:`certified_rows` of values in double precision.
    single : (n,) bool
        Whether single precision gave the row's values.
    """

    values: FloatArray
    bounds: FloatArray
    certified: NDArray[np.bool_]
    single: NDArray[np.bool_]


def certified_labels(
    model: PolynomialModel, rows: Rows, *, tolerance: float | None = None, threads: int = 1
) -> CertifiedLabels:
    """Return decision values from the first precision whose bound proves the label, single or double.

    Parameters
    ----------
    model : PolynomialModel
        A classifier or one-class model with a certificate.
    rows : Rows of n rows
    tolerance : float, optional
        Every bound must also be at most this.
    threads : int
    """
    head = model.head
    values, bounds = model.single_precision_values(rows, threads=threads)
    certified = certified_rows(head, values, bounds, tolerance=tolerance)
    single = certified.copy()
    unsure = np.flatnonzero(~certified)
    if len(unsure):
        few = rows if len(unsure) == len(rows) else rows.take(unsure)
        values[unsure], bounds[unsure] = model.certified_values(few, threads=threads)
        certified[unsure] = certified_rows(head, values[unsure], bounds[unsure], tolerance=tolerance)
    return CertifiedLabels(values, bounds, certified, single)


def label_margins(head: Head, decisions: FloatArray) -> FloatArray:
    """Return, for each row, the smallest error of its decision values that could change its label.

    A row whose values all have the bound `error` is certified (:func:`certified_rows` without
    probabilities) if and only if its margin exceeds `error`.

    Parameters
    ----------
    head : Head
        The head of a classifier or a one-class model.
    decisions : (n, p) float64

    Returns
    -------
    (n,) float64
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


def _lowest_of_best(head: Head, decisions: FloatArray, bounds: FloatArray) -> FloatArray:
    """Return the lower bounds of one class's pairwise probabilities, ``(n, k - 1)``.

    The class is the one whose smallest lower bound is largest.
    """
    finite = np.isfinite(bounds)
    width = np.where(finite, bounds, 0.0)
    ends = [head.pairwise_probabilities(decisions + sign * width) for sign in (-1.0, 1.0)]
    k = head.n_classes
    lowest = np.ones((len(decisions), k, k))
    i, j = np.triu_indices(k, 1)
    lowest[:, i, j] = np.where(finite, np.minimum(*ends), 0.0)
    lowest[:, j, i] = np.where(finite, 1 - np.maximum(*ends), 0.0)
    best = lowest.min(axis=2).argmax(axis=1)
    own: FloatArray = lowest[np.arange(len(decisions)), best]
    others = np.arange(k)[None, :] != best[:, None]
    apart: FloatArray = own[others].reshape(len(decisions), k - 1)
    return apart


def fall_back(
    decisions: FloatArray,
    certified: NDArray[np.bool_],
    exact: KernelExpansion,
    rows: Rows,
    *,
    probability: bool = False,
    threads: int = 1,
) -> FloatArray:
    """Return `decisions` with the exact model's values in the rows that are not certified.

    Parameters
    ----------
    decisions : (n, p) float64
    certified : (n,) bool
    exact : KernelExpansion
    rows : Rows of n rows
    probability : bool
        Use the values from which probabilities are computed (:meth:`KernelExpansion.probability_values`).
    threads : int
    """
    open_rows = np.flatnonzero(~certified)
    if not len(open_rows):
        return decisions
    out: FloatArray = decisions.copy()
    values = exact.probability_values if probability else exact.decision_values
    out[open_rows] = values(rows.take(open_rows), threads=threads)
    return out


def check_same_labels(model: Model, exact: Model) -> KernelExpansion:
    """Return `exact`; raise UnsupportedError unless it is a LIBSVM model with the labels of `model`.

    The order of the labels, and how the two models compute their decision values, may differ.
    """
    a, b = model.head, exact.head
    one_kind = a.is_classifier == b.is_classifier and a.is_regression == b.is_regression
    labels = [sorted([] if head.labels is None else head.labels.tolist()) for head in (a, b)]
    if not isinstance(exact, KernelExpansion) or not one_kind or labels[0] != labels[1]:
        raise UnsupportedError(
            "the exact model has a different type or different labels",
            "give the LIBSVM model that was approximated",
        )
    return exact


def check_source(model: Model, source: str | None, is_source: Callable[[str], bool]) -> None:
    """Raise UnsupportedError unless the given exact model is the one from which `model` was made.

    Parameters
    ----------
    model : Model
    source : str or None
        The hash of the source, as recorded in `model`.
    is_source : callable
        Returns whether a hash is that of the given exact model.
    """
    if source is None:
        raise UnsupportedError(
            f"this {model.kind} model does not name the model it was made from", "convert that model again"
        )
    if not is_source(source):
        raise UnsupportedError(
            "the exact model is not the one that the model was converted from: their hashes differ",
            "the certificate holds only for that model; give it, or convert the one given",
        )


def check_exact(model: Model, exact: Model) -> KernelExpansion:
    """Return `exact`; raise UnsupportedError unless it can answer in place of `model`.

    If the error is assumed (a cascade), the check is :func:`check_same_labels`, since the two models of a
    cascade may be of different types.
    """
    if bounds_its_error(model) and not model.is_rigorous:
        return check_same_labels(model, exact)
    a, b = model.head, exact.head
    same_labels = (a.labels is None and b.labels is None) or np.array_equal(
        np.zeros(0) if a.labels is None else a.labels, np.zeros(0) if b.labels is None else b.labels
    )
    if not isinstance(exact, KernelExpansion) or a.svm_type != b.svm_type or not same_labels:
        raise UnsupportedError(
            "the exact model has a different type or different labels",
            "give the LIBSVM model that was approximated",
        )
    return exact
