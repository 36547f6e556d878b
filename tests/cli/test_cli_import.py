"""``svmfast import``: fitted estimators from files."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import joblib
import numpy as np
import pytest
from command import svmfast
from estimators import PIPELINE, SVM, dump_skops, fitted
from program import model
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from svmfast.errors import ModelFormatError, UnsupportedError
from svmfast.formats.model_files import load_model
from svmfast.importers.files import model_of_file
from svmfast.models.scaled import ScaledModel

X, Y = load_iris(return_X_y=True)


def rows_of(folder: Path) -> Path:
    place = folder / "rows"
    lines = [" ".join(f"{i}:{v!r}" for i, v in enumerate(row, 1)) for row in X.tolist()]
    place.write_text("\n".join([*lines, ""]))
    return place


def test_an_estimator_becomes_a_libsvm_model(tmp_path: Path) -> None:
    done = svmfast("import", SVM, "-o", tmp_path / "model.txt")
    assert done.returncode == 0, done.stderr
    assert done.stdout == b""
    assert (tmp_path / "model.txt").read_text().startswith("svm_type c_svc\nkernel_type rbf\ngamma 0.5\n")
    assert b"support vectors " in done.stderr
    size = (tmp_path / "model.txt").stat().st_size
    assert done.stderr.endswith(f"written      {tmp_path}/model.txt, {size:,} bytes\n".encode())
    predicted = svmfast("predict", "--unlabelled", rows_of(tmp_path), tmp_path / "model.txt", "-")
    expected = fitted(SVM).predict(X)
    assert np.array_equal(np.array(predicted.stdout.split(), dtype=int), expected)


def test_a_pipeline_becomes_a_model_of_raw_rows(tmp_path: Path) -> None:
    done = svmfast("import", PIPELINE, "-o", tmp_path / "model.txt", "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["kind"] == "scaled"
    assert report["scaling"]["class_names"] == ["setosa", "versicolor", "virginica"]
    assert report["scaling"]["feature_names"][0] == "sepal length (cm)"
    read = load_model(tmp_path / "model.txt")
    assert isinstance(read, ScaledModel)
    names = np.array(read.scaling.class_names)
    pipeline = fitted(PIPELINE)
    table = load_iris(as_frame=True).data
    import svmfast as package

    assert np.array_equal(names[package.predict(read, table).predicted.astype(int)], pipeline.predict(table))


def test_the_model_is_named_after_the_estimator(tmp_path: Path) -> None:
    done = svmfast("import", SVM, "-q", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert (tmp_path / "iris_svc.skops.model").exists()


@pytest.mark.parametrize("dump", [joblib.dump, lambda one, path: path.write_bytes(pickle.dumps(one))])
def test_a_pickle_is_loaded_only_on_request(dump: Callable[[object, Path], object], tmp_path: Path) -> None:
    path = tmp_path / "estimator.pkl"
    dump(fitted(SVM), path)
    done = svmfast("import", path, "-o", tmp_path / "model")
    assert done.returncode == 2
    assert done.stderr.decode() == (
        f"svmfast: {path}: a pickle, which can run any code when it is loaded; write the estimator with "
        "skops.io.dump, or load one of your own with --trust-pickle\n"
    )
    assert not (tmp_path / "model").exists()
    assert svmfast("import", path, "-o", tmp_path / "model", "--trust-pickle").returncode == 0
    svmfast("import", SVM, "-o", tmp_path / "same")
    assert (tmp_path / "model").read_bytes() == (tmp_path / "same").read_bytes()


class Evil:
    def __reduce__(self) -> tuple[object, ...]:
        return Path.touch, (Path("touched"),)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_no_pickle_is_run_without_the_option(protocol: int, tmp_path: Path) -> None:
    path = tmp_path / "evil"
    path.write_bytes(pickle.dumps(Evil(), protocol))
    assert svmfast("import", path, "-o", "model", cwd=tmp_path).returncode == 2
    assert [one.name for one in tmp_path.iterdir()] == ["evil"]


def test_a_skops_file_of_other_types_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "evil.skops"
    dump_skops({"a": Evil()}, path)
    with pytest.raises(ModelFormatError, match=r"types that skops does not trust \('.*Evil'\); "):
        model_of_file(path)


def test_an_estimator_of_sparse_rows_and_one_that_is_not_supported(tmp_path: Path) -> None:
    sparse_rows = sparse.csr_matrix(X)
    dump_skops(SVC().fit(sparse_rows, Y), tmp_path / "sparse.skops")
    read, _ = model_of_file(tmp_path / "sparse.skops")
    assert read.n_features == 4
    dump_skops(make_pipeline(StandardScaler(), PCA(2), SVC()).fit(X, Y), tmp_path / "pca.skops")
    with pytest.raises(UnsupportedError, match="step 'pca' of the pipeline is a PCA; only "):
        model_of_file(tmp_path / "pca.skops")


def refusal(path: Path) -> str:
    with pytest.raises(ModelFormatError) as caught:
        model_of_file(path)
    return str(caught.value).removeprefix(f"{path}: ")


def test_other_files_are_refused_in_one_line(tmp_path: Path) -> None:
    expected = "expected an estimator that skops.io.dump wrote"
    path = tmp_path / "file"
    for text in (b"", b"1 1:2\n", b"\0" * 100):
        path.write_bytes(text)
        assert refusal(path) == f"not an estimator; {expected}"
    assert refusal(model("iris_c_linear")) == "a model, not an estimator; use it as it is"
    whole = SVM.read_bytes()
    for text in (whole[: len(whole) // 2], whole[:5000] + b"x" * 500 + whole[5500:], whole[:4]):
        path.write_bytes(text)
        assert refusal(path).startswith("skops cannot read it (")


def test_inconsistent_attributes_are_refused(tmp_path: Path) -> None:
    def spoiled(name: str, value: object) -> str:
        fitted = SVC().fit(X, Y)
        setattr(fitted, name, value)
        path = tmp_path / f"{name}.skops"
        dump_skops(fitted, path)
        return refusal(path)

    for name, value in (
        ("_n_support", np.array([1, 2, 1000])),
        ("_dual_coef_", np.zeros((1, 3))),
        ("support_vectors_", np.zeros((2, 2, 2))),
        ("_intercept_", np.zeros(7)),
        ("classes_", np.array([1, 1, 2])),
    ):
        assert spoiled(name, value).startswith("inconsistent attributes ("), name


def test_a_small_file_cannot_fill_the_memory(tmp_path: Path) -> None:
    path = tmp_path / "bomb.skops"
    with ZipFile(SVM) as whole, ZipFile(path, "w", ZIP_DEFLATED) as bomb:
        for one in whole.namelist():
            bomb.writestr(one, whole.read(one))
        bomb.writestr("more.npy", b"\0" * (64 << 20))
    done = svmfast("import", path, "-o", tmp_path / "out", "--memory", "100M")
    assert done.returncode == 2
    assert b"the limit is 104,857,600; allow more memory" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_without_skops_one_line_says_how_to_get_it(tmp_path: Path) -> None:
    hide = (
        "import sys; sys.modules['skops'] = None; from svmfast.cli.main import run; "
        "sys.exit(run(sys.argv[1:]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", hide, "import", str(SVM), "-o", str(tmp_path / "out")],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert done.stderr == (
        f"svmfast: {SVM}: reading it needs skops, which is not installed; pip install 'svmfast[sklearn]'\n"
    )
