"""The error of meka's kernel matrix, ||G - Gt||_F / ||G||_F, on sampled rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from svmfast.errors import OptionError
from svmfast.figures import Figures, computed, figure
from svmfast.kernels import Kernel
from svmfast.methods.common.landmarks import Stopwatch
from svmfast.methods.meka import MekaOptions
from svmfast.methods.meka.approximation import BLOCK, Meka, approximate_kernel, checked_bytes, triangle_bytes
from svmfast.methods.meka.solve import positive_spectrum
from svmfast.methods.method import ALONE, Setting
from svmfast.rows import FloatArray, Rows
from svmfast.solvers.kernel_clusters import Partition, kmeans_centers, load_kmeans, partition
from svmfast.threads import map_in_threads, one_blas_thread

IntArray = NDArray[np.int64]

#: Exact blocks of smaller clusters are tried only if the error of the low-rank blocks is above this.
SMALL_ERROR = 0.01
#: The most attempts to find a number of clusters whose exact blocks fit.
_FIT_TRIES = 8

#: Returns the block of an approximation for given rows of groups g and h: block_of(g, rows, h, rows), g <= h.
BlockOf = Callable[[int, slice, int, slice], FloatArray]


class Form(NamedTuple):
    """The figures of a form of the approximation, under the names of :class:`ErrorReport`."""

    form: str
    ranks: tuple[int, ...]
    links: int
    bytes: int
    relative_error: float
    block_diagonal_error: float | None = None
    smallest_eigenvalue: float | None = None


@dataclass(frozen=True)
class ExactBlocks(Figures):
    """Exact blocks of small clusters that take no more memory than low-rank blocks; zero elsewhere."""

    clusters: int = figure("Clusters.")
    relative_error: float = figure("Frobenius norm of the error over that of the matrix.")
    seconds: float = figure("Time to build them.", key="build_seconds")
    bytes: int = figure("Their memory.", key="kernel_bytes")


@dataclass(frozen=True)
class ErrorReport(Figures):
    """``||G - Gt||_F / ||G||_F``."""

    rows: int = figure("Rows of the matrix.")
    features: int = figure("Features: the largest index.")
    sampled_rows: int = figure("Rows that the matrices were compared on.")
    kernel: str = figure("The kernel's name.")
    gamma: float = figure("Gamma of the kernel.")
    clusters: int = figure("Clusters.")
    ranks: tuple[int, ...] = figure("Rank of each cluster's block; of exact blocks, their sizes.")
    links: int = figure("Blocks between clusters that are not zero.")
    smallest_eigenvalue: float | None = figure(
        "Smallest eigenvalue of the approximation; null if it was not computed."
    )
    form: str = figure(
        "low-rank: low-rank blocks and links. exact-blocks: the kernel decays so fast that exact blocks of "
        "smaller clusters are more accurate with the same memory; `relative_error`, `clusters`, `ranks`, "
        "`links` and `kernel_bytes` are then theirs. Always exact-blocks with `block_only`."
    )
    relative_error: float = figure("Frobenius norm of the error over that of the matrix.")
    low_rank_error: float | None = figure(
        "The same of low-rank blocks with links, even if they were not chosen."
    )
    block_diagonal_error: float | None = figure("The same of low-rank blocks without links.")
    exact_blocks: ExactBlocks | None = figure(
        "Exact blocks of smaller clusters at the same memory; null if they were not tried."
    )
    seconds: float = figure("Time to build it, without measuring its error.", key="build_seconds")
    stages: Mapping[str, float] = figure("Seconds of each phase.", key="phase_seconds")
    bytes: int = figure("Memory of the approximated kernel matrix.", key="kernel_bytes")
    planned_bytes: int = figure("Memory announced for the whole work.")

    @computed.figure("What was trained or measured.")
    def task(self) -> str:
        return "error"

    def lines(self) -> list[str]:
        name = "meka" if self.form == "low-rank" else f"exact blocks ({self.clusters})"
        rank = str(max(self.ranks)) if len(set(self.ranks)) == 1 else f"<={max(self.ranks)}"
        lines = [
            f"{self.kernel} kernel, gamma {self.gamma:.6g}; {self.rows:,} rows, compared on "
            f"{self.sampled_rows:,}; {self.clusters} clusters",
            f"{'method':<20} {'rank':>6} {'relative error':>15} {'seconds':>9} {'MiB':>9}",
            f"{name:<20} {rank:>6} {self.relative_error:>15.6f} {self.seconds:>9.2f} "
            f"{self.bytes / 2**20:>9.1f}",
        ]
        if self.low_rank_error is None:
            return lines
        lines.append(f"low-rank blocks without links: {self.block_diagonal_error:.6f}")
        small = self.exact_blocks
        if small is not None and self.form == "low-rank":
            error = f"{small.relative_error:.6f}"
            lines.append(f"exact blocks of {small.clusters} clusters, same memory: {error}")
        elif small is not None:
            lines.append(
                f"low-rank blocks with links: {self.low_rank_error:.6f}; exact blocks of smaller clusters "
                f"are closer at the same memory (to train with them: `block_only` "
                f"`clusters` {small.clusters})"
            )
        return lines


def kernel_error(rows: Rows, options: MekaOptions, setting: Setting = ALONE) -> ErrorReport:
    """Measure the error of the approximation with one `gamma` on `sample` rows.

    If low-rank blocks and links are off by more than SMALL_ERROR, as with a large gamma, exact blocks of
    smaller clusters that take no more memory are tried, and the better of the two is the result.
    """
    options, threads = options.resolved(rows.n_columns), setting.threads
    if len(options.gamma) != 1:
        raise OptionError("the kernel error needs exactly one `gamma`")
    planned = checked_bytes(rows, options, "error", 1, threads=threads)
    kernel = Kernel(options.kernel_kind, options.gamma[0])
    setting.progress(0, None, "clusters")
    load_kmeans()
    low: Form | None = None
    finer: ExactBlocks | None = None
    with one_blas_thread():
        seconds = Stopwatch()
        centers = kmeans_centers(rows, options.clusters, seed=options.seed)
        parted = partition(rows, centers, threads=threads)
        seconds.lap("clusters")
        if options.block_only:
            seconds.laps["blocks"] = 0.0
            setting.progress(0, None, "error")
            form = exact_blocks(kernel, parted, options, threads=threads)
        else:
            form = low = low_rank(kernel, parted, options, setting, seconds)
        if low is not None and form.relative_error > SMALL_ERROR:
            seconds.restart()
            smaller = equal_memory_blocks(rows, form.bytes, options.seed, threads=threads)
            seconds.lap("exact blocks")
            if smaller is not None:
                tried = exact_blocks(kernel, smaller, options, threads=threads)
                time = seconds.laps["exact blocks"]
                finer = ExactBlocks(len(tried.ranks), tried.relative_error, time, tried.bytes)
                form = min(form, tried, key=lambda one: one.relative_error)
    if low is not None:
        form = form._replace(**{name: getattr(low, name) for name in Form._fields[-2:]})
    else:
        form = form._replace(block_diagonal_error=form.relative_error)
    return ErrorReport(
        rows=len(rows),
        features=rows.n_columns,
        sampled_rows=min(options.sample, len(rows)),
        kernel=kernel.kind,
        gamma=kernel.gamma,
        clusters=len(form.ranks),
        low_rank_error=None if low is None else low.relative_error,
        exact_blocks=finer,
        seconds=sum(seconds.laps.values()),
        stages=seconds.laps,
        planned_bytes=planned,
        **form._asdict(),
    )


def low_rank(
    kernel: Kernel, parted: Partition, options: MekaOptions, setting: Setting, seconds: Stopwatch
) -> Form:
    """Build low-rank blocks and links, make them positive semidefinite by `options.psd`, and measure them."""
    threads, largest = setting.threads, int(parted.sizes.max())
    # Checked again, now that the sizes of the clusters are known.
    checked_bytes(parted.rows, options, "error", 1, threads=threads, largest=largest)
    meka = approximate_kernel(
        kernel, parted, options, threads=threads, progress=setting.progress, seconds=seconds
    )
    setting.progress(0, None, "error")
    seconds.restart()
    smallest, middle, diagonal = positive_repair(meka, options.psd)
    seconds.lap("positive")
    chosen = _sample(parted, options)
    whole = _meka_blocks(meka, chosen, middle, links=True)
    error = relative_error(kernel, chosen, whole, diagonal=diagonal, threads=threads)
    apart = relative_error(kernel, chosen, _meka_blocks(meka, chosen, None, links=False), threads=threads)
    size = (tuple(meka.ranks.tolist()), len(meka.links), meka.bytes)
    return Form("low-rank", *size, error, apart, smallest)


def positive_repair(meka: Meka, psd: str) -> tuple[float | None, FloatArray | None, float]:
    """The smallest eigenvalue if computed; L clipped if necessary; what is added to the diagonal."""
    if psd == "none":
        return None, None, 0.0
    spectrum = positive_spectrum(meka, psd)
    if spectrum.smallest >= 0:
        return spectrum.smallest, None, 0.0
    if psd == "shift":
        return spectrum.smallest, None, -spectrum.smallest
    return spectrum.smallest, (spectrum.vectors * spectrum.values) @ spectrum.vectors.T, 0.0


def exact_blocks(kernel: Kernel, parted: Partition, options: MekaOptions, *, threads: int = 1) -> Form:
    """Approximate by exact blocks within the clusters and zero between them, and measure the error."""
    chosen = _sample(parted, options)
    width = max(rows.n_columns for rows in chosen.rows)

    def block(g: int, a: slice, h: int, b: slice) -> FloatArray:
        left, right = chosen.rows[g][a], chosen.rows[h][b]
        if g != h:
            return np.zeros((len(left), len(right)))
        return kernel.matrix(left.to_dense(width), right.to_dense(width))

    error = relative_error(kernel, chosen, block, threads=threads)
    return Form("exact-blocks", tuple(parted.sizes.tolist()), 0, triangle_bytes(parted.sizes), error)


def _sample(parted: Partition, options: MekaOptions) -> Sample:
    """Sample rows, cluster by cluster, on which the matrices are compared."""
    groups = [parted.cluster(s) for s in range(len(parted.sizes))]
    return sample_rows(groups, options.sample, options.seed)


def equal_memory_blocks(rows: Rows, size: int, seed: int, *, threads: int = 1) -> Partition | None:
    """Cluster so finely that the exact blocks take at most `size` bytes; None if that fails."""
    n = len(rows)
    clusters = max(1, int(np.ceil(4 * n * n / size)))
    for _ in range(_FIT_TRIES):
        if clusters > n:
            break
        parted = partition(rows, kmeans_centers(rows, clusters, seed=seed), threads=threads)
        if triangle_bytes(parted.sizes) <= size:
            return parted
        clusters = int(np.ceil(1.2 * clusters))
    return None


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


@dataclass(frozen=True, eq=False)
class Sample:
    rows: list[Rows]
    #: Positions of the sampled rows in their group.
    positions: list[IntArray]
    #: Number of rows from which the sample was drawn.
    total: int


def sample_rows(groups: list[Rows], size: int, seed: int) -> Sample:
    """Sample `size` of the rows of all groups uniformly, without replacement."""
    ends = np.cumsum([len(g) for g in groups])
    total = int(ends[-1])
    chosen = np.arange(total)
    if size < total:
        chosen = np.sort(np.random.default_rng([seed, 3]).choice(total, size, replace=False))
    parts = np.split(chosen, np.searchsorted(chosen, ends[:-1]))
    positions = [p - (e - len(g)) for p, e, g in zip(parts, ends, groups, strict=True)]
    return Sample([g.take(p) for g, p in zip(groups, positions, strict=True)], positions, total)


def relative_error(
    kernel: Kernel, sample: Sample, block_of: BlockOf, *, diagonal: float = 0.0, threads: int = 1
) -> float:
    """Estimate ||G - Gt||_F / ||G||_F, with `diagonal` added to that of Gt.

    Diagonal and other entries are weighted by their counts in the whole matrix: both norms are unbiased.
    """
    tiles = [
        (g, slice(a, min(a + BLOCK, len(rows))))
        for g, rows in enumerate(sample.rows)
        for a in range(0, len(rows), BLOCK)
    ]
    pairs = [(i, j) for i in range(len(tiles)) for j in range(i, len(tiles))]
    width = max(rows.n_columns for rows in sample.rows)

    def sums(pair: tuple[int, int]) -> FloatArray:
        (g, a), (h, b) = tiles[pair[0]], tiles[pair[1]]
        exact = kernel.matrix(sample.rows[g][a].to_dense(width), sample.rows[h][b].to_dense(width))
        miss = exact - block_of(g, a, h, b)
        if pair[0] != pair[1]:
            return 2 * np.array([np.vdot(exact, exact), 0, np.vdot(miss, miss), 0])
        # The distance of a row from itself is exactly 0; its rounding is not an error of the approximation.
        on, off = np.ones(len(exact)), miss.diagonal() + (1 - exact.diagonal()) - diagonal
        np.fill_diagonal(exact, 0)
        np.fill_diagonal(miss, 0)
        return np.array([np.vdot(exact, exact), on @ on, np.vdot(miss, miss), off @ off])

    total = np.sum(map_in_threads(sums, pairs, threads), axis=0)
    q, n = sum(len(rows) for rows in sample.rows), sample.total
    across = n * (n - 1) / (q * (q - 1)) if q > 1 else 0.0
    norm = across * total[0] + n / q * total[1]
    error = across * total[2] + n / q * total[3]
    return float(np.sqrt(error / norm))
