"""The Python API: declared options, as on the command line; forms of data; wrong types; a missing core."""

import ast
import inspect
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, replace

import click
import numpy as np
import pytest
from program import ROOT, data, model

import svmfast as package
from svmfast.cli.command import click_command
from svmfast.cli.main import program
from svmfast.commands import bound_check, compare, export, frontier, import_, predict, scale
from svmfast.commands.functions import takes
from svmfast.errors import OptionError, WrongTypeError
from svmfast.formats.model_files import model_bytes
from svmfast.options import Bounded, made, option, options_of
from svmfast.values import Real


def test_sources_without_a_compiled_core_explain_what_to_do(tmp_path):
    copy = tmp_path / "svmfast"
    shutil.copytree(ROOT / "svmfast", copy, ignore=shutil.ignore_patterns("*.so", "*.pyd", "__pycache__"))
    code = (
        "import sys\n"
        "sys.meta_path = [f for f in sys.meta_path if 'editable' not in type(f).__module__]\n"
        "import svmfast\n"
        "try: svmfast.Rows, svmfast.load_model, svmfast.train, svmfast.read_svmlight\n"
        "except ImportError as error: print(type(error).__name__, error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    expected = re.escape(f"ImportError no compiled core in {copy / '_core'}: these are the sources; ")
    assert done.stderr == ""
    assert re.fullmatch(expected + ".*'pip install -e .'.*\n", done.stdout)


def test_bound_check_uses_the_requested_order():
    rows = np.array([[1.0, 0.0], [0.0, 2.0]])
    second, third = (package.bound_check(rows, order=order).paper for order in (2, 3))
    assert second.gamma_max == package.bound_check(rows).paper.gamma_max == 1 / 16
    assert third.gamma_max == pytest.approx(0.788190756871425 / 8)


def test_every_form_of_the_data_gives_the_same_answer():
    path, exact = data("iris.test"), model("iris_c_rbf_prob")
    read = package.read_svmlight(path)
    dense = read.rows.to_dense()
    forms = [path, str(path), read, read.rows, dense, dense.tolist(), read.rows.to_scipy()]
    expected = package.predict(exact, read).predicted
    made = set()
    for form in forms:
        assert (package.predict(exact, form).predicted == expected).all()
        fast, _ = package.approximate(exact, data=form, cells=2, threads=1)
        made.add(fast.coefficients.tobytes())
        assert package.bound_check(form, model=exact).rows == len(read)
    assert len(made) == 1
    assert "accuracy" in str(package.compare([exact, exact], path, repeats=1))
    assert package.approximate(package.load_model(exact), order=2, threads=None).model.n_cells == 1


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1.0, "1", True])
def test_values_that_are_not_numbers_are_refused(value):
    rows, exact = package.read_svmlight(data("diabetes.test")), model("diabetes_eps_rbf")
    is_text = isinstance(value, str | bool)
    expected = "a number$" if is_text else "a (share|finite decimal number) "
    for name, call, *given in (("tolerance", package.Predictor), ("max_diff", package.compress, rows)):
        with pytest.raises(OptionError, match=f"^`{name}` is .*; expected {expected}") as caught:
            call(exact, *given, **{name: value})
        assert isinstance(caught.value, TypeError) == is_text


def test_train_accepts_the_same_data_as_the_other_functions():
    path = data("iris.train")
    rows = package.read_svmlight(path)
    made = {
        model_bytes(package.train(given, labels, gamma=0.5, threads=threads).model)
        for given, labels in ((path, None), (rows, None), (rows.rows.to_scipy(), rows.labels))
        for threads in (None, 1, 2)
    }
    assert len(made) == 1
    with pytest.raises(OptionError, match="`labels` are missing: pass them with the data, or pass a Dataset"):
        package.train(rows.rows)
    assert package.train(rows.rows, svm_type="one_class", gamma=0.5).model.head.svm_type == "one_class"
    matrix = np.column_stack((np.arange(1, 5), np.eye(4)))
    for given in ((data("precomputed.train"),), (matrix, [1, 1, -1, -1])):
        assert package.train(*given, kernel="precomputed").model.kernel.kind == "precomputed"


def test_train_scores_and_class_weights():
    rows = package.read_svmlight(data("iris.train"))
    scored = package.train(rows, folds=4, gamma=0.5)
    assert scored.model is None
    assert 90 < scored.report.quality.accuracy <= 100
    weighed = package.train(rows, weights={1: 5.0, 77: 2})
    assert model_bytes(weighed.model) != model_bytes(package.train(rows).model)
    assert weighed.warnings == ("`data`: no row has label 77, which has a weight",)
    assert model_bytes(package.train(rows, weights=[(1, 5)]).model) == model_bytes(weighed.model)


