"""Models and rows that are given as a path or as an object."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from svmfast.display import count, listed, shown
from svmfast.errors import (
    ArrayWidthError,
    DataFormatError,
    NotFiniteCellError,
    NotFiniteError,
    OptionError,
    TableError,
    WrongTypeError,
)
from svmfast.models.memory import MEMORY
from svmfast.options import Reading
from svmfast.rows import FloatArray, Rows, as_array, as_floats, as_rows
from svmfast.sparse import is_sparse

if TYPE_CHECKING:
    from svmfast.formats.detect import LoadedModel
    from svmfast.models.base import Model
    from svmfast.models.scaling import Scaling

#: The types accepted for a model and for data.
MODEL = "a model, or the path of one"
DATA = "an array of numbers, a SciPy sparse matrix, Rows, a Dataset, a DataFrame, or the path of data"
_PLAIN = Reading()
_SERIES = "a DataFrame, an array, or for a single row a Series whose index has the names of the features"


def is_path(given: Any) -> bool:
    """Return whether an object is the path of a file."""
    return isinstance(given, str | os.PathLike)


def open_model(
    source: Any,
    note: Callable[[str], None],
    warn: Callable[[str], None],
    *,
    memory: int = MEMORY,
) -> LoadedModel:
    """Read a model of any kind, in at most `memory` bytes; `note` and `warn` receive its reader's remarks."""
    from svmfast.formats import detect

    opened = detect.open_model(source, memory=memory)
    for text in opened.warnings:
        note(text)
    return opened


def check_width(
    reading: Reading,
    name: str,
    model: Model,
    rows: Rows,
    warn: Callable[[str], None],
    columns: Sequence[str] | None = None,
) -> None:
    """Refuse a table that lacks features of a model; warn about one with more (`dense`, or with `columns`).

    A row of a table has a value for every feature. A row with fewer values than the model has features does
    not come from the model's problem: perhaps a label was read as a feature, or a feature as a label.

    Raises
    ------
    DataFormatError, TableError
        There are too few values.
    """
    if reading.scale is not None:
        return  # the reader compares the rows with the width of the scaling
    if columns is not None and len(columns) != model.n_features:
        what = f"{count(len(columns), 'column')} of features"
        if len(columns) < model.n_features:
            expected = f"the model has {model.n_features} features"
            raise TableError(name, None, what, None, expected)
        beyond = listed(columns[model.n_features :])
        warn(
            f"{name}: {what}, the model has {model.n_features} features, and {beyond} beyond them; "
            "name the features with `features`, or the other columns with `label` or `keep`"
        )
    if not reading.dense or rows.n_columns == model.n_features:
        return
    found, wanted = rows.n_columns, model.n_features
    place = "in a row" if reading.unlabelled else "after the label"
    other = (
        "; as many as features with `unlabelled`" if not reading.unlabelled and found + 1 == wanted else ""
    )
    if found < wanted:
        expected = f"the model has {wanted} features{other}"
        raise DataFormatError(name, None, f"{found} values {place}", None, expected)
    also = "; as many as features after a label, without `unlabelled`" if reading.unlabelled else ""
    warn(
        f"{name}: {found} values {place}, the model has {wanted} features"
        + (also if found == wanted + 1 else "")
    )


def check_array(
    width: int, model: Model, scaling: Scaling | None, warn: Callable[[str], None] = lambda text: None
) -> None:
    """Refuse an array whose columns cannot be the features of a model, as scikit-learn does.

    An array has a value for every feature. If the model's features are named or were scaled by offset and
    factor, their number is known. The text of a LIBSVM model and a range file only have the largest index
    that occurs: fewer columns are refused, more cause a warning and count as features that are 0 in all
    support vectors (a range file drops them). The model is that for scaled rows.
    """
    known = model.n_features
    if scaling is not None:
        known = len(scaling) if scaling.ranges is not None else max(known, len(scaling))
        exact = scaling.feature_names is not None or scaling.ranges is None
        if exact and width != known:
            raise ArrayWidthError(width, f"{known}, the number of the model's features")
    if width < known:
        raise ArrayWidthError(width, f"at least {known}, the number of the model's features")
    if width > known:
        warn(f"the data have {width} columns, the model has {known} features")


def with_scaling_of(
    reading: Reading, models: Iterable[tuple[str, Model]], *, memory: int = MEMORY
) -> Reading:
    """Return `reading` with the scaling that applies to all rows: its own, or that of the models.

    The models come with their names in messages; one without a scaling expects scaled rows. Two scalings, or
    the names of two models, must not differ.
    """
    if is_path(reading.scale):
        from svmfast.formats.dataset import with_scaling

        reading = with_scaling(reading, memory)
    found, where = reading.scale, "`scale`"
    for name, model in models:
        own = model.scaling
        if own is None:
            continue
        if found is not None:
            _check_names(own, found, name, where)
            if not own.same_map(found):
                raise OptionError(f"{name} has a different scaling from {where}; all rows share one scaling")
            own = _with_names_of(found, own)
        found, where = own, name
    return replace(reading, scale=found)


def _check_names(own: Scaling, found: Scaling, name: str, where: str) -> None:
    """Refuse a model whose names of columns or classes differ from those of a previous model."""
    columns, other_columns = own.feature_names, found.feature_names
    if columns is not None and other_columns is not None and columns != other_columns:
        raise OptionError(f"{name} and {where} differ in the names or the order of their features")
    classes, other_classes = own.names_of_labels or {}, found.names_of_labels or {}
    for label, called in classes.items():
        other = other_classes.get(label, called)
        if other != called:
            raise OptionError(
                f"label {label:g} is '{shown(called)}' in {name} and '{shown(other)}' in {where}"
            )


