"""Prediction and training for Dask collections: arrays and DataFrames (``pip install 'svmfast[dask]'``).

The model is sent to each worker once. Each task predicts with a single thread, so that workers do not compete
for cores.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from svmfast.commands.functions import function_of
from svmfast.commands.predictor import Predictor
from svmfast.errors import MissingPackageError, OptionError, WrongTypeError
from svmfast.formats.answers import pair_names, probability_names
from svmfast.methods.registry import method
from svmfast.options import Reading
from svmfast.rows import Rows, as_rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from svmfast.commands.run import Result
    from svmfast.models.answer import Answer

_RETURNS = ("labels", "decisions", "probabilities")


def predict(
    model: Any, collection: Any, *, returns: str = "labels", reading: Reading | None = None, **options: Any
) -> Any:
    """A lazy collection of a model's answers for the rows of a collection.

    Parameters
    ----------
    model : Model, fitted estimator or path
        A path is read by the calling process, not by the workers.
    collection : dask array (n, d) or dask DataFrame
        The features in a DataFrame are the columns that the model names, or else all columns but the label,
        in order.
    returns : {"labels", "decisions", "probabilities"}
    reading : Reading, optional
        Names the columns of a DataFrame.
    **options
        Options of :class:`svmfast.Predictor`: ``exact``, ``tolerance``, ``probability``, ... A ``listener``
        gets the remark that the columns of a DataFrame are taken in their order.

    Returns
    -------
    dask array (n,), or dask Series with the DataFrame's index
        Labels: names of classes if the model has them (unless ``names=False``); else numbers, or values for
        regression, as float64.
    dask array (n, k), or dask DataFrame with the DataFrame's index
        Decision values or probabilities, with a column for each function or class, named as in the tables
        that predict writes.

    Raises
    ------
    WrongTypeError
        The collection is of another type.
    OptionError
        The array is not two-dimensional, or `returns` is another word.
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
    if returns not in _RETURNS:
        raise OptionError(f"`returns` is '{returns}'; expected one of {', '.join(_RETURNS)}")
    options |= {"probability": True} if returns == "probabilities" else {}
    predictor = Predictor(model, **options)
    is_frame = hasattr(collection, "map_partitions") and hasattr(collection, "columns")
    if not is_dask_collection(collection) or not (is_frame or hasattr(collection, "map_blocks")):
        raise WrongTypeError("the collection", collection, "a dask array or DataFrame")
    none = _part(predictor.answer(Rows.empty(), threads=1), predictor, returns)  # of the right type
    # Delayed, so that the predictor is one task to which all blocks refer, and not a copy in each.
    shared = delayed(predictor, traverse=False)
    if not is_frame:
        if collection.ndim != 2:
            raise OptionError(f"expected a 2-dimensional array, got {collection.ndim} dimensions")
        whole = collection.rechunk({1: -1})
        shape: dict[str, Any] = {"drop_axis": 1}
        if none.ndim == 2:
            shape = {"chunks": (whole.chunks[0], (none.shape[1],))}
        return whole.map_blocks(_of_block, shared, returns, dtype=none.dtype, meta=none, **shape)
    # The columns of the collection bind every partition.
    meta = _of_frame(collection._meta, predictor, returns, reading)
    shared = delayed(predictor, traverse=False)
    return collection.map_partitions(_of_frame, shared, returns, reading, meta=meta)


def budget_train(collection: Any, labels: Any = None, **options: Any) -> Result:
    """Train as :func:`svmfast.budget_train` does, with rows that the workers of a cluster compute and hold.

    The model is the same, to the last bit, for any division of the rows and any number of workers.

    Parameters
    ----------
    collection : dask array (n, d) or dask DataFrame
        Column 0 of an array is LIBSVM's index 1. The columns of a DataFrame are chosen as those of a file.
    labels : dask array (n,) or dask Series, optional
        Divided as the rows are; without them, those of the column ``label``.
    **options
        Those of :func:`svmfast.budget_train`. Without the option ``dask``, the workers are those of the
        caller's client (``dask.distributed.Client``).

    Raises
    ------
    WrongTypeError, OptionError, MissingPackageError
    """
    return _trained("budget-train", collection, labels, options)


def meka(collection: Any, labels: Any = None, **options: Any) -> Result:
    """Train local models as :func:`svmfast.meka` does with ``block_only``, which is set, on the workers.

    The arguments, the errors and the promise are those of :func:`budget_train`.
    """
    return _trained("meka", collection, labels, {**options, "block_only": True})


def _trained(name: str, collection: Any, labels: Any, options: dict[str, Any]) -> Result:
    train: Callable[..., Result] = function_of(method(name))
    return train(collection, labels, **options)


def _part(answer: Answer, predictor: Predictor, returns: str) -> Any:
    """What is asked of an answer; labels are the names of the classes, as the caller knows them."""
    if returns != "labels":
        return getattr(answer, returns)
    named = predictor.output.names is not False and answer.names is not None
    return answer.names if named else answer.predicted


def _of_block(block: Any, predictor: Predictor, returns: str) -> Any:
    return _part(predictor.answer(as_rows(block), threads=1), predictor, returns)


def _of_frame(frame: Any, predictor: Predictor, returns: str, reading: Reading | None) -> Any:
    import pandas

    found = _part(predictor.answer(frame, reading=reading, threads=1), predictor, returns)
    if returns == "labels":
        return pandas.Series(found, index=frame.index, name="label")
    names = None if predictor.output.names is False else predictor.class_names
    columns = (pair_names if returns == "decisions" else probability_names)(predictor.model.head, names)
    return pandas.DataFrame(found, index=frame.index, columns=columns)
