"""k-means, and clusters of rows in input space, which give a kernel matrix its block structure.

Points may be without features, or equal.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from svmfast.errors import OptionError
from svmfast.routing import Router
from svmfast.rows import FloatArray, IntArray, Rows
from svmfast.threads import interruptible, one_blas_thread, one_openmp_thread


def k_means(
    points: Any, count: int, *, seed: int, max_iterations: int, weights: FloatArray | None = None
) -> FloatArray:
    """Return the ``(count, d)`` centers that scikit-learn's k-means finds from a single start.

    `points` is an array or a SciPy sparse matrix of at least `count` points. Some centers are equal if there
    are fewer distinct points.
    """
    if not points.shape[1]:
        return np.zeros((count, 0))
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    # Fewer distinct points than centers are not an error. The filter is not removed, because catch_warnings
    # is not thread-safe.
    warnings.filterwarnings("ignore", "Number of distinct clusters", ConvergenceWarning)

    def fit() -> FloatArray:
        # The limits are set here and not by the caller, because they apply only to libraries that are already
        # loaded, and scikit-learn has its own OpenMP. Sums would depend on the number of threads.
        # Squares of huge values may overflow; the centers are finite all the same.
        with one_blas_thread(), one_openmp_thread(), np.errstate(over="ignore", invalid="ignore"):
            means = KMeans(count, n_init=1, max_iter=max_iterations, random_state=seed)
            found: FloatArray = means.fit(points, sample_weight=weights).cluster_centers_
            return found

    found: FloatArray = np.ascontiguousarray(interruptible(fit), dtype=np.float64)
    return found


#: Maximum number of rows that k-means uses (Si, Hsieh, Dhillon 2017, section 5.2).
KMEANS_ROWS = 20_000
_DENSE_BYTES = 256 * 2**20


@dataclass(frozen=True, eq=False)
class Partition:
    """Rows ordered by their nearest center."""

    #: (c, d) centers of the clusters, none of which is empty.
    centers: FloatArray
    #: (n,) position of each ordered row in the input.
    order: IntArray
    #: Cluster s has the ordered rows ``start[s]:start[s + 1]``.
    start: IntArray
    rows: Rows

    @property
    def sizes(self) -> IntArray:
        """Number of rows of each cluster, ``(c,)``."""
        return np.diff(self.start)

    def places(self, s: int) -> slice:
        """The places of cluster `s` among the ordered rows."""
        return slice(int(self.start[s]), int(self.start[s + 1]))

    def cluster(self, s: int) -> Rows:
        """The rows of cluster `s`, sharing memory."""
        return self.rows[self.places(s)]


def load_kmeans() -> None:
    """Import scikit-learn, so that a measured time of k-means does not include the import."""
    import sklearn.cluster  # noqa: F401


def kmeans_centers(rows: Rows, clusters: int, *, seed: int = 0) -> FloatArray:
    """Return ``(c, d)`` centers of the rows by k-means (scikit-learn's, from one k-means++ start).

    Some are equal, or nearest to no row, if there are fewer distinct rows. Of more rows,
    :data:`KMEANS_ROWS` are sampled uniformly.
    """
    if clusters < 1:
        raise OptionError(f"{clusters} clusters; at least 1 is needed")
    if not len(rows):
        raise OptionError("no rows to cluster")
    rng = np.random.default_rng([seed, 0])
    if len(rows) > KMEANS_ROWS:
        rows = rows.take(np.sort(rng.choice(len(rows), KMEANS_ROWS, replace=False)))
    dense = len(rows) * rows.n_columns * 8 <= _DENSE_BYTES
    x = rows.to_dense() if dense else rows.to_scipy()
    if clusters == 1 or not rows.n_columns:
        return np.asarray(x.mean(axis=0), dtype=np.float64).reshape(1, -1)
    return k_means(x, min(clusters, len(rows)), seed=int(rng.integers(2**31)), max_iterations=100)


def partition(rows: Rows, centers: FloatArray, *, threads: int = 1) -> Partition:
    """Order the rows by their nearest center; centers without rows are dropped."""
    while True:
        order, start, grouped = Router.flat(centers).group(rows, threads=threads)
        filled = np.diff(start) > 0
        if filled.all():
            return Partition(centers, order, start, grouped)
        centers = np.ascontiguousarray(centers[filled])
