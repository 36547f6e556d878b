"""approximate: exact for polynomial kernels, the paper's form for rbf, and a correct report."""

from __future__ import annotations

import json
import tracemalloc
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from approximations import approximate
from program import cli_runner

from svmfast.cli.main import program
from svmfast.errors import MemoryLimitError, OptionError, SvmfastError, UnsupportedError
from svmfast.formats.model_files import load_model, open_model
from svmfast.formats.svmlight import read_svmlight
from svmfast.kernels import Kernel
from svmfast.models.expansion import KernelExpansion
from svmfast.models.head import Head
from svmfast.models.polynomial import PolynomialModel
from svmfast.rows import Rows

FIXTURES = Path(__file__).parents[2] / "fixtures"


def model(name: str) -> KernelExpansion:
    loaded = load_model(FIXTURES / "models" / f"{name}.model")
    assert isinstance(loaded, KernelExpansion)
    return loaded


def rows(name: str) -> Rows:
    return read_svmlight(FIXTURES / "data" / f"{name}.test").rows


@pytest.mark.parametrize(
    ("name", "data", "order"),
    [
        ("breast_c_linear", "breast", 1),
        ("breast_c_poly1", "breast", 1),
        ("breast_c_poly2", "breast", 2),
        ("breast_c_poly3_prob", "breast", 3),
        ("diabetes_eps_linear", "diabetes", 1),
        ("diabetes_eps_poly2", "diabetes", 2),
        ("diabetes_nu_poly3", "diabetes", 3),
        ("digits_c_poly2", "digits", 2),
        ("iris_c_poly3", "iris", 3),
        ("iris_c_linear", "iris_extra", 1),
        ("normal_one_linear", "normal", 1),
        ("normal_one_poly2", "normal", 2),
        ("onehot_c_poly2", "onehot", 2),
        ("wine_nu_poly2_prob", "wine", 2),
    ],
)
def test_polynomial_kernels_collapse_exactly(name: str, data: str, order: int) -> None:
    exact, z = model(name), rows(data)
    made, report = approximate(exact, threads=2)
    assert (report.exact, report.order, made.gamma) == (True, order, 0.0)
    expected = exact.decision_values(z)
    assert made.decision_values(z) == pytest.approx(expected, rel=1e-9, abs=1e-9 * np.abs(expected).max())
    if not exact.head.is_regression:
        assert np.array_equal(made.head.predict(made.decision_values(z)), exact.head.predict(expected))
    assert made.inside_bound(z).all()


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("breast_c_rbf", "breast"),
        ("diabetes_eps_rbf_prob", "diabetes"),
        ("digits_nu_rbf", "digits"),
        ("iris_c_rbf_prob", "iris_extra"),
        ("normal_one_rbf_prob", "normal"),
        ("onehot_c_rbf", "onehot"),
        ("single_class", "single"),
    ],
)
@pytest.mark.parametrize("center", ["mean", "origin"])
def test_rising_orders_converge(name: str, data: str, center: str) -> None:
    exact, z = model(name), rows(data)
    expected = exact.decision_values(z)
    d = len(np.unique(exact.sv.indices))
    errors = []
    for order in (0, 1, 2, 3) if d > 40 else (0, 2, 4, 6):
        made, report = approximate(exact, order=order, center=center)
        assert made.head is exact.head
        assert report.order == (order if exact.head.n_functions else 0)
        assert (report.center, report.exact) == (center, False)
        errors.append(np.abs(made.decision_values(z) - expected).mean() if expected.size else 0.0)
    assert all(later <= earlier for earlier, later in pairwise(errors))
    assert errors[-1] <= 0.2 * errors[0] or not expected.size


def test_centring_is_the_expansion_of_shifted_data() -> None:
    # The rbf kernel is translation invariant: expanding about m is expanding shifted vectors about 0.
    exact, z = model("iris_c_rbf_prob"), rows("iris").to_dense()
    x = exact.sv.to_dense()
    centered, _ = approximate(exact, order=2, center="mean")
    moved = replace(exact, sv=Rows.from_dense(x - x.mean(axis=0)))
    about_origin, _ = approximate(moved, order=2, center="origin")
    a = centered.decision_values(Rows.from_dense(z))
    b = about_origin.decision_values(Rows.from_dense(z - x.mean(axis=0)))
    assert a == pytest.approx(b, abs=1e-6 * np.abs(exact.sv_coef).sum())


