"""Features found by the position of their columns, for tables and a model that does not name its features.

With such a model a column in another position cannot be recognized. The tables of one run are therefore
compared with each other: their feature columns must have the same names in the same order.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from svmfast.display import shell_line
from svmfast.errors import ColumnOrderError, OptionError, SvmfastError
from svmfast.options import Reading

if TYPE_CHECKING:
    from svmfast.api.predictor import Predictor

_HINT = "give `features`"
_WORDS = ("svmfast", "export", "MODEL", "--to", "libsvm", "--feature-names", "NAMES", "-o", "NAMED")
_EXPORT = f", or name them in the model ({shell_line(_WORDS)})"
_EARLIER = "an earlier run wrote outputs by the order of {}; `overwrite` starts anew"


class ColumnOrder:
    """The feature columns of the first table; later tables must have the same.

    Parameters
    ----------
    names : sequence of str, optional
        Column names of a table that an earlier run read.
    of : str
        Name of that table.
    on_first : callable, optional
        Called with the names and the path of the first table.

    Attributes
    ----------
    names : tuple of str or None
        None before the first table.
    """

    def __init__(
        self,
        names: Sequence[str] | None = None,
        of: str = "",
        on_first: Callable[[Sequence[str], str], None] | None = None,
    ) -> None:
        self.names = None if names is None else tuple(names)
        self._of, self._earlier, self._on_first = of, names is not None, on_first

    def check(self, path: str, columns: Any, reading: Reading, predictor: Predictor) -> None:
        """Compare a table with the first one; if there is none yet, this one becomes the first.

        Parameters
        ----------
        path : str
        columns : svmfast.formats._columns.Columns
        reading : Reading
            With the predictor's scaling.
        predictor : Predictor
            Its listener receives a remark on the first table if that has column names.

        Raises
        ------
        ColumnOrderError
        """
        features = columns.features
        if reading.features is not None or predictor.feature_names is not None:
            return
        if reading.scale is None and len(features) < predictor.model.n_features:
            return  # the width check refuses it, and it sets no order for other tables
        if self.names is None:
            self.names, self._of = features, path
            if any(name != str(number) for number, name in enumerate(features, 1)):
                predictor.listener.note(
                    f"{path}: the model does not name its features, so the columns are taken in their order"
                )
            if self._on_first is not None:
                self._on_first(features, path)
        elif features != self.names:
            from svmfast.models.expansion import KernelExpansion

            self._refuse(path, features, can_be_named=isinstance(predictor.model, KernelExpansion))

    def _refuse(self, path: str, features: Sequence[str], *, can_be_named: bool) -> None:
        wanted = self.names or ()
        known, found = {*wanted}, {*features}
        missing = [f"there is no '{name}'" for name in wanted if name not in found]
        more = [f"'{name}' is not among them" for name in features if name not in known]
        what = f"its columns are those of {self._of} in another order"
        if missing or more:
            what = f"its columns are not those of {self._of}: {(missing + more)[0]}"
        what += ", and the model does not name its features"
        hint = _HINT + (_EXPORT if can_be_named else "")
        if self._earlier:
            hint += f" ({_EARLIER.format(self._of)})"
        raise ColumnOrderError(path, None, what, None, hint)

    def key(self, settings: str) -> str:
        """Return a hash of these names and a run's settings."""
        return hashlib.sha256(repr((settings, self.names)).encode()).hexdigest()

    def find_first(
        self, paths: Iterable[str], reading: Reading, keep: Sequence[str], predictor: Predictor
    ) -> None:
        """Find the first table among files before they are distributed; no rows are read."""
        from svmfast.formats.data import recognized
        from svmfast.formats.tables import TableStream

        if reading.features is not None or predictor.feature_names is not None:
            return
        how = replace(reading, scale=predictor.scaling)
        for path in paths:
            if self.names is not None:
                return
            try:
                if not stat.S_ISREG(os.stat(path).st_mode):
                    continue
                opened, kind = recognized(path, how)
                if kind is not None:
                    with TableStream(opened, kind, how, keep=keep) as stream:
                        self.check(path, stream.columns, how, predictor)
                elif opened is not path:
                    opened.close()
            except OptionError:
                raise
            except (SvmfastError, OSError):
                continue  # reported when the file is predicted

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_on_first": None}
