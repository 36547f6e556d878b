"""``svmfast export`` on the command line."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from command import svmfast
from program import FIXTURES, data, model

import svmfast as package
from svmfast.commands.export_report import language_for
from svmfast.errors import OptionError
from svmfast.models.scaled import ScaledModel
from svmfast.models.scaling import Scaling

EXACT = model("iris_c_rbf_prob")


def test_the_command_writes_what_the_function_returns(tmp_path: Path) -> None:
    out = tmp_path / "iris.h"
    done = svmfast("export", EXACT, "--to", "c", "-o", out, "--prefix", "iris", "--test", data("iris.test"))
    assert (done.returncode, done.stdout) == (0, b"")
    made = package.export(EXACT, "c", prefix="iris", test=data("iris.test"))
    assert out.read_bytes() == made.data
    errors = done.stderr.decode()
    for words in ("arithmetic in float", "0 labels differ", "test         50 rows in the file", "flash"):
        assert words in errors
    assert f"written      {out}, {out.stat().st_size:,} bytes" in errors


def test_the_file_can_go_to_standard_output(tmp_path: Path) -> None:
    done = svmfast("export", EXACT, "-o", "-", "-q")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == package.export(EXACT).data


def feature_names(path: Path, language: str) -> list[str]:
    """Return the names of the features in an exported file, in their order."""
    if language == "c":
        constants = re.findall(r"#define MODEL_X_(\w+) (\d+)", path.read_text())
        assert [int(number) for _, number in constants] == list(range(len(constants)))
        return [name.lower() for name, _ in constants]
    onnx = pytest.importorskip("onnx", reason="no onnx")
    about = {one.key: one.value for one in onnx.load(path).metadata_props}
    found: list[str] = json.loads(about["feature_names"])
    return found


@pytest.mark.parametrize("language", ["c", "onnx"])
def test_the_names_in_a_model_are_exported(language: str, tmp_path: Path) -> None:
    """They come from the columns of the table it was trained on."""
    pytest.importorskip("pyarrow", reason="no pyarrow")
    table, trained, out = tmp_path / "table.csv", tmp_path / "trained", tmp_path / "out"
    table.write_text("label,age,load,noise\nworn,1,2,0\nbroken,0,1,2\nworn,2,2,1\nbroken,1,0,2\n")
    assert svmfast("train", "-q", table, trained).returncode == 0
    assert svmfast("export", trained, "--to", language, "-o", out, "-q").returncode == 0
    assert feature_names(out, language) == ["age", "load", "noise"]


def test_the_names_of_a_model_become_constants_that_differ(tmp_path: Path) -> None:
    scaling = Scaling(np.zeros(4), np.ones(4), feature_names=("b_3", "a", "b!", "b?"))
    package.save_model(ScaledModel(package.load_model(EXACT), scaling), tmp_path / "m")
    svmfast("export", tmp_path / "m", "-o", tmp_path / "m.h", "-q")
    assert feature_names(tmp_path / "m.h", "c") == ["b_3", "a", "b_", "b__3"]
    scaling = Scaling(np.zeros(4), np.ones(4), feature_names=("b", "b_2", "B", "b_3"))
    package.save_model(ScaledModel(package.load_model(EXACT), scaling), tmp_path / "m")
    svmfast("export", tmp_path / "m", "-o", tmp_path / "m.h", "-q")
    assert feature_names(tmp_path / "m.h", "c") == ["b", "b_2", "b_2_2", "b_3"]


def test_a_model_without_vectors_is_measured_on_given_rows_alone(tmp_path: Path) -> None:
    polynomial = FIXTURES / "frozen" / "1.0" / "polynomial_no_certificate.model"
    done = svmfast("export", polynomial, "-o", tmp_path / "m.h", "--json")
    assert (
        "measured     not, as the model has no vectors and no test rows are given\n" in done.stderr.decode()
    )
    assert "labels_differing" not in json.loads(done.stdout)
    assert " * single precision, not measured.\n" in (tmp_path / "m.h").read_text()
    done = svmfast("export", polynomial, "-o", tmp_path / "m.h", "--json", "--test", data("iris.test"))
    assert json.loads(done.stdout)["measured_rows"] > 0


@pytest.mark.parametrize(
    ("name", "language"),
    [
        ("m.onnx", "onnx"),
        ("m.ONNX.gz", "onnx"),
        ("m.model", "libsvm"),
        ("m.hpp", "c"),
        ("m", "c"),
        ("m.gz", "c"),
        ("-", "c"),
    ],
)
def test_the_extension_of_the_output_decides_the_language(name: str, language: str) -> None:
    assert language_for(name, None) == language
    assert language_for(name, language) == language
    if name not in ("m", "m.gz", "-"):
        other = "onnx" if language == "c" else "c"
        with pytest.raises(
            OptionError, match=f"^`to` {other} contradicts the extension of '{name}'; give `to` "
        ):
            language_for(name, other)


def test_a_model_over_the_limit_on_flash_is_not_written(tmp_path: Path) -> None:
    out = tmp_path / "m.h"
    size = package.export(EXACT).report.table_bytes
    assert svmfast("export", EXACT, "-o", out, "-q", "--max-flash", str(size)).returncode == 0
    out.unlink()
    done = svmfast("export", EXACT, "-o", out, "--max-flash", str(size - 1))
    line = (
        f"svmfast: the tables take {size:,} bytes, more than --max-flash {size - 1:,}; approximate or "
        "compress the model first"
    )
    assert (done.returncode, done.stderr.decode().splitlines()[-1]) == (1, line)
    assert not out.exists()
