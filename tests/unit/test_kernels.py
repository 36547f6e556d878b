"""The exact engine against LIBSVM itself (libsvm-official's C interface) and against closed forms."""

from __future__ import annotations

import ctypes

import libsvm_twin
import numpy as np
import pytest
from blocks import blocks_of
from libsvm import svm as libsvm
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from single_problems import double_labels

from svmfast.errors import UnsupportedError
from svmfast.kernels import DecisionEngine, Kernel
from svmfast.models.expansion import KernelExpansion
from svmfast.models.head import Head
from svmfast.rows import Rows

KERNEL_NUMBER = {"linear": 0, "polynomial": 1, "rbf": 2, "sigmoid": 3}
SVM_NUMBER = {"c_svc": 0, "nu_svc": 1, "one_class": 2, "epsilon_svr": 3, "nu_svr": 4}


def random_rows(rng: np.random.Generator, n: int, d: int, density: float) -> Rows:
    return Rows.from_dense(np.where(rng.random((n, d)) < density, rng.normal(size=(n, d)), 0.0))


class Trained:
    """A model trained by LIBSVM, its parts as arrays, and LIBSVM's own decision values."""

    def __init__(self, svm_type: str, kernel: Kernel, rows: Rows, y: NDArray[np.float64]) -> None:
        self.kernel = kernel
        x = [
            {int(c) + 1: float(v) for c, v in zip(r.indices, r.values, strict=True)}
            for r in (rows[i : i + 1] for i in range(len(rows)))
        ]
        parameter = libsvm.svm_parameter(
            f"-q -s {SVM_NUMBER[svm_type]} -t {KERNEL_NUMBER[kernel.kind]} -g {kernel.gamma!r} "
            f"-r {kernel.coef0!r} -d {kernel.degree}"
        )
        self.problem = libsvm.svm_problem(list(y), x)  # the model points into it
        self.model = m = libsvm.toPyModel(libsvm.libsvm.svm_train(self.problem, parameter))
        k = m.get_nr_class()
        classifies = svm_type in ("c_svc", "nu_svc")
        self.pairs = k * (k - 1) // 2 if classifies else 1
        width = max(k - 1, 1)
        coefficients = [[m.sv_coef[j][i] for i in range(m.l)] for j in range(width)]
        self.sv_coef = np.array(coefficients).reshape(width, m.l)
        self.rho = np.array([m.rho[p] for p in range(self.pairs)])
        self.nr_sv = np.array([m.nSV[i] for i in range(k)], dtype=np.int64) if classifies else None
        self.sv = rows.take([m.sv_indices[i] - 1 for i in range(m.l)])

    def engine(self) -> DecisionEngine:
        return DecisionEngine(self.kernel, self.sv, self.sv_coef, self.rho, self.nr_sv)

    def libsvm_decisions(self, rows: Rows) -> NDArray[np.float64]:
        out = np.empty((len(rows), self.pairs))
        buffer = (ctypes.c_double * self.pairs)()
        for i, vector in enumerate(libsvm_twin.vectors(rows)):
            libsvm.libsvm.svm_predict_values(self.model, libsvm_twin.nodes(vector), buffer)
            out[i] = buffer[:]
        return out


KERNELS = [
    Kernel("linear"),
    Kernel("polynomial", gamma=0.3, coef0=0.7, degree=3),
    Kernel("polynomial", gamma=0.5, coef0=0.0, degree=2),
    Kernel("rbf", gamma=0.2),
    Kernel("sigmoid", gamma=0.05, coef0=0.1),
]
# features, density of the rows: dense tiles, sparse panels, several slices of a panel, scattered columns
SHAPES = [(5, 1.0), (40, 0.2), (700, 0.15), (3000, 0.01)]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: f"{k.kind}{k.degree or ''}")
@pytest.mark.parametrize(
    ("svm_type", "d", "density"),
    [*(("c_svc", *shape) for shape in SHAPES), ("nu_svr", 40, 0.2), ("one_class", 700, 0.15)],
)
def test_decisions_are_libsvms(svm_type: str, d: int, density: float, kernel: Kernel) -> None:
    rng = np.random.default_rng(d)
    rows = random_rows(rng, 150, d, density)
    y = rng.integers(0, 4, 150).astype(float) if svm_type == "c_svc" else rng.normal(size=150)
    trained = Trained(svm_type, kernel, rows, y)
    test = random_rows(rng, 83, d + 7, density)  # the last seven columns are unknown to the model
    expected = trained.libsvm_decisions(test)
    engine = trained.engine()
    assert engine.decision_values(test, threads=2, libsvm_order=True).tobytes() == expected.tobytes()
    scale = np.abs(trained.sv_coef).sum() + np.abs(trained.rho).max()
    if kernel.kind in ("linear", "polynomial"):
        scale *= max(1.0, float(np.abs(expected).max()))
    np.testing.assert_allclose(engine.decision_values(test), expected, rtol=0, atol=1e-13 * scale)


