"""Remarks on predictions, from their counts; without NumPy, as `svmfast predict` is in the plain case."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from svmfast.display import count, shown

#: Minimum rows of a class whose recall is compared with the accuracy; maximum number of lines about such
#: classes.
MIN_ROWS, MAX_LINES = 5, 5
#: Squared norms within this factor count as the same scale, since optimized vectors may be shorter than rows.
FACTOR = 25.0


class OfClass(Protocol):
    """The counts of one class: see :class:`svmfast.class_scores.ClassScore`."""

    @property
    def label(self) -> float: ...
    @property
    def rows(self) -> int: ...
    @property
    def predicted(self) -> int: ...
    @property
    def correct(self) -> int: ...


def shown_label(label: float) -> float | int:
    """A label, as an int if its value is an integer."""
    return int(label) if float(label).is_integer() else label


def class_word(label: float, names: Mapping[float, str] | None = None) -> str:
    """The word for a class in messages: the quoted name of its label if it has one, else the label."""
    name = None if names is None else names.get(label)
    return str(shown_label(label)) if name is None else f"'{shown(name)}'"


def neglected_lines(
    scores: Iterable[OfClass], accuracy: float, names: Mapping[float, str] | None = None
) -> list[str]:
    """A line for each class whose recall is below half the accuracy, the lowest recall first."""
    recalls = [(100 * one.correct / one.rows, one) for one in scores if one.rows >= MIN_ROWS]
    found = sorted(
        ((recall, one) for recall, one in recalls if recall < accuracy / 2),
        key=lambda pair: (pair[0], pair[1].label),
    )
    lines = []
    for recall, score in found[:MAX_LINES]:
        tail = "" if score.predicted else "; it is never predicted"
        lines.append(
            f"class {class_word(score.label, names)} is recognized far below the accuracy of "
            f"{accuracy:.4g}%: recall {recall:.4g}% ({score.correct:,} of {score.rows:,}){tail}"
        )
    if len(found) > MAX_LINES:
        lines.append(f"so are {len(found) - MAX_LINES:,} more classes")
    return lines


def unknown_features(unknown: int, rows: int, largest_column: int, n_features: int) -> str:
    """The remark on rows with features that the model does not have."""
    return (
        f"{unknown:,} of {count(rows, 'row')} have features that the model does not have "
        f"(index up to {largest_column + 1}, the model has {n_features}); "
        "as in LIBSVM they only contribute to a row's norm"
    )


def not_the_vote(differing: int, rows: int) -> str:
    """The remark on rows whose most probable label is not the label of the vote."""
    return (
        f"{differing:,} of {count(rows, 'row')}: the most probable label (`probability`) "
        "is not the label of the vote"
    )


def other_scale(
    rows: int, median: float, low: float | None, high: float | None, *, scaled: bool
) -> str | None:
    """A warning if the median squared norm of `rows` rows is far from those of the model's vectors, or None.

    `low` and `high` are the smallest and the largest of these, None if unknown. If the rows have not been
    `scaled`, the warning says how to.
    """
    if high is not None and median > FACTOR * high:
        extreme, size = "largest", high
    elif low is not None and FACTOR * median < low:
        extreme, size = "smallest", low
    else:
        return None
    return (
        f"the rows and the model are on different scales: the median squared norm of the first "
        f"{rows:,} rows is {median:.4g}, the {extreme} of the model's vectors {size:.4g}"
        + ("" if scaled else "; raw rows need the range file of the training data (`scale`)")
    )
