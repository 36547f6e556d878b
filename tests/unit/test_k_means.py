"""k-means with very few points, or extreme values."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from svmfast.solvers.k_means import k_means


@pytest.mark.parametrize("exponent", [160, 300])
@pytest.mark.filterwarnings("error")
def test_huge_points_have_finite_centers(exponent: int) -> None:
    points = np.random.default_rng(0).standard_normal((60, 3)) * 10.0**exponent
    for given in (points, csr_matrix(points)):
        centers = k_means(given, 5, seed=1, max_iterations=50)
        assert centers.shape == (5, 3)
        assert np.isfinite(centers).all()


def test_points_without_features_and_fewer_than_centers() -> None:
    assert k_means(np.zeros((4, 0)), 3, seed=0, max_iterations=10).shape == (3, 0)
    same = np.repeat([[1.0, 2.0], [3.0, -4.0]], 5, axis=0)
    centers = k_means(same, 4, seed=0, max_iterations=10)
    assert centers.shape == (4, 2)
    assert {tuple(center) for center in centers} == {(1.0, 2.0), (3.0, -4.0)}
