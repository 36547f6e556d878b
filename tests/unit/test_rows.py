"""Rows, and values from Python and SciPy that are no rows or have the wrong width; rows do not change."""

import pickle
from functools import partial
from itertools import product

import numpy as np
import pytest
from blocks import blocks_of
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from program import data, model
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import svmfast
from svmfast.errors import ArrayWidthError, OptionError
from svmfast.rows import Rows, as_rows

FORMS = ("csr", "csc", "coo", "bsr", "dia", "lil", "dok")
ELEMENTS = st.sampled_from([0.0, -0.0, 1.0, -2.5, 1e-300])
matrices = arrays(np.float64, st.tuples(st.integers(0, 6), st.integers(0, 5)), elements=ELEMENTS)


@given(matrices, st.sampled_from("CF"))
def test_round_trips(dense, order):
    dense = np.asarray(dense, order=order)
    rows = Rows.from_dense(dense)
    assert (len(rows), rows.n_columns, rows.nnz) == (*dense.shape, np.count_nonzero(dense))
    assert np.array_equal(rows.to_dense(), dense)
    assert (rows.indptr.dtype, rows.indices.dtype) == (np.int64, np.int32)
    assert not np.shares_memory(rows.values, dense)
    assert np.array_equal(rows.to_scipy().toarray(), dense)
    np.testing.assert_allclose(rows.squared_norms(), (dense**2).sum(axis=1))
    assert rows.to_dense(9).shape == (len(dense), 9)
    for form in FORMS:
        for kind in (sparse.csr_matrix, sparse.csr_array):
            found = as_rows(kind(dense).asformat(form))
            assert np.array_equal(found.to_dense(), dense), form
            # The checks of the constructor: ascending columns, consistent sizes.
            Rows(found.indptr, found.indices, found.values, found.n_columns)


@given(matrices, st.data())
def test_take_slice_concatenate(dense, data):
    rows, n = Rows.from_dense(dense), len(dense)
    which = data.draw(st.lists(st.integers(0, max(n - 1, 0)), max_size=8 if n else 0))
    assert (rows.take(np.array(which, dtype=np.int64)).to_dense() == dense[which]).all()
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)), dtype=bool)
    assert (rows.take(mask).to_dense() == dense[mask]).all()
    start, stop = data.draw(st.integers(-7, 7)), data.draw(st.integers(-7, 7))
    assert (rows[start:stop].to_dense() == dense[start:stop]).all()
    blocks = list(blocks_of(rows, data.draw(st.integers(1, 4))))
    if blocks:
        assert (Rows.concatenate(blocks).to_dense() == dense).all()
        np.testing.assert_allclose(blocks[-1].squared_norms(), rows.squared_norms()[-len(blocks[-1]) :])
    both = Rows.concatenate([Rows.from_dense(np.ones((1, 1))), rows])  # widths may differ
    assert both.n_columns == max(1, rows.n_columns)
    assert (both[1:].to_dense() == np.pad(dense, ((0, 0), (0, both.n_columns - dense.shape[1])))).all()
    assert (rows.density, len(Rows.concatenate([]))) == (np.count_nonzero(dense) / max(1, dense.size), 0)


X, Y = load_iris(return_X_y=True)
PLAIN = svmfast.load_model(model("iris_c_rbf_prob"))
PIPELINE = svmfast.from_sklearn(make_pipeline(StandardScaler(), SVC()).fit(X, Y))
NAMED = svmfast.train(load_iris(as_frame=True).data, Y).model


