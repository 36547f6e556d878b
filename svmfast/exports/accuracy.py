"""The settings of an export, and how far the exported file is from its model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from svmfast.display import count
from svmfast.exports.computation import Computation, Polynomials, dense
from svmfast.models.base import Model
from svmfast.rows import FloatArray, Rows, as_rows

#: The value of :attr:`Accuracy.of` if no rows were given and the model has vectors.
OWN_VECTORS = "of the model's own vectors"
#: Number of the model's own vectors to measure on if no rows are given; fewer for slow models.
OWN_ROWS, _MIN_ROWS, _OWN_WORK = 1000, 50, 2e8
#: Number of rows per block.
_BLOCK = 4096
#: A test of values allows this multiple of the largest measured difference, since compilers may contract
#: multiplications and additions.
_LENIENCE = 4.0

#: Maps rows to the exported file's values, ``(n, p)`` float64, and the number of certain labels.
Exported = Callable[[Rows], tuple[FloatArray, int | None]]


@dataclass(frozen=True)
class Accuracy:
    """The exported arithmetic compared with the model's own, on the same rows."""

    rows: int
    #: What the rows are, for sentences: "rows of PATH".
    of: str
    #: Number of rows whose labels differ; None for regression.
    labels_differing: int | None
    #: Largest absolute difference of the decision values, and largest absolute value.
    largest_difference: float
    largest_value: float
    #: Number of rows whose label the file proves; None without a certificate.
    certain: int | None = None


@dataclass(frozen=True, eq=False)
class CheckedRows:
    """The rows in an exported file for its self-test, with the model's answers."""

    #: (n, n_features)
    values: FloatArray
    #: (n,) labels; for regression, values, which may differ by `tolerance`.
    expected: FloatArray
    tolerance: float
    #: Number of rows that are left out because the file's label is not the model's.
    left_out: int = 0


@dataclass(frozen=True, eq=False)
class Settings:
    """The settings that every language receives with the computation."""

    #: The start of every name; a valid identifier.
    prefix: str
    dtype: np.dtype[Any]
    #: The origin of the model, as the file states it.
    origin: Mapping[str, str]
    accuracy: Accuracy
    test: CheckedRows | None = None
    #: The names of all features, or empty.
    feature_names: tuple[str, ...] = ()
    #: Whether the file computes probabilities.
    probability: bool = False


@dataclass(frozen=True)
class Printed:
    """An exported file; for C with the bytes of its tables, and of its arrays on the stack."""

    data: bytes = field(repr=False)
    table_bytes: int | None = None
    stack_bytes: int | None = None


def labels_differing(number: int) -> str:
    """Write ``1 label differs from the model's``."""
    return f"{count(number, 'label')} differ{'s' if number == 1 else ''} from the model's"


def labels_are(number: int) -> str:
    """Write ``1 label is``."""
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
    """Take at most this many of the rows, evenly spread."""
    if len(rows) <= most:
        return rows
    return rows.take(np.linspace(0, len(rows) - 1, most).astype(np.int64))


def measured(
    model: Model, computation: Computation, exported: Exported, rows: Rows | None, of: str, threads: int
) -> Accuracy:
    """Compare exported values and labels with the model's own, on `rows` or else on :func:`own_rows`."""
    if rows is None:
        rows, of = own_rows(model, computation)
    head = computation.head
    largest = size = 0.0
    differing, certain = 0, None
    for start in range(0, len(rows), _BLOCK):
        block = rows[start : start + _BLOCK]
        wanted = model.decision_values(block, threads=threads)
        got, found = exported(block)
        if found is not None:
            certain = (certain or 0) + found
        with np.errstate(invalid="ignore"):
            apart = np.abs(got - wanted)
        largest = max(largest, float(np.nan_to_num(apart, nan=np.inf).max(initial=0.0)))
        size = max(size, float(np.abs(wanted).max(initial=0.0)))
        if not head.is_regression:
            differing += int(np.count_nonzero(head.predict(got) != head.predict(wanted)))
    return Accuracy(len(rows), of, None if head.is_regression else differing, largest, size, certain)


def checked_rows(
    model: Model, computation: Computation, exported: Exported, rows: Rows, largest: float, dtype: Any
) -> CheckedRows:
    """The rows of an exported file's self-test; values have differed by at most `largest`."""
    head, table = computation.head, dense(rows, computation.n_features)
    expected = head.predict(model.decision_values(rows))
    # The file has the rows without features that the model does not have.
    predicted = head.predict(exported(as_rows(table))[0])
    if head.is_regression:
        worst = float(np.abs(predicted - expected).max(initial=0.0))
        scale = float(np.abs(expected).max(initial=0.0))
        tolerance = max(_LENIENCE * worst, 8 * float(np.finfo(dtype).eps) * scale, largest)
        return CheckedRows(table, expected, tolerance)
    same = predicted == expected
    return CheckedRows(table[same], expected[same], 0.0, int(np.count_nonzero(~same)))


def own_rows(model: Model, computation: Computation) -> tuple[Rows, str]:
    """Take rows of the model itself: its vectors, or random rows at similar distances from its centers."""
    inside = model.unscaled
    vectors = inside.vectors
    exact = inside.expansion or inside.embedded_exact
    if exact is not None:
        vectors = exact.sv
    if vectors is not None and len(vectors):
        most = int(max(_MIN_ROWS, min(OWN_ROWS, _OWN_WORK / max(1.0, computation.multiply_adds()))))
        return unmapped(computation, sample_of(vectors, most)), OWN_VECTORS
    rng = np.random.default_rng(0)
    d = len(computation.variables)
    table: FloatArray = np.zeros((OWN_ROWS, computation.n_features))
    directions = rng.standard_normal((OWN_ROWS, d))
    directions /= np.maximum(np.sqrt((directions**2).sum(axis=1, keepdims=True)), 1e-300)
    if isinstance(computation.values, Polynomials):
        centers = computation.values.centers
        cell = rng.integers(len(centers), size=OWN_ROWS)
        reach = np.sqrt(getattr(inside, "sv_squared_norms", np.ones(len(centers))))[cell]
        directions = centers[cell] + directions * (reach * rng.random(OWN_ROWS))[:, None]
    table[:, computation.variables] = directions
    return unmapped(computation, as_rows(table)), "random rows about the model's centers"


def unmapped(computation: Computation, rows: Rows) -> Rows:
    """Find rows that the model's scaling maps to `rows`; columns that it drops are 0."""
    scaling = computation.scaling
    if scaling is None:
        return rows
    with np.errstate(divide="ignore"):
        inverse = np.where(scaling.factor != 0, 1 / scaling.factor, 0.0)
    return as_rows(
        dense(rows, computation.n_features) * inverse + np.where(inverse != 0, scaling.offset, 0.0)
    )
