"""``predict`` from Python: predict rows with a model."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from svmfast.api.functions import takes
from svmfast.api.given import is_path
from svmfast.api.predictor import Predictor
from svmfast.commands.predict import AnswerOptions
from svmfast.models.answer import Answer
from svmfast.options import Reading, made

if TYPE_CHECKING:
    from svmfast.models.base import Model


@takes(AnswerOptions)
def predict(
    model: Model | str | os.PathLike[str],
    data: Any,
    *,
    threads: int | None = None,
    scale: Any = None,
    reading: Reading | None = None,
    **options: Any,
) -> Answer:
    """Predict rows with a model, by LIBSVM's rules.

    Parameters
    ----------
    model : Model or path
        A model of any kind.
    data : (n, d) array_like, SciPy sparse matrix, Rows, Dataset, DataFrame or path
        Column 0 is LIBSVM's index 1. A DataFrame is any object with ``__arrow_c_stream__`` (pandas, polars,
        pyarrow, DuckDB); its features are the columns that the model names, or else all columns in order.
        An array has a column for each of the model's features: other numbers raise ArrayWidthError, a
        ValueError. Where a model has neither names nor a scaling by offset and factor, further columns count
        as in LIBSVM and cause a warning. Sparse matrices and Rows may have any width, since values that they
        do not store are zeros.
    {options}
    scale : Scaling or path, optional
        Scale every row first. The path is that of svm-scale's range file or of a model with a scaling. The
        scaling of `model` or `exact` is applied automatically.

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
        An array has fewer columns than the model has features.
    """
    predictor = Predictor(model, scale=scale, **vars(made(AnswerOptions, options)))
    if is_path(data):
        found = predictor.answer_file(data, reading=reading, threads=threads)
    else:
        found = predictor.answer(data, threads=threads)
    heard = predictor.listener
    if not heard.notes and not heard.warnings:
        return found
    return replace(found, notes=(*heard.warnings, *heard.notes, *found.notes))
