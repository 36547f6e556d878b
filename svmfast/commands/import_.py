"""Convert a fitted scikit-learn ESTIMATOR, a file written by skops.io.dump, to a model.

ESTIMATOR is a support vector machine, KernelRidge, GaussianProcessRegressor or linear model, alone or in a
Pipeline after scalers, imputers, one-hot encoders, selections of columns, PCA, KernelPCA and Nystroem; or
OneVsRestClassifier and others around one. With `trust_pickle` it may be an estimator of svmfast.sklearn.
MODEL gives the same labels and values. A machine without other steps whose classes are integers becomes a
LIBSVM model; otherwise MODEL is an svmfast model that accepts the same rows as the pipeline.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from svmfast.command import Verb
from svmfast.commands import listed
from svmfast.commands.functions import takes
from svmfast.options import Bounded, argument, made, option, switch
from svmfast.progress import Listener
from svmfast.values import InputFile, OutputFile, in_this_folder

if TYPE_CHECKING:
    from svmfast.models.base import Model


@dataclass(frozen=True, kw_only=True)
class Files:
    """What is read and written."""

    estimator: str = argument(InputFile(repeated=True))
    output: str | None = option(
        None,
        OutputFile("model", role="model", after="estimator", named=in_this_folder("model")),
        "The model to write (default: ESTIMATOR's name and .model, in the current folder).",
        "-o",
        metavar="MODEL",
    )


@dataclass(frozen=True, kw_only=True)
class ImportOptions(Bounded):
    """Options of ``import``."""

    trust_pickle: bool = switch(
        "Also load ESTIMATOR if it is a pickle or joblib file. Loading runs any code in such a file: use "
        "this only for files that you made yourself.",
    )


@takes(ImportOptions)
def from_sklearn(estimator: Any, *, listener: Listener | None = None, **options: Any) -> Model:
    """The model of a fitted scikit-learn estimator: the same labels, values and probabilities.

    Parameters
    ----------
    estimator : estimator, Pipeline or path
        A support vector machine, KernelRidge, GaussianProcessRegressor or linear model, or an estimator of
        ``svmfast.sklearn``, alone or in a Pipeline after scalers, imputers, one-hot encoders, selections of
        columns, PCA, KernelPCA and Nystroem; or an estimator around one: a search, FrozenEstimator,
        OneVsRestClassifier, CalibratedClassifierCV, a threshold classifier, TransformedTargetRegressor. A
        path names a file written by ``skops.io.dump``.
    {options}

    Returns
    -------
    Model
        A KernelExpansion, which is saved as a LIBSVM model, or the model of the svmfast estimator (`model_`).
        With other steps, or classes that are not integers, a ScaledModel around it: it takes the same rows
        as the pipeline and keeps the names of the classes and, for a pipeline fitted on a table, those of
        the features.

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

    if not isinstance(estimator, str | os.PathLike):
        return model_of(estimator)
    model, remarks = model_of_file(estimator, trust_pickle=asked.trust_pickle, memory=asked.memory)
    for text in remarks:
        (listener or Listener()).note(f"{os.fspath(estimator)}: {text}")
    return model


def run(front: Any, estimator: str, output: str, **options: Any) -> None:
    """Write the model of an estimator, and describe it."""
    from svmfast.commands.info import info
    from svmfast.formats.model_files import save_model

    with front.listening() as listener:
        model = from_sklearn(estimator, listener=listener, **options)
    front.written(info(model), output, save_model(model, output))


COMMAND = Verb(
    **listed("import"),
    description=__doc__,
    takes=(Files, ImportOptions),
    run=run,
    reports=("svmfast.evaluation.describe:ModelDescription",),
    without=None,
)
