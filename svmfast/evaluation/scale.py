"""Are rows of the scale of a model's vectors? Raw data is not, where the model is of scaled data."""

from __future__ import annotations

import numpy as np

from svmfast.models.base import Model
from svmfast.models.cascade import CascadeModel
from svmfast.models.expansion import KernelExpansion
from svmfast.rows import FloatArray, Rows

#: Rows that are looked at, the first ones, and fewer that are too few to speak of.
MOST_ROWS, LEAST_ROWS = 1000, 10
#: Squared norms that differ by less are one scale: moved vectors may be shorter than rows.
FACTOR = 25.0


class ScaleCheck:
    """Meets the first rows with a model's vectors.

    The median of the rows' squared norms is held against the largest and the smallest squared norm of the
    support vectors, or landmarks: rows like those that the model was made from lie between them or near.

    Parameters
    ----------
    model : Model
        Of a linear kernel, and of others whose vectors are no rows, there is no warning.
    scaled : bool
        Whether the rows have been scaled; the verdict on others says how that is done.
    """

    def __init__(self, model: Model, *, scaled: bool = False) -> None:
        self._model, self._scaled = model, scaled
        self._norms: list[float] = []

    def add(self, rows: Rows) -> None:
        """Take in rows; those beyond the first :data:`MOST_ROWS` cost nothing."""
        room = MOST_ROWS - len(self._norms)
        if room > 0:
            self._norms += _squared_norms(rows[:room]).tolist()

    def verdict(self) -> str | None:
        """Say what was measured where it differs by more than :data:`FACTOR`; None where it does not."""
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
            f"rows of another scale than the model's: median squared norm {median:.4g} of the first "
            f"{len(self._norms):,} rows, {extreme} of the model's vectors {size:.4g}"
            + ("" if self._scaled else "; raw rows need the range file of the training data (`scale`)")
        )


def _median(values: list[float]) -> float:
    """Return the median; NumPy's would import ``numpy.ma``, which takes longer than many predictions."""
    ordered, half = sorted(values), len(values) // 2
    return ordered[half] if len(values) % 2 else (ordered[half - 1] + ordered[half]) / 2


def _squared_norms(rows: Rows) -> FloatArray:
    with np.errstate(over="ignore"):  # infinity is a scale too
        return rows.squared_norms()


def _vector_norms(model: Model) -> tuple[float | None, float | None]:
    """Return the smallest and the largest squared norm of a model's vectors, None where they tell nothing."""
    if isinstance(model, CascadeModel):
        return _vector_norms(model.exact)
    if isinstance(model, KernelExpansion):
        vectors = model.sv if model.kernel.kind in ("rbf", "polynomial", "sigmoid") else None
    else:
        vectors = getattr(model, "landmarks", None)
    if isinstance(vectors, Rows) and len(vectors):
        norms = _squared_norms(vectors)
        return float(norms.min()), float(norms.max())
    largest = getattr(model, "sv_squared_norm", None)
    return None, largest if largest and getattr(model, "gamma", 0.0) > 0 else None
