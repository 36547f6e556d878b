"""The memory that a run of meka will take, computed before it starts."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray

from svmfast.errors import MemoryLimitError
from svmfast.methods.meka.approximation import HELD_OUT_SHARE
from svmfast.methods.meka.options import MekaOptions
from svmfast.rows import Rows
from svmfast.solvers.kernel_clusters import KMEANS_ROWS
from svmfast.solvers.nystrom import CHUNK_ROWS

#: Side of the blocks in which matrices are compared.
BLOCK = 1024
#: LIBSVM's kernel cache for a local model.
BLOCK_CACHE_MEGABYTES = 100
#: Memory of interpreter and libraries, the largest for Python 3.10 to 3.13 with oldest and newest versions.
#: scikit-learn imports pandas if it is installed, and pandas imports pyarrow.
PROGRAM_BYTES = (160 if find_spec("pandas") is None else 230) * 2**20


def checked_bytes(
    rows: Rows, options: MekaOptions, task: str, functions: int, *, threads: int, largest: int = 0
) -> int:
    """Compute :func:`plan_bytes`; raise MemoryLimitError if that is over the limit."""
    planned = plan_bytes(rows, options, task, functions, threads=threads, largest=largest)
    if planned > options.memory:
        raise MemoryLimitError(
            "the work", planned, options.memory, "raise `memory`, or lower `rank`, `clusters` or `threads`"
        )
    return planned


def plan_bytes(
    rows: Rows, options: MekaOptions, task: str, functions: int, *, threads: int = 1, largest: int = 0
) -> int:
    """Compute an upper bound on the memory of a run for resolved options.

    `task` is ``ridge``, ``svc``, ``exact`` or ``error``, `functions` the number of targets of each row, and
    `largest` the rows of the largest cluster; 0: unknown, all clusters are assumed to have equal size.
    """
    n, d, c = len(rows), rows.n_columns, min(options.clusters, len(rows))
    data = 12 * rows.nnz + 8 * n
    # The rows, a copy ordered by cluster, and for cross-validation a fold's share of both.
    total = PROGRAM_BYTES + data * (4 if options.folds or task == "exact" else 2)
    total += 16 * min(n, KMEANS_ROWS) * d + 8 * n * functions * 4
    largest = largest or -(-n // c)
    if options.block_only:
        return total + block_bytes(largest, options, task, threads=threads)
    rank, columns, inner = min(options.rank, n), min(options.columns, n), min(c * options.rank, n)
    most = rank
    if options.strategy == "size":
        most = -(-rank * c * largest // n)
        columns = options.landmarks or 2 * most
    elif options.strategy == "eigen":
        most = min(columns, c * rank)
    total += 8 * (largest * most + (n - largest) * (most if options.strategy == "size" else rank))
    # A cluster's W is held together with its orthonormal form, and a chunk with its kernel values.
    total += 8 * largest * most * threads + 8 * CHUNK_ROWS * (2 * columns + d) * threads
    total += c * 8 * (2 * columns**2 + columns * d)
    if c > 1:
        # Sampled rows of a cluster.
        side = int(min((1 + options.oversampling) * rank * (1 + HELD_OUT_SHARE), n))
        total += c * 8 * side * (d + rank) + threads * 16 * side**2
        total += 8 * c * (c - 1) // 2 * rank**2 * 2
    total += 4 * 8 * inner**2
    if task == "svc":
        total += 8 * 6 * n * functions
    if task == "error":
        q = min(options.sample, n)
        total += data  # another copy of the rows, ordered by smaller clusters
        total += 8 * q * rank + threads * 8 * 4 * BLOCK**2
    return int(total)


def block_bytes(largest: int, options: MekaOptions, task: str, *, threads: int = 1) -> int:
    """Compute the bytes that the exact block of the largest cluster takes."""
    if task == "error":
        return threads * 8 * 4 * BLOCK**2
    if task == "svc" and options.kernel_kind == "rbf":
        return threads * (BLOCK_CACHE_MEGABYTES * 2**20)
    # LIBSVM stores a precomputed value in a node of 16 bytes, in addition to the matrix itself.
    return threads * largest**2 * (48 if task == "svc" else 24)


def triangle_bytes(sizes: NDArray[np.int64]) -> int:
    """Compute the bytes of the exact blocks within clusters, one triangle of each."""
    return int((sizes * (sizes + 1)).sum()) * 4


def check_blocks(sizes: NDArray[np.int64], options: MekaOptions, task: str, *, threads: int = 1) -> None:
    """Raise MemoryLimitError if the largest cluster's exact block is over the limit."""
    needed = PROGRAM_BYTES + block_bytes(int(sizes.max()), options, task, threads=threads)
    if needed > options.memory:
        what = f"the exact block of {sizes.max():,} rows"
        raise MemoryLimitError(what, needed, options.memory, "raise `memory`, or use more `clusters`")
