"""Training of a linear model on Nystrom features, which gives a single expansion.

With landmarks Z and W = K(Z, Z) = U S U', the features of a row x are phi(x) = K(x, Z) P, where
P = U S^(-1/2) over the positive eigenvalues, so that phi(x) . phi(y) approximates K(x, y). A linear model w
of these features is f(x) = K(x, Z) (P w) - rho, an expansion in the landmarks with coefficients P w (Zhang,
Kwok: Clustered Nystrom method for large scale manifold learning and dimension reduction, 2010).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from svmfast.errors import MemoryLimitError
from svmfast.kernels import Kernel
from svmfast.methods.common.class_targets import labels_of
from svmfast.methods.common.equal_rows import row_keys
from svmfast.methods.common.error_statement import labels_differing
from svmfast.methods.common.head_score import head_quality
from svmfast.methods.common.hold_out import Aside, rows_aside
from svmfast.methods.given import Setting
from svmfast.methods.nystrom.options import NystromOptions
from svmfast.methods.nystrom.report import NystromReport
from svmfast.models.head import Head
from svmfast.models.routed import RoutedModel
from svmfast.routing import flat_tree
from svmfast.rows import FloatArray, Rows
from svmfast.score import values_differing_percent
from svmfast.solvers.kernel_clusters import kmeans_centers, load_kmeans
from svmfast.solvers.nystrom import eigen_descending, inverse_root, kernel_features
from svmfast.solvers.squared_hinge import solve_squared_hinge
from svmfast.threads import one_blas_thread

#: The squared hinge problem counts as solved when the gradient, relative to that at zero, is at most this.
TOLERANCE = 1e-5
#: Default regularization of ridge, and of fits to decision values, which have no noise.
LAMBDA, EXACT_LAMBDA = 0.1, 1e-6


def regularization_of(options: NystromOptions, converted: bool) -> float:
    """Return the lambda of a fit to values, as given or by default."""
    return options.lambda_ or (EXACT_LAMBDA if converted else LAMBDA)


def fit(
    rows: Rows,
    targets: FloatArray,
    head: Head,
    options: NystromOptions,
    gamma: float,
    *,
    values: bool,
    weights: FloatArray | None = None,
    provenance: dict[str, str],
    setting: Setting,
) -> tuple[RoutedModel, NystromReport]:
    """Train a linear model for each column of `targets` on the features of `rows`.

    Parameters
    ----------
    rows : Rows
        n > 0 rows.
    targets : (n, p) float64
        Values, or +1 and -1.
    head : Head
        The head of the result.
    options : NystromOptions
    gamma : float
    values : bool
        Fit values by ridge regression rather than classes with the squared hinge loss.
    weights : (n,) float64, optional
        Weights of the rows, for classification; C is multiplied by them.
    provenance : dict
    setting : Setting

    Raises
    ------
    MemoryLimitError
        The features need more than ``options.memory``.
    """
    n = len(rows)
    _check_memory(n, rows.n_columns, targets.shape[1], options)
    converted = "source" in provenance
    aside = rows_aside(row_keys(rows), None, (options.seed, 1), copies_agree=converted)
    held, train = aside.held, np.flatnonzero(aside.fitted)
    fitted, wanted = rows.take(train), targets[train]
    load_kmeans()
    with one_blas_thread():
        setting.progress(0, None, "landmarks")
        landmarks = kmeans_centers(fitted, options.landmarks, seed=options.seed)
        kernel = Kernel("rbf", gamma)
        projection = inverse_root(*eigen_descending(kernel.matrix(landmarks, landmarks)), len(landmarks))
        setting.progress(0, None, "features")
        features = kernel_features(kernel, fitted, landmarks, projection)
        setting.progress(0, None, "train")
        if values:
            found, rho = _ridge(features, wanted, regularization_of(options, "source" in provenance))
        else:
            each = None if weights is None else weights[train]
            found, rho = _hinge(features, wanted, options.C, each)
        coefficients = projection @ found
    model = RoutedModel(
        head=head,
        kernel="rbf",
        gamma=np.array([gamma]),
        children=flat_tree(1),
        centers=landmarks.mean(axis=0, keepdims=True),
        landmarks=Rows.from_dense(landmarks),
        sizes=np.array([len(landmarks)], dtype=np.int64),
        coef=np.ascontiguousarray(coefficients.T),
        rho=rho[None, :],
        provenance=provenance,
    )
    setting.progress(0, None, "error on held-out rows")
    compared = aside.rows if converted else held
    decisions = model.decision_values(rows.take(compared), threads=setting.threads)
    error = _error(head, decisions, targets[compared], aside, converted=converted)
    quality = None
    if len(held) and not converted:
        truth = targets[held, 0] if head.is_regression else labels_of(head, targets[held])
        quality = head_quality(head, decisions, truth)
    report = NystromReport(
        rows=len(train),
        rows_held_out=len(held),
        features=rows.n_columns,
        landmarks=len(landmarks),
        rank=projection.shape[1],
        functions=targets.shape[1],
        gamma=gamma,
        **error,
        held_out=quality,
    )
    return model, report


def _check_memory(n: int, width: int, functions: int, options: NystromOptions) -> None:
    m = options.landmarks
    needed = 8 * (n * (m + 4 * functions) + 3 * m * m + m * width)
    if needed > options.memory:
        raise MemoryLimitError(
            f"training on {n:,} rows and {m:,} landmarks",
            needed,
            options.memory,
            "raise `memory`, or use fewer landmarks or rows",
        )


def _ridge(features: FloatArray, values: FloatArray, regularization: float) -> tuple[FloatArray, FloatArray]:
    """Fit ridge regression with an unpenalized bias; return weights ``(r, p)`` and rho ``(p,)``."""
    from scipy.linalg import solve

    mean, level = features.mean(axis=0), values.mean(axis=0)
    centered = features - mean
    gram = centered.T @ centered
    gram[np.diag_indices_from(gram)] += regularization
    weights = np.asarray(solve(gram, centered.T @ (values - level), assume_a="pos"))
    return weights, mean @ weights - level


def _hinge(
    features: FloatArray, targets: FloatArray, cost: float, weights: FloatArray | None
) -> tuple[FloatArray, FloatArray]:
    """Minimize the squared hinge loss, with the bias in the norm as in LIBLINEAR.

    Return weights ``(r, p)`` and rho ``(p,)``.
    """
    with_bias = np.hstack([features, np.ones((len(features), 1))])
    found = solve_squared_hinge(
        lambda w: with_bias @ w,
        lambda v: with_bias.T @ v,
        targets,
        cost,
        np.einsum("ij,ij,i->j", with_bias, with_bias, np.ones(len(features)) if weights is None else weights),
        tolerance=TOLERANCE,
        weights=weights,
    )
    return found.weights[:-1], -found.weights[-1]


def _error(
    head: Head, decisions: FloatArray, targets: FloatArray, aside: Aside, *, converted: bool
) -> dict[str, Any]:
    """Return the error on held-out rows; all figures are None if there are none.

    `converted`: the targets are an exact model's values, and the rows are those of ``aside.rows``.
    """
    names = ("agreement", "agreement_low", "agreement_high", "relative_rms", "values_differing_percent")
    found: dict[str, Any] = dict.fromkeys((*names, "labels_differing"))
    if not len(targets):
        return found
    if head.is_regression and converted:
        differing = values_differing_percent(decisions, targets, aside.counted.weights)
        return found | {"values_differing_percent": differing}
    if head.is_regression:
        spread = float(targets.std()) or 1.0
        return found | {"relative_rms": float(np.sqrt(np.mean((decisions - targets) ** 2))) / spread}
    right = head.predict(decisions) == head.predict(targets)
    if converted:
        return found | {"labels_differing": labels_differing(aside.counted.share(~right))}
    share = aside.counted.share(np.bincount(aside.place, weights=right) / np.bincount(aside.place))
    return found | dict(zip(names[:3], share, strict=True))
