"""Scaling in front of a model: svm-scale's arithmetic and digits, offsets and factors, what files refuse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sealing import packed, unpacked

import svmfast
from svmfast import errors
from svmfast._core import round_digits
from svmfast.formats.model_files import load_model, model_bytes, open_model
from svmfast.models.cascade import CascadeModel
from svmfast.models.expansion import KernelExpansion
from svmfast.models.scaled import ScaledModel, with_scaling
from svmfast.models.scaling import Scaling, TargetRange
from svmfast.rows import Rows

MODELS = Path(__file__).parents[2] / "fixtures" / "models"
IRIS = MODELS / "iris_c_rbf_prob.model"

finite = st.floats(allow_nan=False, allow_infinity=False)


def printed(value: float, digits: int) -> float:
    """Return what C reads of what it prints; Python's own formatting does not use the code under test."""
    return float(f"{value:.{digits}g}")


@settings(max_examples=20 * settings.default.max_examples)
@given(finite, st.integers(1, 17))
@example(-0.9921875, 6)
@example(0.9921865, 6)
@example(1234565.0, 6)
@example(0.5, 1)
@example(2.5, 1)
@example(999999.5, 6)
@example(9.9999995e-5, 6)
@example(5e-324, 6)
@example(1.7976931348623157e308, 6)
@example(0.1 - 2**-56, 6)
@example(-0.0, 6)
def test_rounding_is_printing_and_reading(value: float, digits: int) -> None:
    expected = printed(value, digits)
    (found,) = round_digits(np.array([value]), digits)
    assert found == expected
    assert np.signbit(found) == np.signbit(expected)


def test_ties_between_six_digits_go_to_the_even_one() -> None:
    # Columns of integers scaled to [-1, 1] meet these: k / 2^m is a decimal that ends in 5.
    values = np.arange(-(2**12), 2**12) / 2**11
    assert round_digits(values, 6).tolist() == [printed(value, 6) for value in values]


def twin(scaling: Scaling, dense: np.ndarray) -> np.ndarray:
    """Return scaled rows, one number after the other."""
    n, width = dense.shape
    d = len(scaling)
    out = np.zeros((n, d if scaling.ranges else max(width, d)))
    for i in range(n):
        for j in range(out.shape[1]):
            x = dense[i, j] if j < width else 0.0
            if j >= d:
                out[i, j] = x
                continue
            if scaling.ranges is None:
                z = (x - scaling.offset[j]) * scaling.factor[j]
            else:
                ranges = scaling.ranges
                low, high = ranges.minimum[j], ranges.maximum[j]
                if low == high:
                    continue
                z = (
                    ranges.lower
                    if x == low
                    else ranges.upper
                    if x == high
                    else ranges.lower + (ranges.upper - ranges.lower) * (x - low) / (high - low)
                )
            if scaling.clip is not None:
                z = min(max(z, scaling.clip[0]), scaling.clip[1])
            out[i, j] = z if scaling.digits is None else printed(z, scaling.digits)
    return out


SCALINGS = {
    "ranges": Scaling.from_ranges([-1, 0, 2, 0.1], [3, 0, 2.7, 7], -1, 1),
    "ranges from 0": Scaling.from_ranges([0, 0, 0, 0], [3, 1, 0, 7], 0, 1),
    "ranges, all digits": Scaling.from_ranges([-1, 0, 2, 0.1], [3, 1, 2.7, 7], -0.3, 1.1, digits=None),
    "offset and factor": Scaling(np.array([0.1, 0, -2, 4]), np.array([3, 0.7, 0, 1e-3])),
    "clipped": Scaling(np.array([0.1, 0, -2, 4]), np.array([3, 0.7, -1, 1e-3]), clip=(-0.5, 0.25)),
    "no column": Scaling(np.zeros(0), np.zeros(0)),
}


