"""Joining a fast model and the exact one, with a statistical guarantee of how many labels differ.

The fast model answers a row only if an error of `error` in every decision value could not change its label.
On n rows like those to come, both labels are known. The smallest error is chosen for which few enough of the
answered rows differ: their share among all rows is below the limit with the requested confidence (Clopper and
Pearson's binomial limit). Choosing the smallest costs no confidence: a larger error answers fewer rows, so
the true share falls as the error grows, and only an error whose own count was too small by chance can be
chosen wrongly (the nested case of Geifman and El-Yaniv, "Selective Classification for Deep Neural Networks",
NIPS 2017). The same holds for several limits at once, one for each class: the largest of the errors that they
require is chosen, and only the class that truly needs the largest can have been judged wrongly. All limits
therefore hold together with this confidence, without a correction.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from svmfast.class_scores import ClassScore, class_scores, shown_label
from svmfast.errors import OptionError, UnsupportedError
from svmfast.methods.cascade import CascadeOptions
from svmfast.methods.cascade.report import CascadeReport, ClassChange
from svmfast.methods.cascade.threshold import BoolArray, Chosen, Evaluated, IntArray, choose, least_rows
from svmfast.methods.common.equal_rows import copied, groups_of, row_keys
from svmfast.methods.method import ALONE, Race, Setting
from svmfast.models.answer import answer
from svmfast.models.base import Model
from svmfast.models.cascade import CascadeModel
from svmfast.models.certified import label_margins
from svmfast.models.expansion import KernelExpansion
from svmfast.models.head import Head
from svmfast.models.scaled import mean_work
from svmfast.models.scaling import Scaling
from svmfast.rows import FloatArray, Rows
from svmfast.score import Quality, quality
from svmfast.solvers.arithmetic import provenance

#: Maximum number of decision values in memory.
_CELLS = 1 << 22
#: The fewest rows on which models are timed.
RACED_ROWS = 4000
#: Classes that a message names.
_NAMED = 8


def join(
    fast: Model,
    exact: KernelExpansion,
    rows: Rows,
    options: CascadeOptions | None = None,
    setting: Setting = ALONE,
    *,
    scaling: Scaling | None = None,
    labels: FloatArray | None = None,
    targets: FloatArray | None = None,
    source: str | None = None,
) -> tuple[CascadeModel, CascadeReport]:
    """Join `fast` and `exact` in one model that differs from `exact` on few rows, and report.

    The guarantee holds for the model returned, and for the models returned with ``report.cheaper`` taken by
    themselves: that is decided on rows that take no part in choosing the error. Of a cascade, its fast model
    is used.

    All rows are used. They are drawn like those to be predicted (with ``options.per_class`` they need not
    have the classes in their usual shares), and neither model should have been trained on them; `scaling` is
    what they still need. `labels` are the exact model's, where they are known; `targets` the true ones, for
    the recall of each class, and not used if none is one of the model's. `source` is the hash of the exact
    model's file.

    With a `race` in `setting` the seconds of either model decide whether joining is cheaper, without it their
    counted multiply-adds; and the result is raced against the exact model. The model that is returned is the
    same.

    OptionError: the rows are copies of each other, or too few to show as much. UnsupportedError: regression,
    or models that do not answer the same question.
    """
    options, race, threads = options or CascadeOptions(), setting.race, setting.threads
    fast = fast.fast_part
    CascadeModel(fast, exact, 0.0)  # refuses models that do not match
    group, different = _groups(rows, scaling, options)
    found, of_fast, of_exact = _evaluate(fast, exact, rows, scaling, group, labels, setting)
    if options.per_class:
        found = _by_class(found, of_exact.labels, _class_labels(exact.head), options)
    operations = mean_work(fast, rows, scaling)
    operations_exact = mean_work(exact, rows, scaling)
    # They answer support vectors: timing the deciding rows would bias the choice.
    speed = None if race is None else _speed(fast, exact, exact.sv, race, threads)
    chosen = choose(
        found,
        options.max_diff,
        options.confidence,
        seed=options.seed,
        cost_fast=operations if speed is None else 1 / speed,
        cost_exact=operations_exact if speed is None else 1.0,
    )
    if chosen.error == math.inf:
        raise UnsupportedError("the fast model differs where its values are infinite", "join another one")
    made, joined = CascadeModel(fast, exact, chosen.error), None
    if race is not None and chosen.cheaper:
        timed = rows.take(np.flatnonzero(chosen.measured))
        if scaling is not None:
            timed = scaling.apply(timed[: scaling.timed_rows])
        joined = _speed(made, exact, timed, race, threads, fallback=exact)
    measured = _measured(exact.head, found, chosen, of_fast, of_exact, targets, options.per_class)
    share = measured["measured_answered"] / measured["measured_rows"]
    report = CascadeReport(
        different_rows=different,
        max_diff=options.max_diff,
        confidence=options.confidence,
        per_class=options.per_class,
        error=chosen.error,
        labels_differing_limit_percent=100 * max(chosen.limits),
        cheaper=chosen.cheaper,
        **measured,
        operations_fast=operations,
        operations_exact=operations_exact,
        operations=None if operations is None else operations + (1 - share) * operations_exact,
        speedup_with_fallback=joined,
    )
    origin = provenance("cascade", _parameters(report), options.seed, source)
    return replace(made, provenance=origin), report


def _parameters(report: CascadeReport) -> str:
    # Plain floats: NumPy's name their type, and equal calls give equal files.
    limit, confidence = float(report.max_diff), float(report.confidence)
    return (
        f"max-diff {limit!r}, confidence {confidence!r}{', per class' * report.per_class}, "
        f"rows {report.rows_choosing} of {report.rows}, measured {report.measured_rows}, "
        f"answered {report.measured_answered}, differing {report.measured_labels_differing}"
    )


@dataclass(frozen=True, eq=False)
class _Answers:
    """A model's labels for the rows and, if there is one decision value per row, those; ``(n,)``."""

    labels: FloatArray
    values: FloatArray | None

    def take(self, rows: BoolArray) -> _Answers:
        return _Answers(self.labels[rows], None if self.values is None else self.values[rows])

    def quality(self, true: FloatArray | None, head: Head) -> Quality:
        if true is None:
            return Quality()
        return quality(self.labels, true, regression=False, decisions=self.values, sides=head.sides)