def test_columns_are_checked_in_all_of_many_entries():
    n = 300_000  # more than are checked at a time
    indptr, columns = np.array([0, 5, n]), np.arange(n, dtype=np.int32)
    assert Rows(indptr, columns, np.ones(n), n).nnz == n
    for at in (6, n // 2, n - 1):
        wrong = columns.copy()
        wrong[at] = wrong[at - 1]
        with pytest.raises(OptionError, match="the columns of row 2 are not in ascending order"):
            Rows(indptr, wrong, np.ones(n), n)


def test_arrays_become_int64_int32_and_float64_of_their_own():
    """They do not change with the arrays they were made of, and are read-only."""
    columns, values = np.array([1, 9, 2, 9, 0, 9], ">i8"), np.array([1, 2, 3], np.float32)
    rows = Rows(np.array([0, 2, 3], np.uint8), columns[::2], values, 3)
    assert (rows.indptr.dtype, rows.indices.dtype, rows.values.dtype) == (np.int64, np.int32, np.float64)
    values[0] = 7
    arrays, matrix = (np.array([0, 1]), np.zeros(1, np.int32), np.array([3.0])), sparse.csr_array([[3.0]])
    same = [Rows(*arrays, 1), as_rows(matrix)]
    for array in (*arrays, matrix.data):
        array[:] = 9
    assert [one.to_dense().tolist() for one in (rows, *same)] == [[[0, 1, 2], [3, 0, 0]], [[3]], [[3]]]
    read = svmfast.read_svmlight(data("iris.test")).rows
    many = [read, read[3:9], read.take([1, 2]), Rows.concatenate([read, read]), Rows.from_dense([[1.0]])]
    for one in [*many, as_rows(read.to_scipy()), pickle.loads(pickle.dumps(read)), Rows.empty(), rows]:
        for array in (one.indptr, one.indices, one.values):
            with pytest.raises(ValueError, match="read-only"):
                array[...] = 0


@pytest.mark.parametrize("zero", [False, True])
def test_a_large_array_with_and_without_zeros(zero):
    dense = np.random.default_rng(0).normal(size=(70, 90)) + 10
    dense[3, 4] *= not zero
    for array in (np.asfortranarray(dense), dense[::2], dense):
        rows, before = Rows.from_dense(array), np.ascontiguousarray(array).copy()
        assert rows.nnz == np.count_nonzero(array) == array.size - zero * (len(array) == 70)
        dense[:] = dense if array is not dense else 0
        assert rows.to_dense(90).tobytes() == before.tobytes()


def test_entries_in_any_order_are_sorted_and_added():
    matrix = sparse.csr_matrix((np.array([1.0, 2, 4, 0, 8]), [2, 0, 2, 1, 1], [0, 4, 5]), shape=(2, 3))
    rows = Rows.from_scipy(matrix)
    assert rows.indices.tolist() == [0, 1, 2, 1]
    assert rows.values.tolist() == [2, 0, 5, 8]
    assert Rows.from_scipy(matrix, zeros=False).indices.tolist() == [0, 2, 1]
    assert matrix.indices.tolist() == [2, 0, 2, 1, 1]  # the caller's matrix is unchanged
    diagonal = sparse.dia_matrix((np.ones((1, 4)), [-1]), shape=(3, 4))  # one entry lies beyond the rows
    assert np.array_equal(Rows.from_scipy(diagonal).to_dense(), diagonal.toarray())


def put(at, value):
    return lambda array: np.r_[array[: at % len(array)], value, array[at % len(array) + 1 :]]


COMPRESSED = ("csr", "csc", "bsr")


@pytest.mark.parametrize(
    ("form", "name", "change"),
    [
        *product(COMPRESSED, ["indices"], [put(0, 10**9), put(-1, 10**9), put(0, -1)]),
        *product(COMPRESSED, ["indptr"], [put(-1, 10**6), put(1, 10**6), put(0, -3), lambda a: a[:2]]),
        *product(("csr", "csc"), ["indices"], [lambda array: array * 1.5]),
        *product((*COMPRESSED, "coo", "dia"), ["data"], [lambda array: array[:1], lambda array: array * 1j]),
        *product(["coo"], ("row", "col"), [put(0, -1), put(0, 10**9)]),
        ("csr", "data", put(0, np.inf)),
    ],
)
def test_an_invalid_matrix_is_refused(form, name, change):
    matrix = sparse.csr_matrix(np.arange(1.0, 25).reshape(6, 4)).asformat(form)
    setattr(matrix, name, change(getattr(matrix, name).copy()))
    with pytest.raises(OptionError):
        svmfast.predict(PLAIN, matrix)


MASKED = np.ma.masked_array(np.ones((4, 4)), np.eye(4))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (MASKED, "has masked values; fill them, or leave their rows out"),
        ([*MASKED], "has masked values; fill them, or leave their rows out"),
        (MASKED + 1j, "is an array of complex128; expected real numbers"),
        (np.zeros((4, 4), "M8[D]"), r"is an array of datetime64\[D\]; expected real numbers"),
        (np.full((4, 4), None), "holds None, which is not a number"),
        (np.array([[np.timedelta64(1, "D")] * 4] * 4, dtype=object), "holds .*timedelta64.*, which is not"),
    ],
)
def test_no_part_of_a_value_is_dropped(values, message):
    """NumPy would take what is masked, the real part, or a number of days."""
    with pytest.raises(OptionError, match=f"^the data {message}"):
        svmfast.predict(PLAIN, values)
    with pytest.raises(OptionError, match=f"^the array {message}"):
        as_rows(values)
    for read in (svmfast.train, svmfast.linear, partial(svmfast.compare, {"model": PLAIN})):
        with pytest.raises(OptionError, match=f"^`labels` {message}"):
            read(np.eye(4), values[0])


