"""A model's answers for rows: decision values, labels and probabilities together.

The tiers (single precision, double precision, the exact model) pass rows on to one another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmfast.caches import Cacheless, cached
from svmfast.certificate import pairs_in_doubt, proven_signs
from svmfast.display import count
from svmfast.errors import OptionError
from svmfast.models.base import Model, bounded
from svmfast.models.cascade import CascadeModel
from svmfast.models.certified import (
    bounds_its_error,
    certified_labels,
    certified_rows,
    fall_back,
    rounded_values,
)
from svmfast.models.expansion import KernelExpansion
from svmfast.models.head import Head
from svmfast.models.polynomial import PolynomialModel
from svmfast.models.requirements import LABELS, Columns, require
from svmfast.models.scaled import scaling_of, unscaled
from svmfast.rows import FloatArray, Rows


@dataclass(frozen=True)
class Answer(Cacheless):
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
        With probabilities, the winner of the vote, which is the label that is predicted without them. If an
        exact model answers some rows, the others have the vote of the approximation's values, which is not
        certified. None without probabilities, and for regression.
    differing_from_vote : int
        Number of rows whose most probable label differs from the winner of the vote.
    inside : (n,) bool or None
        Whether the row lies inside the model's validity bound. None unless requested.
    certified : (n,) bool or None
        Whether the approximation's own answer is provably the exact model's; True for every row of a LIBSVM
        model. None unless requested.
    error_bounds : (n,) float64 or None
        Bound on |approximate - exact|, the largest over the row's decision functions. If an exact model is
        the fallback and only labels are requested, the bound of the precision that proved the label. For a
        LIBSVM model, the rounding bound that proves the label, 0 if the row was summed in LIBSVM's order.
        None unless requested.
    single : (n,) bool or None
        Whether single precision gave the answer. None unless the bounds of a LIBSVM model were requested.
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
    decide: Callable[[], FloatArray] = field(repr=False)
    probabilities: FloatArray | None = None
    voted: FloatArray | None = None
    differing_from_vote: int = 0
    inside: NDArray[np.bool_] | None = None
    certified: NDArray[np.bool_] | None = None
    error_bounds: FloatArray | None = None
    single: NDArray[np.bool_] | None = None
    class_names: Mapping[float, str] | None = field(default=None, repr=False)
    notes: tuple[str, ...] = ()
    boolean_classes: bool = False

    def __len__(self) -> int:
        return len(self.predicted)

    @property
    def names(self) -> NDArray[np.str_] | NDArray[np.bool_] | None:
        """The name of each label in `predicted`, ``(n,)`` str, or bool; None if the classes have no names."""
        return self._names_of(self.predicted)

    @property
    def voted_names(self) -> NDArray[np.str_] | NDArray[np.bool_] | None:
        """The name of each label in `voted`, ``(n,)`` str; None without probabilities or names."""
        return None if self.voted is None else self._names_of(self.voted)

    def _names_of(self, labels: FloatArray) -> NDArray[np.str_] | NDArray[np.bool_] | None:
        if self.class_names is None:
            return None
        known, places = name_places(self.class_names, labels)
        names = np.array(known)
        return (names == "True" if self.boolean_classes else names)[places]

    @cached
    def decisions(self) -> FloatArray:
        """Decision values in LIBSVM's pair order, ``(n, p)``; computed on first use."""
        return self.decide()


def joined(parts: Sequence[Answer]) -> Answer:
    """Return the answers for consecutive rows as one; decision values are still computed on first use."""

    def together(name: str) -> Any:
        arrays = [getattr(one, name) for one in parts]
        return None if arrays[0] is None else np.concatenate(arrays)

    names = ("predicted", "probabilities", "voted", "inside", "certified", "error_bounds", "single")
    arrays = {name: together(name) for name in names}
    same = {name: getattr(parts[0], name) for name in ("class_names", "boolean_classes")}
    differing = sum(one.differing_from_vote for one in parts)
    notes = (not_the_vote(differing, len(arrays["predicted"])),) if differing else ()
    decide = partial(_joined_decisions, parts)
    return Answer(decide=decide, differing_from_vote=differing, notes=notes, **arrays, **same)


