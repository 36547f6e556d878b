"""meka: kernel ridge regression, SVM and kernel error on a block-wise low-rank kernel matrix.

Si, Hsieh, Dhillon, "Memory Efficient Kernel Approximation", JMLR 18 (2017).
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from svmfast.errors import OptionError, UnsupportedError
from svmfast.kernels import Kernel
from svmfast.methods._meka_blocks import block_ridge, block_svc
from svmfast.methods._meka_error import BaselineError, ErrorReport, baseline_error, kernel_error
from svmfast.methods._meka_plan import MekaSettings, check_blocks, plan_bytes
from svmfast.methods._meka_solve import assemble, meka_ridge, meka_svc, svc_targets
from svmfast.models.base import Model
from svmfast.models.head import Head
from svmfast.models.routed import RoutedModel
from svmfast.progress import Progress, silent
from svmfast.rows import Rows
from svmfast.solvers.kernel_clusters import Partition, kmeans_centers, load_kmeans, partition
from svmfast.solvers.meka import approximate_kernel
from svmfast.solvers.pool import single_threaded_blas

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

#: Share of the rows on which --from chooses its lambda and tells its error.
HELD_OUT = 0.1
#: Where --from looks for lambda when none is given: decision values have no noise, so less than for labels.
EXACT_LAMBDAS = (1e-6, 1e-4, 1e-2, 1.0)


@dataclass(frozen=True)
class CrossValidation:
    """The score of one pair of parameters: RMSE, or percent of right labels."""

    gamma: float
    strength: float
    score: float


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
        --from: quantiles of |difference of decision values| on held-out rows, and labels that differ there.
    seconds : dict of str to float
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
    with single_threaded_blas():
        begin = time.perf_counter()
        if settings.folds:
            scores = _cross_validate(task, rows, targets, head, settings, threads, progress)
            pick = min if task == "ridge" else max
            best = pick(scores, key=lambda s: s.score)
            gamma, strength = best.gamma, best.strength
            seconds["cross validation"] = time.perf_counter() - begin
        elif task == "exact" and len(rows) >= 20:
            strength, held_out = _choose_on_held_out(rows, targets, head, settings, threads)
            seconds["held out"] = time.perf_counter() - begin
        begin = time.perf_counter()
        centers = kmeans_centers(rows, settings.clusters, seed=settings.seed)
        parted = partition(rows, centers, threads=threads)
        seconds["clusters"] = time.perf_counter() - begin
        work = _Work(task, parted, targets[parted.order], head, settings, threads, progress)
        begin = time.perf_counter()
        (model,) = work.models(Kernel(settings.kernel, gamma), [strength])
        seconds["blocks, links and solution"] = time.perf_counter() - begin
    model = replace(
        model, provenance={**provenance, "method": "meka", **settings.told(task, gamma, strength)}
    )
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
        train_score=_score(task, head, decisions, targets[: len(sample)]),
        cross_validation=scores,
        folds=settings.folds,
        held_out=held_out,
        seconds=seconds,
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
    with single_threaded_blas():
        return _cross_validate(task, rows, columns, head, settings, threads, progress)


def _svc_problem(labels: FloatArray, settings: MekaSettings) -> tuple[Head, FloatArray]:
    if settings.psd == "none" and not settings.block_only:
        raise OptionError("svc needs a positive semidefinite approximation; use --psd clip or --psd shift")
    head, targets = svc_targets(labels, pairs=settings.block_only)
    if head.n_classes == 1:
        raise UnsupportedError(f"all rows have label {labels[0]:g}", "give rows of two or more classes")
    return head, targets


def _check_folds(settings: MekaSettings, n: int) -> None:
    if settings.folds and settings.folds > n:
        raise OptionError(f"{settings.folds} folds (-v) of {n} rows")


def _linear_functions(head: Head) -> int:
    """A linear model's weight vectors for the same question, as in the paper: one against the rest."""
    return head.n_classes if head.is_classifier and head.n_classes > 2 else 1


def _score(task: str, head: Head, decisions: FloatArray, targets: FloatArray) -> float:
    if task != "svc":
        return float(np.sqrt(np.mean((decisions - targets) ** 2)))
    return float(np.mean(head.predict(decisions) == _labels_of(head, targets)) * 100)


def _labels_of(head: Head, targets: FloatArray) -> FloatArray:
    assert head.labels is not None
    which = (targets[:, 0] <= 0).astype(np.int64) if targets.shape[1] == 1 else np.argmax(targets, axis=1)
    labels: FloatArray = head.labels[which].astype(np.float64)
    return labels


