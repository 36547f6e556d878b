"""NAME_certain of models with a scaling: certain labels of raw rows are the exact model's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import mpmath
import numpy as np
import pytest
from c_exports import compiled, fused, needs_compiler
from certain_conversions import PRECISIONS, exact_label, exact_values, made

import svmfast
from svmfast.exports import twin
from svmfast.exports.certain import bound_of, certain, error_bounds
from svmfast.exports.computation import computation_of
from svmfast.models.scaled import ScaledModel
from svmfast.models.scaling import ColumnRanges, Scaling
from svmfast.rows import FloatArray, as_rows

mpf = mpmath.mpf


def _ends(d: int) -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng(4)
    low = rng.normal(size=d) * 50
    return low, low + rng.uniform(0.5, 90, size=d)


def _ranges(d: int, digits: int | None = 6) -> Scaling:
    low, high = _ends(d)
    high[0] = low[0]  # a column that is dropped
    return Scaling.from_ranges(low, high, -1.0, 1.0, digits=digits)


def _standard(d: int) -> Scaling:
    low, high = _ends(d)
    return Scaling((low + high) / 2, 3 / (high - low))


def _clipped(d: int) -> Scaling:
    low, high = _ends(d)
    return Scaling((low + high) / 2, 2.1 / (high - low), clip=(-0.9, 0.93))


SCALINGS: dict[str, Callable[[int], Scaling]] = {
    "a range file": _ranges,
    "a range file, two digits": lambda d: _ranges(d, 2),
    "ranges without digits": lambda d: _ranges(d, None),
    "standardized": _standard,
    "clipped": _clipped,
}
#: A conversion of test_export_certain, and a scaling.
CASES = [
    *(("order 2", scale) for scale in SCALINGS),
    ("about zero", "a range file"),
    ("three classes", "standardized"),
    ("three classes", "clipped"),
    ("two cells", "a range file"),
]


def raw_rows(scaling: Scaling, rng: np.random.Generator, n: int) -> FloatArray:
    """Rows that the scaling maps to about the interval of -1 to 1."""
    z = rng.uniform(-1.05, 1.05, size=(n, len(scaling)))
    return np.where(
        scaling.factor != 0, z / np.where(scaling.factor != 0, scaling.factor, 1) + scaling.offset, 1.0
    )


def seen_by_the_model(scaling: Scaling, row: FloatArray) -> FloatArray:
    return scaling.apply(as_rows(row[None])).to_dense(len(scaling))[0]


@needs_compiler
@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize(("name", "scale"), CASES)
def test_certain_labels_are_the_exact_models(name: str, scale: str, precision: str, tmp_path: Path) -> None:
    """For the row that the file receives and rows that round to it, at the boundary of certainty."""
    exact, fast = made(name)
    scaling = SCALINGS[scale](exact.n_features)
    made_file = svmfast.export(ScaledModel(fast, scaling), precision=precision)  # type: ignore[arg-type]
    file = compiled(made_file, tmp_path, *fused(), compiler="gcc")
    rng = np.random.default_rng(1)
    rows = raw_rows(scaling, rng, 3000).astype(file.dtype)
    sure = file.certain(rows)
    unit = float(np.finfo(file.dtype).eps) / 2
    values = np.abs(file.decisions(rows).astype(np.float64)).min(axis=1)
    nearest = np.flatnonzero(sure)[np.argsort(values[sure])][:6]
    # With two digits none of these labels is certain.
    assert len(nearest) or "two digits" in scale or name == "two cells"
    answers = file.answers(rows)
    for at in nearest:
        row = rows[at].astype(np.float64)
        for moved in (row, row * (1 + unit * rng.choice([-1.0, 1.0], size=len(row)))):
            assert exact_label(exact, seen_by_the_model(scaling, moved)) == answers[at]


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize(("name", "scale"), CASES)
def test_no_search_finds_an_error_above_its_bound(name: str, scale: str, precision: str) -> None:
    """Hill climbing on error over bound; the exact side in 50 digits, at rows that round to the file's."""
    exact, fast = made(name)
    scaling = SCALINGS[scale](exact.n_features)
    computation, kind = computation_of(ScaledModel(fast, scaling)), np.dtype(PRECISIONS[precision])
    bound = bound_of(computation, kind)
    assert bound is not None
    rng = np.random.default_rng(5)
    unit = float(np.finfo(kind).eps) / 2

    def ratio(x: FloatArray) -> float:
        rows = as_rows(x[None].astype(np.float64))
        values, cells, squared = twin.values(computation, rows, kind)
        limits = error_bounds(computation, bound, values, cells, squared)[0]
        moved = x.astype(np.float64) * (1 + unit * rng.choice([-1.0, 1.0], size=len(x)))
        wanted = exact_values(exact, seen_by_the_model(scaling, moved))
        return max(
            float(abs(mpf(float(value)) - value_exact) / mpf(float(limit))) if np.isfinite(limit) else 0.0
            for value, value_exact, limit in zip(values[0], wanted, limits, strict=True)
        )

    worst = 0.0
    for x in raw_rows(scaling, rng, 2).astype(kind):
        best = ratio(x)
        for _ in range(6):
            step = (x * (1 + rng.normal(size=len(x)) * rng.choice([1e-6, 1e-2]))).astype(kind)
            found = ratio(step)
            if found > best:
                best, x = found, step
        worst = max(worst, best)
    assert worst <= 1
    assert worst > 0 or "two digits" in scale


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("scale", SCALINGS)
def test_scaled_entries_are_within_their_bound(scale: str, precision: str) -> None:
    """Each entry of the file's scaled row against the model's, for rows that round to the file's."""
    from svmfast.exports.certain_scaling import entry_errors
    from svmfast.exports.computation import split

    exact, fast = made("order 2")
    scaling = SCALINGS[scale](exact.n_features)
    computation, kind = computation_of(ScaledModel(fast, scaling)), np.dtype(PRECISIONS[precision])
    unit = float(np.finfo(kind).eps) / 2
    relative, absolute = entry_errors(computation.scaling, kind, unit)
    rng = np.random.default_rng(6)
    rows = raw_rows(scaling, rng, 2000).astype(kind).astype(np.float64)
    ours, _ = split(computation, as_rows(rows), kind)
    moved = rows * (1 + unit * rng.uniform(-1, 1, size=rows.shape))
    theirs = scaling.apply(as_rows(moved)).to_dense(len(scaling))
    apart = np.abs(ours.astype(np.float64) - theirs)
    assert (apart <= relative * np.abs(ours) + absolute).all()
    # Not far above the actual error: a bound a hundred times too large would certify nothing.
    assert (apart > 0.02 * (relative * np.abs(ours))).any()


