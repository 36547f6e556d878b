"""approximate: exact for polynomial kernels, the paper's form for rbf; cells and their certificates."""

from itertools import pairwise

import numpy as np
import pytest
from approximations import approximate
from program import traced
from rbf_models import rbf_model
from read_fixtures import exact as read_model
from read_fixtures import rows as read_rows

from svmfast.errors import MemoryLimitError, NegativeAnswerError, UnsupportedError
from svmfast.methods.approximate import ladder
from svmfast.methods.approximate.measuring import OF_VECTORS, divided
from svmfast.methods.common.equal_rows import row_keys
from svmfast.models.expansion import Kernel, KernelExpansion
from svmfast.models.head import Head
from svmfast.rows import Rows


def known(name):
    """A model of the fixtures, and test rows."""
    first = name.split("_")[0]
    return read_model(name), read_rows({"iris": "iris_extra"}.get(first, first) + ".test")[0]


@pytest.mark.parametrize(
    "name",
    [
        *("breast_c_poly1", "breast_c_poly3_prob", "digits_c_poly2", "diabetes_eps_linear", "iris_c_linear"),
        *("diabetes_nu_poly3", "normal_one_poly2", "onehot_c_poly2", "wine_nu_poly2_prob"),
    ],
)
def test_polynomial_kernels_collapse_exactly(name):
    exact, z = known(name)
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
    exact, z = known(name)
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
    exact, z = known("breast_c_rbf")
    bound, error = {}, {}
    for center in ("mean", "origin", "auto"):
        made, report = approximate(exact, order=2, center=center)
        values, bounds = made.certified_values(z)
        bound[center], error[center] = bounds.mean(), np.abs(values - exact.decision_values(z)).mean()
    for found in (bound, error):
        assert found["auto"] == found[report.center] == min(found.values())


@pytest.mark.parametrize("choices", [{}, {"cells": 3}, {"cells": "auto"}])
def test_models_too_large_are_refused_before_dense_storage(choices):
    # 1,000 vectors of 20,000 features: 160 MB densely, within the limit; order 2 needs 1.6 GB a polynomial.
    sv = Rows(np.arange(0, 20_001, 20), np.arange(20_000, dtype=np.int32), np.ones(20_000), 20_000)
    wide = rbf_model(sv, np.ones(1000), 0.1, first=500)

    def refused():
        with pytest.raises(MemoryLimitError):
            approximate(wide, memory=1 << 30, **choices)

    assert traced(refused)[1] < 4 << 20


def test_numbers_out_of_range():
    two = [[1.0, 0.5], [0.25, 1.0]]
    with pytest.raises(UnsupportedError, match="coefficients exceed the range of floating point"):
        approximate(rbf_model(two, [1e308, -1e308], 0.5))
    # An extreme gamma gives finite values and no certificate.
    fast, _ = approximate(rbf_model(two, [1.0, -1.0], 1e300), order=2)
    values = fast.decision_values(Rows.from_dense([[1.0, 0.5], [0.3, 0.3], [0.0, 0.0], [1e200, 0.0]]))
    assert np.isfinite(values).all()
    assert not fast.has_error_bound


# --- cells ---


def clustered(m=600):
    """A smooth function on distant clusters, and similar rows: one center does not suffice."""
    rng = np.random.default_rng(0)
    middles = rng.uniform(-3, 3, size=(12, 3))
    x = middles[rng.integers(0, 12, 400)] + 0.1 * rng.normal(size=(400, 3))
    coef = np.sign(np.sin(middles[:, 0] * 2))[np.argmin(((x[:, None] - middles) ** 2).sum(2), axis=1)]
    rows = middles[rng.integers(0, 12, m)] + 0.1 * rng.normal(size=(m, 3))
    return rbf_model(x, coef / 10, 3.0, first=200, rho=0.01), Rows.from_dense(rows)


@pytest.mark.parametrize("kernel", [Kernel("rbf", 0.5), Kernel("polynomial", 0.5, 1.0, 2), Kernel("linear")])
def test_vectors_without_entries_are_a_constant(kernel):
    sv, head = Rows.from_dense(np.zeros((2, 3))), Head("c_svc", np.array([1, -1]))
    model = KernelExpansion(head, kernel, sv, np.array([[2.0, -0.5]]), np.array([0.25]), np.array([1, 1]))
    made, _ = approximate(model, order=2, force=True)
    np.testing.assert_array_equal(made.decision_values(sv), model.decision_values(sv))


def test_columns_that_the_model_lacks_count_in_the_validity_bound():
    made, _ = approximate(read_model("photos_c_rbf"))
    given = read_rows("photos.test")[0].to_dense(15)[:200]
    inside = made.inside_bound(Rows.from_dense(given))
    for beyond, expected in ((1e-9, inside), (1e9, np.zeros(200, bool))):
        wider = np.hstack([given, np.full((200, 3), beyond)])
        np.testing.assert_array_equal(made.inside_bound(Rows.from_dense(wider)), expected)
    assert inside.mean() > 0


