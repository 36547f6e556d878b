"""``predict`` from Python: predict rows with a model."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from svmfast.api.given import is_path
from svmfast.api.predictor import Predictor
from svmfast.models.answer import Answer
from svmfast.models.memory import MEMORY
from svmfast.options import Reading

if TYPE_CHECKING:
    from svmfast.models.base import Model


def predict(
    model: Model | str | os.PathLike[str],
    data: Any,
    *,
    probability: bool = False,
    bound: bool = False,
    certify: bool = False,
    exact: Model | str | os.PathLike[str] | None = None,
    fallback: bool | None = None,
    tolerance: float | None = None,
    assume_error: float | None = None,
    precision: Literal["auto", "double"] = "auto",
    threads: int | None = None,
    memory: int = MEMORY,
    scale: Any = None,
    reading: Reading | None = None,
) -> Answer:
    """Predict rows with a model, by LIBSVM's rules.

    Parameters
    ----------
    model : Model or path
        A model of any kind.
    data : (n, d) array_like, SciPy sparse matrix, Rows, Dataset, DataFrame or path
        Column 0 is LIBSVM's index 1. A DataFrame is any object with ``__arrow_c_stream__`` (pandas, polars,
        pyarrow, DuckDB); its features are the columns that the model names, or else all columns in order.
        An array has a column for each of the model's features. If the model knows their number (from names,
        or a scaling by offset and factor), another one raises ArrayWidthError, a ValueError. The text of a
        LIBSVM model only has the largest index of its support vectors: an array with fewer columns is
        refused, further columns count as in LIBSVM and cause a warning. Sparse matrices and Rows may have any
        width, since values that they do not store are zeros.
    probability : bool
        Compute probabilities; a classifier's label is then the most probable one (``svm-predict -b 1``), and
        the label of the vote, which is predicted without this, is in ``voted``.
    bound : bool
        Report which rows are inside the validity bound of an approximated model.
    certify : bool
        Report which labels are provably those of the exact model that `model` was made from, and a bound on
        the error of the decision values (docs/certificate.md). With `probability` this is its most probable
        label, otherwise the label of the vote. For a LIBSVM model: the bound on the rounding
        error that proves each label to be svm-predict's (docs/single-precision.md).
    exact : KernelExpansion or path, optional
        The exact model. It answers the rows that are not certified, so that every label is the exact model's.
        Probabilities and decision values of certified rows are those of `model`, of the others the exact
        model's.
    fallback : bool, optional
        Let the exact model that is embedded in `model`, or the exact half of a cascade, answer these rows
        (default: if there is one). False: never.
    tolerance : float, optional
        A row is certified only if its error bound is at most this; regression needs it for `exact`. For a
        LIBSVM regression model: the largest acceptable error of a value. Single precision then answers where
        its error bound is at most this (docs/single-precision.md).
    assume_error : float, optional
        With `exact`: use this as the error bound of the model's values, instead of a certificate if there is
        one. Statistical, not proven; compress and dcpred report such quantiles.
    precision : {"auto", "double"}
        auto: compute a label in single precision, which is faster, if its error bound proves the label.
        double: never. The answer is the same.
    threads : int, optional
        Default: the cores this process may use, at most ``OMP_NUM_THREADS``. The answer does not
        depend on it.
    memory : int
        Limit on the memory for each model, in bytes.
    scale : Scaling or path, optional
        Scale every row first. The path is that of svm-scale's range file or of a model with a scaling. The
        scaling of `model` or `exact` is applied automatically.
    reading : Reading, optional
        The format of the rows, for data given by a path.

    Returns
    -------
    Answer
        ``predicted``, ``names`` (of the classes, if the model has them), ``decisions``; with `probability`
        ``probabilities``, ``voted``, ``voted_names``; ``inside``, ``certified``, ``error_bounds``; ``notes``:
        warnings and remarks, such as that the columns of a table were taken in their order.

    Raises
    ------
    UnsupportedError
        The model lacks probabilities, a bound or a certificate, or has a precomputed kernel; or `exact` is
        not the model that `model` was made from.
    OptionError
        Two options exclude each other, or one needs another, as `exact` needs `tolerance` for regression.
    MemoryLimitError
        A model would need more than `memory`.
    ArrayWidthError
        The number of an array's columns differs from the number of the model's features.
    """
    predictor = Predictor(
        model,
        probability=probability,
        bound=bound,
        certify=certify,
        exact=exact,
        fallback=fallback,
        tolerance=tolerance,
        assume_error=assume_error,
        precision=precision,
        memory=memory,
        scale=scale,
    )
    if is_path(data):
        found = predictor.answer_file(data, reading=reading, threads=threads)
    else:
        found = predictor.answer(data, threads=threads)
    heard = predictor.listener
    if not heard.notes and not heard.warnings:
        return found
    return replace(found, notes=(*heard.warnings, *heard.notes, *found.notes))