def test_a_file_with_a_scaling_and_the_twin_are_certain_of_the_same_rows(tmp_path: Path) -> None:
    _, fast = made("three classes")
    scaling = _ranges(fast.n_features)
    file = compiled(svmfast.export(ScaledModel(fast, scaling)), tmp_path)
    computation = computation_of(ScaledModel(fast, scaling))
    rows = as_rows(raw_rows(scaling, np.random.default_rng(2), 300))
    values, cells, squared = twin.values(computation, rows, file.dtype)
    bound = bound_of(computation, file.dtype)
    assert bound is not None
    expected = certain(computation, bound, values, cells, squared)
    assert expected.any()
    assert np.array_equal(file.certain(rows), expected)
    assert not (file.certain_of_pairs(rows) & ~expected).any()


@pytest.mark.parametrize(
    ("factor", "ranges"),
    [
        (1e39, False),  # no float
        (1e-60, False),  # 0 as a float
        (1.0, True),  # a dropped column is 0, also outside of the interval
    ],
)
def test_scalings_without_a_bound_give_no_certificate(factor: float, ranges: bool) -> None:
    _, fast = made("order 2")
    d = fast.n_features
    limits = ColumnRanges(np.zeros(d), np.ones(d)) if ranges else None
    scaling = Scaling(np.zeros(d), np.full(d, factor), clip=(0.5, 1.0) if ranges else None, ranges=limits)
    assert bound_of(computation_of(ScaledModel(fast, scaling)), np.float32) is None
