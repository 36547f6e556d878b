"""Joining a fast model and the exact one, with a statistical guarantee of how many labels differ.

The fast model answers a row only where all its decision values could be wrong by `error` without another
label. On n rows like those to come it is known which of its labels are the exact model's; the smallest error
is taken with which so few of the answered rows differ that their share among all rows is, with the confidence
asked for, below the limit (Clopper and Pearson's binomial limit). Taking the smallest costs no confidence: a
larger error answers fewer rows, so the true share falls as the error grows, and only an error whose own count
was too small by chance can be taken wrongly (the nested case of Geifman and El-Yaniv, "Selective
Classification for Deep Neural Networks", NIPS 2017). The same holds for several limits at once, one for each
class: of the errors that they ask for the largest is taken, and only the class that truly needs the largest
can have been judged wrongly, so the confidence is that of all limits together, without a correction.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

import numpy as np

from svmfast.class_scores import balanced_accuracy, class_scores, shown_label
from svmfast.errors import OptionError, UnsupportedError
from svmfast.methods.cascade.threshold import Asked, Chosen, choose, least_rows
from svmfast.methods.common.equal_rows import copied, groups_of, row_keys
from svmfast.models.base import CountedModel, Model
from svmfast.models.cascade import CascadeModel
from svmfast.models.certified import certainty
from svmfast.models.expansion import KernelExpansion
from svmfast.models.head import Head
from svmfast.progress import Progress, silent
from svmfast.rows import FloatArray, Rows
from svmfast.solvers.arithmetic import arithmetic
from svmfast.solvers.binomial import CONFIDENCE

#: Decision values that are held at once.
_CELLS = 1 << 22
#: Classes that a message names.
_NAMED = 8


@dataclass(frozen=True)
class ClassChange:
    """What joining does to one class.

    Attributes
    ----------
    label : float
    rows : int or None
        Rows whose true label it is; None where true labels are not known, and so the next two.
    correct_exact, correct : int or None
        Of these, those to which the exact model, and the two together, give it.
    exact_rows : int
        Rows to which the exact model gives it.
    labels_differing : int
        Of these, those to which the two together give another one.
    labels_differing_limit_percent : float or None
        At most this part of the rows to which the exact model gives it gets another; None unless asked for.
    """

    label: float
    rows: int | None
    correct_exact: int | None
    correct: int | None
    exact_rows: int
    labels_differing: int
    labels_differing_limit_percent: float | None

    @property
    def recall_exact(self) -> float | None:
        """The exact model's recall in percent."""
        return 100 * self.correct_exact / self.rows if self.rows and self.correct_exact is not None else None

    @property
    def recall(self) -> float | None:
        """The recall of both together in percent."""
        return 100 * self.correct / self.rows if self.rows and self.correct is not None else None


@dataclass(frozen=True)
class CascadeReport:
    """What joining two models found on the rows.

    Attributes
    ----------
    rows, different_rows : int
        All, and without repetitions.
    rows_choosing, rows_deciding : int
        Rows that chose the error, and the others, which decided whether to join.
    max_diff, confidence : float
    per_class : bool
        What was asked for; `per_class`: the limit is of the rows of each of the exact model's classes.
    error : float
        A row is the fast model's where all its decision values could be wrong by this much.
    labels_differing_without_fallback : int
        Rows of which the fast model alone has another label than the exact one.
    answered : int
        Rows that the fast model answers.
    labels_differing, labels_differing_choosing : int
        Those of them that differ, and how many of these are among the rows that chose the error.
    labels_differing_limit_percent : float
        With the confidence asked for, the part of rows like these that differs is at most this.
    accuracy_exact, accuracy, balanced_accuracy_exact, balanced_accuracy : float or None
        Of the exact model and of both together, in percent; None where true labels are not known.
    classes : tuple of ClassChange
        By ascending label.
    operations_fast, operations_exact, operations : float or None
        Multiply-adds of a row for either model, and on average for both together; None where a model does
        not count them.
    cheaper : bool
        Whether both together cost less than the exact model alone, as the deciding rows have it.
    """

    rows: int
    different_rows: int
    rows_choosing: int
    rows_deciding: int
    max_diff: float
    confidence: float
    per_class: bool
    error: float
    labels_differing_without_fallback: int
    answered: int
    labels_differing: int
    labels_differing_choosing: int
    labels_differing_limit_percent: float
    accuracy_exact: float | None
    accuracy: float | None
    balanced_accuracy_exact: float | None
    balanced_accuracy: float | None
    classes: tuple[ClassChange, ...]
    operations_fast: float | None
    operations_exact: float
    operations: float | None
    cheaper: bool

    def as_dict(self) -> dict[str, object]:
        """Return plain values for JSON."""
        values = asdict(self)
        values["classes"] = [
            {
                **asdict(one),
                "label": shown_label(one.label),
                "recall_exact": one.recall_exact,
                "recall": one.recall,
            }
            for one in self.classes
        ]
        percent = 100 * self.labels_differing / self.rows
        return {**values, "labels_differing_percent": percent}


