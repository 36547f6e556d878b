"""A model, rows or labels that are given as a path or as an object, one at a time, for every command.

Only :func:`model_of` knows estimators, and only :func:`data_of` knows tables, queries, matrices and arrays.

:func:`with_scaling_of` finds the scaling that applies to all rows: that of the options or of the models.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from svmfast.display import shown
from svmfast.errors import ArrayWidthError, OptionError, WrongTypeError
from svmfast.formats.model_files import LoadedModel, open_model
from svmfast.models.base import Model
from svmfast.models.memory import MEMORY, require_memory
from svmfast.models.scaling import Scaling
from svmfast.options import PLAIN, Reading
from svmfast.rows import FloatArray, Rows, as_array, as_floats, as_rows
from svmfast.sparse import is_sparse
from svmfast.values import is_path

#: The types accepted for a model and for data.
MODEL = "a model, or the path of one"
DATA = "an array of numbers, a SciPy sparse matrix, Rows, a Dataset, a DataFrame, or the path of data"


def open_noted_model(source: Any, note: Callable[[str], None], *, memory: int = MEMORY) -> LoadedModel:
    """Read a model of any kind, in at most `memory` bytes; `note` receives its reader's remarks."""
    opened = open_model(source, memory=memory)
    for text in opened.warnings:
        note(text)
    return opened


def model_of(
    given: Any, name: str, note: Callable[[str], None], memory: int
) -> tuple[Model, LoadedModel | None]:
    """A model given as a path, an object or a fitted estimator, called `name` in messages, and its file."""
    if is_path(given):
        opened = open_noted_model(given, note, memory=memory)
        return opened.model, opened
    if hasattr(given, "get_params"):
        from svmfast.importers.estimators import model_of as model_of_estimator

        given = model_of_estimator(given)
    if not hasattr(given, "decision_values"):
        raise WrongTypeError(name, given, MODEL)
    require_memory(given, memory)
    return given, None


def paths_of(given: Any, *, several: bool) -> Sequence[Any] | None:
    """The paths of files that are given, or None for rows in memory."""
    if is_path(given):
        return [given]
    listed = several and isinstance(given, list | tuple) and given
    return given if listed and all(map(is_path, given)) else None


def named_models(models: Mapping[str, Any] | Iterable[Any]) -> list[tuple[str, Any]]:
    """Models with their names: paths have their own, the first object is exact, others have numbers."""
    if isinstance(models, Mapping):
        return list(models.items())
    if is_path(models) or not isinstance(models, Iterable):
        raise WrongTypeError("`models`", models, "a sequence of models, or a mapping of names to models")
    names = ((f"model {number}" if number else "exact") for number in count())
    return [(os.fspath(one) if is_path(one) else name, one) for name, one in zip(names, models, strict=False)]


def with_scaling_of(
    reading: Reading, models: Iterable[tuple[str, Model]], *, memory: int = MEMORY
) -> Reading:
    """The reading with the scaling that applies to all rows: its own, or that of the models.

    The models come with their names in messages; one without a scaling expects scaled rows. Two scalings, or
    the names of two models, must not differ.
    """
    if is_path(reading.scale):
        from svmfast.formats.dataset import load_scaling

        reading = load_scaling(reading, memory)
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
    """The scaling with the names of `named` that it lacks; both are the same map."""
    for group in (
        ("feature_names",),
        ("class_names", "class_labels", "boolean_classes"),
        ("label_column",),
        ("missing",),
    ):
        if getattr(scaling, group[0]) is None:
            scaling = replace(scaling, **{name: getattr(named, name) for name in group})
    return scaling


