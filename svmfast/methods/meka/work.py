"""Fits of meka from rows to models, and the choice of parameters on held-out rows."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from svmfast.kernels import Kernel
from svmfast.methods.common.class_targets import labels_of
from svmfast.methods.common.cross_validation import CrossValidation, fold_numbers
from svmfast.methods.common.equal_rows import row_keys
from svmfast.methods.common.error_statement import labels_differing
from svmfast.methods.common.head_score import HeadScore, head_quality, value_quality
from svmfast.methods.common.hold_out import HELD_OUT, rows_aside
from svmfast.methods.common.refit_probabilities import probability_error
from svmfast.methods.meka.approximation import approximate_kernel
from svmfast.methods.meka.blocks import block_ridge, block_svc
from svmfast.methods.meka.options import MekaOptions
from svmfast.methods.meka.plan import check_blocks, check_memory, plan_bytes
from svmfast.methods.meka.solve import assemble, meka_ridge, meka_svc
from svmfast.models.head import Head
from svmfast.models.routed import RoutedModel
from svmfast.progress import Progress, silent
from svmfast.rows import Rows
from svmfast.score import Quality, values_differing_percent
from svmfast.solvers.kernel_clusters import kmeans_centers, partition

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Problem:
    """The problem to fit.

    Attributes
    ----------
    task : str
        ``ridge``, ``svc`` or ``exact``.
    rows : Rows
        n rows.
    targets : (n, p) float64
    head : Head
    weights : (n,) float64 or None
        Weight of each row's class, by which C is multiplied.
    """

    task: str
    rows: Rows
    targets: FloatArray
    head: Head
    weights: FloatArray | None = None

    def only(self, chosen: NDArray[np.bool_]) -> Problem:
        """Return the problem with only some of the rows."""
        weights = None if self.weights is None else self.weights[chosen]
        return replace(self, rows=self.rows.take(chosen), targets=self.targets[chosen], weights=weights)

    @property
    def truth(self) -> FloatArray:
        """The labels or values of the data, ``(n,)``."""
        return labels_of(self.head, self.targets) if self.task == "svc" else self.targets[:, 0]

    def quality(self, decisions: FloatArray) -> Quality:
        """Compare decision values of the first rows, ``(m, p)``, with the targets."""
        n = len(decisions)
        if self.task == "exact":
            return value_quality(decisions, self.targets[:n])
        return head_quality(self.head, decisions, self.truth[:n])


class Work:
    """A problem and its clusters. All regularizations share the clusters, blocks and links."""

    def __init__(
        self, problem: Problem, options: MekaOptions, threads: int, progress: Progress = silent
    ) -> None:
        self.options, self.threads, self.progress = options, threads, progress
        self.task, self.head = problem.task, problem.head
        centers = kmeans_centers(problem.rows, options.clusters, seed=options.seed)
        self.parted = partition(problem.rows, centers, threads=threads)
        order = self.parted.order
        self.targets = problem.targets[order]
        self.weights = None if problem.weights is None else problem.weights[order]
        self.ranks: tuple[int, ...] = ()
        self.links, self.bytes = 0, 0

    def models(self, gamma: float, regularizations: Sequence[float]) -> list[RoutedModel]:
        """Return the model of each regularization."""
        options, kernel = self.options, Kernel(self.options.kernel_kind, gamma)
        if options.block_only:
            self.progress(0, None, "exact blocks")
            sizes = self.parted.sizes
            check_blocks(sizes, options, self.task, threads=self.threads)
            self.ranks, self.bytes = tuple(sizes.tolist()), int((sizes * (sizes + 1)).sum()) * 4
            if self.task == "svc":
                return [
                    block_svc(kernel, self.parted, self.targets, self.weights, self.head, c, self.threads)
                    for c in regularizations
                ]
            return block_ridge(kernel, self.parted, self.targets, self.head, regularizations, self.threads)
        rows, width = self.parted.rows, self.targets.shape[1]
        largest = int(self.parted.sizes.max())
        check_memory(
            options, plan_bytes(rows, options, self.task, width, threads=self.threads, largest=largest)
        )
        meka = approximate_kernel(kernel, self.parted, options, threads=self.threads, progress=self.progress)
        self.ranks, self.links, self.bytes = tuple(meka.ranks.tolist()), len(meka.links), meka.bytes
        self.progress(0, None, "solve")
        if self.task == "svc":
            found = meka_svc(meka, self.targets, regularizations, options.psd, weights=self.weights)
        else:
            found = meka_ridge(meka, self.targets, regularizations, options.psd)
        return [assemble(meka, self.head, inner, rho) for inner, rho in found]


def cross_validate(
    problem: Problem, options: MekaOptions, threads: int, progress: Progress
) -> tuple[CrossValidation, ...]:
    """Score each pair of parameters; pairs share a fold's clusters, and with equal gamma blocks and links."""
    assert options.folds is not None
    regularizations = options.regularizations(problem.task)
    fold = fold_numbers(problem.rows, options.folds, options.seed)
    pairs = list(itertools.product(options.gamma, regularizations))
    scores = [HeadScore(problem.head) for _ in pairs]
    done, steps = 0, options.folds * len(options.gamma)
    progress(0, steps, "cross validation")
    for f in range(options.folds):
        outside = problem.only(fold == f)
        work = Work(problem.only(fold != f), options, threads)
        for g, gamma in enumerate(options.gamma):
            own = scores[g * len(regularizations) :]
            for score, model in zip(own, work.models(gamma, regularizations), strict=False):
                score.add(model.decision_values(outside.rows, threads=threads), outside.truth)
            done += 1
            progress(done, steps, "cross validation")
    return tuple(CrossValidation(*pair, score.quality) for pair, score in zip(pairs, scores, strict=True))


def choose_on_held_out(
    problem: Problem, options: MekaOptions, threads: int
) -> tuple[float, dict[str, float]]:
    """Return the lambda with the smallest squared error on held-out rows, and statistics of that error."""
    head, regularizations = problem.head, options.regularizations(problem.task)
    keys = row_keys(problem.rows)
    count = max(1, int(HELD_OUT * len(set(keys))))
    # Frequent rows are held out like others, because lambda is chosen on all of these rows.
    aside = rows_aside(keys, count, (options.seed, 8), copies_agree=False)
    outside = problem.only(~aside.fitted)
    models = Work(problem.only(aside.fitted), options, threads).models(options.gamma[0], regularizations)
    values = [model.decision_values(outside.rows, threads=threads) for model in models]
    miss = [np.abs(v - outside.targets) for v in values]
    best = int(np.argmin([np.mean(m**2) for m in miss]))
    found = {f"q{q}": float(np.quantile(miss[best], q / 100)) for q in (50, 90, 99)}
    found["max"], found["mean"] = float(miss[best].max()), float(miss[best].mean())
    found["rows"] = float(len(outside.rows))
    found |= probability_error(head, values[best], outside.targets)
    if head.is_regression:
        found["values_differing_percent"] = values_differing_percent(values[best], outside.targets)
    else:
        differing = head.predict(values[best]) != head.predict(outside.targets)
        found["labels_differing"] = float(np.count_nonzero(differing))
        shares = np.bincount(aside.place, weights=differing) / np.bincount(aside.place)
        found |= labels_differing(aside.counted.share(shares))
    return regularizations[best], found
