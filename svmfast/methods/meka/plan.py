"""What a meka run is asked to do, and the memory it will take, told before it starts."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from svmfast.errors import MemoryLimitError, OptionError
from svmfast.methods.meka.approximation import HELD_OUT_SHARE, MekaOptions
from svmfast.methods.meka.kernel_error import BLOCK
from svmfast.methods.meka.systems import DENSE_SIZE, PSD_REPAIRS
from svmfast.models.routed import ROUTED_KERNELS
from svmfast.rows import Rows
from svmfast.solvers.kernel_clusters import KMEANS_ROWS
from svmfast.solvers.nystrom import CHUNK_ROWS

#: LIBSVM's kernel cache for a local model.
BLOCK_CACHE_MEGABYTES = 100
DEFAULT_MEMORY = 2 * 2**30
#: Interpreter and libraries.
PROGRAM_BYTES = 150 * 2**20


@dataclass(frozen=True)
class MekaSettings:
    """A meka run.

    Attributes
    ----------
    gammas : tuple of float
        Kernel widths; several to choose from.
    strengths : tuple of float
        lambda for ridge, C for svc; several to choose from.
    kernel : str
        ``rbf`` or ``laplacian``.
    clusters : int
    approximation : MekaOptions
    psd : str
        How the approximation becomes positive semidefinite: ``clip``, ``shift`` or ``none``.
    block_only : bool
        Only the blocks within clusters, exactly (BKA).
    folds : int or None
    memory : int
        Bytes the whole work may take.
    """

    gammas: tuple[float, ...]
    strengths: tuple[float, ...] = (1.0,)
    kernel: str = "rbf"
    clusters: int = 10
    approximation: MekaOptions = field(default_factory=MekaOptions)
    psd: str = "clip"
    block_only: bool = False
    folds: int | None = None
    memory: int = DEFAULT_MEMORY

    def __post_init__(self) -> None:
        if self.kernel not in ROUTED_KERNELS:
            raise OptionError(f"kernel is '{self.kernel}'; it must be one of {', '.join(ROUTED_KERNELS)}")
        if self.psd not in PSD_REPAIRS:
            raise OptionError(f"psd is '{self.psd}'; it must be one of {', '.join(PSD_REPAIRS)}")
        for name, values in (("gamma", self.gammas), ("lambda or C", self.strengths)):
            if not all(np.isfinite(v) and v > 0 for v in values):
                raise OptionError(f"{name} must be positive")
        if not self.gammas:
            raise OptionError("no gamma is given")
        if self.clusters < 1:
            raise OptionError(f"{self.clusters} clusters; at least 1 is needed")
        if self.folds is not None and self.folds < 2:
            raise OptionError(f"{self.folds} folds (-v); cross validation needs at least 2")

    @property
    def seed(self) -> int:
        """Of every random choice."""
        return self.approximation.seed

    def check_memory(self, planned: int) -> None:
        """Raise MemoryLimitError if the plan is over the limit."""
        if planned > self.memory:
            raise MemoryLimitError(
                "the work", planned, self.memory, "raise --memory, or lower --rank, --clusters or -j"
            )

    def told(self, task: str, gamma: float, strength: float) -> dict[str, str]:
        """Return what a model's file says of its making."""
        a = self.approximation
        parts = [f"task {task}", f"kernel {self.kernel}", f"gamma {gamma!r}"]
        parts += [f"{'C' if task == 'svc' else 'lambda'} {strength!r}", f"clusters {self.clusters}"]
        if self.block_only:
            parts.append("block-only")
        else:
            parts += [f"rank {a.rank}", f"landmarks {a.columns}", f"rho {a.rho!r}", f"eps {a.eps!r}"]
            parts += [f"strategy {a.strategy}", f"psd {self.psd}"]
        return {"parameters": ", ".join(parts), "seed": str(self.seed)}


def plan_bytes(
    rows: Rows,
    settings: MekaSettings,
    task: str,
    functions: int,
    *,
    threads: int = 1,
    sample: int = 0,
    compare: bool = False,
    largest: int = 0,
) -> int:
    """Return the memory a run will take, an upper bound for clusters of at most `largest` rows.

    Parameters
    ----------
    rows : Rows
    settings : MekaSettings
    task : str
        ``ridge``, ``svc``, ``exact`` or ``error``.
    functions : int
        Targets side by side.
    threads : int
    sample, compare
        Of ``error``.
    largest : int
        Rows of the largest cluster, once that is known; as if all were equal else.
    """
    n, d, c = len(rows), rows.n_columns, min(settings.clusters, len(rows))
    data = 12 * rows.nnz + 8 * n
    # The rows themselves, the same ordered by cluster, and in cross validation a fold's share of both.
    total = PROGRAM_BYTES + data * (4 if settings.folds or task == "exact" else 2)
    total += 16 * min(n, KMEANS_ROWS) * d + 8 * n * functions * 4
    largest = largest or -(-n // c)
    if settings.block_only:
        return total + block_bytes(largest, settings, task, threads=threads)
    a = settings.approximation
    rank, columns, inner = min(a.rank, n), min(a.columns, n), min(c * a.rank, n)
    most = rank
    if a.strategy == "size":
        most = -(-rank * c * largest // n)
        columns = a.landmarks or 2 * most
    elif a.strategy == "eigen":
        most = min(columns, c * rank)
    basis = 8 * (largest * most + (n - largest) * (most if a.strategy == "size" else rank))
    # A cluster's W exists beside its orthonormal form; a chunk's kernel values beside the chunk.
    total += basis + 8 * largest * most * threads + 8 * CHUNK_ROWS * (2 * columns + d) * threads
    total += c * 8 * (2 * columns**2 + columns * d)
    if a.links and c > 1:
        side = int(min((1 + a.rho) * rank * (1 + HELD_OUT_SHARE), n))  # rows of a cluster
        total += c * 8 * side * (d + rank) + threads * 16 * side**2
        total += 8 * c * (c - 1) // 2 * rank**2 * 2
    if settings.psd == "clip" or task == "svc" or inner <= DENSE_SIZE:
        total += 4 * 8 * inner**2
    if task == "svc":
        total += 8 * 6 * n * functions
    if task == "error":
        q = min(sample, n)
        total += data  # the rows once more, ordered by smaller clusters
        total += 8 * q * rank + threads * 8 * 4 * BLOCK**2
        if compare:
            equal = (basis + 4 * c * (c - 1) * rank**2) // (8 * n)
            total += 8 * n * equal + 8 * q * equal + 8 * (2 * equal) ** 2 * 3
    return int(total)


def block_bytes(largest: int, settings: MekaSettings, task: str, *, threads: int = 1) -> int:
    """Return what the exact block of the largest cluster takes."""
    if task == "error":
        return threads * 8 * 4 * BLOCK**2
    if task == "svc" and settings.kernel == "rbf":
        return threads * (BLOCK_CACHE_MEGABYTES * 2**20)
    # LIBSVM's node of a precomputed value has 16 bytes, beside the matrix itself.
    return threads * largest**2 * (48 if task == "svc" else 24)


def check_blocks(sizes: NDArray[np.int64], settings: MekaSettings, task: str, *, threads: int = 1) -> None:
    """Raise MemoryLimitError if the largest cluster's exact block is over the limit."""
    needed = PROGRAM_BYTES + block_bytes(int(sizes.max()), settings, task, threads=threads)
    if needed > settings.memory:
        raise MemoryLimitError(
            f"the exact block of {sizes.max():,} rows",
            needed,
            settings.memory,
            "raise --memory, or use more --clusters",
        )
