"""``predict --certify`` and ``--tolerance`` on LIBSVM's own models."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from meaning import FROZEN
from program import FIXTURES, data, model, svmfast

import svmfast as package


def lines(path: Path) -> list[list[str]]:
    return [line.split() for line in path.read_text().splitlines()]


@pytest.mark.parametrize(
    "name",
    [
        "photos_c_rbf",
        "digits_nu_rbf",
        "normal_one_rbf",
        "breast_c_poly2",
        "iris_c_sigmoid",
        "breast_c_linear",
    ],
)
def test_every_label_is_certified(tmp_path: Path, name: str) -> None:
    test, out = data(f"{name.split('_')[0]}.test"), tmp_path / "out"
    done = svmfast("predict", test, model(name), out, "--certify")
    assert done.returncode == 0, done.stderr
    first, *rest = lines(out)
    assert first == ["label", "certified", "error_bound"]
    golden = (FIXTURES / "golden" / f"{name}.out").read_text().split()
    assert [row[0] for row in rest] == golden
    assert {(row[1], float(row[2])) for row in rest} == {("yes", 0.0)}
    assert f"{len(rest):,} rows certified (100%)".encode() in done.stderr


def test_decision_values_beside_a_certificate_are_libsvms(tmp_path: Path) -> None:
    out = tmp_path / "out"
    args = ("predict", data("iris.test"), model("iris_nu_rbf_prob"), out, "--certify", "--decision-values")
    assert svmfast(*args).returncode == 0
    first, *rest = lines(out)
    assert first[-2:] == ["certified", "error_bound"]
    assert {float(row[-1]) for row in rest} == {0.0}
    known = package.load_model(model("iris_nu_rbf_prob")).libsvm_values(
        package.read_svmlight(data("iris.test")).rows
    )
    assert [[float(word) for word in row[1:-2]] for row in rest] == known.tolist()


def test_a_table_has_the_same_columns(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    from pyarrow import parquet

    text, table = tmp_path / "out", tmp_path / "out.parquet"
    for out in (text, table):
        assert (
            svmfast("predict", data("wine.test"), model("wine_c_rbf_prob"), out, "--certify").returncode == 0
        )
    read = parquet.read_table(table)
    assert read.column_names == ["label", "certified", "error_bound"]
    assert all(read["certified"].to_pylist())
    printed = [float(row[2]) for row in lines(text)[1:]]
    assert read["error_bound"].to_pylist() == pytest.approx(printed, rel=2e-5)


def test_many_files_and_one_have_the_same_bounds(tmp_path: Path) -> None:
    args = ("--certify", model("photos_c_rbf"), data("photos.test"))
    done = svmfast("predict", "--out-dir", tmp_path / "many", *args, "--json")
    assert done.returncode == 0, done.stderr
    assert svmfast("predict", *args[2:], args[1], tmp_path / "one", "--certify").returncode == 0
    assert (tmp_path / "many" / "photos.test.out").read_bytes() == (tmp_path / "one").read_bytes()
    again = svmfast("predict", "--out-dir", tmp_path / "many", *args, "--json", "--skip-existing")
    assert json.loads(again.stdout)["files_skipped"] == 1


@pytest.mark.parametrize(
    ("name", "option", "message"),
    [
        ("iris_c_rbf_prob", ("-b", "1"), "probabilities are not certified; request either"),
        (
            "diabetes_eps_rbf",
            (),
            "there is nothing to certify; predict without --certify, or give --tolerance, the largest error",
        ),
    ],
)
def test_certify_is_refused_in_one_line_if_nothing_can_be_certified(
    name: str, option: tuple[str, ...], message: str
) -> None:
    done = svmfast("predict", data(f"{name.split('_')[0]}.test"), model(name), "--certify", *option)
    assert done.returncode == 2
    assert message in done.stderr.decode()
    assert done.stderr.count(b"\n") == 1


def test_regression_within_a_tolerance(tmp_path: Path) -> None:
    test, name, out = data("diabetes.test"), "diabetes_eps_rbf", tmp_path / "out"
    golden = [float(word) for word in (FIXTURES / "golden" / f"{name}.out").read_text().split()]
    args = ("predict", test, model(name), out)
    done = svmfast(*args, "--tolerance", "0.01")
    assert done.returncode == 0, done.stderr
    assert b"certified" not in done.stderr
    printed = [float(word) for word in out.read_text().split()]
    assert printed != golden
    assert max(abs(a - b) for a, b in zip(printed, golden, strict=True)) <= 0.01
    done = svmfast(*args, "--tolerance", "0.01", "--certify", "--json")
    report = json.loads(done.stdout)
    assert (report["certified"], report["options"]["tolerance"]) == (142, 0.01)
    rest = lines(out)[1:]
    assert [float(row[0]) for row in rest] == printed
    for row, value in zip(rest, golden, strict=True):
        assert abs(float(row[0]) - value) <= float(row[2]) <= 0.01
    # Without a tolerance, or with one that only LIBSVM's order meets: svm-predict's bytes.
    for option in ((), ("--tolerance", "0")):
        assert svmfast(*args, *option).returncode == 0
        assert out.read_bytes() == (FIXTURES / "golden" / f"{name}.out").read_bytes()


def test_the_exact_model_of_a_regression_needs_a_tolerance(tmp_path: Path) -> None:
    test, exact, made = data("diabetes.test"), model("diabetes_eps_rbf"), tmp_path / "made"
    assert svmfast("approximate", exact, "-o", made, "--embed-exact", "-q").returncode == 0
    plain = tmp_path / "plain"
    assert svmfast("approximate", exact, "-o", plain, "-q").returncode == 0
    for words, instead in (((made,), "--no-fallback"), ((plain, "--exact", exact), "leave out --exact")):
        done = svmfast("predict", test, *words[:1], tmp_path / "out", *words[1:])
        assert (done.returncode, done.stderr.decode()) == (
            2,
            "svmfast: values are certified within a tolerance: the exact model answers the rows whose error "
            f"bound exceeds --tolerance; give it, or {instead} to predict with the approximation alone\n",
        )
    for words in ((made, tmp_path / "out", "--tolerance", "1"), (made, tmp_path / "out", "--no-fallback")):
        assert svmfast("predict", "-q", test, *words).returncode == 0


@pytest.mark.parametrize(
    ("rows", "asked"),
    [("iris", model("iris_c_rbf_prob")), ("diabetes", FROZEN / "1.0" / "routed_ridge.model")],
    ids=["classification", "regression of another kind"],
)
def test_a_tolerance_alone_is_for_libsvms_regression(rows: str, asked: Path) -> None:
    done = svmfast("predict", data(f"{rows}.test"), asked, "--tolerance", "0.1")
    assert done.returncode == 2
    assert b"--tolerance needs --certify, --exact or a LIBSVM regression model" in done.stderr
