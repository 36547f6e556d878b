"""meka: kernel ridge regression, SVM and kernel error on a block-wise low-rank kernel matrix.

Si, Hsieh, Dhillon, "Memory Efficient Kernel Approximation", JMLR 18 (2017).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from svmfast.errors import OptionError, UnsupportedError
from svmfast.methods.common.class_targets import svc_targets
from svmfast.methods.common.class_weights import row_weights
from svmfast.methods.common.cross_validation import CrossValidation, best_of, check_folds
from svmfast.methods.common.equal_rows import row_keys
from svmfast.methods.common.execution import Execution
from svmfast.methods.common.head_score import MOST_SCORED
from svmfast.methods.common.hold_out import LEAST_ROWS
from svmfast.methods.common.landmark_report import linear_functions
from svmfast.methods.common.refit_probabilities import probabilities_after
from svmfast.methods.common.stopwatch import Stopwatch
from svmfast.methods.meka.options import MekaOptions
from svmfast.methods.meka.plan import check_memory, plan_bytes, resolved
from svmfast.methods.meka.report import MekaReport
from svmfast.methods.meka.work import Problem, Work, choose_on_held_out, cross_validate
from svmfast.models.base import Model
from svmfast.models.head import Head
from svmfast.models.routed import RoutedModel
from svmfast.progress import Progress, silent
from svmfast.rows import FloatArray, Rows
from svmfast.solvers.arithmetic import arithmetic
from svmfast.solvers.kernel_clusters import load_kmeans
from svmfast.threads import one_blas_thread


def fit_ridge(
    rows: Rows,
    targets: FloatArray,
    options: MekaOptions,
    *,
    threads: int = 1,
    provenance: Mapping[str, str] | None = None,
    progress: Progress = silent,
) -> tuple[RoutedModel, MekaReport]:
    """Fit kernel ridge regression, (G + lambda I) alpha = y - mean(y), with an approximated G.

    Parameters
    ----------
    rows : Rows
        n rows.
    targets : (n,) float64
        Any real numbers.
    options : MekaOptions
        With several `gamma` or `lambda_`, `folds` must be set, and the pair with the smallest RMSE is used.

    Raises
    ------
    OptionError, UnsupportedError, MemoryLimitError
    """
    options = resolved(options, rows.n_columns)
    problem = Problem("ridge", rows, targets[:, None], Head("epsilon_svr"))
    return _fit(problem, options, Execution(threads, provenance or {}, progress))


def fit_svc(
    rows: Rows,
    labels: FloatArray,
    options: MekaOptions,
    *,
    threads: int = 1,
    provenance: Mapping[str, str] | None = None,
    progress: Progress = silent,
) -> tuple[RoutedModel, MekaReport]:
    """Train a classifier with the squared hinge loss in the primal, on the approximation's features.

    Three or more classes are trained one-vs-rest. With `block_only`, each cluster has its own LIBSVM C-SVC
    model instead (BKA-SVM, section 4.2 of the paper).

    Parameters
    ----------
    rows : Rows
        n rows.
    labels : (n,) float64
        Integers.
    options : MekaOptions

    Raises
    ------
    OptionError, TrainingRowError, UnsupportedError, MemoryLimitError
    """
    options = resolved(options, rows.n_columns)
    return _fit(_svc(rows, labels, options), options, Execution(threads, provenance or {}, progress))


def fit_exact(
    rows: Rows,
    exact: Model,
    options: MekaOptions,
    *,
    threads: int = 1,
    provenance: Mapping[str, str] | None = None,
    progress: Progress = silent,
) -> tuple[RoutedModel, MekaReport]:
    """Fit the decision values of a model of any svm_type, on rows that need no labels.

    All decision functions share clusters and landmarks; the result has the exact model's head, including its
    probabilities. A held-out tenth of the rows selects lambda and gives the reported error; the final fit
    uses all rows.
    """
    options = resolved(options, rows.n_columns, exact)
    if len(options.gamma) != 1 or options.folds:
        raise OptionError("`exact` takes one `gamma`, and no cross-validation (`folds`)")
    if not exact.head.n_functions:
        raise UnsupportedError(
            "the model has a single class and no decision function", "it needs no conversion"
        )
    progress(0, None, "exact model on the rows")
    targets = exact.decision_values(rows, threads=threads)
    problem = Problem("exact", rows, targets, exact.head)
    model, report = _fit(problem, options, Execution(threads, provenance or {}, progress))
    return model, replace(report, probabilities=probabilities_after(exact.head, model.head))


def cross_validate_meka(
    rows: Rows,
    targets: FloatArray,
    options: MekaOptions,
    *,
    threads: int = 1,
    progress: Progress = silent,
) -> tuple[CrossValidation, ...]:
    """Return the score of each pair of gamma and regularization, without fitting a model to all rows.

    Parameters
    ----------
    rows : Rows
        n rows.
    targets : (n,) float64
        Labels or values.
    options : MekaOptions
        With `folds`; `task` is svc or ridge.
    """
    options = resolved(options, rows.n_columns)
    problem = Problem("ridge", rows, targets[:, None], Head("epsilon_svr"))
    if options.task == "svc":
        problem = _svc(rows, targets, options)
    check_folds(options.folds, 1, len(rows))
    _planned(problem, options, threads)
    with one_blas_thread():
        return cross_validate(problem, options, threads, progress)


def _svc(rows: Rows, labels: FloatArray, options: MekaOptions) -> Problem:
    if options.psd == "none" and not options.block_only:
        raise OptionError("svc needs a positive semidefinite approximation; `psd` must be clip or shift")
    head, targets = svc_targets(labels, pairs=options.block_only)
    return Problem("svc", rows, targets, head, row_weights(options.weights, labels))


def _planned(problem: Problem, options: MekaOptions, threads: int) -> int:
    """Return the memory that the fit takes; raise MemoryLimitError if that is over the limit."""
    planned = plan_bytes(problem.rows, options, problem.task, problem.targets.shape[1], threads=threads)
    check_memory(options, planned)
    return planned


def _fit(problem: Problem, options: MekaOptions, how: Execution) -> tuple[RoutedModel, MekaReport]:
    """Fit a problem; `options` must be resolved."""
    task, rows, threads, progress = problem.task, problem.rows, how.threads, how.progress
    regularizations = options.regularizations(task)
    # In a conversion, lambda is chosen on held-out rows.
    check_folds(options.folds, 1 if task == "exact" else len(options.gamma) * len(regularizations), len(rows))
    planned = _planned(problem, options, threads)
    load_kmeans()
    scores: tuple[CrossValidation, ...] = ()
    held_out: Mapping[str, float] | None = None
    gamma, regularization = options.gamma[0], regularizations[0]
    with one_blas_thread():
        seconds = Stopwatch()
        if options.folds:
            scores = cross_validate(problem, options, threads, progress)
            best = best_of(scores, classes=task == "svc")
            gamma, regularization = best.gamma, best.regularization
            seconds.lap("cross validation")
        elif task == "exact" and len(set(row_keys(rows))) >= LEAST_ROWS:
            progress(0, None, "lambda, on held-out rows")
            regularization, held_out = choose_on_held_out(problem, options, threads)
            seconds.lap("held out")
        progress(0, None, "clusters")
        work = Work(problem, options, threads, progress)
        seconds.lap("clusters")
        (model,) = work.models(gamma, [regularization])
        seconds.lap("blocks, links and solution")
    record = {**how.provenance, "method": "meka", **options.provenance(task, gamma, regularization)}
    model = replace(model, provenance={**record, "arithmetic": arithmetic()})
    progress(0, None, "error")
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
        training=problem.quality(model.decision_values(sample, threads=threads)),
        cross_validation=scores,
        folds=options.folds,
        held_out=held_out,
        seconds=seconds.laps,
    )
    return model, report
