"""Rows of SciPy's matrices, which are checked before anything relies on their indices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from program import model
from scipy import sparse

import svmfast
from svmfast.errors import OptionError
from svmfast.rows import Rows

FORMS = ("csr", "csc", "coo", "bsr", "dia", "lil", "dok")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csr_array])
@pytest.mark.parametrize("shape", [(6, 4), (0, 4), (3, 0), (1, 1)])
def test_every_form_has_the_rows_of_its_dense_matrix(form: str, kind: Any, shape: tuple[int, int]) -> None:
    chance = np.random.default_rng(1)
    dense = chance.normal(size=shape) * (chance.random(shape) < 0.5)
    rows = Rows.from_scipy(kind(dense).asformat(form))
    assert np.array_equal(rows.to_dense(), dense)
    # The checks of the constructor: ascending columns, consistent sizes.
    Rows(rows.indptr, rows.indices, rows.values, rows.n_columns)


def test_entries_in_any_order_are_sorted_and_added() -> None:
    matrix = sparse.csr_matrix((np.array([1.0, 2, 4, 0, 8]), [2, 0, 2, 1, 1], [0, 4, 5]), shape=(2, 3))
    rows = Rows.from_scipy(matrix)
    assert rows.indices.tolist() == [0, 1, 2, 1]
    assert rows.values.tolist() == [2, 0, 5, 8]
    assert Rows.from_scipy(matrix, zeros=False).indices.tolist() == [0, 2, 1]
    assert matrix.indices.tolist() == [2, 0, 2, 1, 1]  # the caller's matrix is unchanged


def spoiled(form: str, name: str, change: Callable[[Any], Any]) -> Any:
    matrix = sparse.csr_matrix(np.arange(1.0, 25).reshape(6, 4)).asformat(form)
    setattr(matrix, name, change(getattr(matrix, name).copy()))
    return matrix


def put(at: int, value: int) -> Callable[[Any], Any]:
    def change(array: Any) -> Any:
        array[at] = value
        return array

    return change


@pytest.mark.parametrize(
    "matrix",
    [
        *(spoiled(form, "indices", put(at, 10**9)) for form in ("csr", "csc", "bsr") for at in (0, -1)),
        *(spoiled(form, "indices", put(0, -1)) for form in ("csr", "csc", "bsr")),
        *(spoiled(form, "indptr", put(-1, 10**6)) for form in ("csr", "csc", "bsr")),
        *(spoiled(form, "indptr", put(1, 10**6)) for form in ("csr", "csc", "bsr")),
        *(spoiled(form, "indptr", put(0, -3)) for form in ("csr", "csc", "bsr")),
        *(spoiled(form, "indptr", lambda array: array[:2]) for form in ("csr", "csc", "bsr")),
        *(spoiled(form, "indices", lambda array: array * 1.5) for form in ("csr", "csc")),
        *(spoiled(form, "data", lambda array: array[:1]) for form in ("csr", "csc", "bsr", "coo", "dia")),
        *(spoiled(form, "data", lambda array: array * 1j) for form in FORMS if form not in ("lil", "dok")),
        *(spoiled("coo", name, put(0, value)) for name in ("row", "col") for value in (-1, 10**9)),
        sparse.csr_matrix([[np.inf]]),
        sparse.coo_array(np.ones(4)),
    ],
)
def test_an_invalid_matrix_is_refused(matrix: Any) -> None:
    loaded = svmfast.load_model(model("iris_c_rbf_prob"))
    if matrix.shape == (1, 4):
        pytest.skip("this SciPy has no arrays of one dimension")
    with pytest.raises(OptionError):
        svmfast.predict(loaded, matrix)
