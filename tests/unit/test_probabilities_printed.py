"""``-b 1`` prints svm-predict's bytes, even if a digit or label depends on the order of summation."""

from __future__ import annotations

import ctypes
import os
from dataclasses import replace
from pathlib import Path

import libsvm_twin
import numpy as np
import pytest
from coupling_twin import libsvm_coupling
from hypothesis import given, settings
from hypothesis import strategies as st
from libsvm import svm as libsvm
from numpy.typing import NDArray

from svmfast import _core
from svmfast.cli.main import run
from svmfast.formats.model_files import load_model, save_model
from svmfast.kernels import Kernel
from svmfast.models.expansion import KernelExpansion
from svmfast.models.head import Head
from svmfast.rows import FloatArray, Rows

KERNELS = [
    Kernel("linear"),
    Kernel("polynomial", 1e-3, 1.0, 3),
    Kernel("rbf", 1e-4),
    Kernel("sigmoid", 1e-5, 0.1),
]


def unscaled(kernel: Kernel, classes: int, seed: int) -> tuple[KernelExpansion, Rows]:
    """A model with features of several hundreds, and rows; linear and polynomial values are also about 1."""
    rng = np.random.default_rng(seed)
    n, d, pairs = 60, 5, classes * (classes - 1) // 2
    x, z = (rng.normal(size=(m, d)) * 200 + 300 for m in (n * classes, 40))
    size = {"linear": 1e-6, "polynomial": 1e-8}.get(kernel.kind, 1.0)
    coef = np.abs(rng.normal(size=(classes - 1, n * classes))) * size
    for c in range(classes):  # the first class of a pair has the positive ones
        coef[:c, c * n : (c + 1) * n] *= -1
    head = Head(
        "c_svc", np.arange(classes) + 3, -rng.uniform(0.5, 3, size=pairs), rng.normal(size=pairs) * 0.1
    )
    rho = rng.normal(size=pairs) * 0.1
    return KernelExpansion(head, kernel, Rows.from_dense(x), coef, rho, np.full(classes, n)), Rows.from_dense(
        z
    )


def lines_of_libsvm(path: Path, rows: Rows, classes: int) -> list[str]:
    """Return svm-predict's lines, from libsvm-official's svm_predict_probability."""
    model = libsvm.libsvm.svm_load_model(os.fsencode(path))
    estimates = (ctypes.c_double * classes)()
    lines = []
    for vector in libsvm_twin.vectors(rows):
        nodes = (libsvm.svm_node * (len(vector) + 1))()
        for node, (column, value) in zip(nodes, vector, strict=False):
            node.index, node.value = column + 1, value
        nodes[len(vector)].index = -1
        label = libsvm.libsvm.svm_predict_probability(model, nodes, estimates)
        lines.append(" ".join(f"{number:g}" for number in [label, *estimates]))
    return lines


def lines_of_svmfast(path: Path, rows: Rows) -> list[str]:
    text = "".join(
        "0 " + " ".join(f"{c + 1}:{v!r}" for c, v in vector) + "\n" for vector in libsvm_twin.vectors(rows)
    )
    data, out = path.with_name("data"), path.with_name("out")
    data.write_text(text)
    assert run(["predict", "-q", "-b", "1", str(data), str(path), str(out)]) == 0
    return out.read_text().splitlines()[1:]


def saved(model: KernelExpansion, path: Path) -> KernelExpansion:
    """Return the model as read from its file, which has eight digits of each feature."""
    save_model(model, path)
    loaded = load_model(path)
    assert isinstance(loaded, KernelExpansion)
    return loaded


@pytest.mark.parametrize("classes", [2, 3, 5, 7, 18])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.kind)
def test_bytes_on_unscaled_data(kernel: Kernel, classes: int, tmp_path: Path) -> None:
    model, rows = unscaled(kernel, classes, classes)
    path = tmp_path / "model"
    save_model(model, path)
    assert lines_of_svmfast(path, rows) == lines_of_libsvm(path, rows, classes)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.kind)
@pytest.mark.parametrize("boundary", [0.5, 0.1234565, 0.9999995, 0.05000005])
def test_two_classes_at_the_edge_of_a_digit(kernel: Kernel, boundary: float, tmp_path: Path) -> None:
    """The sigmoid's offset puts a row's probability where its sixth digit changes, or at 0.5 its label."""
    path, (model, rows) = tmp_path / "model", unscaled(kernel, 2, 1)
    model = saved(model, path)
    ours, theirs = [], []
    for i in range(8):
        row = rows[i : i + 1]
        value = float(libsvm_twin.decision_values(model, row)[0, 0])
        offset = float(np.log(1 / boundary - 1)) + value
        at = replace(model, head=replace(model.head, prob_a=-np.ones(1), prob_b=np.array([offset])))
        save_model(at, path)
        ours += lines_of_svmfast(path, row)
        theirs += lines_of_libsvm(path, row, 2)
    assert ours == theirs


