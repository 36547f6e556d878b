"""A check that rows have the scale of a model's vectors, to detect raw rows for a model of scaled ones."""

from __future__ import annotations

import numpy as np

from svmfast.models.base import Model
from svmfast.prediction_words import other_scale
from svmfast.rows import FloatArray, Rows

#: The first MOST_ROWS rows are checked; if there are fewer than LEAST_ROWS, there is no warning.
MOST_ROWS, LEAST_ROWS = 1000, 10


class ScaleCheck:
    """Compares the median squared norm of the first rows with those of support vectors or landmarks.

    For rows like those of the training data, it lies between or near their smallest and largest. There is no
    warning for models whose vectors are not like rows. If the rows are not `scaled`, it explains how to scale
    them.
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
        """A warning if the scales differ much, or None."""
        if len(self._norms) < LEAST_ROWS:
            return None
        vectors, least, most = self._model.vectors, None, self._model.largest_squared_norm or None
        if vectors is not None and len(vectors):
            norms = _squared_norms(vectors)
            least, most = float(norms.min()), float(norms.max())
        return other_scale(len(self._norms), _median(self._norms), least, most, scaled=self._scaled)


def _median(values: list[float]) -> float:
    """NumPy's median imports ``numpy.ma``, which takes longer than many predictions."""
    ordered, half = sorted(values), len(values) // 2
    return ordered[half] if len(values) % 2 else (ordered[half - 1] + ordered[half]) / 2


def _squared_norms(rows: Rows) -> FloatArray:
    with np.errstate(over="ignore"):  # infinity is also a valid scale
        return rows.squared_norms()
