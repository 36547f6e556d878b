"""dcpred: DC-Pred++, a tree of clusters with a few landmarks each, and cheap pseudo landmarks.

Hsieh, Si, Dhillon, "Fast Prediction for Large-Scale Kernel Machines", NIPS 2014. Additions to the paper:
landmarks, coefficients and each leaf's kernel width are optimized by gradient descent, starting from the
paper's solution; nearby rows of other leaves are included with half weight; a leaf only distinguishes the
classes of its own rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from svmfast.errors import OptionError
from svmfast.methods.common.class_targets import svc_targets
from svmfast.methods.common.class_weights import row_weights
from svmfast.methods.common.cross_validation import CrossValidation, best_of, check_folds, fold_numbers
from svmfast.methods.common.execution import Execution
from svmfast.methods.common.head_score import MOST_SCORED, HeadScore
from svmfast.methods.common.kernel_width import kernel_width
from svmfast.methods.common.landmark_report import linear_functions
from svmfast.methods.common.stopwatch import Stopwatch
from svmfast.methods.dcpred.memory import check_width
from svmfast.methods.dcpred.options import DcpredOptions
from svmfast.methods.dcpred.pairs import affordable, check_pairs, fit_pairs
from svmfast.methods.dcpred.report import DcpredReport, Trial
from svmfast.methods.dcpred.search import choose
from svmfast.methods.dcpred.tree_training import Training, build_tree, train_tree
from svmfast.methods.train.training import TrainOptions, train
from svmfast.models.head import Head
from svmfast.models.routed import RoutedModel
from svmfast.progress import Progress, silent
from svmfast.rows import FloatArray, Rows
from svmfast.solvers.arithmetic import arithmetic
from svmfast.solvers.kernel_clusters import load_kmeans
from svmfast.threads import one_blas_thread

#: LIBSVM's kernel cache for training the exact model whose pairs are fitted.
CACHE_MEGABYTES = 400.0


def fit_svc(
    rows: Rows,
    labels: FloatArray,
    options: DcpredOptions,
    *,
    threads: int = 1,
    provenance: Mapping[str, str] | None = None,
    progress: Progress = silent,
) -> tuple[RoutedModel, DcpredReport]:
    """Train a classifier with the squared hinge loss; three or more classes are trained one-vs-rest.

    Parameters
    ----------
    rows : Rows
        n rows.
    labels : (n,) float64
        Integers.
    options : DcpredOptions
        With several `gamma` or `C`, `folds` must be set, and the best pair is used. With `fit` pairs, for
        three or more classes, LIBSVM trains on all rows, and its decision values are fitted in one cluster as
        by compress; `max_operations` then limits the number of landmarks.

    Raises
    ------
    OptionError, TrainingRowError, UnsupportedError, MemoryLimitError
    """
    training = _svc(rows, labels, options)
    options = options.resolved(len(rows), kernel_width(rows.n_columns, None, "rbf"))
    how = Execution(threads, provenance or {}, progress)
    if options.fit == "values":
        raise OptionError("`fit` values needs `exact`")
    if options.fit == "pairs":
        check_pairs(options)
        seconds = Stopwatch()
        trained = TrainOptions(
            gamma=options.gamma[0], C=options.C[0], weights=options.weights, cache_size=CACHE_MEGABYTES
        )
        exact = train(rows, labels, trained, threads=threads)
        seconds.lap("exact model")
        options = affordable(exact, rows, options)
        made, _ = fit_pairs(exact, rows, options, threads=threads, progress=progress)
        seconds.lap("landmarks")
        return reported_pairs(training, made, options, options.C[0], how, seconds)
    return fit_tree("svc", training, options, how)


def fit_ridge(
    rows: Rows,
    targets: FloatArray,
    options: DcpredOptions,
    *,
    threads: int = 1,
    provenance: Mapping[str, str] | None = None,
    progress: Progress = silent,
) -> tuple[RoutedModel, DcpredReport]:
    """Fit kernel ridge regression: minimize sum (f(x_i) - y_i)^2 + lambda ||f||^2 in each leaf.

    Parameters
    ----------
    rows : Rows
        n rows.
    targets : (n,) float64
    options : DcpredOptions

    Raises
    ------
    OptionError, MemoryLimitError
    """
    options = options.resolved(len(rows), kernel_width(rows.n_columns, None, "rbf"))
    return fit_tree("ridge", _ridge(rows, targets), options, Execution(threads, provenance or {}, progress))


def cross_validate_dcpred(
    rows: Rows,
    targets: FloatArray,
    options: DcpredOptions,
    *,
    threads: int = 1,
    progress: Progress = silent,
) -> tuple[CrossValidation, ...]:
    """Return the score of each pair of gamma and regularization, without training a model on all rows.

    Parameters
    ----------
    rows : Rows
        n rows.
    targets : (n,) float64
        Labels or values.
    options : DcpredOptions
        With `folds`; `task` is svc or ridge.
    """
    training = _svc(rows, targets, options) if options.task == "svc" else _ridge(rows, targets)
    options = options.resolved(len(rows), kernel_width(rows.n_columns, None, "rbf"))
    check_folds(options.folds, 1, len(rows))
    check_width(rows, options)
    with one_blas_thread():
        return _cross_validate(training, options, threads, progress)


def fit_tree(
    task: str, training: Training, options: DcpredOptions, how: Execution
) -> tuple[RoutedModel, DcpredReport]:
    """Train the tree for a problem; `options` must be resolved."""
    if not len(training.rows):
        raise OptionError("no rows to train on")
    regularizations = options.regularizations(training.loss)
    check_folds(options.folds, len(options.gamma) * len(regularizations), len(training.rows))
    check_width(training.rows, options)
    load_kmeans()
    seconds = Stopwatch()
    scores: tuple[CrossValidation, ...] = ()
    trials: tuple[Trial, ...] = ()
    gamma, regularization = options.gamma[0], regularizations[0]
    threads, progress = how.threads, how.progress
    with one_blas_thread():
        tree = None
        if options.max_operations is not None:
            options, tree, trials = choose(
                training, options, gamma, regularization, threads=threads, progress=progress
            )
            seconds.lap("choosing")
        if options.folds:
            scores = _cross_validate(training, options, threads, progress)
            best = best_of(scores, classes=training.loss != "squares")
            gamma, regularization = best.gamma, best.regularization
            seconds.lap("cross validation")
        if tree is None:
            progress(0, None, "clusters")
            tree = build_tree(training, options, threads)
            seconds.lap("clusters")
        made = train_tree(training, tree, options, gamma, regularization, threads=threads, progress=progress)
        seconds.lap("leaves")
    model = _recorded(made, task, options, gamma, regularization, how)
    report = _report(task, training, model, options, np.bincount(tree.leaf), how.threads)
    return model, replace(
        report, gamma=gamma, regularization=regularization, cross_validation=scores, candidates=trials,
        seconds=seconds.laps,
    )  # fmt: skip


def reported_pairs(
    training: Training,
    made: RoutedModel,
    options: DcpredOptions,
    cost: float | None,
    how: Execution,
    seconds: Stopwatch,
) -> tuple[RoutedModel, DcpredReport]:
    """Return a model of one cluster and its report.

    Parameters
    ----------
    training : Training
        The problem whose targets are the classes.
    made : RoutedModel
    options : DcpredOptions
    cost : float or None
        The C with which the exact model was trained here; None if the model was given.
    how : Execution
    seconds : Stopwatch
    """
    model = _recorded(made, "pairs", options, float(made.gamma[0]), cost, how)
    report = _report("pairs", training, model, options, np.array([len(training.rows)]), how.threads)
    return model, replace(report, gamma=float(made.gamma[0]), regularization=cost, seconds=seconds.laps)


def _recorded(
    made: RoutedModel,
    task: str,
    options: DcpredOptions,
    gamma: float,
    regularization: float | None,
    how: Execution,
) -> RoutedModel:
    """Return the model with its provenance."""
    record = {**how.provenance, "method": "dcpred", **options.provenance(task, gamma, regularization)}
    return replace(made, provenance={**record, "arithmetic": arithmetic()})


def _report(
    task: str,
    training: Training,
    model: RoutedModel,
    options: DcpredOptions,
    sizes: NDArray[np.int64],
    threads: int,
) -> DcpredReport:
    """Return the report, without the figures of choices and of held-out rows."""
    scored = min(len(training.rows), MOST_SCORED)
    decisions = model.decision_values(training.rows[:scored], threads=threads)
    return DcpredReport(
        task=task,
        rows=len(training.rows),
        features=training.rows.n_columns,
        clusters=len(sizes),
        leaf_rows=(int(sizes.min()), int(sizes.max())),
        landmarks=len(model.landmarks),
        pseudo_landmarks=0 if model.pseudo is None else int(model.pseudo.sizes.sum()),
        pseudo="none" if model.pseudo is None else model.pseudo.kind,
        gamma=options.gamma[0],
        regularization=None,
        leaf_gammas=(float(model.gamma.min()), float(model.gamma.max())),
        multiply_adds=model.multiply_adds(training.rows),
        linear_multiply_adds=float(training.rows.n_columns * linear_functions(training.head)),
        training=training.quality(model.head, decisions),
        cross_validation=(),
        folds=options.folds,
        candidates=(),
        held_out=None,
        seconds={},
    )


def _svc(rows: Rows, labels: FloatArray, options: DcpredOptions) -> Training:
    head, targets = svc_targets(labels, pairs=False)
    weights = row_weights(options.weights, labels)
    return Training(rows, targets, head, "squared_hinge", weights=weights)


def _ridge(rows: Rows, targets: FloatArray) -> Training:
    return Training(rows, np.ascontiguousarray(targets[:, None]), Head("epsilon_svr"), "squares")


def _cross_validate(
    training: Training, options: DcpredOptions, threads: int, progress: Progress
) -> tuple[CrossValidation, ...]:
    """Score each pair of parameters; all pairs share the tree of a fold."""
    assert options.folds is not None
    fold = fold_numbers(training.rows, options.folds, options.seed)
    regularizations = options.regularizations(training.loss)
    pairs = [(gamma, regularization) for gamma in options.gamma for regularization in regularizations]
    scores = [HeadScore(training.head) for _ in pairs]
    for f in range(options.folds):
        inside, outside = training.only(fold != f), training.only(fold == f)
        tree = build_tree(inside, options, threads)
        for i, (gamma, regularization) in enumerate(pairs):
            model = train_tree(inside, tree, options, gamma, regularization, threads=threads)
            scores[i].add(model.decision_values(outside.rows, threads=threads), outside.truth)
            progress(f * len(pairs) + i + 1, options.folds * len(pairs), "cross validation")
    return tuple(CrossValidation(*pair, score.quality) for pair, score in zip(pairs, scores, strict=True))
