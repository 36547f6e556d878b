"""Clusters of rows in input space, which give a shift-invariant kernel matrix its block structure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from svmfast.errors import OptionError
from svmfast.routing import Router
from svmfast.rows import FloatArray, IntArray, Rows
from svmfast.solvers.k_means import k_means

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
