"""Exported C compiles without warnings and agrees with svm-predict, the model and the NumPy twin."""

import json
from dataclasses import replace
from itertools import product

import export_twin as twin
import numpy as np
import pytest
from c_exports import WARNINGS, WAYS, compile_together, compiled, needs_compiler, ran
from export_forms import FORMS, FROZEN, raw_rows
from hypothesis import given
from hypothesis import strategies as st
from nightly import nightly_but
from program import data, model

import svmfast
from svmfast.exports.accuracy import Accuracy, CheckedRows, Settings
from svmfast.exports.c_answer import label_type
from svmfast.exports.computation import computation_of
from svmfast.exports.languages import LANGUAGES
from svmfast.models.head import Head
from svmfast.models.scaled import ScaledModel
from svmfast.models.scaling import Scaling
from svmfast.rows import as_rows

pytestmark = needs_compiler

PRECISIONS = ("double", "float")


@pytest.mark.parametrize("precision", PRECISIONS)
def test_every_compiler_accepts_the_files_without_warnings(precision, tmp_path):
    made = {}
    for i, loaded in enumerate(map(svmfast.load_model, FORMS.values())):
        options = {"precision": precision, "test": raw_rows(loaded), "test_rows": 5, "prefix": f"form{i}"}
        made[f"form{i}"] = svmfast.export(loaded, **options)
    compile_together(made, tmp_path)


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("name", FORMS)
def test_values_are_the_twins_and_near_the_models(name, precision, tmp_path):
    loaded = svmfast.load_model(FORMS[name])
    computation, rng = computation_of(loaded), np.random.default_rng(1)
    rows = as_rows(np.vstack([raw_rows(loaded), rng.normal(size=(50, computation.n_features))]))
    made = svmfast.export(loaded, "c", precision=precision, test=rows)
    file = compiled(made, tmp_path, regression=loaded.head.is_regression)
    expected, _, _ = twin.values(computation, rows, file.dtype)
    assert np.array_equal(file.decisions(rows), expected)
    exact, stated = loaded.decision_values(rows), made.report.accuracy
    # If a row is a landmark, the engine takes roots of squared distances that cancel.
    # Digits that svm-scale would round to are left as they are.
    least = 1e-8 if "triangle" in name else 1e-4 if "scaled" in name else 1e-11
    least = (least if precision == "double" else 2e-3) * max(1.0, float(np.abs(exact).max()))
    assert max(stated.max_abs_error, float(np.abs(expected - exact).max())) < least
    if not loaded.head.is_regression and precision == "double":
        assert np.array_equal(file.answers(rows), loaded.head.predict(exact))
        assert stated.labels_differing == 0


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
SANITIZED = ["-fsanitize=address,undefined", "-fsanitize=float-cast-overflow", "-fno-sanitize-recover=all"]


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("name", nightly_but(["rbf, three classes", "polynomial_three_classes"], FORMS))
def test_sanitizers_find_nothing_on_edge_rows(name, precision, tmp_path):
    loaded = svmfast.load_model(FORMS[name])
    (tmp_path / "model.h").write_bytes(svmfast.export(loaded, precision=precision).data)
    (tmp_path / "edges.c").write_text(EDGES)
    answer = f"-DANSWER={'model_value' if loaded.head.is_regression else 'model_predict'}"
    built = ran(tmp_path, "gcc", "-std=c99", "-O1", *SANITIZED, answer, "edges.c", "-o", "edges", "-lm")
    if "cannot find" in built.stderr:
        pytest.skip("the compiler has no sanitizers")
    assert built.returncode == 0, built.stderr
    done = ran(tmp_path, tmp_path / "edges")
    assert (done.returncode, done.stderr, done.stdout.count("\n")) == (0, "", 9)


def test_the_files_own_test_passes_and_detects_a_changed_label(tmp_path):
    text = svmfast.export(model("iris_c_rbf_prob"), test=data("iris.test")).text
    other = text.replace("model_test_labels[50] = {\n    ", "model_test_labels[50] = {\n    2 - ")
    regression = svmfast.export(model("diabetes_eps_rbf"), test=data("diabetes.test"), test_rows=7).text
    assert other != text
    for content, wrong, n, more in (
        (text, 0, 50, WARNINGS),
        (other, 1, 50, WARNINGS),
        (regression, 0, 7, ["-march=native", "-O3"]),  # values have a tolerance
    ):
        (tmp_path / "m.c").write_text(content)
        built = ran(tmp_path, "gcc", "-std=c99", *more, "-DMODEL_TEST", "-DMODEL_TEST_MAIN", "m.c", "-o", "m")
        assert built.returncode == 0, built.stderr
        done = ran(tmp_path, tmp_path / "m")
        assert (done.returncode, done.stdout) == (wrong, f"{n} rows, {wrong} wrong\n")