def test_every_layout_is_covered() -> None:
    """The shapes above lead to panels and to scattered columns, as the test above assumes."""
    rng = np.random.default_rng(0)
    scattered = []
    for d, density in SHAPES:
        rows = random_rows(rng, 100, d, density)
        engine = DecisionEngine(Kernel("rbf", gamma=0.1), rows, np.ones((1, 100)), np.zeros(1), None)
        assert engine._sums is not None
        scattered.append(engine._sums.scattered)
    assert scattered == [False, False, False, True]


def test_a_row_depends_neither_on_its_neighbours_nor_on_threads() -> None:
    rng = np.random.default_rng(1)
    sv = random_rows(rng, 300, 30, 0.6)
    engine = DecisionEngine(
        Kernel("rbf", gamma=0.1),
        sv,
        rng.normal(size=(3, 300)),
        rng.normal(size=6),
        np.array([100, 1, 150, 49]),
    )
    test = Rows.concatenate([random_rows(rng, 300, 30, 0.9), random_rows(rng, 300, 30, 0.2)])
    whole = engine.decision_values(test)
    for threads in (1, 2, 5):
        assert engine.decision_values(test, threads=threads).tobytes() == whole.tobytes()
    for size in (1, 7, 64):
        parts = [engine.decision_values(chunk) for chunk in blocks_of(test, size)]
        assert np.concatenate(parts).tobytes() == whole.tobytes()


@pytest.mark.parametrize(("classes", "each", "d"), [(2, 30, 5), (5, 4, 300), (20, 3, 40), (120, 2, 300)])
def test_linear_models_of_few_and_of_many_classes(classes: int, each: int, d: int) -> None:
    """Collapsed to a weight vector per function, unless that is more work, as with 120 classes."""
    rng = np.random.default_rng(classes)
    sv = Rows.from_dense(rng.normal(size=(classes * each, d)))
    coef = rng.normal(size=(classes - 1, classes * each))
    rho = rng.normal(size=classes * (classes - 1) // 2)
    engine = DecisionEngine(Kernel("linear"), sv, coef, rho, np.full(classes, each))
    rows = Rows.from_dense(rng.normal(size=(7, d)))
    exact = engine.decision_values(rows, libsvm_order=True)
    np.testing.assert_allclose(engine.decision_values(rows, threads=2), exact, rtol=0, atol=1e-11)
    assert engine._sums is not None
    assert (engine.labels(rows)[0] == double_labels(engine, rows)[0]).all()
    assert np.array_equal(engine.decision_values(rows[2:3])[0], engine.decision_values(rows)[2])


def test_ties_are_exact() -> None:
    """Two mirrored support vectors: on the line between them LIBSVM's value is exactly 0, and so is ours."""
    coefficient, gamma = 0.123456789, 0.7
    sv = Rows.from_dense([[0.3, 1.7], [-0.3, -1.7]])
    engine = DecisionEngine(
        Kernel("rbf", gamma=gamma), sv, np.array([[coefficient, -coefficient]]), np.zeros(1), np.array([1, 1])
    )
    test = Rows.from_dense([[1.7 * t, -0.3 * t] for t in np.linspace(-3, 3, 31)] + [[0.0, 0.0]])
    expected = [
        coefficient * np.exp(-gamma * ((x - 0.3) ** 2 + (y - 1.7) ** 2))
        - coefficient * np.exp(-gamma * ((x + 0.3) ** 2 + (y + 1.7) ** 2))
        for x, y in test.to_dense()
    ]
    assert np.count_nonzero(expected) < len(expected)
    assert (np.sign(engine.decision_values(test)[:, 0]) == np.sign(expected)).all()


def test_large_norms_do_not_cancel() -> None:
    """Raw features of size 1e6 and gamma 1: ||x||^2 + ||z||^2 - 2 x.z would have no correct digit."""
    sv = Rows.from_dense([[1e6, 2e6], [1e6 + 1, 2e6]])
    engine = DecisionEngine(
        Kernel("rbf", gamma=1.0), sv, np.array([[1.0, -2.0]]), np.zeros(1), np.array([1, 1])
    )
    test = Rows.from_dense([[1e6 + 0.25, 2e6]])
    expected = np.exp(-(0.25**2)) - 2 * np.exp(-(0.75**2))
    assert engine.decision_values(test)[0, 0] == pytest.approx(expected, rel=1e-12)


def test_no_rows_no_features_no_functions() -> None:
    rbf = Kernel("rbf", gamma=1.0)
    engine = DecisionEngine(rbf, Rows.from_dense(np.zeros((2, 3))), np.ones((1, 2)), np.zeros(1), None)
    assert engine.decision_values(Rows.empty(3)).shape == (0, 1)
    values = engine.decision_values(Rows.from_dense([[0.0], [2.0]]))[:, 0]
    assert values == pytest.approx([2, 2 * np.exp(-4)])
    single = DecisionEngine(rbf, Rows.empty(), np.zeros((1, 0)), np.zeros(0), np.zeros(1, np.int64))
    assert single.decision_values(Rows.from_dense([[1.0]])).shape == (1, 0)


def test_precomputed_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="prediction with a precomputed kernel needs kernel values"):
        DecisionEngine(Kernel("precomputed"), Rows.from_dense([[1.0]]), np.ones((1, 1)), np.zeros(1), None)


