"""Singular systems: a small ridge where that helps, an error where no ridge does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from program import data, svmfast
from two_moons import block_of, refit

from svmfast.errors import NotFiniteError
from svmfast.methods.budget.finish import _cholesky as cholesky
from svmfast.methods.budget.sgd import BudgetExpansion, StepOptions
from svmfast.solvers.ridge import solve_with_ridge


@pytest.mark.parametrize("scale", [1e-320, 1e-300, 1e-40, 1.0, 1e40, 1e300])
def test_a_singular_system_is_solved_at_any_scale(scale):
    gram = np.ones((4, 4)) * scale
    found = solve_with_ridge(gram, np.full(4, 2.0 * scale), cholesky)
    assert found == pytest.approx([0.5] * 4, rel=1e-3)


def test_a_regular_system_is_solved_exactly():
    rng = np.random.default_rng(0)
    root = rng.normal(size=(6, 6))
    right = rng.normal(size=6)
    found = solve_with_ridge(root @ root.T, right, cholesky)
    assert root @ root.T @ found == pytest.approx(right, rel=1e-6)


@pytest.mark.parametrize("n", [0, 1, 3])
def test_a_system_of_zeros_has_a_zero_solution(n):
    assert solve_with_ridge(np.zeros((n, n)), np.ones(n), cholesky).tolist() == [0.0] * n


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [(0, 0), (1, 0), (2, 2)])
def test_numbers_that_are_not_finite_end_in_an_error(value, place):
    matrix = np.eye(3)
    matrix[place] = matrix[place[::-1]] = value
    with pytest.raises(NotFiniteError):
        solve_with_ridge(matrix, np.ones(3), cholesky)


def test_a_matrix_that_no_ridge_makes_positive_ends_in_an_error():
    with pytest.raises(NotFiniteError):
        solve_with_ridge(np.array([[1.0, 1e80], [1e80, 1.0]]), np.ones(2), cholesky)


@pytest.mark.parametrize("lambda_", [1e-3, 1e-320])
def test_a_refit_without_active_rows_changes_nothing(lambda_):
    rows, values = np.linspace(-1, 1, 20)[:, None], np.zeros(20)
    options = StepOptions(3, 1.0, lambda_, loss="epsilon-insensitive", epsilon=0.1)
    start = BudgetExpansion(np.array([[0.5], [0.2]]), np.zeros(2), 0.0)
    for kept in (start, BudgetExpansion(np.zeros((0, 1)), np.zeros(0), 0.0)):
        for bias in (True, False):
            blocks = [(block_of(rows, values), np.arange(20))]
            found, fit = refit(kept, lambda blocks=blocks: blocks, 20, options, bias=bias)
            assert found.coef.tolist() == kept.coef.tolist()
            assert fit.done
            assert found.bias == kept.bias


def test_values_within_epsilon_are_trained_to_an_empty_model(tmp_path: Path) -> None:
    (tmp_path / "flat").write_text("0 1:1\n")
    done = svmfast("budget-train", "-q", "-s", "3", tmp_path / "flat", tmp_path / "model")
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"\ntotal_sv 0\n" in (tmp_path / "model").read_bytes()


@pytest.mark.parametrize("svm_type", ["0", "3"])
@pytest.mark.parametrize("lambda_", ["5e-324", "1e-320", "1e-308", "1e-300", "1e-200", "1e200", "1e308"])
def test_every_lambda_gives_a_model_or_a_one_line_error(lambda_: str, svm_type: str, tmp_path: Path) -> None:
    out = tmp_path / "model"
    done = svmfast("budget-train", "-q", "-s", svm_type, "--lambda", lambda_, data("iris.train"), out)
    assert done.returncode in (0, 2), done.stderr
    assert len(done.stderr.splitlines()) == (0 if done.returncode == 0 else 1)
    assert out.exists() == (done.returncode == 0)
    if done.returncode == 0:
        assert b"nan" not in out.read_bytes()
    elif lambda_ == "1e-320":
        assert b"outside the range of floating point; lambda is" in done.stderr