def is_table(data: Any) -> bool:
    """Whether data are named columns: through Arrow's C interface, or those of a query or pyarrow's Dataset.

    Without pyarrow a table that NumPy can read is treated as an array.
    """
    if hasattr(data, "collect_schema") or hasattr(data, "scanner") or hasattr(data, "projected_schema"):
        return True
    if not (hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__")):
        return False
    from importlib.util import find_spec

    return find_spec("pyarrow") is not None or not hasattr(data, "__array__")


def rows_of(
    data: Any,
    form: Callable[[Any], Rows] = as_rows,
    reading: Reading = PLAIN,
    see: Callable[[Sequence[str]], None] = lambda columns: None,
    see_array: Callable[[int], None] = lambda width: None,
) -> Rows:
    """Data that are in memory as Rows, without their labels; see :func:`data_of`."""
    return data_of(data, form, reading, see, see_array)[0]


def data_of(
    data: Any,
    form: Callable[[Any], Rows] = as_rows,
    reading: Reading = PLAIN,
    see: Callable[[Sequence[str]], None] = lambda columns: None,
    see_array: Callable[[int], None] = lambda width: None,
    *,
    labels: Any = None,
    labelled: bool = False,
    classes: Any = None,
) -> tuple[Rows, Any]:
    """Data that are in memory as Rows, and their labels or None.

    Parameters
    ----------
    data : array_like, SciPy sparse matrix, Rows, Dataset, or a table
        A table is an object with ``__arrow_c_stream__``, a query of polars (LazyFrame), a Dataset or Scanner
        of pyarrow. It is read as a file is, except that it may lack labels. A Series is refused.
    form : callable
        Makes Rows of an array or a matrix.
    reading : Reading
        It, or its scaling, may name the columns of a table; by default all but the label are features.
    see : callable
        Called with the columns of a table that are its features.
    see_array : callable
        Called with the number of columns of an array; matrices, Rows and Datasets may be of any width, since
        values that they do not store are zeros.
    labels : array_like, optional
        Labels that are given separately. No column of a table is the label then.
    labelled : bool
        Whether labels are used; otherwise those of a table are not read.
    classes : TrainingClasses, optional
        Accepts names of classes as the labels of a table; the labels are then provisional.

    Raises
    ------
    WrongTypeError
        The data cannot be read as an array of numbers.
    OptionError
        Labels are given twice, or the reading is for files or tables, which the data are not.
    """
    check_in_memory(reading)
    if hasattr(data, "to_frame") and len(getattr(data, "shape", ())) == 1:
        raise WrongTypeError("the data", data, DATA)  # a Series may be a column, or a row in any order
    if is_table(data):
        return _of_table(data, reading, see, labels, labelled, classes)
    for one in data if isinstance(data, list | tuple) else ():
        if is_table(one) or hasattr(one, "to_frame"):
            raise WrongTypeError("an item of the data", one, f"numbers; the data may be {DATA}")
    for name in ("label", "features", "exclude"):
        if getattr(reading, name) is not None:
            raise OptionError(f"`{name}` names columns of a table, but the data have no named columns")
    if labels is None and labelled:
        labels = getattr(data, "labels", None)
    rows = getattr(data, "rows", data)
    encoding = getattr(reading.scale, "encoding", None)
    if encoding is not None and not (isinstance(rows, Rows) or is_sparse(rows)):
        return _of_table(_as_table(rows, encoding.columns), reading, see, labels, labelled, classes)
    if isinstance(rows, Rows) and getattr(data, "columns", None) is not None:
        see(data.columns)  # a Dataset of a table
    if not (isinstance(rows, Rows) or is_sparse(rows)):
        try:
            dense = as_floats(rows, "the data")
        except (TypeError, ValueError, OverflowError) as error:
            raise WrongTypeError("the data", data, DATA) from error
        if dense.ndim == 0:
            raise WrongTypeError("the data", data, DATA)
        see_array(dense.shape[-1])
        rows = filled(dense, reading)
    return form(rows), labels


def check_in_memory(reading: Reading) -> None:
    """Raise OptionError for a reading of files."""
    for name in ("zero_based", "dense"):
        if getattr(reading, name):
            raise OptionError(f"`{name}` is for LIBSVM's text, but the data are in memory")


def _of_table(
    data: Any,
    reading: Reading,
    see: Callable[[Sequence[str]], None],
    labels: Any,
    labelled: bool,
    classes: Any,
) -> tuple[Rows, Any]:
    from svmfast.formats.table_columns import label_of
    from svmfast.formats.tables import from_object

    how = reading
    if labels is not None:
        if reading.label is not None:
            raise OptionError("`label` and `labels` exclude each other")
        how = replace(reading, unlabelled=True)
    dataset, has_labels = from_object(data, how, labels=labelled, classes=classes)
    columns = dataset.columns or ()
    label = label_of(columns, reading)
    if labels is not None and label in columns and label not in (reading.features or reading.names or ()):
        raise OptionError(f"labels are given, and the data have a column '{label}' too; `exclude` it")
    see(columns)
    return dataset.rows, dataset.labels if has_labels and labelled else labels


def _as_table(data: Any, names: Sequence[str]) -> Any:
    """An array, whose columns may hold words, as a table with these names of columns."""
    from svmfast.formats._arrow import pyarrow

    pa = pyarrow()
    array = np.atleast_2d(data if isinstance(data, np.ndarray) else np.array(data, dtype=object))
    if array.shape[1:] != (len(names),):
        raise ArrayWidthError(array.shape[-1], f"{len(names)}, the number of the model's columns")
    try:
        columns = [pa.array(one.tolist() if array.dtype == object else one) for one in array.T]
    except pa.ArrowException as error:
        raise WrongTypeError("the data", data, "an array whose columns hold numbers or words") from error
    return pa.record_batch(columns, names=list(names))


def filled(dense: FloatArray, reading: Reading) -> FloatArray:
    """An array with values in place of nan, where the reading or its model has them."""
    if (reading.missing or getattr(reading.scale, "missing", None)) is None or not np.isnan(dense).any():
        return dense
    values = [np.nan if one is None else one for one in reading.values_for_missing(dense.shape[-1])]
    return np.where(np.isnan(dense), np.array(values), dense)


def checked_labels(
    rows: Rows, labels: ArrayLike, class_names: Mapping[float, str] | None = None
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Labels as float64; names of classes become the labels that `class_names` names."""
    given = as_array(labels, "`labels`")
    if class_names is not None and given.dtype.kind in "OUST":
        known = {name: label for label, name in class_names.items()}
        found: np.ndarray[Any, Any] = np.empty(given.size, dtype=object)
        found[:] = [known.get(one, one) for one in given.ravel().tolist()]
        given = np.reshape(found, given.shape)
    try:
        values = np.ascontiguousarray(as_floats(given, "`labels`"))
    except (TypeError, ValueError, OverflowError) as error:
        raise OptionError(f"`labels`: {error}; expected numbers") from error
    if values.shape != (len(rows),):
        raise OptionError(f"{len(rows)} rows need as many labels, got an array of shape {values.shape}")
    return values
