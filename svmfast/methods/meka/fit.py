"""meka: kernel ridge regression, SVM and kernel error on a block-wise low-rank kernel matrix.

Si, Hsieh, Dhillon, "Memory Efficient Kernel Approximation", JMLR 18 (2017).
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from svmfast.errors import OptionError, SingleClassError, UnsupportedError
from svmfast.kernels import Kernel
from svmfast.methods.common.class_targets import svc_targets
from svmfast.methods.common.refit_probabilities import probabilities_after
from svmfast.methods.meka.error import BaselineError, ErrorReport, baseline_error, kernel_error
from svmfast.methods.meka.plan import MekaSettings, plan_bytes
from svmfast.methods.meka.work import CrossValidation, Work, choose_on_held_out, cross_validate, score
from svmfast.models.base import Model
from svmfast.models.head import Head
from svmfast.models.routed import RoutedModel
from svmfast.progress import Progress, silent
from svmfast.rows import Rows
from svmfast.solvers.arithmetic import arithmetic
from svmfast.solvers.kernel_clusters import kmeans_centers, load_kmeans, partition
from svmfast.threads import one_blas_thread

__all__ = [
    "BaselineError",
    "CrossValidation",
    "ErrorReport",
    "MekaReport",
    "MekaSettings",
    "baseline_error",
    "cross_validate_meka",
    "fit_exact",
    "fit_ridge",
    "fit_svc",
    "kernel_error",
    "plan_bytes",
]

FloatArray = NDArray[np.float64]

#: Where --from looks for lambda when none is given: decision values have no noise, so less than for labels.
EXACT_LAMBDAS = (1e-6, 1e-4, 1e-2, 1.0)


@dataclass(frozen=True)
class MekaReport:
    """What a fit did.

    Attributes
    ----------
    task : str
        ``ridge``, ``svc`` or ``exact``.
    rows, features, clusters : int
    ranks : tuple of int
        Of each cluster; of exact blocks their sizes.
    links : int
        Blocks between clusters that are not zero.
    kernel : str
    gamma, strength : float
        As used; strength is lambda, or C for svc.
    bytes : int
        Memory of the approximation.
    planned_bytes : int
        What was announced for the whole work.
    landmarks : int
        Of the model.
    multiply_adds : float
        Counted cost of a prediction; a linear model's is ``linear_multiply_adds``.
    linear_multiply_adds : float
    train_score : float
        RMSE, or percent of right labels, on the training rows.
    cross_validation : tuple of CrossValidation
    folds : int or None
    held_out : dict or None
        --from: quantiles of |difference of decision values| on held-out rows, labels that differ there, and
        ``probability_mean`` and ``probability_max`` of |difference of probabilities| where there are any.
    seconds : dict of str to float
    probabilities : str
        What became of the exact model's: ``none`` to begin with, or ``kept``.
    """

    task: str
    rows: int
    features: int
    clusters: int
    ranks: tuple[int, ...]
    links: int
    kernel: str
    gamma: float
    strength: float
    bytes: int
    planned_bytes: int
    landmarks: int
    multiply_adds: float
    linear_multiply_adds: float
    train_score: float
    cross_validation: tuple[CrossValidation, ...]
    folds: int | None
    held_out: Mapping[str, float] | None
    seconds: Mapping[str, float]
    probabilities: str = "none"


def fit_ridge(
    rows: Rows,
    targets: FloatArray,
    settings: MekaSettings,
    *,
    threads: int = 1,
    provenance: Mapping[str, str] | None = None,
    progress: Progress = silent,
) -> tuple[RoutedModel, MekaReport]:
    """Kernel ridge regression, (G + lambda I) alpha = y - mean(y), with G approximated.

    Parameters
    ----------
    rows : Rows of n rows
    targets : (n,) float64
        Any real numbers.
    settings : MekaSettings
        With several gammas or lambdas, `folds` must be set: the pair with the least RMSE is taken.

    Raises
    ------
    OptionError, UnsupportedError, MemoryLimitError
    """
    head = Head("epsilon_svr")
    return _fit("ridge", rows, targets[:, None], head, settings, threads, provenance or {}, progress)


def fit_svc(
    rows: Rows,
    labels: FloatArray,
    settings: MekaSettings,
    *,
    threads: int = 1,
    provenance: Mapping[str, str] | None = None,
    progress: Progress = silent,
) -> tuple[RoutedModel, MekaReport]:
    """Support vector classification, squared hinge in the primal on the approximation's features.

    Three or more classes: one against the rest. With ``settings.block_only`` every cluster gets a LIBSVM
    model of its own instead (BKA-SVM, the paper's section 4.2), C-SVC by pairs.

    Parameters
    ----------
    rows : Rows of n rows
    labels : (n,) float64
        Integers.
    settings : MekaSettings

    Raises
    ------
    OptionError, TrainingRowError, UnsupportedError, MemoryLimitError
    """
    head, targets = _svc_problem(labels, settings)
    return _fit("svc", rows, targets, head, settings, threads, provenance or {}, progress)


def fit_exact(
    rows: Rows,
    exact: Model,
    settings: MekaSettings,
    *,
    threads: int = 1,
    provenance: Mapping[str, str] | None = None,
    progress: Progress = silent,
) -> tuple[RoutedModel, MekaReport]:
    """Fit the decision values of a model, of any svm_type, on rows that need no labels.

    All decision functions share clusters and landmarks; the result has the exact model's head, probabilities
    included. lambda, if several are given or none, is chosen on a tenth of the rows, whose errors are
    reported; the final fit uses all rows.
    """
    settings = replace(settings, strengths=settings.strengths or EXACT_LAMBDAS, folds=None)
    if len(settings.gammas) != 1:
        raise OptionError("--from takes one gamma")
    if not exact.head.n_functions:
        raise UnsupportedError(
            "the model has a single class and no decision function", "it needs no conversion"
        )
    progress(0, None, "exact model on the rows")
    targets = exact.decision_values(rows, threads=threads)
    return _fit("exact", rows, targets, exact.head, settings, threads, provenance or {}, progress)


def _fit(
    task: str,
    rows: Rows,
    targets: FloatArray,
    head: Head,
    settings: MekaSettings,
    threads: int,
    provenance: Mapping[str, str],
    progress: Progress,
) -> tuple[RoutedModel, MekaReport]:
    if task != "exact" and len(settings.gammas) * len(settings.strengths) > 1 and not settings.folds:
        raise OptionError("several gammas, lambdas or Cs need cross validation (-v) to choose from")
    _check_folds(settings, len(rows))
    planned = plan_bytes(rows, settings, task, targets.shape[1], threads=threads)
    settings.check_memory(planned)
    seconds: dict[str, float] = {}
    load_kmeans()
    scores: tuple[CrossValidation, ...] = ()
    held_out: Mapping[str, float] | None = None
    gamma, strength = settings.gammas[0], settings.strengths[0]
    with one_blas_thread():
        begin = time.perf_counter()
        if settings.folds:
            scores = cross_validate(task, rows, targets, head, settings, threads, progress)
            pick = min if task == "ridge" else max
            best = pick(scores, key=lambda s: s.score)
            gamma, strength = best.gamma, best.strength
            seconds["cross validation"] = time.perf_counter() - begin
        elif task == "exact" and len(rows) >= 20:
            progress(0, None, "lambda, on held-out rows")
            strength, held_out = choose_on_held_out(rows, targets, head, settings, threads)
            seconds["held out"] = time.perf_counter() - begin
        begin = time.perf_counter()
        progress(0, None, "clusters")
        centers = kmeans_centers(rows, settings.clusters, seed=settings.seed)
        parted = partition(rows, centers, threads=threads)
        seconds["clusters"] = time.perf_counter() - begin
        work = Work(task, parted, targets[parted.order], head, settings, threads, progress)
        begin = time.perf_counter()
        (model,) = work.models(Kernel(settings.kernel, gamma), [strength])
        seconds["blocks, links and solution"] = time.perf_counter() - begin
    model = replace(
        model,
        provenance={
            **provenance,
            "method": "meka",
            **settings.told(task, gamma, strength),
            "arithmetic": arithmetic(),
        },
    )
    progress(0, None, "error")
    sample = rows[: min(len(rows), 20_000)]
    decisions = model.decision_values(sample, threads=threads)
    report = MekaReport(
        task=task,
        rows=len(rows),
        features=rows.n_columns,
        clusters=len(parted.sizes),
        ranks=work.ranks,
        links=work.links,
        kernel=settings.kernel,
        gamma=gamma,
        strength=strength,
        bytes=work.bytes,
        planned_bytes=planned,
        landmarks=len(model.landmarks),
        multiply_adds=model.multiply_adds(sample),
        linear_multiply_adds=float(rows.n_columns * _linear_functions(head)),
        train_score=score(task, head, decisions, targets[: len(sample)]),
        cross_validation=scores,
        folds=settings.folds,
        held_out=held_out,
        seconds=seconds,
        probabilities=probabilities_after(head, model.head) if task == "exact" else "none",
    )
    return model, report


def cross_validate_meka(
    task: str,
    rows: Rows,
    targets: FloatArray,
    settings: MekaSettings,
    *,
    threads: int = 1,
    progress: Progress = silent,
) -> tuple[CrossValidation, ...]:
    """Return the score of every pair of gamma and strength, without fitting a model to all rows.

    Parameters
    ----------
    task : {"ridge", "svc"}
    targets : (n,) float64
        Targets or labels.
    settings : MekaSettings
        With `folds`.
    """
    head, columns = (Head("epsilon_svr"), targets[:, None])
    if task == "svc":
        head, columns = _svc_problem(targets, settings)
    _check_folds(settings, len(rows))
    settings.check_memory(plan_bytes(rows, settings, task, columns.shape[1], threads=threads))
    with one_blas_thread():
        return cross_validate(task, rows, columns, head, settings, threads, progress)


def _svc_problem(labels: FloatArray, settings: MekaSettings) -> tuple[Head, FloatArray]:
    if settings.psd == "none" and not settings.block_only:
        raise OptionError("svc needs a positive semidefinite approximation; use --psd clip or --psd shift")
    head, targets = svc_targets(labels, pairs=settings.block_only)
    if head.n_classes == 1:
        raise SingleClassError(labels[0])
    return head, targets


def _check_folds(settings: MekaSettings, n: int) -> None:
    if settings.folds and settings.folds > n:
        raise OptionError(f"{settings.folds} folds (-v) of {n} rows")


def _linear_functions(head: Head) -> int:
    """A linear model's weight vectors for the same question, as in the paper: one against the rest."""
    return head.n_classes if head.is_classifier and head.n_classes > 2 else 1