def in_blocks(
    rows: Rows, parts: Iterable[Rows], answered: Callable[[Rows], Answer], again: Callable[[Rows], Answer]
) -> Answer:
    """Return the answer for rows from those for their scaled `parts`, one of which is in memory at a time.

    Parameters
    ----------
    rows : Rows
        As read.
    parts : iterable of Rows
        The same rows, scaled.
    answered : callable
        Answers scaled rows.
    again : callable
        Answers rows as read, where their decision values are wanted.
    """
    found: list[Answer] = []
    begin = 0
    for part in parts:
        one = answered(part)
        if len(part) == len(rows):
            return one
        # Its own values would keep the scaled rows.
        few, begin = rows[begin : begin + len(part)], begin + len(part)
        found.append(replace(one, decide=partial(_decisions, again, few)))
    return joined(found)


def _decisions(again: Callable[[Rows], Answer], rows: Rows) -> FloatArray:
    return again(rows).decisions


def _joined_decisions(parts: Sequence[Answer]) -> FloatArray:
    return np.concatenate([one.decide() for one in parts])


def name_places(names: Mapping[float, str], predicted: FloatArray) -> tuple[list[str], NDArray[np.int64]]:
    """Return the names in ascending order of the labels, and the index of each row's name, ``(n,)``."""
    ordered = sorted(names)
    return [names[label] for label in ordered], np.searchsorted(ordered, predicted)


def answer(
    model: Model,
    rows: Rows,
    columns: Columns = LABELS,
    *,
    exact: KernelExpansion | None = None,
    tolerance: float | None = None,
    single_precision: bool = True,
    threads: int = 1,
) -> Answer:
    """Return the answers of `model` for `rows`, by LIBSVM's rules.

    Parameters
    ----------
    model : Model
    rows : Rows of n rows
    columns : Columns
        What to compute besides labels; decision values are always available.
    exact : KernelExpansion, optional
        Answers the rows that are not certified; it takes rows that the scaling of
        `model` has scaled. If it has one value for each pair of classes and `model` one for each class,
        `decisions` are the model's own for all rows.
    tolerance : float, optional
        A row is certified only if its error bound is at most this. Required for regression; the values of a
        LIBSVM regression model may then be off by this much.
    single_precision : bool
        Whether single precision may answer the rows whose label it proves. This applies to LIBSVM models,
        and to approximations with `exact` if only labels are requested.
    threads : int

    Raises
    ------
    UnsupportedError
        The model lacks the requested probabilities, bound or certificate, or its kernel is precomputed.
    """
    scaling = scaling_of(model)
    if scaling is not None:
        asked: dict[str, Any] = {"columns": columns, "exact": exact, "tolerance": tolerance}
        asked |= {"single_precision": single_precision, "threads": threads}
        one, whole = (partial(answer, each, **asked) for each in (unscaled(model), model))
        return in_blocks(rows, scaling.parts(rows), one, whole)
    require(model, columns, exact=exact, tolerance=tolerance)
    head, probability, certify = model.head, columns.probability, columns.certify
    if isinstance(model, KernelExpansion) and exact is None:
        if certify or (head.is_regression and tolerance is not None):
            return _rounded_answer(
                model,
                rows,
                certify=certify,
                tolerance=tolerance,
                single_precision=single_precision,
                threads=threads,
            )
        if not (probability or head.is_regression):
            voted = model.labels(rows, threads=threads, single_precision=single_precision)
            return Answer(voted, partial(model.decision_values, rows, threads=threads))
    # Values, bounds and probabilities that are requested come from double precision.
    only_labels = exact is not None and not (certify or probability or head.is_regression)
    if single_precision and only_labels and isinstance(model, PolynomialModel):
        values = _label_values(model, rows, tolerance=tolerance, threads=threads)
    else:
        values = _values(
            model,
            rows,
            certify=certify or exact is not None,
            probability=probability,
            tolerance=tolerance,
            threads=threads,
        )
    inside = model.inside_bound(rows) if columns.bound and bounded(model) else None
    if exact is None or (values.certified is not None and values.certified.all()):
        found = _from_values(head, values.decisions, probability)
        if values.decide is not None:
            found = replace(found, decide=values.decide)
    elif values.certified is None:
        raise OptionError("values are certified within a tolerance; give the largest error to accept")
    elif probability or head.is_regression:
        found = _with_exact_values(head, values, values.certified, exact, rows, probability, threads)
    else:
        found = _with_exact_labels(head, values, values.certified, exact, rows, single_precision, threads)
    return replace(found, inside=inside, certified=values.certified, error_bounds=values.error_bounds)