class _Work:
    """One partition's rows and targets; all strengths share its clusters, blocks and links."""

    def __init__(
        self,
        task: str,
        parted: Partition,
        targets: FloatArray,
        head: Head,
        settings: MekaSettings,
        threads: int,
        progress: Progress = silent,
    ) -> None:
        self.task, self.parted, self.targets, self.head = task, parted, targets, head
        self.settings, self.threads, self.progress = settings, threads, progress
        self.ranks: tuple[int, ...] = ()
        self.links, self.bytes = 0, 0

    def models(self, kernel: Kernel, strengths: Sequence[float]) -> list[RoutedModel]:
        settings = self.settings
        if settings.block_only:
            sizes = self.parted.sizes
            check_blocks(sizes, settings, self.task, threads=self.threads)
            self.ranks, self.bytes = tuple(sizes.tolist()), int((sizes * (sizes + 1)).sum()) * 4
            if self.task == "svc":
                return [
                    block_svc(kernel, self.parted, self.targets, self.head, c, self.threads)
                    for c in strengths
                ]
            return block_ridge(kernel, self.parted, self.targets, self.head, strengths, self.threads)
        meka = approximate_kernel(
            kernel, self.parted, settings.approximation, threads=self.threads, progress=self.progress
        )
        self.ranks, self.links, self.bytes = tuple(meka.ranks.tolist()), len(meka.links), meka.bytes
        solve = meka_svc if self.task == "svc" else meka_ridge
        return [
            assemble(meka, self.head, inner, rho)
            for inner, rho in solve(meka, self.targets, strengths, settings.psd)
        ]


def _cross_validate(
    task: str,
    rows: Rows,
    targets: FloatArray,
    head: Head,
    settings: MekaSettings,
    threads: int,
    progress: Progress,
) -> tuple[CrossValidation, ...]:
    """Score every pair of parameters; k-means is shared by the gammas, blocks and links by the strengths."""
    assert settings.folds is not None
    fold = np.random.default_rng([settings.seed, 7]).permutation(len(rows)) % settings.folds
    total = np.zeros((len(settings.gammas), len(settings.strengths)))
    done, steps = 0, settings.folds * len(settings.gammas)
    for f in range(settings.folds):
        inside, outside = rows.take(fold != f), rows.take(fold == f)
        centers = kmeans_centers(inside, settings.clusters, seed=settings.seed)
        parted = partition(inside, centers, threads=threads)
        work = _Work(task, parted, targets[fold != f][parted.order], head, settings, threads)
        for g, gamma in enumerate(settings.gammas):
            models = work.models(Kernel(settings.kernel, gamma), settings.strengths)
            for s, model in enumerate(models):
                decisions, truth = model.decision_values(outside, threads=threads), targets[fold == f]
                if task == "svc":
                    total[g, s] += np.count_nonzero(head.predict(decisions) == _labels_of(head, truth))
                else:
                    total[g, s] += np.sum((decisions - truth) ** 2)
            done += 1
            progress(done, steps, "cross validation")
    score = total / len(rows) * 100 if task == "svc" else np.sqrt(total / targets.size)
    pairs = itertools.product(enumerate(settings.gammas), enumerate(settings.strengths))
    return tuple(CrossValidation(gamma, s, float(score[i, j])) for (i, gamma), (j, s) in pairs)


def _choose_on_held_out(
    rows: Rows, targets: FloatArray, head: Head, settings: MekaSettings, threads: int
) -> tuple[float, dict[str, float]]:
    held = np.zeros(len(rows), dtype=bool)
    rng = np.random.default_rng([settings.seed, 8])
    held[rng.choice(len(rows), max(1, int(HELD_OUT * len(rows))), replace=False)] = True
    inside, outside = rows.take(~held), rows.take(held)
    parted = partition(inside, kmeans_centers(inside, settings.clusters, seed=settings.seed), threads=threads)
    work = _Work("exact", parted, targets[~held][parted.order], head, settings, threads)
    models = work.models(Kernel(settings.kernel, settings.gammas[0]), settings.strengths)
    values = [model.decision_values(outside, threads=threads) for model in models]
    miss = [np.abs(v - targets[held]) for v in values]
    best = int(np.argmin([np.mean(m**2) for m in miss]))
    told = {f"q{q}": float(np.quantile(miss[best], q / 100)) for q in (50, 90, 99)}
    told["max"], told["mean"] = float(miss[best].max()), float(miss[best].mean())
    told["rows"] = float(len(outside))
    if not head.is_regression:
        told["labels_differing"] = float(
            np.count_nonzero(head.predict(values[best]) != head.predict(targets[held]))
        )
    return settings.strengths[best], told
