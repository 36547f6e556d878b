"""Small files (attacks/) that made svmfast crash, hang, fill the memory or end in an internal error.

P: `pseudo_sizes` whose sum wraps around to the right one; Q: the landmarks' `indptr`, W: `sizes`,
N: `nr_sv`, F: `features` likewise (all these are in tests/refusals.tsv). A and C: laplacian and Gaussian
landmarks at columns so high that dense vectors take gigabytes. mutated: found by a fuzzer.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nightly import nightly_but
from program import metered, svmfast
from sealing import packed

from svmfast.rows import Rows

ATTACKS = Path(__file__).parent / "attacks"
MUTATED = sorted(path.stem for path in ATTACKS.glob("mutated-*.model"))


@pytest.mark.parametrize("name", MUTATED)
def test_mutated_models_are_refused_or_answered(name: str) -> None:
    path = ATTACKS / f"{name}.model"
    for words in (("info", path), ("predict", ATTACKS / "three.data", path)):
        done = svmfast(*words)
        assert done.returncode in (0, 2)
        if done.returncode == 2:
            assert re.fullmatch(rf"{re.escape(str(path))}: .*; expected .*\n", done.stderr.decode())


no_limits_here = pytest.mark.skipif(
    "SVMFAST_SANITIZED" in os.environ, reason="sanitizers take memory of their own"
)


def one_hot(kernel: str, n: int) -> dict[str, Any]:
    """Return a routed model with `n` landmarks, each with one feature of its own, in columns far apart."""
    landmarks = Rows(np.arange(n + 1), np.arange(n) * 400_000 % 2**31, np.ones(n), 2**31 - 1)
    return {
        "kind": "routed",
        "head": {"svm_type": "epsilon_svr"},
        "kernel": kernel,
        "gamma": np.ones(1),
        "children": np.array([1, 0]),
        "centers": np.zeros((1, 1)),
        "landmarks": {
            name: getattr(landmarks, name) for name in ("indptr", "indices", "values", "n_columns")
        },
        "sizes": np.array([n]),
        "coef": np.ones((1, n)),
        "rho": np.zeros((1, 1)),
    }


@no_limits_here
@pytest.mark.parametrize("rows", nightly_but(["hundred"], ["three", "hundred"]))
@pytest.mark.parametrize("name", nightly_but(["A3", "C100"], ["A1", "A3", "C20", "C100"]))
def test_columns_far_apart_take_no_memory(name: str, rows: str, tmp_path: Path) -> None:
    done, peak = metered(tmp_path, "predict", ATTACKS / f"{rows}.data", ATTACKS / f"{name}.model")
    assert (done.returncode, done.stdout.count(b"\n")) == (0, 3 if rows == "three" else 100)
    assert peak < 60


@no_limits_here
@pytest.mark.parametrize("kernel", nightly_but(["laplacian"], ["laplacian", "rbf"]))
def test_landmarks_without_common_columns_take_no_quadratic_memory(kernel: str, tmp_path: Path) -> None:
    (tmp_path / "model").write_bytes(packed(one_hot(kernel, 5_000)))
    for words in (("info", "model"), ("predict", ATTACKS / "three.data", "model"), ("bound-check", "model")):
        done, peak = metered(tmp_path, *words[:-1], tmp_path / words[-1])
        assert done.returncode in (0, 2)
        assert peak < 80


@no_limits_here
def test_the_paper_s_bound_of_a_wide_expansion_takes_no_memory(tmp_path: Path) -> None:
    tree = {
        "kind": "polynomial",
        "head": {"svm_type": "epsilon_svr"},
        "gamma": 0.5,
        "n_features": 2**31 - 1,
        "features": np.array([0, 2**31 - 2]),
        "about": "zero",
        "centers": np.array([[0.0, 0], [1, 1]]),
        "orders": np.array([[2], [2]], np.int32),
        "coefficients": np.tile(np.arange(6.0), 2),
        "rho": np.zeros(1),
        "sv_squared_norm": 1.0,
        "sv_squared_norms": np.ones(2),
    }
    (tmp_path / "model").write_bytes(packed(tree))
    done, peak = metered(tmp_path, "predict", "--bound", ATTACKS / "three.data", tmp_path / "model")
    assert (done.returncode, done.stdout.count(b"\n")) == (0, 4)
    assert peak < 60


@no_limits_here
def test_many_support_vectors_in_a_small_file_take_little_memory(tmp_path: Path) -> None:
    # Each thread once held 16 kernel values of every vector: 230 MB for a 900 KB file, whatever --memory was.
    n = 300_000
    head = "svm_type epsilon_svr\nkernel_type rbf\ngamma 1\nnr_class 2\n"
    (tmp_path / "model").write_text(f"{head}total_sv {n}\nrho 0\nSV\n" + "1 \n" * n)
    done, peak = metered(tmp_path, "predict", "-j", "4", ATTACKS / "hundred.data", tmp_path / "model")
    assert (done.returncode, done.stdout.count(b"\n")) == (0, 100)
    assert peak < 100
