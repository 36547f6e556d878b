"""``svmfast export`` on the command line: C, ONNX, and LIBSVM's text with svm-scale's range file."""

import json
import re
import shutil
import subprocess

import numpy as np
import pytest
from command import ran, report
from program import FIXTURES, data, model

import svmfast as package
from svmfast.commands.export_report import language_for
from svmfast.errors import UnsupportedError
from svmfast.models.scaled import ScaledModel
from svmfast.models.scaling import Scaling

EXACT, RANGES, TEST = model("iris_c_rbf_prob"), data("iris.ranges"), data("iris.test")


def test_the_command_writes_what_the_function_returns(tmp_path):
    out = tmp_path / "iris.h"
    done = ran("export", EXACT, "--to", "c", "-o", out, "--prefix", "iris", "--test", TEST)
    assert done.stdout == b""
    assert out.read_bytes() == package.export(EXACT, "c", prefix="iris", test=TEST).data
    written = f"written      {out}, {out.stat().st_size:,} bytes"
    for words in (
        "arithmetic in float",
        "0 labels differ",
        "test         50 rows in the file",
        "flash",
        written,
    ):
        assert words in done.stderr.decode()
    # The largest size that --max-flash refuses is a line of refusals.tsv.
    done = ran("export", EXACT, "-o", "-", "-q", "--max-flash", "882")
    assert (done.stdout, done.stderr) == (package.export(EXACT).data, b"")


def feature_names(path, language):
    """Return the names of the features in an exported file, in their order."""
    if language == "c":
        constants = re.findall(r"#define MODEL_X_(\w+) (\d+)", path.read_text())
        assert [int(number) for _, number in constants] == list(range(len(constants)))
        return [name.lower() for name, _ in constants]
    onnx = pytest.importorskip("onnx", reason="no onnx")
    about = {one.key: one.value for one in onnx.load(path).metadata_props}
    return json.loads(about["feature_names"])


@pytest.mark.parametrize("language", ["c", "onnx"])
def test_the_names_in_a_model_are_exported(language, tmp_path):
    """They come from the columns of the table it was trained on."""
    table, trained, out = tmp_path / "table.csv", tmp_path / "trained", tmp_path / "out"
    table.write_text("label,age,load,noise\nworn,1,2,0\nbroken,0,1,2\nworn,2,2,1\nbroken,1,0,2\n")
    ran("train", "-q", table, trained)
    ran("export", trained, "--to", language, "-o", out, "-q")
    assert feature_names(out, language) == ["age", "load", "noise"]


@pytest.mark.parametrize(
    ("names", "constants"),
    [
        (("b_3", "a", "b!", "b?"), ["b_3", "a", "b_", "b__3"]),
        (("b", "b_2", "B", "b_3"), ["b", "b_2", "b_2_2", "b_3"]),
    ],
)
def test_the_names_of_a_model_become_constants_that_differ(names, constants, tmp_path):
    scaling = Scaling(np.zeros(4), np.ones(4), feature_names=names)
    (tmp_path / "m.h").write_bytes(package.export(ScaledModel(package.load_model(EXACT), scaling)).data)
    assert feature_names(tmp_path / "m.h", "c") == constants


def test_a_model_without_vectors_is_measured_on_given_rows_alone(tmp_path):
    words = ("export", FIXTURES / "frozen/1.0/polynomial_no_certificate.model", "-o", tmp_path / "m.h")
    remark = b"measured     not, as the model has no vectors and no test rows are given\n"
    assert remark in ran(*words).stderr
    assert "labels_differing" not in report(*words)
    assert " * single precision, not measured.\n" in (tmp_path / "m.h").read_text()
    assert report(*words, "--test", TEST)["measured_rows"] > 0


@pytest.mark.parametrize(
    ("names", "language"),
    [("m.onnx m.ONNX.gz", "onnx"), ("m.model", "libsvm"), ("m.hpp m m.gz -", "c")],
)
def test_the_extension_of_the_output_decides_the_language(names, language):
    for name in names.split():
        assert language_for(name, None) == language_for(name, language) == language


# --- LIBSVM's text

needs_libsvm = pytest.mark.skipif(
    shutil.which("svm-scale") is None or shutil.which("svm-predict") is None,
    reason="svm-scale and svm-predict are not installed",
)


def svm_scaled(ranges):
    return subprocess.run(["svm-scale", "-r", ranges, TEST], capture_output=True, check=True).stdout


@needs_libsvm
def test_text_and_range_file_predict_as_the_scaled_model(tmp_path):
    """The oracle is svm-scale, then svm-predict."""
    inner, text, ranges = (tmp_path / name for name in ("inner", "text", "ranges"))
    ran("train", "-q", FIXTURES / "golden" / "iris_train.scaled", inner)
    scaled = ScaledModel(package.load_model(inner), package.read_ranges(RANGES))
    package.save_model(scaled, tmp_path / "carries")
    ran("export", tmp_path / "carries", "-o", text, "--ranges", ranges, "--to", "libsvm", "-q")
    assert text.read_bytes() == inner.read_bytes()
    (tmp_path / "rows").write_bytes(svm_scaled(ranges))
    subprocess.run(["svm-predict", "-q", tmp_path / "rows", text, tmp_path / "theirs"], check=True)
    ran("predict", "-q", TEST, tmp_path / "carries", tmp_path / "ours")
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()


@needs_libsvm
def test_a_scaler_becomes_a_range_file(tmp_path):
    """svm-scale's numbers agree with the scaler's to six digits; a column with factor 0 is dropped."""
    scaling = Scaling(np.array([5.8, 3.0, 3.7, 1.0]), np.array([1.2, 2.3, 0.57, 0.0]))
    made = package.export(ScaledModel(package.load_model(EXACT), scaling), "libsvm", ranges=True)
    (tmp_path / "ranges").write_bytes(made.ranges)
    (tmp_path / "rows").write_bytes(svm_scaled(tmp_path / "ranges"))
    theirs = package.read_svmlight(tmp_path / "rows").rows.to_dense(4)
    ours = scaling.apply(package.read_svmlight(TEST).rows).to_dense(4)
    assert np.allclose(theirs, ours, rtol=1e-5, atol=0)


def test_text_and_range_file_round_trip(tmp_path):
    text, ranges = tmp_path / "text", tmp_path / "ranges"
    ran("export", EXACT, "--scale", RANGES, "--ranges", ranges, "-o", text, "--to", "libsvm")
    assert (text.read_bytes(), ranges.read_bytes()) == (EXACT.read_bytes(), RANGES.read_bytes())


@pytest.mark.parametrize(
    ("factor", "clip", "message"),
    [(1, (0.0, 1.0), "clips, which svm-scale does not"), (-1, None, "reverses columns")],
)
def test_scalings_that_svm_scale_cannot_make_are_refused(factor, clip, message):
    scaling = Scaling(np.zeros(4), np.full(4, float(factor)), clip=clip)
    with pytest.raises(UnsupportedError, match=message):
        package.export(ScaledModel(package.load_model(EXACT), scaling), "libsvm", ranges=True)
