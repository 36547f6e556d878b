"""`svmfast bound-check` against the paper's formula written out over all rows."""

from __future__ import annotations

import bz2
import json
import math
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from program import data, model, svmfast
from sklearn.datasets import load_svmlight_file

from svmfast.formats.model_files import load_model, save_model
from svmfast.models.polynomial import PolynomialModel
from svmfast.validity_bound import largest_exponent

PHOTOS = data("photos.test")


def dense(path: Path) -> np.ndarray:
    return np.asarray(load_svmlight_file(str(path), zero_based=False)[0].todense())


def support_vectors(path: Path) -> np.ndarray:
    lines = path.read_text().split("\nSV\n")[1].splitlines()
    pairs = [[pair.split(":") for pair in line.split() if ":" in pair] for line in lines]
    rows = np.zeros((len(lines), max(int(i) for row in pairs for i, _ in row)))
    for row, entries in zip(rows, pairs, strict=True):
        for i, value in entries:
            row[int(i) - 1] = float(value)
    return rows


def shares(x: np.ndarray, z: np.ndarray, gamma: float, center: np.ndarray | float) -> float:
    worst = ((x - center) ** 2).sum(axis=1).max()
    return float(np.mean(worst * ((z - center) ** 2).sum(axis=1) < 1 / (16 * gamma * gamma)) * 100)


def report(*args: Any, status: int = 0) -> dict[str, Any]:
    done = svmfast("bound-check", "--json", *args)
    assert (done.returncode, done.stderr) == (status, b"")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_gamma_max_before_training() -> None:
    found = report(PHOTOS)
    z = dense(PHOTOS)
    norms = (z**2).sum(axis=1)
    centered = ((z - z.mean(axis=0)) ** 2).sum(axis=1)
    assert (found["inputs"]["data"], found["rows"], found["features"]) == ([str(PHOTOS)], 4000, 15)
    assert found["paper"]["gamma_max"] == pytest.approx(1 / (4 * norms.max()), rel=1e-14)
    assert found["centered"]["gamma_max"] == pytest.approx(1 / (4 * centered.max()), rel=1e-12)
    assert found["inside"] is None


@pytest.mark.parametrize(("gamma", "status"), [("0.01", 0), ("0.017", 0), ("0.05", 1), ("0.3", 1)])
def test_verdict_for_a_gamma(gamma: str, status: int) -> None:
    found = report(PHOTOS, "--gamma", gamma, status=status)
    z = dense(PHOTOS)
    assert found["inside"] is (status == 0)
    assert found["paper"]["inside_percent"] == shares(z, z, float(gamma), 0.0)
    assert found["centered"]["inside_percent"] == shares(z, z, float(gamma), z.mean(axis=0))


def test_verdict_for_a_model_about_origin_and_mean() -> None:
    path = model("photos_c_rbf")
    found = report(PHOTOS, "--model", path)
    x, z = support_vectors(path), dense(PHOTOS)
    gamma = float(path.read_text().split("gamma ")[1].split()[0])
    assert found["gamma"] == gamma
    assert found["paper"]["inside_percent"] == shares(x, z, gamma, 0.0) == 100
    assert found["centered"]["inside_percent"] == shares(x, z, gamma, x.mean(axis=0)) < 100
    assert report(PHOTOS, "--model", path, "--center", "mean", status=1)["inside"] is False
    assert report(PHOTOS, "--model", path, "--center", "origin")["inside"] is True


def test_an_approximated_model_is_checked_against_its_own_bound(tmp_path: Path) -> None:
    for center, status in (("origin", 0), ("mean", 1)):
        approximated = tmp_path / center
        made = svmfast("approximate", model("photos_c_rbf"), "-o", approximated, "--center", center)
        assert made.returncode == 0
        found = report(PHOTOS, "--model", approximated, status=status)
        exact = report(PHOTOS, "--model", model("photos_c_rbf"))
        assert found["paper"] is found["centered"] is None
        form = exact["paper" if center == "origin" else "centered"]
        assert found["own"]["rows_inside"] == form["rows_inside"]


@pytest.mark.parametrize("name", ["breast_c_linear", "breast_c_poly2"])
def test_models_that_convert_exactly_are_inside(name: str) -> None:
    assert report(data("breast.test"), "--model", model(name))["exact_conversion"] is True


def test_other_kernels_have_no_bound() -> None:
    done = svmfast("bound-check", data("breast.test"), "--model", model("breast_c_sigmoid"))
    assert done.returncode == 2
    assert b"the bound does not apply to the sigmoid kernel" in done.stderr


