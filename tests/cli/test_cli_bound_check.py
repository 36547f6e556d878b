"""`svmfast bound-check` against the paper's formula written out over all rows."""

import math
from dataclasses import replace

import numpy as np
import pytest
from command import ran, report
from program import data, model
from read_fixtures import exact, rows

from svmfast.formats.model_files import load_model, save_model
from svmfast.validity_bound import largest_exponent

PHOTOS, EXACT = data("photos.test"), model("photos_c_rbf")
Z, VECTORS = rows("photos.test")[0].to_dense(), exact("photos_c_rbf").sv.to_dense()
GAMMA = exact("photos_c_rbf").kernel.gamma


def shares(x, z, gamma, center):
    worst = ((x - center) ** 2).sum(axis=1).max()
    return float(np.mean(worst * ((z - center) ** 2).sum(axis=1) < 1 / (16 * gamma * gamma)) * 100)


def checked(*words, status=0):
    return report("bound-check", *words, status=status)


@pytest.mark.parametrize(("gamma", "status"), [("0.01", 0), ("0.017", 0), ("0.05", 1), ("0.3", 1)])
def test_verdict_for_a_gamma(gamma, status):
    found, z = checked(PHOTOS, "--gamma", gamma, status=status), Z
    assert found["inside"] is (status == 0)
    assert found["paper"]["inside_percent"] == shares(z, z, float(gamma), 0.0)
    assert found["centered"]["inside_percent"] == shares(z, z, float(gamma), z.mean(axis=0))


def test_verdict_for_a_model_about_origin_and_mean():
    found, x, z = checked(PHOTOS, "--model", EXACT), VECTORS, Z
    assert found["gamma"] == GAMMA
    assert found["paper"]["inside_percent"] == shares(x, z, GAMMA, 0.0) == 100
    assert found["centered"]["inside_percent"] == shares(x, z, GAMMA, x.mean(axis=0)) < 100
    assert checked(PHOTOS, "--model", EXACT, "--center", "mean", status=1)["inside"] is False
    assert checked(PHOTOS, "--model", EXACT, "--center", "origin")["inside"] is True


@pytest.mark.parametrize("name", ["breast_c_linear", "breast_c_poly2"])
def test_models_that_convert_exactly_are_inside(name):
    assert checked(data("breast.test"), "--model", model(name))["exact_conversion"] is True


def certified(made, name, *options):
    """Return whether predict certifies each row, and the bound."""
    lines = ran("predict", "-q", "--certify", data(name), made, *options).stdout.decode().splitlines()[1:]
    return [(line.split()[1] == "yes", float(line.split()[2])) for line in lines]


@pytest.mark.parametrize("tolerance", [(), ("--tolerance", "0.5")])
def test_the_verdict_names_the_required_share(tmp_path, tolerance):
    made, test = tmp_path / "made", data("breast.test")
    ran("approximate", model("breast_c_rbf"), "-o", made, "--order", "1")
    proven = [yes for yes, _ in certified(made, "breast.test", *tolerance)]
    share = 100 * sum(proven) / len(proven)
    assert 1 < share < 99
    words = (test, "--model", made, *tolerance)
    for asked, status in ((share - 1, 0), (share + 0.5, 1)):
        found = checked(*words, "--require-certified", f"{asked:.2f}%", status=status)
        assert (found["certified"], found["certified_percent"]) == (sum(proven), share)
        assert found["required_certified_percent"] == float(f"{asked:.2f}")
        assert found["met"] is (status == 0)
    plain = checked(*words, status=1)
    assert (plain["required_certified_percent"], plain["met"]) == (None, None)


def test_regression_is_certified_within_a_tolerance(tmp_path):
    made, test = tmp_path / "made", data("diabetes.test")
    ran("approximate", model("diabetes_eps_rbf"), "-o", made, "--order", "3")
    bounds = sorted(bound for _, bound in certified(made, test.name))
    tolerance = bounds[len(bounds) // 2]
    proven = sum(yes for yes, _ in certified(made, test.name, "--tolerance", repr(tolerance)))
    assert 0 < proven < len(bounds)
    words = ("bound-check", test, "--model", made, "--require-certified")
    for share, status in (("40%", 0), ("90%", 1)):
        done = ran(*words, share, "--tolerance", repr(tolerance), status=status)
        lines = dict(line.split(None, 1) for line in done.stdout.decode().splitlines())
        message = f"{proven} of {len(bounds)} values are provably within {tolerance:g} of the exact model's"
        assert lines["certified"].startswith(message)


@pytest.mark.parametrize("order", [0, 1, 2, 3, 6])
def test_a_model_is_checked_with_the_bound_of_its_order(order, tmp_path):
    """Every term is within the 3.05 % that the paper's bound allows for the second order."""
    made, words = tmp_path / "made", ("--order", f"{order}", "--center", "mean")
    ran("approximate", EXACT, "-o", made, *words, "-q", "--force")
    x, z = VECTORS, Z
    largest = ((x - x.mean(axis=0)) ** 2).sum(axis=1).max()
    reach = 2 * GAMMA * np.sqrt(largest * ((z - x.mean(axis=0)) ** 2).sum(axis=1))
    allowed = abs(math.exp(0.5) * (1 - 0.5 + 0.125) - 1)
    series = sum((-reach) ** j / math.factorial(j) for j in range(order + 1))
    inside = int(np.sum(np.abs(np.exp(reach) * series - 1) < allowed))
    status = int(inside < len(z))
    found = checked(PHOTOS, "--model", made, status=status)
    assert (found["orders"], found["own"]["rows_inside"]) == ([order], inside)
    assert checked(PHOTOS, "--model", EXACT, *words, status=status)["centered"]["rows_inside"] == inside


def test_each_cell_is_checked_about_its_center_with_its_lowest_order(tmp_path):
    made, test = tmp_path / "made", data("iris.test")
    ran("approximate", model("iris_c_rbf_prob"), "-o", made, "--order", "3", "--cells", "6", "-q")
    loaded = load_model(made)
    orders = loaded.orders.copy()
    orders[:3, 1] = 1  # as auto thins them
    save_model(with_orders(loaded, orders), made)
    z, x = rows("iris.test")[0].to_dense(), exact("iris_c_rbf_prob").sv.to_dense()
    centers, inside = loaded.centers, 0
    apart = ((z[:, None] - centers[None, :, : z.shape[1]]) ** 2).sum(axis=2)
    for row, cell in zip(z, apart.argmin(axis=1), strict=True):
        mu = centers[cell]
        reach = 2 * loaded.gamma * np.sqrt((((x - mu) ** 2).sum(axis=1)).max() * ((row - mu) ** 2).sum())
        inside += reach < largest_exponent(int(orders[cell].min()))
    assert 0 < inside < len(z)
    found = checked(test, "--model", made, status=1)
    assert (found["orders"], found["own"]["rows_inside"]) == ([1, 3], inside)


def with_orders(made, orders):
    """Return the model with lower orders in some places, where higher coefficients are left out."""
    d = made.centers.shape[1]
    parts = np.split(made.coefficients, np.cumsum([math.comb(d + int(one), d) for one in made.orders.flat]))
    kept = [part[: math.comb(d + int(after), d)] for part, after in zip(parts, orders.flat, strict=False)]
    dropped = {"bound_degrees": None, "bound_rest": None}
    return replace(made, orders=orders, coefficients=np.concatenate(kept), **dropped)
