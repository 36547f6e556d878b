"""The Python API where it differs from the command line: certificates on arrays, a missing core."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from program import ROOT, data, model, svmfast

import svmfast as package
from svmfast.errors import MemoryLimitError, OptionError, UnsupportedError, WrongTypeError
from svmfast.formats.model_files import model_bytes


def columns(*words: str | Path) -> list[list[str]]:
    done = svmfast("predict", "-q", *words)
    assert done.returncode == 0, done.stderr
    return [line.split() for line in done.stdout.decode().splitlines()]


@pytest.fixture(scope="module")
def fast(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("api") / "fast"
    done = svmfast("approximate", model("breast_c_rbf"), "-o", path, "--order", "1", "--embed-exact")
    assert done.returncode == 0
    return path


@pytest.mark.parametrize("tolerance", [None, 0.5])
def test_certified_rows_are_those_of_the_command(fast: Path, tolerance: float | None) -> None:
    rows = package.read_svmlight(data("breast.test"))
    predicted = package.predict(fast, rows, certify=True, tolerance=tolerance)
    words = () if tolerance is None else ("--tolerance", str(tolerance))
    expected = columns(data("breast.test"), fast, "--certify", "--no-fallback", *words)[1:]
    assert predicted.certified is not None
    assert predicted.error_bounds is not None
    assert ["yes" if row else "no" for row in predicted.certified] == [line[1] for line in expected]
    assert 0 < predicted.certified.sum() < len(rows)
    np.testing.assert_allclose(predicted.error_bounds, [float(line[2]) for line in expected], rtol=3e-5)


def test_with_exact_every_label_is_the_exact_models(fast: Path) -> None:
    rows, original = package.read_svmlight(data("breast.test")), model("breast_c_rbf")
    exact = package.load_model(original)
    loaded = package.load_model(fast)
    expected = package.predict(exact, rows)
    assert (package.predict(fast, rows, no_fallback=True).decisions != expected.decisions).all()
    for given in (original, exact, loaded.embedded_exact, None):
        answers = package.predict(loaded, rows, exact=given)
        assert (answers.predicted == expected.predicted).all()
        assert answers.certified is not None
        kept = ~answers.certified
        assert (answers.decisions[kept] == expected.decisions[kept]).all()


def test_options_that_prove_nothing_are_refused(fast: Path) -> None:
    rows = package.read_svmlight(data("breast.test"))
    with pytest.raises(UnsupportedError, match="their hashes differ"):
        package.predict(fast, rows, exact=model("breast_c_rbf_weights"))
    with pytest.raises(UnsupportedError, match="has a different type or different labels"):
        package.predict(fast, rows, exact=package.load_model(model("iris_c_rbf_prob")))
    bare = package.approximate(model("breast_c_rbf"), order=2, certificate="none").model
    with pytest.raises(UnsupportedError, match="has no certificate"):
        package.predict(bare, rows, certify=True)
    with pytest.raises(
        OptionError,
        match="`tolerance` needs `certify`, `exact` or a LIBSVM regression model",
    ):
        package.predict(fast, rows, tolerance=0.1, no_fallback=True)
    with pytest.raises(OptionError, match="`tolerance` needs `model`"):
        package.bound_check(rows, tolerance=0.1)


def test_regression_needs_a_tolerance() -> None:
    rows, exact = package.read_svmlight(data("diabetes.test")), package.load_model(model("diabetes_eps_rbf"))
    made, _ = package.approximate(exact, order=3)
    bounds = package.predict(made, rows, certify=True).error_bounds
    assert bounds is not None
    with pytest.raises(OptionError, match="exceeds `tolerance`"):
        package.predict(made, rows, exact=exact)
    tolerance = float(np.median(bounds))
    answers = package.predict(made, rows, exact=exact, tolerance=tolerance)
    distance = np.abs(answers.predicted - package.predict(exact, rows).predicted)
    assert (distance <= tolerance).all()
    report = package.bound_check(rows, model=made, tolerance=tolerance)
    assert report.certified == (bounds <= tolerance).sum()


def test_sources_without_a_compiled_core_explain_what_to_do(tmp_path: Path) -> None:
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
    assert done.stderr == ""
    assert done.stdout.startswith(
        f"ImportError no compiled core in {copy / '_core'}: these are the sources; "
    )
    assert "'pip install -e .'" in done.stdout
    assert len(done.stdout.splitlines()) == 1


def test_bound_check_uses_the_requested_order() -> None:
    rows = np.array([[1.0, 0.0], [0.0, 2.0]])
    second, third = (package.bound_check(rows, order=order).paper for order in (2, 3))
    assert second.gamma_max == package.bound_check(rows).paper.gamma_max == 1 / 16
    assert third.gamma_max == pytest.approx(0.788190756871425 / 8)
    with pytest.raises(OptionError, match="`order` is 17; expected a whole number from 0 to 16"):
        package.bound_check(rows, order=17)
    made, _ = package.approximate(package.load_model(model("breast_c_rbf")), order=1)
    with pytest.raises(OptionError, match="an approximated model has its own"):
        package.bound_check(rows, model=made, order=1)


def test_every_form_of_the_data_gives_the_same_answer() -> None:
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


@pytest.mark.parametrize("wrong", [3, object(), None, "text in an array"])
def test_a_wrong_type_is_named_with_the_accepted_ones(wrong: object) -> None:
    rows = [[1.0, 2.0]]
    exact = model("iris_c_rbf_prob")
    right = "expected a model, or the path of one"
    if not isinstance(wrong, str):
        for call in (
            lambda: package.predict(wrong, rows),
            lambda: package.approximate(wrong),
            lambda: package.compress(wrong, sv=3),
            lambda: package.cascade(wrong, exact, rows),
            lambda: package.compare({"a": wrong}, rows, [1]),
            lambda: package.dcpred(rows, exact=wrong) if wrong is not None else package.predict(wrong, rows),
        ):
            with pytest.raises(TypeError, match=right):
                call()
    strange = [wrong] if isinstance(wrong, str) else wrong
    for call in (
        lambda: package.predict(exact, strange),
        lambda: package.bound_check(strange, model=exact),
        lambda: package.dcpred(strange, exact=exact),
        lambda: package.compare([exact], strange, [1]),
        lambda: package.budget_train(strange, [1]),
    ):
        with pytest.raises(TypeError, match="expected an array of numbers, a SciPy sparse matrix, Rows, a"):
            call()


@pytest.mark.parametrize("given", [3, None, [1.0], np.zeros(3)])
def test_objects_that_are_not_sources_are_type_errors(given: object) -> None:
    for read in (package.load_model, package.read_svmlight):
        with pytest.raises(
            TypeError, match=r"^the source is an? \w+; expected a path, bytes or a binary file"
        ):
            read(given)


def test_another_model_of_a_wrong_type_is_named(tmp_path: Path) -> None:
    exact = package.load_model(model("breast_c_rbf"))
    with pytest.raises(TypeError, match=r"^`exact` is an int; expected a model, or the path of one$"):
        package.predict(exact, package.read_svmlight(data("breast.test")), exact=3)
    with pytest.raises(TypeError, match=r"^the model is an int; expected a model$"):
        package.save_model(3, tmp_path / "out")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1.0, "1", True])
def test_values_that_are_not_numbers_are_refused(value: object) -> None:
    fast, _ = package.approximate(model("diabetes_eps_rbf"), order=2)
    rows, exact = package.read_svmlight(data("diabetes.test")), model("diabetes_eps_rbf")
    calls = [
        lambda: package.predict(fast, rows, certify=True, tolerance=value),
        lambda: package.bound_check(rows, model=fast, tolerance=value),
    ]
    expected = "a number" if isinstance(value, str | bool) else "a finite (decimal )?number "
    for call in calls:
        with pytest.raises(OptionError, match=f"^`tolerance` is .*; expected {expected}") as caught:
            call()
        assert isinstance(caught.value, TypeError) == isinstance(value, str | bool)
    for name in ("max_diff", "ratio"):
        expected = "a number$" if isinstance(value, str | bool) else "a (share|finite decimal number) "
        with pytest.raises(OptionError, match=f"^`{name}` is .*; expected {expected}") as caught:
            package.compress(exact, rows, **{name: value})
        assert isinstance(caught.value, TypeError) == isinstance(value, str | bool)
    with pytest.raises(OptionError, match=r"^`max_diff` is .*; expected a ") as caught:
        package.approximate(exact, rows, max_diff=value)
    assert isinstance(caught.value, TypeError) == isinstance(value, str | bool)


def test_train_accepts_the_same_data_as_the_other_functions() -> None:
    path = data("iris.train")
    rows = package.read_svmlight(path)
    made = set()
    for given, labels in ((path, None), (str(path), None), (rows, None), (rows.rows.to_scipy(), rows.labels)):
        for threads in (None, 1, 2):
            fitted, report = package.train(given, labels, gamma=0.5, threads=threads)
            made.add(model_bytes(fitted))
            assert (report.rows, report.support_vectors) == (len(rows), len(fitted.sv))
    assert len(made) == 1
    with pytest.raises(OptionError, match="`labels` are missing: pass them with the data, or pass a Dataset"):
        package.train(rows.rows)
    assert package.train(rows.rows, svm_type="one_class", gamma=0.5).model.head.svm_type == "one_class"
    assert package.train(data("precomputed.train"), kernel="precomputed").model.kernel.kind == "precomputed"
    matrix = np.column_stack((np.arange(1, 5), np.eye(4)))
    fitted, _ = package.train(matrix, [1, 1, -1, -1], kernel="precomputed")
    assert fitted.kernel.kind == "precomputed"


def test_train_scores_and_class_weights() -> None:
    rows = package.read_svmlight(data("iris.train"))
    scored = package.train(rows, folds=4, gamma=0.5)
    assert scored.model is None
    assert 90 < scored.report.quality.accuracy <= 100
    assert scored.report.lines() == [f"Cross Validation Accuracy = {scored.report.quality.accuracy:g}%"]
    plain = model_bytes(package.train(rows).model)
    weighed = package.train(rows, weights={1: 5.0, 77: 2})
    assert model_bytes(weighed.model) != plain
    assert weighed.warnings == ("`data`: no row has label 77, which has a weight",)
    assert model_bytes(package.train(rows, weights=[(1, 5)]).model) == model_bytes(weighed.model)


def test_bound_check_and_budget_train_take_threads_and_memory() -> None:
    fast, _ = package.approximate(model("breast_c_rbf"), order=2)
    result = [package.bound_check(data("breast.test"), model=fast, threads=threads) for threads in (1, 2)]
    assert result[0] == result[1]
    with pytest.raises(MemoryLimitError):
        package.budget_train(data("breast.train"), budget=50_000, gamma=0.1, memory="1M")


def test_a_predictor_answers_what_predict_answers() -> None:
    rows = package.read_svmlight(data("breast.test")).rows
    predictor = package.Predictor(model("breast_c_rbf"))
    expected = predictor.answer(rows).predicted.tolist()
    dense = rows.to_dense()
    for given in (rows, package.read_svmlight(data("breast.test")), dense, dense.tolist(), rows.to_scipy()):
        assert predictor.answer(given).predicted.tolist() == expected
    assert [predictor.answer(row, threads=1).predicted[0] for row in dense] == expected
    with pytest.raises(WrongTypeError, match="the data"):
        predictor.answer("a word")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tolerance": -1.0}, "`tolerance` is -1.0; expected a finite decimal number of at least 0"),
        ({"bound": 1}, "`bound` is an int; expected True or False"),
    ],
)
def test_a_predictor_checks_its_options_before_the_first_row(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError) as refused:
        package.Predictor(model("breast_c_rbf"), **options)
    assert str(refused.value) == message
