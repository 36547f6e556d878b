"""The kernel error of meka and of the methods it competes with."""

from __future__ import annotations

import time

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


#: Below this error of the low-rank blocks, exact blocks of smaller clusters are not tried.
SMALL_ERROR = 0.01
#: How many times the clusters are made more until their exact blocks fit.
_FIT_TRIES = 8


def kernel_error(
    rows: Rows,
    options: MekaOptions,
    *,
    links: bool = True,
    threads: int = 1,
    progress: Progress = silent,
) -> ErrorReport:
    """Approximate the kernel matrix of the rows and measure how far it is from the exact one.

    Parameters
    ----------
    rows : Rows
    options : MekaOptions
        One `gamma`. With `block_only` the blocks within clusters are exact and all others zero. Else low-rank
        blocks and links are built, and where their error is over SMALL_ERROR, exact blocks of as many
        clusters as take no more memory; the closer of the two is the approximation. (With large gamma the
        matrix is nearly diagonal, and no low-rank form of it any good.)
        The error is estimated on `sample` rows (all, if there are fewer). `compare`: also the baselines, each
        with the rank at which it takes as much memory.
    links : bool
        False leaves out the links between clusters.
    """
    options = resolved(options, rows.n_columns)
    if len(options.gamma) != 1:
        raise OptionError("the kernel error is that of one `gamma`")
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
        groups = [parted.cluster(s) for s in range(len(parted.sizes))]
        chosen = sample_rows(groups, options.sample, options.seed)
        smallest: float | None = None
        n_links, added = 0, 0.0
        form, low_rank, small = "exact-blocks", None, None
        if options.block_only:
            ranks, size = tuple(parted.sizes.tolist()), exact_blocks_bytes(parted)
            stages["blocks"] = 0.0
            progress(0, None, "error")
            error = apart = _blocks_error(kernel, chosen, threads)
        else:
            # Now that the clusters' sizes are known.
            largest = int(parted.sizes.max())
            needed = plan_bytes(rows, options, "error", 1, threads=threads, largest=largest)
            check_memory(options, needed)
            meka = approximate_kernel(
                kernel, parted, options, links=links, threads=threads, progress=progress
            )
            stages.update(meka.seconds)
            progress(0, None, "error")
            start = time.perf_counter()
            whole: FloatArray | None = None
            if options.psd == "clip":
                spectrum = positive_spectrum(meka, "clip")
                smallest = spectrum.smallest
                if smallest < 0:
                    whole = (spectrum.vectors * spectrum.values) @ spectrum.vectors.T
            elif options.psd == "shift":
                smallest = smallest_eigenvalue(meka)
                added = max(0.0, -smallest)
            stages["positive"] = time.perf_counter() - start
            ranks, size, n_links = tuple(meka.ranks.tolist()), meka.bytes, len(meka.links)
            blocks = _meka_blocks(meka, chosen, whole, links=True)
            error = relative_error(kernel, chosen, blocks, diagonal=added, threads=threads)
            apart = relative_error(
                kernel, chosen, _meka_blocks(meka, chosen, None, links=False), threads=threads
            )
            del meka, blocks, whole
            form, low_rank = "low-rank", error
            if links and error > SMALL_ERROR:
                begin = time.perf_counter()
                finer = equal_memory_blocks(rows, size, options.seed, threads=threads)
                stages["exact blocks"] = time.perf_counter() - begin
                if finer is not None:
                    chosen = sample_rows(
                        [finer.cluster(s) for s in range(len(finer.sizes))], options.sample, options.seed
                    )
                    small = ExactBlocks(
                        len(finer.sizes),
                        _blocks_error(kernel, chosen, threads),
                        stages["exact blocks"],
                        exact_blocks_bytes(finer),
                    )
                    if small.relative_error < error:
                        form, error, n_links = "exact-blocks", small.relative_error, 0
                        size, ranks = small.bytes, tuple(finer.sizes.tolist())
        seconds = sum(stages.values())
        lines: list[BaselineError] = []
        if options.compare:
            rank = max(1, round(size / (8 * len(rows))))
            names = baselines_for(kernel)
            for done, name in enumerate(names):
                progress(done, len(names), "baselines")
                lines.append(
                    baseline_error(name, kernel, rows, rank, options.sample, options.seed, threads=threads)
                )
            progress(len(names), len(names), "baselines")
    return ErrorReport(
        rows=len(rows),
        features=rows.n_columns,
        sampled_rows=sum(len(part) for part in chosen.rows),
        kernel=kernel.kind,
        gamma=kernel.gamma,
        clusters=len(ranks),
        ranks=ranks,
        links=n_links,
        smallest_eigenvalue=smallest,
        form=form,
        relative_error=error,
        low_rank_error=low_rank,
        block_diagonal_error=apart,
        exact_blocks=small,
        seconds=seconds,
        stages=stages,
        bytes=size,
        planned_bytes=planned,
        baselines=tuple(lines),
    )


def exact_blocks_bytes(parted: Partition) -> int:
    """Memory of the exact blocks within clusters: one triangle of each."""
    return int((parted.sizes * (parted.sizes + 1)).sum()) * 4


def equal_memory_blocks(rows: Rows, size: int, seed: int, *, threads: int = 1) -> Partition | None:
    """Cluster the rows so finely that their exact blocks take at most `size` bytes; None if that fails.

    More clusters are tried until it holds: clusters are uneven, and large ones cost most.
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
    """Return the error of a baseline (named as in ``solvers.kernel_baselines.BASELINES``)."""
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


def _blocks_error(kernel: Kernel, chosen: Sample, threads: int) -> float:
    """The error of exact blocks within the sample's groups and zero between them."""
    width = max(rows.n_columns for rows in chosen.rows)

    def block(g: int, a: slice, h: int, b: slice) -> FloatArray:
        left, right = chosen.rows[g][a], chosen.rows[h][b]
        if g != h:
            return np.zeros((len(left), len(right)))
        return kernel.matrix(left.to_dense(width), right.to_dense(width))

    return relative_error(kernel, chosen, block, threads=threads)
