"""Prediction for Dask collections: arrays, DataFrames and bags of files (``pip install 'svmfast[dask]'``).

The model is sent to each worker once. Each task predicts with a single thread, so that workers do not compete
for cores.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from svmfast.api.predictor import Predictor
from svmfast.errors import MissingPackageError, OptionError, WrongTypeError

if TYPE_CHECKING:
    import os

    from svmfast.models.base import Model


def predict(model: Model | str | os.PathLike[str], collection: Any, **options: Any) -> Any:
    """Return a lazy collection of the labels that a model predicts for the rows of a collection.

    Parameters
    ----------
    model : Model or path
        A path is read by the calling process, not by the workers.
    collection : dask array (n, d), dask DataFrame, or dask bag of paths
        The features in a DataFrame are the columns that the model names, or else all columns in order.
    **options
        Options of :class:`svmfast.Predictor`: ``exact``, ``tolerance``, ``probability``, ...

    Returns
    -------
    dask array (n,), dask Series with the DataFrame's index, or dask bag of arrays, one per file
        Labels, or values for regression, as float64.

    Raises
    ------
    WrongTypeError
        The collection is of another type.
    OptionError
        The array is not two-dimensional.
    MissingPackageError
    """
    try:
        from dask.base import is_dask_collection
        from dask.delayed import delayed
    except ImportError:
        raise MissingPackageError("collections are predicted", "dask", "dask") from None
    predictor = Predictor(model, **options)
    if not is_dask_collection(collection):
        raise WrongTypeError("the collection", collection, "a dask array, DataFrame or bag of paths")
    # Delayed, so that the predictor is one task to which all blocks refer, and not a copy in each.
    shared = delayed(predictor, traverse=False)
    if hasattr(collection, "map_blocks"):
        if collection.ndim != 2:
            raise OptionError(f"expected a 2-dimensional array, got {collection.ndim} dimensions")
        whole = collection.rechunk({1: -1})
        return whole.map_blocks(
            _labels_of_block, shared, dtype=np.float64, drop_axis=1, meta=np.zeros(0, dtype=np.float64)
        )
    if hasattr(collection, "map_partitions") and hasattr(collection, "columns"):
        import pandas

        return collection.map_partitions(
            _labels_of_frame, shared, meta=pandas.Series(np.zeros(0), name="label")
        )
    return collection.map(_labels_of_file, predictor=shared)


def _labels_of_block(block: Any, predictor: Predictor) -> Any:
    from svmfast.rows import as_rows

    return predictor.answer(as_rows(block), threads=1).predicted


def _labels_of_frame(frame: Any, predictor: Predictor) -> Any:
    import pandas

    from svmfast.api.given import rows_of

    rows = rows_of(frame, names=predictor.feature_names)
    return pandas.Series(predictor.answer(rows, threads=1).predicted, index=frame.index, name="label")


def _labels_of_file(path: Any, predictor: Predictor) -> Any:
    return predictor.answer_file(path, threads=1).predicted
