"""Sums in LIBSVM's order have the bits of libm's exp, though vectors compute it."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from fifty_digits import mpf
from instruction_sets import ISAS, printed_on

from svmfast.kernels import DecisionEngine, Kernel
from svmfast.rows import FloatArray, Rows


def exponentials(z: FloatArray, gamma: float = 1.0) -> FloatArray:
    """Return exp(-gamma z^2) as LIBSVM's order computes it: kernel values of a vector without entries."""
    empty, one = Rows.from_dense([[0.0]]), np.ones((1, 1))
    engine = DecisionEngine(Kernel("rbf", gamma), empty, one, np.zeros(1), None)
    rows = Rows(np.arange(len(z) + 1), np.zeros(len(z), np.int32), z, 1)
    values: FloatArray = engine.decision_values(rows, libsvm_order=True)[:, 0]
    return values


def arguments() -> list[tuple[FloatArray, float]]:
    rng = np.random.default_rng(0)
    found = [
        (np.sqrt(rng.uniform(0, top, count)), 1.0)
        for top, count in (
            (1e-15, 20_000),
            (1e-3, 100_000),
            (1.0, 300_000),
            (40.0, 200_000),
            (800.0, 100_000),
        )
    ]
    ends = np.array([0.0, 1e-200, 26.457513110645905, 26.5, 27.2, 27.3, 1e10, 1e200])
    # Negative gamma: exponents above 0, up to overflow.
    return [*found, (ends, 1.0), (np.sqrt(rng.uniform(0, 720.0, 20_000)), -1.0)]


def differing() -> int:
    """Return the number of exponentials whose bits are not libm's."""

    def libm(x: float) -> float:
        return math.exp(x) if x < 709.7 else math.inf

    count = 0
    for z, gamma in arguments():
        with np.errstate(over="ignore"):
            x = -gamma * (z * z)
        inside = x < 709.7
        expected = np.array([libm(one) for one in x[inside].tolist()])
        count += int((exponentials(z, gamma)[inside] != expected).sum())
    return count


@pytest.mark.parametrize("isa", ISAS)
def test_bits_are_those_of_libm(isa: str) -> None:
    code = "import test_libm_exp\nfrom svmfast import _core\nprint(test_libm_exp.differing(), _core.isa())"
    assert printed_on(isa, code) == ["0"]


def test_libm_rounds_as_assumed() -> None:
    """Its error is below 0.511 units in the last place; 0.529 is allowed (docs/certificate.md)."""
    worst = max(
        abs(mpf(math.exp(x)) - mpmath.exp(mpf(x))) / mpf(math.ulp(math.exp(x)))
        for x in np.random.default_rng(1).uniform(-30, 0, 20_000).tolist()
    )
    assert worst < 0.511