def test_one_class_at_the_marks_of_its_density(tmp_path: Path) -> None:
    """A row whose value is a mark, as LIBSVM's own training rows have them, falls into LIBSVM's bin."""
    rng = np.random.default_rng(4)
    x, z = rng.normal(size=(300, 4)), Rows.from_dense(rng.normal(size=(10, 4)))
    coef, path = rng.uniform(0.1, 1, size=(1, 300)), tmp_path / "model"
    model = KernelExpansion(Head("one_class"), Kernel("rbf", 0.3), Rows.from_dense(x), coef, np.array([20.0]))
    model = saved(model, path)
    marks = np.sort(libsvm_twin.decision_values(model, z)[:, 0])
    save_model(replace(model, head=Head("one_class", density_marks=marks)), path)
    ours = lines_of_svmfast(path, z)
    assert ours == lines_of_libsvm(path, z, 2)
    assert len({line.split()[1] for line in ours}) == 10


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 2**31),
    k=st.integers(2, 9),
    error=st.floats(1e-15, 1e-6),
    spread=st.floats(0.05, 4),
)
def test_values_within_their_error_print_the_same(seed: int, k: int, error: float, spread: float) -> None:
    """Rows not in doubt print the same, with the same label, for all values in the intervals."""
    rng = np.random.default_rng(seed)
    pairs = k * (k - 1) // 2
    head = Head("c_svc", np.arange(k), rng.normal(size=pairs) - 2, rng.normal(size=pairs) * 0.1)
    strength = rng.normal(size=(20, k)) * spread
    i, j = np.triu_indices(k, 1)
    decisions = strength[:, i] - strength[:, j] + rng.normal(size=(20, pairs)) * 0.3
    errors = rng.uniform(size=decisions.shape) * error
    doubtful = in_doubt(head, decisions, errors)
    for row in np.flatnonzero(~doubtful):
        wanted = printed(head, decisions[row])
        for _ in range(4):
            moved = decisions[row] + rng.choice([-1.0, 1.0], size=pairs) * errors[row]
            assert printed(head, moved) == wanted


def in_doubt(head: Head, decisions: FloatArray, errors: FloatArray) -> NDArray[np.bool_]:
    """The rows that could print other digits or have another maximum for values within their errors.

    docs/certificate.md proves this from bounds on how each step of the coupling changes an error.
    """
    assert head.prob_a is not None
    assert head.prob_b is not None
    values = np.ascontiguousarray(decisions)
    doubtful = _core.probabilities(values, head.prob_a, head.prob_b, head.n_classes, errors, 1)[1]
    return doubtful.astype(np.bool_)


def printed(head: Head, decisions: FloatArray) -> list[str]:
    """LIBSVM's line for one row, by its operations in plain Python."""
    k, r, pair = head.n_classes, np.zeros((head.n_classes, head.n_classes)), 0
    assert head.prob_a is not None
    assert head.prob_b is not None
    for i in range(k):
        for j in range(i + 1, k):
            t = float(decisions[pair]) * float(head.prob_a[pair]) + float(head.prob_b[pair])
            p = libsvm_twin.exp(-t) / (1 + libsvm_twin.exp(-t)) if t >= 0 else 1 / (1 + libsvm_twin.exp(t))
            r[i, j] = min(max(p, 1e-7), 1 - 1e-7)
            r[j, i] = 1 - r[i, j]
            pair += 1
    p = r[[0, 1], [1, 0]] if k == 2 else libsvm_coupling(r)
    return [f"{number:g}" for number in [int(p.argmax()), *p.tolist()]]


def test_most_rows_are_not_in_doubt() -> None:
    """For few classes and values as accurate as sums of a thousand terms; else the test would be vacuous."""
    rng = np.random.default_rng(3)
    for k, share in ((2, 0.999), (3, 0.99), (6, 0.9)):
        pairs = k * (k - 1) // 2
        head = Head("c_svc", np.arange(k), np.full(pairs, -2.0), np.zeros(pairs))
        strength = rng.normal(size=(2000, k))
        i, j = np.triu_indices(k, 1)
        decisions = strength[:, i] - strength[:, j]
        doubtful = in_doubt(head, decisions, np.full(decisions.shape, 1e-12))
        assert 1 - doubtful.mean() >= share
