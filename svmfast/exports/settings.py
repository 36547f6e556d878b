"""The settings of an export, the measured accuracy, and sentences that describe it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from svmfast.display import count
from svmfast.rows import FloatArray, Rows

#: The value of :attr:`Accuracy.of` if no rows were given and the model has vectors.
OWN_VECTORS = "of the model's own vectors"


@dataclass(frozen=True)
class Accuracy:
    """The exported arithmetic compared with the model's own, on the same rows.

    Attributes
    ----------
    rows : int
        Number of rows.
    of : str
        What the rows are, for sentences: "rows of PATH".
    labels_differing : int or None
        Number of rows whose labels differ; None for regression.
    largest_difference : float
        Largest absolute difference of the decision values.
    largest_value : float
        Largest absolute decision value, for comparison.
    certain : int or None
        Number of rows whose label the file proves; None without a certificate.
    """

    rows: int
    of: str
    labels_differing: int | None
    largest_difference: float
    largest_value: float
    certain: int | None = None


@dataclass(frozen=True, eq=False)
class CheckedRows:
    """The rows in an exported file for its self-test, with the model's answers.

    Attributes
    ----------
    values : (n, n_features) float64
    expected : (n,) float64
        Labels; for regression, values.
    tolerance : float
        Allowed difference of a regression value.
    left_out : int
        Number of rows that are left out because the file's label is not the model's.
    """

    values: FloatArray
    expected: FloatArray
    tolerance: float
    left_out: int = 0


@dataclass(frozen=True, eq=False)
class Settings:
    """The settings that every language receives with the computation.

    Attributes
    ----------
    prefix : str
        The start of every name; a valid identifier.
    dtype : float32 or float64
    origin : mapping of str to str
        The origin of the model, as the file states it.
    accuracy : Accuracy
    test : CheckedRows or None
    feature_names : tuple of str
        The names of all features, or empty.
    probability : bool
        Whether the file computes probabilities.
    """

    prefix: str
    dtype: np.dtype[Any]
    origin: Mapping[str, str]
    accuracy: Accuracy
    test: CheckedRows | None = None
    feature_names: tuple[str, ...] = ()
    probability: bool = False


@dataclass(frozen=True)
class Printed:
    """An exported file and its figures.

    Attributes
    ----------
    data : bytes
    table_bytes : int or None
        Bytes of constant tables, in addition to the code; only for C.
    stack_bytes : int or None
        Bytes of arrays on the stack while a label is computed; only for C.
    """

    data: bytes = field(repr=False)
    table_bytes: int | None = None
    stack_bytes: int | None = None


def labels_differing(number: int) -> str:
    """Return ``1 label differs from the model's``."""
    return f"{count(number, 'label')} differ{'s' if number == 1 else ''} from the model's"


def labels_are(number: int) -> str:
    """Return ``1 label is``."""
    return f"{count(number, 'label')} {'is' if number == 1 else 'are'}"


def sentence(accuracy: Accuracy, dtype: np.dtype[Any]) -> str:
    """Describe how close the exported arithmetic is to the model's."""
    precision = "single" if dtype == np.float32 else "double"
    apart = (
        f"values differ by at most {accuracy.largest_difference:.2g} (largest: {accuracy.largest_value:.3g})"
    )
    if accuracy.labels_differing is not None:
        apart = f"{labels_differing(accuracy.labels_differing)}, {apart}"
    proven = "" if accuracy.certain is None else f", {labels_are(accuracy.certain)} certain"
    return f"{precision} precision, on {accuracy.rows:,} {accuracy.of}: {apart}{proven}"


def sample_of(rows: Rows, most: int) -> Rows:
    """Return at most this many of the rows, evenly spread."""
    if len(rows) <= most:
        return rows
    return rows.take(np.linspace(0, len(rows) - 1, most).astype(np.int64))
