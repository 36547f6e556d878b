"""NAME_certain: labels that an exported file calls certain are the exact model's, in 50 digits."""

from __future__ import annotations

from pathlib import Path

import export_twin as twin
import mpmath
import numpy as np
import pytest
from c_exports import compiled, fused, needs_compiler
from certain_conversions import CASES, PRECISIONS, exact_label, made
from certain_rows import check_the_same_rows_are_certain, near_the_boundary, rows_of
from certain_twin import error_bounds
from fifty_digits import mpf

import svmfast
from svmfast.exports.c_arithmetic import EXP
from svmfast.exports.certain import bound_of
from svmfast.exports.computation import computation_of, degrees
from svmfast.rows import as_rows


@needs_compiler
@pytest.mark.parametrize("contracted", [False, True])
@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("name", CASES)
def test_certain_labels_are_the_exact_models(
    name: str, precision: str, contracted: bool, tmp_path: Path
) -> None:
    """For rows with values of 0.01 to 3 times the bound, and for rows that round to these."""
    if contracted and not fused():
        pytest.skip("this machine has no fused multiply-add")
    exact, fast = made(name)
    flags = fused() if contracted else ()
    file = compiled(svmfast.export(fast, precision=precision), tmp_path, *flags, compiler="gcc")
    computation, kind = computation_of(fast), file.dtype
    bound = bound_of(computation, kind)
    assert bound is not None
    rng = np.random.default_rng(3)
    plain = rows_of(exact, file, rng, 200)
    seen = near_the_boundary(file, plain)
    seen = seen[rng.integers(len(seen), size=250 if "linear" in name else 30)].astype(np.float64)
    values, cells, squared = twin.values(computation, as_rows(seen), kind)
    limits = error_bounds(computation, bound, values, cells, squared)
    # One of the pairs decides; a step across its boundary changes its value by a multiple of its bound.
    pair = np.abs(values).argmin(axis=1)[:, None]
    step = rng.normal(size=seen.shape) * np.abs(seen).max() * 1e-4
    slope = np.take_along_axis(
        twin.values(computation, as_rows(seen + step), np.float64)[0]
        - twin.values(computation, as_rows(seen), np.float64)[0],
        pair,
        axis=1,
    )
    share = 10 ** rng.uniform(-3, 0.5, size=(len(seen), 1)) * rng.choice([-1, 1], size=(len(seen), 1))
    limit = np.take_along_axis(limits, pair, axis=1)
    seen = np.vstack([seen + step * np.clip(share * limit / slope, -1e3, 1e3), plain[:8]]).astype(kind)
    sure, answers = file.certain(seen), file.answers(seen)
    unit = float(np.finfo(kind).eps) / 2
    wrong = 0
    for row, certainly, label in zip(seen.astype(np.float64), sure, answers, strict=True):
        # The row, and the ends of the interval that rounds to it.
        for moved in (row, row * (1 + unit * rng.choice([-1.0, 1.0], size=len(row)))):
            right = exact_label(exact, moved) == label
            assert right or not certainly
            wrong += not right
    assert sure.any()
    # Rounding alone gives wrong labels in single precision; in double the model's certificate is larger.
    assert wrong or precision == "double" or "linear" not in name


@needs_compiler
@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("name", CASES)
def test_the_file_is_certain_where_the_twin_is(name: str, precision: str, tmp_path: Path) -> None:
    exact, fast = made(name)
    file = compiled(svmfast.export(fast, precision=precision), tmp_path)
    rng = np.random.default_rng(2)
    check_the_same_rows_are_certain(computation_of(fast), file, rows_of(exact, file, rng, 400))


@needs_compiler
def test_with_fast_math_no_label_is_certain(tmp_path: Path) -> None:
    _, fast = made("order 2")
    # The start files of -ffast-math would make this process, NumPy included, flush subnormal numbers to zero.
    file = compiled(svmfast.export(fast), tmp_path, "-ffast-math", "-nostartfiles")
    assert not file.certain(as_rows(np.zeros((5, file.features)))).any()


@pytest.mark.parametrize("precision", PRECISIONS)
def test_the_error_of_the_exponential(precision: str) -> None:
    """Against 50 digits: at most 4 units, where the bound allows 8."""
    kind = np.dtype(PRECISIONS[precision])
    least = EXP[kind][0]
    rng = np.random.default_rng(1)
    t = -np.concatenate([rng.random(1500) * -least, 10.0 ** rng.uniform(-12, 1.9, 500), [0, -least]])
    t = np.maximum(t, least).astype(kind)
    found = twin.exp(t)
    unit = float(np.finfo(kind).eps) / 2
    worst = max(
        float(abs(mpf(float(value)) / mpmath.exp(mpf(float(at))) - 1)) / unit
        for value, at in zip(found, t, strict=True)
    )
    assert worst < 4
    beyond = twin.exp(np.array([least * 1.01, -np.inf, np.nan], dtype=kind))
    assert beyond[0] == beyond[1] == 0
    assert np.isnan(beyond[2])


def test_the_errors_of_roots_and_hyperbolic_tangents() -> None:
    for kind in PRECISIONS.values():
        s = (10.0 ** np.random.default_rng(1).uniform(-30, 30, 500)).astype(kind)
        unit = float(np.finfo(kind).eps) / 2
        assert np.abs(twin.root(s) / np.sqrt(s.astype(np.longdouble)) - 1).max() < 2 * unit
        x = np.concatenate([np.linspace(-3, 3, 400), [1e-8, -1e-30, 40, -1e4]]).astype(kind)
        assert np.abs(twin.tanh(x) / np.tanh(x.astype(np.longdouble)) - 1).max() < 16 * unit


@pytest.mark.parametrize(("d", "order"), [(1, 4), (3, 3), (5, 2), (4, 0)])
def test_monomials_are_in_the_stored_order(d: int, order: int) -> None:
    from itertools import combinations_with_replacement

    tuples: list[tuple[int, ...]] = [()]
    for m, degree in enumerate(degrees(d, order)):
        if m:
            tuples = [(*tuples[p], int(i)) for p, i in zip(degree.parent, degree.last, strict=True)]
        assert tuples == list(combinations_with_replacement(range(d), m))
