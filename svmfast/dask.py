"""Prediction for Dask collections: arrays, DataFrames and bags of files (``pip install 'svmfast[dask]'``).

The model is sent to each worker once. Each task predicts with a single thread, so that workers do not compete
for cores.
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any

from svmfast.api.fit import ColumnOrder, Fit
from svmfast.api.predictor import Predictor
from svmfast.errors import MissingPackageError, OptionError, WrongTypeError
from svmfast.options import Reading
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
    collection : dask array (n, d), dask DataFrame, or dask bag of paths
        The features in a DataFrame are the columns that the model names, or else all columns in order.
    **options
        Options of :class:`svmfast.Predictor`: ``exact``, ``tolerance``, ``probability``, ... A ``listener``
        gets the remark that the columns of a DataFrame are taken in their order.

    Returns
    -------
    dask array (n,), dask Series with the DataFrame's index, or dask bag of arrays, one per file
        Names of classes if the model has them (unless ``names=False``); else labels, or values for
        regression, as float64.

    Raises
    ------
    WrongTypeError
        The collection is of another type.
    OptionError
        The array is not two-dimensional.
    TableError
        When it is computed: the model does not name its features, and a table's columns are not those of the
        bag's first table, or a partition's not those of the DataFrame.
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
    none = _labels(predictor.answer(Rows.empty(), threads=1), predictor)  # of the right type
    # Delayed, so that the predictor is one task to which all blocks refer, and not a copy in each.
    shared = delayed(predictor, traverse=False)
    if hasattr(collection, "map_blocks"):
        if collection.ndim != 2:
            raise OptionError(f"expected a 2-dimensional array, got {collection.ndim} dimensions")
        whole = collection.rechunk({1: -1})
        return whole.map_blocks(_labels_of_block, shared, dtype=none.dtype, drop_axis=1, meta=none)
    if hasattr(collection, "map_partitions") and hasattr(collection, "columns"):
        import pandas

        # The columns of the collection bind every partition.
        predictor.see(tuple(map(str, collection.columns)))
        shared = delayed(predictor, traverse=False)
        return collection.map_partitions(_labels_of_frame, shared, meta=pandas.Series(none, name="label"))
    if predictor.feature_names is not None:
        return collection.map(_labels_of_file, predictor=shared)
    # Workers take files in any order; the first table of the bag is the one that the others must agree with.
    orders = collection.map_partitions(_first_order, predictor=shared).to_delayed()
    return collection.map(_labels_of_file, predictor=shared, order=delayed(_first)(orders))


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


def _first_order(paths: Any, predictor: Predictor) -> list[ColumnOrder]:
    """The columns of the first table of a partition; nothing is read of its rows."""
    order = ColumnOrder()
    how = Reading(scale=predictor.scaling)
    Fit(predictor.model, how, predictor.listener, order).find_first(paths)
    return [order]


def _first(orders: Any) -> ColumnOrder:
    found = (order for part in orders for order in part if order.names is not None)
    return next(found, ColumnOrder())


def _labels_of_file(path: Any, predictor: Predictor, order: ColumnOrder | None = None) -> Any:
    # One predictor serves all threads of a worker.
    own = copy(predictor)
    own.column_order = order or ColumnOrder()
    return _labels(own.answer_file(path, threads=1), own)
