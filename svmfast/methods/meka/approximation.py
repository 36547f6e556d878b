"""Memory-efficient kernel approximation: G ~ Q L Q^T, with a basis for each cluster and links between them.

Si, Hsieh, Dhillon, "Memory Efficient Kernel Approximation", JMLR 18 (2017). This differs from the paper in
two ways:

- The basis of a cluster is made orthonormal. The eigenvalues of L are then those of the approximation, and
  clipping negative ones projects onto the positive semidefinite matrices, which cannot increase the error.
- Links are fitted with Tikhonov regularization in the Nystrom basis, where they are correlations (|L| <= 1).
  The paper's plain least squares blows up where a sampled basis is ill conditioned.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from svmfast.errors import MemoryLimitError
from svmfast.kernels import Kernel
from svmfast.methods.meka import MekaOptions
from svmfast.methods.method import Setting
from svmfast.progress import Progress, counting, silent
from svmfast.rows import FloatArray, IntArray, Rows
from svmfast.solvers.kernel_clusters import KMEANS_ROWS, Partition, kmeans_centers, partition
from svmfast.solvers.nystrom import CHUNK_ROWS, eigen_descending, inverse_root, kernel_features
from svmfast.threads import map_in_threads

#: Regularization of a link, in units of K(x, x) = 1.
LINK_RIDGE = 0.05


@dataclass(frozen=True, eq=False)
class Meka:
    """G ~ Q L Q^T over the ordered rows of a partition."""

    kernel: Kernel
    partition: Partition
    landmarks: list[Rows]
    #: (m_s, k_s): in cluster s, the features of a row are K(row, landmarks) @ projection.
    projections: list[FloatArray]
    #: (n_s, k_s), orthonormal columns.
    bases: list[FloatArray]
    #: (k_s,); L_ss is diagonal.
    diagonal: list[FloatArray]
    #: (k_s, k_t) by (s, t), s < t. Missing blocks are zero; L_ts = L_st^T.
    links: dict[tuple[int, int], FloatArray]

    @property
    def ranks(self) -> IntArray:
        return np.array([len(d) for d in self.diagonal], dtype=np.int64)

    @property
    def bytes(self) -> int:
        """Memory of the approximation in bytes: bases, diagonals and one triangle of links."""
        parts = [*self.bases, *self.diagonal, *self.links.values()]
        return sum(part.nbytes for part in parts)

    def slices(self) -> list[slice]:
        ends = np.cumsum(self.ranks)
        return [slice(int(e - k), int(e)) for e, k in zip(ends, self.ranks, strict=True)]

    def forward(self, z: FloatArray) -> FloatArray:
        """Compute Q @ z, ``(n, p)``, in the partition's order."""
        return np.concatenate([q @ z[at] for q, at in zip(self.bases, self.slices(), strict=True)])

    def backward(self, v: FloatArray) -> FloatArray:
        """Compute Q^T @ v, ``(sum k, p)``, for `v` in the partition's order."""
        return np.concatenate([q.T @ v[self.partition.places(s)] for s, q in enumerate(self.bases)])

    def link_matrix(self) -> FloatArray:
        at = self.slices()
        dense = np.diag(np.concatenate(self.diagonal))
        for (s, t), block in self.links.items():
            dense[at[s], at[t]] = block
            dense[at[t], at[s]] = block.T
        return dense


