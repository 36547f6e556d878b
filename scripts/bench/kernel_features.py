"""What meka and dcpred are compared with: low-rank approximations G ~ Phi Phi^T of a kernel matrix.

They are given by maps from rows to features. A map has `rank` features, so the approximation for n rows takes
8 n rank bytes.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmfast.errors import UnsupportedError
from svmfast.kernels import LAPLACIAN, Kernel
from svmfast.methods.meka.error import relative_error, sample_rows
from svmfast.rows import Rows
from svmfast.solvers.kernel_clusters import kmeans_centers
from svmfast.solvers.nystrom import CHUNK_ROWS, eigen_descending, inverse_root, kernel_features
from svmfast.threads import one_blas_thread

FloatArray = NDArray[np.float64]

#: Number of experts of ensemble Nystrom (Kumar, Mohri, Talwalkar 2009), as in the MEKA paper.
EXPERTS = 3
#: Power iterations and oversampling of the randomized SVD, as in the MEKA paper.
POWER_ITERATIONS = 1
OVERSAMPLING = 10


@dataclass(frozen=True, eq=False)
class FeatureMap:
    """A map from n rows to ``(n, rank)`` features whose inner products approximate the kernel."""

    transform: Callable[[Rows], FloatArray]


def nystrom(kernel: Kernel, rows: Rows, rank: int, seed: int) -> FeatureMap:
    """Rank-k Nystrom from 2k uniformly sampled columns (Williams, Seeger 2001)."""
    landmarks = _sampled(rows, 2 * rank, seed)
    return _from_landmarks(kernel, landmarks, rank)


def kmeans_nystrom(kernel: Kernel, rows: Rows, rank: int, seed: int) -> FeatureMap:
    """Nystrom on k-means centers of at most 20,000 rows (Zhang, Kwok 2010)."""
    return _from_landmarks(kernel, kmeans_centers(rows, rank, seed=seed), rank)


def randomized_nystrom(kernel: Kernel, rows: Rows, rank: int, seed: int) -> FeatureMap:
    """Rank-k Nystrom from 2k columns whose matrix is decomposed by randomized SVD (Li, Kwok, Lu 2010)."""
    from sklearn.utils.extmath import randomized_svd

    landmarks = _sampled(rows, 2 * rank, seed)
    vectors, values, _ = randomized_svd(
        kernel.matrix(landmarks, landmarks),
        min(rank, len(landmarks)),
        n_oversamples=OVERSAMPLING,
        n_iter=POWER_ITERATIONS,
        random_state=seed,
    )
    projection = inverse_root(values, vectors, rank)
    return FeatureMap(lambda x: kernel_features(kernel, x, landmarks, projection))


def ensemble_nystrom(kernel: Kernel, rows: Rows, rank: int, seed: int) -> FeatureMap:
    """The mean of three Nystrom approximations that share the memory (Kumar, Mohri, Talwalkar 2009)."""
    share = [len(part) for part in np.array_split(np.arange(max(rank, EXPERTS)), EXPERTS)]
    experts = [nystrom(kernel, rows, k, seed + 1 + i) for i, k in enumerate(share)]

    def transform(x: Rows) -> FloatArray:
        # The mean of Phi_e Phi_e^T is the product of the scaled features, side by side.
        joined: FloatArray = np.hstack([expert.transform(x) for expert in experts]) / np.sqrt(EXPERTS)
        return joined

    return FeatureMap(transform)


def random_fourier(kernel: Kernel, rows: Rows, rank: int, seed: int) -> FeatureMap:
    """Random Fourier features sqrt(2/k) cos(w.x + b) (Rahimi, Recht 2007).

    For the Gaussian kernel this is scikit-learn's RBFSampler; for the Laplacian, w is Cauchy distributed.
    """
    width = max(1, rows.n_columns)  # there may be no features
    if kernel.kind != LAPLACIAN:
        from sklearn.kernel_approximation import RBFSampler

        sampler = RBFSampler(gamma=kernel.gamma, n_components=rank, random_state=seed)
        sampler.fit(np.zeros((1, width)))
        return FeatureMap(lambda x: _dense_chunks(x, width, rank, sampler.transform))
    rng = np.random.default_rng([seed, 4])
    weights = kernel.gamma * rng.standard_cauchy((width, rank))
    offset = rng.uniform(0, 2 * np.pi, rank)
    scale = np.sqrt(2.0 / rank)
    return FeatureMap(
        lambda x: _dense_chunks(x, width, rank, lambda dense: scale * np.cos(dense @ weights + offset))
    )


def fastfood(kernel: Kernel, rows: Rows, rank: int, seed: int) -> FeatureMap:
    """Random Fourier features whose Gaussian matrix is S H G P H B (Le, Sarlos, Smola 2013).

    H is the Walsh-Hadamard transform, P a permutation, B random signs, G Gaussian, and S the lengths of the
    rows of a Gaussian matrix. Blocks of 2^ceil(log2 d) features are stacked and truncated to the rank.

    Raises
    ------
    UnsupportedError
        For the Laplacian kernel, whose spectrum is not rotation invariant, as the construction requires.
    """
    if kernel.kind == LAPLACIAN:
        raise UnsupportedError("fastfood is for the Gaussian kernel only", "use random Fourier features")
    width = max(1, rows.n_columns)
    padded = 1 << max(0, (width - 1).bit_length())
    blocks = -(-rank // padded)
    rng = np.random.default_rng([seed, 5])
    signs = rng.choice([-1.0, 1.0], (blocks, padded))
    order = np.stack([rng.permutation(padded) for _ in range(blocks)])
    gauss = rng.normal(size=(blocks, padded))
    lengths = np.sqrt(rng.chisquare(padded, (blocks, padded))) / np.linalg.norm(gauss, axis=1)[:, None]
    # Rows of H G P H B have length ||G|| sqrt(padded); with `lengths` their lengths are chi distributed.
    lengths *= np.sqrt(2 * kernel.gamma / padded)
    offset = rng.uniform(0, 2 * np.pi, rank)
    scale = np.sqrt(2.0 / rank)

    def features(dense: FloatArray) -> FloatArray:
        x = np.zeros((len(dense), 1, padded))
        x[:, 0, :width] = dense
        spread = walsh_hadamard(x * signs)
        mixed = np.take_along_axis(spread, order[None], axis=2) * gauss
        angles = (walsh_hadamard(mixed) * lengths).reshape(len(dense), -1)[:, :rank]
        result: FloatArray = scale * np.cos(angles + offset)
        return result

    return FeatureMap(lambda x: _dense_chunks(x, width, rank, features))


#: The maps by name, in the order of the paper's table.
BASELINES: dict[str, Callable[[Kernel, Rows, int, int], FeatureMap]] = {
    "nystrom": nystrom,
    "randomized-nystrom": randomized_nystrom,
    "kmeans-nystrom": kmeans_nystrom,
    "ensemble-nystrom": ensemble_nystrom,
    "random-fourier": random_fourier,
    "fastfood": fastfood,
}


def kernel_error_of(
    name: str, kernel: Kernel, rows: Rows, rank: int, *, sample: int = 20_000, seed: int = 0, threads: int = 1
) -> dict[str, Any]:
    """Return the cost of a map, and its error on sampled rows as ``meka --task error`` measures it."""
    chosen = sample_rows([rows], sample, seed)
    with one_blas_thread():
        begin = time.perf_counter()
        features = BASELINES[name](kernel, rows, rank, seed).transform(rows)
        seconds = time.perf_counter() - begin
        left = features[chosen.positions[0]]
        error = relative_error(kernel, chosen, lambda g, a, h, b: left[a] @ left[b].T, threads=threads)
    found = {"name": name, "rank": rank, "relative_error": error, "seconds": seconds}
    return {**found, "bytes": features.nbytes}


def equal_memory_rank(n_bytes: int, rows: Rows) -> int:
    """Return the rank at which a map of these rows takes about as much memory."""
    return max(1, round(n_bytes / (8 * len(rows))))


def walsh_hadamard(x: FloatArray) -> FloatArray:
    """Return x @ H along the last axis, whose length is a power of two; H is not scaled."""
    width = x.shape[-1]
    half = 1
    while half < width:
        pairs = x.reshape(*x.shape[:-1], width // (2 * half), 2, half)
        a, b = pairs[..., 0, :], pairs[..., 1, :]
        x = np.stack([a + b, a - b], axis=-2).reshape(x.shape)
        half *= 2
    return x


def _sampled(rows: Rows, count: int, seed: int) -> FloatArray:
    rng = np.random.default_rng([seed, 6])
    return rows.take(np.sort(rng.choice(len(rows), min(count, len(rows)), replace=False))).to_dense()


def _from_landmarks(kernel: Kernel, landmarks: FloatArray, rank: int) -> FeatureMap:
    projection = inverse_root(*eigen_descending(kernel.matrix(landmarks, landmarks)), rank)
    return FeatureMap(lambda x: kernel_features(kernel, x, landmarks, projection))


def _dense_chunks(
    rows: Rows, width: int, rank: int, features: Callable[[FloatArray], FloatArray]
) -> FloatArray:
    out = np.empty((len(rows), rank))
    for start in range(0, len(rows), CHUNK_ROWS):
        out[start : start + CHUNK_ROWS] = features(rows[start : start + CHUNK_ROWS].to_dense(width))
    return out
