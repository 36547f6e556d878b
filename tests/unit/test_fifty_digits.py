"""Formulas against 50 digits: kernels, the certificate's bound, the quadratic form about a center, merging.

The definitions are evaluated on the same doubles as the code, without any of the code's own algebra
(centring, squared norms, Horner's scheme, lookup tables).
"""

from __future__ import annotations

from itertools import combinations_with_replacement

import mpmath
import numpy as np
import pytest
from bound_twin import error_bounds
from fifty_digits import exactly, kernel_values, mpf
from hypothesis import given, settings
from hypothesis import strategies as st

from svmfast.kernels import DecisionEngine, Kernel
from svmfast.rows import FloatArray, Rows
from svmfast.solvers.taylor import gaussian_coefficients

UNIT = 2.0**-53
#: Underflow is not an error.
TINY = mpf(10) ** -290
SEED = st.integers(0, 2**31)


@pytest.mark.parametrize("kind", ["linear", "polynomial", "sigmoid", "rbf", "laplacian"])
@given(
    seed=SEED,
    d=st.integers(1, 12),
    gamma=st.floats(1e-12, 1e6),
    scale=st.floats(1e-6, 1e3),
    coef0=st.floats(-2, 2),
    degree=st.integers(1, 5),
)
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


@settings(max_examples=4 * settings.default.max_examples)
@given(
    seed=SEED,
    top=st.integers(0, 30),
    gamma=st.floats(1e-12, 1e6),
    distance=st.floats(0, 1e8),
    size=st.floats(1e-200, 1e12),
)
def test_the_bound_of_the_certificate(seed, top, gamma, distance, size) -> None:
    """Never below the theorem's R of the stored numbers, and above it only by its allowance for rounding."""
    rng = np.random.default_rng(seed)
    degrees = rng.exponential(size=top + 1) * size / 10.0 ** rng.integers(0, 12, top + 1)
    rest = rng.exponential(size=5) * size * 10.0 ** rng.integers(-15, 0, 5)
    total = float(rng.normal() * size)
    numbers = (degrees[None, None], rest[None, None], np.array([distance]), np.array([[total]]))
    found, s = error_bounds(gamma, *numbers), mpf(distance)
    r = mpmath.sqrt(s)
    wanted = mpmath.exp(-mpf(gamma) * s) * mpmath.fsum(c * r**j for j, c in enumerate(exactly(degrees)))
    of_top, constant, per_square, relative, relative_per_square = exactly(rest)
    wanted += of_top * r ** (top + 1) + constant + per_square * s
    wanted += abs(mpf(total)) * (relative + relative_per_square * s)
    if not np.isfinite(found[0, 0]):
        assert gamma * distance > 600 or wanted > mpf(10) ** 290
        return
    assert wanted <= mpf(float(found[0, 0])) <= wanted * (1 + mpf("2e-9"))


@settings(max_examples=2 * settings.default.max_examples)
@given(
    seed=SEED,
    d=st.integers(1, 5),
    order=st.integers(0, 4),
    gamma=st.floats(1e-3, 10),
    scale=st.floats(1e-2, 2),
    away=st.floats(0, 3),
)
def test_the_polynomial_about_a_center(seed, d, order, gamma, scale, away) -> None:
    """The packed coefficients, about the center and multiplied out about zero, are the truncated series."""
    rng = np.random.default_rng(seed)
    points, beta = rng.normal(size=(6, d)) * scale, rng.normal(size=6)
    center, z = rng.normal(size=d) * away * scale, rng.normal(size=d) * scale
    w = [p - m for p, m in zip(exactly(z), exactly(center), strict=True)]
    wanted = size = mpf(0)
    for point, b in zip(points, exactly(beta), strict=True):
        u = [p - m for p, m in zip(exactly(point), exactly(center), strict=True)]
        a = b * mpmath.exp(-mpf(gamma) * mpmath.fsum(p * p for p in u))
        dot = mpmath.fsum(p * q for p, q in zip(u, w, strict=True))
        wanted += a * mpmath.fsum((2 * mpf(gamma) * dot) ** m / mpmath.factorial(m) for m in range(order + 1))
        # The sum of absolute values of all terms; about zero, w and u.center are large and cancel.
        length = mpmath.sqrt(mpmath.fsum(p * p for p in u))
        most = 2 * mpf(gamma) * length * mpf(float(np.linalg.norm(z) + 2 * np.linalg.norm(center)))
        size += abs(a) * mpmath.fsum(most**m / mpmath.factorial(m) for m in range(order + 1))
    exponent = gamma * float(np.max(np.sum((points - center) ** 2, axis=1)))
    allowed = (200 + 60 * d * order + 10 * d * exponent) * UNIT * size + TINY
    for about_zero in (False, True):
        packed = exactly(gaussian_coefficients(points, beta, gamma, center, order, about_zero=about_zero))
        at, orders = exactly(z) if about_zero else w, range(order + 1)
        places = [one for m in orders for one in combinations_with_replacement(range(d), m)]
        monomials = [mpmath.fprod(at[i] for i in one) for one in places]
        found = mpmath.fsum(c * v for c, v in zip(packed, monomials, strict=True))
        assert abs(found - wanted) <= allowed, about_zero