def _either(answered: BoolArray, of_fast: _Answers, of_exact: _Answers) -> _Answers:
    values = None
    if of_fast.values is not None and of_exact.values is not None:
        values = np.where(answered, of_fast.values, of_exact.values)
    return _Answers(np.where(answered, of_fast.labels, of_exact.labels), values)


def _speed(
    model: Model,
    exact: KernelExpansion,
    rows: Rows,
    race: Race,
    threads: int,
    fallback: KernelExpansion | None = None,
) -> float:
    """How many times as fast as the exact model `model` answers `rows`, repeated if they are few."""
    rows = rows.take(np.resize(np.arange(len(rows)), max(RACED_ROWS, len(rows))))
    return race(
        lambda: answer(exact, rows, threads=threads),
        lambda: answer(model, rows, exact=fallback, threads=threads),
    )


def _measured(
    head: Head,
    found: Evaluated,
    chosen: Chosen,
    of_fast: _Answers,
    of_exact: _Answers,
    targets: FloatArray | None,
    per_class: bool,
) -> dict[str, Any]:
    """The counts and scores of a report, also of the classes; `head` is the exact model's."""
    answered, measured = found.margin > chosen.error, chosen.measured
    deciding, wrong = int(np.count_nonzero(chosen.deciding)), answered & found.differing
    of_both, names = _either(answered, of_fast, of_exact).take(measured), _class_labels(head)
    of_exact = of_exact.take(measured)
    # Labels of which none is the model's say nothing.
    known = targets is not None and np.isin(targets, names).any()
    true = targets[measured] if known and targets is not None else None

    def by_class(labels: FloatArray, target: FloatArray | None) -> dict[float, ClassScore]:
        scores = () if target is None else class_scores(labels, target, names)
        return {score.label: score for score in scores}

    kept = by_class(of_both.labels, of_exact.labels)
    before, after = by_class(of_exact.labels, true), by_class(of_both.labels, true)
    return {
        "rows": len(answered),
        "rows_choosing": len(answered) - deciding,
        "rows_deciding": deciding,
        "labels_differing_without_fallback": int(np.count_nonzero(found.differing)),
        "answered": int(np.count_nonzero(answered)),
        "labels_differing": int(np.count_nonzero(wrong)),
        "labels_differing_choosing": int(np.count_nonzero(wrong & ~chosen.deciding)),
        "measured_rows": int(np.count_nonzero(measured)),
        "measured_answered": int(np.count_nonzero(answered & measured)),
        "measured_labels_differing": int(np.count_nonzero(wrong & measured)),
        "quality_exact": of_exact.quality(true, head),
        "quality": of_both.quality(true, head),
        "classes": tuple(
            ClassChange(
                label=label,
                by_exact=before.get(label),
                by_both=after.get(label),
                kept=kept[label],
                labels_differing_limit_percent=100 * chosen.limits[number] if per_class else None,
            )
            for number, label in enumerate(names.tolist())
        ),
    }


