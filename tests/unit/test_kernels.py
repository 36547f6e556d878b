"""The exact engine against LIBSVM itself (libsvm-official's C interface) and against closed forms."""

import numpy as np
import pytest
from libsvm_twin import libsvms, vectors
from scipy.spatial.distance import cdist

from svmfast.errors import UnsupportedError
from svmfast.formats.model_files import save_model
from svmfast.kernels import DecisionEngine, Kernel
from svmfast.models.expansion import KernelExpansion
from svmfast.models.head import Head
from svmfast.rows import Rows


def random_rows(rng, n, d, density):
    return Rows.from_dense(np.where(rng.random((n, d)) < density, rng.normal(size=(n, d)), 0.0))


KERNELS = [
    Kernel("linear"),
    Kernel("polynomial", gamma=0.3, coef0=0.7, degree=3),
    Kernel("polynomial", gamma=0.5, coef0=0.0, degree=2),
    Kernel("rbf", gamma=0.2),
    Kernel("sigmoid", gamma=0.05, coef0=0.1),
]
FOUR = [40, 1, 0, 109]
SHAPES = (5, 1.0), (40, 0.2), (700, 0.15), (3000, 0.01)
#: Sizes of classes (or a number of vectors), features, density, kernel. Dense tiles, sparse panels, several
#: slices of a panel and scattered columns; linear models of few classes are collapsed to a vector for each
#: function; of large models 16,384 kernel values of a row are held at a time.
CASES = [
    *((FOUR, *shape, kernel) for shape in SHAPES for kernel in KERNELS),
    *((150, *shape, kernel) for shape in SHAPES[1:3] for kernel in KERNELS),
    *(
        (*shape, 1.0, KERNELS[0])
        for shape in (([30] * 2, 5), ([4] * 5, 300), ([3] * 20, 40), ([2] * 120, 300))
    ),
    (40_000, 3, 1.0, KERNELS[3]),
    ([20_000, 0, 17_001, 5], 30, 0.05, KERNELS[3]),
    ([3, 33_000, 2_000], 30, 0.05, KERNELS[3]),
]


@pytest.mark.parametrize(("sizes", "d", "density", "kernel"), CASES)
def test_decisions_are_libsvms(sizes, d, density, kernel, tmp_path):
    """Also the labels; a row depends neither on its neighbours nor on threads."""
    rng = np.random.default_rng(d)
    n, k = (sizes, 2) if isinstance(sizes, int) else (sum(sizes), len(sizes))
    head, nr_sv = (
        (Head("nu_svr"), None) if isinstance(sizes, int) else (Head("c_svc", np.arange(k)), np.array(sizes))
    )
    coef, rho = rng.normal(size=(k - 1, n)), rng.normal(size=k * (k - 1) // 2)
    model = KernelExpansion(head, kernel, random_rows(rng, n, d, density), coef, rho, nr_sv)
    # The last seven columns are unknown to the model.
    count = 5 if n > 1000 else 41
    test = Rows.concatenate([random_rows(rng, count, d + 7, share) for share in (density, 0.3)])
    save_model(model, tmp_path / "model")
    expected = libsvms(tmp_path / "model", vectors(test), head)[:, 1 : 1 + len(rho)]
    engine = DecisionEngine(kernel, model.sv, coef, rho, nr_sv)
    assert engine._sums.scattered == (d == 3000)
    assert engine.decision_values(test, threads=2, libsvm_order=True).tobytes() == expected.tobytes()
    scale = np.abs(coef).sum() + np.abs(rho).max()
    if kernel.kind in ("linear", "polynomial"):
        scale *= max(1.0, float(np.abs(expected).max()))
    found = engine.decision_values(test)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13 * scale)
    for first, last, threads in ((0, 99, 3), (2, 3, 1), (1, 8, 2), (5, 69, 1)):
        part = test[first : min(last, len(test))]
        assert engine.decision_values(part, threads=threads).tobytes() == found[first:last].tobytes()
    if nr_sv is not None:
        labels = head.predict(expected).tolist()
        assert engine.labels(test)[0].tolist() == head.predict(found).tolist() == labels


def one_function(kernel, sv, coef, rho=0.0):
    return DecisionEngine(kernel, sv, np.atleast_2d(coef), np.full(len(np.atleast_2d(coef)), rho), None)


