"""The paper's validity bound, and the certificate where numbers leave the range of doubles."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from approximations import approximate

from svmfast.errors import OptionError
from svmfast.kernels import Kernel
from svmfast.models.expansion import KernelExpansion
from svmfast.models.head import Head
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


@pytest.mark.parametrize("vector", [1e9, 1e10, 1e11])
def test_shortened_coefficients_of_order_16(vector: float) -> None:
    """The change by shortening is counted although its squares are below the smallest double."""
    norms = symmetric_norms(np.concatenate([[1.0], vector ** -np.arange(1.0, 17.0) * 1e-9]), 1, 16)
    assert norms[16] == pytest.approx(vector**-16.0 * 1e-9, rel=1e-12, abs=0)


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
    head, vectors = Head("c_svc", np.array([1, -1])), Rows.from_dense([[vector], [-vector]])
    coef, sizes = np.array([[1.0, -0.5]]) * size, np.array([1, 1])
    model = KernelExpansion(head, kernel, vectors, coef, np.array([0.1 * size]), sizes)
    assert not approximate(model, order=0)[0].has_error_bound
