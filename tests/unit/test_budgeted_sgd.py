"""The native step of budgeted SGD against a slow twin, and its merging against golden section search."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from budget_twin import Twin, best_merge
from program import TEST_PATH
from two_moons import block_of, kernel, two_moons

from svmfast.errors import OptionError
from svmfast.methods.budget.sgd import BudgetedSgd, StepOptions, merge_tables
from svmfast.solvers.training_data import random_order


def decisions(machine, x):
    e = machine.expansion()
    return kernel(x, e.vectors, machine.options.gamma) @ e.coef + e.bias


@pytest.mark.parametrize("budget", [1, 7, 8, 30, 1000])
@pytest.mark.parametrize("maintenance", ["gss-precise", "remove", "project"])
def test_steps_agree_with_the_twin(maintenance, budget):
    x, y = two_moons(300, 1)
    gamma, lam = 0.8, 1 / (300 * 4.0)
    machine = BudgetedSgd(x.shape[1], StepOptions(budget, gamma, lam, maintenance))
    twin = Twin(x.shape[1], budget, gamma, lam, maintenance)
    order = random_order(300, 5)
    machine.steps(block_of(x, y), order)
    for i in order:
        twin.step(x[i], y[i])
    assert machine.counts() == (300, max(0, twin.violations - budget))
    assert len(machine.expansion().coef) == len(twin.alpha)
    # Projection solves ill-conditioned systems; NumPy 1.24 solves the twin's to 2e-4 of
    # the scale. Everything else is a few hundred rounded steps.
    scale = np.abs(twin.alpha).sum()
    tolerance = 1e-3 if maintenance == "project" else 1e-7
    np.testing.assert_allclose(decisions(machine, x), twin.decisions(x), atol=tolerance * scale)


def test_class_weights_bias_and_regression_agree_with_the_twin():
    x, y = two_moons(250, 2)
    target = np.sin(3 * x[:, 1]) + 0.3 * x[:, 4]
    cases = [
        (y, {"weights": (1.0, 3.0)}),
        (y, {"bias": True}),
        (target, {"loss": "epsilon-insensitive", "epsilon": 0.1, "bias": True}),
    ]
    for targets, extra in cases:
        machine = BudgetedSgd(x.shape[1], StepOptions(20, 0.5, 1e-3, "gss-precise", **extra))
        twin = Twin(x.shape[1], 20, 0.5, 1e-3, "gss-precise", **extra)
        order = random_order(250, 9)
        machine.steps(block_of(x, targets), order)
        for i in order:
            twin.step(x[i], targets[i])
        scale = np.abs(twin.alpha).sum()
        np.testing.assert_allclose(
            decisions(machine, x), twin.decisions(x), atol=1e-7 * scale, err_msg=str(extra)
        )


def test_the_first_step_survives_its_shrinking_factor_of_zero():
    machine = BudgetedSgd(2, StepOptions(3, 1.0, 0.5, "lookup-wd"))
    machine.steps(block_of([[1.0, 2.0]], [-1.0]), np.zeros(1, np.int64))
    e = machine.expansion()
    np.testing.assert_array_equal(e.vectors, [[1.0, 2.0]])
    assert e.coef.tolist() == [-2.0]  # eta_1 y = -1 / lambda


def test_without_a_partner_of_the_same_sign_a_vector_is_removed():
    x = np.array([[0.0, 1.0], [0.0, 1.1], [5.0, 5.0]])
    machine = BudgetedSgd(2, StepOptions(1, 1.0, 1.0, "lookup-wd"))
    machine.steps(block_of(x, [1.0, -1.0, 1.0]), np.array([0, 1], dtype=np.int64))
    assert machine.counts() == (2, 1)
    np.testing.assert_array_equal(machine.expansion().vectors, x[1:2])


@pytest.mark.parametrize("maintenance", ["lookup-wd", "lookup-h"])
def test_table_lookups_merge_as_precise_search_does(maintenance):
    same = dict.fromkeys((maintenance, "gss"), 0)
    for seed in range(50):
        x, y = two_moons(60, seed)
        found = {}
        for way in (*same, "gss-precise"):
            machine = BudgetedSgd(
                x.shape[1], StepOptions(12, 0.5, 10.0, way)
            )  # every row violates the margin
            machine.steps(block_of(x, y), random_order(60, 1))
            assert machine.counts() == (60, 48)
            found[way] = decisions(machine, x)
        for way in same:
            same[way] += np.allclose(found[way], found["gss-precise"], rtol=0, atol=1e-6)
    assert same[maintenance] >= 48
    assert same["gss"] < same[maintenance]


def test_merge_tables_hold_the_optimum_of_both_halves():
    wd, h = merge_tables()
    assert wd.shape == h.shape == (201, 400)
    rng = np.random.default_rng(4)
    cells = [(0, 0), (0, 399), (200, 0), (200, 399), (199, 1), (200, 3), (200, 54), (1, 398)]
    for i, j in cells + list(zip(rng.integers(0, 201, 60), rng.integers(0, 400, 60), strict=True)):
        m, kappa = i / 400, j / 399
        wanted = best_merge(m, kappa)
        assert wd[i, j] == pytest.approx(wanted[0], abs=1e-13)
        # s is flat at its maximum: h is accurate to the root of rounding errors. At m = 1/2 both modes win.
        if 0 < j < 399 and i not in (0, 200):
            assert h[i, j] == pytest.approx(wanted[1], abs=1e-6)
    np.testing.assert_allclose(h[:, 399], np.arange(201) / 400)  # the limit; s itself is constant at kappa 1


def test_the_division_into_calls_changes_no_bit():
    x, y = two_moons(600, 6)
    block, order = block_of(x, y), random_order(600, 2)
    for maintenance in ("lookup-wd", "gss", "project", "remove"):
        options = StepOptions(25, 0.7, 1e-3, maintenance, weights=(1.0, 2.0), bias=True)
        whole, parts = BudgetedSgd(x.shape[1], options), BudgetedSgd(x.shape[1], options)
        whole.steps(block, order)
        parts.steps(block, order[:331])
        parts.steps(block, order[331:])
        one, other = whole.expansion(), parts.expansion()
        assert one.bias == other.bias, maintenance
        np.testing.assert_array_equal(one.coef, other.coef, err_msg=maintenance)
        np.testing.assert_array_equal(one.vectors, other.vectors, err_msg=maintenance)


PROGRAM = """
import hashlib, numpy as np
from test_budgeted_sgd import *
x, y = two_moons(800, 7)
h = hashlib.sha256()
for maintenance in ("lookup-wd", "lookup-h", "gss", "project"):
    machine = BudgetedSgd(x.shape[1], StepOptions(33, 0.7, 1e-3, maintenance))
    machine.steps(block_of(x, y), random_order(800, 3))
    e = machine.expansion()
    h.update(e.vectors.tobytes() + e.coef.tobytes())
