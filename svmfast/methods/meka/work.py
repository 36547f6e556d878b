"""One run of meka from rows to models, and the choice of its parameters on rows held out."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from svmfast.kernels import Kernel
from svmfast.methods.common.cross_validation import CrossValidation, fold_numbers
from svmfast.methods.common.hold_out import HELD_OUT, random_rows
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
from svmfast.solvers.kernel_clusters import kmeans_centers, partition

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Problem:
    """What is fitted.

    Attributes
    ----------
    task : str
        ``ridge``, ``svc`` or ``exact``.
    rows : Rows of n rows
    targets : (n, p) float64
    head : Head
    """

    task: str
    rows: Rows
    targets: FloatArray
    head: Head

    def only(self, chosen: NDArray[np.bool_]) -> Problem:
        """Return the problem on some of the rows."""
        return replace(self, rows=self.rows.take(chosen), targets=self.targets[chosen])


def score(task: str, head: Head, decisions: FloatArray, targets: FloatArray) -> float:
    """Return the RMSE, or the percentage of right labels."""
    if task != "svc":
        return float(np.sqrt(np.mean((decisions - targets) ** 2)))
    return float(np.mean(head.predict(decisions) == labels_of(head, targets)) * 100)


def labels_of(head: Head, targets: FloatArray) -> FloatArray:
    """Return the labels that targets of +1 and -1 stand for."""
    assert head.labels is not None
    which = (targets[:, 0] <= 0).astype(np.int64) if targets.shape[1] == 1 else np.argmax(targets, axis=1)
    labels: FloatArray = head.labels[which].astype(np.float64)
    return labels


class Work:
    """A problem and its clusters; all strengths share them, the blocks and the links."""

    def __init__(
        self, problem: Problem, options: MekaOptions, threads: int, progress: Progress = silent
    ) -> None:
        self.options, self.threads, self.progress = options, threads, progress
        self.task, self.head = problem.task, problem.head
        centers = kmeans_centers(problem.rows, options.clusters, seed=options.seed)
        self.parted = partition(problem.rows, centers, threads=threads)
        self.targets = problem.targets[self.parted.order]
        self.ranks: tuple[int, ...] = ()
        self.links, self.bytes = 0, 0

    def models(self, gamma: float, strengths: Sequence[float]) -> list[RoutedModel]:
        """Return the model of each strength."""
        options, kernel = self.options, Kernel(self.options.kernel_kind, gamma)
        if options.block_only:
            self.progress(0, None, "exact blocks")
            sizes = self.parted.sizes
            check_blocks(sizes, options, self.task, threads=self.threads)
            self.ranks, self.bytes = tuple(sizes.tolist()), int((sizes * (sizes + 1)).sum()) * 4
            if self.task == "svc":
                return [
                    block_svc(kernel, self.parted, self.targets, self.head, c, self.threads)
                    for c in strengths
                ]
            return block_ridge(kernel, self.parted, self.targets, self.head, strengths, self.threads)
        rows, width = self.parted.rows, self.targets.shape[1]
        largest = int(self.parted.sizes.max())
        check_memory(
            options, plan_bytes(rows, options, self.task, width, threads=self.threads, largest=largest)
        )
        meka = approximate_kernel(kernel, self.parted, options, threads=self.threads, progress=self.progress)
        self.ranks, self.links, self.bytes = tuple(meka.ranks.tolist()), len(meka.links), meka.bytes
        self.progress(0, None, "solve")
        solve = meka_svc if self.task == "svc" else meka_ridge
        return [
            assemble(meka, self.head, inner, rho)
            for inner, rho in solve(meka, self.targets, strengths, options.psd)
        ]


def cross_validate(
    problem: Problem, options: MekaOptions, threads: int, progress: Progress
) -> tuple[CrossValidation, ...]:
    """Score every pair of parameters; k-means is shared by the gammas, blocks and links by the strengths."""
    assert options.folds is not None
    n, head, strengths = len(problem.rows), problem.head, options.strengths(problem.task)
    fold = fold_numbers(n, options.folds, options.seed)
    total = np.zeros((len(options.gamma), len(strengths)))
    done, steps = 0, options.folds * len(options.gamma)
    progress(0, steps, "cross validation")
    for f in range(options.folds):
        outside = problem.only(fold == f)
        work = Work(problem.only(fold != f), options, threads)
        for g, gamma in enumerate(options.gamma):
            for s, model in enumerate(work.models(gamma, strengths)):
                decisions = model.decision_values(outside.rows, threads=threads)
                if problem.task == "svc":
                    right = head.predict(decisions) == labels_of(head, outside.targets)
                    total[g, s] += np.count_nonzero(right)
                else:
                    total[g, s] += np.sum((decisions - outside.targets) ** 2)
            done += 1
            progress(done, steps, "cross validation")
    score = total / n * 100 if problem.task == "svc" else np.sqrt(total / problem.targets.size)
    pairs = itertools.product(enumerate(options.gamma), enumerate(strengths))
    return tuple(CrossValidation(gamma, s, float(score[i, j])) for (i, gamma), (j, s) in pairs)


def choose_on_held_out(
    problem: Problem, options: MekaOptions, threads: int
) -> tuple[float, dict[str, float]]:
    """Return the lambda of least squared error on rows held out, and figures of its error there."""
    n, head, strengths = len(problem.rows), problem.head, options.strengths(problem.task)
    held = random_rows(n, max(1, int(HELD_OUT * n)), (options.seed, 8))
    outside = problem.only(held)
    models = Work(problem.only(~held), options, threads).models(options.gamma[0], strengths)
    values = [model.decision_values(outside.rows, threads=threads) for model in models]
    miss = [np.abs(v - outside.targets) for v in values]
    best = int(np.argmin([np.mean(m**2) for m in miss]))
    found = {f"q{q}": float(np.quantile(miss[best], q / 100)) for q in (50, 90, 99)}
    found["max"], found["mean"] = float(miss[best].max()), float(miss[best].mean())
    found["rows"] = float(len(outside.rows))
    found |= probability_error(head, values[best], outside.targets)
    if not head.is_regression:
        found["labels_differing"] = float(
            np.count_nonzero(head.predict(values[best]) != head.predict(outside.targets))
        )
    return strengths[best], found