@pytest.mark.parametrize("name", SCALINGS)
@pytest.mark.parametrize("width", [0, 2, 4, 6])
def test_rows_are_scaled_as_one_number_after_the_other(name: str, width: int) -> None:
    scaling = SCALINGS[name]
    rng = np.random.default_rng(3)
    dense = np.where(rng.random((50, width)) < 0.5, rng.normal(0, 2, (50, width)).round(1), 0)
    rows = (
        Rows.from_dense(dense)
        if width
        else Rows(np.zeros(51, np.int64), np.zeros(0, np.int32), np.zeros(0), 0)
    )
    found = scaling.apply(rows)
    expected = twin(scaling, dense)
    assert found.n_columns == expected.shape[1]
    np.testing.assert_array_equal(found.to_dense(), expected)
    assert (found.values != 0).all(), "zeros are not stored"
    # The arrays are those of rows: checked once more.
    Rows(found.indptr.copy(), found.indices.copy(), found.values.copy(), found.n_columns)
    np.testing.assert_array_equal(scaling.apply(rows[7:20]).to_dense(), expected[7:20])
    assert len(scaling.apply(rows[:0])) == 0


def test_labels_are_scaled_by_svm_scales_limits() -> None:
    target = TargetRange(-1, 1, 3, 7)
    np.testing.assert_array_equal(target.apply(np.array([3.0, 7, 5, 8])), [-1, 1, 0, 1.5])
    scaling = Scaling.from_ranges([0], [1], target=target)
    np.testing.assert_array_equal(scaling.apply_labels(np.array([4.0])), [-0.5])
    assert SCALINGS["ranges"].apply_labels(np.array([4.0])) == [4.0]
    # The ends are exact, although the formula would round them.
    for low in np.linspace(-3, 3, 50):
        ends = TargetRange(low, 0.7 + low * low, low / 3, 11.0).apply(np.array([low / 3, 11.0]))
        np.testing.assert_array_equal(ends, [low, 0.7 + low * low])


def test_a_scaled_value_beyond_floating_point_names_row_and_feature() -> None:
    scaling = Scaling(np.zeros(3), np.array([1, 1e300, 1]))
    rows = Rows.from_dense([[1, 2, 3], [1, 1e10, 3]])
    with pytest.raises(
        errors.NotFiniteError, match=r"^row 2: the scaled value of feature 2 leaves the range"
    ):
        scaling.apply(rows)


def test_scalings_are_compared_by_what_they_do() -> None:
    plain = Scaling(np.zeros(2), np.ones(2))
    assert plain.same_map(Scaling(np.zeros(2), np.ones(2), feature_names=("a", "b")))
    for other in (
        Scaling(np.zeros(3), np.ones(3)),
        Scaling(np.zeros(2), np.array([1, 2.0])),
        Scaling(np.zeros(2), np.ones(2), clip=(-1, 1)),
        Scaling(np.zeros(2), np.ones(2), digits=6),
        Scaling.from_ranges([0, 0], [1, 1], 0, 1),
        None,
    ):
        assert not plain.same_map(other)


def test_ranges_are_an_offset_and_a_factor_too() -> None:
    scaling = Scaling.from_ranges([-1, 0, 2], [3, 0, 2.5], -1, 1)
    x = np.array([0.3, 5, 2.2])
    affine = (x - scaling.offset) * scaling.factor
    np.testing.assert_allclose(affine, twin(scaling, x[None])[0], atol=1e-6)
    assert affine[1] == 0


ONE, TWO = (np.ones(n) for n in (1, 2))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Scaling(TWO, np.ones(3)), "factor: 3 values; expected 2, as in offset"),
        (lambda: Scaling(np.zeros((1, 2)), TWO), "offset: an array of 2 dimensions; expected one"),
        (lambda: Scaling(np.array([np.nan]), ONE), "offset: nan or inf among the numbers"),
        (lambda: Scaling(ONE, ONE, clip=(1, 0)), "clip_lower: not the ends of an interval"),
        (lambda: Scaling(ONE, ONE, digits=18), "digits: 18; expected a number from 1 to 17"),
        (lambda: Scaling(ONE, ONE, feature_names=("a", "b")), "feature_names: 2 names; expected 1"),
        (lambda: Scaling(TWO, TWO, feature_names=("a", "a")), "feature_names: the same name twice"),
        (lambda: Scaling.from_ranges([0, 1], [1, 0]), "maximum: below the minimum"),
        (lambda: Scaling.from_ranges([0, 1], [1]), "maximum: 1 values; expected 2, as in minimum"),
        (lambda: Scaling.from_ranges([0], [1], 1, 1), "lower: not below upper"),
        (lambda: TargetRange(0, 0, 1, 2), "y_lower: not the limits of a scaled label"),
        (
            lambda: ScaledModel(load_model(IRIS), Scaling(ONE, ONE, class_names=("a",))),
            "class_names: 1 names; ",
        ),
        (lambda: with_scaling(scaled(), SCALINGS["ranges"]), "model: a model with its own scaling"),
    ],
)
def test_parts_that_do_not_fit_are_refused(make: Any, message: str) -> None:
    with pytest.raises(errors.ModelContentError, match=f"^{message}"):
        make()