def test_auto_takes_the_expansion_of_least_work():
    exact, rows = clustered(m=1400)
    one, many = (approximate(exact, order=2, cells=cells, data=rows, force=True)[1] for cells in (1, 64))
    assert one.certified_percent < 1
    assert many.certified_percent > 99
    made, report = approximate(exact, order=2, cells="auto", data=rows)
    assert report.cells > 1
    assert report.certified_percent == pytest.approx(many.certified_percent, abs=1)
    assert report.measured_on == "data"
    assert (made.orders == 2).all()
    smooth, (rows, _) = read_model("breast_c_rbf"), read_rows("breast.train")
    found = [approximate(smooth, order=k, data=rows, force=True)[1] for k in range(1, 5)]
    work = [one.operations + (1 - one.certified_percent / 100) * one.operations_before for one in found]
    _, report = approximate(smooth, order="auto", data=rows, force=True)
    assert work[report.order - 1] <= min(work) / ladder.MOST_WORK
    # Order 3 would need 0.83 of the work of order 2, which is not worth it.
    iris, (rows, _) = read_model("iris_c_rbf_prob"), read_rows("iris.train")
    assert approximate(iris, order="auto", data=rows, force=True)[1].order == 2


def test_an_expansion_that_costs_as_much_as_the_exact_model_is_refused():
    """Of 4 vectors with 8 features, while order 2 has 45 coefficients."""
    rng = np.random.default_rng(0)
    exact = rbf_model(rng.normal(size=(4, 8)), [1, 1, -1, -1], 0.3, first=2)
    options = {"order": "auto", "data": Rows.from_dense(rng.normal(size=(900, 8))), "max_diff": 0.15}
    work = [approximate(exact, data=options["data"], order=k, force=True)[1].operations for k in (1, 2)]
    most = 0.75 * exact.multiply_adds(options["data"])
    reason = f"order 2: {work[1]:.0f} multiply-adds, more than {most:.0f}"
    with pytest.raises(NegativeAnswerError, match=reason):
        approximate(exact, **options)
    assert approximate(exact, **options, force=True)[1].order == 1
    assert work[0] < most


@pytest.mark.parametrize(("most", "m", "some"), [(20, 1400, True), (0.1, 1400, False), (20, 1200, False)])
def test_a_rung_is_left_out_if_it_is_too_large_or_has_too_few_rows(most, m, some, monkeypatch):
    exact, rows = clustered(m=1400)
    monkeypatch.setattr(ladder, "MOST_NUMBERS", most)
    _, report = approximate(exact, order=2, cells="auto", data=rows[:m], force=True)
    assert (report.cells > 1) == some


def test_a_model_above_max_bytes_is_refused_with_its_size():
    exact, rows = clustered()
    size = {"stored_size": lambda made: 4000, "data": rows, "order": 3}
    compressed = {**size, "stored_size": lambda made: 39, "compressed": True}
    for most, how in ((4000, size), (39, compressed)):
        assert approximate(exact, max_bytes=most, **how)[0].order == 3
    for most, why in ((3999, "takes 4,000 bytes, more than 3,999"), (159, "20 numbers do not fit into 159")):
        with pytest.raises(NegativeAnswerError, match=rf"small enough \(order 3: {why}"):
            approximate(exact, max_bytes=most, **size)


def test_without_data_the_support_vectors_are_the_sample():
    exact, _ = clustered()
    who = divided(exact, None, centers=True, chooses=True)
    assert who.choosing.source == who.held_out.source == OF_VECTORS
    keys = [set(row_keys(part)) for part in (who.centers, who.choosing.rows, who.held_out.rows)]
    assert set.union(*keys) == set(row_keys(exact.sv))
    assert [len(part) for part in keys] == [200, 100, 100]


@pytest.mark.parametrize(
    ("centers", "chooses", "sizes"),
    [(True, True, (46, 22, 22)), (True, False, (68, 0, 22)), (False, True, (0, 68, 22))],
)
def test_no_row_serves_two_purposes(centers, chooses, sizes):
    exact, rows = clustered()
    few = rows[:90]
    twice = Rows.concatenate([few, few.take(np.arange(89, -1, -1))])
    who = divided(exact, twice, centers=centers, chooses=chooses, seed=3)
    given = (who.centers, who.choosing.rows, who.held_out.rows)
    keys = [set(row_keys(part)) for part in given]
    assert len(set.union(*keys)) == 90
    assert tuple(len(part) for part in keys) == sizes
    assert [len(part) for part in given] == [2 * size for size in sizes]
    # If nothing is chosen, all rows measure.
    assert len(divided(exact, twice, centers=False, chooses=False).held_out) == 180
    tiny = divided(exact, few[:5], centers=True, chooses=True)
    assert (len(tiny.centers), tiny.held_out.source) == (5, OF_VECTORS)
