"""Routed models in LIBSVM's arrangement: a cell is one dense product, against the formula and LIBSVM."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import svmfast.models.routed as routed
from svmfast.kernels import Kernel, pairwise_coefficients
from svmfast.models.expansion import KernelExpansion
from svmfast.models.head import Head
from svmfast.models.routed import RoutedModel
from svmfast.routing import flat_tree
from svmfast.rows import FloatArray, Rows


def _model(rng: np.random.Generator, k: int, sizes: list[list[int]], d: int) -> RoutedModel:
    nr_sv = np.array(sizes, dtype=np.int64)
    m, cells = int(nr_sv.sum()), len(sizes)
    return RoutedModel(
        head=Head("c_svc", np.arange(10, 10 + k)),
        kernel="rbf",
        gamma=rng.uniform(0.1, 0.4, cells),
        children=flat_tree(cells),
        centers=rng.standard_normal((cells, d)),
        landmarks=Rows.from_dense(rng.standard_normal((m, d))),
        sizes=nr_sv.sum(axis=1),
        coef=rng.standard_normal((k - 1, m)),
        rho=rng.standard_normal((cells, k * (k - 1) // 2)) * 0.1,
        nr_sv=nr_sv,
    )


def _twin(model: RoutedModel, x: FloatArray) -> FloatArray:
    """The slow way, cell by cell."""
    assert model.nr_sv is not None
    u, end = model.landmarks.to_dense(x.shape[1]), np.cumsum(model.sizes)
    out = np.empty((len(x), model.head.n_functions))
    for i, cell in enumerate(model.route(Rows.from_dense(x))):
        part = slice(end[cell] - model.sizes[cell], end[cell])
        coef = pairwise_coefficients(model.coef[:, part], model.nr_sv[cell])
        squares = ((u[part] - x[i]) ** 2).sum(axis=1)
        out[i] = coef @ np.exp(-model.gamma[cell] * squares) - model.rho[cell]
    return out


@pytest.mark.parametrize(
    ("k", "sizes"),
    [
        (2, [[5, 4], [1, 0]]),
        (3, [[9, 17, 3]]),
        (4, [[1, 0, 2, 30], [0, 0, 0, 0], [3, 3, 3, 3]]),
        (10, [[14, 13, 14, 14, 14, 13, 14, 14, 14, 14]]),
    ],
)
@pytest.mark.parametrize("d", [3, 40])
def test_values_are_those_of_the_formula(k: int, sizes: list[list[int]], d: int) -> None:
    rng = np.random.default_rng(k)
    model = _model(rng, k, sizes, d)
    x = rng.standard_normal((77, d)) * (rng.random((77, d)) < 0.8)
    x[50:] *= rng.random((27, d)) < 0.2  # few entries: the sparse way
    rows = Rows.from_dense(x)
    got = model.decision_values(rows)
    assert model._cells is not None
    np.testing.assert_allclose(got, _twin(model, x), rtol=1e-11, atol=1e-12)
    # However rows are batched, and for any number of threads: the same bytes.
    for first, last in ((0, 77), (3, 4), (10, 61)):
        for threads in (1, 3):
            part = model.decision_values(rows[first:last], threads=threads)
            assert part.tobytes() == got[first:last].tobytes()


def test_a_vote_that_hangs_on_rounding_is_libsvms() -> None:
    """Coefficients that cancel exactly in LIBSVM's order: its bits, so its votes, for the rows in doubt."""
    rng = np.random.default_rng(0)
    u = rng.standard_normal((6, 12))
    coef = np.array([[0.1, 0.2, 0.3, -0.1, -0.2, -0.3], [0.7, -0.5, 0.3, 0.2, 0.1, 0.6]])
    # Class 1 has class 0's vectors with opposite coefficients: pair (0, 1) is nothing but rounding.
    sv = Rows.from_dense(np.vstack([u[:3], u[:3], u[3:]]))
    wide = np.hstack([coef, rng.standard_normal((2, 3))])
    head = Head("c_svc", np.array([3, 1, 2]))
    nr_sv, rho = np.array([3, 3, 3]), np.array([0.0, 0.1, -0.2])
    exact = KernelExpansion(head, Kernel("rbf", 0.05), sv, wide, rho, nr_sv)
    model = RoutedModel(
        head, "rbf", np.array([0.05]), flat_tree(1), np.zeros((1, 12)), sv, np.array([9]), wide, rho[None],
        nr_sv[None],
    )  # fmt: skip
    rows = Rows.from_dense(rng.standard_normal((40, 12)))
    theirs = exact._engine.decision_values(rows, libsvm_order=True)
    assert np.abs(theirs[:, 0]).max() < 1e-15
    assert model._cells is not None
    cell = model.route(rows)
    doubtful = model._cells.decide(cell, rows, 1)[1]
    assert doubtful.tolist() == list(range(40))
    ours = model.decision_values(rows, threads=2)
    assert ours.tobytes() == theirs.tobytes()
    assert (model.head.predict(ours) == head.predict(theirs)).all()


def test_sparse_and_laplacian_landmarks_are_met_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    model = _model(rng, 3, [[4, 5, 6], [2, 2, 2]], 30)
    rows = Rows.from_dense(rng.standard_normal((20, 30)))
    dense = model.decision_values(rows)
    monkeypatch.setattr(routed, "_DENSE_SHARE", 2.0)
    other = replace(model)
    np.testing.assert_allclose(other.decision_values(rows), dense, rtol=1e-11, atol=1e-12)
    assert other._cells is None
    assert replace(model, kernel="laplacian")._cells is None