def scaled(model: Any = None) -> ScaledModel:
    return ScaledModel(model or load_model(IRIS), SCALINGS["ranges"], {"method": "compress"})


@pytest.mark.parametrize(
    ("part", "value", "message"),
    [
        ("ranges", {"minimum": np.zeros(4)}, "missing 1 required positional argument: 'maximum'"),
        ("offset", np.ones(4), "factor: another map than that of the ranges"),
        ("ranges", {"minimum": np.zeros(4), "maximum": np.ones(4), "lower": 1.0}, "lower: not below upper"),
        ("feature_names", "a b c", "feature_names: not of the type list"),
        ("feature_names", ["a", "b", 3, "d"], "feature_names: not of the type str"),
        ("target", {"lower": 1.0}, "missing 3 required positional arguments"),
        ("clip", [1.0], "zip"),
        ("clip", [0.5, "1"], "clip: not a finite number"),
        ("class_labels", [1.0], r"scaling: an unknown part \('class_labels'\)"),
    ],
)
def test_a_file_that_contradicts_itself_is_refused(part: str, value: Any, message: str) -> None:
    tree = unpacked(model_bytes(scaled()))
    tree["scaling"][part] = value
    with pytest.raises(errors.ModelFormatError, match=f"<bytes>: not a valid model .*{message}"):
        load_model(packed(tree))
    del tree["model"]
    with pytest.raises(errors.ModelFormatError):
        load_model(packed(tree))


def test_a_scaling_may_wrap_a_cascade_and_be_inside_nothing() -> None:
    exact = load_model(IRIS)
    assert isinstance(exact, KernelExpansion)
    around = scaled(CascadeModel(exact, exact, 0.5))
    text = model_bytes(around)
    assert isinstance(load_model(text).unscaled, CascadeModel)
    with pytest.raises(errors.ModelContentError, match="fast: a scaled model or a cascade"):
        CascadeModel(scaled(), exact, 0.5)


def test_the_file_of_a_scaled_libsvm_model_holds_libsvms_text() -> None:
    model = scaled()
    text = model_bytes(model)
    assert model_bytes(load_model(IRIS)) in text
    loaded = open_model(text)
    assert loaded.model.provenance == {"method": "compress"}
    scaling = loaded.model.scaling
    assert scaling is not None
    assert scaling.same_map(model.scaling)


@pytest.mark.parametrize("name", SCALINGS)
def test_a_scaled_model_answers_raw_rows_as_its_model_answers_scaled_ones(name: str) -> None:
    exact = load_model(IRIS)
    assert isinstance(exact, KernelExpansion)
    fast = svmfast.approximate(exact, order=2, embed_exact=True).model
    scaling = SCALINGS[name]
    rows = Rows.from_dense(np.random.default_rng(0).normal(0, 1, (40, 4)))
    for inner in (exact, fast):
        model = ScaledModel(inner, scaling)
        inside = scaling.apply(rows)
        np.testing.assert_array_equal(model.decision_values(rows), inner.decision_values(inside))
        ours, theirs = (svmfast.predict(*pair, probability=True) for pair in ((model, rows), (inner, inside)))
        np.testing.assert_array_equal(ours.predicted, theirs.predicted)
        np.testing.assert_array_equal(ours.probabilities, theirs.probabilities)
    model = ScaledModel(fast, scaling)
    ours, theirs = (
        svmfast.predict(*pair, certify=True, bound=True, exact=exact)
        for pair in ((model, rows), (fast, inside))
    )
    for part in ("predicted", "certified", "error_bounds", "inside", "decisions"):
        np.testing.assert_array_equal(getattr(ours, part), getattr(theirs, part))
