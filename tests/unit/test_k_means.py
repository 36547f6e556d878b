"""k-means with very few points, or extreme values."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix

from svmfast.solvers.k_means import k_means


def test_the_unit_of_the_points_does_not_matter() -> None:
    """Near the end of the range of doubles squares overflow; scaling by a power of two changes no digit."""
    points = np.random.default_rng(0).standard_normal((60, 3))
    weights = np.linspace(0.1, 1, 60)
    expected = k_means(points, 5, seed=1, max_iterations=50, weights=weights)
    huge = np.ldexp(points, 1000)
    found = k_means(huge, 5, seed=1, max_iterations=50, weights=weights)
    np.testing.assert_array_equal(found, np.ldexp(expected, 1000))
    sparse = k_means(csr_matrix(huge), 5, seed=1, max_iterations=50, weights=weights)
    np.testing.assert_allclose(sparse, found, rtol=1e-12)


def test_points_without_features_and_fewer_than_centers() -> None:
    assert k_means(np.zeros((4, 0)), 3, seed=0, max_iterations=10).shape == (3, 0)
    same = np.repeat([[1.0, 2.0], [3.0, -4.0]], 5, axis=0)
    centers = k_means(same, 4, seed=0, max_iterations=10)
    assert centers.shape == (4, 2)
    assert {tuple(center) for center in centers} == {(1.0, 2.0), (3.0, -4.0)}
