"""Remarks on predictions, from their counts; without NumPy, as `svmfast predict` is in the plain case."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from svmfast.display import count, shown

#: Minimum rows of a class whose recall is compared with the accuracy; maximum number of lines about such
#: classes.
MIN_ROWS, MAX_LINES = 5, 5
#: Squared norms within this factor count as the same scale, since optimized vectors may be shorter than rows.
FACTOR = 25.0


def shown_label(label: float) -> float | int:
    """A label, as an int if its value is an integer."""
    return int(label) if float(label).is_integer() else label


def class_word(label: float, names: Mapping[float, str] | None = None) -> str:
    """The word for a class in messages: the quoted name of its label if it has one, else the label."""
    name = None if names is None else names.get(label)
    return str(shown_label(label)) if name is None else f"'{shown(name)}'"


def neglected_lines(
    classes: Iterable[tuple[float, int, int, int]], accuracy: float, names: Mapping[float, str] | None = None
) -> list[str]:
    """A line for each class whose recall is below half the accuracy, the lowest recall first.

    Of each class: label, rows, how often it is predicted, and how often correctly.
    """
    recalls = sorted((100 * one[3] / one[1], *one) for one in classes if one[1] >= MIN_ROWS)
    found = [one for one in recalls if one[0] < accuracy / 2]
    lines = []
    for recall, label, rows, predicted, correct in found[:MAX_LINES]:
        tail = "" if predicted else "; it is never predicted"
        lines.append(
            f"class {class_word(label, names)} is recognized far below the accuracy of "
            f"{accuracy:.4g}%: recall {recall:.4g}% ({correct:,} of {rows:,}){tail}"
        )
    if len(found) > MAX_LINES:
        lines.append(f"so are {len(found) - MAX_LINES:,} more classes")
    return lines


def unknown_features(
    unknown: int, rows: int, largest_column: int, n_features: int, *, mapped: bool = False
) -> str:
    """The remark on rows with features that the model, or its map of rows, does not have."""
    return (
        f"{unknown:,} of {count(rows, 'row')} have features that the model does not have "
        f"(index up to {largest_column + 1}, the model has {n_features}); "
        + ("they do not count" if mapped else "as in LIBSVM they only contribute to a row's norm")
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
