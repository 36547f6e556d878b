"""meka: kernel ridge regression and SVM on a block-wise low-rank kernel matrix.

Si, Hsieh, Dhillon, "Memory Efficient Kernel Approximation", JMLR 18 (2017).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from svmfast.errors import OptionError, UnsupportedError
from svmfast.kernels import Kernel
from svmfast.methods.common.cross_validation import CrossValidation, best_of, check_folds, cross_validate
from svmfast.methods.common.equal_rows import row_keys
from svmfast.methods.common.error_statement import labels_differing
from svmfast.methods.common.head_score import MOST_SCORED
from svmfast.methods.common.hold_out import HELD_OUT, LEAST_ROWS, rows_aside
from svmfast.methods.common.landmark_report import linear_functions
from svmfast.methods.common.problem import Problem
from svmfast.methods.common.refit_probabilities import probabilities_after, probability_error
from svmfast.methods.common.stopwatch import Stopwatch
from svmfast.methods.given import ALONE, Setting
from svmfast.methods.meka.approximation import approximate_kernel
from svmfast.methods.meka.blocks import block_ridge, block_svc
from svmfast.methods.meka.options import MekaOptions
from svmfast.methods.meka.plan import check_blocks, checked_bytes, triangle_bytes
from svmfast.methods.meka.report import MekaReport
from svmfast.methods.meka.solve import assemble, meka_ridge, meka_svc
from svmfast.models.base import Model
from svmfast.models.routed import RoutedModel
from svmfast.rows import FloatArray, Rows
from svmfast.score import values_differing_percent
from svmfast.solvers.arithmetic import provenance
from svmfast.solvers.kernel_clusters import kmeans_centers, load_kmeans, partition
from svmfast.threads import one_blas_thread


def fit_ridge(
    rows: Rows, targets: FloatArray, options: MekaOptions, setting: Setting = ALONE
) -> tuple[RoutedModel, MekaReport]:
    """Fit kernel ridge regression, (G + lambda I) alpha = y - mean(y), with an approximated G.

    With several `gamma` or `lambda_`, `folds` must be set, and the pair with the smallest RMSE is used.
    """
    options = options.resolved(rows.n_columns)
    return _fit("ridge", _problem("ridge", rows, targets, options), options, setting)


def fit_svc(
    rows: Rows, labels: FloatArray, options: MekaOptions, setting: Setting = ALONE
) -> tuple[RoutedModel, MekaReport]:
    """Train a classifier with the squared hinge loss in the primal, on the approximation's features.

    Three or more classes are trained one-vs-rest. With `block_only`, each cluster has its own LIBSVM C-SVC
    model instead (BKA-SVM, section 4.2 of the paper).
    """
    options = options.resolved(rows.n_columns)
    return _fit("svc", _problem("svc", rows, labels, options), options, setting)


def fit_exact(
    rows: Rows, exact: Model, options: MekaOptions, setting: Setting = ALONE, source: str | None = None
) -> tuple[RoutedModel, MekaReport]:
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
    problem = Problem(rows, targets, exact.head, "squares")
    model, report = _fit("exact", problem, options, setting, source)
    return model, replace(report, probabilities=probabilities_after(exact.head, model.head))


def cross_validate_meka(
    rows: Rows, targets: FloatArray, options: MekaOptions, setting: Setting = ALONE
) -> tuple[CrossValidation, ...]:
    """Return the score of each pair of gamma and regularization, without fitting a model to all rows."""
    options = options.resolved(rows.n_columns)
    problem = _problem(str(options.task), rows, targets, options)
    check_folds(options.folds, 1, len(rows))
    checked_bytes(rows, options, str(options.task), problem.targets.shape[1], threads=setting.threads)
    with one_blas_thread():
        return _scores(str(options.task), problem, options, setting)


def _problem(task: str, rows: Rows, labels: FloatArray, options: MekaOptions) -> Problem:
    if task == "svc" and options.psd == "none" and not options.block_only:
        raise OptionError("svc needs a positive semidefinite approximation; `psd` must be clip or shift")
    return Problem.of_task(task, rows, labels, options.weights, pairs=options.block_only)


def _scores(
    task: str, problem: Problem, options: MekaOptions, setting: Setting
) -> tuple[CrossValidation, ...]:
    def models(inside: Problem) -> Iterator[RoutedModel]:
        work = Work(task, inside, options, Setting(setting.threads))
        for gamma in options.gamma:
            yield from work.models(gamma, options.regularizations(problem.loss))

    return cross_validate(problem, options, setting, models)


class Work:
    """A problem and its clusters. All regularizations share the clusters, blocks and links."""

    def __init__(self, task: str, problem: Problem, options: MekaOptions, setting: Setting) -> None:
        self.task, self.options, self.setting = task, options, setting
        centers = kmeans_centers(problem.rows, options.clusters, seed=options.seed)
        self.parted = partition(problem.rows, centers, threads=setting.threads)
        self.problem = replace(problem.only(self.parted.order), rows=self.parted.rows)
        self.ranks: tuple[int, ...] = ()
        self.links, self.bytes = 0, 0

    def models(self, gamma: float, regularizations: Sequence[float]) -> list[RoutedModel]:
        """Return the model of each regularization."""
        options, problem, parted = self.options, self.problem, self.parted
        kernel, threads = Kernel(options.kernel_kind, gamma), self.setting.threads
        if options.block_only:
            self.setting.progress(0, None, "exact blocks")
            check_blocks(parted.sizes, options, self.task, threads=threads)
            self.ranks, self.bytes = tuple(parted.sizes.tolist()), triangle_bytes(parted.sizes)
            if problem.hinge:
                return [block_svc(kernel, parted, problem, cost, threads) for cost in regularizations]
            return block_ridge(kernel, parted, problem, regularizations, threads)
        largest, width = int(parted.sizes.max()), problem.targets.shape[1]
        checked_bytes(parted.rows, options, self.task, width, threads=threads, largest=largest)
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
    """Return the lambda with the smallest squared error on held-out rows, and statistics of that error."""
    head, lambdas, threads = problem.head, options.regularizations(problem.loss), setting.threads
    keys = row_keys(problem.rows)
    count = max(1, int(HELD_OUT * len(set(keys))))
    # Frequent rows are held out like others, because lambda is chosen on all of these rows.
    aside = rows_aside(keys, count, (options.seed, 8), copies_agree=False)
    outside = problem.only(~aside.fitted)
    work = Work("exact", problem.only(aside.fitted), options, Setting(threads))
    values = [
        model.decision_values(outside.rows, threads=threads)
        for model in work.models(options.gamma[0], lambdas)
    ]
    miss = [np.abs(v - outside.targets) for v in values]
    best = int(np.argmin([np.mean(m**2) for m in miss]))
    found = {f"q{q}": float(np.quantile(miss[best], q / 100)) for q in (50, 90, 99)}
    found |= {"max": float(miss[best].max()), "mean": float(miss[best].mean())}
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


def _fit(
    task: str, problem: Problem, options: MekaOptions, setting: Setting, source: str | None = None
) -> tuple[RoutedModel, MekaReport]:
    """Fit a problem; `options` must be resolved."""
    rows, regularizations = problem.rows, options.regularizations(problem.loss)
    # In a conversion, lambda is chosen on held-out rows.
    check_folds(options.folds, 1 if task == "exact" else len(options.gamma) * len(regularizations), len(rows))
    planned = checked_bytes(rows, options, task, problem.targets.shape[1], threads=setting.threads)
    load_kmeans()
    scores: tuple[CrossValidation, ...] = ()
    held_out: Mapping[str, float] | None = None
    gamma, regularization = options.gamma[0], regularizations[0]
    with one_blas_thread():
        seconds = Stopwatch()
        if options.folds:
            scores = _scores(task, problem, options, setting)
            best = best_of(scores, classes=problem.hinge)
            gamma, regularization = best.gamma, best.regularization
            seconds.lap("cross validation")
        elif task == "exact" and len(set(row_keys(rows))) >= LEAST_ROWS:
            setting.progress(0, None, "lambda, on held-out rows")
            regularization, held_out = _choose_on_held_out(problem, options, setting)
            seconds.lap("held out")
        setting.progress(0, None, "clusters")
        work = Work(task, problem, options, setting)
        seconds.lap("clusters")
        (model,) = work.models(gamma, [regularization])
        seconds.lap("blocks, links and solution")
    parameters = options.parameters(task, gamma, regularization)
    model = replace(model, provenance=provenance("meka", parameters, options.seed, source))
    setting.progress(0, None, "error")
    sample = rows[: min(len(rows), MOST_SCORED)]
    report = MekaReport(
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
        linear_multiply_adds=float(rows.n_columns * linear_functions(problem.head)),
        training=problem.quality(problem.head, model.decision_values(sample, threads=setting.threads)),
        cross_validation=scores,
        folds=options.folds,
        held_out=held_out,
        seconds=seconds.laps,
    )
    return model, report
