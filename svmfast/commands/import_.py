"""``svmfast import``, in Python ``from_sklearn``."""

from __future__ import annotations

from dataclasses import dataclass

from svmfast.command import Verb
from svmfast.commands import listed
from svmfast.options import MemoryOfModels, argument, option
from svmfast.values import InputFile, OutputFile, Switch, in_this_folder


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
class ImportOptions(MemoryOfModels):
    """Options of ``import``."""

    trust_pickle: bool = option(
        False,
        Switch(),
        "Also load ESTIMATOR if it is a pickle or joblib file. Loading runs any code in such a file: use "
        "this only for files that you made yourself.",
    )


COMMAND = Verb(
    **listed("import"),
    description="""
        Convert a fitted scikit-learn ESTIMATOR, a file written by skops.io.dump, to a model.

        ESTIMATOR is an SVC, NuSVC, SVR, NuSVR or OneClassSVM, or an estimator of svmfast.sklearn, alone or
        after a StandardScaler, MinMaxScaler, MaxAbsScaler or RobustScaler in a Pipeline. MODEL gives the same
        labels, values and probabilities. A scikit-learn estimator without scalers whose classes are integers
        becomes a LIBSVM model; otherwise MODEL is an svmfast model that accepts the same rows as the
        pipeline.
        """,
    takes=(Files, ImportOptions),
    without=None,
)
