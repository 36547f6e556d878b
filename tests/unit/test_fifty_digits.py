"""Kernels against 50 digits.

The definitions are evaluated on the same doubles as the code, without any of the code's own algebra
(centring, squared norms, Horner's scheme, lookup tables).
"""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from fifty_digits import kernel_values, mpf
from hypothesis import given
from hypothesis import strategies as st

from svmfast.kernels import DecisionEngine, Kernel
from svmfast.rows import FloatArray, Rows

UNIT = 2.0**-53
#: Underflow is not an error.
TINY = mpf(10) ** -290
SEED = st.integers(0, 2**31)


@pytest.mark.parametrize("kind", ["linear", "polynomial", "sigmoid", "rbf", "laplacian"])
@given(
    seed=SEED, d=st.integers(1, 12), gamma=st.floats(1e-12, 1e6), scale=st.floats(1e-6, 1e3),
    coef0=st.floats(-2, 2), degree=st.integers(1, 5),
)  # fmt: skip
def test_kernels(kind, seed, d, gamma, scale, coef0, degree) -> None:
    """Each value is within the rounding error of its formula: the exponent, the dot product, the power."""
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=(4, d)) * scale, rng.normal(size=(5, d)) * scale
    x[rng.uniform(size=x.shape) < 0.3] = 0
    z[0] = x[0]
    kernel = Kernel(kind, gamma, coef0, degree if kind == "polynomial" else 0)
    engine = DecisionEngine(kernel, Rows.from_dense(x), np.eye(4), np.zeros(4), None)
    exact = [kernel_values(kernel, x, row) for row in z]
    for values in (kernel.matrix(x, z), engine.decision_values(Rows.from_dense(z)).T):
        for i, j in np.ndindex(4, 5):
            off = abs(mpf(float(values[i, j])) - exact[j][i])
            assert off <= allowed(kernel, x[i], z[j], exact[j][i]) + TINY, (i, j)


def allowed(kernel: Kernel, x: FloatArray, z: FloatArray, value: mpmath.mpf) -> mpmath.mpf:
    """The allowed rounding error of a kernel value: some units per term, times the formula's derivative."""
    d, gamma = len(x), mpf(kernel.gamma)
    terms = mpf(float(np.abs(x) @ np.abs(z))) * (1 + 1e-10)
    of_dot = (2 * d + 8) * UNIT * terms
    if kernel.kind == "linear":
        return of_dot
    argument = gamma * terms + abs(mpf(kernel.coef0))
    of_argument = (2 * d + 12) * UNIT * argument
    if kernel.kind == "polynomial":
        return 2 * kernel.degree * (of_argument + 4 * UNIT * argument) * argument ** (kernel.degree - 1)
    if kernel.kind == "sigmoid":
        return of_argument + 16 * UNIT * abs(value) + 16 * UNIT
    # From norms and a product, or from differences: never worse than the former.
    size = mpf(float(x @ x + z @ z)) if kernel.kind == "rbf" else mpf(float(np.abs(x - z).sum()))
    of_exponent = (4 * d + 16) * UNIT * gamma * size * 2
    return 16 * UNIT * value + (mpmath.expm1(of_exponent)) * value
