"""``svmfast export --to libsvm``: LIBSVM's text and svm-scale's range file."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from command import svmfast
from program import FIXTURES, data, model

import svmfast as package
from svmfast.errors import UnsupportedError
from svmfast.formats.libsvm_model import libsvm_model_bytes
from svmfast.formats.model_files import load_model
from svmfast.models.scaled import ScaledModel
from svmfast.models.scaling import Scaling

EXACT, RANGES, TEST = model("iris_c_rbf_prob"), data("iris.ranges"), data("iris.test")
needs_libsvm = pytest.mark.skipif(
    shutil.which("svm-scale") is None or shutil.which("svm-predict") is None,
    reason="svm-scale and svm-predict are not installed",
)


def exported(*words: object) -> None:
    done = svmfast("export", *words, "--to", "libsvm", "-q")
    assert (done.returncode, done.stdout) == (0, b""), done.stderr


@needs_libsvm
def test_text_and_range_file_predict_as_the_scaled_model(tmp_path: Path) -> None:
    """The oracle is svm-scale, then svm-predict."""
    scaled = FIXTURES / "golden" / "iris_train.scaled"
    svmfast("train", "-q", scaled, tmp_path / "inner")
    inner = load_model(tmp_path / "inner")
    package.save_model(ScaledModel(inner, package.read_ranges(RANGES)), tmp_path / "carries")
    text, ranges = tmp_path / "text", tmp_path / "ranges"
    exported(tmp_path / "carries", "-o", text, "--ranges", ranges)
    assert text.read_bytes() == (tmp_path / "inner").read_bytes()
    with (tmp_path / "rows").open("wb") as rows:
        subprocess.run(["svm-scale", "-r", ranges, TEST], stdout=rows, check=True)
    subprocess.run(["svm-predict", "-q", tmp_path / "rows", text, tmp_path / "theirs"], check=True)
    svmfast("predict", "-q", TEST, tmp_path / "carries", tmp_path / "ours")
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()


@needs_libsvm
def test_a_scaler_becomes_a_range_file(tmp_path: Path) -> None:
    """svm-scale's numbers agree with the scaler's to six digits; a column with factor 0 is dropped."""
    exact = load_model(EXACT)
    scaling = Scaling(np.array([5.8, 3.0, 3.7, 1.0]), np.array([1.2, 2.3, 0.57, 0.0]))
    made = package.export(ScaledModel(exact, scaling), "libsvm", ranges=True)
    assert made.data == libsvm_model_bytes(exact)
    assert made.ranges is not None
    (tmp_path / "ranges").write_bytes(made.ranges)
    done = subprocess.run(
        ["svm-scale", "-r", tmp_path / "ranges", TEST], stdout=subprocess.PIPE, check=True, text=True
    )
    (tmp_path / "rows").write_text(done.stdout)
    theirs = package.read_svmlight(tmp_path / "rows").rows.to_dense(4)
    ours = scaling.apply(package.read_svmlight(TEST).rows).to_dense(4)
    assert np.allclose(theirs, ours, rtol=1e-5, atol=0)


def test_the_range_file_round_trips(tmp_path: Path) -> None:
    ranges = tmp_path / "ranges"
    exported(EXACT, "--scale", RANGES, "--ranges", ranges, "-o", tmp_path / "m")
    assert ranges.read_bytes() == RANGES.read_bytes()
    assert (tmp_path / "m").read_bytes() == EXACT.read_bytes()


def test_scalings_that_svm_scale_cannot_make_are_refused() -> None:
    exact = load_model(EXACT)
    clipped = ScaledModel(exact, Scaling(np.zeros(4), np.ones(4), clip=(0.0, 1.0)))
    with pytest.raises(UnsupportedError, match="clips, which svm-scale does not"):
        package.export(clipped, "libsvm", ranges=True)
    with pytest.raises(UnsupportedError, match="reverses columns"):
        package.export(ScaledModel(exact, Scaling(np.zeros(4), -np.ones(4))), "libsvm", ranges=True)
