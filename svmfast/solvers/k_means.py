"""k-means centers, with support for points without features and duplicate points."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from svmfast.rows import FloatArray
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