print(h.hexdigest())
"""


def test_avx2_and_avx512_give_the_same_bits():
    from svmfast._core import isa

    if isa() != "avx512":
        pytest.skip("this machine has no AVX-512")
    hashes = {
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env={**os.environ, "SVMFAST_ISA": name, "PYTHONPATH": TEST_PATH},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for name in ("avx2", "avx512")
    }
    assert len(hashes) == 1


def test_the_baseline_build_agrees():
    x, y = two_moons(400, 8)
    program = (
        "from test_budgeted_sgd import *\n"
        "x, y = two_moons(400, 8)\n"
        "m = BudgetedSgd(x.shape[1], StepOptions(30, 0.7, 1e-3))\n"
        "m.steps(block_of(x, y), random_order(400, 3))\n"
        "print(*(v.hex() for v in decisions(m, x[:50])))"
    )
    environment = {**os.environ, "SVMFAST_ISA": "baseline", "PYTHONPATH": TEST_PATH}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, check=True, capture_output=True, text=True
    )
    machine = BudgetedSgd(x.shape[1], StepOptions(30, 0.7, 1e-3))
    machine.steps(block_of(x, y), random_order(400, 3))
    here = decisions(machine, x[:50])
    np.testing.assert_allclose([float.fromhex(v) for v in done.stdout.split()], here, rtol=1e-6, atol=1e-6)


def test_random_order_is_the_same_everywhere():
    assert random_order(10, 1, 2).tolist() == random_order(10, 1, 2).tolist()
    assert random_order(10, 1, 2).tolist() != random_order(10, 2, 1).tolist()
    assert sorted(random_order(1000, 0)) == list(range(1000))
    assert random_order(0, 0).tolist() == []
    assert random_order(1, 0).tolist() == [0]
    # The first place is uniform: chi-square of 8 cells over 4,000 seeds is below its 1 - 1e-6 quantile.
    first = np.bincount([int(random_order(8, seed)[0]) for seed in range(4000)], minlength=8)
    assert (((first - 500) ** 2) / 500).sum() < 40


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"gamma": 0.0}, "gamma is 0; budgeted training needs a positive one"),
        ({"lambda_": -1.0}, "lambda is -1; it must be positive"),
    ],
)
def test_options_are_checked(change, message):
    with pytest.raises(OptionError) as error:
        StepOptions(**{"budget": 10, "gamma": 1.0, "lambda_": 0.1, **change})
    assert str(error.value).startswith(message)
