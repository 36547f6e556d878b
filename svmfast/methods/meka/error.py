"""The kernel error of meka and of other low-rank approximations."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from svmfast.errors import OptionError
from svmfast.kernels import Kernel
from svmfast.methods.meka.approximation import Meka, approximate_kernel
from svmfast.methods.meka.baselines import BASELINES, baselines_for
from svmfast.methods.meka.kernel_error import BlockOf, Sample, relative_error, sample_rows
from svmfast.methods.meka.options import MekaOptions
from svmfast.methods.meka.plan import check_memory, plan_bytes, resolved
from svmfast.methods.meka.report import BaselineError, ErrorReport, ExactBlocks
from svmfast.methods.meka.systems import positive_spectrum, smallest_eigenvalue
from svmfast.progress import Progress, silent
from svmfast.rows import Rows
from svmfast.solvers.kernel_clusters import Partition, kmeans_centers, load_kmeans, partition
from svmfast.threads import one_blas_thread

FloatArray = NDArray[np.float64]


#: Exact blocks of smaller clusters are tried only if the error of the low-rank blocks is above this.
SMALL_ERROR = 0.01
#: The most attempts to find a number of clusters whose exact blocks fit.
_FIT_TRIES = 8


@dataclass(frozen=True)
class Form:
    """The form of an approximation of the kernel matrix, with its size and error.

    Attributes
    ----------
    name : str
        ``low-rank`` or ``exact-blocks``.
    ranks : tuple of int
        Rank of each cluster; for exact blocks, their sizes.
    links : int
        Number of nonzero blocks between clusters.
    bytes : int
    relative_error : float
    """

    name: str
    ranks: tuple[int, ...]
    links: int
    bytes: int
    relative_error: float


@dataclass(frozen=True, eq=False)
class Repair:
    """The change that makes a low-rank approximation positive semidefinite.

    Attributes
    ----------
    smallest : float or None
        Smallest eigenvalue before the change; None if it was not computed.
    middle : (r, r) float64 or None
        The matrix between the bases that replaces the approximation's own.
    diagonal : float
        A number to add to the approximation's diagonal.
    """

    smallest: float | None = None
    middle: FloatArray | None = None
    diagonal: float = 0.0


@dataclass(frozen=True, eq=False)
class LowRank:
    """Low-rank blocks with the links between them, as measured by :func:`low_rank`."""

    form: Form
    block_diagonal_error: float
    smallest_eigenvalue: float | None
    seconds: Mapping[str, float]


def kernel_error(
    rows: Rows,
    options: MekaOptions,
    *,
    links: bool = True,
    threads: int = 1,
    progress: Progress = silent,
) -> ErrorReport:
    """Approximate the kernel matrix of the rows, and measure the error.

    Parameters
    ----------
    rows : Rows
    options : MekaOptions
        One `gamma`. With `block_only`, the blocks within clusters are exact and all others zero. Otherwise
        low-rank blocks and links are built. If their error is above SMALL_ERROR, exact blocks of smaller
        clusters, which take no more memory, are tried as well, and the better of the two is the result. (With
        large gamma the matrix is nearly diagonal, and low-rank approximations are poor.)
        The error is estimated on `sample` rows, or all if there are fewer. With `compare`, the baselines are
        measured too, each with the rank at which it takes as much memory.
    links : bool
        False leaves out the links between clusters.
    threads : int
    progress : Progress
    """
    options = resolved(options, rows.n_columns)
    if len(options.gamma) != 1:
        raise OptionError("the kernel error needs exactly one `gamma`")
    planned = plan_bytes(rows, options, "error", 1, threads=threads)
    check_memory(options, planned)
    kernel = Kernel(options.kernel_kind, options.gamma[0])
    progress(0, None, "clusters")
    load_kmeans()
    with one_blas_thread():
        begin = time.perf_counter()
        centers = kmeans_centers(rows, options.clusters, seed=options.seed)
        parted = partition(rows, centers, threads=threads)
        stages = {"clusters": time.perf_counter() - begin}
        low: LowRank | None = None
        finer: ExactBlocks | None = None
        if options.block_only:
            stages["blocks"] = 0.0
            progress(0, None, "error")
            form = exact_blocks(kernel, parted, options, threads=threads)
        else:
            low = low_rank(kernel, rows, parted, options, links=links, threads=threads, progress=progress)
            form = low.form
            stages.update(low.seconds)
        if low is not None and links and form.relative_error > SMALL_ERROR:
            begin = time.perf_counter()
            smaller = equal_memory_blocks(rows, form.bytes, options.seed, threads=threads)
            stages["exact blocks"] = seconds = time.perf_counter() - begin
            if smaller is not None:
                tried = exact_blocks(kernel, smaller, options, threads=threads)
                finer = ExactBlocks(len(tried.ranks), tried.relative_error, seconds, tried.bytes)
                form = min(form, tried, key=lambda one: one.relative_error)
        baselines = (
            _baselines(kernel, rows, form.bytes, options, threads, progress) if options.compare else ()
        )
    return ErrorReport(
        rows=len(rows),
        features=rows.n_columns,
        sampled_rows=min(options.sample, len(rows)),
        kernel=kernel.kind,
        gamma=kernel.gamma,
        clusters=len(form.ranks),
        ranks=form.ranks,
        links=form.links,
        smallest_eigenvalue=None if low is None else low.smallest_eigenvalue,
        form=form.name,
        relative_error=form.relative_error,
        low_rank_error=None if low is None else low.form.relative_error,
        block_diagonal_error=form.relative_error if low is None else low.block_diagonal_error,
        exact_blocks=finer,
        seconds=sum(stages.values()),
        stages=stages,
        bytes=form.bytes,
        planned_bytes=planned,
        baselines=baselines,
    )


def low_rank(
    kernel: Kernel,
    rows: Rows,
    parted: Partition,
    options: MekaOptions,
    *,
    links: bool = True,
    threads: int = 1,
    progress: Progress = silent,
) -> LowRank:
    """Build low-rank blocks and links, make them positive semidefinite by `options.psd`, and measure them.

    Raises
    ------
    MemoryLimitError
        The largest cluster takes too much memory.
    """
    # Checked again, now that the sizes of the clusters are known.
    largest = int(parted.sizes.max())
    check_memory(options, plan_bytes(rows, options, "error", 1, threads=threads, largest=largest))
    meka = approximate_kernel(kernel, parted, options, links=links, threads=threads, progress=progress)
    progress(0, None, "error")
    start = time.perf_counter()
    repair = positive_repair(meka, options.psd)
    seconds = {**meka.seconds, "positive": time.perf_counter() - start}
    chosen = _sample(parted, options)
    whole = _meka_blocks(meka, chosen, repair.middle, links=True)
    error = relative_error(kernel, chosen, whole, diagonal=repair.diagonal, threads=threads)
    apart = _meka_blocks(meka, chosen, None, links=False)
    return LowRank(
        Form("low-rank", tuple(meka.ranks.tolist()), len(meka.links), meka.bytes, error),
        relative_error(kernel, chosen, apart, threads=threads),
        repair.smallest,
        seconds,
    )


def positive_repair(meka: Meka, psd: str) -> Repair:
    """Return the change that ``clip``, ``shift`` or ``none`` makes to an approximation.

    ``clip`` replaces the matrix between the bases if it has a negative eigenvalue; ``shift`` adds the
    magnitude of the most negative one to the diagonal.
    """
    if psd == "clip":
        spectrum = positive_spectrum(meka, "clip")
        if spectrum.smallest >= 0:
            return Repair(spectrum.smallest)
        return Repair(spectrum.smallest, (spectrum.vectors * spectrum.values) @ spectrum.vectors.T)
    if psd == "shift":
        smallest = smallest_eigenvalue(meka)
        return Repair(smallest, diagonal=max(0.0, -smallest))
    return Repair()


def exact_blocks(kernel: Kernel, parted: Partition, options: MekaOptions, *, threads: int = 1) -> Form:
    """Return the approximation by exact blocks within the clusters and zero between them, with its error."""
    chosen = _sample(parted, options)
    width = max(rows.n_columns for rows in chosen.rows)

    def block(g: int, a: slice, h: int, b: slice) -> FloatArray:
        left, right = chosen.rows[g][a], chosen.rows[h][b]
        if g != h:
            return np.zeros((len(left), len(right)))
        return kernel.matrix(left.to_dense(width), right.to_dense(width))

    error = relative_error(kernel, chosen, block, threads=threads)
    return Form("exact-blocks", tuple(parted.sizes.tolist()), 0, exact_blocks_bytes(parted), error)


def _sample(parted: Partition, options: MekaOptions) -> Sample:
    """Return the rows, cluster by cluster, on which the matrices are compared."""
    groups = [parted.cluster(s) for s in range(len(parted.sizes))]
    return sample_rows(groups, options.sample, options.seed)


def _baselines(
    kernel: Kernel, rows: Rows, size: int, options: MekaOptions, threads: int, progress: Progress
) -> tuple[BaselineError, ...]:
    """Return the errors of all baselines for this kernel, each at the rank that takes about `size` bytes."""
    rank = max(1, round(size / (8 * len(rows))))
    names = baselines_for(kernel)
    found = []
    for done, name in enumerate(names):
        progress(done, len(names), "baselines")
        found.append(baseline_error(name, kernel, rows, rank, options.sample, options.seed, threads=threads))
    progress(len(names), len(names), "baselines")
    return tuple(found)


def exact_blocks_bytes(parted: Partition) -> int:
    """Return the memory of the exact blocks within clusters, one triangle of each."""
    return int((parted.sizes * (parted.sizes + 1)).sum()) * 4


def equal_memory_blocks(rows: Rows, size: int, seed: int, *, threads: int = 1) -> Partition | None:
    """Cluster the rows so finely that their exact blocks take at most `size` bytes; None if that fails.

    The number of clusters is increased until the blocks fit, since sizes are uneven and large clusters take
    the most memory.
    """
    n = len(rows)
    clusters = max(1, int(np.ceil(4 * n * n / size)))
    for _ in range(_FIT_TRIES):
        if clusters > n:
            break
        parted = partition(rows, kmeans_centers(rows, clusters, seed=seed), threads=threads)
        if exact_blocks_bytes(parted) <= size:
            return parted
        clusters = int(np.ceil(1.2 * clusters))
    return None


def baseline_error(
    name: str, kernel: Kernel, rows: Rows, rank: int, sample: int, seed: int, *, threads: int = 1
) -> BaselineError:
    """Return the error of a baseline; `name` is a key of ``BASELINES``."""
    chosen = sample_rows([rows], sample, seed)
    with one_blas_thread():
        begin = time.perf_counter()
        features = BASELINES[name](kernel, rows, rank, seed).transform(rows)
        seconds = time.perf_counter() - begin
        left = features[chosen.positions[0]]
        error = relative_error(kernel, chosen, lambda g, a, h, b: left[a] @ left[b].T, threads=threads)
    return BaselineError(name, rank, error, seconds, features.nbytes)


def _meka_blocks(meka: Meka, chosen: Sample, whole: FloatArray | None, *, links: bool) -> BlockOf:
    at = meka.slices()
    bases = [basis[p] for basis, p in zip(meka.bases, chosen.positions, strict=True)]

    def block(g: int, a: slice, h: int, b: slice) -> FloatArray:
        left, right = bases[g][a], bases[h][b]
        if whole is not None:
            middle: FloatArray | None = whole[at[g], at[h]]
        elif g == h:
            middle = np.diag(meka.diagonal[g])
        else:
            middle = meka.links.get((g, h)) if links else None
        return np.zeros((len(left), len(right))) if middle is None else left @ middle @ right.T

    return block
