"""The certificate where squares and powers leave the range of doubles, against 50 digits."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from approximations import approximate
from certificate_search import search

from svmfast.kernels import Kernel
from svmfast.models.expansion import KernelExpansion
from svmfast.models.head import Head
from svmfast.models.polynomial import PolynomialModel
from svmfast.monomials import symmetric_norms
from svmfast.rows import Rows

mpmath.mp.dps = 50
mpf = mpmath.mpf


def two_vectors(
    kernel: Kernel, vectors: list[float], coefficients: list[float], rho: float
) -> KernelExpansion:
    return KernelExpansion(
        head=Head("c_svc", np.array([1, -1])),
        kernel=kernel,
        sv=Rows.from_dense(np.array(vectors)[:, None]),
        sv_coef=np.array([coefficients]),
        rho=np.array([rho]),
        nr_sv=np.array([1, 1]),
    )


def exactly(model: KernelExpansion, z: float) -> mpmath.mpf:
    kernel, total = model.kernel, -mpf(float(model.rho[0]))
    for x, beta in zip(model.sv.to_dense(1)[:, 0], model.sv_coef[0], strict=True):
        x, beta = mpf(float(x)), mpf(float(beta))
        if kernel.kind == "rbf":
            total += beta * mpmath.exp(-mpf(kernel.gamma) * (x - mpf(z)) ** 2)
        else:
            total += beta * (mpf(kernel.gamma) * x * mpf(z) + mpf(kernel.coef0)) ** kernel.degree
    return total


def assert_holds(model: KernelExpansion, made: PolynomialModel, z: float) -> None:
    decisions, bounds = made.certified_values(Rows.from_dense(np.array([[z]])))
    true = exactly(model, z)
    assert abs(mpf(float(decisions[0, 0])) - true) <= mpf(float(bounds[0, 0]))
    if abs(decisions[0, 0]) > bounds[0, 0]:
        assert (decisions[0, 0] > 0) == (true > 0)


@pytest.mark.parametrize("order", range(17))
@pytest.mark.parametrize("center", ["mean", "origin"])
@pytest.mark.parametrize("vector", [1.2574334296829353e18, 1.9e11, 1e-8, 1e140])
def test_gaussian_of_huge_or_tiny_features(order: int, center: str, vector: float) -> None:
    """At 1.3e18 coefficients of degree 9 and above lie below 1e-154, and their squares vanish."""
    gamma = 3.1622776601683793e-37 * (1.2574334296829353e18 / vector) ** 2
    z = 0.7 * vector
    for rho in (0.8381244031730092, 0.3):
        model = two_vectors(Kernel("rbf", gamma), [vector, -vector], [1.0, -0.5], rho)
        # rho such that the exact value is as near to 0 as doubles allow: the label depends on every digit.
        rho = float(exactly(model, z) + mpf(rho))
        model = two_vectors(Kernel("rbf", gamma), [vector, -vector], [1.0, -0.5], rho)
        made, _ = approximate(model, order=order, center=center, force=True)
        if made.has_error_bound:
            assert_holds(model, made, z)
            assert_holds(model, made, 2.1 * z)


def test_the_gaussian_that_was_certified_with_a_wrong_label() -> None:
    vector = 1.2574334296829353e18
    kernel = Kernel("rbf", 3.1622776601683793e-37)
    model = two_vectors(kernel, [vector, -vector], [1.0, -0.5], 0.8381244031730092)
    made, _ = approximate(model, order=11, center="origin")
    assert made.has_error_bound
    assert_holds(model, made, 880203400778054700.0)


@pytest.mark.parametrize("vector", [1e9, 1e10, 1e11])
def test_shortened_coefficients_of_order_16(vector: float) -> None:
    """The change by shortening is counted although its squares are below the smallest double."""
    norms = symmetric_norms(np.concatenate([[1.0], vector ** -np.arange(1.0, 17.0) * 1e-9]), 1, 16)
    assert norms[16] == pytest.approx(vector**-16.0 * 1e-9, rel=1e-12, abs=0)


@pytest.mark.parametrize(
    ("gamma", "degree", "vector"),
    [(1e-170, 2, 1e85), (1e-20, 16, 1e10), (1e16, 16, 1e-8), (1e-300, 3, 1e149), (1e120, 2, 1e-60)],
)
@pytest.mark.parametrize("coef0", [1.0, 0.0, -0.3])
def test_polynomial_of_huge_or_tiny_features(gamma: float, degree: int, vector: float, coef0: float) -> None:
    """gamma^2 is 0 at 1e-170, and the kernel is not: the expansion and its bound are those of the kernel."""
    kernel, vectors = Kernel("polynomial", gamma, coef0, degree), [vector, -vector]
    for row in (vector, 0.3 * vector, -2 * vector):
        for rho in (3.75, float(exactly(two_vectors(kernel, vectors, [1.0, -0.5], 0.0), row))):
            model = two_vectors(kernel, vectors, [1.0, -0.5], rho)
            made, _ = approximate(model)
            if made.has_error_bound:
                assert_holds(model, made, row)


def test_the_polynomial_that_was_certified_with_a_wrong_label() -> None:
    model = two_vectors(Kernel("polynomial", 1e-170, 1.0, 2), [1e85, -1e85], [1.0, -0.5], 3.75)
    made, _ = approximate(model)
    decisions, bounds = made.certified_values(Rows.from_dense(np.array([[1e85]])))
    assert decisions[0, 0] == pytest.approx(0.25)
    assert bounds[0, 0] < 1e-10


@pytest.mark.parametrize(
    "kernel",
    [Kernel("rbf", 1e-285), Kernel("rbf", 1e285), Kernel("polynomial", 1e160, 1.0, 2)],
)
def test_no_certificate_beyond_the_limits(kernel: Kernel) -> None:
    vector = 1e-140 if kernel.gamma > 1 else 1e140
    model = two_vectors(kernel, [vector, -vector], [1.0, -0.5], 0.1)
    made, _ = approximate(model, order=0)
    assert not made.has_error_bound


def test_no_certificate_where_coefficients_nearly_vanish() -> None:
    model = two_vectors(Kernel("rbf", 0.5), [1.0, -1.0], [1e-150, -0.5e-150], 0.0)
    assert not approximate(model)[0].has_error_bound


@pytest.mark.parametrize("models", [400, pytest.param(20_000, marks=pytest.mark.nightly)])
def test_a_search_of_extreme_models_finds_no_violation(models: int) -> None:
    count, wrong = search(models, seed=3)
    assert not wrong
    assert count["models with a certificate"] > 0.375 * models
    assert count["certified"] > 2.5 * models
