"""Exported C compiles without warnings and agrees with svm-predict, the model and the NumPy twin."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path

import export_twin as twin
import numpy as np
import pytest
from c_exports import WARNINGS, compile_all_ways, compile_together, compiled, needs_compiler
from export_forms import FORMS, FROZEN, raw_rows
from golden import ROOT, manifest
from program import data, model

import svmfast
from svmfast.errors import OptionError
from svmfast.exports.computation import computation_of
from svmfast.models.scaled import ScaledModel
from svmfast.models.scaling import Scaling
from svmfast.rows import as_rows

pytestmark = needs_compiler

PRECISIONS = ("double", "float")


def with_test(name: str, precision: str, **more: str) -> svmfast.Export:
    loaded = svmfast.load_model(FORMS[name])
    return svmfast.export(loaded, "c", precision=precision, test=raw_rows(loaded), test_rows=5, **more)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_every_compiler_accepts_the_files_without_warnings(precision: str, tmp_path: Path) -> None:
    """All in one program; test_class_names_are_found_from_labels compiles one by itself."""
    made = {f"form{i}": with_test(name, precision, prefix=f"form{i}") for i, name in enumerate(FORMS)}
    compile_together(made, tmp_path)


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("name", FORMS)
def test_values_equal_the_twins_and_are_close_to_the_models(
    name: str, precision: str, tmp_path: Path
) -> None:
    loaded = svmfast.load_model(FORMS[name])
    computation = computation_of(loaded)
    rng = np.random.default_rng(1)
    width = computation.n_features
    rows = as_rows(np.vstack([raw_rows(loaded), rng.normal(size=(50, width))]))
    made = svmfast.export(loaded, "c", precision=precision, test=rows)
    file = compiled(made, tmp_path, regression=loaded.head.is_regression)
    expected, _, _ = twin.values(computation, rows, file.dtype)
    assert np.array_equal(file.decisions(rows), expected)
    exact = loaded.decision_values(rows)
    scale = max(1.0, float(np.abs(exact).max()))
    # The terms of an expansion's sum may be larger than the sum, and round accordingly.
    terms, expansion = 0.0, loaded.expansion
    if expansion is not None:
        x, z = expansion.sv.to_dense(width), rows.to_dense(width)
        terms = float((np.abs(expansion.sv_coef) @ np.abs(expansion.kernel.matrix(x, z))).max())
    stated = made.report.accuracy
    assert stated is not None
    # The stated difference is NumPy's, whose functions round otherwise.
    rounding = np.finfo(file.dtype).eps * max(4 * scale, terms)
    assert np.abs(expected - exact).max() <= 4 * stated.max_abs_error + rounding
    # If a row is a landmark, the engine takes roots of squared distances that cancel.
    # Digits that svm-scale would round to are left as they are.
    least = 1e-8 if "triangle" in name else 1e-4 if "scaled" in name else 1e-11
    assert stated.max_abs_error < (least if precision == "double" else 2e-3) * scale
    if not loaded.head.is_regression and precision == "double":
        assert np.array_equal(file.answers(rows), loaded.head.predict(exact))
        assert stated.labels_differing == 0


GOLDEN = [
    entry["command"].removeprefix("svm-predict ")
    for entry in manifest()
    if entry["command"].startswith("svm-predict ")
    and not any(part in entry["command"] for part in (">", "-b 1", "precomputed", "single_class", "extra"))
]


@pytest.mark.parametrize("command", GOLDEN)
def test_answers_in_double_are_svm_predicts(command: str, tmp_path: Path) -> None:
    """Including ties and strict signs: svm-predict wrote the golden files."""
    *_, rows_path, model_path, golden = (word for word in shlex.split(command) if not word.startswith("-"))
    loaded = svmfast.load_model(ROOT / model_path)
    rows = svmfast.read_svmlight(ROOT / rows_path).rows
    expected = np.array([float(line.split()[0]) for line in (ROOT / golden).read_text().splitlines()])
    file = compiled(
        svmfast.export(loaded, precision="double"), tmp_path, regression=loaded.head.is_regression
    )
    found = file.answers(rows)
    if loaded.head.is_regression:
        assert np.allclose(found, expected, rtol=1e-12, atol=1e-12 * np.abs(expected).max())
    else:
        assert np.array_equal(found, expected)


EDGES = """
#include "model.h"
#include <math.h>
#include <stdio.h>
int main(void) {
    const model_real edges[] = {
        (model_real)NAN, (model_real)INFINITY, -(model_real)INFINITY, (model_real)1e38, (model_real)-1e38,
        (model_real)1e-38, (model_real)1e-45, (model_real)0};
    model_real x[MODEL_FEATURES], out[MODEL_FUNCTIONS + 1];
    int i, j, n = (int)(sizeof edges / sizeof *edges), certain = 0;
    for (i = 0; i <= n; ++i) {
        for (j = 0; j < MODEL_FEATURES; ++j) x[j] = edges[i < n ? i : j % n];
        model_decision(x, out);
        printf("%g\\n", (double)ANSWER(x));
#ifdef MODEL_HAS_CERTAIN
        if (i < 5 || i == n) certain += model_certain(x, 0);
#endif
    }
    return certain;
}
"""


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("name", FORMS)
def test_sanitizers_find_nothing_on_edge_rows(name: str, precision: str, tmp_path: Path) -> None:
    loaded = svmfast.load_model(FORMS[name])
    (tmp_path / "model.h").write_bytes(svmfast.export(loaded, precision=precision).data)
    (tmp_path / "edges.c").write_text(EDGES)
    answer = "model_value" if loaded.head.is_regression else "model_predict"
    flags = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fsanitize=float-cast-overflow"]
    built = subprocess.run(
        [
            *("gcc", "-std=c99", "-O1", *flags, f"-DANSWER={answer}"),
            *("edges.c", "-o", "edges", "-lm"),
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    if "cannot find" in built.stderr:
        pytest.skip("the compiler has no sanitizers")
    assert built.returncode == 0, built.stderr
    done = subprocess.run([tmp_path / "edges"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) == 9


def test_the_files_own_test_passes_and_detects_a_changed_label(tmp_path: Path) -> None:
    text = svmfast.export(model("iris_c_rbf_prob"), test=data("iris.test"), prefix="iris").text
    other = text.replace("iris_test_labels[50] = {\n    ", "iris_test_labels[50] = {\n    2 - ")
    assert other != text
    for name, content, status in (("good", text, 0), ("bad", other, 1)):
        (tmp_path / f"{name}.c").write_text(content)
        subprocess.run(
            ["gcc", "-std=c99", *WARNINGS, "-DIRIS_TEST", "-DIRIS_TEST_MAIN", f"{name}.c", "-o", name],
            cwd=tmp_path,
            check=True,
        )
        done = subprocess.run([tmp_path / name], capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (status, f"50 rows, {status} wrong\n")


def test_an_exported_test_of_regression_has_a_tolerance(tmp_path: Path) -> None:
    made = svmfast.export(model("diabetes_eps_rbf"), test=data("diabetes.test"), test_rows=7)
    (tmp_path / "m.c").write_bytes(made.data)
    flags = ["-DMODEL_TEST", "-DMODEL_TEST_MAIN", "-march=native", "-O3"]
    subprocess.run(["gcc", "-std=c99", *flags, "m.c", "-o", "m"], cwd=tmp_path, check=True)
    done = subprocess.run([tmp_path / "m"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "7 rows, 0 wrong\n")


def test_two_models_go_into_one_program(tmp_path: Path) -> None:
    for name in ("breast_c_rbf", "normal_one_rbf"):
        (tmp_path / f"{name}.h").write_bytes(svmfast.export(model(name), prefix=name).data)
    (tmp_path / "both.c").write_text(
        '#include "breast_c_rbf.h"\n#include "normal_one_rbf.h"\n'
        "int both(const float *x);\n"
        "int both(const float *x) { return breast_c_rbf_predict(x) + normal_one_rbf_predict(x); }\n"
    )
    subprocess.run(["gcc", "-std=c99", *WARNINGS, "-c", "both.c"], cwd=tmp_path, check=True)


def test_the_file_allocates_and_calls_nothing(tmp_path: Path) -> None:
    if shutil.which("nm") is None:
        pytest.skip("no nm")
    for path in (FORMS["rbf, ten classes"], FROZEN / "routed_pseudo_triangle.model", FORMS["sigmoid"]):
        compiled(svmfast.export(path), tmp_path)
        (tmp_path / "use.c").write_text(
            '#include "model.h"\nint use(const float *x);\n'
            "int use(const float *x) { return model_predict(x); }\n"
        )
        subprocess.run(["gcc", "-std=c99", "-O2", "-c", "use.c"], cwd=tmp_path, check=True)
        listed = subprocess.run(["nm", "-u", "use.o"], cwd=tmp_path, capture_output=True, text=True).stdout
        assert set(listed.split()) <= {
            "U",
            "memset",
            "memcpy",
            "__stack_chk_fail",
            "_GLOBAL_OFFSET_TABLE_",
        }, path


@pytest.mark.skipif(shutil.which("arm-none-eabi-gcc") is None, reason="no compiler for Cortex-M0")
@pytest.mark.parametrize("name", ["iris_c_rbf_prob", "onehot_c_rbf"])
def test_small_processors_need_no_subtraction_routine(name: str, tmp_path: Path) -> None:
    """It takes 800 bytes on a Cortex-M0. (gcc subtracts a single positive rho of two classes.)"""
    (tmp_path / "model.h").write_bytes(svmfast.export(model(name)).data)
    (tmp_path / "use.c").write_text(
        '#include "model.h"\nint use(const float *x);\nint use(const float *x) { return model_predict(x); }\n'
    )
    flags = ["-mthumb", "-mcpu=cortex-m0", "-Os", "-std=c99"]
    subprocess.run(["arm-none-eabi-gcc", *flags, "-c", "use.c"], cwd=tmp_path, check=True)
    listed = subprocess.run(
        ["arm-none-eabi-nm", "-u", "use.o"], cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout
    assert "__aeabi_fadd" in listed
    assert "__aeabi_fsub" not in listed


def test_names_of_features_are_constants() -> None:
    names = ("petal length", "petal-width", "3", "+")
    scaling = Scaling(np.zeros(4), np.ones(4), feature_names=names)
    text = svmfast.export(ScaledModel(svmfast.load_model(model("iris_c_rbf_prob")), scaling)).text
    for line in ("PETAL_LENGTH 0", "PETAL_WIDTH 1", "3 2", "_ 3"):
        assert f"#define MODEL_X_{line}\n" in text


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"to": "cobol"}, "`to` 'cobol' is not a language; expected one of c, onnx, libsvm"),
        ({"prefix": "2x"}, "`prefix` '2x' cannot begin a name"),
        ({"prefix": "a-b"}, "`prefix` 'a-b' cannot begin a name"),
        ({"precision": "half"}, "`precision` is 'half'; expected float or double"),
        ({"to": "libsvm", "precision": "float"}, "LIBSVM's text has the model's own numbers: no precision"),
        ({"to": "libsvm", "test": data("iris.test")}, "LIBSVM's text has the model's own numbers"),
        ({"to": "onnx", "prefix": "x"}, "`prefix` is only for `to` c"),
        ({"to": "c", "ranges": True}, "`ranges` is only for `to` libsvm"),
        ({"test_rows": 0}, "`test_rows` is 0; expected a whole number from 1"),
    ],
)
def test_invalid_options_are_refused(given: dict[str, object], message: str) -> None:
    with pytest.raises(OptionError) as caught:
        svmfast.export(model("iris_c_rbf_prob"), **given)  # type: ignore[arg-type]
    assert str(caught.value).startswith(message)


def test_numbers_beyond_single_precision_are_refused_there(tmp_path: Path) -> None:
    text = model("tie_zero_decision").read_text()
    large = tmp_path / "large.model"
    large.write_text(text.replace("rho 0", "rho 1e300"))
    assert "rho 1e300" in large.read_text()
    svmfast.export(large, precision="double")
    with pytest.raises(OptionError, match="is too large for single precision"):
        svmfast.export(large)


def test_class_names_are_found_from_labels(tmp_path: Path) -> None:
    names = ('a "b" \\', "größe??/", "%s $n")
    scaling = Scaling(np.zeros(4), np.ones(4), class_names=names)
    named = ScaledModel(svmfast.load_model(FORMS["rbf, three classes"]), scaling)
    made = svmfast.export(named, test=data("iris.test"))
    assert "class_name" not in svmfast.export(FORMS["rbf, three classes"]).text
    compile_all_ways(made, tmp_path)
    (tmp_path / "main.c").write_text(
        '#include "model.h"\n#include <stdio.h>\nint main(void) {\n'
        "    for (int label = 0; label < 5; ++label) {\n"
        "        const char *name = model_class_name(label);\n"
        '        printf("%s|", name == NULL ? "none" : name);\n    }\n    return 0;\n}\n'
    )
    subprocess.run(["gcc", "-std=c99", *WARNINGS, "main.c", "-o", "main"], cwd=tmp_path, check=True)
    done = subprocess.run([tmp_path / "main"], capture_output=True, check=True)
    two, three, one = names  # the model's labels are 2, 3, 1
    assert done.stdout.decode() == "|".join(["none", one, two, three, "none", ""])
