"""dcpred: DC-Pred++, a tree of clusters with a few landmarks each, and pseudo landmarks at next to no cost.

Hsieh, Si, Dhillon, "Fast Prediction for Large-Scale Kernel Machines", NIPS 2014. Ours beyond the paper:
landmarks, coefficients and each leaf's kernel width are moved by gradient once the paper's method has placed
them; rows of neighbouring leaves take part at half weight; a leaf knows only the classes it has.
The three ways in (labels, values, an exact model) share every step between, so they stand in one file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from svmfast.errors import OptionError, SingleClassError, UnsupportedError
from svmfast.methods.common.class_targets import svc_targets
from svmfast.methods.common.equal_rows import row_keys
from svmfast.methods.common.error_statement import ErrorStatement
from svmfast.methods.common.refit_probabilities import probabilities_after
from svmfast.methods.dcpred.held_out import as_held_out, held_out, rows_aside
from svmfast.methods.dcpred.pairs import affordable, check_pairs, fit_pairs
from svmfast.methods.dcpred.search import choose, linear_functions, score_of
from svmfast.methods.dcpred.settings import (
    DEFAULT_ITERATIONS,
    FITS,
    KMEANS,
    PAIRS_ITERATIONS,
    PSEUDO,
    Candidate,
    CrossValidation,
    DcpredReport,
    DcpredSettings,
    check_width,
)
from svmfast.methods.dcpred.work import Exact, Stopwatch, Training, build_tree, train_tree
from svmfast.methods.train.training import TrainOptions, train
from svmfast.models.base import Model
from svmfast.models.expansion import KernelExpansion
from svmfast.models.head import Head
from svmfast.models.routed import RoutedModel
from svmfast.progress import Progress, silent
from svmfast.rows import FloatArray, Rows
from svmfast.solvers.arithmetic import arithmetic
from svmfast.solvers.kernel_clusters import load_kmeans
from svmfast.threads import one_blas_thread

__all__ = [
    "DEFAULT_ITERATIONS",
    "FITS",
    "KMEANS",
    "PAIRS_ITERATIONS",
    "PSEUDO",
    "Candidate",
    "CrossValidation",
    "DcpredReport",
    "DcpredSettings",
    "cross_validate_dcpred",
    "fit_exact",
    "fit_ridge",
    "fit_svc",
    "what_is_fitted",
]

IntArray = NDArray[np.int64]

#: LIBSVM's cache for the exact model of --fit pairs.
CACHE_MEGABYTES = 400.0


def fit_svc(
    rows: Rows,
    labels: FloatArray,
    settings: DcpredSettings,
    *,
    fit: str = "auto",
    threads: int = 1,
    provenance: Mapping[str, str] | None = None,
    progress: Progress = silent,
) -> tuple[RoutedModel, DcpredReport]:
    """Train a classifier: squared hinge; three or more classes one against the rest within each leaf.

    Parameters
    ----------
    rows : Rows of n rows
    labels : (n,) float64
        Integers.
    settings : DcpredSettings
        With several gammas or Cs, `folds` must be set: the best pair is taken.
    fit : {"auto", "labels", "pairs"}
        pairs: one cluster, of three or more classes; LIBSVM trains on all rows, and its values are fitted as
        compress fits them; `cost` sets the landmarks. auto: labels.

    Raises
    ------
    OptionError, TrainingRowError, UnsupportedError, MemoryLimitError
    """
    training = _svc(rows, labels)
    if fit not in ("auto", "labels", "pairs"):
        raise OptionError(f"--fit is '{fit}'; without --from it is one of auto, labels, pairs")
    if fit == "pairs":
        check_pairs(settings)
        gamma, cost = settings.gammas[0], settings.strengths[0]
        seconds = Stopwatch()
        options = TrainOptions(gamma=gamma, C=cost, cache_size=CACHE_MEGABYTES)
        exact = train(rows, labels, options, threads=threads)
        seconds.lap("exact model")
        how = (threads, provenance or {}, progress, seconds)
        return _fit_pairs(training, exact, settings, cost, *how)[:2]
    return _fit("svc", training, settings, threads, provenance or {}, progress)


def fit_ridge(
    rows: Rows,
    targets: FloatArray,
    settings: DcpredSettings,
    *,
    threads: int = 1,
    provenance: Mapping[str, str] | None = None,
    progress: Progress = silent,
) -> tuple[RoutedModel, DcpredReport]:
    """Kernel ridge regression: sum (f(x_i) - y_i)^2 + lambda ||f||^2 in each leaf.

    Parameters
    ----------
    rows : Rows of n rows
    targets : (n,) float64
    settings : DcpredSettings

    Raises
    ------
    OptionError, MemoryLimitError
    """
    return _fit("ridge", _ridge(rows, targets), settings, threads, provenance or {}, progress)


def fit_exact(
    rows: Rows,
    exact: Model,
    settings: DcpredSettings,
    *,
    fit: str = "auto",
    cost: float = 10.0,
    threads: int = 1,
    provenance: Mapping[str, str] | None = None,
    progress: Progress = silent,
) -> tuple[RoutedModel, DcpredReport]:
    """Convert a model of any svm_type on rows that need no labels.

    Parameters
    ----------
    rows : Rows of n rows
        Like those to be predicted. A LIBSVM model's support vectors take part as well.
    exact : Model
    settings : DcpredSettings
        One gamma; `strengths` is the lambda of fitting decision values.
    fit : {"auto", "values", "labels", "pairs"}
        Fit the exact decision values of all functions, keeping the exact head with its probabilities
        (LIBSVM's coupling of the pairs, with probA and probB as they are); or the exact model's labels, one
        function a class, which have no probabilities. auto: labels for three or more classes, whose many
        pairs would share each leaf's landmarks, values else. pairs: the values, with every landmark in the
        pairs of its class alone; one cluster.
    cost : float
        C of fitting labels.

    Raises
    ------
    OptionError, UnsupportedError, MemoryLimitError
    """
    if fit not in FITS:
        raise OptionError(f"--fit is '{fit}'; expected one of {', '.join(FITS)}")
    if len(settings.gammas) * len(settings.strengths) != 1 or settings.folds:
        raise OptionError("--from takes one gamma and one lambda, and no cross validation")
    head = exact.head
    if not head.n_functions:
        raise UnsupportedError(
            "the model has a single class and no decision function", "it needs no conversion"
        )
    fit = what_is_fitted(head, fit)
    if fit in ("labels", "pairs") and not head.is_classifier:
        raise OptionError(f"--fit {fit} is for classifiers; this is a {head.svm_type} model")
    if fit == "pairs":
        check_pairs(settings)
    progress(0, None, "exact model on the rows")
    if fit == "pairs":
        training = _labelled(rows, head, exact.decision_values(rows, threads=threads), None)
        model, report, statement = _fit_pairs(
            training, exact, settings, None, threads, provenance or {}, progress, Stopwatch()
        )
        told = None if statement is None else as_held_out(statement)
        after = probabilities_after(head, model.head)
        return model, replace(report, held_out=told, probabilities=after)
    keys = row_keys(rows)
    chosen, kept = rows_aside(keys, settings.seed)
    aside, inside = rows.take(chosen), rows.take(np.flatnonzero(~kept))
    landmarks, trained_on = None, False
    if isinstance(exact, KernelExpansion) and exact.kernel.kind == "rbf":
        width = max(rows.n_columns, exact.sv.n_columns)
        sv = exact.sv.renumbered(exact.sv.indices, width)
        # Support vectors are often rows of the data: those held out take no part by that way either.
        seen, vectors = {keys[i] for i in chosen}, row_keys(sv)
        trained_on = 2 * len(set(vectors) & set(keys)) > len(vectors)
        new = np.array([i for i, key in enumerate(vectors) if key not in seen], dtype=np.int64)
        sv = sv.take(new)
        landmarks = Exact(sv, (exact.sv_coef[:, new] ** 2).sum(axis=0))
        inside = Rows.concatenate([inside.renumbered(inside.indices, width), sv])
    values = exact.decision_values(inside, threads=threads)
    if fit == "values":
        training = Training(inside, values, head, "squares", landmarks)
    else:
        training = _labelled(inside, head, values, landmarks)
        settings = replace(settings, strengths=(cost,))
    model, report = _fit(fit, training, settings, threads, provenance or {}, progress)
    progress(0, None, "error on held-out rows")
    found = held_out(exact, model, aside, values_fitted=fit == "values", threads=threads)
    if found is not None and trained_on:
        found["trained_on"] = 1.0
    after = probabilities_after(head, model.head)
    return model, replace(report, held_out=found, probabilities=after)


def what_is_fitted(head: Head, fit: str) -> str:
    """Return what `fit` stands for in converting a model with this head; only ``auto`` leaves it open."""
    if fit != "auto":
        return fit
    return "labels" if head.is_classifier and head.n_classes > 2 else "values"


def cross_validate_dcpred(
    task: str,
    rows: Rows,
    targets: FloatArray,
    settings: DcpredSettings,
    *,
    threads: int = 1,
    progress: Progress = silent,
) -> tuple[CrossValidation, ...]:
    """Return the score of every pair of gamma and strength, without a model of all rows.

    Parameters
    ----------
    task : {"svc", "ridge"}
    targets : (n,) float64
        Labels or values.
    settings : DcpredSettings
        With `folds`.
    """
    training = _svc(rows, targets) if task == "svc" else _ridge(rows, targets)
    _check_folds(settings, len(rows))
    check_width(rows, settings)
    with one_blas_thread():
        return _cross_validate(training, settings, threads, progress)


def _fit_pairs(
    training: Training,
    exact: Model,
    settings: DcpredSettings,
    cost: float | None,
    threads: int,
    provenance: Mapping[str, str],
    progress: Progress,
    seconds: Stopwatch,
) -> tuple[RoutedModel, DcpredReport, ErrorStatement | None]:
    """Fit; `cost` is the C that `exact` was trained with here, or None where it was given."""
    settings = affordable(exact, training.rows, settings)
    made, statement = fit_pairs(exact, training.rows, settings, threads=threads, progress=progress)
    seconds.lap("landmarks")
    gamma = float(made.gamma[0])
    sizes = np.array([len(training.rows)])
    model, report = _reported(
        "pairs", training, made, settings, gamma, cost, sizes, provenance, threads, seconds=seconds.laps
    )
    return model, report, statement


def _svc(rows: Rows, labels: FloatArray) -> Training:
    head, targets = svc_targets(labels, pairs=False)
    if head.n_classes == 1:
        raise SingleClassError(labels[0])
    return Training(rows, targets, head, "squared_hinge")


def _labelled(rows: Rows, exact: Head, values: FloatArray, landmarks: Exact | None) -> Training:
    """The exact model's labels as targets, in its order of the classes."""
    assert exact.labels is not None
    said = exact.predict(values)
    targets = np.where(said[:, None] == exact.labels, 1.0, -1.0)
    if (targets > 0).any(axis=0).sum() == 1:
        raise UnsupportedError("the exact model gives all rows one label", "use rows of several classes")
    # The type stays: predict --exact asks whether both models answer the same question.
    head = Head(exact.svm_type, exact.labels, one_vs_rest=len(exact.labels) > 2)
    if not head.one_vs_rest:
        targets = np.ascontiguousarray(targets[:, :1])
    return Training(rows, targets, head, "squared_hinge", landmarks)


def _ridge(rows: Rows, targets: FloatArray) -> Training:
    return Training(rows, np.ascontiguousarray(targets[:, None]), Head("epsilon_svr"), "squares")


def _check_folds(settings: DcpredSettings, n: int) -> None:
    if settings.folds and settings.folds > n:
        raise OptionError(f"{settings.folds} folds (-v) of {n} rows")


def _fit(
    task: str,
    training: Training,
    settings: DcpredSettings,
    threads: int,
    provenance: Mapping[str, str],
    progress: Progress,
) -> tuple[RoutedModel, DcpredReport]:
    if not len(training.rows):
        raise OptionError("no rows to train on")
    if len(settings.gammas) * len(settings.strengths) > 1 and not settings.folds:
        raise OptionError("several gammas, lambdas or Cs need cross validation (-v) to choose from")
    _check_folds(settings, len(training.rows))
    check_width(training.rows, settings)
    load_kmeans()
    seconds = Stopwatch()
    scores: tuple[CrossValidation, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    gamma, strength = settings.gammas[0], settings.strengths[0]
    with one_blas_thread():
        tree = None
        if settings.cost is not None:
            settings, tree, candidates = choose(
                training, settings, gamma, strength, threads=threads, progress=progress
            )
            seconds.lap("choosing")
        if settings.folds:
            scores = _cross_validate(training, settings, threads, progress)
            pick = min if training.loss == "squares" else max
            best = pick(scores, key=lambda s: s.score)
            gamma, strength = best.gamma, best.strength
            seconds.lap("cross validation")
        if tree is None:
            progress(0, None, "clusters")
            tree = build_tree(training, settings, threads)
            seconds.lap("clusters")
        made = train_tree(training, tree, settings, gamma, strength, threads=threads, progress=progress)
        seconds.lap("leaves")
    return _reported(
        task, training, made, settings, gamma, strength, np.bincount(tree.leaf), provenance, threads,
        cross_validation=scores, candidates=candidates, seconds=seconds.laps,
    )  # fmt: skip


def _reported(
    task: str,
    training: Training,
    made: RoutedModel,
    settings: DcpredSettings,
    gamma: float,
    strength: float | None,
    sizes: IntArray,
    provenance: Mapping[str, str],
    threads: int,
    *,
    cross_validation: tuple[CrossValidation, ...] = (),
    candidates: tuple[Candidate, ...] = (),
    seconds: Mapping[str, float],
) -> tuple[RoutedModel, DcpredReport]:
    told = {**provenance, "method": "dcpred", **settings.told(task, gamma, strength)}
    model = replace(made, provenance={**told, "arithmetic": arithmetic()})
    sample = min(len(training.rows), 20_000)
    rows = training.rows[:sample]
    said, truth = model.decision_values(rows, threads=threads), training.targets[:sample]
    if task == "pairs":
        score = float(np.mean(model.head.predict(said) == training.head.predict(truth)) * 100)
    else:
        score = score_of(training, said, truth)
    return model, DcpredReport(
        task=task,
        rows=len(training.rows),
        features=training.rows.n_columns,
        clusters=len(sizes),
        leaf_rows=(int(sizes.min()), int(sizes.max())),
        landmarks=len(model.landmarks),
        pseudo_landmarks=0 if model.pseudo is None else int(model.pseudo.sizes.sum()),
        pseudo="none" if model.pseudo is None else model.pseudo.kind,
        gamma=gamma,
        strength=strength,
        leaf_gammas=(float(model.gamma.min()), float(model.gamma.max())),
        multiply_adds=model.multiply_adds(training.rows),
        linear_multiply_adds=float(training.rows.n_columns * linear_functions(training.head)),
        train_score=abs(score),
        cross_validation=cross_validation,
        folds=settings.folds,
        candidates=candidates,
        held_out=None,
        seconds=seconds,
    )


def _cross_validate(
    training: Training, settings: DcpredSettings, threads: int, progress: Progress
) -> tuple[CrossValidation, ...]:
    """Score every pair of parameters; a fold's tree serves them all."""
    assert settings.folds is not None
    n = len(training.rows)
    fold = np.random.default_rng([settings.seed, 7]).permutation(n) % settings.folds
    pairs = [(gamma, strength) for gamma in settings.gammas for strength in settings.strengths]
    decisions = [np.zeros_like(training.targets) for _ in pairs]
    for f in range(settings.folds):
        inside, outside = training.only(fold != f), np.flatnonzero(fold == f)
        tree = build_tree(inside, settings, threads)
        test = training.rows.take(outside)
        for i, (gamma, strength) in enumerate(pairs):
            model = train_tree(inside, tree, settings, gamma, strength, threads=threads)
            decisions[i][outside] = model.decision_values(test, threads=threads)
            progress(f * len(pairs) + i + 1, settings.folds * len(pairs), "cross validation")
    return tuple(
        CrossValidation(gamma, strength, abs(score_of(training, said, training.targets)))
        for (gamma, strength), said in zip(pairs, decisions, strict=True)
    )
