"""dcpred: DC-Pred++, a tree of clusters with a few landmarks each, and cheap pseudo landmarks.

Hsieh, Si, Dhillon, "Fast Prediction for Large-Scale Kernel Machines", NIPS 2014. Additions to the paper:
landmarks, coefficients and each leaf's kernel width are optimized by gradient descent, starting from the
paper's solution; nearby rows of other leaves are included with half weight; a leaf only distinguishes the
classes of its own rows.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from svmfast.errors import MemoryLimitError, OptionError
from svmfast.methods.common.cross_validation import CrossValidation, best_of, check_folds, cross_validate
from svmfast.methods.common.head_score import MOST_SCORED
from svmfast.methods.common.landmark_report import linear_functions
from svmfast.methods.common.problem import Problem
from svmfast.methods.common.stopwatch import Stopwatch
from svmfast.methods.dcpred.options import DcpredOptions
from svmfast.methods.dcpred.pairs import affordable, check_pairs, fit_pairs
from svmfast.methods.dcpred.report import DcpredReport, Trial
from svmfast.methods.dcpred.search import choose
from svmfast.methods.dcpred.tree_training import build_tree, train_tree
from svmfast.methods.given import ALONE, Setting
from svmfast.methods.train.training import TrainOptions, train
from svmfast.models.routed import RoutedModel
from svmfast.rows import FloatArray, Rows
from svmfast.solvers.arithmetic import provenance
from svmfast.solvers.kernel_clusters import load_kmeans
from svmfast.threads import one_blas_thread

#: LIBSVM's kernel cache for training the exact model whose pairs are fitted.
CACHE_MEGABYTES = 400.0


def fit_svc(
    rows: Rows, labels: FloatArray, options: DcpredOptions, setting: Setting = ALONE
) -> tuple[RoutedModel, DcpredReport]:
    """Train a classifier with the squared hinge loss; three or more classes are trained one-vs-rest.

    With several `gamma` or `C`, `folds` must be set, and the best pair is used. With `fit` pairs, for three
    or more classes, LIBSVM trains on all rows, and its decision values are fitted in one cluster as by
    compress; `max_operations` then limits the number of landmarks.
    """
    problem = Problem.of_classes(rows, labels, options.weights)
    options = options.resolved(rows)
    if options.fit == "values":
        raise OptionError("`fit` values needs `exact`")
    if options.fit != "pairs":
        return fit_tree("svc", problem, options, setting)
    check_pairs(options)
    seconds, cost = Stopwatch(), options.C[0]
    trained = TrainOptions(
        gamma=options.gamma[0], C=cost, weights=options.weights, cache_size=CACHE_MEGABYTES
    )
    exact = train(rows, labels, trained, threads=setting.threads)
    seconds.lap("exact model")
    options = affordable(exact, rows, options)
    made, _ = fit_pairs(exact, rows, options, setting)
    seconds.lap("landmarks")
    return reported_pairs(problem, made, options, cost, setting, seconds)


def fit_ridge(
    rows: Rows, targets: FloatArray, options: DcpredOptions, setting: Setting = ALONE
) -> tuple[RoutedModel, DcpredReport]:
    """Fit kernel ridge regression: minimize sum (f(x_i) - y_i)^2 + lambda ||f||^2 in each leaf."""
    return fit_tree("ridge", Problem.of_values(rows, targets), options.resolved(rows), setting)


def cross_validate_dcpred(
    rows: Rows, targets: FloatArray, options: DcpredOptions, setting: Setting = ALONE
) -> tuple[CrossValidation, ...]:
    """Return the score of each pair of gamma and regularization, without training a model on all rows."""
    if options.task == "svc":
        problem = Problem.of_classes(rows, targets, options.weights)
    else:
        problem = Problem.of_values(rows, targets)
    options = options.resolved(rows)
    check_folds(options.folds, 1, len(rows))
    _check_width(rows, options)
    with one_blas_thread():
        return _scores(problem, options, setting)


def _scores(problem: Problem, options: DcpredOptions, setting: Setting) -> tuple[CrossValidation, ...]:
    """Score each pair of parameters; all pairs share the tree of a fold."""
    regularizations = options.regularizations(problem.loss)
    pairs = [(gamma, regularization) for gamma in options.gamma for regularization in regularizations]
    quiet = Setting(setting.threads)
    assert options.folds is not None
    return cross_validate(
        problem,
        pairs,
        options.folds,
        options.seed,
        setting,
        lambda inside: (
            train_tree(inside, tree, options, *pair, quiet)
            for tree in [build_tree(inside.rows, options, setting.threads)]
            for pair in pairs
        ),
    )


def fit_tree(
    task: str, problem: Problem, options: DcpredOptions, setting: Setting, source: str | None = None
) -> tuple[RoutedModel, DcpredReport]:
    """Train the tree for a problem; `options` must be resolved."""
    if not len(problem.rows):
        raise OptionError("no rows to train on")
    regularizations = options.regularizations(problem.loss)
    check_folds(options.folds, len(options.gamma) * len(regularizations), len(problem.rows))
    _check_width(problem.rows, options)
    load_kmeans()
    seconds = Stopwatch()
    scores: tuple[CrossValidation, ...] = ()
    trials: tuple[Trial, ...] = ()
    gamma, regularization = options.gamma[0], regularizations[0]
    with one_blas_thread():
        tree = None
        if options.max_operations is not None:
            options, tree, trials = choose(problem, options, gamma, regularization, setting)
            seconds.lap("choosing")
        if options.folds:
            scores = _scores(problem, options, setting)
            best = best_of(scores, classes=problem.hinge)
            gamma, regularization = best.gamma, best.regularization
            seconds.lap("cross validation")
        if tree is None:
            setting.progress(0, None, "clusters")
            tree = build_tree(problem.rows, options, setting.threads)
            seconds.lap("clusters")
        made = train_tree(problem, tree, options, gamma, regularization, setting)
        seconds.lap("leaves")
    model = _recorded(made, task, options, gamma, regularization, source)
    report = _report(task, problem, model, options, np.bincount(tree.leaf), setting)
    return model, replace(
        report, regularization=regularization, gamma=gamma, cross_validation=scores, candidates=trials,
        seconds=seconds.laps,
    )  # fmt: skip


def reported_pairs(
    problem: Problem,
    made: RoutedModel,
    options: DcpredOptions,
    cost: float | None,
    setting: Setting,
    seconds: Stopwatch,
    source: str | None = None,
) -> tuple[RoutedModel, DcpredReport]:
    """Return a model of one cluster and its report; `cost` is None if the exact model was given."""
    gamma = float(made.gamma[0])
    model = _recorded(made, "pairs", options, gamma, cost, source)
    report = _report("pairs", problem, model, options, np.array([len(problem.rows)]), setting)
    return model, replace(report, gamma=gamma, regularization=cost, seconds=seconds.laps)


def _recorded(
    made: RoutedModel,
    task: str,
    options: DcpredOptions,
    gamma: float,
    regularization: float | None,
    source: str | None,
) -> RoutedModel:
    """Return the model with its provenance."""
    origin = provenance("dcpred", options.parameters(task, gamma, regularization), options.seed, source)
    return replace(made, provenance=origin, fits_labels=task == "labels")


def _report(
    task: str,
    problem: Problem,
    model: RoutedModel,
    options: DcpredOptions,
    sizes: NDArray[np.int64],
    setting: Setting,
) -> DcpredReport:
    """Return the report, without the figures of choices and of held-out rows."""
    rows = problem.rows
    decisions = model.decision_values(rows[: min(len(rows), MOST_SCORED)], threads=setting.threads)
    return DcpredReport(
        task=task,
        rows=len(rows),
        features=rows.n_columns,
        clusters=len(sizes),
        leaf_rows=(int(sizes.min()), int(sizes.max())),
        landmarks=len(model.landmarks),
        pseudo_landmarks=0 if model.pseudo is None else int(model.pseudo.sizes.sum()),
        pseudo="none" if model.pseudo is None else model.pseudo.kind,
        gamma=options.gamma[0],
        regularization=None,
        leaf_gammas=(float(model.gamma.min()), float(model.gamma.max())),
        multiply_adds=model.multiply_adds(rows),
        linear_multiply_adds=float(rows.n_columns * linear_functions(problem.head)),
        training=problem.quality(model.head, decisions),
        cross_validation=(),
        folds=options.folds,
        candidates=(),
        held_out=None,
        seconds={},
    )


def _check_width(rows: Rows, options: DcpredOptions) -> None:
    """Raise MemoryLimitError if the dense centers and landmarks do not fit into memory."""
    vectors = min(options.clusters * (2 + options.landmarks), 2 * len(rows))
    needed = 8 * 3 * vectors * rows.n_columns
    if needed > options.memory:
        raise MemoryLimitError(
            f"centers and landmarks of {rows.n_columns:,} columns",
            needed,
            options.memory,
            "raise `memory`, or use fewer `clusters` and `landmarks`",
        )
