"""`svmfast meka --block-only`: local models against scikit-learn on the same rows, held and in a file."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from linear_svc import linear_svc
from meka_problems import settings
from program import data
from read_fixtures import predicted
from read_fixtures import rows as read
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import SVC
from two_moons import kernel

from svmfast import meka
from svmfast.errors import MemoryLimitError
from svmfast.formats.checkpoint import Checkpoint
from svmfast.formats.model_files import model_bytes
from svmfast.formats.spool import Spool
from svmfast.formats.svmlight import read_svmlight
from svmfast.methods.meka import blocks
from svmfast.methods.meka.fit import fit, fit_blocks
from svmfast.methods.method import Setting
from svmfast.rows import Rows
from svmfast.solvers.row_blocks import HeldBlocks

RNG = np.random.default_rng(2)
BLOCKS = replace(settings(block_only=True, gamma=(0.05,), C=(2.0,)), rank=None)


def in_file(rows, labels, options, threads):
    """The model of rows in a temporary file."""
    with Spool(1 << 20) as spool:
        for k in range(0, len(rows), 501):
            spool.add(rows[k : k + 501], labels[k : k + 501])
        assert spool.finish().n_sets > 1
        return fit_blocks(spool, options, Setting(threads))[0]


@pytest.mark.parametrize(
    "changes",
    [{}, {"landmarks": 20}, {"task": "ridge"}, {"task": "ridge", "landmarks": 9}, {"clusters": None}],
)
def test_rows_in_a_file_and_in_memory_give_the_same_bytes(changes):
    x = RNG.normal(size=(30_000, 3))
    y = np.where(RNG.random(len(x)) < 0.1, 3.0, np.where(x[:, 0] * x[:, 1] > 0, 1.0, 2.0))
    options = replace(BLOCKS, **{"clusters": 150, "overlap": 0.3, "gamma": (0.5,), **changes})
    made, report = fit(Rows.from_dense(x), y, options)
    for threads in (1, 2):
        assert model_bytes(in_file(Rows.from_dense(x), y, options, threads)) == model_bytes(made)
    assert (report.rows, report.clusters) == (len(x), made.n_cells)
    if "landmarks" in changes:
        assert set(report.ranks) == {options.landmarks}
        return
    # A reach is found from a sample of the rows.
    assert sum(report.ranks) == pytest.approx(1.3 * len(x), rel=0.03)
    if "clusters" in changes:
        assert max(report.ranks) < 3 * 2000
        assert made.n_cells == pytest.approx(15, abs=3)


def test_a_local_model_is_that_of_its_rows_and_as_many_near_ones_of_its_classes():
    (rows, y), (test, _) = read("digits.train"), read("digits.test")
    made, report = fit(rows, y, replace(BLOCKS, clusters=5, overlap=0.4))
    own, cells, answers = made.route(rows), made.route(test), predicted(made, test)
    x = rows.to_dense()
    distance = ((x[:, None] - made.centers[:, : x.shape[1]]) ** 2).sum(axis=2)
    for cell in range(5):
        mine, there = own == cell, cells == cell
        gap = np.where(mine, np.inf, distance[:, cell] - distance.min(axis=1))
        near = np.argsort(gap)[: round(0.4 * mine.sum())]
        assert report.ranks[cell] == mine.sum() + len(near)
        used = np.union1d(np.flatnonzero(mine), near)
        used = used[np.isin(y[used], y[mine])]
        local = SVC(C=2.0, gamma=0.05).fit(x[used], y[used])
        assert np.mean(local.predict(test.to_dense(x.shape[1])[there]) == answers[there]) > 0.995


@pytest.mark.parametrize("name", ["breast", "wine"])
def test_landmarks_fit_the_squared_hinge_of_the_classes_present(name):
    """With every row as a landmark: as scikit-learn's linear SVM on the exact kernel's features."""
    dataset, weights = read_svmlight(data(f"{name}.train")), {1: 4.0, 2: 0.25}
    rows, y = dataset.rows, dataset.labels
    options = {"task": "svc", "gamma": 0.05, "clusters": 1, "landmarks": len(rows), "block_only": True}
    made, _ = meka(dataset, weights=weights, **options)
    values, vectors = np.linalg.eigh(kernel(rows.to_dense(), rows.to_dense(), 0.05))
    features = vectors * np.sqrt(np.maximum(values, 0))
    each = np.array([weights.get(int(label), 1.0) for label in y])
    expected = linear_svc(made.head.labels, features, y, features, weights=each)
    np.testing.assert_allclose(made.decision_values(rows), expected, rtol=0, atol=2e-3)
    made, _ = meka(dataset, **{**options, "clusters": 8, "landmarks": 15})
    cells, found = made.route(rows), predicted(made, rows)
    assert (made.sizes <= 15).all()
    of_cells = np.split(np.abs(made.coef), np.cumsum(made.sizes)[:-1], axis=1)
    for cell, (coef, rho) in enumerate(zip(of_cells, made.rho, strict=True)):
        assert set(found[cells == cell]) <= set(y[cells == cell])
        if len(rho) > 1:  # absent classes lose everywhere
            present = np.isin(made.head.labels, y[cells == cell])
            assert (-rho[~present] < (-coef.sum(axis=1) - rho)[present].min()).all()
    assert np.mean(found == y) > 0.95


def test_landmarks_of_ridge_have_each_cluster_s_own_mean():
    (rows, y), (test, _) = read("diabetes.train"), read("diabetes.test")
    made, _ = fit(rows, y, replace(BLOCKS, task="ridge", lambda_=(0.3,), landmarks=len(rows)))
    own, cells, x = made.route(rows), made.route(test), rows.to_dense(10)
    for cell in range(3):
        mine, there = own == cell, cells == cell
        local = KernelRidge(alpha=0.3, kernel="rbf", gamma=0.05).fit(x[mine], y[mine] - y[mine].mean())
        expected = local.predict(test.to_dense(10)[there]) + y[mine].mean()
        np.testing.assert_allclose(made.decision_values(test)[there, 0], expected, rtol=1e-4)


def test_hard_rows(tmp_path, monkeypatch):
    """Equal rows, leaves of one class, fewer rows than leaves, wide sparse rows; what is left out is said."""
    notes: list[str] = []
    x = np.vstack([np.zeros((300, 2)), RNG.normal(size=(100, 2)) + 9])
    y = np.concatenate([np.where(np.arange(300) % 3, 1.0, 4.0), np.full(50, 2.0), np.full(50, 3.0)])
    options = replace(BLOCKS, clusters=None, cluster_rows=10, overlap=1.0)
    made, _ = fit(Rows.from_dense(x), y, options, Setting(1, note=notes.append))
    assert (predicted(made, Rows.from_dense(x[:300])) == 1).all()
    kept = Setting(1, note=notes.append, checkpoint=partial(Checkpoint, str(tmp_path / "kept")))
    for done in (0, 3, None):  # cells that are known
        if done == 3:
            next((tmp_path / "kept").glob("*-3.npz")).unlink()
        assert model_bytes(fit(Rows.from_dense(x), y, options, kept)[0]) == model_bytes(made)
    assert len(notes) == 4
    assert len(set(notes)) == 1
    assert "rows of clusters that k-means could not divide were left out" in notes[0]
    assert made.n_cells > 4
    monkeypatch.setattr(blocks, "MOST_TIMES", 1e-9)  # so that a leaf may have no chosen row
    one, _ = fit(Rows.from_dense(x), y, replace(options, task="ridge", landmarks=5))
    assert (one.sizes == 1).all()
    few = Rows.from_dense([[0.0, 1.0], [5.0, 0.0], [0.0, 1.0]]).renumbered(
        np.array([70, 3, 70], np.int32), 10**6
    )
    made, report = fit(few, np.array([1.0, 2.0, 1.0]), replace(BLOCKS, clusters=7))
    assert (report.clusters, made.n_features, len(made.landmarks)) == (2, 10**6, 0)
    assert predicted(made, few).tolist() == [1, 2, 1]


def test_memory_is_checked_for_centers_clusters_and_the_model():
    rows = Rows.from_dense(RNG.normal(size=(2000, 3)))
    y = np.where(RNG.random(2000) < 0.5, 1.0, -1.0)
    wide = rows.renumbered(rows.indices * 1000, 3001)
    for given, changes, what in (
        (wide, {"clusters": 50}, "a center of 3,001 features"),
        (rows, {"clusters": 1, "task": "ridge"}, "training on clusters of up to 2,000 rows"),
        (rows, {"cluster_rows": 20, "clusters": None, "overlap": 0.5}, "the model"),
        # Also with the landmarks that would make the model small enough.
        (
            rows,
            {"cluster_rows": 20, "clusters": None, "overlap": 9.0},
            "training on clusters of up to 2.. rows",
        ),
    ):
        options = replace(BLOCKS, memory=1 << 20, **changes)
        with pytest.raises(MemoryLimitError, match=what) as refused:
            fit(given, y, options)
        fit(given, y, replace(options, memory=20 * refused.value.needed))


@pytest.mark.parametrize("changes", [{}, {"task": "ridge", "clusters": 600, "memory": 12 << 20}])
def test_a_model_that_would_be_too_large_has_landmarks(changes):
    x = RNG.normal(size=(40_000, 3))
    y = np.where(RNG.random(len(x)) < 0.3, 3.0, np.where(x[:, 0] * x[:, 1] > 0, 1.0, 2.0))
    options = replace(BLOCKS, **{"clusters": 100, "overlap": 0.0, "memory": 8 << 20, **changes})
    notes = []
    rows = HeldBlocks(Rows.from_dense(x), y)
    made, report = fit_blocks(rows, options, Setting(1, note=notes.append))
    assert "`landmarks` instead" in notes[0]
    few = max(report.ranks)
    same, _ = fit_blocks(rows, replace(options, landmarks=few, rank=few), Setting(1))
    assert model_bytes(replace(made, provenance=None)) == model_bytes(replace(same, provenance=None))
