"""The text that svm-predict writes: labels, probabilities and decision values, one line per row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from svmfast.models.answer import name_places
from svmfast.models.head import Head
from svmfast.rows import FloatArray


def class_words(head: Head, names: Mapping[float, str] | None = None) -> list[str]:
    """Return the names of a classifier's classes, in the model's order; without `names`, the labels."""
    if head.labels is None:
        return []
    labels = head.labels.tolist()
    return [str(int(label)) for label in labels] if names is None else [names[label] for label in labels]


def pair_names(head: Head, names: Mapping[float, str] | None = None) -> list[str]:
    """Return a name for each decision function: ``1/-1`` (positive means 1), else ``decision``.

    The pairs are in LIBSVM's order: (1,2), (1,3), ..., (2,3), ... over the model's labels. One-vs-rest models
    have one function for each label instead: ``1/rest``. With `names`: ``setosa/virginica``.
    """
    if head.labels is None:
        return ["decision"]
    labels = class_words(head, names)
    if head.one_vs_rest:
        return [f"{label}/rest" for label in labels]
    return [f"{a}/{b}" for i, a in enumerate(labels) for b in labels[i + 1 :]]


def lines(
    predicted: FloatArray,
    *,
    labels: Sequence[float] | None = None,
    probabilities: FloatArray | None = None,
    decisions: FloatArray | None = None,
    inside: NDArray[np.bool_] | None = None,
    certified: NDArray[np.bool_] | None = None,
    error_bounds: FloatArray | None = None,
    class_names: Mapping[float, str] | None = None,
) -> bytes:
    """Return the lines of the rows.

    Labels are printed as ``%.17g``; with probabilities, both are printed as ``%g``, six digits, as
    svm-predict does. Decision values always have 17 digits. `labels` are the values that `predicted` can
    take, if they are few; each is formatted only once. The other columns are ``inside`` or ``outside``;
    ``yes`` or ``no`` for `certified`, ``-`` if only the error bounds are given; and the error bounds with six
    digits. Names are printed instead of labels.
    """
    n = len(predicted)
    if not n:
        return b""
    words = None if class_names is None else _names(predicted, class_names)
    label_format = "%.17g" if probabilities is None else "%g"
    if probabilities is None and decisions is None and inside is None and error_bounds is None:
        if words is not None:
            return ("\n".join(words) + "\n").encode()
        if labels is not None:
            return _label_lines(predicted, np.asarray(labels, dtype=np.float64))
        return ((label_format + "\n") * n % tuple(predicted.tolist())).encode()
    columns: list[FloatArray] = [predicted[:, None]]
    formats = [label_format if words is None else "%s"]
    for block, form in ((probabilities, "%g"), (decisions, "%.17g")):
        if block is not None:
            columns.append(block)
            formats += [form] * block.shape[1]
    tails: list[list[str]] = []
    if inside is not None:
        tails.append(np.where(inside, " inside", " outside").tolist())
    if error_bounds is not None:
        tails.append([" -"] * n if certified is None else np.where(certified, " yes", " no").tolist())
        # Rounded up, so that the printed number is still a bound.
        tails.append([f" {value:.6g}" for value in (error_bounds * (1 + 1e-5)).tolist()])
    row = " ".join(formats)
    values = np.concatenate(columns, axis=1).ravel().tolist()
    if words is not None:
        values[:: len(formats)] = words
    if not tails:
        return ((row + "\n") * n % tuple(values)).encode()
    text = "".join([row + "".join(tail) + "\n" for tail in zip(*tails, strict=True)])
    return (text % tuple(values)).encode()


def _names(predicted: FloatArray, class_names: Mapping[float, str]) -> list[str]:
    known, places = name_places(class_names, predicted)
    return [known[place] for place in places.tolist()]


def _label_lines(predicted: FloatArray, labels: FloatArray) -> bytes:
    ordered = np.sort(labels)
    table = np.array([b"%.17g\n" % label for label in ordered.tolist()])
    # Fixed-width fields padded with NUL, which no number contains: one gather, one pass to remove the NULs.
    return table[np.searchsorted(ordered, predicted)].tobytes().translate(None, b"\0")
