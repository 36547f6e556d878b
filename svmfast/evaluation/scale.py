"""A check that rows have the scale of a model's vectors, to detect raw rows for a model of scaled ones."""

from __future__ import annotations

import numpy as np

from svmfast.models.base import Model
from svmfast.prediction_words import other_scale
from svmfast.rows import FloatArray, Rows

#: The first MOST_ROWS rows are checked; if there are fewer than LEAST_ROWS, there is no warning.
MOST_ROWS, LEAST_ROWS = 1000, 10


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
        """Return a warning if the scales differ much, or None."""
        if len(self._norms) < LEAST_ROWS:
            return None
        ends = _vector_norms(self._model)
        return other_scale(len(self._norms), _median(self._norms), *ends, scaled=self._scaled)


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