def test_a_predictor_answers_what_predict_answers():
    rows = package.read_svmlight(data("breast.test"))
    predictor, dense = package.Predictor(model("breast_c_rbf")), rows.rows.to_dense()
    expected = package.predict(model("breast_c_rbf"), rows).predicted.tolist()
    for given in (rows, rows.rows, dense, dense.tolist(), rows.rows.to_scipy()):
        assert predictor.answer(given).predicted.tolist() == expected
    assert [predictor.answer(row, threads=1).predicted[0] for row in dense] == expected
    with pytest.raises(WrongTypeError, match="the data"):
        predictor.answer("a word")
    with pytest.raises(OptionError, match=r"^`bound` is an int; expected True or False$"):
        package.Predictor(model("breast_c_rbf"), bound=1)


VERBS = [
    (package.predict, predict.AnswerOptions, "predict"),
    (package.Predictor, predict.PredictionOptions, "predict"),
    (package.predict_files, predict.ManyOptions, "predict"),
    (package.compare, compare.CompareOptions, "compare"),
    (package.bound_check, bound_check.BoundCheckOptions, "bound-check"),
    (package.export, export.ExportOptions, "export"),
    (package.frontier, frontier.FrontierOptions, "frontier"),
    (package.info, Bounded, "info"),
    (package.scale, scale.ScaleOptions, "scale"),
    (package.from_sklearn, import_.ImportOptions, "import"),
]


@pytest.mark.parametrize(("function", "options", "verb"), VERBS)
def test_a_function_and_its_command_have_the_declared_options(function, options, verb):
    known = inspect.signature(function).parameters
    command = program.get_command(click.Context(program), verb)
    params = {one.name: one for one in command.params}
    for one in options_of(options):
        assert known[one.name].default == one.default
        assert known[one.name].kind == inspect.Parameter.KEYWORD_ONLY
        found = params[one.name].opts + params[one.name].secondary_opts
        assert set(found) == {flag for flags in one.flags for flag in flags.split("/")}
    # Python's values are checked as those of the command line.
    given = ["one"] * sum(one.default is one.empty for one in known.values())
    if options is predict.ManyOptions:  # the others are those of a Predictor
        with pytest.raises(OptionError, match="`skip_existing` is an int; expected True or False"):
            function(*given, skip_existing=1)
        return
    with pytest.raises(OptionError, match="`memory` is 0; expected a size such as 32k"):
        function(*given, memory=0)
    with pytest.raises(TypeError, match="there is no option 'nothing'"):
        function(*given, nothing=1)


def test_an_option_is_added_in_one_place():
    """A field of an options class: flag, help and keyword with its default and check follow from it."""

    @dataclass(frozen=True, kw_only=True)
    class More(predict.PredictionOptions):
        doubt: "float | None" = option(None, Real(0), "Doubt every answer this much.", "-d")

    def function(**options):
        return made(More, options)

    command = click_command(replace(predict.COMMAND, name="doubt", takes=(predict.Files, More)))
    assert "-d, --doubt NUMBER" in command.get_help(click.Context(command))
    function.__doc__ = "Predict.\n\n    {options}\n"
    function = takes(More)(function)
    assert inspect.signature(function).parameters["doubt"].default is None
    assert "Doubt every answer this much." in str(function.__doc__)
    assert function(doubt=1).doubt == 1
    with pytest.raises(OptionError, match="`doubt` is -1; expected a finite decimal number of at least 0"):
        function(doubt=-1)


def declared(text):
    """Return each function of a stub, by its class, and the names of its parameters."""
    found = {}
    for node in ast.parse(text).body:
        owner, inner = (f"{node.name}.", node.body) if isinstance(node, ast.ClassDef) else ("", [node])
        for one in inner:
            if isinstance(one, ast.FunctionDef):
                found[owner + one.name] = [arg.arg for arg in (*one.args.args, *one.args.kwonlyargs)]
    return found


def test_editors_see_every_option():
    """The stubs as in a build, where NumPy and click are absent too and the core is not compiled."""
    script = (
        "import runpy, sys\n"
        "sys.modules.update(dict.fromkeys(['numpy', 'click', 'scipy', 'svmfast._core._native']))\n"
        f"runpy.run_path({str(ROOT / 'scripts' / 'signatures.py')!r}, run_name='__main__')\n"
    )
    found = declared(subprocess.check_output([sys.executable, "-c", script], text=True))
    assert len(found) > 15
    for name in dir(package):
        function = getattr(package, name)
        if hasattr(function, "__signature__"):
            own = found[f"{name}.__init__" if isinstance(function, type) else name]
            assert [one for one in own if one != "self"] == list(inspect.signature(function).parameters), name
