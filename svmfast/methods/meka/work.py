"""One run of meka from rows to models, and the choice of its parameters on rows held out."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from svmfast.kernels import Kernel
from svmfast.methods.common.refit_probabilities import probability_error
from svmfast.methods.meka.approximation import approximate_kernel
from svmfast.methods.meka.blocks import block_ridge, block_svc
from svmfast.methods.meka.plan import MekaSettings, check_blocks, plan_bytes
from svmfast.methods.meka.solve import assemble, meka_ridge, meka_svc
from svmfast.models.head import Head
from svmfast.models.routed import RoutedModel
from svmfast.progress import Progress, silent
from svmfast.rows import Rows
from svmfast.solvers.kernel_clusters import Partition, kmeans_centers, partition

FloatArray = NDArray[np.float64]

#: Share of the rows on which --from chooses its lambda and tells its error.
HELD_OUT = 0.1


@dataclass(frozen=True)
class CrossValidation:
    """The score of one pair of parameters: RMSE, or percent of right labels."""

    gamma: float
    strength: float
    score: float


def score(task: str, head: Head, decisions: FloatArray, targets: FloatArray) -> float:
    if task != "svc":
        return float(np.sqrt(np.mean((decisions - targets) ** 2)))
    return float(np.mean(head.predict(decisions) == labels_of(head, targets)) * 100)


def labels_of(head: Head, targets: FloatArray) -> FloatArray:
    assert head.labels is not None
    which = (targets[:, 0] <= 0).astype(np.int64) if targets.shape[1] == 1 else np.argmax(targets, axis=1)
    labels: FloatArray = head.labels[which].astype(np.float64)
    return labels


class Work:
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
            self.progress(0, None, "exact blocks")
            sizes = self.parted.sizes
            check_blocks(sizes, settings, self.task, threads=self.threads)
            self.ranks, self.bytes = tuple(sizes.tolist()), int((sizes * (sizes + 1)).sum()) * 4
            if self.task == "svc":
                return [
                    block_svc(kernel, self.parted, self.targets, self.head, c, self.threads)
                    for c in strengths
                ]
            return block_ridge(kernel, self.parted, self.targets, self.head, strengths, self.threads)
        rows, width = self.parted.rows, self.targets.shape[1]
        largest = int(self.parted.sizes.max())
        needed = plan_bytes(rows, settings, self.task, width, threads=self.threads, largest=largest)
        settings.check_memory(needed)
        meka = approximate_kernel(
            kernel, self.parted, settings.approximation, threads=self.threads, progress=self.progress
        )
        self.ranks, self.links, self.bytes = tuple(meka.ranks.tolist()), len(meka.links), meka.bytes
        self.progress(0, None, "solve")
        solve = meka_svc if self.task == "svc" else meka_ridge
        return [
            assemble(meka, self.head, inner, rho)
            for inner, rho in solve(meka, self.targets, strengths, settings.psd)
        ]


def cross_validate(
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
    progress(0, steps, "cross validation")
    for f in range(settings.folds):
        inside, outside = rows.take(fold != f), rows.take(fold == f)
        centers = kmeans_centers(inside, settings.clusters, seed=settings.seed)
        parted = partition(inside, centers, threads=threads)
        work = Work(task, parted, targets[fold != f][parted.order], head, settings, threads)
        for g, gamma in enumerate(settings.gammas):
            models = work.models(Kernel(settings.kernel, gamma), settings.strengths)
            for s, model in enumerate(models):
                decisions, truth = model.decision_values(outside, threads=threads), targets[fold == f]
                if task == "svc":
                    total[g, s] += np.count_nonzero(head.predict(decisions) == labels_of(head, truth))
                else:
                    total[g, s] += np.sum((decisions - truth) ** 2)
            done += 1
            progress(done, steps, "cross validation")
    score = total / len(rows) * 100 if task == "svc" else np.sqrt(total / targets.size)
    pairs = itertools.product(enumerate(settings.gammas), enumerate(settings.strengths))
    return tuple(CrossValidation(gamma, s, float(score[i, j])) for (i, gamma), (j, s) in pairs)


def choose_on_held_out(
    rows: Rows, targets: FloatArray, head: Head, settings: MekaSettings, threads: int
) -> tuple[float, dict[str, float]]:
    held = np.zeros(len(rows), dtype=bool)
    rng = np.random.default_rng([settings.seed, 8])
    held[rng.choice(len(rows), max(1, int(HELD_OUT * len(rows))), replace=False)] = True
    inside, outside = rows.take(~held), rows.take(held)
    parted = partition(inside, kmeans_centers(inside, settings.clusters, seed=settings.seed), threads=threads)
    work = Work("exact", parted, targets[~held][parted.order], head, settings, threads)
    models = work.models(Kernel(settings.kernel, settings.gammas[0]), settings.strengths)
    values = [model.decision_values(outside, threads=threads) for model in models]
    miss = [np.abs(v - targets[held]) for v in values]
    best = int(np.argmin([np.mean(m**2) for m in miss]))
    told = {f"q{q}": float(np.quantile(miss[best], q / 100)) for q in (50, 90, 99)}
    told["max"], told["mean"] = float(miss[best].max()), float(miss[best].mean())
    told["rows"] = float(len(outside))
    told |= probability_error(head, values[best], targets[held])
    if not head.is_regression:
        told["labels_differing"] = float(
            np.count_nonzero(head.predict(values[best]) != head.predict(targets[held]))
        )
    return settings.strengths[best], told