def test_ties_are_exact():
    """Two mirrored support vectors: on the line between them LIBSVM's value is exactly 0, and so is ours."""
    sv = np.array([[0.3, 1.7], [-0.3, -1.7]])
    engine = one_function(Kernel("rbf", 0.7), Rows.from_dense(sv), [0.123456789, -0.123456789])
    test = np.array([*([1.7 * t, -0.3 * t] for t in np.linspace(-3, 3, 31)), [0.0, 0.0]])
    first, second = (0.123456789 * np.exp(-0.7 * ((test - z) ** 2).sum(axis=1)) for z in sv)
    assert np.count_nonzero(first - second) < len(test)
    assert (np.sign(engine.decision_values(Rows.from_dense(test))[:, 0]) == np.sign(first - second)).all()


def test_large_norms_do_not_cancel():
    """Raw features of size 1e6 and gamma 1: ||x||^2 + ||z||^2 - 2 x.z would have no correct digit."""
    sv = Rows.from_dense([[1e6, 2e6], [1e6 + 1, 2e6]])
    row = Rows.from_dense([[1e6 + 0.25, 2e6]])
    found = one_function(Kernel("rbf", 1.0), sv, [1.0, -2.0]).decision_values(row)
    assert found[0, 0] == pytest.approx(np.exp(-(0.25**2)) - 2 * np.exp(-(0.75**2)), rel=1e-12)


def test_no_rows_no_features_no_functions():
    rbf = Kernel("rbf", gamma=1.0)
    engine = one_function(rbf, Rows.from_dense(np.zeros((2, 3))), np.ones(2))
    assert engine.decision_values(Rows.empty(3)).shape == (0, 1)
    values = engine.decision_values(Rows.from_dense([[0.0], [2.0]]))[:, 0]
    assert values == pytest.approx([2, 2 * np.exp(-4)])
    single = DecisionEngine(rbf, Rows.empty(), np.zeros((1, 0)), np.zeros(0), np.zeros(1, np.int64))
    assert single.decision_values(Rows.from_dense([[1.0]])).shape == (1, 0)
    with pytest.raises(UnsupportedError, match="prediction with a precomputed kernel needs kernel values"):
        one_function(Kernel("precomputed"), Rows.from_dense([[1.0]]), [1.0])


@pytest.mark.parametrize("spread", [False, True])
@pytest.mark.parametrize("others", [0, 100])
def test_laplacian_values_are_those_of_the_definition(spread, others):
    """Vectors with few entries are listed, unless dense ones, here of zero weight, make panels dense."""
    rng = np.random.default_rng(3)
    columns = np.sort(rng.choice(2**31 - 1, 64, replace=False)) if spread else np.r_[:62, 2**30, 2**31 - 2]
    known = np.sort(rng.choice(64, 60, replace=False))  # the other four occur in rows only
    z = np.zeros((200 + others, 64))
    z[:200, known] = np.where(rng.random((200, 60)) < 0.03, rng.normal(size=(200, 60)), 0)
    z[np.arange(60), known] = 1.0
    z[200:, known] = rng.normal(size=(others, 60))
    x = np.where(rng.random((30, 64)) < 0.3, rng.normal(size=(30, 64)), 0)
    rows, sv = (
        Rows(one.indptr, columns.astype(np.int32)[one.indices], one.values, 2**31 - 1)
        for one in map(Rows.from_dense, (x, z))
    )
    coef = rng.normal(size=(2, len(z))) * (np.arange(len(z)) < 200)
    values = one_function(Kernel("laplacian", 0.3), sv, coef, 1.0).decision_values(rows)
    expected = np.exp(-0.3 * cdist(x, z, "cityblock")) @ coef.T - 1
    np.testing.assert_allclose(values, expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("width", [40, 3000, 2**31 - 1])
def test_columns_at_any_distance_are_distinguished(width):
    """Distant columns are found by hashing: columns next to and between the model's must not be found."""
    rng = np.random.default_rng(width)
    own = np.unique(rng.integers(0, width, 30)).astype(np.int32)
    sv = Rows(np.array([0, len(own)]), own, rng.normal(size=len(own)), width)
    near = np.concatenate([own, own[own < width - 1] + 1, own[own > 0] - 1, rng.integers(0, width, 2000)])
    near = np.unique(near).astype(np.int32)
    rows = Rows(np.arange(len(near) + 1), near, np.ones(len(near)), width)
    expected = np.zeros(len(near))
    expected[np.isin(near, own)] = sv.values
    found = one_function(Kernel("linear"), sv, [1.0]).decision_values(rows)
    np.testing.assert_array_equal(found[:, 0], expected)
