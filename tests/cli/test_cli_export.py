"""`svmfast export` to C, ONNX and LIBSVM's text with a range file; `svmfast import` of estimators."""

import json
import pickle
import re
import shutil
import subprocess
from pathlib import Path

import joblib
import numpy as np
import pytest
from command import ran, report
from estimators import PIPELINE, SVM, changed, dump_skops, fitted, members, pack
from program import FIXTURES, data, model
from sklearn.datasets import load_iris
from sklearn.svm import SVC

import svmfast as package
from svmfast.commands.exported import language_for
from svmfast.errors import ModelFormatError
from svmfast.formats.model_files import load_model
from svmfast.importers.files import model_of_file
from svmfast.models.scaled import ScaledModel
from svmfast.models.scaling import Scaling

EXACT, RANGES, TEST = model("iris_c_rbf_prob"), data("iris.ranges"), data("iris.test")


def test_the_command_writes_what_the_function_returns(tmp_path):
    out = tmp_path / "iris.h"
    done = ran("export", EXACT, "--to", "c", "-o", out, "--prefix", "iris", "--test", TEST)
    assert done.stdout == b""
    assert out.read_bytes() == package.export(EXACT, "c", prefix="iris", test=TEST).data
    written = f"written      {out}, {out.stat().st_size:,} bytes"
    for words in ("arithmetic in float", "0 labels differ", "50 rows in the file", "flash", written):
        assert words in done.stderr.decode()
    # The largest size that --max-flash refuses is a line of refusals.tsv.
    done = ran("export", EXACT, "-o", "-", "-q", "--max-flash", "882")
    assert (done.stdout, done.stderr) == (package.export(EXACT).data, b"")


@pytest.mark.parametrize(
    ("names", "constants"),
    [
        (("b_3", "a", "b!", "b?"), ["B_3", "A", "B_", "B__3"]),
        (("b", "b_2", "B", "b_3"), ["B", "B_2", "B_2_2", "B_3"]),
    ],
)
def test_the_names_of_features_are_exported(names, constants):
    """In C they become constants that differ."""
    named = ScaledModel(package.load_model(EXACT), Scaling(np.zeros(4), np.ones(4), feature_names=names))
    found = re.findall(r"#define MODEL_X_(\w+) (\d+)", package.export(named).text)
    assert found == [(name, str(number)) for number, name in enumerate(constants)]
    onnx = pytest.importorskip("onnx", reason="no onnx")
    made = onnx.load_from_string(package.export(named, "onnx").data)
    about = {one.key: one.value for one in made.metadata_props}
    assert json.loads(about["feature_names"]) == list(names)


def test_a_model_without_vectors_is_measured_on_given_rows_alone(tmp_path):
    words = ("export", FIXTURES / "frozen/1.0/polynomial_no_certificate.model", "-o", tmp_path / "m.h")
    remark = b"measured     nothing, since the model has no vectors and no test rows are given\n"
    assert remark in ran(*words).stderr
    assert "labels_differing" not in report(*words)
    assert " * single precision, not measured.\n" in (tmp_path / "m.h").read_text()
    assert report(*words, "--test", TEST)["measured_rows"] > 0
    mapped = report("export", FIXTURES / "frozen/1.0/mapped_compressed.model", "-o", tmp_path / "m.h")
    assert mapped["measured_on"] == "rows that the map takes to the model's own vectors"
    assert 0 < mapped["max_abs_error"] < 1e-4 < mapped["max_abs_value"]


@pytest.mark.parametrize(
    ("names", "language"),
    [("m.onnx m.ONNX.gz", "onnx"), ("m.model", "libsvm"), ("m.hpp m m.gz -", "c")],
)
def test_the_extension_of_the_output_decides_the_language(names, language):
    for name in names.split():
        assert language_for(name, None) == language_for(name, language) == language


def test_a_model_of_too_many_bytes_is_compressed_on_given_rows(tmp_path):
    found = report("export", EXACT, "--max-flash", "500", "--data", TEST, "-o", tmp_path / "m.h")
    assert found["compressed"]["table_bytes"] == found["table_bytes"] <= 500
    assert found["compressed"]["held_out"]["rows"] > 0


# --- LIBSVM's text


@pytest.mark.skipif(shutil.which("svm-predict") is None, reason="svm-predict is not installed")
def test_text_and_range_file_predict_as_the_scaled_model(tmp_path):
    """The oracle is svm-scale, then svm-predict."""
    inner, text, ranges = (tmp_path / name for name in ("inner", "text", "ranges"))
    ran("train", "-q", FIXTURES / "golden" / "iris_train.scaled", inner)
    scaled = ScaledModel(package.load_model(inner), package.read_ranges(RANGES))
    package.save_model(scaled, tmp_path / "carries")
    ran("export", tmp_path / "carries", "-o", text, "--ranges", ranges, "--to", "libsvm", "-q")
    assert text.read_bytes() == inner.read_bytes()
    rows = subprocess.run(["svm-scale", "-r", ranges, TEST], capture_output=True, check=True).stdout
    (tmp_path / "rows").write_bytes(rows)
    subprocess.run(["svm-predict", "-q", tmp_path / "rows", text, tmp_path / "theirs"], check=True)
    ran("predict", "-q", TEST, tmp_path / "carries", tmp_path / "ours")
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()


