"""Class weights as weights of rows, and a warning about classes that have no rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from svmfast.display import MOST_LISTED, named_labels
from svmfast.methods.given import Setting
from svmfast.rows import FloatArray


def row_weights(weights: Sequence[tuple[int, float]], labels: FloatArray) -> FloatArray | None:
    """Return the weight of every row, ``(n,)``; None without weights. Several weights of a label multiply."""
    if not weights:
        return None
    found = np.ones(len(labels))
    for label, weight in weights:
        found[np.trunc(labels) == label] *= weight
    return found


def class_weights_of(which: NDArray[np.int64], weights: FloatArray | None) -> tuple[tuple[int, float], ...]:
    """Return the weight of each class from weights of rows, ``(n,)``, that are equal within a class."""
    if weights is None:
        return ()
    present, first = np.unique(which, return_index=True)
    return tuple(zip(present.tolist(), weights[first].tolist(), strict=True))


def absent_weights(weights: Sequence[tuple[int, float]], labels: ArrayLike) -> list[int]:
    """Return the labels that have a class weight but no row, in the order of the weights."""
    present = set(np.trunc(np.asarray(labels, dtype=np.float64)).tolist())
    return list(dict.fromkeys(label for label, _ in weights if label not in present))


def warn_of_absent(
    weights: Sequence[tuple[int, float]], labels: ArrayLike, data: str, setting: Setting
) -> None:
    """Warn of every class weight that applies to no row, as svm-train does; `data` is the rows' name."""
    absent = absent_weights(weights, labels)
    if not absent:
        return
    known, names = np.unique(np.asarray(labels, dtype=np.float64)).tolist(), setting.names_of_labels()
    if names is not None:
        have = f"the labels are {named_labels(names)}"
    else:
        more = f" and {len(known) - MOST_LISTED:,} more" if len(known) > MOST_LISTED else ""
        have = f"the labels are {', '.join(f'{label:g}' for label in known[:MOST_LISTED])}{more}"
    for label in absent:
        setting.warn(f"{data}: no row has label {label}, which has a weight; {have}")
