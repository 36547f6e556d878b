"""A learned metric for compress: a linear map of the rows, in whose coordinates the kernel is round.

    p = W (x - center),   K_j(x) = exp(-|p - z_j|^2)

W starts from the exact model: the mean of the outer products of the gradients of its decision values has
large eigenvalues along the directions in which labels change. A map to fewer coordinates starts from the
principal axes of the rows. It is then optimized together with the vectors (reduced_set.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from svmfast.errors import NotFiniteError
from svmfast.kernels import Kernel
from svmfast.rows import FloatArray, Rows
from svmfast.solvers.nystrom import CHUNK_ROWS, eigen_descending
from svmfast.threads import one_blas_thread

if TYPE_CHECKING:
    from svmfast.methods.compress.data_split import DataSplit
    from svmfast.methods.compress.reduced_set import Target

#: Rows with more stored values than this share are dense in memory.
DENSE_SHARE = 0.2
#: Rows of which gradients are taken, and how many at a time.
_GRADIENT_ROWS, _GRADIENT_BLOCK = 4000, 256
#: The powers of the eigenvalues that are tried for a start.
POWERS = (0.25, 0.5, 1.0)
#: The largest root of gamma, or number of a center, for which there is a metric: files have single precision.
_LARGEST = 1e30


@dataclass(frozen=True, eq=False)
class Metric:
    #: W, (r, d), with the kernel's width in it.
    map: FloatArray
    #: (d,)
    center: FloatArray

    def __call__(self, rows: Any) -> Rows:
        """The mapped rows of a matrix, ``(n, r)``."""
        with one_blas_thread():
            return Rows.from_dense(rows @ self.map.T - self.map @ self.center)

    def rounded(self) -> Metric:
        """The map with numbers of single precision, as files store them."""
        return Metric(_single(self.map), _single(self.center))


def _single(numbers: FloatArray) -> FloatArray:
    with np.errstate(over="ignore"):
        found = numbers.astype(np.float32).astype(np.float64)
    if not np.isfinite(found).all():
        raise NotFiniteError("a learned metric leaves the range of single precision")
    return found


def matrix_of(rows: Rows, width: int) -> Any:
    """The rows as an array, or as a SciPy matrix if they are sparse."""
    if rows.nnz > DENSE_SHARE * len(rows) * width:
        return rows.to_dense(width)
    return rows.renumbered(rows.indices, width).to_scipy()


def has_metric(kernel: Kernel) -> bool:
    """Whether a metric can be learned for a kernel: one of distances, whose root of gamma files can store."""
    return kernel.kind == "rbf" and 1 / _LARGEST**2 <= kernel.gamma <= _LARGEST**2


def has_center(target: Target) -> bool:
    """Whether rows have columns, and a mean that files can store."""
    return target.n_columns > 0 and bool((np.abs(target.mean) <= _LARGEST).all())


def initial_metrics(target: Target, split: DataSplit, seed: int) -> list[Metric]:
    """Square maps, of which some first rows serve: principal axes, and directions of large gradients.

    The latter are stretched by powers of their eigenvalues, at the same mean square for all of them.
    """
    d, gamma, sums = target.n_columns, target.kernel.gamma, np.zeros((target.n_columns, target.n_columns))
    center = _single(target.mean)
    with one_blas_thread():
        for at in range(0, len(target), CHUNK_ROWS):
            x = target.rows[at : at + CHUNK_ROWS].to_dense(d) - center
            sums += x.T @ x
        _, axes = eigen_descending(sums)
        found = [axes]
        values, axes = eigen_descending(_mean_gradients(target, split, center, seed))
    values = np.maximum(values, 0) / (max(float(values.mean()), 0.0) or 1.0)
    for power in POWERS:
        length = values**power
        found.append(axes * length * np.sqrt(len(values) / max(float(np.sum(length**2)), 1e-300)))
    return [Metric(np.sqrt(gamma) * np.ascontiguousarray(one.T), center) for one in found]


def _mean_gradients(target: Target, split: DataSplit, center: FloatArray, seed: int) -> FloatArray:
    """The mean of grad f grad f^T, ``(d, d)``, of the exact model on some rows, in units of 4 gamma^2.

    f is the function of a row's winner and its closest competitor.
    """
    d, rows, sizes = target.n_columns, target.rows, split.sv_sizes
    rng = np.random.default_rng([seed, len(rows)])
    chosen = np.sort(rng.choice(len(rows), min(_GRADIENT_ROWS, len(rows)), replace=False))
    width, edge = target.values.shape[1], np.concatenate([[0], np.cumsum(sizes)])
    closest = target.winner[chosen] * width + np.abs(target.values[chosen]).argmin(axis=1)
    found = np.zeros((d, d))
    for one in np.unique(closest).tolist():
        # The classes of the function, and the rows of their coefficients.
        w, q = divmod(one, width)
        parts = [(w, q)] if len(sizes) == 1 else [(w, q), (q + (q >= w), w - (w > q))]
        mine = [np.arange(edge[c], edge[c + 1]) for c, _ in parts]
        coef = np.concatenate([split.sv_coef[row, own] for (_, row), own in zip(parts, mine, strict=True)])
        near, places = split.sv.take(np.concatenate(mine)).to_dense(d) - center, chosen[closest == one]
        for at in range(0, len(places), _GRADIENT_BLOCK):
            x = rows.take(places[at : at + _GRADIENT_BLOCK]).to_dense(d) - center
            pull = target.kernel.matrix(x, near) * coef
            gradient = pull @ near - pull.sum(axis=1)[:, None] * x
            found += gradient.T @ gradient
    return found / len(chosen)
