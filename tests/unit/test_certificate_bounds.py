"""The paper's validity bound, and the certificate where numbers leave the range of doubles."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from approximations import approximate
from certificate_search import search
from fifty_digits import mpf
from random_models import exact_sums

from svmfast.errors import OptionError
from svmfast.kernels import Kernel
from svmfast.models.expansion import KernelExpansion
from svmfast.models.head import Head
from svmfast.models.polynomial import PolynomialModel
from svmfast.monomials import symmetric_norms
from svmfast.rows import Rows
from svmfast.validity_bound import gamma_max, inside_bound, largest_exponent


def test_gamma_max_of_model_and_data() -> None:
    assert gamma_max(14) == pytest.approx(1 / 56)  # every row of Adult has at most 14 ones
    assert gamma_max(0.0) == math.inf
    for negative in ((-1.0,), (1.0, -1.0)):
        with pytest.raises(OptionError, match="must not be negative"):
            gamma_max(*negative)
    with pytest.raises(OptionError, match="order -1 is negative"):
        largest_exponent(-1)


def test_inside_means_every_term_is_within_three_percent() -> None:
    rng = np.random.default_rng(1)
    gamma, x = 0.3, rng.normal(size=(200, 4))
    z = rng.normal(size=(300, 4)) * rng.uniform(0, 1, size=(300, 1))
    most, norms = float((x * x).sum(axis=1).max()), (z * z).sum(axis=1)
    inside = inside_bound(gamma, most, norms)
    assert 0 < inside.sum() < len(z)
    t = 2 * gamma * z @ x.T
    error = np.abs(1 - (1 + t + t * t / 2) / np.exp(t)).max(axis=1)
    assert error[inside].max() < 0.0306
    assert np.array_equal(inside, 2 * gamma * np.sqrt(norms * most) < 0.5)


@pytest.mark.parametrize("gamma", [1e-300, 1e300, 1.7e308])
def test_an_extreme_gamma_neither_overflows_nor_vanishes(gamma: float) -> None:
    # With a zero vector, and at half and at twice the norm of the bound.
    norm = 0.25 / gamma
    norms = np.array([0.0, norm / 2, norm * 2])
    assert inside_bound(gamma, norm, norms).tolist() == [True, True, False]
    assert inside_bound(gamma, 0.0, np.array([0.0, 1.0, np.inf])).all()


@pytest.mark.parametrize("order", range(17))
def test_every_order_allows_the_error_that_the_paper_allows_the_second(order: int) -> None:
    allowed = Fraction(str(math.exp(0.5))) * Fraction(5, 8) - 1
    t = largest_exponent(order)

    def error(at: float) -> float:
        terms = sum(Fraction(-at) ** j / math.factorial(j) for j in range(order + 1))
        return abs(float(Fraction(math.exp(at)) * terms - 1))

    assert error(t) == pytest.approx(float(allowed), rel=1e-6)
    # Closer to 0, and for the other sign, the error is smaller: the condition is |t| <= T.
    assert all(error(share * t) < float(allowed) for share in (-1, -0.5, 0.3, 0.9, 0.999))
    assert gamma_max(2.0, 3.0, order=order) == pytest.approx(t / (2 * math.sqrt(6)), rel=1e-14)
    gamma = gamma_max(2.0, 3.0, order=order)
    inside = inside_bound(gamma * 0.999, 2.0, np.array([3.0, 3.01]), order=order)
    assert inside.tolist() == [True, False]


def two_vectors(kernel: Kernel, vector: float, rho: float = 0.0, size: float = 1.0) -> KernelExpansion:
    head, coef = Head("c_svc", np.array([1, -1])), np.array([[1.0, -0.5]]) * size
    vectors = Rows.from_dense([[vector], [-vector]])
    return KernelExpansion(head, kernel, vectors, coef, np.array([rho]), np.array([1, 1]))


def value(model: KernelExpansion, z: float) -> mpf:
    return exact_sums(model, np.array([[z]]))[0][0]


def assert_holds(model: KernelExpansion, made: PolynomialModel, z: float) -> None:
    decisions, bounds = made.certified_values(Rows.from_dense(np.array([[z]])))
    true = value(model, z)
    assert abs(mpf(float(decisions[0, 0])) - true) <= mpf(float(bounds[0, 0]))
    if abs(decisions[0, 0]) > bounds[0, 0]:
        assert (decisions[0, 0] > 0) == (true > 0)


@pytest.mark.parametrize("order", [0, 1, 2, 5, 9, 11, 16])
@pytest.mark.parametrize("center", ["mean", "origin"])
@pytest.mark.parametrize("vector", [1.2574334296829353e18, 1.9e11, 1e-8, 1e140])
def test_gaussian_of_huge_or_tiny_features(order: int, center: str, vector: float) -> None:
    """At 1.3e18 coefficients of degree 9 and above lie below 1e-154, and their squares vanish."""
    gamma = 3.1622776601683793e-37 * (1.2574334296829353e18 / vector) ** 2
    z = 0.7 * vector
    model = two_vectors(Kernel("rbf", gamma), vector)
    # rho such that the exact value is as near to 0 as doubles allow: the label depends on every digit.
    model = replace(model, rho=np.array([float(value(model, z))]))
    made, _ = approximate(model, order=order, center=center, force=True)
    if made.has_error_bound:
        assert_holds(model, made, z)
        assert_holds(model, made, 2.1 * z)


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
    kernel = Kernel("polynomial", gamma, coef0, degree)
    for row in (vector, 0.3 * vector, -2 * vector):
        for rho in (3.75, float(value(two_vectors(kernel, vector), row))):
            model = two_vectors(kernel, vector, rho)
            made, _ = approximate(model)
            if made.has_error_bound:
                assert_holds(model, made, row)


def test_the_polynomial_that_was_certified_with_a_wrong_label() -> None:
    made, _ = approximate(two_vectors(Kernel("polynomial", 1e-170, 1.0, 2), 1e85, 3.75))
    decisions, bounds = made.certified_values(Rows.from_dense(np.array([[1e85]])))
    assert decisions[0, 0] == pytest.approx(0.25)
    assert bounds[0, 0] < 1e-10


@pytest.mark.parametrize(
    ("kernel", "vector", "size"),
    [
        (Kernel("rbf", 1e-285), 1e140, 1.0),
        (Kernel("rbf", 1e285), 1e-140, 1.0),
        (Kernel("polynomial", 1e160, 1.0, 2), 1e-140, 1.0),
        (Kernel("rbf", 0.5), 1.0, 1e-150),  # coefficients that nearly vanish
    ],
)
def test_no_certificate_beyond_the_limits(kernel: Kernel, vector: float, size: float) -> None:
    assert not approximate(two_vectors(kernel, vector, 0.1 * size, size), order=0)[0].has_error_bound


@pytest.mark.parametrize("models", [400, pytest.param(20_000, marks=pytest.mark.nightly)])
def test_a_search_of_extreme_models_finds_no_violation(models: int) -> None:
    count, wrong = search(models, seed=3)
    assert not wrong
    assert count["models with a certificate"] > 0.375 * models
    assert count["certified"] > 2.5 * models
