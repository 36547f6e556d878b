"""approximate: exact for polynomial kernels, the paper's form for rbf, and a correct report."""

import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
from approximations import approximate
from rbf_models import rbf_model
from read_fixtures import exact as read_model
from read_fixtures import rows as read_rows

from svmfast.errors import MemoryLimitError, UnsupportedError
from svmfast.rows import Rows


def given(name):
    """A model of the fixtures, and test rows."""
    first = name.split("_")[0]
    return read_model(name), read_rows({"iris": "iris_extra"}.get(first, first) + ".test")[0]


@pytest.mark.parametrize(
    "name",
    [
        *("breast_c_linear", "breast_c_poly1", "breast_c_poly2", "breast_c_poly3_prob", "digits_c_poly2"),
        *("diabetes_eps_linear", "diabetes_eps_poly2", "diabetes_nu_poly3", "iris_c_poly3", "iris_c_linear"),
        *("normal_one_linear", "normal_one_poly2", "onehot_c_poly2", "wine_nu_poly2_prob"),
    ],
)
def test_polynomial_kernels_collapse_exactly(name):
    exact, z = given(name)
    made, report = approximate(exact, threads=2)
    assert (report.exact, report.order, made.gamma) == (True, exact.kernel.degree or 1, 0.0)
    expected = exact.decision_values(z)
    assert made.decision_values(z) == pytest.approx(expected, rel=1e-9, abs=1e-9 * np.abs(expected).max())
    if not exact.head.is_regression:
        assert np.array_equal(made.head.predict(made.decision_values(z)), exact.head.predict(expected))
    assert made.inside_bound(z).all()


@pytest.mark.parametrize(
    "name",
    [
        *("breast_c_rbf", "diabetes_eps_rbf_prob", "digits_nu_rbf", "iris_c_rbf_prob", "normal_one_rbf_prob"),
        *("onehot_c_rbf", "single_class"),
    ],
)
@pytest.mark.parametrize("center", ["mean", "origin"])
def test_rising_orders_converge(name, center):
    exact, z = given(name)
    expected, errors = exact.decision_values(z), []
    for order in (0, 1, 2, 3) if len(np.unique(exact.sv.indices)) > 40 else (0, 2, 4, 6):
        made, report = approximate(exact, order=order, center=center)
        assert made.head is exact.head
        assert report.order == (order if exact.head.n_functions else 0)
        assert (report.center, report.exact) == (center, False)
        errors.append(np.abs(made.decision_values(z) - expected).mean() if expected.size else 0.0)
    assert all(later <= earlier for earlier, later in pairwise(errors))
    assert errors[-1] <= 0.2 * errors[0] or not expected.size


def test_auto_takes_the_center_with_the_smaller_error_and_bound():
    exact, z = given("breast_c_rbf")
    bound, error = {}, {}
    for center in ("mean", "origin", "auto"):
        made, report = approximate(exact, order=2, center=center)
        values, bounds = made.certified_values(z)
        bound[center], error[center] = bounds.mean(), np.abs(values - exact.decision_values(z)).mean()
    for found in (bound, error):
        assert found["auto"] == found[report.center] == min(found.values())


def test_limits_are_checked_before_any_work():
    digits = read_model("digits_nu_rbf")
    with pytest.raises(MemoryLimitError, match=r"order 9 in 59 variables needs .* lower `order`"):
        approximate(digits, order=9)
    with pytest.raises(MemoryLimitError, match=r"stored densely, needs"):
        approximate(digits, order=0, center="mean", memory=1000)


@pytest.mark.parametrize("choices", [{}, {"cells": 3}, {"cells": "auto"}])
def test_models_too_large_are_refused_before_dense_storage(choices):
    # 1,000 vectors of 20,000 features: 160 MB densely, within the limit; order 2 needs 1.6 GB a polynomial.
    sv = Rows(np.arange(0, 20_001, 20), np.arange(20_000, dtype=np.int32), np.ones(20_000), 20_000)
    wide = rbf_model(sv, np.ones(1000), 0.1, first=500)
    tracemalloc.start()
    try:
        with pytest.raises(MemoryLimitError):
            approximate(wide, memory=1 << 30, **choices)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4 << 20


def test_numbers_out_of_range():
    two = [[1.0, 0.5], [0.25, 1.0]]
    with pytest.raises(UnsupportedError, match="coefficients exceed the range of floating point"):
        approximate(rbf_model(two, [1e308, -1e308], 0.5))
    # An extreme gamma gives finite values and no certificate.
    fast, _ = approximate(rbf_model(two, [1.0, -1.0], 1e300), order=2)
    values = fast.decision_values(Rows.from_dense([[1.0, 0.5], [0.3, 0.3], [0.0, 0.0], [1e200, 0.0]]))
    assert np.isfinite(values).all()
    assert not fast.has_error_bound