@pytest.mark.parametrize(
    "path", [FORMS["rbf, ten classes"], FROZEN / "routed_pseudo_triangle.model", FORMS["sigmoid"]]
)
def test_the_file_allocates_and_calls_nothing(path, tmp_path):
    (tmp_path / "model.h").write_bytes(svmfast.export(path).data)
    declared = "int use(const float *x);\nint use(const float *x) { return model_predict(x); }\n"
    (tmp_path / "use.c").write_text('#include "model.h"\n' + declared)
    assert ran(tmp_path, "gcc", "-std=c99", "-O2", "-c", "use.c").returncode == 0
    called = set(ran(tmp_path, "nm", "-u", "use.o").stdout.split())
    assert called <= {"U", "memset", "memcpy", "__stack_chk_fail", "_GLOBAL_OFFSET_TABLE_"}


def test_class_names_are_found_from_labels(tmp_path):
    names = ('a "b" \\', "größe??/", "%s $n")
    scaling = Scaling(np.zeros(4), np.ones(4), class_names=names)
    named = ScaledModel(svmfast.load_model(FORMS["rbf, three classes"]), scaling)
    made = svmfast.export(named, test=data("iris.test"))
    assert "class_name" not in svmfast.export(FORMS["rbf, three classes"]).text
    compile_together({"model": made}, tmp_path)
    printed = 'const char *name = model_class_name(i); printf("%s|", name == NULL ? "none" : name);'
    main = f"int main(void) {{ for (int i = 0; i < 5; ++i) {{ {printed} }} return 0; }}\n"
    (tmp_path / "main.c").write_text(f'#include "model.h"\n#include <stdio.h>\n{main}')
    assert ran(tmp_path, "gcc", "-std=c99", *WARNINGS, "main.c", "-o", "main").returncode == 0
    two, three, one = names  # the model's labels are 2, 3, 1
    assert ran(tmp_path, tmp_path / "main").stdout == f"none|{one}|{two}|{three}|none|"


#: With a certificate that holds near the center.
MODEL = FROZEN / "polynomial_three_classes.model"
ROWS = as_rows(svmfast.read_svmlight(data("iris.test")).rows.to_dense(4))
REORDER = "-fassociative-math -fno-signed-zeros -fno-trapping-math"
STRICT = ("-O3", "-fno-math-errno -fno-trapping-math")
LOOSE = ("-ffast-math", "-funsafe-math-optimizations", "-ffinite-math-only", REORDER, f"-Os {REORDER}")
ALL = product(["gcc", "clang"], [*STRICT, *LOOSE, "-O3 -funsafe-math-optimizations -ffinite-math-only"])
ALWAYS = [("gcc", "-O3"), ("gcc", "-ffast-math")]


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize(("compiler", "flags"), nightly_but(ALWAYS, list(ALL)))
def test_no_label_is_certain_without_ieee_arithmetic(compiler, flags, precision, tmp_path):
    """gcc 12 states such options in macros; clang, like older versions of gcc, does not."""
    made = svmfast.export(MODEL, precision=precision)
    file = compiled(made, tmp_path, *flags.split(), "-nostartfiles", compiler=compiler)
    rows = np.vstack([ROWS.to_dense(4), np.full((1, 4), np.nan), np.full((1, 4), np.inf)])
    sure = file.certain(rows)
    assert sure.any() == (flags in STRICT)
    assert not sure[-2:].any()


