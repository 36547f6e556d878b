"""Features by the position of their columns: tables of a run in which nothing names the features.

If a model does not name its features, a column in a different place cannot be found. A remark says so, and
the tables of one run are compared with each other: their feature columns must have the same names in the same
order. The rule is stated in docs/tables.md.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from svmfast.display import shell_line
from svmfast.errors import OptionError, SvmfastError, TableError
from svmfast.options import Reading

if TYPE_CHECKING:
    from svmfast.api.predictor import Predictor
    from svmfast.models.base import Model

#: The name of a table that is not a file, in messages.
IN_MEMORY = "the data"
_HINT, _HINT_IN_MEMORY = "give `features`", "give the columns in that order"
_WORDS = ("svmfast", "export", "MODEL", "--to", "libsvm", "--feature-names", "NAMES", "-o", "NAMED")
_EXPORT = f", or name them in the model ({shell_line(_WORDS)})"
_EARLIER = "an earlier run wrote outputs by the order of {}; `overwrite` starts over"


class ColumnOrder:
    """The feature columns of the first table; later tables must have the same.

    `names` are the columns of a table `of` that an earlier run read, None before the first table; `on_first`
    is called with the names and the path of the first table.
    """

    def __init__(
        self,
        names: Sequence[str] | None = None,
        of: str = "",
        on_first: Callable[[Sequence[str], str], None] | None = None,
    ) -> None:
        self.names = None if names is None else tuple(names)
        self._of, self._earlier, self._on_first = of, names is not None, on_first

    def check(
        self,
        path: str,
        features: Sequence[str] | None,
        reading: Reading,
        note: Callable[[str], None],
        model: Model | None = None,
        *,
        in_memory: bool = False,
    ) -> None:
        """Compare a table with the first one; if there is none yet, this becomes it.

        `features` are the names of its feature columns in their order, None for LIBSVM's text, which has no
        columns. `reading` has the scaling of the rows, whose names find the columns. `note` receives a remark
        on the first table if it has names but the model's features have none. Without a `model`, for
        training, the first table decides which feature is which. A table `in_memory` is a DataFrame, which
        has no reading options.
        """
        if features is None or reading.features is not None or reading.names is not None:
            return
        features = tuple(features)
        if model is not None and reading.scale is None and len(features) < model.n_features:
            return  # refused for that, and no example for others
        whose = "the model" if model is not None else None if reading.scale is None else "the scaling"
        if self.names is None:
            self.names, self._of = features, path
            if whose and any(name != str(number) for number, name in enumerate(features, 1)):
                note(f"{path}: {whose} does not name its features, so the columns are taken in their order")
            if self._on_first is not None:
                self._on_first(features, path)
        elif features != self.names:
            hint = _HINT_IN_MEMORY if in_memory else _HINT
            is_libsvms = model is not None and model.expansion is not None
            self._refuse(path, features, whose, hint + _EXPORT * is_libsvms)

    def _refuse(self, path: str, features: Sequence[str], whose: str | None, hint: str) -> None:
        wanted = self.names or ()
        known, found = {*wanted}, {*features}
        missing = [f"there is no '{name}'" for name in wanted if name not in found]
        more = [f"'{name}' is not among them" for name in features if name not in known]
        if missing or more:
            what = f"its columns differ from those of {self._of}: {(missing + more)[0]}"
        else:
            pairs = enumerate(zip(features, wanted, strict=True), 1)
            place, here, there = next((n, here, there) for n, (here, there) in pairs if here != there)
            what = f"its columns are those of {self._of} in another order: feature {place} is '{here}', "
            what += f"there '{there}'"
        if whose:
            what += f"; {whose} does not name its features"
        if self._earlier:
            hint += f" ({_EARLIER.format(self._of)})"
        raise TableError(path, None, what, None, hint)

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
                with opened if kind is None else TableStream(opened, kind, how, keep=keep) as stream:
                    if isinstance(stream, TableStream):
                        features = stream.columns.features
                        self.check(path, features, how, predictor.listener.note, predictor.model)
            except OptionError:
                raise
            except (SvmfastError, OSError):
                continue  # reported when the file is predicted

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_on_first": None}
