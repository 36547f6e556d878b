"""Rows against scipy.sparse."""

from __future__ import annotations

import numpy as np
import pytest
from blocks import blocks_of
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy.sparse import csr_array

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
    with pytest.raises(OptionError, match="nan or inf"):
        Rows.from_dense([[np.nan]])
    with pytest.raises(OptionError, match="nan or inf"):
        as_rows(csr_array(np.array([[np.inf]])))
    with pytest.raises(OptionError, match="contiguous slices"):
        Rows.from_dense(np.ones((3, 1)))[::2]
    with pytest.raises(OptionError, match="do not fit together"):
        Rows(np.zeros(1, np.int64), np.zeros(2, np.int32), np.zeros(1), 1)
