"""Sums that leave the range of doubles, or underflow, prove nothing: every tier, every instruction set."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from fifty_digits import kernel_values, mpf
from instruction_sets import ISAS, printed_on

from svmfast.certificate import proven_signs
from svmfast.kernels import DecisionEngine, Kernel
from svmfast.models.certified import certified_rows, label_margins
from svmfast.models.head import Head
from svmfast.rows import Rows

INF, NAN = np.inf, np.nan
TWO, THREE = np.array([1, -1]), np.array([1, 2, 3])
HEADS = {
    "two classes": Head("c_svc", TWO),
    "vote": Head("c_svc", THREE),
    "one class": Head("one_class"),
    "one against the rest": Head("c_svc", THREE, one_vs_rest=True),
    "regression": Head("epsilon_svr"),
}


@pytest.mark.parametrize(("value", "bound"), [(INF, 1e-9), (-INF, 1e-9), (NAN, 1e-9), (9.0, INF), (9.0, NAN)])
@pytest.mark.parametrize("name", HEADS)
def test_a_value_or_bound_that_is_not_finite_certifies_nothing(name: str, value: float, bound: float) -> None:
    head = HEADS[name]
    values, bounds = np.array([9.0, 8.0, 7.0])[None, : head.n_functions], np.full((1, head.n_functions), 1e-9)
    tolerance = 1.0 if head.is_regression else None
    assert certified_rows(head, values, bounds, tolerance=tolerance).all()
    values[0, 0], bounds[0, 0] = value, bound
    assert not certified_rows(head, values, bounds, tolerance=tolerance).any()
    assert not proven_signs(values, bounds)[0, 0]
    if not (head.is_regression or np.isfinite(value)):
        assert label_margins(head, values).tolist() == [0.0]


def check_one_hot_scales(seed: int) -> None:
    """Compare with 50 digits and with LIBSVM's order: coefficients of 1e-300 to 1e300, exponents to 2000."""
    rng = np.random.default_rng(seed)
    for _ in range(25):
        k, d, n = int(rng.integers(1, 40)), 60, 12
        sv = np.array([rng.permutation(d) < k for _ in range(n)], dtype=float) * rng.choice([1.0, -0.5, 1e-8])
        value = sv.max() or sv.min()
        test = np.vstack([sv[:3], np.where(rng.random((5, d)) < k / d, value, 0.0)])
        test = np.hstack([test, value * (rng.random((len(test), 2)) < 0.5)])  # columns the model lacks
        kernel = Kernel("rbf", rng.choice([0.1, 10.0, 150.0, 290.0, 310.0, 2000.0]) / k / value**2)
        coef = 10.0 ** rng.integers(-300, 299) * rng.choice([1.0, 1e-8, 1e-150], n) * rng.normal(size=n)
        if rng.random() < 0.5:
            coef = np.abs(coef) * np.where(np.arange(n) < 6, 1, -1)
        exact = [kernel_values(kernel, np.hstack([sv, np.zeros((n, 2))]), z) for z in test]
        sums = [mpmath.fsum(mpf(float(c)) * one for c, one in zip(coef, row, strict=True)) for row in exact]
        for rho in (0.0, float(sums[0]), float(sums[1]) * (1 + 1e-14), float(sums[4]) * (1 - 1e-3)):
            vectors, rows = Rows.from_dense(sv), Rows.from_dense(test)
            engine = DecisionEngine(kernel, vectors, coef[None], np.array([rho]), np.array([6, 6]))
            theirs = engine.decision_values(rows, libsvm_order=True)[:, 0]
            assert engine.labels(rows)[0].tolist() == np.where(theirs > 0, 0, 1).tolist()
            values, bounds = (found[:, 0] for found in engine.double_values(rows))
            for value, bound, their, true in zip(values, bounds, theirs, sums, strict=True):
                assert abs(value - their) <= bound
                assert not bound or abs(mpf(float(value)) - (true - mpf(rho))) <= mpf(float(bound))


@pytest.mark.parametrize("size", [0.0, 9e-151, 1e-150, 1e150, 1.1e150])
def test_one_hot_columns_are_counted_where_no_product_leaves_the_range(size: float) -> None:
    sv, coef = Rows.from_dense(np.eye(3)), np.array([[1.0, -1.0, -size]])
    engine = DecisionEngine(Kernel("rbf", 1.0), sv, coef, np.zeros(1), np.array([1, 2]))
    assert engine.one_hot == (size in (0.0, 1e-150, 1e150))


def check_overflowing_sums() -> None:
    """LIBSVM's order stays in range, where lanes that sum every eighth vector do not."""
    coef = np.zeros((1, 32))
    coef[0, [0, 1, 16]] = 1.5e300, -1.5e300, 1.5e300
    kernel, sv = Kernel("polynomial", 1.0, degree=2), Rows.from_dense(np.full((32, 1), 100.0))
    engine = DecisionEngine(kernel, sv, coef, np.array([1.7e308]), np.array([17, 15]))
    rows = Rows.from_dense([[100.0]])
    assert engine.decision_values(rows, libsvm_order=True) == pytest.approx(-2e307)
    assert engine.labels(rows)[0].tolist() == [1]
    assert engine.double_values(rows)[1].tolist() == [[0.0]]


def check_equal_vectors(scale: float) -> None:
    """Differences from the center are 0, and the scale of single precision's rows was infinite."""
    coef = np.array([[1.0, 1.0, -2.0, -3.0], [1.0, 1.0, 1.0, -2.0]])
    sizes, vectors = np.array([2, 1, 1]), Rows.from_dense(np.full((4, 1), scale))
    engine = DecisionEngine(Kernel("rbf", scale**-2), vectors, coef, np.full(3, 0.01), sizes)
    rows = Rows.from_dense(scale * np.array([[2.0], [1.5], [1.0]]))
    values, bounds = engine.single_values(rows)
    theirs = engine.decision_values(rows, libsvm_order=True)
    assert (proven_signs(values, bounds) <= (np.abs(values - theirs) <= bounds)).all()


def test_every_tier_on_the_best_instruction_set() -> None:
    check_one_hot_scales(1)
    check_overflowing_sums()
    for scale in (1.0, 1e-30, 1e-48, 1e-70):
        check_equal_vectors(scale)


SAMPLE = """
import test_out_of_range as t
from svmfast import _core
t.test_every_tier_on_the_best_instruction_set()
print(_core.isa())
"""


@pytest.mark.parametrize("isa", ISAS)
def test_every_instruction_set(isa: str) -> None:
    assert printed_on(isa, SAMPLE) == []  # the sample's own checks held
