"""Training of a linear model on Nystrom features, which gives a single expansion.

With landmarks Z and W = K(Z, Z) = U S U', the features of a row x are phi(x) = K(x, Z) P, where
P = U S^(-1/2) over the positive eigenvalues, so that phi(x) . phi(y) approximates K(x, y). A linear model w
of these features is f(x) = K(x, Z) (P w) - rho, an expansion in the landmarks with coefficients P w (Zhang,
Kwok: Clustered Nystrom method for large scale manifold learning and dimension reduction, 2010).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from svmfast.display import count
from svmfast.errors import MemoryLimitError, OptionError, UnsupportedError
from svmfast.figures import Figures, computed, figure
from svmfast.kernels import Kernel
from svmfast.methods.common.equal_rows import Aside, row_keys, rows_aside
from svmfast.methods.common.error_statement import labels_differing, labels_line
from svmfast.methods.common.file_sizes import FileSizes
from svmfast.methods.common.problem import Problem, remark_on_classes, warn_of_absent
from svmfast.methods.grid import Candidate, Grid, NotTried
from svmfast.methods.method import Inputs, Outcome, Setting
from svmfast.methods.nystrom import NystromOptions
from svmfast.models.routed import RoutedModel
from svmfast.rows import FloatArray, Rows
from svmfast.score import Quality, values_differing_percent
from svmfast.solvers.arithmetic import provenance
from svmfast.solvers.kernel_clusters import kmeans_centers, load_kmeans
from svmfast.solvers.nystrom import eigen_descending, inverse_root, kernel_features
from svmfast.solvers.squared_hinge import solve_squared_hinge
from svmfast.threads import one_blas_thread


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


@dataclass(frozen=True, kw_only=True)
class NystromReport(Figures):
    """The report of a fit, with its error on held-out rows."""

    rows: int = figure("Rows that were trained on.")
    rows_held_out: int = figure("Rows held out.")
    features: int = figure("Features in use.")
    landmarks: int = figure("Landmarks of the model.")
    rank: int = figure("Positive eigenvalues of the landmarks' kernel matrix.")
    functions: int = figure("Decision functions.")
    gamma: float = figure("Gamma of the kernel.")
    agreement: float | None = figure(
        "Percent of the held-out rows with the label of the data.",
        key="labels_right_percent",
        value=_percent,
        default=None,
    )
    agreement_low: float | None = figure(
        "Lower end of its 95% confidence interval.",
        key="labels_right_percent_low",
        value=_percent,
        default=None,
    )
    agreement_high: float | None = figure(
        "Upper end of its 95% confidence interval.",
        key="labels_right_percent_high",
        value=_percent,
        default=None,
    )
    relative_rms: float | None = figure(
        "Root mean square error over the standard deviation of the held-out targets.", default=None
    )
    #: Of a converted regression model (:func:`svmfast.score.values_differing_percent`).
    values_differing_percent: float | None = figure(
        "Root mean square difference from the exact values, in percent of their spread.", default=None
    )
    #: Of a converted classifier (:func:`svmfast.methods.common.error_statement.labels_differing`).
    labels_differing: Mapping[str, float] | None = None
    #: On the held-out rows; None if an exact model was converted, or if there are no such rows.
    held_out: Quality | None = None

    def lines(self) -> list[str]:
        lines = [
            f"rows         {self.rows:,} to train on, {self.rows_held_out:,} held out",
            f"landmarks    {self.landmarks:,} (rank {self.rank:,}), gamma {self.gamma:g}, "
            f"{count(self.functions, 'function')}",
        ]
        if self.agreement is not None:
            lines.append(
                f"accuracy     {self.agreement:.2%} on the held-out rows (95% confidence: "
                f"{self.agreement_low:.2%} to {self.agreement_high:.2%})"
            )
        if self.labels_differing is not None:
            lines.append(f"labels       {labels_line(self.labels_differing)}, on the held-out rows")
        if self.relative_rms is not None:
            lines.append(
                f"error        root mean square over the spread of the values: {self.relative_rms:.2%}"
            )
        if self.values_differing_percent is not None:
            percent = self.values_differing_percent
            lines.append(f"values       differ by {percent:.3g}% of their spread, on the held-out rows")
        if self.held_out is not None:
            lines.append(f"held out     {self.held_out.line()}")
        return lines

    @computed.figure("Figures of the held-out rows.", key="held_out")
    def figures_held_out(self) -> dict[str, Any] | None:
        """The number of held-out rows and what was measured on them; None if nothing was."""
        found = self.labels_differing if self.held_out is None else self.held_out.to_dict()
        return None if found is None else {"rows": self.rows_held_out, **found}


#: The squared hinge problem counts as solved when the gradient, relative to that at zero, is at most this.
TOLERANCE = 1e-5
#: Default regularization of ridge, and of fits to decision values.
LAMBDA, EXACT_LAMBDA = 0.1, 1e-6
#: Numbers of landmarks of the candidates for ``frontier``.
SIZES = (64, 256, 1024)


def run(inputs: Inputs, options: NystromOptions, setting: Setting) -> Outcome:
    data, source = inputs.rows("data"), inputs["exact"]
    rows, gamma = data.rows, options.gamma or 1.0 / max(1, data.rows.n_columns)
    if source is not None:
        exact = source.model.expansion
        assert exact is not None, "the declaration requires it"
        if options.gamma is None:
            if exact.kernel.kind != "rbf":
                raise OptionError(f"the exact model's kernel is {exact.kernel.kind}; give `gamma`")
            gamma = exact.kernel.gamma
        if not exact.head.n_functions:
            raise UnsupportedError("the model has no decision function", "it needs no conversion")
        setting.progress(0, None, "exact model on the rows")
        values = exact.decision_values(rows, threads=setting.threads)
        problem, task = Problem(rows, values, exact.head, "exact"), "exact"
    else:
        task = str(options.task)
        if data.labels is None:
            raise OptionError(f"`task` {task} needs labels")
        problem = Problem.of_task(task, rows, data.labels, options.weights)
        warn_of_absent(options.weights, data.labels, data.name, setting)
    # Decision values have no noise.
    lambda_ = options.lambda_ or (LAMBDA if source is None else EXACT_LAMBDA)
    regularization = options.C if problem.hinge else lambda_
    model, report = fit(problem, replace(options, gamma=gamma), regularization, source is not None, setting)
    parameters = f"task {task} gamma {gamma!r} {'C' if problem.hinge else 'lambda'} {regularization!r}"
    parameters += "".join(f" w{label} {weight!r}" for label, weight in options.weights)
    parameters += f" landmarks {options.landmarks}"
    origin = provenance("nystrom", parameters, options.seed, None if source is None else source.identity)
    remark_on_classes(report.held_out, setting)
    return Outcome(replace(model, provenance=origin), report)


def candidates(grid: Grid) -> tuple[list[Candidate], list[NotTried]]:
    if not grid.exact.head.n_functions:
        return [], [NotTried("nystrom", "a model without decision functions needs no conversion")]
    options: dict[str, Any] = {"seed": grid.seed}
    if grid.exact.kernel.kind != "rbf":
        options["gamma"] = 1.0 / max(1, grid.exact.n_features)
    sizes = FileSizes(grid)
    bytes_of = partial(sizes.routed, 1, head=grid.exact.head)
    found: dict[int, Candidate] = {}

    def add(size: int, level: int, sized: bool = False) -> None:
        chosen = {"landmarks": size, **options}
        inputs, most = ("data", "exact"), bytes_of(size)
        found[size] = Candidate(f"nystrom-{size}", level, chosen, inputs, most, sized)

    most = len(grid.exact.sv) - 1
    for level, size in enumerate(size for size in SIZES if size <= most):
        add(size, level)
    if fitting := sizes.largest(bytes_of, most):
        add(fitting, sum(size < fitting for size in SIZES), sized=True)
    return list(found.values()), []


def fit(
    problem: Problem, options: NystromOptions, regularization: float, converted: bool, setting: Setting
) -> tuple[RoutedModel, NystromReport]:
    """Train a linear model of each target on the rows' features; `converted`: they are an exact model's."""
    rows, targets, gamma = problem.rows, problem.targets, options.gamma
    assert gamma is not None
    n, m = len(rows), options.landmarks
    needed = 8 * (n * (m + 4 * targets.shape[1]) + 3 * m * m + m * rows.n_columns)
    if needed > options.memory:
        what = f"training on {n:,} rows and {m:,} landmarks"
        raise MemoryLimitError(what, needed, options.memory, "raise `memory`, or use fewer landmarks or rows")
    aside = rows_aside(row_keys(rows), None, (options.seed, 1), copies_agree=converted)
    fitted = problem.only(np.flatnonzero(aside.fitted))
    load_kmeans()
    with one_blas_thread():
        setting.progress(0, None, "landmarks")
        landmarks = kmeans_centers(fitted.rows, options.landmarks, seed=options.seed)
        kernel = Kernel("rbf", gamma)
        projection = inverse_root(*eigen_descending(kernel.matrix(landmarks, landmarks)), len(landmarks))
        setting.progress(0, None, "features")
        features = kernel_features(kernel, fitted.rows, landmarks, projection)
        setting.progress(0, None, "train")
        train = _hinge if problem.hinge else _ridge
        found, rho = train(features, fitted, regularization)
        coefficients = projection @ found
    center = landmarks.mean(axis=0, keepdims=True)
    model = RoutedModel.flat(
        problem.head, kernel, center, [Rows.from_dense(landmarks)], [coefficients.T], rho[None, :]
    )
    setting.progress(0, None, "error on held-out rows")
    compared = problem.only(aside.rows if converted else aside.held)
    decisions = model.decision_values(compared.rows, threads=setting.threads)
    report = NystromReport(
        rows=len(fitted.rows),
        rows_held_out=len(aside.held),
        features=rows.n_columns,
        landmarks=len(landmarks),
        rank=projection.shape[1],
        functions=targets.shape[1],
        gamma=gamma,
        **_error(compared, decisions, aside, converted=converted),
    )
    return model, report


def _ridge(features: FloatArray, problem: Problem, lambda_: float) -> tuple[FloatArray, FloatArray]:
    """Fit ridge regression with an unpenalized bias; return weights ``(r, p)`` and rho ``(p,)``."""
    from scipy.linalg import solve

    mean, level = features.mean(axis=0), problem.targets.mean(axis=0)
    centered = features - mean
    gram = centered.T @ centered
    gram[np.diag_indices_from(gram)] += lambda_
    weights = np.asarray(solve(gram, centered.T @ (problem.targets - level), assume_a="pos"))
    return weights, mean @ weights - level


def _hinge(features: FloatArray, problem: Problem, cost: float) -> tuple[FloatArray, FloatArray]:
    """Weights ``(r, p)`` and rho ``(p,)`` of the squared hinge loss; the norm includes the bias."""
    with_bias = np.hstack([features, np.ones((len(features), 1))])
    each = np.ones(len(features)) if problem.weights is None else problem.weights
    found = solve_squared_hinge(
        lambda w: with_bias @ w,
        lambda v: with_bias.T @ v,
        problem.targets,
        cost,
        np.einsum("ij,ij,i->j", with_bias, with_bias, each),
        tolerance=TOLERANCE,
        weights=problem.weights,
    )
    return found[:-1], -found[-1]


def _error(compared: Problem, decisions: FloatArray, aside: Aside, *, converted: bool) -> dict[str, Any]:
    """Return the figures of the error on held-out rows; `converted`: those are ``aside.rows``."""
    head, targets = compared.head, compared.targets
    if not len(targets):
        return {}
    if converted and head.is_regression:
        differing = values_differing_percent(decisions, targets, aside.counted.weights)
        return {"values_differing_percent": differing}
    if converted:
        wrong = head.predict(decisions) != head.predict(targets)
        return {"labels_differing": labels_differing(aside.counted.share(wrong))}
    found: dict[str, Any] = {"held_out": compared.quality(head, decisions)}
    if head.is_regression:
        spread = float(targets.std()) or 1.0
        return found | {"relative_rms": float(np.sqrt(np.mean((decisions - targets) ** 2))) / spread}
    right = head.predict(decisions) == head.predict(targets)
    share = aside.counted.share(np.bincount(aside.place, weights=right) / np.bincount(aside.place))
    return found | dict(zip(("agreement", "agreement_low", "agreement_high"), share, strict=True))
