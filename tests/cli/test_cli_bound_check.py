"""`svmfast bound-check` against the paper's formula written out over all rows."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import svmfast
from program import data, model
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


@pytest.mark.parametrize("name", ["breast_c_linear", "breast_c_poly2"])
def test_models_that_convert_exactly_are_inside(name: str) -> None:
    assert report(data("breast.test"), "--model", model(name))["exact_conversion"] is True


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
