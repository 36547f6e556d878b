"""meka: kernel ridge regression and SVM on a block-wise low-rank kernel matrix.

Si, Hsieh, Dhillon, "Memory Efficient Kernel Approximation", JMLR 18 (2017).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from svmfast.errors import OptionError
from svmfast.figures import figure
from svmfast.kernels import Kernel
from svmfast.methods.candidates import Candidate, CandidateRequest, NotTried
from svmfast.methods.common.cross_validation import (
    CrossValidation,
    GridScores,
    best_pair,
    check_folds,
    checked_labels,
    cross_validate,
)
from svmfast.methods.common.landmarks import (
    LandmarkReport,
    outcome,
    widths_to_try,
)
from svmfast.methods.common.problem import MOST_SCORED, Problem, head_quality, warn_of_absent
from svmfast.methods.meka import MekaOptions
from svmfast.methods.meka.approximation import (
    approximate_kernel,
    clustered,
)
from svmfast.methods.meka.blocks import BlockWork
from svmfast.methods.meka.error import kernel_error
from svmfast.methods.meka.solve import assemble, meka_ridge, meka_svc
from svmfast.methods.method import ALONE, Inputs, Outcome, Setting
from svmfast.models.routed import RoutedModel
from svmfast.options import changed_words
from svmfast.rows import FloatArray, Rows
from svmfast.solvers.arithmetic import provenance
from svmfast.solvers.kernel_clusters import load_kmeans
from svmfast.solvers.row_blocks import HeldBlocks, RowBlocks
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


def fit(
    rows: Rows, labels: FloatArray, options: MekaOptions, setting: Setting = ALONE
) -> Fitted | tuple[None, GridScores]:
    """Train ridge regression, (G + lambda I) alpha = y - mean(y), or a classifier, with an approximated G.

    svc has the squared hinge loss, three or more classes one-vs-rest; with `block_only`, each cluster has its
    own LIBSVM C-SVC model instead (BKA-SVM, section 4.2 of the paper). With several `gamma`, `C` or
    `lambda_`, `folds` must be set, and the best pair is used; if no model is to be written, the scores are
    the result.
    """
    asked, options = options, options.resolved(rows.n_columns)
    if options.task == "svc" and options.psd == "none" and not options.block_only:
        raise OptionError("svc needs a positive semidefinite approximation; `psd` must be clip or shift")
    problem = Problem.of_task(options.task, rows, labels, options.weights)
    check_folds(problem.hinge, len(problem.rows), options)
    load_kmeans()
    with one_blas_thread():
        scores = _scores(problem, options, setting) if options.folds else ()
        if scores and not setting.writes:
            name = "C" if problem.hinge else "lambda"
            return None, GridScores(len(problem.rows), options.folds or 0, scores, options.weights, name)
        gamma, regularization, asked = best_pair(problem, options, asked, scores)
        work = _work(problem, options, setting)
        return _fitted(work, gamma, regularization, asked, options, setting, scores)


def fit_blocks(source: RowBlocks, options: MekaOptions, setting: Setting) -> Fitted:
    """Train local models of rows in blocks, with a single `gamma` and `C` or `lambda_`."""
    asked, options = options, options.resolved(source.n_features)
    check_folds(options.is_classifier, source.n_rows, options)
    (gamma,), (regularization,) = options.gamma, options.regularizations(options.is_classifier)
    load_kmeans()
    with one_blas_thread():
        work = BlockWork(source, options, setting)
        return _fitted(work, gamma, regularization, asked, options, setting)


def _scores(problem: Problem, options: MekaOptions, setting: Setting) -> tuple[CrossValidation, ...]:
    def models(inside: Problem) -> Iterator[RoutedModel]:
        work = _work(inside, options, Setting(setting.threads))
        for gamma in options.gamma:
            yield from work.models(gamma, options.regularizations(problem.hinge))

    return cross_validate(problem, options, setting, models)


def _work(problem: Problem, options: MekaOptions, setting: Setting) -> Work | BlockWork:
    if options.block_only:
        return BlockWork(HeldBlocks(problem.rows, problem.truth), options, setting)
    return Work(problem, options, setting)


class Work:
    """A problem and its clusters. All regularizations share the clusters, blocks and links."""

    def __init__(self, problem: Problem, options: MekaOptions, setting: Setting) -> None:
        self.options, self.setting, self.n_rows = options, setting, len(problem.rows)
        self.sample, self.sample_labels = problem.rows[:MOST_SCORED], problem.truth[:MOST_SCORED]
        functions = problem.targets.shape[1]
        self.parted = clustered(problem.rows, options, problem.task, functions, setting)
        self.problem = replace(problem.only(self.parted.order), rows=self.parted.rows)
        self.ranks: tuple[int, ...] = ()
        self.links, self.bytes = 0, 0

    def models(self, gamma: float, regularizations: Sequence[float]) -> list[RoutedModel]:
        options, problem, threads = self.options, self.problem, self.setting.threads
        kernel = Kernel(options.kernel_kind, gamma)
        meka = approximate_kernel(
            kernel, self.parted, options, threads=threads, progress=self.setting.progress
        )
        self.ranks, self.links, self.bytes = tuple(meka.ranks.tolist()), len(meka.links), meka.bytes
        self.setting.progress(0, None, "solve")
        if problem.hinge:
            found = meka_svc(meka, problem.targets, regularizations, options.psd, problem.weights)
        else:
            found = meka_ridge(meka, problem.targets, regularizations, options.psd)
        return [assemble(meka, problem.head, inner, rho) for inner, rho in found]


def _fitted(
    work: Work | BlockWork,
    gamma: float,
    regularization: float,
    asked: MekaOptions,
    options: MekaOptions,
    setting: Setting,
    scores: tuple[CrossValidation, ...] = (),
) -> Fitted:
    """The model of one pair of parameters, and its report."""
    (model,) = work.models(gamma, [regularization])
    # Neither changes the bytes.
    words = " ".join(changed_words(replace(asked, dask=None, checkpoint=None)))
    model = replace(model, provenance=provenance("meka", words, options.seed))
    setting.progress(0, None, "error")
    sample, truth = work.sample[:MOST_SCORED], work.sample_labels[:MOST_SCORED]
    return model, MekaReport(
        task="svc" if options.is_classifier else "ridge",
        rows=work.n_rows,
        features=sample.n_columns,
        clusters=len(work.ranks),
        ranks=work.ranks,
        links=work.links,
        kernel=options.kernel_kind,
        gamma=gamma,
        regularization=regularization,
        bytes=work.bytes,
        landmarks=len(model.landmarks),
        multiply_adds=model.multiply_adds(sample),
        linear_multiply_adds=float(sample.n_columns * model.head.linear_functions),
        training=head_quality(model.head, model.decision_values(sample, threads=setting.threads), truth),
        cross_validation=scores,
        folds=options.folds,
    )


#: Clusters and rank of the candidates for ``frontier``.
BLOCKS = ((8, 16), (16, 32), (32, 64))
#: The candidate for a limit on bytes has at most so many clusters, fewer if their rank would be lower.
MOST_CLUSTERS, LEAST_RANK = 8, 16


def run(inputs: Inputs, options: MekaOptions, setting: Setting) -> Outcome:
    if not options.in_memory:
        given = inputs.stream("data")
        warn_of_absent(options.weights, given.source.labels.values, given.name, setting)
        return outcome(fit_blocks(given.source, options, setting), setting, converted=False)
    data = inputs.rows("data")
    if options.task == "error":
        return Outcome(None, kernel_error(data.rows, options, setting))
    missing = "`labels` are needed to train; for rows without labels, use `task` error"
    labels = checked_labels(data, options, setting, missing)
    return outcome(fit(data.rows, labels, options, setting), setting, converted=False)


def candidates(request: CandidateRequest) -> tuple[list[Candidate], list[NotTried]]:
    exact = request.exact
    if exact.head.svm_type == "one_class":
        return [], [NotTried("meka", "a one-class model has no labels to train on")]
    common = {"gamma": (exact.kernel.gamma,), **widths_to_try(exact), "seed": request.seed}
    common["task"] = "ridge" if exact.head.is_regression else "svc"
    blocks = set(BLOCKS)
    if vectors := request.vectors:
        clusters = max(1, min(MOST_CLUSTERS, vectors // LEAST_RANK))
        blocks.add((clusters, vectors // clusters))
    return [
        Candidate(f"meka-{c}x{r}", level, {"clusters": c, "rank": r, "landmarks": r, **common}, ("data",))
        for level, (c, r) in enumerate(sorted(blocks, key=lambda block: block[0] * block[1]))
    ], []
