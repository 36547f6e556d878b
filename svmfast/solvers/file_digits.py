"""Rounds values to the digits that LIBSVM's files have for support vectors."""

from __future__ import annotations

from svmfast import _core
from svmfast.rows import FloatArray


def eight_digits(values: FloatArray) -> FloatArray:
    """Values rounded as ``svm-train`` writes them (``%.8g``), in the same shape.

    Training uses it, so that a model in memory is the same as the one in its file.
    """
    rounded: FloatArray = _core.eight_digits(values.ravel()).reshape(values.shape)
    return rounded
