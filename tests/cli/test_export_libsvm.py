"""``svmfast export --to libsvm``: LIBSVM's text, svm-scale's range file, models that name their features."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from program import FIXTURES, data, model, svmfast

import svmfast as package
from svmfast.errors import OptionError, UnsupportedError
from svmfast.formats.detect import load_model
from svmfast.formats.libsvm_model import libsvm_model_bytes
from svmfast.models.scaled import ScaledModel
from svmfast.models.scaling import Scaling
from svmfast.options import Reading
from svmfast.progress import Listener
from svmfast.rows import as_rows

EXACT, RANGES, TEST = model("iris_c_rbf_prob"), data("iris.ranges"), data("iris.test")
NAMES = ("sepal length", "sepal width", "petal length", "petal width")
needs_libsvm = pytest.mark.skipif(
    shutil.which("svm-scale") is None or shutil.which("svm-predict") is None,
    reason="svm-scale and svm-predict are not installed",
)


def exported(*words: object, code: int = 0) -> str:
    done = svmfast("export", *words, "--to", "libsvm", "-q")
    assert (done.returncode, done.stdout) == (code, b""), done.stderr
    return done.stderr.decode()


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


def test_a_model_with_names_finds_the_columns_of_a_table(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import csv

    names, named = tmp_path / "names", tmp_path / "named"
    names.write_text("\n".join(NAMES) + "\n")
    exported(EXACT, "--feature-names", names, "-o", named)
    rows = package.read_svmlight(TEST)
    table = dict(zip(NAMES, rows.rows.to_dense(4).T, strict=True))
    shuffled = {"label": rows.labels, **{name: table[name] for name in reversed(NAMES)}}
    csv.write_csv(pyarrow.table(shuffled), tmp_path / "rows.csv")
    assert svmfast("predict", "-q", TEST, EXACT, tmp_path / "a").returncode == 0
    assert svmfast("predict", "-q", tmp_path / "rows.csv", named, tmp_path / "b").returncode == 0
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    # The text is kept, and models converted from this one have the names.
    result = svmfast("export", named, "--to", "libsvm", "-o", tmp_path / "back", "-q")
    assert (tmp_path / "back").read_bytes() == EXACT.read_bytes()
    assert result.stderr == b""
    svmfast("approximate", named, "--order", "2", "--force", "-o", tmp_path / "fast", "-q")
    assert package.load_model(tmp_path / "fast").scaling.feature_names == NAMES


def test_names_keep_the_scaling_and_widen_it() -> None:
    exact = load_model(EXACT)
    rows = np.array([[5.1, 3.5, 1.4, 0.2, 7.0]])
    for scaling in (
        package.read_ranges(RANGES),
        Scaling(np.ones(3), np.full(3, 0.5)),
        None,
    ):
        model = exact if scaling is None else ScaledModel(exact, scaling)
        made = package.export(model, "libsvm", feature_names=(*NAMES, "more"))
        named = package.load_model(made.data)
        assert isinstance(named, ScaledModel)
        assert named.scaling.feature_names == (*NAMES, "more")
        assert np.array_equal(
            package.predict(named, rows).decisions,
            package.predict(exact, rows if scaling is None else scaling.apply(as_rows(rows))).decisions,
        )


def test_names_alone_change_no_result() -> None:
    named = package.load_model(package.export(EXACT, "libsvm", feature_names=NAMES).data)
    plain = package.export(EXACT, "json").text
    assert package.export(named, "json").text.partition('"variables"')[2] == plain.partition('"variables"')[2]
    assert '"scaling":null' in package.export(named, "json").text


def test_models_without_libsvm_text_are_refused_in_one_line(tmp_path: Path) -> None:
    out = tmp_path / "m"
    assert exported(EXACT, "--scale", RANGES, "-o", out, code=2) == (
        "svmfast: LIBSVM's format cannot hold the model's scaling; write a range file with --ranges\n"
    )
    assert exported(EXACT, "--ranges", tmp_path / "r", "-o", out, code=2) == (
        "svmfast: --ranges: the model has no scaling\n"
    )
    routed = FIXTURES / "frozen" / "1.0" / "routed_pseudo_poly.model"
    assert exported(routed, "-o", out, code=2) == (
        "svmfast: a routed model cannot be written as LIBSVM's text; export it to c, onnx or json\n"
    )
    names = tmp_path / "names"
    names.write_text("a\nb\n")
    assert exported(EXACT, "--feature-names", names, "-o", out, code=2) == (
        "svmfast: 2 feature names for 4 features\n"
    )
    names.write_text("a\nb\na\nc\n")
    assert exported(EXACT, "--feature-names", names, "-o", out, code=2) == (
        "svmfast: feature_names: the same name twice; expected distinct names\n"
    )
    assert not out.exists()
    exact = load_model(EXACT)
    clipped = ScaledModel(exact, Scaling(np.zeros(4), np.ones(4), clip=(0.0, 1.0)))
    with pytest.raises(UnsupportedError, match="clips, which svm-scale does not"):
        package.export(clipped, "libsvm", ranges=True)
    with pytest.raises(OptionError, match="5 feature names for 4 features"):
        package.export(clipped, "libsvm", feature_names=(*NAMES, "more"))
    with pytest.raises(UnsupportedError, match="reverses columns"):
        package.export(ScaledModel(exact, Scaling(np.zeros(4), -np.ones(4))), "libsvm", ranges=True)
    with pytest.raises(OptionError, match="keeps the scaling in the file; leave `ranges` out"):
        package.export(EXACT, "libsvm", feature_names=NAMES, ranges=True)
    done = svmfast("export", EXACT, "--ranges", tmp_path / "r", "-o", out)
    assert done.stderr.decode() == "svmfast: --to c does not support a range file\n"


def test_names_of_classes_become_a_remark() -> None:
    scaling = Scaling(np.zeros(4), np.ones(4), class_names=("two", "three", "one"))
    heard: list[str] = []
    made = package.export(
        ScaledModel(load_model(EXACT), scaling), "libsvm", listener=Listener(on_note=heard.append)
    )
    assert made.data == EXACT.read_bytes()
    assert heard == ["labels stand for classes: 2 is 'two', 3 is 'three', 1 is 'one'"]


def test_scale_becomes_part_of_the_exported_file(tmp_path: Path) -> None:
    """`--scale` in every language: the exported file takes raw rows."""
    made = package.export(EXACT, "json", reading=Reading(scale=RANGES))
    assert '"scaling":{' in made.text


def test_a_comparison_is_printed_only_on_request(tmp_path: Path) -> None:
    """The text is the model's own, so a comparison on its vectors shows nothing."""
    words = ("export", EXACT, "--to", "libsvm", "-o", tmp_path / "m")
    lines = svmfast(*words).stderr.decode().splitlines()
    assert lines[0] == "exported     libsvm"
    assert [line.split()[0] for line in lines] == ["exported", "work", "written"]
    assert "0 labels differ from the model's" in svmfast(*words, "--test", TEST).stderr.decode()