def join(
    fast: Model,
    exact: KernelExpansion,
    rows: Rows,
    *,
    max_diff: float = 0.005,
    confidence: float = CONFIDENCE,
    per_class: bool = False,
    labels: FloatArray | None = None,
    targets: FloatArray | None = None,
    source: str | None = None,
    seed: int = 0,
    threads: int = 1,
    progress: Progress = silent,
) -> tuple[CascadeModel, CascadeReport]:
    """Return `fast` and `exact` in one model that differs from `exact` on few rows, and what was found.

    The guarantee holds for the model returned, and for the models returned with ``report.cheaper`` taken by
    themselves: that is decided on rows that take no part in choosing the error.

    Parameters
    ----------
    fast : Model
        Of any kind; a cascade's own fast model is taken.
    exact : KernelExpansion
    rows : Rows of n rows
        Drawn like those to be predicted; neither model should have been trained on them.
    max_diff : float
        The share of rows with another label than the exact model's that may not be exceeded.
    confidence : float
        The probability with which that holds.
    per_class : bool
        The limit is to hold among the rows of each class, by the exact model's labels, with `confidence` for
        all classes together. The rows need not have the classes in their usual shares then.
    labels : (n,) float64, optional
        The exact model's labels of `rows`, where they are known.
    targets : (n,) float64, optional
        True labels, for the recall of each class. They are not used if none is one of the model's.
    source : str, optional
        ``sha256:`` and the hash of the exact model's file, for the provenance.
    seed : int
        Of the division of the rows.
    threads : int
    progress : callable

    Raises
    ------
    OptionError
        `max_diff` or `confidence` not between 0 and 1, rows that are copies of each other, or too few to show
        as much.
    UnsupportedError
        Regression, or models that do not answer the same question.
    """
    for name, value in (("max_diff", max_diff), ("confidence", confidence)):
        if not 0 < value < 1:
            raise OptionError(f"{name} is {value:g}, not a share between 0 and 1")
    if isinstance(fast, CascadeModel):
        fast = fast.fast
    CascadeModel(fast, exact, 0.0)  # refuses what does not go together
    group, first = groups_of(row_keys(rows))
    least = least_rows(max_diff, confidence)
    _check_rows(group, len(first), least, f"at most {max_diff:.4%} differ", confidence)
    asked, ours, theirs = _ask(fast, exact, rows, group, labels, threads, progress)
    names = _labels(exact.head)
    if per_class:
        asked = _by_class(asked, theirs, names, least, f"at most {max_diff:.4%} of each differ", confidence)
    fast_cost = fast.multiply_adds(rows) if isinstance(fast, CountedModel) else None
    exact_cost = exact.multiply_adds(rows)
    chosen = choose(
        asked, max_diff, confidence, seed=seed, operations_fast=fast_cost, operations_exact=exact_cost
    )
    if chosen.error == math.inf:
        raise UnsupportedError("the fast model differs where its values are infinite", "join another one")
    mine = asked.sure > chosen.error
    both = np.where(mine, ours, theirs)
    answered = int(np.count_nonzero(mine))
    operations = None if fast_cost is None else fast_cost + (1 - answered / len(rows)) * exact_cost
    deciding = int(np.count_nonzero(chosen.deciding))
    report = CascadeReport(
        rows=len(rows),
        different_rows=len(first),
        rows_choosing=len(rows) - deciding,
        rows_deciding=deciding,
        max_diff=max_diff,
        confidence=confidence,
        per_class=per_class,
        error=chosen.error,
        labels_differing_without_fallback=int(np.count_nonzero(asked.differing)),
        answered=answered,
        labels_differing=int(np.count_nonzero(mine & asked.differing)),
        labels_differing_choosing=int(np.count_nonzero(mine & asked.differing & ~chosen.deciding)),
        labels_differing_limit_percent=100 * max(chosen.limits),
        **_quality(theirs, both, names, targets),
        classes=_changes(theirs, both, names, targets, chosen if per_class else None),
        operations_fast=fast_cost,
        operations_exact=exact_cost,
        operations=operations,
        cheaper=chosen.cheaper,
    )
    # Plain floats: NumPy's name their type, and equal calls give equal files.
    said = f"max-diff {float(max_diff)!r}, confidence {float(confidence)!r}" + ", per class" * per_class
    said += f", rows {report.rows_choosing} of {report.rows}, answered {answered}"
    origin = {} if source is None else {"source": source}
    origin |= {"method": "cascade", "parameters": f"{said}, differing {report.labels_differing}"}
    origin |= {"seed": str(seed), "arithmetic": arithmetic()}
    return CascadeModel(fast, exact, chosen.error, origin), report


def _labels(head: Head) -> FloatArray:
    """The labels that a classifier or a one-class model can give, ascending."""
    return np.array([-1.0, 1.0]) if head.labels is None else np.sort(head.labels.astype(np.float64))