def _with_names_of(named: Scaling, scaling: Scaling) -> Scaling:
    """Return `scaling` with the names of `named` that it lacks; both are the same map."""
    if scaling.feature_names is None:
        scaling = replace(scaling, feature_names=named.feature_names)
    if scaling.class_names is None:
        taken = {name: getattr(named, name) for name in ("class_names", "class_labels", "boolean_classes")}
        scaling = replace(scaling, **taken)
    for name in ("label_column", "missing"):
        if getattr(scaling, name) is None:
            scaling = replace(scaling, **{name: getattr(named, name)})
    return scaling


def check_scale(reading: Reading, name: str, model: Model, rows: Rows, warn: Callable[[str], None]) -> bool:
    """Warn if the first rows differ in scale from the model's vectors, and return whether they do.

    The rows are as read: `reading.scale` is applied to those that are looked at.
    """
    from svmfast.evaluation.scale import MOST_ROWS, ScaleCheck

    check = ScaleCheck(model, scaled=reading.scale is not None)
    with suppress(NotFiniteError):  # it is an error where all rows are scaled
        for few in [rows] if reading.scale is None else reading.scale.parts(rows[:MOST_ROWS]):
            check.add(few)
    verdict = check.verdict()
    if verdict is not None:
        warn(f"{name}: {verdict}")
    return verdict is not None


def is_table(data: Any) -> bool:
    """Return whether data are named columns, available through Arrow's C interface.

    Without pyarrow a table that NumPy can read is treated as an array.
    """
    if not (hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__")):
        return False
    from importlib.util import find_spec

    return find_spec("pyarrow") is not None or not hasattr(data, "__array__")


def _row_of_series(data: Any) -> Any:
    """Return a Series with names as its index, such as ``frame.iloc[0]``, as a DataFrame of one row.

    Other data are returned unchanged; a Series without names is refused, since it may be a column.
    """
    if not hasattr(data, "to_frame") or len(getattr(data, "shape", ())) != 1:
        return data
    names = list(data.index) if hasattr(data, "iloc") else []
    if not names or not all(isinstance(name, str) for name in names):
        raise WrongTypeError("the data", data, _SERIES)
    return data.to_frame().T


def rows_of(
    data: Any,
    form: Callable[[Any], Rows] = as_rows,
    reading: Reading = _PLAIN,
    see: Callable[[Sequence[str]], None] = lambda columns: None,
    see_array: Callable[[int], None] = lambda width: None,
) -> Rows:
    """Return data that are in memory as Rows, which `form` makes of an array or a matrix.

    Parameters
    ----------
    data : array_like, SciPy sparse matrix, Rows, Dataset, or an object with ``__arrow_c_stream__``
        A Series of pandas is a single row if its index has the names of the features.
    form : callable
    reading : Reading
        Its scaling may name the columns of a table that are features; by default all of them are.
    see : callable
        Called with the columns of a table that are its features.
    see_array : callable
        Called with the number of columns of an array; matrices, Rows and Datasets may be of any width, since
        values that they do not store are zeros.

    Raises
    ------
    WrongTypeError
        The data cannot be read as an array of numbers.
    """
    data = _row_of_series(data)
    if is_table(data):
        from svmfast.formats.tables import from_object

        # Data in memory have no labels, unless the caller gives them separately.
        dataset = from_object(data, replace(reading, unlabelled=True, label=None, features=None))
        if dataset.columns is not None:
            see(dataset.columns)
        return dataset.rows
    rows = getattr(data, "rows", data)
    if isinstance(rows, Rows) and getattr(data, "columns", None) is not None:
        see(data.columns)  # a Dataset of a table
    if not (isinstance(rows, Rows) or is_sparse(rows)):
        try:
            dense = as_floats(rows, "the data")
        except (TypeError, ValueError) as error:
            raise WrongTypeError("the data", data, DATA) from error
        if dense.ndim == 0:
            raise WrongTypeError("the data", data, DATA)
        see_array(dense.shape[-1])
        rows = filled(dense, reading)
    try:
        return form(rows)
    except NotFiniteCellError as error:
        names = reading.names or ()
        if error.column >= len(names):
            raise
        named = names[error.column]
        raise NotFiniteCellError(error.of, error.value, error.row, error.column, named) from error


def filled(dense: FloatArray, reading: Reading) -> FloatArray:
    """Return an array with values in place of nan, where the reading or its model has them."""
    if (reading.missing or getattr(reading.scale, "missing", None)) is None or not np.isnan(dense).any():
        return dense
    values = [np.nan if one is None else one for one in reading.values_for_missing(dense.shape[-1])]
    return np.where(np.isnan(dense), np.array(values), dense)


def checked_labels(
    rows: Rows, labels: ArrayLike, class_names: Mapping[float, str] | None = None
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return labels as float64; names of classes become the labels that `class_names` names.

    Raises
    ------
    OptionError
        There is not one label per row, or one is neither a number nor a name of a class.
    """
    given = as_array(labels, "`labels`")
    if class_names is not None and given.dtype.kind in "OUST":
        given = _named(given, class_names)
    try:
        values = np.ascontiguousarray(as_floats(given, "`labels`"))
    except (TypeError, ValueError) as error:
        raise OptionError(f"`labels`: {error}; expected numbers") from error
    if values.shape != (len(rows),):
        raise OptionError(f"{len(rows)} rows need as many labels, got an array of shape {values.shape}")
    return values


def _named(given: np.ndarray[Any, Any], class_names: Mapping[float, str]) -> np.ndarray[Any, Any]:
    """Return labels, with numbers in place of the names of classes."""
    known = {name: label for label, name in class_names.items()}
    found: np.ndarray[Any, Any] = np.empty(given.size, dtype=object)
    found[:] = [known.get(one, one) for one in given.ravel().tolist()]
    return np.reshape(found, given.shape)
