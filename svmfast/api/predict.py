"""``predict`` from Python: a model's answers for rows."""

from __future__ import annotations

import os
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
    allow_edited: bool = False,
    scale: Any = None,
    reading: Reading | None = None,
) -> Answer:
    """Return a model's answers for rows, by LIBSVM's rules.

    Parameters
    ----------
    model : Model or path
        Any kind.
    data : (n, d) array_like, SciPy sparse matrix, Rows, Dataset, DataFrame or path
        Column 0 is LIBSVM's index 1. Of a DataFrame (pandas, polars, pyarrow, DuckDB: anything with
        ``__arrow_c_stream__``) the columns are those that the model names, else all of them in order.
    probability : bool
        Give probabilities; a classifier's label is then the most probable one (``svm-predict -b 1``).
    bound : bool
        Report which rows are inside the validity bound of an approximated model.
    certify : bool
        Report which labels are provably those of the exact model that `model` was made from, and the bound of
        the values' error (docs/certificate.md). Of a LIBSVM model: the bound of the rounding that proves each
        label to be svm-predict's (docs/single-precision.md).
    exact : KernelExpansion or path, optional
        The exact model, which answers the rows that are not certified, so that every label is its own
        (implies `certify`).
    fallback : bool, optional
        Let the exact model that is embedded in `model`, or that is the exact half of a cascade, answer such
        rows (default: if there is one). False: never.
    tolerance : float, optional
        A row is certified only if its error bound is at most this; regression needs it for `exact`. Values
        of a LIBSVM regression model may then be off by so much: single precision answers where its bound is
        at most this (docs/single-precision.md).
    assume_error : float, optional
        With `exact`: take this for the bound of the model's values. Statistical, not proven.
    precision : {"auto", "double"}
        auto: labels come from single precision where its error bound proves them, which is faster. double:
        never. The answer is the same.
    threads : int, optional
        Default: the cores this process may use, at most ``OMP_NUM_THREADS``. The answer is the same for
        every number.
    memory : int
        Limit on the memory for a model, in bytes.
    allow_edited : bool
        Read a model that was edited after svmfast wrote it, without its certificate.
    scale : Scaling or path, optional
        Scale every row by it: svm-scale's range file, or a model that carries a scaling. One that `model`
        carries is taken by itself.
    reading : Reading, optional
        The format of the rows, for data given by a path.

    Returns
    -------
    Answer
        ``predicted``, ``names`` (of the classes, if the model has them), ``decisions``, ``probabilities``,
        ``inside``, ``certified``, ``error_bounds``.

    Raises
    ------
    UnsupportedError
        The model has no probabilities, no bound, no certificate, or a precomputed kernel; or `exact` is not
        the model it was made from.
    OptionError
        Options that exclude or need each other, such as `exact` for regression without a tolerance.
    MemoryLimitError
        A model would take more than `memory`.
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
        allow_edited=allow_edited,
        scale=scale,
    )
    if is_path(data):
        return predictor.answer_file(data, reading=reading, threads=threads)
    return predictor.answer(data, threads=threads)
