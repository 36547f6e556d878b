"""k-means centers, with support for points without features, duplicate points and huge values."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from svmfast.rows import FloatArray
from svmfast.threads import interruptible, one_blas_thread, one_openmp_thread

#: Values up to this size have squares whose weighted sums do not overflow.
_SAFE = 1e100


def k_means(
    points: Any, count: int, *, seed: int, max_iterations: int, weights: FloatArray | None = None
) -> FloatArray:
    """Return the ``(count, d)`` centers that scikit-learn's k-means finds from a single start.

    `points` is an array or a SciPy sparse matrix of at least `count` points. Some centers are equal if there
    are fewer distinct points.
    """
    if not points.shape[1]:
        return np.zeros((count, 0))
    values = points if isinstance(points, np.ndarray) else points.data
    largest = float(np.abs(values).max(initial=0.0))
    scale = 1.0
    if largest > _SAFE:  # the result does not depend on the unit, and scaling by a power of two is exact
        scale = math.ldexp(1.0, math.frexp(largest)[1] - 1)
        points = points / scale
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    # Fewer distinct points than centers are not an error. The filter is not removed, because catch_warnings
    # is not thread-safe.
    warnings.filterwarnings("ignore", "Number of distinct clusters", ConvergenceWarning)

    def fit() -> FloatArray:
        # The limits are set here and not by the caller, because they apply only to libraries that are already
        # loaded, and scikit-learn has its own OpenMP. Sums would depend on the number of threads.
        with one_blas_thread(), one_openmp_thread():
            means = KMeans(count, n_init=1, max_iter=max_iterations, random_state=seed)
            found: FloatArray = means.fit(points, sample_weight=weights).cluster_centers_
            return found

    centers = interruptible(fit)
    found: FloatArray = np.ascontiguousarray(centers if scale == 1.0 else centers * scale, dtype=np.float64)
    return found
