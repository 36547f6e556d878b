"""The paper's validity bound against its own statement: every term's relative error below 3.05 %."""

import math
from fractions import Fraction

import numpy as np
import pytest

from svmfast.errors import OptionError
from svmfast.rows import Rows
from svmfast.validity_bound import centered_squared_norms, gamma_max, inside_bound, largest_exponent


def test_gamma_max_of_adult() -> None:
    # Every row of Adult has at most 14 ones; the paper states 0.018.
    assert gamma_max(14) == pytest.approx(1 / 56)
    assert round(gamma_max(14), 4) == 0.0179


def test_gamma_max_of_model_and_data() -> None:
    assert gamma_max(4.0, 9.0) == pytest.approx(1 / 24)
    assert gamma_max(0.0) == math.inf
    with pytest.raises(OptionError):
        gamma_max(-1.0)
    with pytest.raises(OptionError, match="must not be negative"):
        gamma_max(1.0, -1.0)


def test_inside_means_every_term_is_within_three_percent() -> None:
    rng = np.random.default_rng(1)
    gamma, x = 0.3, rng.normal(size=(200, 4))
    z = rng.normal(size=(300, 4)) * rng.uniform(0, 1, size=(300, 1))
    inside = inside_bound(gamma, float((x * x).sum(axis=1).max()), (z * z).sum(axis=1))
    assert 0 < inside.sum() < len(z)
    t = 2 * gamma * z @ x.T
    error = np.abs(1 - (1 + t + t * t / 2) / np.exp(t)).max(axis=1)
    assert error[inside].max() < 0.0306
    assert np.array_equal(
        inside, (np.abs(2 * gamma) * np.sqrt((z * z).sum(axis=1) * (x * x).sum(axis=1).max())) < 0.5
    )


def test_centered_norms() -> None:
    rng = np.random.default_rng(2)
    dense = rng.normal(size=(50, 7)) * (rng.uniform(size=(50, 7)) < 0.4)
    dense[3] = 0
    center = rng.normal(size=5)
    full = np.concatenate([center, np.zeros(2)])
    expected = ((dense - full) ** 2).sum(axis=1)
    assert centered_squared_norms(Rows.from_dense(dense), center) == pytest.approx(expected, rel=1e-13)


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


def test_the_second_order_is_the_papers() -> None:
    assert largest_exponent(2) == 0.5
    assert largest_exponent(0) == pytest.approx(math.log(math.exp(0.5) * 5 / 8), rel=1e-12)
    with pytest.raises(OptionError, match="order -1 is negative"):
        largest_exponent(-1)
