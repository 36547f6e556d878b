"""meka: kernel ridge regression and SVM on a block-wise low-rank kernel matrix.

Si, Hsieh, Dhillon, "Memory Efficient Kernel Approximation", JMLR 18 (2017).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from svmfast.errors import OptionError
from svmfast.figures import figure
from svmfast.kernels import Kernel
from svmfast.methods.common.landmarks import LandmarkReport, outcome, widths_to_try
from svmfast.methods.common.problem import MOST_SCORED, Problem, checked_labels
from svmfast.methods.grid import Candidate, Grid, NotTried
from svmfast.methods.meka import MekaOptions
from svmfast.methods.meka.approximation import Meka, approximate_kernel, clustered, triangle_bytes
from svmfast.methods.meka.error import kernel_error
from svmfast.methods.meka.solve import assemble, block_ridge, block_svc, meka_ridge, meka_svc
from svmfast.methods.method import ALONE, Inputs, Outcome, Setting
from svmfast.models.routed import RoutedModel
from svmfast.options import changed_words
from svmfast.rows import FloatArray, Rows
from svmfast.solvers.arithmetic import provenance
from svmfast.solvers.kernel_clusters import Partition, load_kmeans
from svmfast.threads import one_blas_thread


@dataclass(frozen=True, kw_only=True)
class MekaReport(LandmarkReport):
    ranks: tuple[int, ...] = figure("Rank of each cluster's block; of exact blocks, their sizes.")
    links: int = figure("Blocks between clusters that are not zero.")
    kernel: str = figure("The kernel's name.")
    bytes: int = figure("Memory of the approximated kernel matrix.", key="kernel_bytes")

    def lines(self) -> list[str]:
        ranks, size = f"{min(self.ranks)} to {max(self.ranks)}", self.bytes / 2**20
        return self.text(
            data=f", {self.clusters} clusters",
            kernel=f"{self.kernel}, gamma {self.gamma:.6g}",
            own=[f"blocks       ranks {ranks}, {self.links} links, {size:.1f} MiB"],
        )


Fitted = tuple[RoutedModel, MekaReport]


def fit(rows: Rows, labels: FloatArray, options: MekaOptions, setting: Setting = ALONE) -> Fitted:
    """Train ridge regression, (G + lambda I) alpha = y - mean(y), or a classifier, with an approximated G.

    svc has the squared hinge loss, three or more classes one-vs-rest; with `block_only`, each cluster has its
    own LIBSVM C-SVC model instead (BKA-SVM, section 4.2 of the paper).
    """
    origin = provenance("meka", " ".join(changed_words(options)), options.seed)
    options = options.resolved(rows.n_columns)
    if options.task == "svc" and options.psd == "none" and not options.block_only:
        raise OptionError("svc needs a positive semidefinite approximation; `psd` must be clip or shift")
    problem = Problem.of_task(options.task, rows, labels, options.weights, pairs=options.block_only)
    load_kmeans()
    with one_blas_thread():
        parted = clustered(rows, options, problem.task, problem.targets.shape[1], setting)
        ordered = replace(problem.only(parted.order), rows=parted.rows)
        model, meka = _trained(ordered, parted, options, setting)
    model = replace(model, provenance=origin)
    setting.progress(0, None, "error")
    sample = rows[: min(len(rows), MOST_SCORED)]
    ranks = parted.sizes if meka is None else meka.ranks
    return model, MekaReport(
        task=problem.task,
        rows=len(rows),
        features=rows.n_columns,
        clusters=len(parted.sizes),
        ranks=tuple(ranks.tolist()),
        links=0 if meka is None else len(meka.links),
        kernel=options.kernel_kind,
        gamma=options.gamma,
        regularization=options.regularization(problem.hinge),
        bytes=triangle_bytes(parted.sizes) if meka is None else meka.bytes,
        landmarks=len(model.landmarks),
        multiply_adds=model.multiply_adds(sample),
        linear_multiply_adds=float(rows.n_columns * problem.head.linear_functions),
        training=problem.quality(problem.head, model.decision_values(sample, threads=setting.threads)),
    )


def _trained(
    problem: Problem, parted: Partition, options: MekaOptions, setting: Setting
) -> tuple[RoutedModel, Meka | None]:
    """Train on the rows of `parted`; without an approximation if the blocks are exact."""
    kernel, threads, psd = Kernel(options.kernel_kind, options.gamma), setting.threads, options.psd
    if options.block_only:
        setting.progress(0, None, "exact blocks")
        solve = block_svc if problem.hinge else block_ridge
        return solve(kernel, parted, problem, options.regularization(problem.hinge), threads), None
    meka = approximate_kernel(kernel, parted, options, threads=threads, progress=setting.progress)
    setting.progress(0, None, "solve")
    if problem.hinge:
        solution = meka_svc(meka, problem.targets, options.C, psd, problem.weights)
    else:
        solution = meka_ridge(meka, problem.targets, options.lambda_, psd)
    return assemble(meka, problem.head, *solution), meka


#: Clusters and rank of the candidates for ``frontier``.
BLOCKS = ((8, 16), (16, 32), (32, 64))
#: The candidate for a limit on bytes has at most so many clusters, fewer if their rank would be lower.
MOST_CLUSTERS, LEAST_RANK = 8, 16


def run(inputs: Inputs, options: MekaOptions, setting: Setting) -> Outcome:
    data = inputs.rows("data")
    if options.task == "error":
        return Outcome(None, kernel_error(data.rows, options, setting))
    missing = "`labels` are needed to train; for rows without labels, use `task` error"
    labels = checked_labels(data, options, setting, missing)
    return outcome(fit(data.rows, labels, options, setting), setting, converted=False)


def candidates(grid: Grid) -> tuple[list[Candidate], list[NotTried]]:
    exact = grid.exact
    if exact.head.svm_type == "one_class":
        return [], [NotTried("meka", "a one-class model has no labels to train on")]
    common: dict[str, Any] = {"gamma": exact.kernel.gamma, **widths_to_try(exact), "seed": grid.seed}
    common["task"] = "ridge" if exact.head.is_regression else "svc"
    blocks = set(BLOCKS)
    if vectors := grid.vectors:
        clusters = max(1, min(MOST_CLUSTERS, vectors // LEAST_RANK))
        blocks.add((clusters, vectors // clusters))
    return [
        Candidate(f"meka-{c}x{r}", level, {"clusters": c, "rank": r, "landmarks": r, **common}, ("data",))
        for level, (c, r) in enumerate(sorted(blocks, key=lambda block: block[0] * block[1]))
    ], []
