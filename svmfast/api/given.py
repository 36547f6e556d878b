"""A model, or rows, given as a path or as an object."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from svmfast.errors import OptionError, RowWidthError, WrongTypeError
from svmfast.models.memory import MEMORY
from svmfast.models.scaled import scaling_of
from svmfast.options import Reading
from svmfast.rows import Rows, as_rows

if TYPE_CHECKING:
    from svmfast.formats.detect import LoadedModel
    from svmfast.models.base import Model

#: What a model and data may be.
MODEL = "a model, or the path of one"
DATA = "an array of numbers, a SciPy sparse matrix, Rows, a Dataset, or the path of LIBSVM data"


def is_path(given: Any) -> bool:
    """Tell whether something names a file."""
    return isinstance(given, str | os.PathLike)


def open_model(
    source: Any,
    note: Callable[[str], None],
    warn: Callable[[str], None],
    *,
    memory: int = MEMORY,
    allow_edited: bool = False,
) -> LoadedModel:
    """Read a model of any kind, in at most `memory` bytes; `note` and `warn` get what its reader remarks."""
    from svmfast.formats import detect

    opened = detect.open_model(source, memory=memory, allow_edited=allow_edited)
    for text in opened.warnings:
        note(text)
    if opened.edited:
        warn(f"{opened.path}: changed after svmfast wrote it: nothing that it claims of itself is used")
    return opened


def check_width(reading: Reading, name: str, model: Model, rows: Rows, warn: Callable[[str], None]) -> None:
    """Refuse a table that lacks features of a model, and warn of one with more (`dense` only).

    A row of a table has a value for every feature, so with fewer values than the model has features it is not
    a row of what the model was made from: a label may have been taken for a feature, or the other way round.

    Raises
    ------
    RowWidthError
        There are too few values.
    """
    if not reading.dense or reading.scale is not None or rows.n_columns == model.n_features:
        return  # a scaling has its own width, which the reader checks
    found, wanted = rows.n_columns, model.n_features
    place = "in a row" if reading.unlabelled else "behind the label"
    other = (
        "; as many as features with `unlabelled`" if not reading.unlabelled and found + 1 == wanted else ""
    )
    if found < wanted:
        expected = f"the model has {wanted} features{other}"
        raise RowWidthError(name, None, f"{found} values {place}", None, expected)
    also = "; as many as features behind a label, without `unlabelled`" if reading.unlabelled else ""
    warn(
        f"{name}: {found} values {place}, the model has {wanted} features"
        + (also if found == wanted + 1 else "")
    )


def with_scaling_of(
    reading: Reading, models: Iterable[tuple[str, Model]], *, memory: int = MEMORY
) -> Reading:
    """Return `reading` with the one scaling that all rows go through: its own, or that of the models.

    Parameters
    ----------
    reading : Reading
    models : iterable of (name, model)
        Those that carry no scaling take rows that are scaled.
    memory : int
        Most bytes that a scaling may take.

    Raises
    ------
    OptionError
        Two scalings differ.
    """
    found, where = reading.scale, "`scale`"
    if is_path(found):
        from svmfast.formats.ranges import read_scaling

        found = read_scaling(found, memory=memory)
    for name, model in models:
        own = scaling_of(model)
        if own is None:
            continue
        if found is not None and not own.same_map(found):
            raise OptionError(f"{name} carries another scaling than {where}; rows have one scale")
        found, where = own, name
    return replace(reading, scale=found)


def check_scale(name: str, model: Model, rows: Rows, warn: Callable[[str], None]) -> bool:
    """Warn where the first rows are of another scale than the model's vectors; tell whether they are."""
    from svmfast.evaluation.scale import ScaleCheck

    check = ScaleCheck(model)
    check.add(rows)
    verdict = check.verdict()
    if verdict is not None:
        warn(f"{name}: {verdict}")
    return verdict is not None


def rows_of(data: Any, form: Callable[[Any], Rows] = as_rows) -> Rows:
    """Return data that are in memory as Rows, which `form` makes of an array or a matrix.

    Raises
    ------
    WrongTypeError
        They are nothing like an array of numbers.
    """
    rows = getattr(data, "rows", data)
    if not (isinstance(rows, Rows) or hasattr(rows, "tocsr")):
        try:
            dense = np.asarray(rows, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise WrongTypeError("the data", data, DATA) from error
        if dense.ndim == 0:
            raise WrongTypeError("the data", data, DATA)
        rows = dense
    return form(rows)


def checked_labels(rows: Rows, labels: ArrayLike) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return labels as float64, one a row (OptionError otherwise)."""
    values = np.ascontiguousarray(labels, dtype=np.float64)
    if values.shape != (len(rows),):
        raise OptionError(f"{len(rows)} rows need as many labels, got an array of shape {values.shape}")
    return values
