"""``compare`` from Python: compare models with the exact one on the same rows."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from svmfast.api.fit import IN_MEMORY, Fit
from svmfast.api.functions import takes
from svmfast.api.given import checked_labels, is_path, model_of, rows_of, with_scaling_of
from svmfast.commands.compare import CompareOptions
from svmfast.errors import OptionError
from svmfast.evaluation.benchmark import ComparedModel
from svmfast.evaluation.comparison import Comparison
from svmfast.evaluation.comparison import compare as compare_models
from svmfast.formats.data import read_data
from svmfast.formats.dataset import naming_file
from svmfast.options import Reading, made
from svmfast.progress import Listener
from svmfast.rows import FloatArray, Rows
from svmfast.threads import thread_count

if TYPE_CHECKING:
    from svmfast.models.base import Model

__all__ = ["Comparison", "compare"]


@takes(CompareOptions)
def compare(
    models: Mapping[str, Model | str | os.PathLike[str]] | Sequence[str | os.PathLike[str]],
    data: Any,
    labels: ArrayLike | None = None,
    *,
    threads: int | None = None,
    reading: Reading | None = None,
    listener: Listener | None = None,
    **options: Any,
) -> Comparison:
    """Compare models with the exact model, which comes first, on the same rows.

    Parameters
    ----------
    models : mapping of name to Model or path, or sequence of paths
        The exact model first.
    data : (n, d) array_like, SciPy sparse matrix, Rows, Dataset or path
    labels : (n,) array_like, optional
        True labels or values; a Dataset has its own. Without them no accuracy or error is reported.
    {options}

    Returns
    -------
    Comparison

    Raises
    ------
    UnsupportedError
        The models differ in labels or type, or there are no rows.
    OptionError
        There are no models, or the numbers of labels and rows differ.
    """
    asked = made(CompareOptions, options)
    listener, cores = listener or Listener(), thread_count(threads)
    named = list(models.items() if isinstance(models, Mapping) else ((os.fspath(p), p) for p in models))
    if not named:
        raise OptionError("there is no model to compare")
    compared = [_compared(name, one, asked.memory, listener) for name, one in named]
    carriers = [(one.path, one.model) for one in compared]
    reading = with_scaling_of(reading or Reading(), carriers, memory=asked.memory)
    if reading.scale is not None:
        compared = [_behind_scaling(one) for one in compared]
    fits = [Fit(one.model, reading, listener) for one in compared]
    path = os.fspath(data) if is_path(data) else getattr(data, "path", None) or None
    if is_path(data):
        data = read_data(data, reading.as_read, threads=cores, memory=asked.memory)
    columns: list[Sequence[str]] = []
    rows = rows_of(data, reading=reading, see=columns.append, see_array=fits[0].array)
    targets = _targets(data, labels, rows, reading)
    scaling = reading.scale
    name = path or IN_MEMORY
    features = columns[0] if columns else None
    fits[0].columns(name, features)
    fits[0].scale(name, rows)
    for fit in fits:
        fit.width(name, rows, features)
    labels_of, names = compared[0].model.head.labels, None
    if scaling is not None:
        names = scaling.for_labels(None if labels_of is None else labels_of.tolist()).names_of_labels
    with naming_file(path) if path else nullcontext():
        return compare_models(
            compared,
            rows,
            targets,
            scaling=scaling,
            threads=cores,
            repeats=asked.repeats,
            data_path=path,
            class_names=names,
            max_diff=asked.max_diff,
            progress=listener.progress,
        )


def _compared(name: str, given: Any, memory: int, listener: Listener) -> ComparedModel:
    model, opened = model_of(given, "the model", listener.note, memory)
    if opened is None:
        return ComparedModel(name, model)
    source, size = opened.provenance.get("source"), os.path.getsize(given)
    return ComparedModel(name, model, size, opened.identity.removeprefix("sha256:"), source)


def _behind_scaling(one: ComparedModel) -> ComparedModel:
    """The model for scaled rows; all models are compared on rows scaled the same way."""
    from svmfast.formats.detect import identity_of

    if one.model.scaling is None:
        return one
    inner = one.model.unscaled
    source = inner.provenance.get("source")
    return replace(one, model=inner, sha256=identity_of(inner).removeprefix("sha256:"), source=source)


def _targets(data: Any, labels: ArrayLike | None, rows: Rows, reading: Reading) -> FloatArray:
    """The scaled labels; NaN if there are none."""
    given = getattr(data, "labels", None) if labels is None else labels
    if given is None:
        return np.full(len(rows), np.nan)
    found = checked_labels(rows, given, reading.class_names)
    return found if reading.scale is None else reading.scale.apply_labels(found)