@pytest.mark.parametrize("precision", PRECISIONS)
def test_numbers_of_another_format_are_refused(precision, tmp_path):
    """As double precision on AVR, which has 32 bits, and constants of single precision, on Cortex-M4F."""
    (tmp_path / "model.h").write_bytes(svmfast.export(MODEL, precision=precision).data)
    done = ran(tmp_path, *WAYS["gcc"], "-fsingle-precision-constant", "-fsyntax-only", "model.h")
    assert ("model_needs_no_single_precision_constant_" in done.stderr) == (precision == "double")
    digits = {"float": "FLT", "double": "DBL"}[precision] + "_MANT_DIG"
    changed = f"#include <float.h>\n#undef {digits}\n#define {digits} 11\n"
    (tmp_path / "m.c").write_text(f'{changed}#include "model.h"')
    done = ran(tmp_path, *WAYS["gcc"], "-fsyntax-only", "m.c")
    assert f'#error "this file needs a {precision} of ' in done.stderr


COMPUTATION = computation_of(svmfast.load_model(MODEL))
INJECTED = [
    r"x *\ int injected = 1; \* y",
    "*/ int injected = 1; /*",
    "*??/\n/ int injected = 1; /*??/\n*",
    '"; int injected = 1; char rest[] = "',
    "\\",
    "$n $N_H ??/",
    "\r\n#define injected 1\n",
    "\N{RIGHT-TO-LEFT OVERRIDE}\u2028\x1b[2J\0é\udcff",
    '","injected":"1',
]
#: What means something in comments, strings, lines or templates.
PIECES = ["*", "/", "\\", "?", "$n", "$", '"', "'", "\n", "\r", "#", " ", "a", "é", "\u2028", "7"]
MIXED = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)
TEXTS = st.one_of(st.sampled_from(INJECTED), MIXED, st.text(max_size=20))


def exported(text, language):
    known = text.encode("utf-8", "replace").decode()  # only file names may not be UTF-8
    names = [f"{known}{i}" for i in range(4)]
    apart = {"labels_differing": 0, "max_abs_error": 0.0, "max_abs_value": 1.0}
    accuracy = Accuracy(rows=2, of=f"rows of {text}", **apart)
    origin = {"parameters": text, f"key {text}": "value"}
    test = CheckedRows(np.zeros((2, 4)), np.array([1.0, 2.0]))
    settings = Settings("model", np.dtype(np.float32), origin, accuracy, test, tuple(names))
    computation = replace(COMPUTATION, class_names=tuple(names[:3]))
    return LANGUAGES[language].module().write(computation, settings)[0], names


@pytest.mark.parametrize("way", nightly_but(["gcc"], WAYS))
def test_compilers_see_no_code_in_text(way, tmp_path):
    """All files in one program: whatever a text defines would be defined twice, or is not declared."""
    main = "int injected(void);\nint injected(void) { return 0; }\n"
    for number, text in enumerate(INJECTED):
        found = exported(text, "c")[0].decode("ascii")
        assert found.replace("\n", "").isprintable()
        own = found.replace("model_", f"m{number}_").replace("MODEL_", f"M{number}_")
        (tmp_path / f"{number}.h").write_text(own)
        main = f'#include "{number}.h"\n{main}'
    (tmp_path / "main.c").write_text(main)
    flags = ["-trigraphs", "-fsyntax-only", *(f"-DM{number}_TEST" for number in range(len(INJECTED)))]
    done = ran(tmp_path, *WAYS[way], *WARNINGS, *flags, "main.c")
    assert (done.returncode, done.stderr) == (0, "")


@given(TEXTS)
def test_onnx_gives_the_names_back(text):
    onnx = pytest.importorskip("onnx", reason="no onnx")
    (made, names), (other, _) = (exported(one, "onnx") for one in (text, "text"))
    found, plain = onnx.load_from_string(made), onnx.load_from_string(other)
    about = {one.key: one.value for one in found.metadata_props}
    assert len(about) == len(found.metadata_props) == 5
    assert all(part.isprintable() for pair in about.items() for part in pair)
    assert json.loads(about["feature_names"]) == names
    [strings] = [one for one in found.graph.initializer if one.string_data]
    assert [one.decode() for one in strings.string_data] == names[:3]
    assert [one.op_type for one in found.graph.node] == [one.op_type for one in plain.graph.node]


@pytest.mark.parametrize(("label", "c_type"), [(-32767, "int"), (32768, "int32_t"), (-(2**31), "int64_t")])
def test_the_type_of_labels_holds_the_largest(label, c_type):
    assert label_type(Head("c_svc", labels=np.array([1, label]))) == c_type