def test_compressed_files_give_the_same_report(tmp_path: Path) -> None:
    packed = tmp_path / "photos"
    packed.write_bytes(bz2.compress(PHOTOS.read_bytes()))
    expected = report(PHOTOS, "--gamma", "0.05", status=1)
    for args, text in (((packed,), b""),):
        done = svmfast("bound-check", "--json", "--gamma", "0.05", *args, stdin=text)
        found = json.loads(done.stdout)
        assert found["inputs"]["data"] == [str(arg) for arg in args]
        for key in ("inputs", "seconds"):
            found[key] = expected[key]
        assert found == expected


def test_report_as_text() -> None:
    done = svmfast("bound-check", PHOTOS, "--gamma", "0.05")
    lines = dict(line.split(None, 1) for line in done.stdout.decode().splitlines())
    assert set(lines) == {"data", "gamma", "order", "paper", "centered", "verdict"}
    assert lines["order"] == "2"
    assert lines["paper"].startswith("gamma_max 0.0171177, ")
    assert lines["verdict"] == "outside: some rows are beyond it"


def converted(folder: Path, name: str, *options: str) -> Path:
    made = folder / name
    assert svmfast("approximate", model(name), "-o", made, *options).returncode == 0
    return made


def certified_by_predict(made: Path, name: str, *options: str) -> list[bool]:
    done = svmfast("predict", "-q", "--certify", data(name), made, *options)
    return [line.split()[1] == b"yes" for line in done.stdout.splitlines()[1:]]


@pytest.mark.parametrize("tolerance", [(), ("--tolerance", "0.5")])
def test_the_verdict_names_the_required_share(tmp_path: Path, tolerance: tuple[str, ...]) -> None:
    made = converted(tmp_path, "breast_c_rbf", "--order", "1")
    rows = certified_by_predict(made, "breast.test", *tolerance)
    share = 100 * sum(rows) / len(rows)
    assert 1 < share < 99
    for asked, status in ((share - 1, 0), (share + 0.5, 1)):
        words = ("--model", made, "--require-certified", f"{asked:.2f}%", *tolerance)
        found = report(data("breast.test"), *words, status=status)
        assert (found["certified"], found["certified_percent"]) == (sum(rows), share)
        assert found["required_certified_percent"] == float(f"{asked:.2f}")
        assert found["met"] is (status == 0)
        text = (
            svmfast("bound-check", data("breast.test"), *words)
            .stdout.decode()
            .splitlines()[-1]
            .split(None, 1)
        )
        kept = "not met: fewer than" if status else "met: at least"
        assert text == [
            "verdict",
            f"{kept} {float(f'{asked:.2f}'):g}% of the rows are certified (--require-certified)",
        ]
    plain = report(data("breast.test"), "--model", made, *tolerance, status=1)
    assert (plain["required_certified_percent"], plain["met"]) == (None, None)


def test_regression_is_certified_within_a_tolerance(tmp_path: Path) -> None:
    made = converted(tmp_path, "diabetes_eps_rbf", "--order", "3")
    bounds = [
        float(line.split()[2])
        for line in svmfast("predict", "-q", "--certify", data("diabetes.test"), made).stdout.splitlines()[1:]
    ]
    tolerance = sorted(bounds)[len(bounds) // 2]
    rows = certified_by_predict(made, "diabetes.test", "--tolerance", f"{tolerance!r}")
    assert 0 < sum(rows) < len(rows)
    words = ("bound-check", data("diabetes.test"), "--model", made, "--tolerance", f"{tolerance!r}")
    for share, status in (("40%", 0), ("90%", 1)):
        done = svmfast(*words, "--require-certified", share)
        lines = dict(line.split(None, 1) for line in done.stdout.decode().splitlines())
        assert done.returncode == status
        message = f"{sum(rows)} of {len(rows)} values are provably within {tolerance:g} of the exact model's"
        assert lines["certified"].startswith(message)
    done = svmfast("bound-check", data("diabetes.test"), "--model", made, "--require-certified", "40%")
    assert done.returncode == 2
    assert (
        b"values are certified within a tolerance; give --tolerance, the largest error to accept"
        in done.stderr
    )


def test_options_that_would_be_ignored_are_refused(tmp_path: Path) -> None:
    made = converted(tmp_path, "breast_c_rbf")
    bare = tmp_path / "bare"
    assert svmfast("approximate", model("breast_c_rbf"), "-o", bare, "--certificate", "none").returncode == 0
    for words, message in (
        (("--model", made, "--center", "origin"), "--center is for exact models"),
        (("--model", bare, "--tolerance", "1"), "--tolerance: the model has no certificate"),
        (("--model", bare, "--require-certified", "1%"), "--require-certified: the model has no certificate"),
        (("--tolerance", "1"), "--tolerance needs --model"),
    ):
        done = svmfast("bound-check", data("breast.test"), *words)
        assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, b"", 1)
        assert message in done.stderr.decode()


