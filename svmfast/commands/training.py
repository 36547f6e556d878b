"""What a run takes from the rows that it trains on: names of columns and classes, class weights, means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from svmfast.commands.given import is_table, paths_of
from svmfast.errors import OptionError, WrongTypeError
from svmfast.formats.classes import TrainingClasses
from svmfast.formats.table_columns import LABEL
from svmfast.methods.method import GivenRows, GivenStream, Method
from svmfast.models.scaling import Scaling, identity
from svmfast.options import Reading
from svmfast.rows import FloatArray, as_array, as_floats
from svmfast.values import BALANCED, is_path


class TrainingNames:
    """The names that a run reads from its training rows.

    Columns are named if the rows are a table with a header, classes if its labels are words. A run that
    converts a model takes both from that model. `reading` has the scaling of the run's models, which may have
    names of classes. `classes` is None if labels are numbers: of regression, or of a model whose classes have
    names.
    """

    def __init__(self, method: Method, given: Mapping[str, Any], options: Any, reading: Reading) -> None:
        converts = any(one.content != "rows" and given.get(one.name) is not None for one in method.inputs)
        trains = method.group == "train"
        #: Whether the model gets the names: it is trained, not converted. Kernel values have no columns.
        self.keeps = trains and not converts and not getattr(options, "precomputed", False)
        self._names_classes = self.keeps and getattr(options, "is_classifier", False)
        self._columns: tuple[str, ...] | None = None
        self._done = False
        self._reading = reading
        # Labels that are ignored are read all the same.
        ignored = trains and (converts or getattr(options, "ignores_labels", False))
        takes = (self._names_classes or ignored) and reading.class_names is None
        takes = takes and getattr(reading.scale, "target", None) is None  # scales labels, which are numbers
        self.classes = TrainingClasses() if takes else None

    def see(self, columns: Sequence[str] | None) -> None:
        """Take the columns of features of the first table that is read, unless they are numbered."""
        if not self._done and columns is not None and not all(name.isdecimal() for name in columns):
            self._columns = tuple(columns)
        self._done = True

    @property
    def of_classes(self) -> dict[float, str] | None:
        """The name of each label, if the labels of the training rows are names."""
        names = None if self.classes is None or not self._names_classes else self.classes.names
        return None if names is None else {float(label): name for label, name in enumerate(names)}

    def on(self, scaling: Scaling | None, width: int) -> Scaling | None:
        """The scaling of `width` columns with these names; None if there is neither."""
        classes = self.of_classes
        columns = self._columns if self.keeps else None
        if scaling is not None and columns is not None:
            others = len(columns) - len(scaling)
            # The scaling's own names have already found the columns. One that clips cannot get more columns.
            if scaling.feature_names is not None or others < 0 or (others and scaling.clip is not None):
                columns = None
        fills = self.keeps and self._reading.missing == "zero"
        if scaling is None and columns is None and classes is None and not fills:
            return None
        if scaling is None:
            scaling = identity(width if columns is None else len(columns))
        if columns is not None:
            scaling = scaling.widened(len(columns), columns)
        if fills:
            scaling = replace(scaling, missing=np.zeros(width))
        label = self._reading.label_column
        if self.keeps and label is not None and not label.isdecimal():
            scaling = replace(scaling, label_column=None if label == LABEL else label)
        if classes is not None:
            scaling = replace(scaling, class_names=tuple(classes.values()), class_labels=tuple(classes))
        return scaling


def training_labels(given: ArrayLike, classes: TrainingClasses) -> FloatArray:
    """The labels of training rows in memory as numbers: provisional ones of names, which `classes` gets."""
    values = as_array(given, "`labels`")
    if values.dtype.kind not in "OUST" or values.ndim != 1:
        try:
            return np.ascontiguousarray(values, dtype=np.float64)
        except (TypeError, ValueError):
            raise WrongTypeError("`labels`", given, "an array of numbers or strings") from None
    for one in values if values.dtype.kind in "OS" else ():
        if not isinstance(one, str | Real | np.bool_):
            raise OptionError(
                f"`labels` holds an object of type {type(one).__name__}; expected numbers or strings"
            )
    found, bad = classes.of_objects(values.tolist())
    if bad is None:
        return found
    other, word = "names" if classes.sort == "numbers" else "numbers", values.tolist()[bad]
    raise OptionError(
        f"`labels`: {word!r} in row {bad + 1} is not one of the {classes.sort} that begin "
        f"the labels; expected only {classes.sort}, or only {other}"
    )


def with_balanced_weights(options: Any, method: Method, inputs: Mapping[str, Any]) -> Any:
    """The options of a method with the class weights ``balanced`` as numbers.

    The weight of a class with m of n rows is n / (k m), for k classes, as in scikit-learn.
    """
    if getattr(options, "weights", ()) != BALANCED:
        return options
    counts = _counts(inputs[next(one.name for one in method.inputs if one.content == "rows")])
    n, k = sum(counts.values()), len(counts)
    balanced = tuple((label, n / (k * count)) for label, count in sorted(counts.items()))
    return replace(options, weights=balanced)


def _counts(data: GivenRows | GivenStream) -> dict[int, int]:
    """The number of rows of each label; LIBSVM truncates labels to integers."""
    if isinstance(data, GivenStream):
        values, counts = np.array(data.source.labels.values), np.array(data.source.labels.counts)
    else:
        values, counts = np.unique(np.zeros(0) if data.labels is None else data.labels, return_counts=True)
    found: dict[int, int] = {}
    for value, count in zip(values.tolist(), counts.tolist(), strict=True):
        found[int(value)] = found.get(int(value), 0) + count
    return found


def with_means(reading: Reading, given: Any, threads: int, labels: Any = None) -> Reading:
    """Return `reading` with a scaling that has the means of the rows, which are read once for them.

    Refuse a pipe, LIBSVM's text, a sparse matrix, and a column without a finite mean.
    """
    plain, names = replace(reading, missing="zero"), None
    paths = paths_of(given, several=True) or [given]
    if len(paths) > 1:  # their sums would depend on how the rows are divided into files
        raise OptionError(
            "`missing`: means are those of one file; give zero, or `scale` with a model that has them"
        )
    given = paths[0]
    if is_path(given) or hasattr(given, "readinto"):
        from svmfast.formats.data import is_replayable, stream_data

        if is_path(given) and not is_replayable(given):
            raise OptionError("`missing`: means need a first pass over the rows, which a pipe does not allow")
        with stream_data(given, plain, threads=threads, labels=False) as stream:
            means, names = stream.means(), stream.columns.features  # type: ignore[attr-defined]
    elif is_table(given):
        from svmfast.formats.tables import opened_object

        if hasattr(given, "read_next_batch"):
            raise OptionError("`missing`: means need a first pass over the rows, and a reader has one")
        if labels is not None:
            plain = replace(plain, unlabelled=True)
        columns, batches = opened_object(given, plain, labels=False)
        means, names = columns.means(batches), columns.features
    else:
        means = _of_array(given)
    scaling = reading.scale
    if scaling is None:
        named = names is not None and not all(name.isdecimal() for name in names)
        scaling = replace(identity(len(means)), feature_names=names if named else None)
    return replace(reading, scale=replace(scaling, missing=means))


def _of_array(given: Any) -> Any:
    try:
        dense = as_floats(given, "the data")
    except (TypeError, ValueError):
        dense = np.zeros(0)
    if dense.ndim != 2:
        raise OptionError("`missing`: means are those of a table or a dense array")
    absent = np.isnan(dense)
    with np.errstate(invalid="ignore"):
        means = np.where(absent, 0, dense).sum(axis=0) / (~absent).sum(axis=0)
    bad = np.flatnonzero(~np.isfinite(means))
    if len(bad):
        raise OptionError(f"`missing`: column {bad[0] + 1:,} has no mean of finite numbers")
    return means
