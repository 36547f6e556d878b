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
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmfast.errors import MemoryLimitError, NothingFitsError, OptionError, UnsupportedError
from svmfast.methods.common.cross_validation import (
    CrossValidation,
    ScoresReport,
    best_of,
    check_folds,
    checked_labels,
    cross_validate,
)
from svmfast.methods.common.equal_rows import row_keys, rows_aside
from svmfast.methods.common.error_statement import ErrorStatement, probabilities_after
from svmfast.methods.common.file_sizes import FileSizes
from svmfast.methods.common.landmarks import Stopwatch, linear_functions, outcome, widths_to_try
from svmfast.methods.common.problem import CLASSES, MOST_SCORED, Problem
from svmfast.methods.compress import CompressOptions
from svmfast.methods.compress.compressor import Compressor
from svmfast.methods.dcpred import DcpredOptions
from svmfast.methods.dcpred.report import DcpredReport, Trial, held_out
from svmfast.methods.dcpred.search import choose
from svmfast.methods.dcpred.tree import build_tree, train_tree
from svmfast.methods.grid import Candidate, Grid, NotTried
from svmfast.methods.method import ALONE, Inputs, Outcome, Setting
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

Fitted = tuple[RoutedModel, DcpredReport]


def fit(
    rows: Rows, labels: FloatArray, options: DcpredOptions, setting: Setting = ALONE
) -> Fitted | tuple[None, ScoresReport]:
    """Train a classifier with the squared hinge loss, three or more classes one-vs-rest, or ridge regression.

    Ridge minimizes sum (f(x_i) - y_i)^2 + lambda ||f||^2 in each leaf. With several `gamma`, `C` or
    `lambda_`, `folds` must be set, and the best pair is used; if no model is to be written, the scores are
    the result. With `fit` pairs, for three or more classes, LIBSVM trains on all rows, and its decision
    values are fitted in one cluster as by compress; `max_operations` then limits the number of landmarks.
    """
    problem = Problem.of_task(options.task, rows, labels, options.weights)
    options = options.resolved(rows)
    if options.fit == "values":
        raise OptionError("`fit` values needs `exact`")
    if options.fit == "pairs":
        check_pairs(options)
        seconds, cost = Stopwatch(), options.C[0]
        trained = TrainOptions(
            gamma=options.gamma[0], C=cost, weights=options.weights, cache_size=CACHE_MEGABYTES
        )
        exact = train(rows, labels, trained, threads=setting.threads)
        seconds.lap("exact model")
        return _fit_pairs(replace(problem, task="pairs"), exact, options, cost, setting, seconds)
    check_folds(options.folds, len(options.gamma) * len(options.regularizations(problem.hinge)), len(rows))
    if setting.writes or not options.folds:
        return _fit_model(problem, options, setting)
    _check_width(rows, options)
    with one_blas_thread():
        return None, ScoresReport(problem.task, options.folds, _scores(problem, options, setting))


def fit_exact(
    rows: Rows, exact: Model, options: DcpredOptions, setting: Setting = ALONE, source: str | None = None
) -> Fitted:
    """Convert a model of any svm_type, on rows like those to be predicted, which need no labels.

    A LIBSVM model's support vectors are added to the rows. `fit` values fits the exact decision values of all
    functions with one `lambda_`, and keeps the exact head with its probabilities (LIBSVM's coupling of the
    pairs, with the same probA and probB). labels fits the exact model's labels with one `C` and one function
    per class, without probabilities. auto means labels for three or more classes, whose many pairs would have
    to share each leaf's landmarks, and otherwise values. pairs fits the values in one cluster, where each
    landmark is only used for the pairs of its class.
    """
    options = options.resolved(rows, exact)
    task, head, threads = what_is_fitted(exact.head, options.fit), exact.head, setting.threads
    if len(options.gamma) * len(options.C) * len(options.lambda_) != 1 or options.folds:
        raise OptionError(
            "`exact` takes one `gamma` and one `C` or `lambda_`, and no cross-validation (`folds`)"
        )
    if not head.n_functions:
        raise UnsupportedError(
            "the model has a single class and no decision function", "it needs no conversion"
        )
    if task in CLASSES and not head.is_classifier:
        raise OptionError(f"`fit` {task} is for classifiers; this is a {head.svm_type} model")
    if task == "pairs":
        check_pairs(options)
        setting.progress(0, None, "exact model on the rows")
        problem = _labelled(task, rows, head, exact.decision_values(rows, threads=threads))
        model, report = _fit_pairs(problem, exact, options, None, setting, Stopwatch(), source)
    else:
        setting.progress(0, None, "exact model on the rows")
        keys = row_keys(rows)
        aside = rows_aside(keys, None, (options.seed, 13), copies_agree=True)
        inside, vectors, trained_on = rows.take(aside.fitted), None, False
        expansion = exact.expansion
        if expansion is not None and expansion.kernel.kind == "rbf":
            held = {keys[i] for i in aside.held}
            inside, vectors, trained_on = _with_vectors(inside, expansion, keys, held)
        values = exact.decision_values(inside, threads=threads)
        if task == "values":
            problem = Problem(inside, values, head, task)
        else:
            problem = _labelled(task, inside, head, values)
        model, report = _fit_model(replace(problem, vectors=vectors), options, setting, source)
        setting.progress(0, None, "error on held-out rows")
        found = held_out(exact, model, rows, aside, values_fitted=task == "values", threads=threads)
        if found is not None and trained_on:
            found["trained_on"] = 1.0
        report = replace(report, held_out=found)
    return model, replace(report, probabilities=probabilities_after(head, model.head))


