"""Targets for training a classifier: +1 and -1 for each class, from the labels of the training rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmfast.errors import OptionError, SingleClassError, TrainingRowError
from svmfast.models.head import Head
from svmfast.rows import FloatArray

IntArray = NDArray[np.int64]


def svc_targets(labels: FloatArray, *, pairs: bool) -> tuple[Head, FloatArray]:
    """Return the head and the +1/-1 targets: one column for two classes, otherwise one for each class."""
    head, which = numbered_classes(labels, pairs=pairs)
    return head, targets_of(which, range(1 if head.n_classes == 2 else head.n_classes))


def targets_of(which: IntArray, classes: range) -> FloatArray:
    """Return the +1/-1 targets of some classes, ``(n, len(classes))``, for the number of each row's class."""
    targets = np.full((len(which), len(classes)), -1.0)
    rows = np.flatnonzero((which >= classes.start) & (which < classes.stop))
    targets[rows, which[rows] - classes.start] = 1
    return targets


def numbered_classes(labels: FloatArray, *, pairs: bool) -> tuple[Head, IntArray]:
    """Return the head, and the number of each row's class among its labels, ``(n,)``.

    Labels are in the order in which they first occur, but +1 comes before -1 if these are the only two, as
    in LIBSVM.

    Raises
    ------
    TrainingRowError
        A label is not an integer.
    SingleClassError
    """
    limits = np.iinfo(np.int32)
    if not len(labels):
        raise OptionError("no rows to train on")
    bad = np.flatnonzero((labels != np.trunc(labels)) | (np.abs(labels) > limits.max))
    if len(bad):
        raise TrainingRowError(
            int(bad[0]) + 1,
            "class label is not an integer",
            f"{labels[bad[0]]:.17g}",
            "32-bit integers for classes, or `task` ridge for real targets",
        )
    values, first, which = np.unique(labels.astype(np.int64), return_index=True, return_inverse=True)
    order = np.argsort(first)
    if values.tolist() == [-1, 1]:
        order = np.array([1, 0])
    k = len(values)
    if k < 2:
        raise SingleClassError(labels[0])
    head = Head("c_svc", values[order], one_vs_rest=k > 2 and not pairs)
    position = np.empty(k, dtype=np.int64)
    position[order] = np.arange(k)
    return head, position[which]
