"""An option given twice has the last value, as in LIBSVM's programs."""

from __future__ import annotations

from pathlib import Path

from command import svmfast
from program import data, model


def test_the_last_value_counts(tmp_path: Path) -> None:
    def content(*words: object) -> bytes:
        done = svmfast(*map(str, words), cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return (tmp_path / "out").read_bytes()

    rows = data("iris.train")
    once = content("train", "-q", "-c", "10", "-g", "0.5", rows, "out")
    assert content("train", "-q", "-c", "1", "-g", "9", "-c", "10", "-g", "0.5", rows, "out") == once
    assert content("train", "-q", "-c", "1", "-g", "0.5", rows, "out") != once
    test, exact = data("iris.test"), model("iris_c_rbf_prob")
    once = content("predict", "-b", "1", test, exact, "out")
    assert content("predict", "-b", "0", "-b", "1", test, exact, "out") == once
    once = content("scale", "-l", "0", rows, "-o", "out")
    assert content("scale", "-l", "-1", "-l", "0", rows, "-o", "out") == once
