"""Cells and orders chosen by cost: certified labels, and refusal if the exact model is better.

Longer than 400 lines: one option of one command, from the plan to the predicted labels.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from approximations import approximate
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from program import data, model, svmfast
from random_models import random_model

from svmfast.errors import NegativeAnswerError, OptionError
from svmfast.formats.container import container_bytes
from svmfast.formats.detect import load_model, model_bytes, save_model
from svmfast.formats.svmlight import read_svmlight, write_svmlight
from svmfast.kernels import Kernel
from svmfast.methods.approximate.cells import Cell
from svmfast.methods.approximate.certificate import dual_expansion
from svmfast.methods.approximate.costs import (
    RATES,
    ROW,
    SINGLE_TERM,
    exact_operations,
    exact_reading,
    polynomial_operations,
)
from svmfast.methods.approximate.plan import _allowance
from svmfast.methods.approximate.sample import OF_DATA, OF_VECTORS, divided, near_vectors
from svmfast.methods.common.equal_rows import row_keys
from svmfast.models.certified import certified_rows
from svmfast.models.expansion import KernelExpansion
from svmfast.models.head import Head
from svmfast.rows import Rows
from svmfast.solvers.residual import Tail, residual_tail


def clustered(seed: int = 0, gamma: float = 3.0, n: int = 400, d: int = 3) -> tuple[KernelExpansion, Rows]:
    """A smooth function on distant clusters, and similar rows: one center does not suffice."""
    rng = np.random.default_rng(seed)
    middles = rng.uniform(-3, 3, size=(12, d))
    x = middles[rng.integers(0, 12, n)] + 0.1 * rng.normal(size=(n, d))
    coef = np.sign(np.sin(middles[:, 0] * 2))[np.argmin(((x[:, None] - middles) ** 2).sum(2), axis=1)]
    rows = middles[rng.integers(0, 12, 600)] + 0.1 * rng.normal(size=(600, d))
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
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_no_error_exceeds_its_bound(
    seed: int, gamma: float, cells: int, order: int | str, classes: int
) -> None:
    exact = random_model(seed, 15, 4, classes, gamma, 1.0, 2.0)
    made, _ = approximate(exact, order=order, cells=cells) if order != "auto" else _lenient(exact, cells)
    rng = np.random.default_rng(seed)
    rows = Rows.from_dense(rng.normal(size=(60, 4)) * rng.choice([0.3, 1, 4], size=(60, 1)))
    values, bounds = made.certified_values(rows)
    truth = exact.decision_values(rows)
    assert (np.abs(values - truth) <= bounds).all()
    certified = certified_rows(made.head, values, bounds)
    assert (made.head.predict(values)[certified] == made.head.predict(truth)[certified]).all()


def _lenient(exact: KernelExpansion, cells: int):  # type: ignore[no-untyped-def]
    """Repeat the support vectors of a small model until an expansion is cheaper."""
    times = 60
    whole = KernelExpansion(
        head=exact.head,
        kernel=exact.kernel,
        sv=Rows.from_dense(np.repeat(exact.sv.to_dense(4), times, axis=0)),
        sv_coef=np.repeat(exact.sv_coef, times, axis=1) / times,
        rho=exact.rho,
        nr_sv=exact.nr_sv * times,
    )
    try:
        return approximate(whole, order="auto", cells=cells)
    except NegativeAnswerError:
        return approximate(whole, order=1, cells=cells)


def test_cells_certify_where_one_expansion_cannot() -> None:
    exact, rows = clustered()
    shares = [
        approximate(exact, order=2, cells=cells, data=rows)[1].certified_percent for cells in (1, 4, 12)
    ]
    assert shares[0] == 0
    assert shares[0] < shares[1] < shares[2]
    assert shares[2] > 99


def test_auto_takes_the_first_number_of_cells_that_is_enough() -> None:
    exact, rows = clustered()
    made, report = approximate(exact, order="auto", cells="auto", data=rows, target_certified=0.95)
    assert report.steps[-1].certified_percent >= 95
    values, bounds = made.certified_values(rows)
    of_all = 100 * certified_rows(made.head, values, bounds).mean()
    assert report.certified_percent == pytest.approx(of_all, abs=3)
    assert report.certified_percent > 90
    assert report.measured_on == "data"
    assert [step.certified_percent >= 95 for step in report.steps[:-1]] == [False] * (len(report.steps) - 1)
    assert made.n_cells == report.cells == report.steps[-1].cells
    assert report.operations < report.operations_before


def test_more_cells_are_not_tried_if_they_only_allow_useless_orders(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = random_model(1, 200, 8, 2, 1.0, 1.0, 1.0)

    def tried() -> list[int]:
        _, report = approximate(exact, order="auto", cells="auto", force=True)
        return [step.cells for step in report.steps]

    assert tried()[:3] == [1, 5, 10]
    monkeypatch.setattr("svmfast.methods.approximate.costs.LARGEST_AUTO", 1000)  # 10 cells have order 2
    assert tried() == [1, 5]


def test_a_plan_that_is_not_worth_its_size_is_named(tmp_path: Path) -> None:
    exact, rows = clustered(n=50)
    save_model(exact, tmp_path / "exact")
    write_svmlight(tmp_path / "rows", rows, np.zeros(len(rows)))
    words = (
        "--data",
        tmp_path / "rows",
        "--order",
        "2",
        "--cells",
        "auto",
        "--force",
        "-o",
        tmp_path / "out",
    )
    forced = svmfast("approximate", tmp_path / "exact", *words).stderr.decode()
    assert "not worth" not in forced
    _, report = approximate(exact, order=2, cells="auto", data=rows)
    best = next(step for step in report.steps if step.chosen)
    cheaper = [step for step in report.steps if step.operations < best.operations]
    assert cheaper
    assert not any(step.worth for step in cheaper)
    lines = [line for line in report.lines() if line.startswith("tried")]
    assert [line.endswith("; chosen") for line in lines] == [step.chosen for step in report.steps]
    for line, step in zip(lines, report.steps, strict=True):
        times = step.numbers / report.numbers_before
        size = f"; not worth its size: {step.numbers:,} numbers, {times:.3g} times the exact model's"
        assert (size in line) == (not step.worth)


def test_auto_takes_the_lowest_order_that_is_enough() -> None:
    exact = load_model(str(model("breast_c_rbf")))
    rows = read_svmlight(str(data("breast.train"))).rows
    tried = {k: approximate(exact, order=k, data=rows, center="mean")[1].certified_percent for k in range(4)}
    target = (tried[1] + tried[2]) / 200
    assert tried[1] / 100 < target <= tried[2] / 100, tried
    _, report = approximate(exact, order="auto", data=rows, center="mean", target_certified=target)
    assert report.order == 2
    assert report.certified_percent == pytest.approx(tried[2], abs=0.5)


def test_pairs_certain_everywhere_in_a_cell_need_only_a_number() -> None:
    exact = load_model(str(model("digits_nu_rbf")))
    rows = read_svmlight(str(data("digits.train"))).rows
    made, report = approximate(exact, order="auto", cells=4, data=rows, target_certified=0.5, force=True)
    full, _ = approximate(exact, order=made.order, cells=4, data=rows)
    assert len(report.orders) > 1
    assert len(made.coefficients) < len(full.coefficients)
    values, bounds = full.certified_values(rows)
    every = certified_rows(full.head, values, bounds)
    values, bounds = made.certified_values(rows)
    kept = certified_rows(made.head, values, bounds)
    assert kept.sum() >= 0.95 * every.sum() > 0


def test_a_file_within_the_size_limit_has_valid_bounds() -> None:
    exact, rows = clustered()
    wide, _ = approximate(exact, order=3, cells=12, data=rows)
    size = len(model_bytes(wide))
    limit = int(size * 0.88)
    made, report = approximate(
        exact, order=3, cells=12, data=rows, max_bytes=limit, stored_size=lambda m: len(model_bytes(m))
    )
    assert len(model_bytes(made)) <= limit
    values, bounds = made.certified_values(rows)
    assert (np.abs(values - exact.decision_values(rows)) <= bounds).all()
    assert (made.coefficients == 0).sum() > (wide.coefficients == 0).sum()
    assert report.certified_percent > 90
    message = r"take [\d,]+ bytes with the shortest coefficients, more than 3,000"
    with pytest.raises(NegativeAnswerError, match=message):
        approximate(exact, order=3, cells=1, data=rows, max_bytes=3000, stored_size=lambda m: 4000)


def test_threads_do_not_change_the_result() -> None:
    exact, rows = clustered()
    made = [
        container_bytes(approximate(exact, order=2, cells=9, data=rows, threads=t)[0].to_record())
        for t in (1, 2, 5)
    ]
    assert made[0] == made[1] == made[2]


@pytest.mark.parametrize("order", [-1, 0, 1, 2, 5, 9])
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


def test_a_missed_target_is_reported() -> None:
    exact, rows = clustered()
    _, report = approximate(exact, order="auto", cells=4, data=rows, target_certified=0.999, force=True)
    assert report.certified_percent < 99.9
    assert any("below the target of 99.9%" in warning for warning in report.warnings)


@given(seed=st.integers(0, 2**32 - 1), gamma=st.floats(0.01, 3), negligible=st.floats(0, 10))
@settings(max_examples=30, deadline=None)
def test_tails_agree_however_they_are_computed(seed: int, gamma: float, negligible: float) -> None:
    rng = np.random.default_rng(seed)
    x, beta, center = rng.normal(size=(40, 3)), rng.normal(size=40), rng.normal(size=3)
    every = residual_tail(x, beta, gamma, center, -1, top=12)
    for order in (0, 2, 5):
        direct = residual_tail(x, beta, gamma, center, order, top=12)
        again = every.of_order(order)
        # The same degrees; a higher one may have an eigenvalue in one and a trace in the other.
        assert (again.degrees[: order + 1] == 0).all()
        assert again.degrees[order + 1] == pytest.approx(direct.degrees[order + 1], rel=1e-6, abs=1e-12)
        apart = residual_tail(x, beta, gamma, center, order, top=12, reach=0.5, negligible=negligible)
        loose = residual_tail(x, beta, gamma, center, order, top=12, by_row_norms=True)
        assert (apart.degrees >= direct.degrees * (1 - 1e-6)).all()
        assert (loose.degrees >= apart.degrees * (1 - 1e-6)).all()


def test_without_data_the_support_vectors_are_the_sample() -> None:
    exact, _ = clustered()
    terms = dual_expansion(exact, memory_limit=1 << 30)
    who = divided(exact, terms, None, plans=True)
    assert who.planning is not None
    assert who.planning.source == who.held_out.source == OF_VECTORS
    x = {row.tobytes() for row in exact.sv.to_dense(3)}
    parts = []
    for judge in (who.planning, who.held_out):
        vectors = [row.tobytes() for row in judge.points if row.tobytes() in x]
        assert len(judge) == 2 * len(vectors)
        np.testing.assert_allclose(judge.values, exact.decision_values(judge.rows), atol=1e-12)
        parts.append(set(vectors))
    assert not parts[0] & parts[1]
    assert parts[0] | parts[1] == x
    assert len(parts[1]) == pytest.approx(len(x) / 4, abs=1)


def test_intermediate_points_lie_between_near_vectors() -> None:
    exact, _ = clustered()
    terms = dual_expansion(exact, memory_limit=1 << 30)
    which = np.arange(0, len(exact.sv), 2)
    rows, start = near_vectors(exact, terms, which, 100, np.random.default_rng(0))
    assert (len(rows), len(start)) == (100, 100)
    assert np.isin(start, which).all()
    x, points = terms.points, rows.to_dense(3)
    assert (points[:50] == x[start[:50]]).all()
    for point, begin in zip(points[50:], start[50:], strict=True):
        way, ways = point - x[begin], x[which] - x[begin]
        along = np.array([other @ way / max(other @ other, 1e-300) for other in ways])
        apart = np.abs(ways * along[:, None] - way).max(axis=1)
        assert apart.min() < 1e-12
        assert -1e-12 <= along[apart.argmin()] <= 0.5


def test_entries_beyond_the_model_count_as_distance() -> None:
    exact, rows = clustered()
    far = Rows.from_dense(np.concatenate([rows.to_dense(3), np.full((len(rows), 1), 2.0)], axis=1))
    terms = dual_expansion(exact, memory_limit=1 << 30)
    judge = divided(exact, terms, far, plans=False).held_out
    assert judge.source == OF_DATA
    np.testing.assert_allclose(judge.outside, 4.0, atol=1e-12)
    near = divided(exact, terms, rows, plans=False).held_out.squared_distances(np.arange(600), np.ones(3))
    np.testing.assert_allclose(judge.squared_distances(np.arange(600), np.ones(3)), near + 4, rtol=1e-12)


def test_no_row_both_chooses_and_measures() -> None:
    exact, rows = clustered()
    few = rows[:90]
    twice = Rows.concatenate([few, few.take(np.arange(89, -1, -1))])
    terms = dual_expansion(exact, memory_limit=1 << 30)
    who = divided(exact, terms, twice, plans=True, seed=3)
    assert who.planning is not None
    keys = [set(row_keys(judge.rows)) for judge in (who.planning, who.held_out)]
    choosing = set(row_keys(who.planning.rows.take(who.planning.choosing)))
    fitting = set(row_keys(who.planning.rows.take(who.planning.fitting)))
    assert not keys[0] & keys[1]
    assert not choosing & fitting
    assert [len(part) for part in (fitting, choosing, keys[1])] == [45, 23, 22]
    assert len(who.planning) + len(who.held_out) == 180
    # Without a choice all rows measure.
    assert len(divided(exact, terms, twice, plans=False).held_out) == 180
    tiny = divided(exact, terms, few[:5], plans=True)
    assert tiny.planning is not None
    assert (len(tiny.planning), tiny.held_out.source) == (5, OF_VECTORS)


def test_regression_is_certified_within_its_tolerance() -> None:
    exact = load_model(str(model("diabetes_eps_rbf")))
    rows = read_svmlight(str(data("diabetes.train"))).rows
    _, tight = approximate(exact, order=2, data=rows, tolerance=1e-12)
    _, loose = approximate(exact, order=2, data=rows, tolerance=1e12)
    assert (tight.certified_percent, loose.certified_percent) == (0, 100)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"order": "auto", "certificate": "none"}, "auto need a certificate"),
        ({"cells": 0}, "`cells` is 0; expected a whole number from 1 to"),
        ({"target_certified": 0.0}, "`target_certified` is 0.0; expected a share"),
        ({"order": "best"}, "`order` is 'best'; expected a whole number from 0 to 16, or 'auto'"),
    ],
)
def test_options_that_contradict_each_other_in_approximate(options: dict[str, object], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        approximate(clustered()[0], **options)  # type: ignore[arg-type]


def test_nothing_is_written_if_no_plan_is_faster(tmp_path: Path) -> None:
    out, hopeless = tmp_path / "out", tmp_path / "hopeless"
    save_model(replace(random_model(1, 200, 8, 2, 2.0, 1.0, 1.0), rho=np.zeros(1)), str(hopeless))
    done = svmfast("approximate", hopeless, "-o", out, "--order", "auto")
    assert done.returncode == 1
    assert done.stderr.startswith(b"svmfast: the exact model is the better choice: ")
    assert (
        b"takes 6,529 multiply-adds, more than 75% of its 5,284 (tried 1 cell of order 1: 0.0%)"
        in done.stderr
    )
    assert not out.exists()


def test_the_reason_why_nothing_is_better_is_correct(tmp_path: Path) -> None:
    small = tmp_path / "small"
    save_model(replace(random_model(1, 200, 8, 2, 0.3, 1.0, 1.0), rho=np.zeros(1)), str(small))
    words = ("approximate", small, "-o", tmp_path / "out", "--order", "auto", "--target-certified")
    few = svmfast(*words, "99%").stderr.decode()
    assert "no order and number of cells certifies enough rows: at 30% of the rows" in few
    assert few.endswith("(tried 1 cell of order 4: 30.0%)\n")
    enough = svmfast(*words, "10%")
    assert (enough.returncode, len(enough.stderr.splitlines())) == (1, 1)
    found = re.search(
        r"choice: 1 cell of order 4 certifies 30% of the rows, but a prediction, including the exact "
        r"model's for the others, takes ([\d,]+) multiply-adds, more than 75% of its ([\d,]+) ",
        enough.stderr.decode(),
    )
    assert found
    ours, exact = (int(number.replace(",", "")) for number in found.groups())
    assert 0.75 * exact < ours < exact


def test_options_without_effect_are_refused(tmp_path: Path) -> None:
    out, rbf, regression = tmp_path / "out", model("breast_c_rbf"), model("diabetes_eps_rbf")
    for words, message in (
        ((rbf, "--target-certified", "90%"), "--target-certified is only used with"),
        (
            (rbf, "--target-certified", "90%", "--cells", "5"),
            "--target-certified is only used with --order auto",
        ),
        (
            (rbf, "--time-limit", "9s", "--order", "2"),
            "--time-limit is only used where --order or --cells is",
        ),
        ((regression, "--tolerance", "1"), "--tolerance is only used with"),
        ((rbf, "--tolerance", "1", "--cells", "5"), "--tolerance is for regression; for a c_svc model"),
    ):
        done = svmfast("approximate", *words, "-o", out)
        assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
        assert message in done.stderr.decode()
        assert not out.exists()
    for words in (
        (rbf, "--seed", "3"),
        (rbf, "--seed", "3", "--cells", "5"),
        (rbf, "--seed", "3", "--data", data("breast.train")),
        (regression, "--tolerance", "1", "--data", data("diabetes.train")),
    ):
        assert svmfast("approximate", *words, "-o", out).returncode == 0


def test_the_program_converts_in_cells_and_predicts_the_exact_labels(tmp_path: Path) -> None:
    fast, small = tmp_path / "fast", tmp_path / "small"
    options = ("--cells", "5", "--order", "auto", "--data", data("breast.train"), "--target-certified", "90%")
    # The exact model is small and may be faster.
    done = svmfast("approximate", model("breast_c_rbf"), "-o", fast, *options, "--force")
    assert done.returncode == 0, done.stderr
    assert b"about 5 centers" in done.stderr
    assert b"rows of --data" in done.stderr
    plain, certified = tmp_path / "plain", tmp_path / "certified"
    assert svmfast("predict", data("breast.test"), model("breast_c_rbf"), plain).returncode == 0
    done = svmfast("predict", data("breast.test"), fast, certified, "--exact", model("breast_c_rbf"))
    assert done.returncode == 0, done.stderr
    assert certified.read_bytes() == plain.read_bytes()
    wide = (*options[:2], "--order", "3", *options[4:6])
    assert svmfast("approximate", model("breast_c_rbf"), "-o", fast, *wide).returncode == 0
    limit = fast.stat().st_size * 9 // 10
    done = svmfast("approximate", model("breast_c_rbf"), "-o", small, *wide, "--max-bytes", str(limit))
    assert done.returncode == 0, done.stderr
    assert small.stat().st_size <= limit


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


@pytest.mark.parametrize("r", [0.0, 1e-300, 1e-160, 1e-3, 0.7, 1e3])
def test_shortening_adds_at_most_a_share_of_the_bound(r: float) -> None:
    degrees = np.array([5.0, 4.0, 3.0, 2.0, 1.0])
    cell = Cell(np.zeros(1), np.zeros(1, np.int64), np.array([r * r]), (Tail(degrees, 0.0),))
    allowed = _allowance(cell, 0, 1, r, 0.25)
    bound = Fraction(2) * Fraction(r) ** 3 + Fraction(r) ** 4 + 3 * Fraction(r) ** 2
    moved = Fraction(allowed[0]) + Fraction(allowed[1]) * Fraction(r)
    assert float(moved) == pytest.approx(float(bound / 4), rel=1e-12)
    assert (allowed >= 0).all()
    assert np.isfinite(allowed).all()


def test_the_exact_models_cost_is_that_of_the_arithmetic_used() -> None:
    pixels, one_hot = load_model(str(model("photos_c_rbf"))), load_model(str(model("onehot_c_rbf")))
    dense = load_model(str(model("breast_c_rbf")))
    assert (dense.tier, pixels.tier, one_hot.tier) == ("single", "bytes", "one-hot")
    for made, name in ((dense, "single"), (pixels, "bytes")):
        rates, n, d = RATES[name], len(made.sv), len(np.unique(made.sv.indices))
        assert exact_operations(made, d, float(d)) == pytest.approx(
            n * (rates.column * d + rates.value + rates.coefficient)
        )
        assert exact_reading(made, d, float(d)) == ROW + rates.reading * d
    # 64 vectors in a register of bytes: far below what their stored values would cost.
    assert exact_operations(one_hot, 120, 30.0) < 0.2 * len(one_hot.sv) * (2.6 * 30 + 15)
    for name, tier in (
        ("diabetes_eps_rbf", "double"),
        ("breast_c_linear", "double"),
        ("breast_c_poly2", "single"),
    ):
        other = load_model(str(model(name)))
        assert other.tier == tier
        if tier == "single":
            continue
        entries = other.sv.nnz / len(other.sv)
        assert exact_operations(other, other.n_features, entries) >= len(other.sv) * other.n_features


def test_lanes_that_a_sparse_row_does_not_use_cost_nothing() -> None:
    exact = load_model(str(model("photos_c_rbf")))
    x = np.zeros((16, 40))
    x[:, [0, 1, 3, 8]] = 1, 2, 4, 9
    x[0] = np.arange(1, 41)
    few = replace(
        exact,
        sv=Rows.from_dense(x),
        sv_coef=np.ones((1, 16)),
        nr_sv=np.array([8, 8]),
        kernel=replace(exact.kernel, gamma=1.0),
    )
    assert few.tier == "bytes"
    rates = RATES["bytes"]
    lanes = (10 + 15 * 2) / 16
    assert exact_operations(few, 40, 6.25) == pytest.approx(
        16 * (rates.entry * lanes + rates.value + rates.coefficient)
    )
    # Below zero the integers of what a row does not store are not 0.
    x[0, 0] = -1
    dense = replace(few, sv=Rows.from_dense(x))
    assert exact_operations(dense, 40, 6.25) == pytest.approx(
        16 * (rates.column * 40 + rates.value + rates.coefficient)
    )


def test_single_precision_makes_dense_polynomials_cheaper() -> None:
    terms = 22 * 23 * 24 / 6 + 22 * 23 / 2 + 23
    for single, share in ((False, 1.0), (True, SINGLE_TERM)):
        dense = polynomial_operations(22, 3, 13.0, about_zero=False, single_precision=single)
        assert dense == pytest.approx(share * terms)
        # Term by term nothing is gained.
        assert polynomial_operations(120, 3, 4.0, about_zero=True, single_precision=single) == 18 * 35