@dataclass(frozen=True, eq=False)
class _Values:
    """A model's decision values, and what is known about their errors.

    Attributes
    ----------
    decisions : (n, p) float64
    bounds : (n, p) float64 or None
        Bounds on the errors of `decisions`; None unless a certificate was requested.
    certified : (n,) bool or None
        None also for regression without a tolerance.
    proven : bool
        Whether the bounds are proven, not assumed.
    decide : callable or None
        Computes the values in double precision, if `decisions` are in single precision.
    """

    decisions: FloatArray
    bounds: FloatArray | None = None
    certified: NDArray[np.bool_] | None = None
    proven: bool = False
    decide: Callable[[], FloatArray] | None = None

    @property
    def error_bounds(self) -> FloatArray | None:
        """The largest bound of each row; ``(n,)`` float64."""
        return None if self.bounds is None else self.bounds.max(axis=1, initial=0.0)


def _values(
    model: Model, rows: Rows, *, certify: bool, probability: bool, tolerance: float | None, threads: int
) -> _Values:
    """Return the model's own values; with `certify`, also their error bounds if the model has any."""
    if certify and bounds_its_error(model):
        head, certified = model.head, None
        decisions, bounds = model.certified_values(rows, threads=threads)
        # A regression's error bound is useful even without a tolerance.
        if not (head.is_regression and tolerance is None):
            certified = certified_rows(head, decisions, bounds, probability=probability, tolerance=tolerance)
        if probability and isinstance(model, CascadeModel) and isinstance(model.fast, KernelExpansion):
            # The same digits as from the fast model alone.
            decisions = model.fast.probability_values(rows, threads=threads)
        return _Values(decisions, bounds, certified, model.is_rigorous)
    if probability and isinstance(model, KernelExpansion):
        return _Values(model.probability_values(rows, threads=threads))
    return _Values(model.decision_values(rows, threads=threads))


def _label_values(model: PolynomialModel, rows: Rows, *, tolerance: float | None, threads: int) -> _Values:
    """Return values that are only used for labels, in single precision where it proves the label."""
    values, bounds, certified, _ = certified_labels(model, rows, tolerance=tolerance, threads=threads)
    decide = partial(_certified_values, model, rows, threads=threads)
    return _Values(values, bounds, certified, proven=True, decide=decide)


def _with_exact_values(
    head: Head,
    values: _Values,
    certified: NDArray[np.bool_],
    exact: KernelExpansion,
    rows: Rows,
    probability: bool,
    threads: int,
) -> Answer:
    """Return values or probabilities; the exact model's for the rows that are not certified."""
    decisions = fall_back(values.decisions, certified, exact, rows, probability=probability, threads=threads)
    found = _from_values(head, decisions, probability)
    if found.probabilities is None:
        return found
    # Sigmoids are fitted to the values of one model: the two models of a cascade have different ones.
    unsure = np.flatnonzero(~certified)
    predicted, probabilities = found.predicted, found.probabilities
    predicted[unsure], probabilities[unsure] = exact.head.predict_with_probabilities(decisions[unsure])
    return _most_probable(head, decisions, predicted, probabilities)