def what_is_fitted(head: Head, fit: str) -> str:
    """Replace ``auto`` by its meaning for a model with this head."""
    if fit != "auto":
        return fit
    return "labels" if head.is_classifier and head.n_classes > 2 else "values"


def _scores(problem: Problem, options: DcpredOptions, setting: Setting) -> tuple[CrossValidation, ...]:
    """Score each pair of parameters; all pairs share the tree of a fold."""

    def models(inside: Problem) -> Iterator[RoutedModel]:
        tree = build_tree(inside.rows, options, setting.threads)
        for pair in itertools.product(options.gamma, options.regularizations(problem.hinge)):
            yield train_tree(inside, tree, options, *pair, Setting(setting.threads))

    return cross_validate(problem, options, setting, models)


def _fit_model(
    problem: Problem, options: DcpredOptions, setting: Setting, source: str | None = None
) -> Fitted:
    if not len(problem.rows):
        raise OptionError("no rows to train on")
    _check_width(problem.rows, options)
    load_kmeans()
    seconds = Stopwatch()
    scores: tuple[CrossValidation, ...] = ()
    trials: tuple[Trial, ...] = ()
    gamma, regularization = options.gamma[0], options.regularizations(problem.hinge)[0]
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
    more = {"cross_validation": scores, "candidates": trials, "seconds": seconds.laps}
    sizes = np.bincount(tree.leaf)
    return _reported(problem, made, options, (gamma, regularization), sizes, setting, source, **more)


def _fit_pairs(
    problem: Problem,
    exact: Model,
    options: DcpredOptions,
    cost: float | None,
    setting: Setting,
    seconds: Stopwatch,
    source: str | None = None,
) -> Fitted:
    """Fit the pairs' values in one cluster; `cost` is None if the exact model was given."""
    options, made, found = fit_pairs(exact, problem.rows, options, setting)
    seconds.lap("landmarks")
    sizes, pair = np.array([len(problem.rows)]), (float(made.gamma[0]), cost)
    more = {"held_out": found if cost is None else None, "seconds": seconds.laps}
    return _reported(problem, made, options, pair, sizes, setting, source, **more)


def _reported(
    problem: Problem,
    made: RoutedModel,
    options: DcpredOptions,
    pair: tuple[float, float | None],
    sizes: NDArray[np.int64],
    setting: Setting,
    source: str | None,
    **more: Any,
) -> Fitted:
    """Give the model its provenance, and report; `more` are choices, held-out rows and times."""
    rows, task = problem.rows, problem.task
    origin = provenance("dcpred", options.parameters(problem.hinge, task, *pair), options.seed, source)
    model = replace(made, provenance=origin, fits_labels=task == "labels")
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
        **more,
    )


def _check_width(rows: Rows, options: DcpredOptions) -> None:
    vectors = min(options.clusters * (2 + options.landmarks), 2 * len(rows))
    needed = 8 * 3 * vectors * rows.n_columns
    if needed > options.memory:
        what = f"centers and landmarks of {rows.n_columns:,} columns"
        advice = "raise `memory`, or use fewer `clusters` and `landmarks`"
        raise MemoryLimitError(what, needed, options.memory, advice)


def _with_vectors(
    inside: Rows, exact: KernelExpansion, keys: list[bytes], aside: set[bytes]
) -> tuple[Rows, tuple[Rows, FloatArray], bool]:
    """Add the support vectors to the rows to fit, except those equal to rows `aside`.

    With them come their squared coefficients, and whether most of them are among the rows (`keys`).
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


def _labelled(task: str, rows: Rows, exact: Head, values: FloatArray) -> Problem:
    """Make a problem whose targets are the exact model's labels, with its order of classes."""
    assert exact.labels is not None
    labels = exact.predict(values)
    targets = np.where(labels[:, None] == exact.labels, 1.0, -1.0)
    if (targets > 0).any(axis=0).sum() == 1:
        raise UnsupportedError("the exact model gives all rows one label", "use rows of several classes")
    # The svm_type is kept, since a fallback requires that both models have the same one.
    head = Head(exact.svm_type, exact.labels, one_vs_rest=len(exact.labels) > 2)
    if not head.one_vs_rest:
        targets = np.ascontiguousarray(targets[:, :1])
    return Problem(rows, targets, head, task)


