"""Rows against scipy.sparse; arrays that are no rows are refused, and rows do not change."""

from __future__ import annotations

import pickle
import threading
from typing import Any

import numpy as np
import pytest
from blocks import blocks_of
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from program import data as fixture
from program import model
from scipy.sparse import csr_array, csr_matrix

import svmfast
from svmfast.errors import OptionError
from svmfast.rows import Rows, as_rows

matrices = arrays(
    np.float64,
    st.tuples(st.integers(0, 6), st.integers(1, 5)),
    elements=st.sampled_from([0.0, 0.0, 1.0, -2.5, 1e-300]),
)


@given(matrices)
def test_round_trips(dense: NDArray[np.float64]) -> None:
    rows = Rows.from_dense(dense)
    assert len(rows) == len(dense)
    assert (rows.to_dense() == dense).all()
    assert (rows.to_scipy().toarray() == dense).all()
    assert (as_rows(csr_array(dense)).to_dense() == dense).all()
    assert rows.nnz == np.count_nonzero(dense)
    np.testing.assert_allclose(rows.squared_norms(), (dense**2).sum(axis=1))
    assert rows.to_dense(9).shape == (len(dense), 9)


@given(matrices, st.data())
def test_take_slice_concatenate(dense: NDArray[np.float64], data: st.DataObject) -> None:
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


def test_widths_may_differ() -> None:
    both = Rows.concatenate([Rows.from_dense([[1.0]]), Rows.from_dense([[0.0, 0.0, 2.0]])])
    assert both.to_dense().tolist() == [[1, 0, 0], [0, 0, 2]]
    assert len(Rows.concatenate([])) == 0
    assert Rows.empty(4).density == 0


def test_refusals() -> None:
    with pytest.raises(
        OptionError, match="the array holds nan in row 3, column 2; every value must be finite"
    ):
        Rows.from_dense([[1, 2], [0, 3], [4, np.nan]])
    with pytest.raises(OptionError, match="the matrix holds inf in row 3, column 2;"):
        as_rows(csr_array(np.array([[1, 0], [0, 0], [0, np.inf]])))
    with pytest.raises(OptionError, match="contiguous slices"):
        Rows.from_dense(np.ones((3, 1)))[::2]
    with pytest.raises(OptionError, match="are inconsistent"):
        Rows(np.zeros(1, np.int64), np.zeros(2, np.int32), np.zeros(1), 1)


BIG = 2**31 - 1


@pytest.mark.parametrize(
    ("indptr", "indices", "values", "n_columns", "message"),
    [
        ([0, 10**9], [0], [1.0], 30, "indptr does not ascend within 0 to 1, the number of entries"),
        ([-1, 1], [0], [1.0], 30, "indptr does not ascend"),
        ([0, 2, 1, 2], [0, 1], [1.0, 2.0], 30, "indptr does not ascend"),
        ([0, 2**63 - 1, -(2**63), 1], [0], [1.0], 30, "indptr does not ascend"),
        (np.array([0, 2**64 - 1], np.uint64), [0], [1.0], 30, "indptr does not ascend"),
        ([], [], [], 30, "are inconsistent: they have 0, 0 and 0 entries"),
        ([0, 1], [0, 1], [1.0], 30, "are inconsistent: they have 2, 2 and 1 entries"),
        ([0, 1], [30], [1.0], 30, "column 30 is out of range for 30 columns"),
        ([0, 1], [-1], [1.0], 30, "column -1 is out of range for 30 columns"),
        ([0, 1], [2**32], [1.0], BIG, "column 4294967296 is out of range for 2,147,483,647 columns"),
        ([0, 1], [-(2**32)], [1.0], BIG, "column -4294967296 is out of range"),
        (np.array([0, 1], np.uint64), np.array([2**63], np.uint64), [1.0], BIG, "column 9223372036854775808"),
        ([0, 1], [0], [1.0], 2**31, "2,147,483,648 columns; at most 2,147,483,647"),
        ([0, 1], [0], [1.0], -1, "-1 columns"),
        ([0, 1, 3], [0, 4, 4], [1.0, 2.0, 3.0], 30, "the columns of row 2 are not in ascending order"),
        ([0, 2], [4, 3], [1.0, 2.0], 30, "the columns of row 1 are not in ascending order"),
        (
            [[0, 1]],
            [0],
            [1.0],
            30,
            "indptr is a 2-dimensional array of int64; expected 1 dimension of integers",
        ),
        (
            [0.0, 1.0],
            [0],
            [1.0],
            30,
            "indptr is a 1-dimensional array of float64; expected 1 dimension of integers",
        ),
        ([0, 1], [0.5], [1.0], 30, "indices is a 1-dimensional array of float64"),
        (
            [0, 1],
            [0],
            [1j],
            30,
            "values is a 1-dimensional array of complex128; expected 1 dimension of numbers",
        ),
        ([0, 1], [0], ["1"], 30, "values is a 1-dimensional array of <U1"),
    ],
)
def test_objects_that_are_not_rows_are_refused(
    indptr: Any, indices: Any, values: Any, n_columns: int, message: str
) -> None:
    with pytest.raises(OptionError, match=message):
        Rows(indptr, indices, values, n_columns)