def test_text_and_range_file_round_trip(tmp_path):
    text, ranges = tmp_path / "text", tmp_path / "ranges"
    ran("export", EXACT, "--scale", RANGES, "--ranges", ranges, "-o", text, "--to", "libsvm")
    assert (text.read_bytes(), ranges.read_bytes()) == (EXACT.read_bytes(), RANGES.read_bytes())


X, Y = load_iris(return_X_y=True)


def test_an_estimator_becomes_a_libsvm_model_of_its_name(tmp_path):
    done, made = ran("import", SVM, cwd=tmp_path), tmp_path / "iris_svc.skops.model"
    assert done.stdout == b""
    assert made.read_text().startswith("svm_type c_svc\nkernel_type rbf\ngamma 0.5\n")
    assert b"support vectors " in done.stderr
    assert done.stderr.endswith(f"written      {made.name}, {made.stat().st_size:,} bytes\n".encode())
    assert np.array_equal(package.predict(made, X).predicted, fitted(SVM).predict(X))
    assert ran("import", SVM, "-q", cwd=tmp_path).stderr == b""


def test_a_pipeline_becomes_a_model_of_raw_rows(tmp_path):
    found = report("import", PIPELINE, "-o", tmp_path / "model")
    assert found["kind"] == "scaled"
    assert found["scaling"]["class_names"] == ["setosa", "versicolor", "virginica"]
    assert found["scaling"]["feature_names"][0] == "sepal length (cm)"
    answer = package.predict(load_model(tmp_path / "model"), load_iris(as_frame=True).data)
    assert np.array_equal(np.asarray(answer.names), fitted(PIPELINE).predict(load_iris(as_frame=True).data))


@pytest.mark.parametrize("dump", [joblib.dump, lambda one, path: path.write_bytes(pickle.dumps(one))])
def test_a_pickle_is_loaded_only_on_request(dump, tmp_path):
    path, out = tmp_path / "estimator.pkl", tmp_path / "model"
    dump(fitted(SVM), path)
    assert ran("import", path, "-o", out, status=2).stderr.decode() == (
        f"svmfast: {path}: a pickle, which can run any code when it is loaded; write the estimator with "
        "skops.io.dump, or load one of your own with --trust-pickle\n"
    )
    assert not out.exists()
    assert b"svmfast import with --trust-pickle\n" in ran("info", path, status=2).stderr
    ran("import", path, "-o", out, "--trust-pickle")
    ran("import", SVM, "-o", tmp_path / "same")
    assert out.read_bytes() == (tmp_path / "same").read_bytes()


@pytest.mark.parametrize("code", ["exit(7)", "bytearray(1 << 62)", "exec('raise KeyboardInterrupt')"])
def test_a_pickle_cannot_end_the_program_except_by_an_interrupt(code, tmp_path):
    (tmp_path / "ends").write_bytes(pickle.dumps(Ends(code)))
    status = 130 if "Interrupt" in code else 2
    done = ran("import", "ends", "-o", "model", "--trust-pickle", cwd=tmp_path, status=status)
    if status == 2:
        assert done.stderr.startswith(b"ends: the pickle cannot be loaded")
    assert done.stderr.count(b"\n") == (status == 2)


class Ends(str):
    def __reduce__(self):
        return eval, (str(self),)


class Evil:
    def __reduce__(self):
        return Path.touch, (Path("touched"),)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_no_pickle_is_run_without_the_option(protocol, tmp_path):
    (tmp_path / "evil").write_bytes(pickle.dumps(Evil(), protocol))
    ran("import", "evil", "-o", "model", cwd=tmp_path, status=2)
    assert [one.name for one in tmp_path.iterdir()] == ["evil"]


@pytest.mark.parametrize(
    ("made", "message"),
    [
        ({"a": Evil()}, r"types that skops does not trust \('.*Evil'\); "),
        (changed(SVC().fit(X, Y), "_n_support", np.array([1, 2, 1000])), r"inconsistent attributes \("),
        (changed(SVC().fit(X, Y), "support_vectors_", np.zeros((2, 2, 2))), r"inconsistent attributes \("),
        (changed(SVC().fit(X, Y), "_intercept_", np.zeros(7)), r"inconsistent attributes \("),
        (changed(SVC().fit(X, Y), "classes_", np.array([1, 1, 2])), r"inconsistent attributes \("),
        (changed(SVC().fit(X, Y), "classes_", 3), "inconsistent attributes; expected those of a fitted"),
    ],
)
def test_what_cannot_be_imported(made, message, tmp_path):
    dump_skops(made, tmp_path / "made.skops")
    with pytest.raises(ModelFormatError, match=message):
        model_of_file(tmp_path / "made.skops")


def test_a_small_file_cannot_fill_the_memory(tmp_path):
    path = tmp_path / "bomb.skops"
    path.write_bytes(pack({**members(SVM.read_bytes()), "more.npy": b"\0" * (64 << 20)}))
    done = ran("import", path, "-o", tmp_path / "out", "--memory", "100M", status=2)
    assert b"the limit is 104,857,600; allow more memory" in done.stderr
    assert len(done.stderr.splitlines()) == 1