#: Multiples of a linear model's multiply-adds, for the candidates.
OPERATIONS = (5, 10, 20, 40)
#: Numbers of landmarks of the candidates with one cluster.
SIZES = (256, 1024)


def run(inputs: Inputs, options: DcpredOptions, setting: Setting) -> Outcome:
    data, source = inputs.rows("data"), inputs["exact"]
    if source is None:
        missing = "`labels` are needed for `task`; for rows without labels, use `exact`"
        labels = checked_labels(data, options, setting, missing)
        return outcome(fit(data.rows, labels, options, setting), data.rows, setting, converted=False)
    head = source.model.head
    if head.has_probability and what_is_fitted(head, options.fit) == "labels":
        setting.warn(
            f"the probabilities of {source.name} will be dropped: `fit` labels gives values that LIBSVM's "
            "pairwise probabilities are not defined for; `fit` values or `fit` pairs keeps them"
        )
    made = fit_exact(data.rows, source.model, options, setting, source.identity)
    return outcome(made, data.rows, setting, converted=True)


def candidates(grid: Grid) -> tuple[list[Candidate], list[NotTried]]:
    common = {**widths_to_try(grid.exact), "seed": grid.seed}
    inputs = ("data", "exact")
    found = [
        Candidate(f"dcpred-{times}x", level, {"max_operations": float(times), **common}, inputs)
        for level, times in enumerate(OPERATIONS)
    ]
    sizes, head = FileSizes(grid), grid.exact.head
    if what_is_fitted(head, "auto") == "labels":
        head = Head(head.svm_type, head.labels, one_vs_rest=True)

    def bytes_of(landmarks: int) -> int | None:
        return sizes.routed(1, landmarks, head)

    def add(landmarks: int, level: int, sized: bool = False) -> None:
        # One leaf: every landmark then serves every row, which is best for the size.
        options, name = {"clusters": 1, "landmarks": landmarks, **common}, f"dcpred-{landmarks}-landmarks"
        found.append(Candidate(name, level, options, inputs, bytes_of(landmarks), sized))

    most = len(grid.exact.sv) - 1
    fitting = sizes.largest(bytes_of, most)
    for level, size in enumerate(SIZES, 1):
        if size <= most and size != fitting:
            add(size, level)
    if fitting:
        add(fitting, len(OPERATIONS), sized=True)
    return found, []


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
    """Fit the values of LIBSVM's pairs by compress, where a landmark serves its class's k - 1 pairs.

    There are about as many coefficients as in one function for each class, but only the pairs of a row's
    winner must be accurate. The one cell has `landmarks` landmarks, or as many as `max_operations` allows.
    With it comes its error on held-out rows, as compress measures it; None if nothing was fitted.
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
        held = _of_statement(report.statement)
    assert made.nr_sv is not None
    centers = np.zeros((1, max(made.sv.n_columns, rows.n_columns)))
    nr_sv = np.ascontiguousarray(made.nr_sv[None].astype(np.int64))
    model = RoutedModel.flat(
        made.head, made.kernel, centers, [made.sv], [made.sv_coef], made.rho[None], nr_sv
    )
    return options, model, held


def _of_statement(found: ErrorStatement) -> dict[str, float]:
    """What compress states, in the form of :func:`svmfast.methods.dcpred.report.held_out`."""
    held = {"rows": float(found.rows), "frequent_rows": float(found.frequent_rows)}
    held |= {"median_abs_error": found.median, "abs_error_99": found.quantile_99}
    held |= {"abs_error_999": found.quantile_999, "max_abs_error": found.largest}
    held["fallback_error"] = found.quantile_999
    names = [f"labels_differing_percent{end}" for end in ("", "_low", "_high")]
    return held | {name: getattr(found, name) for name in names if getattr(found, name) is not None}


def _affordable(exact: Model, rows: Rows, most: float) -> int:
    """Count the landmarks for `most` linear models: each costs its features and the pairs of its class."""
    classes = exact.head.n_classes
    each = max(rows.n_columns, exact.n_features) + classes - 1
    count = int(most * rows.n_columns * linear_functions(exact.head) / each)
    if count < classes:
        what = f"`max_operations` {most:g}x allows {count} landmarks for {classes} classes"
        raise NothingFitsError(what, "allow more")
    return count
