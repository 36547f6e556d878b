"""scikit-learn estimators as models."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from svmfast.api.given import is_path
from svmfast.api.listener import Listener
from svmfast.models.memory import MEMORY

if TYPE_CHECKING:
    from svmfast.models.base import Model


def from_sklearn(
    estimator: Any, *, trust_pickle: bool = False, memory: int = MEMORY, listener: Listener | None = None
) -> Model:
    """Return the model of a fitted scikit-learn estimator: the same labels, values and probabilities.

    Parameters
    ----------
    estimator : estimator, Pipeline or path
        An SVC, NuSVC, SVR, NuSVR or OneClassSVM, alone or behind scalers (StandardScaler, MinMaxScaler,
        MaxAbsScaler, RobustScaler) in a Pipeline. A FrozenEstimator stands for what is in it, a search for
        its best estimator. Machines of thundersvm and cuML are read by the attributes that have the same
        names there; those of cuML without probabilities. A path is that of a file of ``skops.io.dump``.
    trust_pickle : bool
        Also load a file of ``pickle`` or ``joblib``. This runs any code in it.
    memory : int
        Limit on the memory for the content of a file, in bytes.
    listener : Listener, optional
        Receives the remarks of the file's reader, such as a different version of scikit-learn.

    Returns
    -------
    Model
        A KernelExpansion, which is saved as a LIBSVM model. With scalers, or with classes that are no
        integers, a ScaledModel around it: it takes the rows that the pipeline takes, and knows the names of
        the classes and, of a pipeline fitted on a table, of the features.

    Raises
    ------
    UnsupportedError
        A step cannot be part of such a model; the message names it. Or the file is a pickle.
    WrongTypeError
        The object is not an estimator.
    ModelFormatError, FileAccessError, MemoryLimitError
        The file cannot be read.

    Notes
    -----
    For two classes scikit-learn's ``dual_coef_``, ``intercept_`` and ``decision_function`` have the opposite
    sign of LIBSVM's, and so of this model's decision values. For more classes these are the pairs' values
    (``decision_function_shape="ovo"``).
    """
    from svmfast.importers.estimators import model_of
    from svmfast.importers.files import model_of_file

    if not is_path(estimator):
        return model_of(estimator)
    model, remarks = model_of_file(estimator, trust_pickle=trust_pickle, memory=memory)
    for text in remarks:
        (listener or Listener()).note(f"{os.fspath(estimator)}: {text}")
    return model
