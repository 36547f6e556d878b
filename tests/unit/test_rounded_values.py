"""Bounds of the rounding of LIBSVM models: against 50 digits, LIBSVM's order of summation and its labels."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fifty_digits import mpf
from program import FIXTURES, data, model
from single_problems import Problem

import svmfast
from svmfast.formats.ranges import read_ranges
from svmfast.models.certified import Proven, first_proven
from svmfast.models.expansion import KernelExpansion
from svmfast.models.head import Head
from svmfast.rows import Rows


def expansion(problem: Problem, classes: int) -> KernelExpansion:
    """The problem as a model; of one class a one-class model."""
    head = Head("one_class") if classes == 1 else Head("c_svc", np.arange(classes))
    sizes = None if classes == 1 else np.bincount(problem.owner).astype(np.int64)
    vectors = Rows.from_dense(problem.sv)
    return KernelExpansion(head, problem.kernel, vectors, problem.coef, problem.rho, sizes)


def rounded_values(
    model: KernelExpansion, rows: Rows, tolerance: float | None = None, start: int = 0
) -> Proven:
    return first_proven(model.head, rows, model.attempts(tolerance, threads=1)[start:], tolerance)


@pytest.mark.parametrize("start", [0, -1])  # single precision first, double precision alone
@pytest.mark.parametrize("classes", [1, 2, 4])
@pytest.mark.parametrize("gamma", [0.002, 0.2, 20.0])
@pytest.mark.parametrize("tolerance", [None, 1e-9])
def test_values_are_within_their_bounds_in_fifty_digits(gamma, classes, start, tolerance) -> None:
    problem = Problem(classes, 60, 9, classes, gamma, 1.0, 1.0, False)
    rows = Rows.from_dense(problem.test)
    made = expansion(problem, classes)
    found = rounded_values(made, rows, tolerance, start)
    libsvm = made.libsvm_values(rows)
    for z, value, bound, own in zip(problem.test, found.values, found.bounds, libsvm, strict=True):
        for true, v, b, o in zip(problem.exactly(z), value, bound, own, strict=True):
            assert abs(v - o) <= b <= (np.inf if tolerance is None else tolerance)
            # 50 digits are LIBSVM's value but for LIBSVM's own rounding, which the bounds contain.
            assert b == 0 or abs(mpf(float(v)) - true) <= mpf(float(b))
    assert made.head.predict(found.values).tolist() == made.head.predict(libsvm).tolist()


def test_a_row_on_the_boundary_passes_every_tier() -> None:
    problem = Problem(5, 300, 12, 2, 0.1, 1.0, 1.0, False)
    made = expansion(problem, 2)
    row = Rows.from_dense(problem.test[:1])
    at = made.libsvm_values(row)[0] + problem.rho
    seen = []
    for offset in (0.01, 1e-9, 0.0):
        moved = replace(made, rho=at * (1 + offset))
        found = rounded_values(moved, row)
        seen.append(float(found.bounds[0, 0]))
        assert (moved.head.predict(found.values) == moved.head.predict(moved.libsvm_values(row))).all()
    assert seen[0] > seen[1] > seen[2] == 0


def rows_file(path: Path) -> Path:
    return data("tie_votes.test" if path.stem.startswith("tie_votes") else f"{path.stem.split('_')[0]}.test")


CLASSIFIERS = [
    path
    for path in sorted((FIXTURES / "models").glob("*.model"))
    if rows_file(path).exists() and not path.stem.startswith("diabetes") and "precomputed" not in path.stem
]


@pytest.mark.parametrize("path", CLASSIFIERS, ids=lambda p: p.stem)
def test_every_label_is_svm_predicts(path: Path) -> None:
    made = svmfast.load_model(path)
    rows = svmfast.read_svmlight(rows_file(path)).rows
    golden = np.loadtxt(FIXTURES / "golden" / f"{path.stem}.out")
    for threads in (1, 3):
        found = svmfast.predict(made, rows, certify=True, threads=threads)
        assert found.predicted.tolist() == golden.tolist()
        assert found.certified.all()
        assert not found.error_bounds.any()
        assert found.decisions.tobytes() == made.libsvm_values(rows).tobytes()


def test_a_scaled_model_certifies_the_rows_that_it_scales() -> None:
    made, ranges = svmfast.load_model(model("diabetes_eps_rbf")), FIXTURES / "data" / "iris.ranges"
    rows = svmfast.read_svmlight(data("iris.test")).rows
    plain = svmfast.predict(made, read_ranges(ranges).apply(rows), tolerance=1.0)
    both = svmfast.predict(made, rows, tolerance=1.0, scale=ranges)
    assert plain.predicted.tobytes() == both.predicted.tobytes()
    assert plain.error_bounds.any()
    assert plain.error_bounds.tobytes() == both.error_bounds.tobytes()


REGRESSION = sorted((FIXTURES / "models").glob("diabetes_*.model"))


@pytest.mark.parametrize("tolerance", [0.0, 1e-13, 1e-4])
@pytest.mark.parametrize("path", REGRESSION, ids=lambda p: p.stem)
def test_regression_is_within_its_tolerance_of_svm_predict(path: Path, tolerance: float) -> None:
    rows = svmfast.read_svmlight(data("diabetes.test")).rows
    golden = np.loadtxt(FIXTURES / "golden" / f"{path.stem}.out")
    answers = svmfast.predict(path, rows, tolerance=tolerance)
    assert answers.certified is None
    assert (np.abs(answers.predicted - golden) <= answers.error_bounds + 1e-16 * np.abs(golden)).all()
    assert (answers.error_bounds <= tolerance).all()
    assert answers.decisions[:, 0].tobytes() == answers.predicted.tobytes()
    if tolerance == 0:
        assert answers.predicted.tobytes() == svmfast.predict(path, rows).predicted.tobytes()
    both = svmfast.predict(path, rows, tolerance=tolerance, certify=True)
    assert both.certified.all()
    assert np.array_equal(both.error_bounds, answers.error_bounds)
    assert svmfast.predict(path, rows).error_bounds is None


def test_single_precision_is_not_tried_where_it_does_not_meet_the_tolerance(monkeypatch) -> None:
    """It would be done for nothing. Whether it is depends on the model alone, not on the other rows."""
    problem = Problem(1, 150, 9, 1, 0.1, 1.0, 1.0, True)
    made, rows = expansion(problem, 1), Rows.from_dense(problem.test)
    sample = made.sv.take(np.arange(0, 150, 3))
    limit = float(np.sort(made._single(sample)[1][:, 0])[len(sample) // 4])
    asked, original = [], {name: getattr(KernelExpansion, name) for name in ("_single", "_double")}
    for name in original:

        def counted(self: KernelExpansion, *args: Any, name: str = name, **kw: Any) -> Any:
            asked.append(name)
            return original[name](self, *args, **kw)

        monkeypatch.setattr(KernelExpansion, name, counted)
    rounded_values(replace(made), rows, limit * 0.999)
    assert asked == ["_single", "_double"]  # the sample, then double precision
    above = replace(made)
    tight = rounded_values(above, rows, limit * 1.001)
    assert asked[2:4] == ["_single", "_single"]
    alone = [rounded_values(above, rows[i : i + 1], limit * 1.001).values for i in range(len(rows))]
    assert np.vstack(alone).tobytes() == tight.values.tobytes()