def test_quiet_still_prints_the_report() -> None:
    words = ("bound-check", PHOTOS, "--gamma", "0.05")
    assert svmfast(*words, "-q").stdout == svmfast(*words).stdout != b""
    for command in ("bound-check", "info", "compare"):
        printed = svmfast(command, "--help").stdout.decode()
        assert "Print only the report, without remarks and progress." in " ".join(printed.split())
        assert "no summary" not in printed


@pytest.mark.parametrize(
    ("args", "stdin", "message"),
    [
        ((PHOTOS, "--gamma", "0"), b"", "'0' is not a finite decimal number above 0"),
        ((PHOTOS, "--gamma", "nan"), b"", "'nan' is not a finite decimal number above 0"),
        ((PHOTOS, "--gamma", "1", "--model", "m"), b"", "exclude each other"),
        (("-",), b"1 1:1\n", "-: is read twice and cannot be a pipe; give a file"),
        ((os.devnull,), b"", "is read twice"),
        (("missing",), b"", "missing: "),
    ],
)
def test_misuse(args: tuple[Any, ...], stdin: bytes, message: str) -> None:
    done = svmfast("bound-check", *args, stdin=stdin)
    assert (done.returncode, done.stdout) == (2, b"")
    assert len(done.stderr.splitlines()) == 1
    assert message in done.stderr.decode()


@pytest.mark.parametrize("order", [0, 1, 2, 3, 6])
def test_a_model_is_checked_with_the_bound_of_its_order(order: int, tmp_path: Path) -> None:
    """Every term is within the 3.05 % that the paper's bound allows for the second order."""
    exact = model("photos_c_rbf")
    made = tmp_path / "made"
    words = ("approximate", exact, "-o", made, "--order", str(order), "--center", "mean", "-q", "--force")
    assert svmfast(*words).returncode == 0
    x, z = support_vectors(exact), dense(PHOTOS)
    gamma = float(exact.read_text().split("gamma ")[1].split()[0])
    u, w = x - x.mean(axis=0), z - x.mean(axis=0)
    reach = 2 * gamma * np.sqrt((u**2).sum(axis=1).max()) * np.sqrt((w**2).sum(axis=1))
    allowed = abs(math.exp(0.5) * (1 - 0.5 + 0.125) - 1)
    worst = [
        abs(math.exp(t) * sum((-t) ** j / math.factorial(j) for j in range(order + 1)) - 1) for t in reach
    ]
    inside = sum(error < allowed for error in worst)
    found = report(PHOTOS, "--model", made, status=int(inside < len(z)))
    assert (found["orders"], found["own"]["rows_inside"]) == ([order], inside)
    of_exact = report(
        PHOTOS, "--model", exact, "--order", str(order), "--center", "mean", status=int(inside < len(z))
    )
    assert of_exact["centered"]["rows_inside"] == inside


def test_each_cell_is_checked_about_its_center_with_its_lowest_order(tmp_path: Path) -> None:
    made = tmp_path / "made"
    words = ("approximate", model("iris_c_rbf_prob"), "-o", made, "--order", "3", "--cells", "6", "-q")
    assert svmfast(*words).returncode == 0
    loaded = load_model(made)
    assert isinstance(loaded, PolynomialModel)
    orders = loaded.orders.copy()
    orders[:3, 1] = 1  # as auto thins them
    lower = approximated(loaded, orders)
    save_model(lower, made)
    z = dense(data("iris.test"))
    x = support_vectors(model("iris_c_rbf_prob"))
    apart = ((z[:, None] - lower.centers[None, :, : z.shape[1]]) ** 2).sum(axis=2)
    inside = 0
    for row, cell in zip(z, apart.argmin(axis=1), strict=True):
        mu = lower.centers[cell]
        reach = 2 * lower.gamma * np.sqrt((((x - mu) ** 2).sum(axis=1)).max() * ((row - mu) ** 2).sum())
        inside += reach < largest_exponent(int(lower.orders[cell].min()))
    assert 0 < inside < len(z)
    found = report(data("iris.test"), "--model", made, status=1)
    assert (found["orders"], found["own"]["rows_inside"]) == ([1, 3], inside)


def approximated(made: PolynomialModel, orders: np.ndarray) -> PolynomialModel:
    """The same model with lower orders in some places, where higher coefficients are left out."""
    d = made.centers.shape[1]
    kept, at = [], 0
    for before, after in zip(made.orders.flat, orders.flat, strict=True):
        kept.append(made.coefficients[at : at + math.comb(d + int(after), d)])
        at += math.comb(d + int(before), d)
    return replace(
        made, orders=orders, coefficients=np.concatenate(kept), bound_degrees=None, bound_rest=None
    )


def test_polynomial_kernels_of_any_convertible_degree_are_exact() -> None:
    for name in ("breast_c_poly3_prob", "breast_c_poly1"):
        assert report(data("breast.test"), "--model", model(name))["exact_conversion"] is True