def test_columns_are_checked_in_all_of_many_entries() -> None:
    n = 300_000  # more than are checked at a time
    indptr, columns = np.array([0, 5, n]), np.arange(n, dtype=np.int32)
    assert Rows(indptr, columns, np.ones(n), n).nnz == n
    for at in (6, n // 2, n - 1):
        wrong = columns.copy()
        wrong[at] = wrong[at - 1]
        with pytest.raises(OptionError, match="the columns of row 2 are not in ascending order"):
            Rows(indptr, wrong, np.ones(n), n)


def test_arrays_of_any_kind_become_int64_int32_and_float64() -> None:
    rows = Rows(
        np.array([0, 2, 3], np.uint8),
        np.array([1, 9, 2, 9, 0, 9], ">i8")[::2],
        np.array([1, 2, 3], np.float32),
        3,
    )
    assert (rows.indptr.dtype, rows.indices.dtype, rows.values.dtype) == (np.int64, np.int32, np.float64)
    assert rows.to_dense().tolist() == [[0, 1, 2], [3, 0, 0]]


def test_columns_beyond_32_bits_are_not_wrapped() -> None:
    indices = np.array([0, 2**32], np.int64)
    wide = csr_matrix((np.ones(2), indices, np.array([0, 2], np.int64)), shape=(1, 2**32 + 1))
    with pytest.raises(OptionError, match="4,294,967,297 columns; at most 2,147,483,647"):
        as_rows(wide)


def test_rows_do_not_change_with_the_arrays_they_were_made_of() -> None:
    indptr, indices, values = np.array([0, 2]), np.array([0, 1], np.int32), np.array([1.0, 2.0])
    rows = Rows(indptr, indices, values, 2)
    values[0], indices[1], indptr[1] = 7.0, 9, 10**9
    assert rows.to_dense().tolist() == [[1, 2]]
    matrix = csr_array(np.array([[3.0, 4.0]]))
    rows = as_rows(matrix)
    matrix.data[0] = 8
    assert rows.to_dense().tolist() == [[3, 4]]


def test_arrays_of_rows_are_read_only() -> None:
    read = svmfast.read_svmlight(fixture("iris.test")).rows
    many = [read, read[3:9], read.take([1, 2]), Rows.concatenate([read, read]), Rows.from_dense([[1.0]])]
    many += [as_rows(read.to_scipy()), pickle.loads(pickle.dumps(read)), Rows.empty()]
    for rows in many:
        for array in (rows.indptr, rows.indices, rows.values):
            with pytest.raises(ValueError, match="read-only"):
                array[...] = 0


def test_changing_the_arrays_while_predicting_changes_nothing() -> None:
    exact = svmfast.load_model(model("photos_c_rbf"))
    given = svmfast.read_svmlight(fixture("photos.test")).rows
    arrays = [np.array(a) for a in (given.indptr, given.indices, given.values)]
    rows = Rows(*arrays, given.n_columns)
    expected, ended = exact.decision_values(rows), threading.Event()

    def disturb() -> None:
        while not ended.is_set():
            for array in arrays:
                array[...] = -(2**30)

    other = threading.Thread(target=disturb)
    other.start()
    try:
        assert np.array_equal(exact.decision_values(rows, threads=2), expected)
    finally:
        ended.set()
        other.join()


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (1, 1), (1, 7), (5, 1), (6, 4)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_dense_rows_of_any_shape_come_back(shape: tuple[int, int], order: str) -> None:
    rng = np.random.default_rng(4)
    dense = np.asarray(np.where(rng.random(shape) < 0.5, rng.normal(size=shape), -0.0), order=order)  # type: ignore[call-overload]
    rows = Rows.from_dense(dense)
    assert (len(rows), rows.n_columns, rows.nnz) == (*shape, np.count_nonzero(dense))
    assert np.array_equal(rows.to_dense(), dense)
    assert (rows.indptr.dtype, rows.indices.dtype) == (np.int64, np.int32)
    assert not np.shares_memory(rows.values, dense)


@pytest.mark.parametrize("zero", [False, True])
def test_a_large_array_with_and_without_zeros(zero: bool) -> None:
    dense = np.random.default_rng(0).normal(size=(70, 90)) + 10
    dense[3, 4] *= not zero
    for array in (dense, np.asfortranarray(dense), dense[::2]):
        rows = Rows.from_dense(array)
        assert rows.nnz == array.size - zero * (len(array) == 70)
        assert rows.to_dense(90).tobytes() == np.ascontiguousarray(array).tobytes()
    rows, before = Rows.from_dense(dense), dense.copy()
    dense[:] = 0
    assert rows.to_dense(90).tobytes() == before.tobytes()
