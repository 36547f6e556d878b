"""NAME_certain: labels that an exported file calls certain are the exact model's, in 50 digits."""

from itertools import product

import export_twin as twin
import mpmath
import numpy as np
import pytest
from c_exports import compiled, fused, needs_compiler
from certain_conversions import CASES, PRECISIONS, exact_label, made
from certain_rows import check_the_same_rows_are_certain, near_the_boundary, rows_of
from certain_twin import error_bounds
from fifty_digits import mpf
from nightly import nightly_but

import svmfast
from svmfast.exports.c_arithmetic import EXP
from svmfast.exports.certain import bound_of, entry_errors
from svmfast.exports.computation import computation_of
from svmfast.models.scaled import ScaledModel
from svmfast.models.scaling import ColumnRanges, Scaling
from svmfast.rows import as_rows

ALL = list(product(CASES, PRECISIONS, [True, False]))
#: Without contraction for machines without a fused multiply-add.
ALWAYS = [("30 features, linear", "float", False), ("three classes", "double", False)]
ALWAYS += [one for one in ALL if one[2]]


@needs_compiler
@pytest.mark.parametrize(("name", "precision", "contracted"), nightly_but(ALWAYS, ALL))
def test_certain_labels_are_the_exact_models(name, precision, contracted, tmp_path):
    if contracted and not fused():
        pytest.skip("this machine has no fused multiply-add")
    exact, fast = made(name)
    flags = fused() if contracted else ()
    file = compiled(svmfast.export(fast, precision=precision), tmp_path, *flags)
    computation, kind = computation_of(fast), file.dtype
    bound = bound_of(computation, kind)
    rng = np.random.default_rng(3)
    plain = rows_of(exact, file, rng, 200)
    seen = near_the_boundary(file, plain)
    seen = seen[rng.integers(len(seen), size=250 if "linear" in name else 30)].astype(np.float64)
    values, cells, squared = twin.values(computation, as_rows(seen), kind)
    limits = error_bounds(computation, bound, values, cells, squared)
    # One of the pairs decides; a step across its boundary changes its value by a multiple of its bound.
    pair = np.abs(values).argmin(axis=1)[:, None]
    step = rng.normal(size=seen.shape) * np.abs(seen).max() * 1e-4
    there, here = (twin.values(computation, as_rows(at), np.float64)[0] for at in (seen + step, seen))
    slope, limit = (np.take_along_axis(of, pair, axis=1) for of in (there - here, limits))
    share = 10 ** rng.uniform(-3, 0.5, size=(len(seen), 1)) * rng.choice([-1, 1], size=(len(seen), 1))
    seen = np.vstack([seen + step * np.clip(share * limit / slope, -1e3, 1e3), plain[:8]]).astype(kind)
    unit, wrong = float(np.finfo(kind).eps) / 2, 0
    sure, answers = file.certain(seen), file.answers(seen)
    for row, certainly, label in zip(seen.astype(np.float64), sure, answers, strict=True):
        # The row, and the ends of the interval that rounds to it.
        for moved in (row, row * (1 + unit * rng.choice([-1.0, 1.0], size=len(row)))):
            right = exact_label(exact, moved) == label
            assert right or not certainly
            wrong += not right
    assert sure.any()
    # Rounding alone gives wrong labels in single precision; in double the model's certificate is larger.
    assert wrong or precision == "double" or "linear" not in name


@pytest.mark.parametrize("kind", [np.dtype(kind) for kind in PRECISIONS.values()], ids=str)
def test_the_errors_of_functions(kind):
    """Of the exponential at most 4 units, where the bound allows 8."""
    rng, least, unit = np.random.default_rng(1), EXP[kind][0], float(np.finfo(kind).eps) / 2
    t = -np.concatenate([rng.random(1500) * -least, 10.0 ** rng.uniform(-12, 1.9, 500), [0, -least]])
    t, s = np.maximum(t, least).astype(kind), (10.0 ** rng.uniform(-30, 30, 500)).astype(kind)
    x = np.concatenate([np.linspace(-3, 3, 400), [1e-8, -1e-30, 40, -1e4]]).astype(kind)
    functions = (twin.exp, mpmath.exp, t, 4), (twin.root, mpmath.sqrt, s, 2), (twin.tanh, mpmath.tanh, x, 16)
    for function, exactly, at, units in functions:
        pairs = zip(function(at).tolist(), at.tolist(), strict=True)
        assert max(abs(mpf(found) / exactly(mpf(one)) - 1) for found, one in pairs) < units * unit
    beyond = twin.exp(np.array([least * 1.01, -np.inf, np.nan], dtype=kind))
    assert beyond[0] == beyond[1] == 0
    assert np.isnan(beyond[2])


LOW = np.random.default_rng(4).normal(size=4) * 50
WIDTH = np.random.default_rng(5).uniform(0.5, 90, size=4)


def _ranges(digits):
    high = np.array([LOW[0], *(LOW + WIDTH)[1:]])  # the first column is dropped
    return Scaling.from_ranges(LOW, high, -1.0, 1.0, digits=digits)


