"""Training of a linear model on Nystrom features, which gives a single expansion.

With landmarks Z and W = K(Z, Z) = U S U', the features of a row x are phi(x) = K(x, Z) P, where
P = U S^(-1/2) over the positive eigenvalues, so that phi(x) . phi(y) approximates K(x, y). A linear model w
of these features is f(x) = K(x, Z) (P w) - rho, an expansion in the landmarks with coefficients P w (Zhang,
Kwok: Clustered Nystrom method for large scale manifold learning and dimension reduction, 2010).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from svmfast.display import count
from svmfast.errors import MemoryLimitError, OptionError, SingleClassError, UnsupportedError
from svmfast.kernels import Kernel
from svmfast.methods.common.class_targets import labels_of, svc_targets
from svmfast.methods.common.class_weights import row_weights, warn_of_absent
from svmfast.methods.common.head_score import head_quality, remark_on_classes
from svmfast.methods.given import Inputs, Outcome, Setting
from svmfast.methods.grid import Candidate, Grid, NotTried
from svmfast.methods.nystrom.options import NystromOptions
from svmfast.models.base import Model
from svmfast.models.expansion import KernelExpansion
from svmfast.models.head import Head
from svmfast.models.routed import RoutedModel
from svmfast.routing import flat_tree
from svmfast.rows import FloatArray, Rows
from svmfast.score import Quality
from svmfast.solvers.arithmetic import arithmetic
from svmfast.solvers.binomial import clopper_pearson
from svmfast.solvers.kernel_clusters import kmeans_centers, load_kmeans
from svmfast.solvers.nystrom import eigen_descending, inverse_root, kernel_features
from svmfast.solvers.squared_hinge import solve_squared_hinge
from svmfast.threads import one_blas_thread

#: Share and maximum number of the rows held out to measure the error; with fewer than LEAST_ROWS, none are.
HELD_OUT, MOST_HELD_OUT, LEAST_ROWS = 0.1, 10_000, 20
#: The squared hinge problem counts as solved when the gradient, relative to that at zero, is at most this.
TOLERANCE = 1e-5
#: Default regularization of ridge, and of fits to decision values, which have no noise.
LAMBDA, EXACT_LAMBDA = 0.1, 1e-6
#: Numbers of landmarks of the candidates for ``frontier``.
SIZES = (64, 256, 1024)


@dataclass(frozen=True)
class NystromReport:
    """The report of a fit, with its error on held-out rows.

    Attributes
    ----------
    rows, rows_held_out, features, landmarks, rank, functions : int
        `rank` is the number of positive eigenvalues of the landmarks' kernel matrix.
    gamma : float
    agreement : float or None
        Share of the held-out rows whose label equals that of the data, or of the exact model.
    agreement_low, agreement_high : float or None
        Its Clopper-Pearson interval at 95 %.
    relative_rms : float or None
        For fits to values: root mean square error divided by the standard deviation of the held-out values.
    held_out : Quality or None
        Quality on the held-out rows; None if an exact model was converted, or if there are no such rows.
    """

    rows: int
    rows_held_out: int
    features: int
    landmarks: int
    rank: int
    functions: int
    gamma: float
    agreement: float | None
    agreement_low: float | None
    agreement_high: float | None
    relative_rms: float | None
    held_out: Quality | None

    def lines(self) -> list[str]:
        """Return the report as text."""
        lines = [
            f"rows         {self.rows:,} to train on, {self.rows_held_out:,} held out",
            f"landmarks    {self.landmarks:,} (rank {self.rank:,}), gamma {self.gamma:g}, "
            f"{count(self.functions, 'function')}",
        ]
        if self.agreement is not None:
            lines.append(
                f"labels       {self.agreement:.2%} correct on the held-out rows; 95% confidence: "
                f"{self.agreement_low:.2%} to {self.agreement_high:.2%}"
            )
        if self.relative_rms is not None:
            lines.append(
                f"error        root mean square over the spread of the values: {self.relative_rms:.2%}"
            )
        if self.held_out is not None:
            lines.append(f"held out     {self.held_out.line()}")
        return lines

    def to_dict(self) -> dict[str, Any]:
        """Return the figures of docs/json.md."""
        return {
            "rows": self.rows,
            "rows_held_out": self.rows_held_out,
            "features": self.features,
            "landmarks": self.landmarks,
            "rank": self.rank,
            "functions": self.functions,
            "gamma": self.gamma,
            "labels_right_percent": None if self.agreement is None else 100 * self.agreement,
            "labels_right_percent_low": None if self.agreement_low is None else 100 * self.agreement_low,
            "labels_right_percent_high": None if self.agreement_high is None else 100 * self.agreement_high,
            "relative_rms": self.relative_rms,
            "held_out": None
            if self.held_out is None
            else {"rows": self.rows_held_out, **self.held_out.as_dict()},
        }


def run(inputs: Inputs, options: NystromOptions, setting: Setting) -> Outcome:
    """Train on `data`, or fit `exact` on its rows."""
    data, source = inputs.rows("data"), inputs["exact"]
    rows = data.rows
    each: FloatArray | None = None
    gamma = options.gamma or 1.0 / max(1, rows.n_columns)
    provenance = {"method": "nystrom", "seed": str(options.seed), "arithmetic": arithmetic()}
    if source is not None:
        exact: Model = source.model
        assert isinstance(exact, KernelExpansion), "the declaration requires it"
        if options.gamma is None:
            if exact.kernel.kind != "rbf":
                raise OptionError(f"the exact model's kernel is {exact.kernel.kind}; give `gamma`")
            gamma = exact.kernel.gamma
        if not exact.head.n_functions:
            raise UnsupportedError("the model has no decision function", "it needs no conversion")
        setting.progress(0, None, "exact model on the rows")
        head, targets = exact.head, exact.decision_values(rows, threads=setting.threads)
        provenance["source"] = source.identity
    else:
        if data.labels is None:
            raise OptionError(f"`task` {options.task} needs labels")
        head, targets = _labelled(data.labels, str(options.task))
        warn_of_absent(options.weights, data.labels, data.name, setting)
        each = row_weights(options.weights, data.labels)
    provenance["parameters"] = _parameters(options, gamma, source is not None)
    model, report = fit(
        rows,
        targets,
        head,
        options,
        gamma,
        values=options.task != "svc",
        weights=each,
        provenance=provenance,
        setting=setting,
    )
    remark_on_classes(report.held_out, setting)
    return Outcome(model, report)


def _labelled(labels: FloatArray, task: str) -> tuple[Head, FloatArray]:
    if task == "ridge":
        return Head("epsilon_svr"), labels[:, None]
    head, targets = svc_targets(labels, pairs=False)
    if head.n_classes < 2:
        raise SingleClassError(labels[0])
    return head, targets


def _parameters(options: NystromOptions, gamma: float, converted: bool) -> str:
    task = "exact" if converted else options.task
    regularization = f"C {options.C!r}" if task == "svc" else f"lambda {_lambda(options, converted)!r}"
    weights = "".join(f" w{label} {weight!r}" for label, weight in options.weights)
    return f"task {task} gamma {gamma!r} {regularization}{weights} landmarks {options.landmarks}"


def _lambda(options: NystromOptions, converted: bool) -> float:
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
    order = np.random.default_rng([options.seed, 1]).permutation(n)
    aside = min(MOST_HELD_OUT, int(HELD_OUT * n)) if n >= LEAST_ROWS else 0
    held, train = np.sort(order[:aside]), np.sort(order[aside:])
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
            found, rho = _ridge(features, wanted, _lambda(options, "source" in provenance))
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
    decisions = model.decision_values(rows.take(held), threads=setting.threads)
    error = _error(head, decisions, targets[held])
    quality = None
    if aside and "source" not in provenance:
        truth = targets[held, 0] if head.is_regression else labels_of(head, targets[held])
        quality = head_quality(head, decisions, truth)
    report = NystromReport(
        rows=len(train),
        rows_held_out=aside,
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


def _error(head: Head, decisions: FloatArray, targets: FloatArray) -> dict[str, float | None]:
    """Return the error on held-out rows; all figures are None if there are none."""
    names = ("agreement", "agreement_low", "agreement_high", "relative_rms")
    found: dict[str, float | None] = dict.fromkeys(names)
    n = len(targets)
    if not n:
        return found
    if head.is_regression:
        spread = float(targets.std()) or 1.0
        found["relative_rms"] = float(np.sqrt(np.mean((decisions - targets) ** 2))) / spread
        return found
    same = int(np.count_nonzero(head.predict(decisions) == head.predict(targets)))
    low, high = clopper_pearson(same, n)
    return found | {"agreement": same / n, "agreement_low": low, "agreement_high": high}


def candidates(grid: Grid) -> tuple[list[Candidate], list[NotTried]]:
    """Return the candidates for ``frontier``: some numbers of landmarks."""
    if not grid.exact.head.n_functions:
        return [], [NotTried("nystrom", "a model without decision functions needs no conversion")]
    options: dict[str, Any] = {"seed": grid.seed}
    if grid.exact.kernel.kind != "rbf":
        options["gamma"] = 1.0 / max(1, grid.exact.n_features)
    tried = [
        Candidate(f"nystrom-{size}", level, {"landmarks": size, **options}, ("data", "exact"))
        for level, size in enumerate(size for size in SIZES if size < len(grid.exact.sv))
    ]
    return tried, []