def _check_rows(group: np.ndarray, different: int, least: int, claim: str, confidence: float) -> None:
    """Raise OptionError where the rows are copies of each other, or too few without repetitions."""
    times = copied(group)
    if times is not None:
        often = {2: "twice", 3: "three times"}.get(times, f"{times} times")
        raise OptionError(
            f"the rows are copies of each other: more of them occur {often} than independent rows do; copies "
            "say nothing new about rows to come, so give every row once"
        )
    if different < least:
        n = len(group)
        counted = f"{n:,} rows" if different == n else f"{n:,} rows, {different:,} of them different,"
        raise OptionError(
            f"{counted} cannot show with {confidence:.4g} confidence that {claim}; give at least {least:,} "
            "different rows, or ask for less"
        )


def _ask(
    fast: Model,
    exact: KernelExpansion,
    rows: Rows,
    group: np.ndarray,
    labels: FloatArray | None,
    threads: int,
    progress: Progress,
) -> tuple[Asked, FloatArray, FloatArray]:
    """Ask both models; return what they said, and the labels of either."""
    n = len(rows)
    sure, ours, theirs = np.empty(n), np.empty(n), np.empty(n)
    values: list[FloatArray] = []
    size = max(1, _CELLS // max(1, fast.head.n_functions, exact.head.n_functions))
    for start in range(0, n, size):
        part = slice(start, min(start + size, n))
        few = rows.take(np.arange(part.start, part.stop))
        decisions = fast.decision_values(few, threads=threads)
        if labels is None:
            theirs[part] = exact.head.predict(exact.decision_values(few, threads=threads))
        else:
            theirs[part] = labels[part]
        ours[part] = fast.head.predict(decisions)
        sure[part] = np.nan_to_num(certainty(fast.head, decisions), posinf=np.inf)  # of nan nothing is sure
        if fast.head.one_vs_rest:
            values.append(decisions[ours[part] != theirs[part]])
        progress(part.stop, n, "rows")
    kept = np.concatenate(values) if values else None
    asked = Asked(fast.head, sure, ours != theirs, group, np.zeros(n, dtype=np.int64), 1, kept)
    return asked, ours, theirs


def _by_class(
    asked: Asked, theirs: FloatArray, names: FloatArray, least: int, claim: str, confidence: float
) -> Asked:
    """Return what was asked with a part for each of the exact model's classes; none may have too few rows."""
    part = np.searchsorted(names, theirs)
    few = []
    for number, label in enumerate(names):
        different = len(np.unique(asked.group[part == number]))
        if different < least:
            few.append(f"{different:,} of class {shown_label(label)}")
    if few:
        named = ", ".join(few[:_NAMED]) + (
            f" and {len(few) - _NAMED} more classes" if len(few) > _NAMED else ""
        )
        raise OptionError(
            f"a limit for every class: {named}, by the exact model's labels, are too few different rows to "
            f"show with {confidence:.4g} confidence that {claim}; give at least {least:,} of every class "
            "(they may be collected class by class), or ask for less"
        )
    return Asked(asked.head, asked.sure, asked.differing, asked.group, part, len(names), asked.values)


def _known(targets: FloatArray | None, names: FloatArray) -> FloatArray | None:
    """Return the true labels if any is one of the model's, else None: then they stand for nothing."""
    return targets if targets is not None and np.isin(targets, names).any() else None


def _quality(
    theirs: FloatArray, both: FloatArray, names: FloatArray, targets: FloatArray | None
) -> dict[str, float | None]:
    """Return the accuracies before and after."""
    true = _known(targets, names)
    found: dict[str, float | None] = {}
    for ending, said in (("_exact", theirs), ("", both)):
        found[f"accuracy{ending}"] = None if true is None else 100 * float(np.mean(said == true))
        scores = () if true is None else class_scores(said, true)
        found[f"balanced_accuracy{ending}"] = balanced_accuracy(scores) if scores else None
    return found


def _changes(
    theirs: FloatArray,
    both: FloatArray,
    names: FloatArray,
    targets: FloatArray | None,
    chosen: Chosen | None,
) -> tuple[ClassChange, ...]:
    """Return what happens to each class; `chosen` where the limit is of every class."""
    true = _known(targets, names)
    kept = {score.label: score for score in class_scores(both, theirs, names)}
    before = after = {}
    if true is not None:
        before = {score.label: score for score in class_scores(theirs, true, names)}
        after = {score.label: score for score in class_scores(both, true, names)}
    changes = []
    for number, label in enumerate(names.tolist()):
        own = kept[label]
        changes.append(
            ClassChange(
                label=label,
                rows=before[label].rows if before else None,
                correct_exact=before[label].correct if before else None,
                correct=after[label].correct if after else None,
                exact_rows=own.rows,
                labels_differing=own.rows - own.correct,
                labels_differing_limit_percent=None if chosen is None else 100 * chosen.limits[number],
            )
        )
    return tuple(changes)
