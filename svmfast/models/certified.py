"""Which answers a bound on the decision values proves, and which the exact model must give itself.

A certified model gives, beside each decision value, a number that its distance from the exact model's value
cannot exceed. Here these intervals become statements about labels: docs/certificate.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol, TypeGuard, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from svmfast.certificate import coupled_winner_is_certain, vote_is_certain
from svmfast.errors import OptionError, UnsupportedError
from svmfast.models.base import Model
from svmfast.models.expansion import KernelExpansion
from svmfast.models.head import Head
from svmfast.models.polynomial import PolynomialModel
from svmfast.rows import FloatArray, Rows


@runtime_checkable
class CertifiedModel(Model, Protocol):
    """A model that knows how far its decision values can lie from the exact model's."""

    @property
    def has_error_bound(self) -> bool:
        """Whether bounds were computed when the model was made."""

    @property
    def is_rigorous(self) -> bool:
        """Whether the bounds are proven, not assumed."""

    @property
    def embedded_exact(self) -> KernelExpansion | None:
        """The exact model, if it travels in the same file."""

    def certified_values(self, rows: Rows, *, threads: int = 1) -> tuple[FloatArray, FloatArray]:
        """Return decision values and bounds, ``(n, p)``: ``|exact - value| <= bound``, rounding included."""


def bounds_its_error(model: Model) -> TypeGuard[CertifiedModel]:
    """Return whether `model` knows, or assumes, how far its values can lie from the exact model's."""
    # isinstance with a protocol looks up every member, which takes half the time of predicting a single row.
    return bool(getattr(model, "has_error_bound", False))


def certifies(model: Model) -> TypeGuard[CertifiedModel]:
    """Return whether `model` carries a certificate: bounds that are proven."""
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
    can change the winner of the vote; one against the rest: no other class can reach the largest value.
    With probabilities: the most probable label cannot change; for two classes the probability is monotone in
    the value, for more a sufficient condition on the winner's pairs holds for whatever LIBSVM's coupling
    makes of the others. Regression: the bound is an error bar, and certified means that it is at most
    `tolerance`.

    Parameters
    ----------
    head : Head
    decisions, bounds : (n, p) float64
    probability : bool
        The printed label is the most probable one.
    tolerance : float, optional
        Every bound must also be at most this.

    Returns
    -------
    (n,) bool
    """
    n = len(decisions)
    within: NDArray[np.bool_] = np.ones(n, dtype=np.bool_)
    if tolerance is not None:
        within = np.all(bounds <= tolerance, axis=1)
    if head.is_regression:
        if tolerance is None:
            raise OptionError("regression has no label to certify; give a tolerance for the values")
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
    sure = np.abs(decisions) > bounds
    if head.n_functions == 1:
        return within & sure[:, 0]
    if head.one_vs_rest:
        reach = decisions + bounds
        best = decisions.argmax(axis=1)[:, None]
        np.put_along_axis(reach, best, -np.inf, axis=1)
        lowest = np.take_along_axis(decisions - bounds, best, axis=1)[:, 0]
        ahead: NDArray[np.bool_] = lowest > reach.max(axis=1)
        return within & ahead
    certain: NDArray[np.bool_] = vote_is_certain(sure, decisions, head.n_classes)
    return within & certain


class RoundedValues(NamedTuple):
    """Decision values of a LIBSVM model with bounds of their rounding; see :func:`rounded_values`.

    Attributes
    ----------
    values, bounds : (n, p) float64
    single : (n,) bool
        Where single precision gave the values.
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
    bound is 0 (docs/single-precision.md). So every row is proven, and within `tolerance`.

    Parameters
    ----------
    model : KernelExpansion
    rows : Rows of n rows
    tolerance : float, optional
        Every bound must also be at most this; regression, which has no label to prove, needs it.
    single_precision : bool
        False: start with double precision.
    threads : int
    """
    n, p = len(rows), model.head.n_functions
    values, bounds, single = np.zeros((n, p)), np.full((n, p), np.inf), np.zeros(n, dtype=np.bool_)
    if single_precision:
        values, bounds = model.bounded_values(rows, single_precision=True, threads=threads)
        single = certified_rows(model.head, values, bounds, tolerance=tolerance)
    unsure = np.flatnonzero(~single)
    if len(unsure):
        few = rows if len(unsure) == n else rows.take(unsure)
        values[unsure], bounds[unsure] = model.bounded_values(few, threads=threads)
    # Double precision proves every label, or has turned to LIBSVM's order by itself.
    wide = np.flatnonzero((bounds > (np.inf if tolerance is None else tolerance)).any(axis=1))
    if len(wide):
        values[wide], bounds[wide] = model.libsvm_values(rows.take(wide), threads=threads), 0.0
    return RoundedValues(values, bounds, single)


class CertifiedLabels(NamedTuple):
    """Decision values that prove labels, with bounds; see :func:`certified_labels`.

    Attributes
    ----------
    values, bounds : (n, p) float64
    certified : (n,) bool
        As :func:`certified_rows` of values in double precision.
    single : (n,) bool
        Where single precision gave the values.
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


