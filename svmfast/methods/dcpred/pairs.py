"""One cluster of three or more classes, fitted to the values of LIBSVM's pairs by compress's machinery.

One function a class, each over all landmarks, is what a cluster usually holds. LIBSVM's arrangement gives
a landmark to a class, and k - 1 coefficients for that class's pairs alone: about as many, but of a row
only the pairs of its winner need be right, and an exact model's values are fitted instead of labels.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from svmfast.errors import NothingFitsError, OptionError
from svmfast.methods.common.error_statement import ErrorStatement
from svmfast.methods.compress.compressor import prepare
from svmfast.methods.compress.options import CompressOptions
from svmfast.methods.dcpred.search import linear_functions
from svmfast.methods.dcpred.settings import DcpredSettings
from svmfast.models.base import Model
from svmfast.models.expansion import KernelExpansion
from svmfast.models.routed import RoutedModel
from svmfast.progress import Progress
from svmfast.routing import flat_tree
from svmfast.rows import Rows


def check_pairs(settings: DcpredSettings) -> None:
    """Raise OptionError where the settings ask for what pairs cannot have."""
    for wrong, name, rule in (
        (settings.clusters != 1, "--clusters", "must be 1"),
        (settings.pseudo != "none", "--pseudo", "must be none"),
        (settings.kmeans != "weighted", "--kmeans", "must be weighted"),
        (settings.folds is not None, "-v", "must be left out"),
        (len(settings.gammas) * len(settings.strengths) != 1, "-g and -c", "must be one value each"),
    ):
        if wrong:
            raise OptionError(f"--fit pairs: {name} {rule}")


def affordable(exact: Model, rows: Rows, settings: DcpredSettings) -> DcpredSettings:
    """Return the settings with as many landmarks as ``settings.cost`` allows; unchanged without.

    A landmark costs its features and the pairs of its class.

    Raises
    ------
    UnsupportedError
        The cost does not allow a landmark for each class.
    """
    if settings.cost is None:
        return settings
    classes = exact.head.n_classes
    each = max(rows.n_columns, exact.n_features) + classes - 1
    count = int(settings.cost * rows.n_columns * linear_functions(exact.head) / each)
    if count < classes:
        raise NothingFitsError(
            f"--cost {settings.cost:g}x allows {count} landmarks for {classes} classes",
            "a prediction must cost more",
        )
    return replace(settings, landmarks=count)


def fit_pairs(
    exact: Model, rows: Rows, settings: DcpredSettings, *, threads: int, progress: Progress
) -> tuple[RoutedModel, ErrorStatement | None]:
    """Return `exact` with as many landmarks as the settings say, as a model of one cell; and how far it is.

    The statement is compress's own, of rows that are in no part of the fit; None where nothing was fitted.

    Parameters
    ----------
    exact : KernelExpansion
        Of three or more classes, with a Gaussian kernel.
    rows : Rows
        Like those to be predicted; a tenth of them decide when to stop.
    settings : DcpredSettings
        Of which landmarks, iterations, seed and memory count.
    """
    if not isinstance(exact, KernelExpansion) or exact.nr_sv is None or exact.kernel.kind != "rbf":
        raise OptionError("--fit pairs is for LIBSVM models with the rbf kernel")
    if exact.head.n_classes < 3:
        raise OptionError("--fit pairs is for three or more classes; two have one pair, see --fit values")
    made: KernelExpansion = exact
    statement: ErrorStatement | None = None
    if settings.landmarks < len(exact.sv):
        how = CompressOptions(
            start="kmeans",
            iterations=settings.iterations,
            seed=settings.seed,
            memory=settings.memory,
        )
        made, report = prepare(exact, rows, options=how, threads=threads, progress=progress).compress(
            settings.landmarks, progress=progress
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
