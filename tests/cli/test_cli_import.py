"""``svmfast import``: fitted estimators from files."""

import pickle
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import joblib
import numpy as np
import pytest
from command import ran, report
from estimators import PIPELINE, SVM, dump_skops, fitted
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

import svmfast as package
from svmfast.errors import ModelFormatError, UnsupportedError
from svmfast.formats.model_files import load_model
from svmfast.importers.files import model_of_file

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
    ran("import", path, "-o", out, "--trust-pickle")
    ran("import", SVM, "-o", tmp_path / "same")
    assert out.read_bytes() == (tmp_path / "same").read_bytes()


class Evil:
    def __reduce__(self):
        return Path.touch, (Path("touched"),)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_no_pickle_is_run_without_the_option(protocol, tmp_path):
    (tmp_path / "evil").write_bytes(pickle.dumps(Evil(), protocol))
    ran("import", "evil", "-o", "model", cwd=tmp_path, status=2)
    assert [one.name for one in tmp_path.iterdir()] == ["evil"]


def spoiled(name, value):
    made = SVC().fit(X, Y)
    setattr(made, name, value)
    return made


@pytest.mark.parametrize(
    ("made", "message"),
    [
        ({"a": Evil()}, r"types that skops does not trust \('.*Evil'\); "),
        (make_pipeline(PCA(2), SVC()).fit(X, Y), "step 'pca' of the pipeline is a PCA; only "),
        (spoiled("_n_support", np.array([1, 2, 1000])), r"inconsistent attributes \("),
        (spoiled("_dual_coef_", np.zeros((1, 3))), r"inconsistent attributes \("),
        (spoiled("support_vectors_", np.zeros((2, 2, 2))), r"inconsistent attributes \("),
        (spoiled("_intercept_", np.zeros(7)), r"inconsistent attributes \("),
        (spoiled("classes_", np.array([1, 1, 2])), r"inconsistent attributes \("),
    ],
)
def test_what_cannot_be_imported(made, message, tmp_path):
    dump_skops(made, tmp_path / "made.skops")
    with pytest.raises((ModelFormatError, UnsupportedError), match=message):
        model_of_file(tmp_path / "made.skops")


def test_an_estimator_of_sparse_rows(tmp_path):
    dump_skops(SVC().fit(sparse.csr_matrix(X), Y), tmp_path / "sparse.skops")
    assert model_of_file(tmp_path / "sparse.skops")[0].n_features == 4


def test_a_damaged_file_is_refused_in_one_line(tmp_path):
    path, whole = tmp_path / "file", SVM.read_bytes()
    for text in (whole[: len(whole) // 2], whole[:5000] + b"x" * 500 + whole[5500:], whole[:4]):
        path.write_bytes(text)
        with pytest.raises(ModelFormatError, match=r"file: skops cannot read it \("):
            model_of_file(path)


def test_a_small_file_cannot_fill_the_memory(tmp_path):
    path = tmp_path / "bomb.skops"
    with ZipFile(SVM) as whole, ZipFile(path, "w", ZIP_DEFLATED) as bomb:
        for one in whole.namelist():
            bomb.writestr(one, whole.read(one))
        bomb.writestr("more.npy", b"\0" * (64 << 20))
    done = ran("import", path, "-o", tmp_path / "out", "--memory", "100M", status=2)
    assert b"the limit is 104,857,600; allow more memory" in done.stderr
    assert len(done.stderr.splitlines()) == 1
