"""The error of meka's kernel matrix, ||G - Gt||_F / ||G||_F, on sampled rows."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from svmfast.errors import OptionError
from svmfast.figures import Figures, computed, figure
from svmfast.kernels import Kernel
from svmfast.methods.meka import MekaOptions
from svmfast.methods.meka.approximation import BLOCK, Meka, approximate_kernel, clustered, triangle_bytes
from svmfast.methods.meka.solve import positive_spectrum
from svmfast.methods.method import ALONE, Setting
from svmfast.rows import FloatArray, IntArray, Rows
from svmfast.solvers.kernel_clusters import load_kmeans
from svmfast.threads import map_in_threads, one_blas_thread

#: Returns the block of an approximation for given rows of groups g and h: block_of(g, rows, h, rows), g <= h.
BlockOf = Callable[[int, slice, int, slice], FloatArray]


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
    relative_error: float = figure("Frobenius norm of the error over that of the matrix.")
    seconds: float = figure("Time to build it, without measuring its error.", key="build_seconds")
    bytes: int = figure("Memory of the approximated kernel matrix.", key="kernel_bytes")

    @computed.figure("What was trained or measured.")
    def task(self) -> str:
        return "error"

    def lines(self) -> list[str]:
        rank = str(max(self.ranks)) if len(set(self.ranks)) == 1 else f"<={max(self.ranks)}"
        return [
            f"{self.kernel} kernel, gamma {self.gamma:.6g}; {self.rows:,} rows, compared on "
            f"{self.sampled_rows:,}; {self.clusters} clusters",
            f"{'rank':>6} {'relative error':>15} {'seconds':>9} {'MiB':>9}",
            f"{rank:>6} {self.relative_error:>15.6f} {self.seconds:>9.2f} {self.bytes / 2**20:>9.1f}",
        ]


def kernel_error(rows: Rows, options: MekaOptions, setting: Setting = ALONE) -> ErrorReport:
    """Measure the error of the approximation with one `gamma` on `sample` rows."""
    options, threads = options.resolved(rows.n_columns), setting.threads
    if len(options.gamma) != 1:
        raise OptionError("the kernel error needs exactly one `gamma`")
    kernel = Kernel(options.kernel_kind, options.gamma[0])
    load_kmeans()
    with one_blas_thread():
        begin = time.perf_counter()
        parted = clustered(rows, options, "error", 1, setting)
        chosen = sample_rows(
            [parted.cluster(s) for s in range(len(parted.sizes))], options.sample, options.seed
        )
        smallest, added = None, 0.0
        if options.block_only:
            ranks, links, size = parted.sizes, 0, triangle_bytes(parted.sizes)
            blocks = _exact_blocks(kernel, chosen)
        else:
            meka = approximate_kernel(kernel, parted, options, threads=threads, progress=setting.progress)
            ranks, links, size = meka.ranks, len(meka.links), meka.bytes
            smallest, middle, added = positive_repair(meka, options.psd)
            blocks = _meka_blocks(meka, chosen, middle)
        seconds = time.perf_counter() - begin
        setting.progress(0, None, "error")
        error = relative_error(kernel, chosen, blocks, diagonal=added, threads=threads)
    return ErrorReport(
        rows=len(rows),
        features=rows.n_columns,
        sampled_rows=min(options.sample, len(rows)),
        kernel=kernel.kind,
        gamma=kernel.gamma,
        clusters=len(ranks),
        ranks=tuple(ranks.tolist()),
        links=links,
        smallest_eigenvalue=smallest,
        relative_error=error,
        seconds=seconds,
        bytes=size,
    )


def positive_repair(meka: Meka, psd: str) -> tuple[float | None, FloatArray, float]:
    """The smallest eigenvalue if computed; L, clipped if necessary; what is added to the diagonal."""
    if psd == "none":
        return None, meka.link_matrix(), 0.0
    spectrum = positive_spectrum(meka, psd)
    if psd == "shift":
        return spectrum.smallest, meka.link_matrix(), max(0.0, -spectrum.smallest)
    return spectrum.smallest, (spectrum.vectors * spectrum.values) @ spectrum.vectors.T, 0.0


def _exact_blocks(kernel: Kernel, chosen: Sample) -> BlockOf:
    """Exact blocks within the clusters and zero between them."""
    width = max(rows.n_columns for rows in chosen.rows)

    def block(g: int, a: slice, h: int, b: slice) -> FloatArray:
        left, right = chosen.rows[g][a], chosen.rows[h][b]
        if g != h:
            return np.zeros((len(left), len(right)))
        return kernel.matrix(left.to_dense(width), right.to_dense(width))

    return block


def _meka_blocks(meka: Meka, chosen: Sample, middle: FloatArray) -> BlockOf:
    at = meka.slices()
    bases = [basis[p] for basis, p in zip(meka.bases, chosen.positions, strict=True)]

    def block(g: int, a: slice, h: int, b: slice) -> FloatArray:
        product: FloatArray = bases[g][a] @ middle[at[g], at[h]] @ bases[h][b].T
        return product

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
