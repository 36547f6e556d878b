"""The kernel error of meka and of the methods it competes with."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from svmfast.errors import OptionError
from svmfast.kernels import Kernel
from svmfast.methods._meka_plan import MekaSettings, plan_bytes
from svmfast.progress import Progress, silent
from svmfast.rows import Rows
from svmfast.solvers.kernel_baselines import BASELINES, baselines_for
from svmfast.solvers.kernel_clusters import kmeans_centers, load_kmeans, partition
from svmfast.solvers.kernel_error import BlockOf, Sample, relative_error, sample_rows
from svmfast.solvers.meka import Meka, approximate_kernel
from svmfast.solvers.meka_systems import positive_spectrum, smallest_eigenvalue
from svmfast.solvers.pool import single_threaded_blas

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class BaselineError:
    """A baseline's error at the memory of the approximation it stands beside."""

    name: str
    rank: int
    relative_error: float
    seconds: float
    bytes: int


@dataclass(frozen=True)
class ErrorReport:
    """``||G - Gt||_F / ||G||_F``; see :func:`kernel_error`. `seconds`: of building, not of judging."""

    rows: int
    features: int
    sampled_rows: int
    kernel: str
    gamma: float
    clusters: int
    ranks: tuple[int, ...]
    links: int
    smallest_eigenvalue: float | None
    relative_error: float
    block_diagonal_error: float
    seconds: float
    stages: Mapping[str, float]
    bytes: int
    planned_bytes: int
    baselines: tuple[BaselineError, ...]


def kernel_error(
    rows: Rows,
    settings: MekaSettings,
    *,
    sample: int = 20_000,
    compare: bool = False,
    threads: int = 1,
    progress: Progress = silent,
) -> ErrorReport:
    """Approximate the kernel matrix of the rows and tell how far it is from it.

    Parameters
    ----------
    rows : Rows
    settings : MekaSettings
        One gamma. With ``block_only`` the blocks within clusters are exact and all others zero.
    sample : int
        The error is estimated on so many rows (all, if there are fewer).
    compare : bool
        Also the baselines, each with the rank at which it takes as much memory.
    """
    if len(settings.gammas) != 1:
        raise OptionError("the kernel error is that of one gamma")
    planned = plan_bytes(rows, settings, "error", 1, threads=threads, sample=sample, compare=compare)
    settings.check_memory(planned)
    kernel = Kernel(settings.kernel, settings.gammas[0])
    load_kmeans()
    with single_threaded_blas():
        begin = time.perf_counter()
        centers = kmeans_centers(rows, settings.clusters, seed=settings.seed)
        parted = partition(rows, centers, threads=threads)
        stages = {"clusters": time.perf_counter() - begin}
        groups = [parted.cluster(s) for s in range(len(parted.sizes))]
        chosen = sample_rows(groups, sample, settings.seed)
        smallest: float | None = None
        links, added = 0, 0.0
        if settings.block_only:
            sizes = parted.sizes
            ranks, size = tuple(sizes.tolist()), int((sizes * (sizes + 1)).sum()) * 4
            stages["blocks"] = 0.0
            error = apart = relative_error(kernel, chosen, _exact_blocks(kernel, chosen), threads=threads)
        else:
            meka = approximate_kernel(
                kernel, parted, settings.approximation, threads=threads, progress=progress
            )
            stages.update(meka.seconds)
            start = time.perf_counter()
            whole: FloatArray | None = None
            if settings.psd == "clip":
                spectrum = positive_spectrum(meka, "clip")
                smallest = spectrum.smallest
                if smallest < 0:
                    whole = (spectrum.vectors * spectrum.values) @ spectrum.vectors.T
            elif settings.psd == "shift":
                smallest = smallest_eigenvalue(meka)
                added = max(0.0, -smallest)
            stages["positive"] = time.perf_counter() - start
            ranks, size, links = tuple(meka.ranks.tolist()), meka.bytes, len(meka.links)
            blocks = _meka_blocks(meka, chosen, whole, links=True)
            error = relative_error(kernel, chosen, blocks, diagonal=added, threads=threads)
            apart = relative_error(
                kernel, chosen, _meka_blocks(meka, chosen, None, links=False), threads=threads
            )
            del meka, blocks, whole
        seconds = sum(stages.values())
        lines: list[BaselineError] = []
        if compare:
            rank = max(1, round(size / (8 * len(rows))))
            names = baselines_for(kernel)
            for done, name in enumerate(names):
                progress(done, len(names), "baselines")
                lines.append(baseline_error(name, kernel, rows, rank, sample, settings.seed, threads=threads))
            progress(len(names), len(names), "baselines")
    return ErrorReport(
        rows=len(rows),
        features=rows.n_columns,
        sampled_rows=sum(len(part) for part in chosen.rows),
        kernel=settings.kernel,
        gamma=kernel.gamma,
        clusters=len(groups),
        ranks=ranks,
        links=links,
        smallest_eigenvalue=smallest,
        relative_error=error,
        block_diagonal_error=apart,
        seconds=seconds,
        stages=stages,
        bytes=size,
        planned_bytes=planned,
        baselines=tuple(lines),
    )


def baseline_error(
    name: str, kernel: Kernel, rows: Rows, rank: int, sample: int, seed: int, *, threads: int = 1
) -> BaselineError:
    """Return the error of a baseline (named as in ``solvers.kernel_baselines.BASELINES``)."""
    chosen = sample_rows([rows], sample, seed)
    with single_threaded_blas():
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


def _exact_blocks(kernel: Kernel, chosen: Sample) -> BlockOf:
    width = max(rows.n_columns for rows in chosen.rows)

    def block(g: int, a: slice, h: int, b: slice) -> FloatArray:
        left, right = chosen.rows[g][a], chosen.rows[h][b]
        if g != h:
            return np.zeros((len(left), len(right)))
        return kernel.matrix(left.to_dense(width), right.to_dense(width))

    return block
