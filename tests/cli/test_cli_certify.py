"""``predict --certify``, ``--tolerance`` and ``--exact``: labels are proven, or the exact model's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command import svmfast
from program import FIXTURES, data, model

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


def test_many_files_and_one_have_the_same_bounds(tmp_path: Path) -> None:
    args = ("--certify", model("photos_c_rbf"), data("photos.test"))
    done = svmfast("predict", "--out-dir", tmp_path / "many", *args, "--json")
    assert done.returncode == 0, done.stderr
    assert svmfast("predict", *args[2:], args[1], tmp_path / "one", "--certify").returncode == 0
    assert (tmp_path / "many" / "photos.test.out").read_bytes() == (tmp_path / "one").read_bytes()
    again = svmfast("predict", "--out-dir", tmp_path / "many", *args, "--json", "--skip-existing")
    assert json.loads(again.stdout)["files_skipped"] == 1


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


# --- an approximation, with its exact model


def converted(tmp_path: Path, name: str, *options: str) -> Path:
    output = tmp_path / f"{name}.approx"
    done = svmfast("approximate", model(name), "-o", output, "-q", *options)
    assert done.returncode == 0, done.stderr
    return output


@pytest.mark.parametrize(
    ("name", "test", "order"),
    [("breast_c_rbf", "breast", "1"), ("iris_c_rbf_prob", "iris", "2"), ("digits_nu_rbf", "digits", "1")],
)
@pytest.mark.parametrize("embedded", [False, True])
def test_with_exact_every_label_is_the_exact_models(
    tmp_path: Path, name: str, test: str, order: str, embedded: bool
) -> None:
    fast = converted(tmp_path, name, "--order", order, *(["--embed-exact"] if embedded else []))
    plain, certified = tmp_path / "plain", tmp_path / "certified"
    assert svmfast("predict", data(f"{test}.test"), model(name), plain).returncode == 0
    given = [] if embedded else ["--exact", model(name)]
    done = svmfast("predict", data(f"{test}.test"), fast, certified, *given)
    assert done.returncode == 0, done.stderr
    assert certified.read_bytes() == plain.read_bytes()
    assert b"answered by the exact model" in done.stderr


def test_compare_certifies_only_the_model_that_was_converted(tmp_path: Path) -> None:
    fast = converted(tmp_path, "breast_c_rbf", "--order", "1")
    args = ("--data", data("breast.test"), "--json", "--repeats", "1")
    row = json.loads(svmfast("compare", model("breast_c_rbf"), fast, *args).stdout)["models"][1]
    assert 0 < row["certified_percent"] < 100
    assert row["violations"] == 0
    row = json.loads(svmfast("compare", model("breast_c_rbf_weights"), fast, *args).stdout)["models"][1]
    assert row.get("certified_percent") is None
