"""Means of the training rows, in place of missing values."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from svmfast.api.given import is_path, is_table
from svmfast.errors import OptionError
from svmfast.models.scaling import identity
from svmfast.options import Reading
from svmfast.rows import as_floats


def with_means(reading: Reading, given: Any, threads: int) -> Reading:
    """Return `reading` with a scaling that has the means of the rows, which are read once for them.

    Refuse a pipe, LIBSVM's text, a sparse matrix, and a column without a finite mean.
    """
    plain, names = replace(reading, missing="zero"), None
    if is_path(given) or hasattr(given, "readinto"):
        from svmfast.formats.data import is_replayable, stream_data

        if is_path(given) and not is_replayable(given):
            raise OptionError("`missing`: means need a first pass over the rows, which a pipe does not allow")
        with stream_data(given, plain, threads=threads, labels=False) as stream:
            means, names = stream.means(), stream.columns.features  # type: ignore[attr-defined]
    elif is_table(given):
        from svmfast.formats.tables import opened_object

        columns, batches = opened_object(given, replace(plain, unlabelled=True, label=None, features=None))
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
