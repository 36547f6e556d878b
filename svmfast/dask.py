"""Prediction for Dask collections: arrays and DataFrames (``pip install 'svmfast[dask]'``).

The model is sent to each worker once. Each task predicts with a single thread, so that workers do not compete
for cores.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from svmfast.commands.predictor import Predictor
from svmfast.errors import MissingPackageError, OptionError, WrongTypeError
from svmfast.rows import Rows, as_rows

if TYPE_CHECKING:
    import os

    from svmfast.models.answer import Answer
    from svmfast.models.base import Model


def predict(model: Model | str | os.PathLike[str], collection: Any, **options: Any) -> Any:
    """A lazy collection of the labels that a model predicts for the rows of a collection.

    Parameters
    ----------
    model : Model or path
        A path is read by the calling process, not by the workers.
    collection : dask array (n, d) or dask DataFrame
        The features in a DataFrame are the columns that the model names, or else all columns in order.
    **options
        Options of :class:`svmfast.Predictor`: ``exact``, ``tolerance``, ``probability``, ... A ``listener``
        gets the remark that the columns of a DataFrame are taken in their order.

    Returns
    -------
    dask array (n,), or dask Series with the DataFrame's index
        Names of classes if the model has them (unless ``names=False``); else labels, or values for
        regression, as float64.

    Raises
    ------
    WrongTypeError
        The collection is of another type.
    OptionError
        The array is not two-dimensional.
    TableError
        When it is computed: the model does not name its features, and a partition's columns are not those
        of the DataFrame.
    MissingPackageError
    """
    try:
        from dask.base import is_dask_collection
        from dask.delayed import delayed
    except ImportError:
        raise MissingPackageError("collections are predicted", "dask", "dask") from None
    predictor = Predictor(model, **options)
    is_frame = hasattr(collection, "map_partitions") and hasattr(collection, "columns")
    if not is_dask_collection(collection) or not (is_frame or hasattr(collection, "map_blocks")):
        raise WrongTypeError("the collection", collection, "a dask array or DataFrame")
    none = _labels(predictor.answer(Rows.empty(), threads=1), predictor)  # of the right type
    # Delayed, so that the predictor is one task to which all blocks refer, and not a copy in each.
    shared = delayed(predictor, traverse=False)
    if not is_frame:
        if collection.ndim != 2:
            raise OptionError(f"expected a 2-dimensional array, got {collection.ndim} dimensions")
        whole = collection.rechunk({1: -1})
        return whole.map_blocks(_labels_of_block, shared, dtype=none.dtype, drop_axis=1, meta=none)
    import pandas

    # The columns of the collection bind every partition.
    predictor.see(tuple(map(str, collection.columns)))
    shared = delayed(predictor, traverse=False)
    return collection.map_partitions(_labels_of_frame, shared, meta=pandas.Series(none, name="label"))


def _labels(answer: Answer, predictor: Predictor) -> Any:
    """The names of the predicted classes, as the caller knows them, or labels or values."""
    named = predictor.output.names is not False and answer.names is not None
    return answer.names if named else answer.predicted


def _labels_of_block(block: Any, predictor: Predictor) -> Any:
    return _labels(predictor.answer(as_rows(block), threads=1), predictor)


def _labels_of_frame(frame: Any, predictor: Predictor) -> Any:
    import pandas

    found = _labels(predictor.answer(frame, threads=1), predictor)
    return pandas.Series(found, index=frame.index, name="label")