def test_auto_takes_the_center_with_the_smaller_error_and_bound() -> None:
    exact, z = model("breast_c_rbf"), rows("breast")
    bound, error = {}, {}
    for center in ("mean", "origin", "auto"):
        made, report = approximate(exact, order=2, center=center)
        values, bounds = made.certified_values(z)
        bound[center], error[center] = bounds.mean(), np.abs(values - exact.decision_values(z)).mean()
    for found in (bound, error):
        assert found["auto"] == found[report.center] == min(found.values())


def test_limits_are_checked_before_any_work() -> None:
    with pytest.raises(MemoryLimitError, match=r"order 9 in 59 variables needs .* lower `order`"):
        approximate(model("digits_nu_rbf"), order=9)
    with pytest.raises(MemoryLimitError, match=r"stored densely, needs"):
        approximate(model("digits_nu_rbf"), order=0, center="mean", memory=1000)
    with pytest.raises(OptionError, match="`order` is 17; expected a whole number from 0 to 16"):
        approximate(model("iris_c_rbf_prob"), order=17)
    with pytest.raises(OptionError, match="`center` is 'middle'; expected auto, mean or origin"):
        approximate(model("iris_c_rbf_prob"), center="middle")


@pytest.mark.parametrize(
    ("choices", "error"),
    [({}, MemoryLimitError), ({"cells": 3}, MemoryLimitError), ({"cells": "auto"}, MemoryLimitError)],
)
def test_models_too_large_are_refused_before_dense_storage(
    choices: dict[str, Any], error: type[SvmfastError]
) -> None:
    # 1,000 vectors of 20,000 features: 160 MB densely, within the limit; order 2 needs 1.6 GB a polynomial.
    indices = np.arange(20_000, dtype=np.int32)
    sv = Rows(np.arange(0, 20_001, 20), indices, np.ones(20_000), 20_000)
    wide = KernelExpansion(
        head=Head("c_svc", np.array([1, -1])),
        kernel=Kernel("rbf", gamma=0.1),
        sv=sv,
        sv_coef=np.ones((1, 1000)),
        rho=np.zeros(1),
        nr_sv=np.array([500, 500]),
    )
    tracemalloc.start()
    try:
        with pytest.raises(error):
            approximate(wide, memory=1 << 30, **choices)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4 << 20


def test_command_writes_into_the_current_folder_and_reports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    source = tmp_path / "m.txt"
    source.write_bytes((FIXTURES / "models" / "breast_c_rbf.model").read_bytes())
    ran = cli_runner().invoke(program, ["approximate", str(source), "--json", "-j", "1"])
    assert ran.exit_code == 0, ran.output
    output = tmp_path / "m.approximate.model"
    loaded = open_model(output)
    assert isinstance(loaded.model, PolynomialModel)
    assert loaded.model.provenance["source"] == f"sha256:{open_model(source).sha256}"
    report = json.loads(ran.stdout)
    assert report["bytes"] == output.stat().st_size
    assert report["outputs"]["model"]["path"] == output.name
    assert f"written      {output.name}, {report['bytes']:,} bytes (" in ran.stderr
    assert "(about the origin)" in ran.stderr


def two_vectors(gamma: float, coefficient: float) -> KernelExpansion:
    return KernelExpansion(
        Head("c_svc", labels=np.array([1, -1])),
        Kernel("rbf", gamma=gamma),
        Rows.from_dense([[1.0, 0.5], [0.25, 1.0]]),
        np.array([[coefficient, -coefficient]]),
        np.zeros(1),
        np.array([1, 1]),
    )


def test_numbers_out_of_range_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="coefficients exceed the range of floating point"):
        approximate(two_vectors(0.5, 1e308))


def test_an_extreme_gamma_gives_finite_values_and_no_certificate() -> None:
    fast, _ = approximate(two_vectors(1e300, 1.0), order=2)
    values = fast.decision_values(Rows.from_dense([[1.0, 0.5], [0.3, 0.3], [0.0, 0.0], [1e200, 0.0]]))
    assert np.isfinite(values).all()
    assert not fast.has_error_bound