SCALINGS = {
    "a range file": _ranges(6),
    "a range file, two digits": _ranges(2),
    "ranges without digits": _ranges(None),
    "standardized": Scaling(LOW + WIDTH / 2, 3 / WIDTH),
    "clipped": Scaling(LOW + WIDTH / 2, 2.1 / WIDTH, clip=(-0.9, 0.93)),
}
STEP, U = 2.0**-12, 2.0**-24
ENDS = (np.array([0.0004359530239203344]), np.array([2.00098125145173]))
FROM_A_SEARCH = Scaling.from_ranges(*ENDS, -1.0002236638026591, 1.0009015914322836, digits=None)


@pytest.mark.parametrize(
    ("scaling", "entry", "least"),
    [
        # One rounding each: of the entry, the difference, the product and the factor.
        (Scaling(np.array([-0.99 * U]), np.array([1 + STEP - 2 * U + 0.99 * U])), 1 + STEP, 0.9),
        # An offset that is stored wrongly, and an entry next to it.
        (Scaling(np.array([1026 + 1013 * U]), np.array([0.7])), 1026.0, 0.9),
        # Two digits, next to a tie.
        (Scaling.from_ranges(np.zeros(1), np.ones(1), 0.0, 2.0, digits=2), 0.5249, 0.9),
        # One digit of what the offset's error leaves.
        (Scaling.from_ranges(*np.array([[1026 + 1013 * U], [1026.8075]]), 0.0, 1.0, digits=1), 1026.0, 0.8),
        # An interval that is wide for its numbers, because they are near underflow.
        (Scaling(np.zeros(1), np.full(1, 1e30)), 2.0**-149, 0.0),
        (Scaling(np.zeros(1), np.ones(1), clip=(-1.0, 1 + STEP + 0.99 * U)), 2.0, 0.3),
        # An entry that is scaled to nearly 0, from a search for large errors of the model's scaling.
        (FROM_A_SEARCH, 1.0008467476728584, 0.5),
    ],
)
def test_scaled_entries_are_within_their_bound_and_not_far(scaling, entry, least):
    real = np.float64 if scaling is FROM_A_SEARCH else np.float32
    relative, absolute = entry_errors(scaling, np.dtype(real), float(np.finfo(real).eps) / 2)
    ours = (real(entry) - real(scaling.offset[0])) * real(scaling.factor[0])
    ours = float(ours if scaling.clip is None else np.clip(ours, *real(scaling.clip)))
    half = 0.499 * float(np.spacing(real(entry)))
    theirs = scaling.apply(as_rows(entry + half * np.array([[-1.0], [0.0], [1.0]]))).to_dense(1)[:, 0]
    share = np.abs(ours - theirs).max() / (relative * abs(ours) + absolute)
    assert least < share <= 1


@needs_compiler
@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("name", [*CASES, *SCALINGS])
def test_the_file_is_certain_where_the_twin_is(name, precision, tmp_path):
    exact, fast = made("three classes" if name in SCALINGS else name)
    scaling = SCALINGS.get(name)
    fast = fast if scaling is None else ScaledModel(fast, scaling)
    file, rng = compiled(svmfast.export(fast, precision=precision), tmp_path), np.random.default_rng(2)
    if scaling is None:
        rows = rows_of(exact, file, rng, 400)
    else:
        z, used = rng.uniform(-1.05, 1.05, size=(300, 4)), scaling.factor != 0
        rows = np.where(used, z / np.where(used, scaling.factor, 1) + scaling.offset, 1.0).astype(file.dtype)
    check_the_same_rows_are_certain(computation_of(fast), file, rows)


def _of_ranges(*ends, clip=None):
    ranges = ColumnRanges(np.zeros(1), np.array(ends[:1]), 0.0, *ends[1:])
    return Scaling(*ranges.as_affine(), clip=clip, ranges=ranges)


@pytest.mark.parametrize(
    ("scaling", "kind", "bounded"),
    [
        # Entries could underflow: factors up to 1e100, and intervals of at least 1e-200.
        (Scaling(np.zeros(1), np.array([0.99e100])), np.float64, True),
        (Scaling(np.zeros(1), np.array([1.01e100])), np.float64, False),
        (_of_ranges(1.02e-100), np.float64, True),
        (_of_ranges(0.98e-100), np.float64, False),
        (_of_ranges(1.1e-200, 1.1e-200), np.float64, True),
        (_of_ranges(1.1e-200, 0.9e-200), np.float64, False),
        (_of_ranges(0.9e-200, 0.9e-201), np.float64, False),
        (Scaling(np.zeros(1), np.array([1e39])), np.float32, False),  # no float
        (Scaling(np.zeros(1), np.array([1e-60])), np.float32, False),  # 0 as a float
        (_of_ranges(1.0, clip=(0.5, 1.0)), np.float32, False),  # a dropped column is 0, outside
    ],
)
def test_scalings_without_a_bound(scaling, kind, bounded):
    errors = entry_errors(scaling, np.dtype(kind), float(np.finfo(kind).eps) / 2)
    assert np.isfinite(errors).tolist() == [bounded, bounded]


def test_a_scaling_without_a_bound_gives_no_certificate():
    scaled = ScaledModel(made("order 2")[1], Scaling(np.zeros(30), np.full(30, 1e39)))
    assert bound_of(computation_of(scaled), np.float32) is None
