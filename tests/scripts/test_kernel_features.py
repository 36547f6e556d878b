"""The approximations that scripts/bench compares meka with: each comes near the kernel matrix."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from program import ROOT

from svmfast.kernels import Kernel
from svmfast.rows import Rows

sys.path.insert(0, str(ROOT / "scripts/bench"))
from kernel_features import BASELINES, kernel_error_of


@pytest.mark.parametrize("name", sorted(BASELINES))
@pytest.mark.parametrize("kernel", [Kernel("rbf", 0.5), Kernel("laplacian", 0.3)], ids=lambda k: k.kind)
def test_more_features_come_near_the_kernel_matrix(name: str, kernel: Kernel) -> None:
    if (name, kernel.kind) == ("fastfood", "laplacian"):
        pytest.skip("for the Gaussian kernel only")
    rng = np.random.default_rng(0)
    x = rng.normal(size=(4, 5))[rng.integers(4, size=300)] * 2 + rng.normal(size=(300, 5)) * 0.6
    few, many = (
        kernel_error_of(name, kernel, Rows.from_dense(x), rank)["relative_error"] for rank in (24, 1536)
    )
    # Nystrom becomes exact with all columns; random features only like 1 / sqrt(rank).
    assert many < (0.15 if name in ("random-fourier", "fastfood") else 1e-4)
    assert many < 0.5 * few
