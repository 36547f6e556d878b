"""A check that rows have the scale of a model's vectors, to detect raw rows for a model of scaled ones."""

from __future__ import annotations

import numpy as np

from svmfast.models.base import Model
from svmfast.rows import FloatArray, Rows

#: The first MOST_ROWS rows are checked; if there are fewer than LEAST_ROWS, there is no warning.
MOST_ROWS, LEAST_ROWS = 1000, 10
#: Squared norms within this factor count as the same scale, since optimized vectors may be shorter than rows.
FACTOR = 25.0


class ScaleCheck:
    """Compares the scale of the first rows with that of a model's vectors.

    The median of the rows' squared norms is compared with the largest and the smallest squared norm of the
    support vectors or landmarks. For rows like those of the training data, it lies between or near these.

    Parameters
    ----------
    model : Model
        There is no warning for a linear kernel, or for models whose vectors are not like rows.
    scaled : bool
        Whether the rows have been scaled; if not, the warning explains how to scale them.
    """

    def __init__(self, model: Model, *, scaled: bool = False) -> None:
        self._model, self._scaled = model, scaled
        self._norms: list[float] = []

    def add(self, rows: Rows) -> None:
        """Add rows; those after the first :data:`MOST_ROWS` are ignored."""
        room = MOST_ROWS - len(self._norms)
        if room > 0:
            self._norms += _squared_norms(rows[:room]).tolist()

    def verdict(self) -> str | None:
        """Return a warning if the scales differ by more than :data:`FACTOR`, or None."""
        if len(self._norms) < LEAST_ROWS:
            return None
        low, high = _vector_norms(self._model)
        median = _median(self._norms)
        if high is not None and median > FACTOR * high:
            extreme, size = "largest", high
        elif low is not None and FACTOR * median < low:
            extreme, size = "smallest", low
        else:
            return None
        return (
            f"the rows and the model are on different scales: the median squared norm of the first "
            f"{len(self._norms):,} rows is {median:.4g}, the {extreme} of the model's vectors {size:.4g}"
            + ("" if self._scaled else "; raw rows need the range file of the training data (`scale`)")
        )


def _median(values: list[float]) -> float:
    """Return the median; NumPy's imports ``numpy.ma``, which takes longer than many predictions."""
    ordered, half = sorted(values), len(values) // 2
    return ordered[half] if len(values) % 2 else (ordered[half - 1] + ordered[half]) / 2


def _squared_norms(rows: Rows) -> FloatArray:
    with np.errstate(over="ignore"):  # infinity is also a valid scale
        return rows.squared_norms()


def _vector_norms(model: Model) -> tuple[float | None, float | None]:
    """Return the smallest and the largest squared norm of a model's vectors; None if they say nothing."""
    vectors = model.vectors
    if vectors is not None and len(vectors):
        norms = _squared_norms(vectors)
        return float(norms.min()), float(norms.max())
    return None, model.largest_squared_norm or None