def _class_labels(head: Head) -> FloatArray:
    """The labels that a classifier or a one-class model can give, ascending."""
    return np.array([-1.0, 1.0]) if head.labels is None else np.sort(head.labels.astype(np.float64))


def _groups(rows: Rows, scaling: Scaling | None, options: CascadeOptions) -> tuple[IntArray, int]:
    """The group of equal rows of each row, and the number of groups; copies and too few are refused."""
    parts = [rows] if scaling is None else scaling.parts(rows)
    group, first = groups_of([key for few in parts for key in row_keys(few)])
    different = len(first)
    times = copied(group)
    if times is not None:
        often = {2: "twice", 3: "three times"}.get(times, f"{times} times")
        raise OptionError(
            f"the rows are copies of each other: more of them occur {often} than independent rows do; copies "
            "say nothing new about rows to come, so give every row once"
        )
    least = least_rows(options.max_diff, options.confidence)
    if different < least:
        n = len(group)
        counted = f"{n:,} rows" if different == n else f"{n:,} rows, {different:,} of them distinct,"
        raise OptionError(
            f"{counted} cannot show with {options.confidence:.4g} confidence that at most "
            f"{options.max_diff:.4%} differ; give at least {least:,} distinct rows, or ask for less"
        )
    return group, different


def _evaluate(
    fast: Model,
    exact: KernelExpansion,
    rows: Rows,
    scaling: Scaling | None,
    group: IntArray,
    labels: FloatArray | None,
    setting: Setting,
) -> tuple[Evaluated, _Answers, _Answers]:
    """Evaluate both models: what is known of the rows, and the answers of either model."""
    n, threads = len(rows), setting.threads
    margin, of_fast, of_exact = np.empty(n), np.empty(n), np.empty(n)
    values: list[FloatArray] = []
    one = fast.head.sides is not None and exact.head.sides is not None
    value_fast = np.empty(n) if one else None
    value_exact = np.empty(n) if one and labels is None else None
    # A positive value may vote for what a negative one of the exact model does.
    sign = 1.0 if fast.head.sides == exact.head.sides else -1.0
    size = max(1, _CELLS // max(1, fast.head.n_functions, exact.head.n_functions))
    size = size if scaling is None else min(size, scaling.most_rows)
    for start in range(0, n, size):
        part = slice(start, min(start + size, n))
        few = rows.take(np.arange(part.start, part.stop))
        if scaling is not None:
            few = scaling.apply(few, first=start + 1)
        decisions = fast.decision_values(few, threads=threads)
        if value_fast is not None:
            value_fast[part] = sign * decisions[:, 0]
        if labels is None:
            theirs = exact.decision_values(few, threads=threads)
            of_exact[part] = exact.head.predict(theirs)
            if value_exact is not None:
                value_exact[part] = theirs[:, 0]
        else:
            of_exact[part] = labels[part]
        of_fast[part] = fast.head.predict(decisions)
        margin[part] = label_margins(fast.head, decisions)
        if fast.head.one_vs_rest:
            values.append(decisions[of_fast[part] != of_exact[part]])
        setting.progress(part.stop, n, "rows")
    kept = np.concatenate(values) if values else None
    part_of = np.zeros(n, dtype=np.int64)
    found = Evaluated(fast.head, margin, of_fast != of_exact, group, part_of, 1, kept)
    return found, _Answers(of_fast, value_fast), _Answers(of_exact, value_exact)


def _by_class(
    found: Evaluated, of_exact: FloatArray, names: FloatArray, options: CascadeOptions
) -> Evaluated:
    """Add a part for each of the exact model's classes to `found`; none may have too few rows."""
    least = least_rows(options.max_diff, options.confidence)
    part = np.searchsorted(names, of_exact)
    few = []
    for number, label in enumerate(names):
        different = len(np.unique(found.group[part == number]))
        if different < least:
            few.append(f"{different:,} of class {shown_label(label)}")
    if few:
        named = ", ".join(few[:_NAMED]) + (
            f" and {len(few) - _NAMED} more classes" if len(few) > _NAMED else ""
        )
        raise OptionError(
            f"a limit for every class: {named}, by the exact model's labels, are too few distinct rows to "
            f"show with {options.confidence:.4g} confidence that at most {options.max_diff:.4%} of each "
            f"differ; give at least {least:,} of every class (they may be collected class by class), or ask "
            "for less"
        )
    return replace(found, part=part, parts=len(names))
