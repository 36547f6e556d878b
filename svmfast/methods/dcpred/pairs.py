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
from svmfast.methods.common.landmarks import linear_functions
from svmfast.methods.compress import CompressOptions
from svmfast.methods.compress.compressor import Compressor
from svmfast.methods.dcpred import DcpredOptions
from svmfast.methods.method import Setting
from svmfast.models.base import Model
from svmfast.models.routed import RoutedModel
from svmfast.rows import Rows


def check_pairs(options: DcpredOptions) -> None:
    for wrong, name, rule in (
        (options.clusters != 1, "`clusters`", "must be 1"),
        (options.pseudo != "none", "`pseudo`", "must be none"),
        (options.kmeans != "weighted", "`kmeans`", "must be weighted"),
        (len(options.gamma) * len(options.C) != 1, "`gamma` and `C`", "must be one value each"),
    ):
        if wrong:
            raise OptionError(f"`fit` pairs: {name} {rule}")


def fit_pairs(
    exact: Model, rows: Rows, options: DcpredOptions, setting: Setting
) -> tuple[DcpredOptions, RoutedModel, dict[str, float] | None]:
    """Convert `exact` to one cell with `landmarks` landmarks, or as many as `max_operations` allows; report
    the error on held-out rows as compress measures it, None if nothing was fitted.
    """
    if options.max_operations is not None:
        options = replace(options, landmarks=_affordable(exact, rows, options.max_operations))
    made = exact.expansion
    if made is None or made.nr_sv is None or made.kernel.kind != "rbf":
        raise OptionError("`fit` pairs is for LIBSVM models with the rbf kernel")
    exact = made
    if exact.head.n_classes < 3:
        raise OptionError("`fit` pairs is for three or more classes; for two, use `fit` values")
    held = None
    if options.landmarks < len(exact.sv):
        how = CompressOptions(
            start="kmeans", iterations=options.iterations, seed=options.seed, memory=options.memory
        )
        prepared = Compressor(exact, rows, options=how, threads=setting.threads, progress=setting.progress)
        made, report = prepared.compress(options.landmarks, progress=setting.progress)
        stated = report.statement.to_dict() | {"fallback_error": report.statement.quantile_999}
        held = {name: float(one) for name, one in stated.items() if isinstance(one, int | float)}
    assert made.nr_sv is not None
    centers = np.zeros((1, max(made.sv.n_columns, rows.n_columns)))
    nr_sv = np.ascontiguousarray(made.nr_sv[None].astype(np.int64))
    model = RoutedModel.flat(
        made.head, made.kernel, centers, [made.sv], [made.sv_coef], made.rho[None], nr_sv
    )
    return options, model, held


def _affordable(exact: Model, rows: Rows, most: float) -> int:
    """Count the landmarks for `most` linear models: each costs its features and the pairs of its class."""
    classes = exact.head.n_classes
    each = max(rows.n_columns, exact.n_features) + classes - 1
    count = int(most * rows.n_columns * linear_functions(exact.head) / each)
    if count < classes:
        what = f"`max_operations` {most:g}x allows {count} landmarks for {classes} classes"
        raise NothingFitsError(what, "allow more")
    return count
