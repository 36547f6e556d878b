"""Scaling in front of a model: svm-scale's arithmetic and digits, offsets and factors, what files refuse."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from read_fixtures import exact

import svmfast
from svmfast import errors
from svmfast._core import ScalingMap, round_digits
from svmfast.formats.model_files import load_model, model_bytes, open_model
from svmfast.models.cascade import CascadeModel
from svmfast.models.scaled import ScaledModel, with_scaling
from svmfast.models.scaling import Scaling, TargetRange
from svmfast.rows import Rows

EXACT = exact("iris_c_rbf_prob")


def printed(value, digits):
    """Return what C reads of what it prints; Python's own formatting does not use the code under test."""
    return float(f"{value:.{digits}g}")


#: Columns of integers scaled to [-1, 1] meet the first: k / 2^m is a decimal that ends in 5.
TIES = [
    *(np.arange(-(2**12), 2**12) / 2**11),
    *(0.9921865, 1234565.0, 2.5, 999999.5, 9.9999995e-5, 5e-324, 1.7976931348623157e308, 0.1 - 2**-56, -0.0),
]


@settings(max_examples=4 * settings.default.max_examples)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=20), st.integers(1, 17))
@example(TIES, 6)
@example([0.5, 2.5], 1)
def test_rounding_is_printing_and_reading(values, digits):
    expected = np.array([printed(value, digits) for value in values])
    assert round_digits(np.array(values, dtype=np.float64), digits).tobytes() == expected.tobytes()


def twin(scaling, dense):
    """Return scaled rows, one number after the other."""
    n, width = dense.shape
    d, ranges = len(scaling), scaling.ranges
    out = np.zeros((n, d if ranges else max(width, d)))
    for i, j in np.ndindex(out.shape):
        x = z = dense[i, j] if j < width else 0.0
        if j < d and ranges is None:
            z = (x - scaling.offset[j]) * scaling.factor[j]
        elif j < d and ranges is not None:
            low, high, size = ranges.minimum[j], ranges.maximum[j], ranges.upper - ranges.lower
            if low == high:
                continue
            z = {low: ranges.lower, high: ranges.upper}.get(x, ranges.lower + size * (x - low) / (high - low))
        if j < d and scaling.clip is not None:
            z = min(max(z, scaling.clip[0]), scaling.clip[1])
        out[i, j] = z if scaling.digits is None or j >= d else printed(z, scaling.digits)
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
def test_rows_are_scaled_as_one_number_after_the_other(name, width):
    scaling = SCALINGS[name]
    rng = np.random.default_rng(3)
    dense = np.where(rng.random((50, width)) < 0.5, rng.normal(0, 2, (50, width)).round(1), 0)
    rows = Rows.from_dense(dense)
    found = scaling.apply(rows)
    expected = twin(scaling, dense)
    assert found.n_columns == expected.shape[1]
    np.testing.assert_array_equal(found.to_dense(), expected)
    assert (found.values != 0).all(), "zeros are not stored"
    # The arrays are those of rows: checked once more.
    Rows(found.indptr.copy(), found.indices.copy(), found.values.copy(), found.n_columns)
    np.testing.assert_array_equal(scaling.apply(rows[7:20]).to_dense(), expected[7:20])
    assert len(scaling.apply(rows[:0])) == 0


def test_labels_offsets_equality_and_overflow():
    target = TargetRange(-1, 1, 3, 7)
    np.testing.assert_array_equal(target.apply(np.array([3.0, 7, 5, 8])), [-1, 1, 0, 1.5])
    for scaling, label in ((Scaling.from_ranges([0], [1], target=target), -0.5), (SCALINGS["ranges"], 4)):
        assert scaling.apply_labels(np.array([4.0])) == [label]
    # The ends are exact, although the formula would round them.
    for low in np.linspace(-3, 3, 50):
        ends = TargetRange(low, 0.7 + low * low, low / 3, 11.0).apply(np.array([low / 3, 11.0]))
        np.testing.assert_array_equal(ends, [low, 0.7 + low * low])
    # Scalings are compared by what they do.
    zeros, ones = np.zeros(2), np.ones(2)
    plain = Scaling(zeros, ones)
    assert plain.same_map(Scaling(zeros, ones, feature_names=("a", "b")))
    others = [Scaling(np.zeros(3), np.ones(3)), Scaling(ones, ones), Scaling(zeros, ones, digits=6)]
    others += [Scaling(zeros, ones, clip=(-1, 1)), Scaling(zeros, ones * 2)]
    for other in (*others, Scaling.from_ranges(zeros, ones, 0, 1), None):
        assert not plain.same_map(other)
    # Ranges are an offset and a factor too.
    scaling, x = Scaling.from_ranges([-1, 0, 2], [3, 0, 2.5], -1, 1), np.array([0.3, 5, 2.2])
    affine = (x - scaling.offset) * scaling.factor
    np.testing.assert_allclose(affine, twin(scaling, x[None])[0], atol=1e-6)
    assert affine[1] == 0
    for digits in (-1, 18):
        with pytest.raises(ValueError, match="0 to 17 digits"):
            ScalingMap(zeros, ones, False, 0, 0, -np.inf, np.inf, digits)


def scaled(model=EXACT):
    return ScaledModel(model, SCALINGS["ranges"], {"method": "compress"})


def test_files_of_scaled_models():
    """One holds LIBSVM's text; the scaling of a cascade is around it, and of a model there is one."""
    model = scaled()
    text = model_bytes(model)
    assert model_bytes(EXACT) in text
    loaded = open_model(text).model
    assert (loaded.provenance, loaded.scaling.same_map(model.scaling)) == ({"method": "compress"}, True)
    text = model_bytes(scaled(CascadeModel(EXACT, EXACT, 0.5)))
    assert isinstance(load_model(text).unscaled, CascadeModel)
    with pytest.raises(errors.ModelContentError, match=r"^fast: a scaled model or a cascade"):
        CascadeModel(scaled(), EXACT, 0.5)
    with pytest.raises(errors.ModelContentError, match=r"^model: a model with its own scaling"):
        with_scaling(scaled(), SCALINGS["ranges"])


@pytest.mark.parametrize("name", SCALINGS)
def test_a_scaled_model_answers_raw_rows_as_its_model_answers_scaled_ones(name):
    fast, scaling = svmfast.approximate(EXACT, order=2, embed_exact=True).model, SCALINGS[name]
    rows = Rows.from_dense(np.random.default_rng(0).normal(0, 1, (40, 4)))
    inside = scaling.apply(rows)
    for inner, how in (
        (EXACT, {"probability": True}),
        (fast, {"probability": True}),
        (fast, {"certify": True, "bound": True, "exact": EXACT}),
    ):
        pairs = ((ScaledModel(inner, scaling), rows), (inner, inside))
        ours, theirs = (svmfast.predict(*pair, **how) for pair in pairs)
        for part in ("predicted", "probabilities", "certified", "error_bounds", "inside", "decisions"):
            np.testing.assert_array_equal(getattr(ours, part), getattr(theirs, part))
