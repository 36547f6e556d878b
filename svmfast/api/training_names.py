"""The names of columns and classes of a table that a model is trained on, which the model keeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from svmfast.errors import OptionError
from svmfast.formats.classes import TrainingClasses
from svmfast.formats.table_columns import LABEL
from svmfast.methods.method import Method
from svmfast.models.scaling import Scaling, identity
from svmfast.options import Reading
from svmfast.rows import FloatArray, as_array


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
        # Kernel values have no columns that could be scaled or named.
        self._keeps = trains and not converts and not getattr(options, "precomputed", False)
        self._names_classes = self._keeps and getattr(options, "is_classifier", False)
        self._columns: tuple[str, ...] | None = None
        self._done = False
        self._label, self._missing = reading.label_column, reading.missing
        # Labels that are ignored are read all the same.
        ignored = trains and (converts or getattr(options, "ignores_labels", False))
        takes = (self._names_classes or ignored) and reading.class_names is None
        takes = takes and getattr(reading.scale, "target", None) is None  # scales labels, which are numbers
        self.classes = TrainingClasses() if takes else None

    @property
    def keeps(self) -> bool:
        """Whether the model gets the names: it is trained, not converted."""
        return self._keeps

    def see(self, columns: Sequence[str] | None) -> None:
        """Take the columns of features of the first table that is read, unless they are numbered."""
        if self._done:
            return
        self._done = True
        if columns is not None and not all(name.isdecimal() for name in columns):
            self._columns = tuple(columns)

    def labels(self, given: ArrayLike) -> FloatArray:
        """Return the labels of the training rows, in memory, as numbers: provisional ones of names.

        Raises
        ------
        OptionError
            Some are numbers and others are not, or some are neither numbers nor strings.
        """
        assert self.classes is not None
        values = as_array(given, "`labels`")
        if values.dtype.kind not in "OUST" or values.ndim != 1:
            return np.ascontiguousarray(values, dtype=np.float64)
        for one in values if values.dtype.kind in "OS" else ():
            if not isinstance(one, str | Real | np.bool_):
                raise OptionError(
                    f"`labels` holds an object of type {type(one).__name__}; expected numbers or strings"
                )
        found, bad = self.classes.of_objects(values.tolist())
        if bad is None:
            return found
        other = "names" if self.classes.sort == "numbers" else "numbers"
        raise OptionError(
            f"`labels`: {values[bad]!r} in row {bad + 1} is not one of the {self.classes.sort} that begin "
            f"the labels; expected only {self.classes.sort}, or only {other}"
        )

    @property
    def of_classes(self) -> dict[float, str] | None:
        """The name of each label, if the labels of the training rows are names."""
        names = None if self.classes is None or not self._names_classes else self.classes.names
        return None if names is None else {float(label): name for label, name in enumerate(names)}

    def on(self, scaling: Scaling | None, width: int) -> Scaling | None:
        """Return the scaling of `width` columns with these names; None if there is neither."""
        classes = self.of_classes
        columns = self._columns if self._keeps else None
        if scaling is not None and columns is not None:
            others = len(columns) - len(scaling)
            # The scaling's own names have already found the columns. One that clips cannot get more columns.
            if scaling.feature_names is not None or others < 0 or (others and scaling.clip is not None):
                columns = None
        fills = self._keeps and self._missing == "zero"
        if scaling is None and columns is None and classes is None and not fills:
            return None
        if scaling is None:
            scaling = identity(width if columns is None else len(columns))
        if columns is not None:
            scaling = scaling.naming(columns)
        if fills:
            scaling = replace(scaling, missing=np.zeros(width))
        if self._keeps and self._label is not None and not self._label.isdecimal():
            scaling = replace(scaling, label_column=None if self._label == LABEL else self._label)
        if classes is not None:
            scaling = replace(scaling, class_names=tuple(classes.values()), class_labels=tuple(classes))
        return scaling