def approximate_kernel(
    kernel: Kernel,
    partition: Partition,
    options: MekaOptions,
    *,
    threads: int = 1,
    progress: Progress = silent,
) -> Meka:
    """Build the approximation of the kernel matrix of the partition's rows (paper, algorithm 1).

    The kernel is rbf or laplacian. Blocks are built in parallel; the result does not depend on `threads`.
    """
    c = len(partition.sizes)
    samples = map_in_threads(
        counting(lambda s: _sample_block(kernel, partition, options, s), progress, c, "landmarks"),
        range(c),
        threads,
    )
    ranks = _spread_ranks(partition.sizes, samples, options)
    built = map_in_threads(
        counting(lambda s: _basis(kernel, partition, samples[s], int(ranks[s]), s), progress, c, "blocks"),
        range(c),
        threads,
    )
    pairs = list(_linked_pairs(kernel, partition.centers, options.link_threshold))
    linked = range(c if pairs else 0)
    ends = map_in_threads(lambda s: _LinkEnd.sample(partition, built[s], options, s), linked, threads)
    fit = map_in_threads(
        counting(lambda p: _link(kernel, ends[p[0]], ends[p[1]]), progress, len(pairs), "links"),
        pairs,
        threads,
    )
    links = {}
    for (s, t), block in zip(pairs, fit, strict=True):
        # Convert from the Nystrom basis to the orthonormal one: W = Q R, R = diag(root) V^T.
        r_s, r_t = (built[i].root[:, None] * built[i].rotation.T for i in (s, t))
        links[s, t] = r_s @ block @ r_t.T
    return Meka(
        kernel,
        partition,
        [rows for rows, _, _ in samples],
        [b.projection for b in built],
        [b.basis for b in built],
        [b.root**2 for b in built],
        links,
    )


def _sample_block(
    kernel: Kernel, partition: Partition, options: MekaOptions, s: int
) -> tuple[Rows, FloatArray, FloatArray]:
    """Sample a cluster's landmarks; decompose their kernel matrix into eigenvalues and -vectors."""
    rows = partition.cluster(s)
    columns = options.columns
    if options.strategy == "size":
        columns = 2 * _size_ranks(partition.sizes, options.rank)[s] if not options.landmarks else columns
    rng = np.random.default_rng([options.seed, 1, s])
    chosen = np.sort(rng.choice(len(rows), min(int(columns), len(rows)), replace=False))
    landmarks = rows.take(chosen)
    dense = landmarks.to_dense()
    return (landmarks, *eigen_descending(kernel.matrix(dense, dense)))


def _size_ranks(sizes: IntArray, rank: int) -> IntArray:
    """Choose ranks in proportion to the clusters' sizes, with mean `rank`."""
    ranks: IntArray = np.maximum(1, np.round(rank * len(sizes) * sizes / sizes.sum())).astype(np.int64)
    return ranks


def _spread_ranks(
    sizes: IntArray, samples: list[tuple[Rows, FloatArray, FloatArray]], options: MekaOptions
) -> IntArray:
    c = len(sizes)
    if options.strategy == "equal":
        return np.full(c, options.rank)
    if options.strategy == "size":
        return _size_ranks(sizes, options.rank)
    # Eigenvalues grow with the size of the sample. Scaled up, they estimate those of the whole block.
    scaled = [values * (n / len(values)) for n, (_, values, _) in zip(sizes, samples, strict=True)]
    owner = np.repeat(np.arange(c), [len(v) for v in scaled])
    largest = np.argsort(-np.concatenate(scaled), kind="stable")[: c * options.rank]
    return np.maximum(1, np.bincount(owner[largest], minlength=c))


@dataclass(frozen=True, eq=False)
class _Block:
    """W = basis @ diag(root) @ rotation^T, basis orthonormal; `projection` maps kernel values into it."""

    projection: FloatArray
    basis: FloatArray
    root: FloatArray
    rotation: FloatArray


def _basis(
    kernel: Kernel, partition: Partition, sample: tuple[Rows, FloatArray, FloatArray], rank: int, s: int
) -> _Block:
    landmarks, values, vectors = sample
    projection = inverse_root(values, vectors, rank)
    w = kernel_features(kernel, partition.cluster(s), landmarks.to_dense(), projection)
    gram, rotation = eigen_descending(w.T @ w)
    # Columns of W that are zero on every row are dropped.
    kept = gram > 1e-13 * gram[0]
    root, rotation = np.sqrt(gram[kept]), np.ascontiguousarray(rotation[:, kept])
    turn = rotation / root
    return _Block(projection @ turn, w @ turn, root, rotation)


