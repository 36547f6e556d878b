"""dcpred: DC-Pred++, a tree of clusters with a few landmarks each, and cheap pseudo landmarks.

Hsieh, Si, Dhillon, "Fast Prediction for Large-Scale Kernel Machines", NIPS 2014. Additions to the paper:
landmarks, coefficients and each leaf's kernel width are optimized by gradient descent, starting from the
paper's solution; nearby rows of other leaves are included with half weight; a leaf only distinguishes the
classes of its own rows.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from svmfast.errors import MemoryLimitError, OptionError, UnsupportedError
from svmfast.methods.common.cross_validation import CrossValidation, best_of, check_folds, cross_validate
from svmfast.methods.common.equal_rows import row_keys
from svmfast.methods.common.head_score import MOST_SCORED
from svmfast.methods.common.hold_out import rows_aside
from svmfast.methods.common.landmark_report import linear_functions
from svmfast.methods.common.problem import Problem
from svmfast.methods.common.refit_probabilities import probabilities_after
from svmfast.methods.common.stopwatch import Stopwatch
from svmfast.methods.dcpred.held_out import as_held_out, held_out
from svmfast.methods.dcpred.options import DcpredOptions
from svmfast.methods.dcpred.pairs import affordable, check_pairs, fit_pairs
from svmfast.methods.dcpred.report import DcpredReport, Trial
from svmfast.methods.dcpred.search import choose
from svmfast.methods.dcpred.tree_training import build_tree, train_tree
from svmfast.methods.given import ALONE, Setting
from svmfast.methods.train.training import TrainOptions, train
from svmfast.models.base import Model
from svmfast.models.expansion import KernelExpansion
from svmfast.models.head import Head
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
    problem = Problem.of_task("svc", rows, labels, options.weights)
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
    return _pairs(problem, exact, options, cost, setting, seconds)


def fit_ridge(
    rows: Rows, targets: FloatArray, options: DcpredOptions, setting: Setting = ALONE
) -> tuple[RoutedModel, DcpredReport]:
    """Fit kernel ridge regression: minimize sum (f(x_i) - y_i)^2 + lambda ||f||^2 in each leaf."""
    return fit_tree("ridge", Problem.of_task("ridge", rows, targets), options.resolved(rows), setting)


def cross_validate_dcpred(
    rows: Rows, targets: FloatArray, options: DcpredOptions, setting: Setting = ALONE
) -> tuple[CrossValidation, ...]:
    """Return the score of each pair of gamma and regularization, without training a model on all rows."""
    problem = Problem.of_task(options.task, rows, targets, options.weights)
    options = options.resolved(rows)
    check_folds(options.folds, 1, len(rows))
    _check_width(rows, options)
    with one_blas_thread():
        return _scores(problem, options, setting)


def _scores(problem: Problem, options: DcpredOptions, setting: Setting) -> tuple[CrossValidation, ...]:
    """Score each pair of parameters; all pairs share the tree of a fold."""

    def models(inside: Problem) -> Iterator[RoutedModel]:
        tree = build_tree(inside.rows, options, setting.threads)
        for pair in itertools.product(options.gamma, options.regularizations(problem.loss)):
            yield train_tree(inside, tree, options, *pair, Setting(setting.threads))

    return cross_validate(problem, options, setting, models)


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
    model, report = _reported(
        task, problem, made, options, (gamma, regularization), np.bincount(tree.leaf), setting, source
    )
    return model, replace(report, cross_validation=scores, candidates=trials, seconds=seconds.laps)


def _pairs(
    problem: Problem,
    exact: Model,
    options: DcpredOptions,
    cost: float | None,
    setting: Setting,
    seconds: Stopwatch,
    source: str | None = None,
) -> tuple[RoutedModel, DcpredReport]:
    """Return a model of one cluster and its report; `cost` is None if the exact model was given."""
    options = affordable(exact, problem.rows, options)
    made, statement = fit_pairs(exact, problem.rows, options, setting)
    seconds.lap("landmarks")
    sizes, pair = np.array([len(problem.rows)]), (float(made.gamma[0]), cost)
    model, report = _reported("pairs", problem, made, options, pair, sizes, setting, source)
    found = None if statement is None or cost is not None else as_held_out(statement)
    return model, replace(report, held_out=found, seconds=seconds.laps)


def _reported(
    task: str,
    problem: Problem,
    made: RoutedModel,
    options: DcpredOptions,
    pair: tuple[float, float | None],
    sizes: NDArray[np.int64],
    setting: Setting,
    source: str | None,
) -> tuple[RoutedModel, DcpredReport]:
    """Return the model with its provenance, and the report without choices, held-out rows and times."""
    origin = provenance("dcpred", options.parameters(task, *pair), options.seed, source)
    model, rows = replace(made, provenance=origin, fits_labels=task == "labels"), problem.rows
    decisions = model.decision_values(rows[: min(len(rows), MOST_SCORED)], threads=setting.threads)
    return model, DcpredReport(
        task=task,
        rows=len(rows),
        features=rows.n_columns,
        clusters=len(sizes),
        leaf_rows=(int(sizes.min()), int(sizes.max())),
        landmarks=len(model.landmarks),
        pseudo_landmarks=0 if model.pseudo is None else int(model.pseudo.sizes.sum()),
        pseudo="none" if model.pseudo is None else model.pseudo.kind,
        gamma=pair[0],
        regularization=pair[1],
        leaf_gammas=(float(model.gamma.min()), float(model.gamma.max())),
        multiply_adds=model.multiply_adds(rows),
        linear_multiply_adds=float(rows.n_columns * linear_functions(problem.head)),
        training=problem.quality(model.head, decisions),
        folds=options.folds,
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


def fit_exact(
    rows: Rows, exact: Model, options: DcpredOptions, setting: Setting = ALONE, source: str | None = None
) -> tuple[RoutedModel, DcpredReport]:
    """Convert a model of any svm_type, on rows like those to be predicted, which need no labels.

    A LIBSVM model's support vectors are added to the rows. `fit` values fits the exact decision values of all
    functions with one `lambda_`, and keeps the exact head with its probabilities (LIBSVM's coupling of the
    pairs, with the same probA and probB). labels fits the exact model's labels with one `C` and one function
    per class, without probabilities. auto means labels for three or more classes, whose many pairs would have
    to share each leaf's landmarks, and otherwise values. pairs fits the values in one cluster, where each
    landmark is only used for the pairs of its class.
    """
    options = options.resolved(rows, exact)
    fit = what_is_fitted(exact.head, options.fit)
    if len(options.gamma) * len(options.C) * len(options.lambda_) != 1 or options.folds:
        raise OptionError(
            "`exact` takes one `gamma` and one `C` or `lambda_`, and no cross-validation (`folds`)"
        )
    if not exact.head.n_functions:
        raise UnsupportedError(
            "the model has a single class and no decision function", "it needs no conversion"
        )
    if fit in ("labels", "pairs") and not exact.head.is_classifier:
        raise OptionError(f"`fit` {fit} is for classifiers; this is a {exact.head.svm_type} model")
    if fit == "pairs":
        check_pairs(options)
    setting.progress(0, None, "exact model on the rows")
    if fit == "pairs":
        problem = _labelled(rows, exact.head, exact.decision_values(rows, threads=setting.threads))
        model, report = _pairs(problem, exact, options, None, setting, Stopwatch(), source)
        found = report.held_out
    else:
        keys = row_keys(rows)
        aside = rows_aside(keys, None, (options.seed, 13), copies_agree=True)
        inside, vectors, trained_on = rows.take(aside.fitted), None, False
        if isinstance(exact, KernelExpansion) and exact.kernel.kind == "rbf":
            inside, vectors, trained_on = _with_vectors(inside, exact, keys, {keys[i] for i in aside.held})
        values = exact.decision_values(inside, threads=setting.threads)
        if fit == "values":
            problem = Problem(inside, values, exact.head, "squares")
        else:
            problem = _labelled(inside, exact.head, values)
        model, report = fit_tree(fit, replace(problem, vectors=vectors), options, setting, source)
        setting.progress(0, None, "error on held-out rows")
        found = held_out(exact, model, rows, aside, values_fitted=fit == "values", threads=setting.threads)
        if found is not None and trained_on:
            found["trained_on"] = 1.0
    return model, replace(report, held_out=found, probabilities=probabilities_after(exact.head, model.head))


def what_is_fitted(head: Head, fit: str) -> str:
    """Return `fit`, with ``auto`` replaced by its meaning for a model with this head."""
    if fit != "auto":
        return fit
    return "labels" if head.is_classifier and head.n_classes > 2 else "values"


def _with_vectors(
    inside: Rows, exact: KernelExpansion, keys: list[bytes], aside: set[bytes]
) -> tuple[Rows, tuple[Rows, FloatArray], bool]:
    """Add the support vectors to the rows to fit.

    `keys` are the hashes of all rows, `aside` those of the held-out ones. Return the rows, the added vectors
    with their squared coefficients, and whether most of the support vectors are among the rows.
    """
    width = max(inside.n_columns, exact.sv.n_columns)
    sv = exact.sv.renumbered(exact.sv.indices, width)
    vectors = row_keys(sv)
    trained_on = 2 * len(set(vectors) & set(keys)) > len(vectors)
    # Support vectors are often rows of the data; those that equal held-out rows are not added.
    new = np.array([i for i, key in enumerate(vectors) if key not in aside], dtype=np.int64)
    sv = sv.take(new)
    squares = (exact.sv_coef[:, new] ** 2).sum(axis=0)
    return Rows.concatenate([inside.renumbered(inside.indices, width), sv]), (sv, squares), trained_on


def _labelled(rows: Rows, exact: Head, values: FloatArray) -> Problem:
    """Return the problem whose targets are the exact model's labels, with its order of classes."""
    assert exact.labels is not None
    labels = exact.predict(values)
    targets = np.where(labels[:, None] == exact.labels, 1.0, -1.0)
    if (targets > 0).any(axis=0).sum() == 1:
        raise UnsupportedError("the exact model gives all rows one label", "use rows of several classes")
    # The svm_type is kept, since a fallback requires that both models have the same one.
    head = Head(exact.svm_type, exact.labels, one_vs_rest=len(exact.labels) > 2)
    if not head.one_vs_rest:
        targets = np.ascontiguousarray(targets[:, :1])
    return Problem(rows, targets, head, "squared_hinge")
