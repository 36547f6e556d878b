"""Rows on the decision boundary get svm-predict's labels, although the engine sums in another order."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import libsvm_twin
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from libsvm import svm as libsvm
from program import PROGRAM

from svmfast.formats.model_files import save_model
from svmfast.kernels import Kernel
from svmfast.models.answer import answer
from svmfast.models.expansion import KernelExpansion
from svmfast.models.head import Head
from svmfast.models.requirements import Columns
from svmfast.models.routed import RoutedModel
from svmfast.routing import flat_tree
from svmfast.rows import Rows

ISAS = ("baseline", "avx2", "avx512")
HEAD = Head("c_svc", np.array([1, -1]))


def crowded(n: int) -> tuple[KernelExpansion, Rows]:
    """A model with one feature, and a row with `n` more whose squares are lost when they are added to 1."""
    t = float(np.sqrt(0.45 * 2.0**-52))
    model = KernelExpansion(
        HEAD,
        Kernel("rbf", 1.0),
        Rows.from_dense(np.ones((2, 1))),
        np.array([[1.0, -1e-30]]),
        np.array([1 - n * t * t / 2]),
        np.array([1, 1]),
    )
    values = np.full(n + 1, t)
    values[0] = 1
    return model, Rows(np.array([0, n + 1]), np.arange(n + 1, dtype=np.int32), values, n + 1)


def lines(rows: Rows) -> str:
    return "".join(
        "1 " + " ".join(f"{c + 1}:{v!r}" for c, v in vector) + "\n" for vector in libsvm_twin.vectors(rows)
    )


def libsvm_labels(path: Path, rows: Rows) -> list[float]:
    """Ask libsvm-official."""
    model = libsvm.libsvm.svm_load_model(os.fsencode(path))
    found = []
    for vector in libsvm_twin.vectors(rows):
        nodes = (libsvm.svm_node * (len(vector) + 1))()
        for node, (column, value) in zip(nodes, vector, strict=False):
            node.index, node.value = column + 1, value
        nodes[len(vector)].index = -1
        found.append(libsvm.libsvm.svm_predict(model, nodes))
    return found


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("n", [1000, 20000])
def test_entries_that_the_model_lacks_count(n: int, isa: str, tmp_path: Path) -> None:
    """Also for rounding, since the row's norm includes them. Alone, and as the fallback of a fast model."""
    model, row = crowded(n)
    exact, fast, data = (str(tmp_path / name) for name in ("exact.model", "fast.model", "data"))
    save_model(model, exact)
    Path(data).write_text(lines(row))
    wanted = libsvm_labels(Path(exact), row)
    assert wanted == [-1.0] == model.head.predict(libsvm_twin.decision_values(model, row)).tolist()
    env = {**os.environ, "SVMFAST_ISA": isa}
    done = subprocess.run([PROGRAM, "approximate", "-q", exact, "-o", fast], env=env, check=True)
    for command in ([data, exact], [data, fast, "-", "--exact", exact]):
        done = subprocess.run([PROGRAM, "predict", "-q", *command], env=env, capture_output=True, check=True)
        assert done.stdout == b"-1\n"


def test_the_vote_beside_probabilities_is_svm_predicts(tmp_path: Path) -> None:
    """Rounding decides the sign of the value, though not the printed digits of the probabilities."""
    model, row = crowded(1000)
    many = replace(
        model,
        head=replace(HEAD, prob_a=np.array([-1.0]), prob_b=np.array([0.3])),
        sv=Rows.from_dense(np.ones((20, 1))),
        sv_coef=np.array([[1.0, *[-1e-30] * 19]]),
        nr_sv=np.array([1, 19]),
    )
    save_model(many, tmp_path / "model")
    assert libsvm_labels(tmp_path / "model", row) == [-1.0]
    found = answer(many, row, columns=Columns(probability=True))
    assert found.voted is not None
    assert found.voted.tolist() == [-1.0]


@pytest.mark.parametrize("n", [1000, 20000])
def test_entries_that_the_model_lacks_count_in_routed_cells_too(n: int) -> None:
    model, row = crowded(n)
    assert model.nr_sv is not None
    routed = RoutedModel(
        HEAD, "rbf", np.ones(1), flat_tree(1), np.zeros((1, 1)), model.sv, np.array([2]), model.sv_coef,
        model.rho[None], model.nr_sv[None],
    )  # fmt: skip
    assert routed._cells is not None
    assert routed.decision_values(row).tolist() == libsvm_twin.decision_values(model, row).tolist()


def random_model(
    rng: np.random.Generator, kind: str, d: int, scale: float, other: float, size: float
) -> KernelExpansion:
    """Two classes; kernel arguments of about 1 if gamma allows, coefficients of `size`."""
    product = max(scale * (scale if kind == "rbf" else other), 1e-300)
    gamma = float(np.clip(rng.uniform(0.1, 2) / d / product, 1e-300, 1e300))
    kernel = {
        "linear": Kernel("linear"),
        "rbf": Kernel("rbf", gamma),
        "polynomial": Kernel("polynomial", gamma, rng.choice([0.0, 1.0]), int(rng.integers(1, 6))),
        "sigmoid": Kernel("sigmoid", gamma, rng.choice([0.0, 0.5])),
    }[kind]
    x = rng.normal(size=(6, d)) * scale
    x[rng.uniform(size=x.shape) < 0.3] = 0
    return KernelExpansion(
        HEAD, kernel, Rows.from_dense(x), rng.normal(size=(1, 6)) * size, np.zeros(1), np.array([3, 3])
    )


@pytest.mark.parametrize("kind", ["linear", "polynomial", "rbf", "sigmoid"])
@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 2**31),
    d=st.integers(1, 9),
    vectors=st.integers(-200, 150),
    row=st.integers(-200, 150),
    size=st.integers(-320, 250),
    ordinary=st.booleans(),
)
def test_rows_on_the_boundary(
    kind: str, seed: int, d: int, vectors: int, row: int, size: int, ordinary: bool
) -> None:
    """rho is LIBSVM's own sum or its neighbour: the label depends on the last bit, even with underflow."""
    rng = np.random.default_rng(seed)
    scale, other = (1.0, 1.0) if ordinary else (10.0**vectors, 10.0**row)
    model = random_model(rng, kind, d, scale, other, 10.0 ** (0 if ordinary else size))
    z = rng.normal(size=(3, d + 2)) * (scale if kind == "rbf" else other)
    z[:, d:] *= rng.uniform(size=(3, 2)) < 0.5
    rows = Rows.from_dense(z)
    with np.errstate(all="ignore"):
        sums = libsvm_twin.decision_values(model, rows)[:, 0]
        for i in np.flatnonzero(np.isfinite(sums)):
            for rho in (sums[i], np.nextafter(sums[i], -np.inf), np.nextafter(sums[i], np.inf)):
                at = replace(model, rho=np.array([rho]))
                wanted = at.head.predict(libsvm_twin.decision_values(at, rows[int(i) : int(i) + 1]))
                assert answer(at, rows[int(i) : int(i) + 1]).predicted == wanted
