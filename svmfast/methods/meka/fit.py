"""meka: kernel ridge regression and SVM on a block-wise low-rank kernel matrix.

Si, Hsieh, Dhillon, "Memory Efficient Kernel Approximation", JMLR 18 (2017).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from svmfast.errors import OptionError, UnsupportedError
from svmfast.figures import figure
from svmfast.kernels import Kernel
from svmfast.methods.common.cross_validation import (
    CrossValidation,
    ScoresReport,
    best_of,
    check_folds,
    checked_labels,
    cross_validate,
)
from svmfast.methods.common.equal_rows import HELD_OUT, LEAST_ROWS, row_keys, rows_aside
from svmfast.methods.common.error_statement import (
    labels_differing,
    labels_line,
    probabilities_after,
    probability_error,
)
from svmfast.methods.common.landmarks import (
    LandmarkReport,
    Stopwatch,
    outcome,
    widths_to_try,
)
from svmfast.methods.common.problem import MOST_SCORED, Problem
from svmfast.methods.grid import Candidate, Grid, NotTried
from svmfast.methods.meka import MekaOptions
from svmfast.methods.meka.approximation import (
    approximate_kernel,
    check_blocks,
    checked_bytes,
    plan_bytes,
    triangle_bytes,
)
from svmfast.methods.meka.error import kernel_error
from svmfast.methods.meka.solve import assemble, block_ridge, block_svc, meka_ridge, meka_svc
from svmfast.methods.method import ALONE, Inputs, Outcome, Setting
from svmfast.models.base import Model
from svmfast.models.routed import RoutedModel
from svmfast.rows import FloatArray, Rows
from svmfast.score import values_differing_percent
from svmfast.solvers.arithmetic import provenance
from svmfast.solvers.kernel_clusters import kmeans_centers, load_kmeans, partition
from svmfast.threads import one_blas_thread


@dataclass(frozen=True, kw_only=True)
class MekaReport(LandmarkReport):
    """The report of a fit; the task of a conversion is ``exact``."""

    ranks: tuple[int, ...] = figure("Rank of each cluster's block; of exact blocks, their sizes.")
    links: int = figure("Blocks between clusters that are not zero.")
    kernel: str = figure("The kernel's name.")
    bytes: int = figure("Memory of the approximated kernel matrix.", key="kernel_bytes")
    planned_bytes: int = figure("Memory announced for the whole work.")

    def lines(self) -> list[str]:
        line, held = "", self.held_out
        if held:
            line = f"|error| median {held['median_abs_error']:.3g}, 90 % {held['abs_error_90']:.3g}, "
            line += f"99 % {held['abs_error_99']:.3g}"
            if "labels_differing" in held:
                line += f"; {labels_line(held)}"
            if "values_differing_percent" in held:
                line += f"; values differ by {held['values_differing_percent']:.3g}% of their spread"
        ranks, size = f"{min(self.ranks)} to {max(self.ranks)}", self.bytes / 2**20
        return self.text(
            data=f", {self.clusters} clusters",
            kernel=f"{self.kernel}, gamma {self.gamma:.6g}",
            own=[f"blocks       ranks {ranks}, {self.links} links, {size:.1f} MiB"],
            held=line,
        )


Fitted = tuple[RoutedModel, MekaReport]


def fit(
    rows: Rows, labels: FloatArray, options: MekaOptions, setting: Setting = ALONE
) -> Fitted | tuple[None, ScoresReport]:
    """Train ridge regression, (G + lambda I) alpha = y - mean(y), or a classifier, with an approximated G.

    svc has the squared hinge loss, three or more classes one-vs-rest; with `block_only`, each cluster has its
    own LIBSVM C-SVC model instead (BKA-SVM, section 4.2 of the paper). With several `gamma`, `C` or
    `lambda_`, `folds` must be set, and the best pair is used; if no model is to be written, the scores are
    the result.
    """
    options = options.resolved(rows.n_columns)
    if options.task == "svc" and options.psd == "none" and not options.block_only:
        raise OptionError("svc needs a positive semidefinite approximation; `psd` must be clip or shift")
    problem = Problem.of_task(options.task, rows, labels, options.weights, pairs=options.block_only)
    check_folds(options.folds, len(options.gamma) * len(options.regularizations(problem.hinge)), len(rows))
    if setting.writes or not options.folds:
        return _fit(problem, options, setting)
    checked_bytes(rows, options, problem.task, problem.targets.shape[1], threads=setting.threads)
    with one_blas_thread():
        return None, ScoresReport(problem.task, options.folds, _scores(problem, options, setting))


def fit_exact(
    rows: Rows, exact: Model, options: MekaOptions, setting: Setting = ALONE, source: str | None = None
) -> Fitted:
    """Fit the decision values of a model of any svm_type, on rows that need no labels.

    All decision functions share clusters and landmarks; the result has the exact model's head, including its
    probabilities. A held-out tenth of the rows selects lambda and gives the reported error; the final fit
    uses all rows.
    """
    options = options.resolved(rows.n_columns, exact)
    if len(options.gamma) != 1 or options.folds:
        raise OptionError("`exact` takes one `gamma`, and no cross-validation (`folds`)")
    if not exact.head.n_functions:
        raise UnsupportedError(
            "the model has a single class and no decision function", "it needs no conversion"
        )
    setting.progress(0, None, "exact model on the rows")
    targets = exact.decision_values(rows, threads=setting.threads)
    model, report = _fit(Problem(rows, targets, exact.head, "exact"), options, setting, source)
    return model, replace(report, probabilities=probabilities_after(exact.head, model.head))


def _scores(problem: Problem, options: MekaOptions, setting: Setting) -> tuple[CrossValidation, ...]:
    def models(inside: Problem) -> Iterator[RoutedModel]:
        work = Work(inside, options, Setting(setting.threads))
        for gamma in options.gamma:
            yield from work.models(gamma, options.regularizations(problem.hinge))

    return cross_validate(problem, options, setting, models)


class Work:
    """A problem and its clusters. All regularizations share the clusters, blocks and links."""

    def __init__(self, problem: Problem, options: MekaOptions, setting: Setting) -> None:
        self.options, self.setting = options, setting
        centers = kmeans_centers(problem.rows, options.clusters, seed=options.seed)
        self.parted = partition(problem.rows, centers, threads=setting.threads)
        self.problem = replace(problem.only(self.parted.order), rows=self.parted.rows)
        self.ranks: tuple[int, ...] = ()
        self.links, self.bytes = 0, 0

    def models(self, gamma: float, regularizations: Sequence[float]) -> list[RoutedModel]:
        options, problem, parted = self.options, self.problem, self.parted
        kernel, threads, task = Kernel(options.kernel_kind, gamma), self.setting.threads, problem.task
        if options.block_only:
            self.setting.progress(0, None, "exact blocks")
            check_blocks(parted.sizes, options, task, threads=threads)
            self.ranks, self.bytes = tuple(parted.sizes.tolist()), triangle_bytes(parted.sizes)
            if problem.hinge:
                return [block_svc(kernel, parted, problem, cost, threads) for cost in regularizations]
            return block_ridge(kernel, parted, problem, regularizations, threads)
        largest, width = int(parted.sizes.max()), problem.targets.shape[1]
        checked_bytes(parted.rows, options, task, width, threads=threads, largest=largest)
        meka = approximate_kernel(kernel, parted, options, threads=threads, progress=self.setting.progress)
        self.ranks, self.links, self.bytes = tuple(meka.ranks.tolist()), len(meka.links), meka.bytes
        self.setting.progress(0, None, "solve")
        if problem.hinge:
            found = meka_svc(meka, problem.targets, regularizations, options.psd, problem.weights)
        else:
            found = meka_ridge(meka, problem.targets, regularizations, options.psd)
        return [assemble(meka, problem.head, inner, rho) for inner, rho in found]


def _choose_on_held_out(
    problem: Problem, options: MekaOptions, setting: Setting
) -> tuple[float, dict[str, float]]:
    """Choose the lambda with the smallest squared error on held-out rows; describe that error."""
    head, lambdas, threads = problem.head, options.regularizations(problem.hinge), setting.threads
    keys = row_keys(problem.rows)
    count = max(1, int(HELD_OUT * len(set(keys))))
    # Frequent rows are held out like others, because lambda is chosen on all of these rows.
    aside = rows_aside(keys, count, (options.seed, 8), copies_agree=False)
    outside = problem.only(~aside.fitted)
    models = Work(problem.only(aside.fitted), options, Setting(threads)).models(options.gamma[0], lambdas)
    values = [model.decision_values(outside.rows, threads=threads) for model in models]
    miss = [np.abs(v - outside.targets) for v in values]
    best = int(np.argmin([np.mean(m**2) for m in miss]))
    quantiles = {"median_abs_error": 0.5, "abs_error_90": 0.9, "abs_error_99": 0.99}
    found = {name: float(np.quantile(miss[best], share)) for name, share in quantiles.items()}
    found |= {"max_abs_error": float(miss[best].max()), "mean_abs_error": float(miss[best].mean())}
    found["rows"] = float(len(outside.rows))
    found |= probability_error(head, values[best], outside.targets)
    if head.is_regression:
        found["values_differing_percent"] = values_differing_percent(values[best], outside.targets)
    else:
        differing = head.predict(values[best]) != head.predict(outside.targets)
        found["labels_differing"] = float(np.count_nonzero(differing))
        shares = np.bincount(aside.place, weights=differing) / np.bincount(aside.place)
        found |= labels_differing(aside.counted.share(shares))
    return lambdas[best], found


def _fit(problem: Problem, options: MekaOptions, setting: Setting, source: str | None = None) -> Fitted:
    rows, task = problem.rows, problem.task
    planned = checked_bytes(rows, options, task, problem.targets.shape[1], threads=setting.threads)
    load_kmeans()
    scores: tuple[CrossValidation, ...] = ()
    held_out: Mapping[str, float] | None = None
    gamma, regularization = options.gamma[0], options.regularizations(problem.hinge)[0]
    with one_blas_thread():
        seconds = Stopwatch()
        if options.folds:
            scores = _scores(problem, options, setting)
            best = best_of(scores, classes=problem.hinge)
            gamma, regularization = best.gamma, best.regularization
            seconds.lap("cross validation")
        elif task == "exact" and len(set(row_keys(rows))) >= LEAST_ROWS:
            setting.progress(0, None, "lambda, on held-out rows")
            regularization, held_out = _choose_on_held_out(problem, options, setting)
            seconds.lap("held out")
        setting.progress(0, None, "clusters")
        work = Work(problem, options, setting)
        seconds.lap("clusters")
        (model,) = work.models(gamma, [regularization])
        seconds.lap("blocks, links and solution")
    parameters = options.parameters(task, gamma, regularization)
    model = replace(model, provenance=provenance("meka", parameters, options.seed, source))
    setting.progress(0, None, "error")
    sample = rows[: min(len(rows), MOST_SCORED)]
    return model, MekaReport(
        task=task,
        rows=len(rows),
        features=rows.n_columns,
        clusters=len(work.parted.sizes),
        ranks=work.ranks,
        links=work.links,
        kernel=options.kernel_kind,
        gamma=gamma,
        regularization=regularization,
        bytes=work.bytes,
        planned_bytes=planned,
        landmarks=len(model.landmarks),
        multiply_adds=model.multiply_adds(sample),
        linear_multiply_adds=float(rows.n_columns * problem.head.linear_functions),
        training=problem.quality(problem.head, model.decision_values(sample, threads=setting.threads)),
        cross_validation=scores,
        folds=options.folds,
        held_out=held_out,
        seconds=seconds.laps,
    )


#: Clusters and rank of the candidates for ``frontier``.
BLOCKS = ((8, 16), (16, 32), (32, 64))
#: The candidate for a limit on bytes has at most so many clusters, fewer if their rank would be lower.
MOST_CLUSTERS, LEAST_RANK = 8, 16


def run(inputs: Inputs, options: MekaOptions, setting: Setting) -> Outcome:
    data, source = inputs.rows("data"), inputs["exact"]
    exact = None if source is None else source.model
    task = str(options.task) if exact is None else "exact"
    options = options.resolved(data.rows.n_columns, exact)
    functions = 1 if exact is None else exact.head.n_functions
    planned = plan_bytes(data.rows, options, task, functions, threads=setting.threads)
    setting.note(f"memory: at most {planned / 2**20:,.0f} MiB; limit {options.memory / 2**20:,.0f} MiB")
    if task == "error":
        return Outcome(None, kernel_error(data.rows, options, setting))
    if source is not None:
        made = fit_exact(data.rows, source.model, options, setting, source.identity)
        return outcome(made, setting, converted=True)
    missing = "`labels` are needed to train; for rows without labels, use `exact` or `task` error"
    labels = checked_labels(data, options, setting, missing)
    return outcome(fit(data.rows, labels, options, setting), setting, converted=False)


def candidates(grid: Grid) -> tuple[list[Candidate], list[NotTried]]:
    common = {**widths_to_try(grid.exact), "seed": grid.seed}
    blocks = set(BLOCKS)
    if vectors := grid.vectors:
        clusters = max(1, min(MOST_CLUSTERS, vectors // LEAST_RANK))
        blocks.add((clusters, vectors // clusters))
    return [
        Candidate(f"meka-{c}x{r}", level, {"clusters": c, "rank": r, **common}, ("data", "exact"))
        for level, (c, r) in enumerate(sorted(blocks, key=lambda block: block[0] * block[1]))
    ], []