FEW = r"^the data have 3 columns; expected at least 4, the number of the model's features$"
OTHER = r"^the data have {} columns; expected 4, the number of the model's features$"
WARNING = "the data have 5 columns, the model has 4 features"

FUNCTIONS = {
    "predict": svmfast.predict,
    "Predictor": lambda model, rows: svmfast.Predictor(model).answer(rows),
    "compare": lambda model, rows: svmfast.compare({"model": model}, rows),
    "bound_check": lambda model, rows: svmfast.bound_check(rows, model=model),
    "approximate": lambda model, rows: svmfast.approximate(model, rows, force=True),
    "compress": lambda model, rows: svmfast.compress(model, rows, sv=20),
    "export": lambda model, rows: svmfast.export(model, "c", test=rows),
}


def wide(width):
    return np.column_stack([X, np.ones(len(X))])[:, :width]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_array_of_another_width_is_refused(name):
    few = [(PLAIN, rows, FEW) for rows in (wide(3), wide(3).tolist())]
    others = [(one, wide(width), OTHER.format(width)) for one in (PIPELINE, NAMED) for width in (3, 5)]
    for one, rows, message in few + others:
        with pytest.raises(ArrayWidthError, match=message):
            FUNCTIONS[name](one, rows)
    assert issubclass(ArrayWidthError, ValueError)  # as scikit-learn's


def test_other_widths_that_are_taken():
    """Further columns enter the distances of a LIBSVM model, as in svm-predict; a warning says so, once."""
    found, same = (svmfast.predict(PLAIN, form(wide(5))) for form in (np.asarray, sparse.csr_matrix))
    assert found.notes == (WARNING,)
    assert np.array_equal(found.decisions, same.decisions)
    assert not np.array_equal(found.decisions, svmfast.predict(PLAIN, wide(4)).decisions)
    predictor = svmfast.Predictor(PLAIN)
    for row in wide(5)[:3]:
        predictor.answer(row)
    assert predictor.listener.warnings == [WARNING]
    # Matrices and rows may have any width.
    filled, narrow = np.column_stack([wide(3), np.zeros(len(X))]), sparse.csr_matrix(wide(3))
    for one in (PLAIN, PIPELINE):
        answers = [svmfast.predict(one, rows).predicted for rows in (filled, narrow, as_rows(narrow))]
        assert np.array_equal(answers[0], answers[1])
        assert np.array_equal(answers[0], answers[2])
    assert svmfast.predict(PLAIN, svmfast.read_svmlight(data("iris.test"))).notes == ()
