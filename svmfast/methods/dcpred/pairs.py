"""One cluster for three or more classes, fitted by compress to the decision values of LIBSVM's pairs.

A cluster usually has one function for each class, over all landmarks. In LIBSVM's arrangement, a landmark
belongs to a class and has k - 1 coefficients, for the pairs of that class. There are about as many
coefficients, but only the pairs of a row's winning class must be accurate, and the targets are an exact
model's values instead of labels.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from svmfast.errors import NothingFitsError, OptionError
from svmfast.methods.common.error_statement import ErrorStatement
from svmfast.methods.common.landmark_report import linear_functions
from svmfast.methods.compress.compressor import prepare
from svmfast.methods.compress.options import CompressOptions
from svmfast.methods.dcpred.options import DcpredOptions
from svmfast.models.base import Model
from svmfast.models.expansion import KernelExpansion
from svmfast.models.routed import RoutedModel
from svmfast.progress import Progress
from svmfast.routing import flat_tree
from svmfast.rows import Rows


def check_pairs(options: DcpredOptions) -> None:
    """Raise OptionError for options that do not apply to pairs."""
    for wrong, name, rule in (
        (options.clusters != 1, "`clusters`", "must be 1"),
        (options.pseudo != "none", "`pseudo`", "must be none"),
        (options.kmeans != "weighted", "`kmeans`", "must be weighted"),
        (options.folds is not None, "`folds`", "must be left out"),
        (len(options.gamma) * len(options.C) != 1, "`gamma` and `C`", "must be one value each"),
    ):
        if wrong:
            raise OptionError(f"`fit` pairs: {name} {rule}")


def affordable(exact: Model, rows: Rows, options: DcpredOptions) -> DcpredOptions:
    """Return the options with as many landmarks as ``options.max_operations`` allows, if that is set.

    A landmark takes one multiply-add for each feature and for each pair of its class.

    Raises
    ------
    NothingFitsError
        The limit does not allow one landmark for each class.
    """
    if options.max_operations is None:
        return options
    classes = exact.head.n_classes
    each = max(rows.n_columns, exact.n_features) + classes - 1
    count = int(options.max_operations * rows.n_columns * linear_functions(exact.head) / each)
    if count < classes:
        raise NothingFitsError(
            f"`max_operations` {options.max_operations:g}x allows {count} landmarks for {classes} classes",
            "allow more",
        )
    return replace(options, landmarks=count)


def fit_pairs(
    exact: Model, rows: Rows, options: DcpredOptions, *, threads: int, progress: Progress
) -> tuple[RoutedModel, ErrorStatement | None]:
    """Convert `exact` to a model of one cell with ``options.landmarks`` landmarks.

    Parameters
    ----------
    exact : KernelExpansion
        With three or more classes and a Gaussian kernel.
    rows : Rows
        Rows like those to be predicted; a tenth of them decides when to stop.
    options : DcpredOptions
        Only `landmarks`, `iterations`, `seed` and `memory` are used.
    threads : int
    progress : Progress

    Returns
    -------
    model : RoutedModel
    statement : ErrorStatement or None
        The error statement of compress, on held-out rows; None if nothing was fitted.
    """
    if not isinstance(exact, KernelExpansion) or exact.nr_sv is None or exact.kernel.kind != "rbf":
        raise OptionError("`fit` pairs is for LIBSVM models with the rbf kernel")
    if exact.head.n_classes < 3:
        raise OptionError("`fit` pairs is for three or more classes; for two, use `fit` values")
    made: KernelExpansion = exact
    statement: ErrorStatement | None = None
    if options.landmarks < len(exact.sv):
        how = CompressOptions(
            start="kmeans",
            iterations=options.iterations,
            seed=options.seed,
            memory=options.memory,
        )
        made, report = prepare(exact, rows, options=how, threads=threads, progress=progress).compress(
            options.landmarks, progress=progress
        )
        statement = report.statement
    assert made.nr_sv is not None
    model = RoutedModel(
        head=made.head,
        kernel="rbf",
        gamma=np.array([made.kernel.gamma]),
        children=flat_tree(1),
        centers=np.zeros((1, max(made.sv.n_columns, rows.n_columns))),
        landmarks=made.sv,
        sizes=np.array([len(made.sv)], dtype=np.int64),
        coef=made.sv_coef,
        rho=np.ascontiguousarray(made.rho[None]),
        nr_sv=np.ascontiguousarray(made.nr_sv[None].astype(np.int64)),
    )
    return model, statement