def certainty(head: Head, decisions: FloatArray) -> FloatArray:
    """Return the least error of all values of a row that puts its label in doubt.

    A row whose values have the bound `error` is certified, in the sense of :func:`certified_rows` without
    probabilities, where its certainty is above `error`.

    Parameters
    ----------
    head : Head
        Of a classifier or a one-class model.
    decisions : (n, p) float64

    Returns
    -------
    (n,) float64
    """
    n, p = decisions.shape
    if not p:
        return np.full(n, np.inf)
    if p == 1:
        sure: FloatArray = np.abs(decisions[:, 0])
        return sure
    if head.one_vs_rest:
        top = np.partition(decisions, -2, axis=1)
        gap: FloatArray = (top[:, -1] - top[:, -2]) / 2
        return gap
    # As the error grows the pairs become uncertain one by one, the smallest values first; find by bisection
    # the first one with which the vote is open.
    size = np.abs(decisions)
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
    """Return the lowest pairwise probabilities of the class whose worst one is best, ``(n, k - 1)``."""
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
    """Return `decisions` with the exact model's values where a row is not certified.

    Parameters
    ----------
    decisions : (n, p) float64
    certified : (n,) bool
    exact : KernelExpansion
    rows : Rows of n rows
    probability : bool
        Give values of which probabilities are made (:meth:`KernelExpansion.probability_values`).
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
    """Return `exact`; raise UnsupportedError unless its labels are among those that `model` can give.

    How the two compute their values, and the order of their labels, do not matter here.
    """
    a, b = model.head, exact.head
    one_kind = a.is_classifier == b.is_classifier and a.is_regression == b.is_regression
    labels = [sorted([] if head.labels is None else head.labels.tolist()) for head in (a, b)]
    if not isinstance(exact, KernelExpansion) or not one_kind or labels[0] != labels[1]:
        raise UnsupportedError(
            "the exact model does not answer the same question", "give the LIBSVM model that was approximated"
        )
    return exact


def check_source(model: Model, source: str | None, is_source: Callable[[str], bool]) -> None:
    """Raise UnsupportedError unless the exact model that is given is the one that `source` names.

    Parameters
    ----------
    model : Model
    source : str or None
        The source recorded in `model`.
    is_source : callable
        Tells whether a name is that of the exact model that is given.
    """
    if source is None:
        raise UnsupportedError(
            f"this {model.kind} model does not say which model it was made from", "convert that model again"
        )
    if not is_source(source):
        raise UnsupportedError(
            "the exact model is not the one that the model was converted from: its hash is another",
            "the certificate speaks of that one only; give it, or convert this one",
        )


def check_exact(model: Model, exact: Model) -> KernelExpansion:
    """Return `exact`; raise UnsupportedError unless it can answer in place of `model`.

    For an assumed error (a cascade) as :func:`check_same_labels`: its two models may be of other makes.
    """
    if bounds_its_error(model) and not model.is_rigorous:
        return check_same_labels(model, exact)
    a, b = model.head, exact.head
    same_labels = (a.labels is None and b.labels is None) or np.array_equal(
        np.zeros(0) if a.labels is None else a.labels, np.zeros(0) if b.labels is None else b.labels
    )
    if not isinstance(exact, KernelExpansion) or a.svm_type != b.svm_type or not same_labels:
        raise UnsupportedError(
            "the exact model does not answer the same question", "give the LIBSVM model that was approximated"
        )
    return exact