@dataclass(frozen=True, eq=False)
class _LinkEnd:
    """A cluster's sampled rows and their Nystrom features W, in the eigenbasis of W^T W."""

    rows: FloatArray
    features: FloatArray
    eigenvalues: FloatArray
    vectors: FloatArray

    @classmethod
    def sample(cls, partition: Partition, block: _Block, options: MekaOptions, s: int) -> _LinkEnd:
        rows, n, k = partition.cluster(s), len(block.basis), block.rotation.shape[0]
        fitted = int(min((1 + options.oversampling) * k, n))
        rng = np.random.default_rng([options.seed, 2, s])
        chosen = np.sort(rng.choice(n, fitted, replace=False))
        w = block.basis[chosen] @ (block.root[:, None] * block.rotation.T)
        values, vectors = eigen_descending(w.T @ w)
        return cls(rows.take(chosen).to_dense(), w @ vectors, np.maximum(values, 0), vectors)


def _linked_pairs(kernel: Kernel, centers: FloatArray, eps: float) -> Iterator[tuple[int, int]]:
    near = kernel.matrix(centers, centers) > eps
    for s in range(len(centers)):
        for t in range(s + 1, len(centers)):
            if near[s, t]:
                yield s, t


def _link(kernel: Kernel, a: _LinkEnd, b: _LinkEnd) -> FloatArray:
    """Fit a link in the Nystrom basis."""
    right = a.features.T @ kernel.matrix(a.rows, b.rows) @ b.features
    fitted = right / np.multiply.outer(a.eigenvalues + LINK_RIDGE, b.eigenvalues + LINK_RIDGE)
    link: FloatArray = a.vectors @ fitted @ b.vectors.T
    return link


#: Side of the blocks in which matrices are compared.
BLOCK = 1024


def clustered(rows: Rows, options: MekaOptions, task: str, functions: int, setting: Setting) -> Partition:
    """Cluster the rows; the memory is checked for equal clusters, and then for those that were found."""
    check_memory(rows, options, task, functions, setting.threads, -(-len(rows) // options.clusters))
    setting.progress(0, None, "clusters")
    centers = kmeans_centers(rows, options.clusters, seed=options.seed)
    parted = partition(rows, centers, threads=setting.threads)
    check_memory(rows, options, task, functions, setting.threads, int(parted.sizes.max()))
    return parted


def check_memory(
    rows: Rows, options: MekaOptions, task: str, functions: int, threads: int, largest: int
) -> None:
    """Raise MemoryLimitError if the work needs too much; the largest cluster has `largest` rows."""
    n, d, c = len(rows), rows.n_columns, min(options.clusters, len(rows))
    # The rows with a copy ordered by cluster, in cross-validation also those of a fold; and for k-means.
    data = 12 * rows.nnz + 8 * n
    needed = data * (4 if options.folds else 2) + 16 * min(n, KMEANS_ROWS) * d + 32 * n * functions
    if not options.block_only:
        needed += low_rank_bytes(n, d, c, largest, options, threads)
    if task == "svc":
        needed += 48 * n * functions
    if task == "error":
        needed += data + 8 * min(options.sample, n) * (options.rank + d) + 32 * threads * BLOCK**2
    if needed > options.memory:
        advice = "raise `memory`, or lower `rank`, `clusters` or `threads`"
        raise MemoryLimitError("the work", needed, options.memory, advice)


def low_rank_bytes(n: int, d: int, c: int, largest: int, options: MekaOptions, threads: int) -> int:
    """Bound the bytes of bases, landmarks and links, and of what makes them."""
    rank, columns = min(options.rank, n), min(options.columns, n)
    most, bases = rank, n * rank
    if options.strategy == "size":
        most = -(-rank * c * largest // n)
        columns, bases = options.landmarks or 2 * most, n * most
    elif options.strategy == "eigen":
        most = min(columns, c * rank)
        bases += largest * most
    # A cluster's W is held together with its orthonormal form, and a chunk with its kernel values.
    needed = bases + threads * (largest * most + CHUNK_ROWS * (2 * columns + d))
    needed += c * (2 * columns**2 + columns * d) + 4 * min(c * rank, n) ** 2
    # The sampled rows of each cluster, and its links.
    side = int(min((1 + options.oversampling) * rank, n))
    needed += c * side * (d + rank) + threads * 2 * side**2 + c**2 * rank**2
    return 8 * needed


def triangle_bytes(sizes: IntArray) -> int:
    """Compute the bytes of the exact blocks within clusters, one triangle of each."""
    return int((sizes * (sizes + 1)).sum()) * 4
