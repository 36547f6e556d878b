"""``svmfast export`` on the command line."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from c_exports import needs_compiler
from program import FIXTURES, PROGRAM, ROOT, data, model, svmfast

import svmfast as package
from svmfast.commands.export_report import language_for
from svmfast.errors import OptionError
from svmfast.exports.accuracy import Accuracy
from svmfast.models.scaled import ScaledModel
from svmfast.models.scaling import Scaling

PAGE = (ROOT / "docs" / "export.md").read_text()
EXACT = model("iris_c_rbf_prob")


def test_the_command_writes_what_the_function_returns(tmp_path: Path) -> None:
    out = tmp_path / "iris.h"
    done = svmfast("export", EXACT, "--to", "c", "-o", out, "--prefix", "iris", "--test", data("iris.test"))
    assert (done.returncode, done.stdout) == (0, b"")
    made = package.export(EXACT, "c", prefix="iris", test=data("iris.test"))
    assert out.read_bytes() == made.data
    errors = done.stderr.decode()
    for words in (
        "arithmetic in float",
        "0 labels differ",
        "test         50 rows in the file",
        "flash",
    ):
        assert words in errors
    assert f"written      {out}, {out.stat().st_size:,} bytes" in errors


def test_the_file_can_go_to_standard_output(tmp_path: Path) -> None:
    done = svmfast("export", EXACT, "-o", "-", "-q")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == package.export(EXACT).data


def test_double_precision_and_the_report(tmp_path: Path) -> None:
    done = svmfast("export", EXACT, "--precision", "double", "-o", tmp_path / "m.h", "--json", "-q")
    report = json.loads(done.stdout)
    assert (report["arithmetic"], report["language"]) == ("double", "c")
    assert (
        report["table_bytes"]
        == 2
        * json.loads(svmfast("export", EXACT, "-o", tmp_path / "m.h", "--json", "-q").stdout)["table_bytes"]
        - 6
    )  # the classes' sizes and labels are bytes in both


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


CASCADE = FIXTURES / "frozen" / "1.0" / "cascade_of_expansions.model"


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (
            (CASCADE,),
            "a cascade consists of two models and a rule; export its fast and its exact model, and program "
            "the rule of docs/export.md",
        ),
        (
            (model("iris_precomputed"),),
            "a precomputed kernel is not a function of features; train with another kernel",
        ),
        ((EXACT, "--unlabelled"), "--unlabelled is only used with --test"),
        (
            (EXACT, "--prefix", "1"),
            "--prefix '1' cannot begin a name; give a letter, then letters, digits, '_'",
        ),
    ],
)
def test_the_error_for_what_cannot_be_exported_is_one_line(
    words: tuple[str, ...], line: str, tmp_path: Path
) -> None:
    done = svmfast("export", *words, "-o", tmp_path / "m.h")
    assert (done.returncode, done.stderr.decode()) == (2, f"svmfast: {line}\n")
    assert not (tmp_path / "m.h").exists()


def test_one_label_is_singular() -> None:
    one, two = (
        Accuracy(rows=50, of="rows", labels_differing=n, max_abs_error=0.1, max_abs_value=1.0).words()
        for n in (1, 2)
    )
    assert one == "50 rows: 1 label differs from the model's, values differ by at most 0.1 (largest: 1)"
    assert two.startswith("50 rows: 2 labels differ from the model's, ")


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


def test_the_help_says_that_classes_have_names() -> None:
    assert "NAME_class_name(label)" in svmfast("export", "--help").stdout.decode()


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


def test_an_extension_of_no_language_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "m.json"
    done = svmfast("export", EXACT, "-o", out)
    line = (
        f"svmfast: the extension of '{out}' is that of no language; give --to, or one of .h, .hpp, .c, .cpp, "
        ".onnx, .model\n"
    )
    assert (done.returncode, done.stdout, done.stderr.decode()) == (2, b"", line)
    assert not out.exists()
    assert svmfast("export", EXACT, "--to", "c", "-o", out, "-q").returncode == 0


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


def test_no_file_has_the_extension_of_another_language(tmp_path: Path) -> None:
    pytest.importorskip("onnx", reason="no onnx")
    out = tmp_path / "m.onnx"
    done = svmfast("export", EXACT, "--to", "c", "-o", out)
    line = f"svmfast: --to c contradicts the extension of '{out}'; give --to onnx or another extension\n"
    assert (done.returncode, done.stdout, done.stderr.decode()) == (2, b"", line)
    with pytest.raises(OptionError, match="contradicts"):
        package.export(EXACT).save(out)
    assert not out.exists()
    assert svmfast("export", EXACT, "-o", out, "-q").returncode == 0
    assert out.read_bytes() == package.export(EXACT, "onnx").data


@needs_compiler
def test_the_walk_through_of_the_page_runs(tmp_path: Path) -> None:
    for name in ("breast.train", "breast.test"):
        shutil.copy(data(name), tmp_path / name)
    block = re.search(r"^### From data to a device\n\n```sh\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    assert block is not None
    script = block[1].replace("svmfast ", f"{PROGRAM} ").replace("cc ", "gcc ")
    done = subprocess.run(["sh", "-e", "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith(" rows, 0 wrong\n")
    use = (
        '#include "breast.h"\nint ask_the_gateway(const float *x);\nint label_of(const float *x);\n'
        "int label_of(const float *x) {\n"
        + re.findall(r"^```c\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)[0].replace(
            '#include "breast.h"\n', ""
        )
        + "return label;\n}\n"
    )
    (tmp_path / "use.c").write_text(use)
    subprocess.run(["gcc", "-std=c99", "-Wall", "-Werror", "-c", "use.c"], cwd=tmp_path, check=True)


@pytest.mark.parametrize("block", re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE))
def test_the_python_of_the_page_runs(block: str) -> None:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("skl2onnx")
    done = subprocess.run([sys.executable, "-c", block], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith((" 0\n", "['label', 'scores']\n"))