def _with_exact_labels(
    head: Head,
    values: _Values,
    certified: NDArray[np.bool_],
    exact: KernelExpansion,
    rows: Rows,
    single_precision: bool,
    threads: int,
) -> Answer:
    """Return labels; the exact model's for the rows that are not certified."""
    # Where the values of the two differ in kind (by class and by pair) only the exact label can be used.
    same_values = exact.head.same_functions(head)
    decisions, unsure = values.decisions, np.flatnonzero(~certified)
    predicted, few = head.predict(decisions), rows.take(unsure)
    if head.n_classes > 2 and values.proven and values.bounds is not None and same_values:
        # Most pairs are certain: the exact model evaluates only the classes of the uncertain pairs.
        own = decisions[unsure]
        wanted = pairs_in_doubt(proven_signs(own, values.bounds[unsure]), own, head.n_classes)
        theirs = exact.decision_values(few, threads=threads, wanted=wanted)
        predicted[unsure] = head.predict(np.where(wanted, theirs, own))
    else:
        predicted[unsure] = exact.labels(few, threads=threads, single_precision=single_precision)
    decide = values.decide or partial(_same, decisions)
    if same_values:
        decide = partial(_backed, decide, certified, exact, rows, threads=threads)
    return Answer(predicted, decide)


def _rounded_answer(
    model: KernelExpansion,
    rows: Rows,
    *,
    certify: bool,
    tolerance: float | None,
    single_precision: bool,
    threads: int,
) -> Answer:
    """Return the answer of a LIBSVM model, with the rounding bound that proves it."""
    found = rounded_values(
        model, rows, tolerance=tolerance, single_precision=single_precision, threads=threads
    )
    # Decision values that are printed with the labels are in double precision.
    decide = partial(_same, found.values)
    if found.single.any() and not model.head.is_regression:
        decide = partial(model.decision_values, rows, threads=threads)
    return Answer(
        model.head.predict(found.values),
        decide,
        certified=np.ones(len(rows), dtype=np.bool_) if certify else None,
        error_bounds=found.bounds.max(axis=1, initial=0.0),
        single=found.single,
    )


def _from_values(head: Head, decisions: FloatArray, probability: bool) -> Answer:
    """Return the answer that follows from these values, with probabilities if requested."""
    if not probability or head.is_regression:
        return Answer(head.predict(decisions), partial(_same, decisions))
    return _most_probable(head, decisions, *head.predict_with_probabilities(decisions))


def _most_probable(
    head: Head, decisions: FloatArray, predicted: FloatArray, probabilities: FloatArray
) -> Answer:
    """Return the answer with these most probable labels, beside those of the vote."""
    voted = head.predict(decisions)
    differing = int(np.count_nonzero(predicted != voted))
    notes = (not_the_vote(differing, len(predicted)),) if differing else ()
    return Answer(predicted, partial(_same, decisions), probabilities, voted, differing, notes=notes)


def not_the_vote(differing: int, rows: int) -> str:
    """Return the remark on rows whose most probable label is not the label of the vote."""
    return (
        f"{differing:,} of {count(rows, 'row')}: the most probable label (`probability`) "
        "is not the label of the vote"
    )


def _same(decisions: FloatArray) -> FloatArray:
    return decisions


def _certified_values(model: PolynomialModel, rows: Rows, *, threads: int) -> FloatArray:
    return model.certified_values(rows, threads=threads)[0]


def _backed(
    decide: Callable[[], FloatArray],
    certified: NDArray[np.bool_],
    exact: KernelExpansion,
    rows: Rows,
    *,
    threads: int,
) -> FloatArray:
    return fall_back(decide(), certified, exact, rows, threads=threads)
