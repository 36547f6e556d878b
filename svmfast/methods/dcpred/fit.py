"""dcpred: DC-Pred++, a tree of clusters with a few landmarks each, and cheap pseudo landmarks.

Hsieh, Si, Dhillon, "Fast Prediction for Large-Scale Kernel Machines", NIPS 2014. Additions to the paper:
landmarks, coefficients and each leaf's kernel width are optimized by gradient descent, starting from the
paper's solution; nearby rows of other leaves are included with half weight; a leaf only distinguishes the
classes of its own rows.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from svmfast.errors import MemoryLimitError, OptionError, UnsupportedError
from svmfast.figures import figure
from svmfast.methods.candidates import Candidate, CandidateRequest, NotTried
from svmfast.methods.common.cross_validation import (
    CrossValidation,
    GridScores,
    best_pair,
    check_folds,
    checked_labels,
    cross_validate,
)
from svmfast.methods.common.equal_rows import Aside, row_keys, rows_aside, vector_keys
from svmfast.methods.common.error_statement import (
    TRAINED_ON,
    ErrorStatement,
    probabilities_after,
    probability_lines,
)
from svmfast.methods.common.landmarks import LandmarkReport, outcome, widths_to_try
from svmfast.methods.common.problem import MOST_SCORED, Problem
from svmfast.methods.common.row_sample import drawn_by_class
from svmfast.methods.dcpred import DcpredOptions
from svmfast.methods.dcpred.tree import affordable_landmarks, kmeans_tree, train_tree
from svmfast.methods.method import ALONE, Inputs, Outcome, Setting
from svmfast.models.base import Model
from svmfast.models.expansion import KernelExpansion
from svmfast.models.head import Head
from svmfast.models.routed import RoutedModel
from svmfast.options import changed_words
from svmfast.rows import FloatArray, Rows
from svmfast.solvers.arithmetic import provenance
from svmfast.solvers.kernel_clusters import load_kmeans
from svmfast.threads import one_blas_thread

#: Describes the targets, after the score on the training rows.
_FITTED = {
    "values": ", fitted to the exact decision values",
    "labels": ", fitted to the exact labels",
}


@dataclass(frozen=True, kw_only=True)
class DcpredReport(LandmarkReport):
    """The report of a training run; the task of a conversion is ``values`` or ``labels``."""

    leaf_rows: tuple[int, int] = figure("Rows of the smallest and the largest leaf.")
    pseudo_landmarks: int = figure("Pseudo landmarks of the model, in all leaves together.")
    pseudo: str = figure("Their kind.")
    leaf_gammas: tuple[float, float] = figure("Smallest and largest gamma of a leaf, after the optimization.")
    held_out: ErrorStatement | None = figure(
        "Of a conversion: differences from the exact model on held-out rows; null if there are none.",
        default=None,
    )
    probabilities: str = figure(
        "What became of the exact model's probabilities: none (it had none), kept, or dropped.",
        default="none",
    )

    def lines(self) -> list[str]:
        low, high = self.leaf_rows
        narrow, wide = self.leaf_gammas
        return self.text(
            data=f"; {self.clusters} clusters of {low:,} to {high:,} rows",
            kernel=f"rbf, gamma {self.gamma:.6g} (leaves {narrow:.4g} to {wide:.4g})",
            fitted=_FITTED.get(self.task, ""),
            held=[*(self.held_out.lines() if self.held_out else ()), *probability_lines(self.probabilities)],
            pseudo=f", {self.pseudo_landmarks:,} {self.pseudo} pseudo" if self.pseudo_landmarks else "",
        )


def held_out(
    exact: Model, model: Model, rows: Rows, aside: Aside, *, values_fitted: bool, threads: int
) -> ErrorStatement | None:
    """Compare two models on the rows that are held out, and on the frequent rows; None if there are none.

    `values_fitted`: `model` was fitted to the decision values of `exact`, so that these can be compared.
    """
    if not len(aside.rows):
        return None
    compared = rows.take(aside.rows)
    return ErrorStatement.of(
        (exact.head, model.head),
        (exact.decision_values(compared, threads=threads), model.decision_values(compared, threads=threads)),
        aside.counted,
        rows=len(aside.held),
        values_fitted=values_fitted,
    )


Fitted = tuple[RoutedModel, DcpredReport]


def fit(
    rows: Rows, labels: FloatArray, options: DcpredOptions, setting: Setting = ALONE
) -> Fitted | tuple[None, GridScores]:
    """Train a classifier with the squared hinge loss, three or more classes one-vs-rest, or ridge regression.

    Ridge minimizes sum (f(x_i) - y_i)^2 + lambda ||f||^2 in each leaf. With several `gamma`, `C` or
    `lambda_`, `folds` must be set, and the best pair is used; if no model is to be written, the scores are
    the result.
    """
    problem = Problem.of_task(options.task, rows, labels, options.weights)
    if options.fit == "values":
        raise OptionError("`fit` values needs `exact`")
    asked, options = options, options.resolved(rows)
    check_folds(problem.hinge, len(problem.rows), options)
    if setting.writes or not options.folds:
        return _fit_model(problem, options, setting, asked)
    _check_width(rows, options)
    with one_blas_thread():
        scores = _scores(problem, options, setting)
        name = "C" if problem.hinge else "lambda"
        return None, GridScores(len(problem.rows), options.folds, scores, options.weights, name)


def fit_exact(
    rows: Rows, exact: Model, options: DcpredOptions, setting: Setting = ALONE, source: str | None = None
) -> Fitted:
    """Convert a model of any svm_type, on rows like those to be predicted, which need no labels.

    A LIBSVM model's support vectors are added to the rows. `fit` values fits the exact decision values of all
    functions with one `lambda_`, and keeps the exact head with its probabilities (LIBSVM's coupling of the
    pairs, with the same probA and probB). labels fits the exact model's labels with one `C` and one function
    per class, without probabilities. auto means labels for three or more classes, whose many pairs would have
    to share each leaf's landmarks, and otherwise values.
    """
    asked, options = options, options.resolved(rows, exact)
    task, head, threads = what_is_fitted(exact.head, options.fit), exact.head, setting.threads
    if len(options.gamma) * len(options.C) * len(options.lambda_) != 1 or options.folds:
        raise OptionError(
            "`exact` takes one `gamma` and one `C` or `lambda_`, and no cross-validation (`folds`)"
        )
    if not head.n_functions:
        raise UnsupportedError(
            "the model has a single class and no decision function", "it needs no conversion"
        )
    if task == "labels" and not head.is_classifier:
        raise OptionError(f"`fit` labels is for classifiers; this is a {head.svm_type} model")
    setting.progress(0, None, "exact model on the rows")
    keys = row_keys(rows)
    aside = rows_aside(keys, (options.seed, 13))
    inside, vectors = rows.take(aside.fitted), None
    expansion = exact.expansion
    if expansion is not None and expansion.kernel.kind == "rbf":
        held = {keys[i] for i in aside.held}
        inside, vectors, named = _with_vectors(inside, expansion, held, options.seed, (rows, keys))
        if 2 * len(named.intersection(keys)) > len(vectors[0]):
            setting.note(TRAINED_ON)
        if (used := len(vectors[1])) < (n := len(expansion.sv)) and n > MOST_VECTORS:
            setting.note(f"fitted on a sample of {used:,} of the {n:,} support vectors, and on the data")
    values = exact.decision_values(inside, threads=threads)
    problem = Problem(inside, values, head, task) if task == "values" else _labelled(inside, head, values)
    model, report = _fit_model(replace(problem, vectors=vectors), options, setting, asked, source)
    setting.progress(0, None, "error on held-out rows")
    found = held_out(exact, model, rows, aside, values_fitted=task == "values", threads=threads)
    return model, replace(report, held_out=found, probabilities=probabilities_after(head, model.head))


def what_is_fitted(head: Head, fit: str) -> str:
    """Replace ``auto`` by its meaning for a model with this head."""
    if fit != "auto":
        return fit
    return "labels" if head.is_classifier and head.n_classes > 2 else "values"


def _scores(problem: Problem, options: DcpredOptions, setting: Setting) -> tuple[CrossValidation, ...]:
    """Score each pair of parameters; all pairs share the tree of a fold."""

    def models(inside: Problem) -> Iterator[RoutedModel]:
        tree = kmeans_tree(inside.rows, options.clusters, levels=options.levels or 0, seed=options.seed)
        for pair in itertools.product(options.gamma, options.regularizations(problem.hinge)):
            yield train_tree(inside, tree, options, *pair, Setting(setting.threads))

    return cross_validate(problem, options, setting, models)


def _fit_model(
    problem: Problem,
    options: DcpredOptions,
    setting: Setting,
    asked: DcpredOptions,
    source: str | None = None,
) -> Fitted:
    if not len(problem.rows):
        raise OptionError("no rows to train on")
    _check_width(problem.rows, options)
    load_kmeans()
    with one_blas_thread():
        setting.progress(0, None, "clusters")
        tree = kmeans_tree(problem.rows, options.clusters, levels=options.levels or 0, seed=options.seed)
        if options.max_operations is not None:
            landmarks = affordable_landmarks(problem, tree, options.max_operations)
            options = replace(options, landmarks=landmarks)
            _check_width(problem.rows, options)
        scores = _scores(problem, options, setting) if options.folds else ()
        gamma, regularization, asked = best_pair(problem, options, asked, scores)
        made = train_tree(problem, tree, options, gamma, regularization, setting)
    rows, task, sizes = problem.rows, problem.task, np.bincount(tree.leaf)
    origin = provenance("dcpred", " ".join(changed_words(asked)), options.seed, source)
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
        gamma=gamma,
        regularization=regularization,
        leaf_gammas=(float(model.gamma.min()), float(model.gamma.max())),
        multiply_adds=model.multiply_adds(rows),
        linear_multiply_adds=float(rows.n_columns * problem.head.linear_functions),
        training=problem.quality(model.head, decisions),
        cross_validation=scores,
        folds=options.folds,
    )


def _check_width(rows: Rows, options: DcpredOptions) -> None:
    vectors = min(options.clusters * (2 + options.landmarks), 2 * len(rows))
    needed = 8 * 3 * vectors * rows.n_columns
    if needed > options.memory:
        what = f"centers and landmarks of {rows.n_columns:,} columns"
        advice = "raise `memory`, or use fewer `clusters` and `landmarks`"
        raise MemoryLimitError(what, needed, options.memory, advice)


#: Support vectors that are fitted: the exact values of all would take time that grows with their square.
MOST_VECTORS = 50_000


def _with_vectors(
    inside: Rows, exact: KernelExpansion, aside: set[bytes], seed: int, data: tuple[Rows, list[bytes]]
) -> tuple[Rows, tuple[Rows, FloatArray], set[bytes]]:
    """Add support vectors to the rows to fit, except those equal to rows `aside`; of many, a sample by class.

    With them come their squared coefficients, and their keys among the rows of `data`.
    """
    width = max(inside.n_columns, exact.sv.n_columns)
    sv, sv_coef, n = exact.sv, exact.sv_coef, len(exact.sv)
    if n > MOST_VECTORS:
        sizes = np.array([n]) if exact.nr_sv is None else exact.nr_sv
        places, _ = drawn_by_class(sizes, MOST_VECTORS, seed)
        sv, sv_coef = sv.take(places), sv_coef[:, places]
    sv = sv.renumbered(sv.indices, width)
    # Support vectors are often rows of the data; those that equal held-out rows are not added.
    keys = vector_keys(sv, *data)
    new = np.array([i for i, key in enumerate(keys) if key not in aside], dtype=np.int64)
    sv = sv.take(new)
    squares = (sv_coef[:, new] ** 2).sum(axis=0)
    joined = Rows.concatenate([inside.renumbered(inside.indices, width), sv])
    return joined, (sv, squares), {*keys} - aside


def _labelled(rows: Rows, exact: Head, values: FloatArray) -> Problem:
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
    return Problem(rows, targets, head, "labels")


#: Multiples of a linear model's multiply-adds, and numbers of clusters, for the candidates.
OPERATIONS, CLUSTERS = (5, 10, 20, 40), (1, 16)
#: Numbers of landmarks of the candidates with one cluster.
SIZES = (256, 1024)


def run(inputs: Inputs, options: DcpredOptions, setting: Setting) -> Outcome:
    data, source = inputs.rows("data"), inputs["exact"]
    if source is None:
        missing = "`labels` are needed for `task`; for rows without labels, use `exact`"
        labels = checked_labels(data, options, setting, missing)
        return outcome(fit(data.rows, labels, options, setting), setting, converted=False)
    head = source.model.head
    if head.has_probability and what_is_fitted(head, options.fit) == "labels":
        setting.warn(
            f"the probabilities of {source.name} will be dropped: `fit` labels gives values that LIBSVM's "
            "pairwise probabilities are not defined for; `fit` values keeps them"
        )
    made = fit_exact(data.rows, source.model, options, setting, source.identity)
    return outcome(made, setting, converted=True)


def candidates(request: CandidateRequest) -> tuple[list[Candidate], list[NotTried]]:
    common = {**widths_to_try(request.exact), "seed": request.seed}
    inputs = ("data", "exact")
    found = []
    if landmarks := request.vectors:
        # One leaf: every landmark then serves every row, which is best for the size.
        options = {"clusters": 1, "landmarks": landmarks, **common}
        found.append(Candidate(f"dcpred-{landmarks}-landmarks", 0, options, inputs, sized=True))
    for (level, times), clusters in itertools.product(enumerate(OPERATIONS), CLUSTERS):
        # A row is compared with every center.
        if clusters == 1 or clusters < times * request.exact.head.linear_functions:
            options = {"max_operations": float(times), "clusters": clusters, **common}
            found.append(Candidate(f"dcpred-{clusters}-{times}x", level, options, inputs))
    for level, size in enumerate(SIZES, 1):
        if size != landmarks and size < len(request.exact.sv):
            options = {"clusters": 1, "landmarks": size, **common}
            found.append(Candidate(f"dcpred-{size}-landmarks", level, options, inputs))
    return found, []
