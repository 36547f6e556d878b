"""NAME_certain: labels that an exported file calls certain are the exact model's, in 50 digits."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import mpmath
import numpy as np
import pytest
from c_exports import Compiled, compiled, fused, needs_compiler
from certain_conversions import CASES, PRECISIONS, exact_label, exact_values, made
from fifty_digits import mpf

import svmfast
from svmfast.exports import twin
from svmfast.exports.certain import bound_of, certain, error_bounds
from svmfast.exports.computation import Computation, computation_of
from svmfast.exports.monomials import degrees
from svmfast.models.expansion import KernelExpansion
from svmfast.models.polynomial import PolynomialModel
from svmfast.rows import FloatArray, as_rows


def near_the_boundary(fast: PolynomialModel, file: Compiled, count: int) -> Iterator[FloatArray]:
    """Rows between two rows with different labels, by bisection with the file's own answers."""
    rng = np.random.default_rng(3)
    source = fast.provenance
    assert source is not None
    width, reach = file.features, float(np.sqrt(fast.sv_squared_norms.max()))
    for _ in range(count):
        center = np.zeros(width)
        center[fast.features] = fast.centers[rng.integers(len(fast.centers))]
        ends = center + rng.normal(size=(40, width)) * reach / np.sqrt(width)
        answers = file.answers(ends)
        other = np.flatnonzero(answers != answers[0])
        if not len(other):
            continue
        a, b = ends[0], ends[other[0]]
        for _ in range(int(rng.integers(2, 30))):
            middle = (a + b) / 2
            if file.answers(middle[None])[0] == answers[0]:
                a = middle
            else:
                b = middle
        yield a
        yield b


@needs_compiler
@pytest.mark.parametrize("contracted", [False, True])
@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("name", CASES)
def test_certain_labels_are_the_exact_models(
    name: str, precision: str, contracted: bool, tmp_path: Path
) -> None:
    """For the row that the file sees and for rows that round to it, near the boundary and at random."""
    if contracted and not fused():
        pytest.skip("this machine has no fused multiply-add")
    exact, fast = made(name)
    file = compiled(
        svmfast.export(fast, precision=precision), tmp_path, *(fused() if contracted else ()), compiler="gcc"
    )
    rng = np.random.default_rng(0)
    rows = np.array(list(near_the_boundary(fast, file, 5)))
    more = exact.sv.to_dense(file.features)[:4] + rng.normal(size=(4, file.features)) * 0.1
    rows = np.vstack([rows, more]) if len(rows) else more
    seen = rows.astype(file.dtype)
    sure, answers = file.certain(seen), file.answers(seen)
    unit = float(np.finfo(file.dtype).eps) / 2
    for row, label in zip(seen[sure].astype(np.float64), answers[sure], strict=True):
        assert exact_label(exact, row) == label
        # The ends of the interval that rounds to it.
        moved = row * (1 + unit * rng.choice([-1.0, 1.0], size=len(row)))
        assert exact_label(exact, moved) == label
    assert sure.any() or name in ("order 1", "two cells")


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("name", CASES)
def test_no_search_finds_an_error_above_its_bound(name: str, precision: str) -> None:
    """Hill climbing on error over bound, the exact side in 50 digits."""
    exact, fast = made(name)
    computation, kind = computation_of(fast), np.dtype(PRECISIONS[precision])
    bound = bound_of(computation, kind)
    assert bound is not None
    rng = np.random.default_rng(5)
    width = computation.n_features
    worst = 0.0
    for start in range(3):
        z = np.zeros(width)
        z[computation.variables] = fast.centers[rng.integers(len(fast.centers))]
        z = (
            z + rng.normal(size=width) * (0.3, 1, 3)[start] * np.sqrt(fast.sv_squared_norms.max() / width)
        ).astype(kind)
        best = ratio(exact, computation, bound, z)
        for _ in range(8):
            step = (z + rng.normal(size=width) * rng.choice([1e-3, 1e-1]) * (np.abs(z) + 0.01)).astype(kind)
            found = ratio(exact, computation, bound, step)
            if found > best:
                best, z = found, step
        worst = max(worst, best)
    assert worst <= 1


def ratio(exact: KernelExpansion, computation: Computation, bound: object, z: FloatArray) -> float:
    rows = as_rows(z[None].astype(np.float64))
    values, cells, squared = twin.values(computation, rows, z.dtype)
    bounds = error_bounds(computation, bound, values, cells, squared)[0]  # type: ignore[arg-type]
    wanted = exact_values(exact, z.astype(np.float64))
    return max(
        float(abs(mpf(float(value)) - value_exact) / mpf(float(limit))) if np.isfinite(limit) else 0.0
        for value, value_exact, limit in zip(values[0], wanted, bounds, strict=True)
    )


@needs_compiler
@pytest.mark.parametrize("precision", PRECISIONS)
def test_the_file_and_the_twin_are_certain_of_the_same_rows(precision: str, tmp_path: Path) -> None:
    for name in CASES:
        _, fast = made(name)
        computation = computation_of(fast)
        made_file = svmfast.export(fast, precision=precision)
        file = compiled(made_file, tmp_path)
        rng = np.random.default_rng(2)
        rows = as_rows(rng.normal(size=(300, file.features)) * 0.7)
        values, cells, squared = twin.values(computation, rows, file.dtype)
        bound = bound_of(computation, file.dtype)
        assert bound is not None
        expected = certain(computation, bound, values, cells, squared)
        assert np.array_equal(file.certain(rows), expected), name
        # Rows given as pairs count more terms, so that at most as many are certain.
        assert not (file.certain_of_pairs(rows) & ~expected).any(), name


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
    least = twin.EXP[kind][0]
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
        assert np.abs(twin.root(s) / np.sqrt(s.astype(np.float64)) - 1).max() < 4 * unit
        x = np.concatenate([np.linspace(-3, 3, 400), [1e-8, -1e-30, 40, -1e4]]).astype(kind)
        assert np.abs(twin.tanh(x) / np.tanh(x.astype(np.longdouble)) - 1).max() < 16 * unit


@pytest.mark.parametrize(("d", "order"), [(1, 4), (3, 3), (5, 2), (4, 0)])
def test_monomials_are_in_the_stored_order(d: int, order: int) -> None:
    from itertools import combinations_with_replacement
    from math import factorial

    tuples: list[tuple[int, ...]] = [()]
    for m, degree in enumerate(degrees(d, order)):
        if m:
            tuples = [(*tuples[p], int(i)) for p, i in zip(degree.parent, degree.last, strict=True)]
        expected = list(combinations_with_replacement(range(d), m))
        assert tuples == expected
        orderings = [factorial(m) / np.prod([factorial(one.count(i)) for i in range(d)]) for one in expected]
        assert np.array_equal(degree.multiplicity, orderings)
