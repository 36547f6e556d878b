"""scikit-learn estimators as models."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from svmfast.api.functions import takes
from svmfast.api.given import is_path
from svmfast.commands.import_ import ImportOptions
from svmfast.options import made
from svmfast.progress import Listener

if TYPE_CHECKING:
    from svmfast.models.base import Model


@takes(ImportOptions)
def from_sklearn(estimator: Any, *, listener: Listener | None = None, **options: Any) -> Model:
    """The model of a fitted scikit-learn estimator: the same labels, values and probabilities.

    Parameters
    ----------
    estimator : estimator, Pipeline or path
        An SVC, NuSVC, SVR, NuSVR or OneClassSVM, or an estimator of ``svmfast.sklearn``, alone or after
        scalers (StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler) in a Pipeline. A FrozenEstimator is
        replaced by the estimator in it, a search by its best estimator. A path names a file written by
        ``skops.io.dump``.
    {options}

    Returns
    -------
    Model
        A KernelExpansion, which is saved as a LIBSVM model, or the model of the svmfast estimator (`model_`).
        With scalers, or classes that are not integers, a ScaledModel around it: it takes the same rows as the
        pipeline and keeps the names of the classes and, for a pipeline fitted on a table, those of the
        features.

    Raises
    ------
    UnsupportedError
        A step cannot be part of such a model (the message names it), or the file is a pickle.
    WrongTypeError
        The object is not an estimator.
    ModelFormatError, FileAccessError, MemoryLimitError
        The file cannot be read.

    Notes
    -----
    For two classes, scikit-learn's ``dual_coef_``, ``intercept_`` and ``decision_function`` have the opposite
    sign to LIBSVM's, and so to this model's decision values. For more classes the decision values are those
    of the pairs (``decision_function_shape="ovo"``).
    """
    asked = made(ImportOptions, options)
    from svmfast.importers.estimators import model_of
    from svmfast.importers.files import model_of_file

    if not is_path(estimator):
        return model_of(estimator)
    model, remarks = model_of_file(estimator, trust_pickle=asked.trust_pickle, memory=asked.memory)
    for text in remarks:
        (listener or Listener()).note(f"{os.fspath(estimator)}: {text}")
    return model
