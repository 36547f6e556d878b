"""Whether data are those of a model: the order of their columns, their width and the scale of rows in memory.

The scale of a stream is checked block by block, by :mod:`svmfast.evaluation.scale_check`.

If a model does not name its features, a column in a different place cannot be found. A remark says so, and
the tables of one run are compared with each other: their feature columns must have the same names in the same
order. The rule is stated in docs/data.md.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from svmfast.display import count, listed
from svmfast.errors import (
    ArrayWidthError,
    DataFormatError,
    NotFiniteError,
    OptionError,
    SvmfastError,
    TableError,
)
from svmfast.formats.data import recognized
from svmfast.models.base import Model
from svmfast.options import Reading
from svmfast.rows import Rows
from svmfast.values import is_uri

#: The name of a table that is not a file, in messages.
IN_MEMORY = "the data"
_HINT, _HINT_IN_MEMORY = "give `features`", "give the columns in that order"


@dataclass(eq=False)
class ColumnOrder:
    """The feature columns of the first table; later tables must have the same."""

    #: None before the first table.
    names: tuple[str, ...] | None = None
    #: The first table.
    of: str = ""

    def refuse(self, path: str, features: Sequence[str], whose: str | None, hint: str) -> None:
        """Raise TableError for a table with other columns; `whose` features have no names."""
        pairs = enumerate(zip_longest(features, self.names or ()), 1)
        place, here, there = next((n, here, there) for n, (here, there) in pairs if here != there)
        here, there = ("absent" if name is None else f"'{name}'" for name in (here, there))
        what = f"its columns differ from those of {self.of}: feature {place} is {here}, there {there}"
        if whose:
            what += f"; {whose} does not name its features"
        raise TableError(path, None, what, None, hint)


@dataclass(eq=False)
class DataCheck:
    """Compares data with the model that they are for.

    Of LIBSVM's text only the scale is compared, and the width if it is dense. Without a model, for training,
    only the columns of several tables are compared with each other.
    """

    #: The model, for scaled rows.
    model: Model | None
    #: The format of the rows, with the scaling that they get.
    reading: Reading
    #: Gets remarks and warnings: a Listener, or the Setting of a run.
    heard: Any
    order: ColumnOrder = field(default_factory=ColumnOrder)

    def columns(self, name: str, columns: Sequence[str] | None, *, in_memory: bool = False) -> None:
        """Compare the feature columns of a table, in their order, with those of the first one.

        They are None for LIBSVM's text, which has no columns. A table `in_memory` is a DataFrame, which has
        no reading options. A remark on the first table tells that the model does not name its features.
        """
        reading, model, order = self.reading, self.model, self.order
        if columns is None or reading.features is not None or reading.names is not None:
            return
        features = tuple(columns)
        if model is not None and reading.scale is None and len(features) < model.n_features:
            return  # refused for that, and no example for others
        whose = "the model" if model is not None else None if reading.scale is None else "the scaling"
        if order.names is None:
            order.names, order.of = features, name
            if whose and any(name != str(number) for number, name in enumerate(features, 1)):
                self.heard.note(
                    f"{name}: {whose} does not name its features, so the columns are taken in their order"
                )
        elif features != order.names:
            order.refuse(name, features, whose, _HINT_IN_MEMORY if in_memory else _HINT)

    def find_first(self, paths: Iterable[str], keep: Sequence[str] = ()) -> None:
        """Find the first table among files, with which the others must agree; no rows are read."""
        from svmfast.formats.tables import TableStream

        if self.reading.features is not None or self.reading.names is not None:
            return
        for path in paths:
            if self.order.names is not None:
                return
            try:
                if not (is_uri(path) or stat.S_ISREG(os.stat(path).st_mode)):
                    continue
                opened, kind = recognized(path, self.reading)
                with opened if kind is None else TableStream(opened, kind, self.reading, keep=keep) as stream:
                    if isinstance(stream, TableStream):
                        self.columns(path, stream.columns.features)
            except OptionError:
                raise
            except (SvmfastError, OSError):
                continue  # reported when the file is predicted

    def width(self, name: str, rows: Rows, columns: Sequence[str] | None = None) -> None:
        """Refuse a table that lacks features of the model; warn about more (`dense`, or with `columns`).

        A row of a table has a value for every feature. A row with fewer values than the model has features
        does not come from the model's problem: perhaps a label was read as a feature, or the reverse.
        """
        model, reading = self.model, self.reading
        if model is None or reading.scale is not None:
            return  # the reader compares the rows with the width of a scaling
        wanted = model.n_features
        if columns is not None and len(columns) != wanted:
            what = f"{count(len(columns), 'column')} of features"
            if len(columns) < wanted:
                raise TableError(name, None, what, None, f"the model has {wanted} features")
            self.heard.warn(
                f"{name}: {what}, the model has {wanted} features, and {listed(columns[wanted:])} beyond "
                "them; name the features with `features`, or the other columns with `label` or `keep`"
            )
        found, labelled = rows.n_columns, not reading.unlabelled
        if not reading.dense or found == wanted:
            return
        what = f"{found} values {'after the label' if labelled else 'in a row'}"
        if found < wanted:
            other = "; as many as features with `unlabelled`" if labelled and found + 1 == wanted else ""
            raise DataFormatError(name, None, what, None, f"the model has {wanted} features{other}")
        text = f"{name}: {what}, the model has {wanted} features"
        if found == wanted + 1 and not labelled:
            text += "; as many as features after a label, without `unlabelled`"
        self.heard.warn(text)

    def array(self, width: int) -> None:
        """Refuse an array with fewer columns than the model has features; warn about more.

        The text of a LIBSVM model and a range file only have the largest index that occurs. Further columns
        count as features that are 0 in all support vectors; a range file drops them. If features are named or
        were scaled by offset and factor, their number is known, and more columns are refused as well.
        """
        if self.model is None:
            return
        scaling = self.reading.scale
        known = max(self.model.n_features, 0 if scaling is None else len(scaling))
        if scaling is not None and (scaling.feature_names is not None or scaling.ranges is None):
            if width != known:
                raise ArrayWidthError(width, f"{known}, the number of the model's features")
        elif width < known:
            raise ArrayWidthError(width, f"at least {known}, the number of the model's features")
        if width > known:
            self.heard.warn(f"the data have {width} columns, the model has {known} features")

    def scale(self, name: str, rows: Rows) -> bool:
        """Warn if the first rows, as read, differ in scale from the model's; return whether they do.

        These rows are held; a reader of blocks gives each of them to a ScaleCheck.
        """
        from svmfast.evaluation.scale_check import MOST_ROWS, ScaleCheck

        if self.model is None:
            return False
        scaling = self.reading.scale
        check = ScaleCheck(self.model, scaled=scaling is not None)
        with suppress(NotFiniteError):  # it is an error where all rows are scaled
            for few in [rows] if scaling is None else scaling.parts(rows[:MOST_ROWS]):
                check.add(few)
        verdict = check.verdict()
        if verdict is not None:
            self.heard.warn(f"{name}: {verdict}")
        return verdict is not None
