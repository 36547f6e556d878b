"""Cells and orders: certified labels, and refusal if the exact model is better."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from approximations import approximate
from command import svmfast
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from program import data, model
from random_models import random_model

from svmfast.errors import NegativeAnswerError
from svmfast.formats.model_files import load_model
from svmfast.formats.svmlight import read_svmlight
from svmfast.kernels import Kernel
from svmfast.methods.approximate import ladder
from svmfast.methods.approximate.row_parts import OF_VECTORS, divided
from svmfast.methods.common.equal_rows import row_keys
from svmfast.models.certified import certified_rows
from svmfast.models.expansion import KernelExpansion
from svmfast.models.head import Head
from svmfast.rows import Rows
from svmfast.solvers.residual import residual_tail


def clustered(
    seed: int = 0, gamma: float = 3.0, n: int = 400, d: int = 3, m: int = 600
) -> tuple[KernelExpansion, Rows]:
    """A smooth function on distant clusters, and similar rows: one center does not suffice."""
    rng = np.random.default_rng(seed)
    middles = rng.uniform(-3, 3, size=(12, d))
    x = middles[rng.integers(0, 12, n)] + 0.1 * rng.normal(size=(n, d))
    coef = np.sign(np.sin(middles[:, 0] * 2))[np.argmin(((x[:, None] - middles) ** 2).sum(2), axis=1)]
    rows = middles[rng.integers(0, 12, m)] + 0.1 * rng.normal(size=(m, d))
    made = KernelExpansion(
        head=Head("c_svc", np.array([0, 1])),
        kernel=Kernel("rbf", gamma),
        sv=Rows.from_dense(x),
        sv_coef=coef[None, :] / 10,
        rho=np.array([0.01]),
        nr_sv=np.array([n // 2, n - n // 2]),
    )
    return made, Rows.from_dense(rows)


@given(
    seed=st.integers(0, 2**32 - 1),
    gamma=st.floats(1e-3, 5),
    cells=st.integers(1, 7),
    order=st.sampled_from([0, 1, 2, 3, "auto"]),
    classes=st.integers(2, 4),
)
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_no_error_exceeds_its_bound(
    seed: int, gamma: float, cells: int, order: int | str, classes: int
) -> None:
    exact = random_model(seed, 15, 4, classes, gamma, 1.0, 2.0)
    made, _ = approximate(exact, order=order, cells=cells, force=True)
    rng = np.random.default_rng(seed)
    rows = Rows.from_dense(rng.normal(size=(60, 4)) * rng.choice([0.3, 1, 4], size=(60, 1)))
    values, bounds = made.certified_values(rows)
    truth = exact.decision_values(rows)
    assert (np.abs(values - truth) <= bounds).all()
    certified = certified_rows(made.head, values, bounds)
    assert (made.head.predict(values)[certified] == made.head.predict(truth)[certified]).all()


def test_cells_certify_where_one_expansion_cannot() -> None:
    exact, rows = clustered()
    shares = [
        approximate(exact, order=2, cells=cells, data=rows)[1].certified_percent for cells in (1, 4, 12)
    ]
    assert shares[0] == 0
    assert shares[0] < shares[1] < shares[2]
    assert shares[2] > 99


def test_auto_takes_the_expansion_of_least_work() -> None:
    exact, rows = clustered(m=1400)
    one, many = (approximate(exact, order=2, cells=cells, data=rows, force=True)[1] for cells in (1, 64))
    assert one.certified_percent < 1
    assert many.certified_percent > 99
    made, report = approximate(exact, order=2, cells="auto", data=rows)
    assert report.cells > 1
    assert report.certified_percent == pytest.approx(many.certified_percent, abs=1)
    assert report.measured_on == "data"
    assert (made.orders == 2).all()
    smooth = load_model(str(model("breast_c_rbf")))
    rows = read_svmlight(str(data("breast.train"))).rows
    found = [approximate(smooth, order=k, data=rows, force=True)[1] for k in range(1, 5)]
    work = [one.operations + (1 - one.certified_percent / 100) * one.operations_before for one in found]
    _, report = approximate(smooth, order="auto", data=rows, force=True)
    assert work[report.order - 1] <= min(work) / ladder.MOST_WORK


def test_a_rung_is_left_out_if_it_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    exact, rows = clustered(m=1400)
    assert approximate(exact, order=2, cells="auto", data=rows, force=True)[1].cells > 1
    monkeypatch.setattr(ladder, "MOST_NUMBERS", 0.1)
    assert approximate(exact, order=2, cells="auto", data=rows, force=True)[1].cells == 1
    monkeypatch.setattr(ladder, "MOST_NUMBERS", 20)
    # Too few rows for 64 centers.
    assert approximate(exact, order=2, cells="auto", data=rows[:1200], force=True)[1].cells == 1


def test_a_model_above_max_bytes_is_refused_with_its_size() -> None:
    exact, rows = clustered()
    size = {"stored_size": lambda made: 4000, "data": rows, "order": 3}
    assert approximate(exact, max_bytes=4000, **size)[0].order == 3
    message = r"small enough \(order 3: takes 4,000 bytes, more than 3,999\)"
    with pytest.raises(NegativeAnswerError, match=message):
        approximate(exact, max_bytes=3999, **size)
    with pytest.raises(NegativeAnswerError, match="order 3: 20 numbers do not fit into 159 bytes"):
        approximate(exact, max_bytes=159, **size)
    compressed = {**size, "stored_size": lambda made: 39, "compressed": True}
    assert approximate(exact, max_bytes=39, **compressed)[0].order == 3


@pytest.mark.parametrize("order", [0, 1, 2, 5, 9])
def test_the_bound_of_a_single_vector_is_sharp_in_every_degree(order: int) -> None:
    # Along one vector Cauchy-Schwarz is an equality: degree j is |a| (2 gamma |x|)^j / j!.
    gamma, x, beta = 0.7, 1.3, -2.0
    found = residual_tail(np.array([[x]]), np.array([beta]), gamma, np.zeros(1), order, top=16)
    for j in range(17):
        size = abs(beta) * math.exp(-gamma * x * x) * (2 * gamma * x) ** j / math.factorial(j)
        assert found.degrees[j] == (0 if j <= order else pytest.approx(size, rel=1e-6))
        assert found.degrees[j] >= (0 if j <= order else size)


@pytest.mark.parametrize(("order", "cells"), [(2, 1), (2, 2), (9, 1)])
def test_bounds_do_not_depend_on_the_unit_of_the_data(order: int, cells: int) -> None:
    points = np.array([[-8.0], [-0.5], [0.5], [8.0]])
    rows = np.linspace(-9, 9, 61)[:, None]
    found = []
    for unit in (1.0, 1e3, 1e6, 1e8):
        exact = KernelExpansion(
            Head("c_svc", np.array([0, 1])),
            Kernel("rbf", 0.5 / unit**2),
            Rows.from_dense(points * unit),
            np.array([[1.0, 2.0, -1.5, -1.0]]),
            np.array([0.1]),
            np.array([2, 2]),
        )
        scaled = Rows.from_dense(rows * unit)
        made, _ = approximate(exact, order=order, cells=cells, center="mean")
        values, bounds = made.certified_values(scaled)
        assert (np.abs(values - exact.decision_values(scaled)) <= bounds).all()
        found.append(bounds)
    for other in found[1:-1]:
        np.testing.assert_allclose(other, found[0], rtol=1e-3, atol=1e-9)
    # With the largest unit, powers of the distance reach the end of the range, and the bound grows.
    assert (found[-1] >= found[0] * (1 - 1e-3) - 1e-9).all()


@given(seed=st.integers(0, 2**32 - 1), gamma=st.floats(0.01, 3), negligible=st.floats(0, 10))
def test_tails_agree_however_they_are_computed(seed: int, gamma: float, negligible: float) -> None:
    rng = np.random.default_rng(seed)
    x, beta, center = rng.normal(size=(40, 3)), rng.normal(size=40), rng.normal(size=3)
    for order in (0, 2, 5):
        direct = residual_tail(x, beta, gamma, center, order, top=12)
        apart = residual_tail(x, beta, gamma, center, order, top=12, reach=0.5, negligible=negligible)
        assert (apart.degrees >= direct.degrees * (1 - 1e-6)).all()
        none = residual_tail(x, beta, gamma, center, order, top=12, reach=0.5, negligible=0.0)
        assert np.array_equal(none.degrees, direct.degrees), "every term counts"


def test_without_data_the_support_vectors_are_the_sample() -> None:
    exact, _ = clustered()
    who = divided(exact, None, centers=True, chooses=True)
    assert who.choosing.source == who.held_out.source == OF_VECTORS
    given = (who.centers, who.choosing.rows, who.held_out.rows)
    parts = [{row.tobytes() for row in rows.to_dense(3)} for rows in given]
    assert sum(map(len, parts)) == len(set.union(*parts))
    assert set.union(*parts) == {row.tobytes() for row in exact.sv.to_dense(3)}
    assert [len(part) for part in parts] == pytest.approx(
        [len(exact.sv) * s for s in (0.5, 0.25, 0.25)], abs=1
    )


@pytest.mark.parametrize(
    ("centers", "chooses", "sizes"),
    [(True, True, (46, 22, 22)), (True, False, (68, 0, 22)), (False, True, (0, 68, 22))],
)
def test_no_row_serves_two_purposes(centers: bool, chooses: bool, sizes: tuple[int, ...]) -> None:
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


@pytest.mark.parametrize("name", ["iris_c_rbf_prob", "breast_c_rbf", "normal_one_rbf", "onehot_c_rbf"])
def test_cells_with_a_single_point_are_expanded_like_others(name: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = svmfast("approximate", model(name), "-o", out, "--cells", "100", "--order", "1", "-q")
    errors = [line for line in done.stderr.splitlines() if not line.startswith(b"svmfast: warning: ")]
    assert (done.returncode, errors) == (0, [])
    made, exact = load_model(str(out)), load_model(str(model(name)))
    rows = read_svmlight(str(data(f"{name.split('_')[0]}.test"))).rows
    values, bounds = made.certified_values(rows)  # type: ignore[attr-defined]
    assert (np.abs(values - exact.decision_values(rows)) <= bounds).all()