def test_listed_laplacian_vectors_give_the_values_of_dense_ones() -> None:
    """Vectors with few entries, alone, and with dense ones of zero weight, which make panels dense."""
    rng = np.random.default_rng(3)
    spread = np.sort(rng.choice(2**31 - 1, 60, replace=False)).astype(np.int32)
    for columns, others in ((np.arange(60, dtype=np.int32), [60, 70]), (spread, [5, 7])):
        few = np.where(rng.random((200, 60)) < 0.03, rng.normal(size=(200, 60)), 0)
        few[np.arange(60), np.arange(60)] = 1.0
        full = rng.normal(size=(100, 60))
        rows = Rows.from_dense(np.where(rng.random((30, 64)) < 0.3, rng.normal(size=(30, 64)), 0))
        beyond = np.append(columns, np.array([*others, 2**30, 2**31 - 2], np.int32))
        order = np.argsort(beyond, kind="stable")
        x = rows.to_dense(64)[:, order]
        at = Rows.from_dense(x)
        rows = Rows(at.indptr, beyond[order][at.indices], at.values, 2**31 - 1)
        values = []
        for dense in (few, np.concatenate([few, full])):
            sv = Rows.from_dense(dense)
            sv = Rows(sv.indptr, columns[sv.indices], sv.values, 2**31 - 1)
            coef = np.zeros((2, len(sv)))
            coef[:, :200] = np.random.default_rng(0).normal(size=(2, 200))
            engine = DecisionEngine(Kernel("laplacian", 0.3), sv, coef, np.ones(2), None)
            values.append(engine.decision_values(rows))
        np.testing.assert_allclose(*values, rtol=1e-13, atol=1e-14)
        z = np.zeros((200, 64))
        z[:, :60] = few
        k = np.exp(-0.3 * cdist(x, z[:, order], "cityblock"))
        np.testing.assert_allclose(values[0], k @ coef[:, :200].T - 1, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("width", [40, 3000, 2**31 - 1])
def test_columns_at_any_distance_are_distinguished(width: int) -> None:
    """Distant columns are found by hashing: columns next to and between the model's must not be found."""
    rng = np.random.default_rng(width)
    own = np.unique(rng.integers(0, width, 30)).astype(np.int32)
    sv = Rows(np.array([0, len(own)]), own, rng.normal(size=len(own)), width)
    kernel = Kernel("linear")
    engine = DecisionEngine(kernel, sv, np.ones((1, 1)), np.zeros(1), None)
    near = np.concatenate([own, own[own < width - 1] + 1, own[own > 0] - 1, rng.integers(0, width, 2000)])
    near = np.unique(near).astype(np.int32)
    rows = Rows(np.arange(len(near) + 1), near, np.ones(len(near)), width)
    expected = np.zeros(len(near))
    expected[np.isin(near, own)] = sv.values
    np.testing.assert_array_equal(engine.decision_values(rows)[:, 0], expected)


@pytest.mark.parametrize(
    ("classes", "density"), [([40_000], 1.0), ([20_000, 0, 17_001, 5], 0.05), ([3, 33_000, 2_000], 0.05)]
)
def test_libsvms_order_over_parts_of_a_large_model(classes: list[int], density: float) -> None:
    # The native loop holds 16,384 kernel values of a row at a time.
    rng = np.random.default_rng(len(classes))
    n, d = sum(classes), 3 if density == 1 else 30
    kept = np.where(rng.uniform(size=(n, d)) < density, rng.normal(size=(n, d)), 0.0)
    k = len(classes)
    functions = max(k * (k - 1) // 2, 1)
    expansion = KernelExpansion(
        head=Head("epsilon_svr") if k == 1 else Head("c_svc", labels=np.arange(k)),
        kernel=Kernel("rbf", gamma=0.3),
        sv=Rows.from_dense(kept),
        sv_coef=rng.normal(size=(max(k - 1, 1), n)),
        rho=rng.normal(size=functions),
        nr_sv=None if k == 1 else np.array(classes),
    )
    rows = Rows.from_dense(np.where(rng.uniform(size=(3, d)) < max(density, 0.3), 0.5, 0.0))
    engine = DecisionEngine(
        expansion.kernel,
        expansion.sv,
        expansion.sv_coef,
        expansion.rho,
        None if k == 1 else np.array(classes),
    )
    values = engine.decision_values(rows, libsvm_order=True)
    assert values.tobytes() == libsvm_twin.decision_values(expansion, rows).tobytes()
