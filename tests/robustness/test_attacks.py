"""Small files (attacks/) that made svmfast crash, hang, fill the memory or end in an internal error.

P: `pseudo_sizes` whose sum wraps around to the right one; Q: `landmark_start`, W: `sizes`, N: `nr_sv`, F:
`features` likewise. A and C: laplacian and Gaussian landmarks at columns so high that dense vectors take
gigabytes. mutated: found by a fuzzer.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from program import metered, svmfast
from sealing import sealed

ATTACKS = Path(__file__).parent / "attacks"
#: The fault of each: the first word of the message, and the line in the file.
WRONG = {
    "P1": "pseudo_sizes",
    **dict.fromkeys(("Q1", "Q2", "Q3", "Q4", "Q5"), "landmark_start"),
    **dict.fromkeys(("W1", "W1l", "W2", "W2r", "W3"), "sizes"),
    **dict.fromkeys(("N1", "N2", "N3"), "nr_sv"),
    **dict.fromkeys(("F1", "F2", "F3", "F4"), "features"),
}
MUTATED = sorted(path.stem for path in ATTACKS.glob("mutated-*.model"))


@pytest.mark.parametrize("name", WRONG)
def test_sizes_whose_sum_wraps_around_are_refused_with_their_line(name: str) -> None:
    path = ATTACKS / f"{name}.model"
    lines = path.read_text().splitlines()
    at = next(i for i, line in enumerate(lines, 1) if line.startswith(f"array {WRONG[name]} "))
    for words in (("info", path), ("predict", ATTACKS / "three.data", path)):
        done = svmfast(*words)
        assert (done.returncode, done.stdout) == (2, b"")
        assert re.fullmatch(rf"{re.escape(str(path))}:{at}: not .*; expected .*\n", done.stderr.decode())


@pytest.mark.parametrize("name", MUTATED)
def test_mutated_models_are_refused_or_answered(name: str) -> None:
    path = ATTACKS / f"{name}.model"
    for words in (("info", path), ("predict", ATTACKS / "three.data", path)):
        done = svmfast(*words)
        assert done.returncode in (0, 2)
        if done.returncode == 2:
            assert re.fullmatch(rf"{re.escape(str(path))}:\d+: .*; expected .*\n", done.stderr.decode())


no_limits_here = pytest.mark.skipif(
    "SVMFAST_SANITIZED" in os.environ, reason="sanitizers take memory of their own"
)


def one_hot(kernel: str, n: int) -> str:
    """Return a routed model with `n` landmarks, each with one feature of its own, in columns far apart."""
    ones, columns = " ".join(["1"] * n), " ".join(str(i * 400_000 % 2**31) for i in range(n))
    starts = " ".join(map(str, range(n + 1)))
    return (
        f"svmfast-model 1.0\nkind routed\nsvm_type epsilon_svr\nkernel_type {kernel}\nn_features 2147483647\n"
        "array children int64 2\n1 0\narray centers float64 1 1\n0\narray gamma float64 1\n1\n"
        f"array sizes int64 1\n{n}\narray rho float64 1 1\n0\narray coef float64 1 {n}\n{ones}\n"
        f"array landmark_start int64 {n + 1}\n{starts}\narray landmark_index int32 {n}\n{columns}\n"
        f"array landmark_value float64 {n}\n{ones}\nend\n"
    )


@no_limits_here
@pytest.mark.parametrize("name", ["A1", "A3", "C20", "C100"])
def test_columns_far_apart_take_no_memory(name: str, tmp_path: Path) -> None:
    for rows in ("three", "hundred"):
        done, peak = metered(tmp_path, "predict", ATTACKS / f"{rows}.data", ATTACKS / f"{name}.model")
        assert (done.returncode, done.stdout.count(b"\n")) == (0, 3 if rows == "three" else 100)
        assert peak < 60


@no_limits_here
@pytest.mark.parametrize("kernel", ["laplacian", "rbf"])
def test_landmarks_without_common_columns_take_no_quadratic_memory(kernel: str, tmp_path: Path) -> None:
    (tmp_path / "model").write_bytes(sealed(one_hot(kernel, 5_000).encode()))
    for words in (("info", "model"), ("predict", ATTACKS / "three.data", "model"), ("bound-check", "model")):
        done, peak = metered(tmp_path, *words[:-1], tmp_path / words[-1])
        assert done.returncode in (0, 2)
        assert peak < 80


@no_limits_here
def test_the_paper_s_bound_of_a_wide_expansion_takes_no_memory(tmp_path: Path) -> None:
    text = (
        "svmfast-model 1.0\nkind polynomial\nsvm_type epsilon_svr\ngamma 0.5\nn_features 2147483647\n"
        "about zero\nsv_squared_norm 1.0\narray rho float64 1\n0\narray features int64 2\n1 2147483647\n"
        "array centres float64 2 2\n0 0 1 1\narray sv_squared_norms float64 2\n1 1\n"
        "array orders int32 2 1\n2 2\narray coefficients float64 12\n0 1 2 3 4 5 0 1 2 3 4 5\nend\n"
    )
    (tmp_path / "model").write_bytes(sealed(text.encode()))
    done, peak = metered(tmp_path, "predict", "--bound", ATTACKS / "three.data", tmp_path / "model")
    assert (done.returncode, done.stdout.count(b"\n")) == (0, 4)
    assert peak < 60


@no_limits_here
def test_many_support_vectors_in_a_small_file_take_little_memory(tmp_path: Path) -> None:
    # Each thread once held 16 kernel values of every vector: 230 MB for a 900 KB file, whatever --memory was.
    n = 300_000
    head = "svm_type epsilon_svr\nkernel_type rbf\ngamma 1\nnr_class 2\n"
    (tmp_path / "model").write_text(f"{head}total_sv {n}\nrho 0\nSV\n" + "1 \n" * n)
    for threads in ("1", "2", "4"):
        words = ("predict", "-j", threads, ATTACKS / "hundred.data", tmp_path / "model")
        done, peak = metered(tmp_path, *words)
        assert (done.returncode, done.stdout.count(b"\n")) == (0, 100)
        assert peak < 100
