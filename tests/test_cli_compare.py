"""`svmfast compare`: its figures against predictions made apart, its four forms, its verdict."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from program import PROGRAM, data, model, svmfast

KEYS = [
    "path", "kind", "accuracy", "labels_differing", "labels_differing_percent", "mean_abs_error",
    "max_abs_error", "inside_bound_percent", "bytes", "load_seconds", "parse_seconds", "predict_seconds",
    "speedup", "linear_cost",
]  # fmt: skip


def compare(*args: Any, status: int = 0) -> dict[str, Any]:
    done = svmfast("compare", "--json", "--repeats", "1", *args)
    assert done.returncode == status, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def approximated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("compare") / "photos.approx"
    assert svmfast("approximate", model("photos_c_rbf"), "-o", out).returncode == 0
    return out


def decisions(path: Path, test: Path) -> tuple[np.ndarray, np.ndarray]:
    done = svmfast("predict", "-q", "--decision-values", test, path)
    table = np.loadtxt(io.BytesIO(done.stdout), skiprows=1)
    return table[:, 0], table[:, 1:]


def test_figures_are_those_of_the_predictions(approximated: Path) -> None:
    exact, test = model("photos_c_rbf"), data("photos.test")
    found = compare(exact, approximated, "--data", test)
    assert found["data"] == {"path": str(test), "rows": 4000, "features": 15}
    first, second = found["models"]
    for line, path, kind in ((first, exact, "libsvm"), (second, approximated, "polynomial")):
        assert [key for key in line if key in KEYS] == KEYS
        assert (line["path"], line["kind"]) == (str(path), kind)
        assert line["bytes"] == path.stat().st_size
        assert line["load_seconds"] > 0
        assert line["parse_seconds"] == first["parse_seconds"] > 0
        assert line["speedup"] == first["predict_seconds"] / line["predict_seconds"]
        assert line["linear_cost"] == line["predict_seconds"] / found["linear_seconds"]
    sv = model("photos_c_rbf").read_text().split("\nSV\n")[1].count("\n")
    assert (first["multiply_adds"], first["linear_cost_counted"]) == (sv * 16, sv * 16 / 15)
    assert (second["multiply_adds"], second["linear_cost_counted"]) == (136, 136 / 15)  # 1 + 15 + 15 16 / 2
    targets = np.loadtxt(test, usecols=0)
    said, values = decisions(exact, test)
    other, others = decisions(approximated, test)
    assert (first["labels_differing"], first["mean_abs_error"], first["max_abs_error"]) == (0, 0, 0)
    assert first["inside_bound_percent"] is None
    assert first["accuracy"] == pytest.approx(np.mean(said == targets) * 100)
    assert second["accuracy"] == pytest.approx(np.mean(other == targets) * 100)
    assert second["labels_differing"] == np.count_nonzero(said != other) > 0
    assert second["labels_differing_percent"] == second["labels_differing"] / 40
    assert second["mean_abs_error"] == pytest.approx(np.abs(values - others).mean())
    assert second["max_abs_error"] == pytest.approx(np.abs(values - others).max())
    inside = svmfast("predict", "--bound", "-q", test, approximated).stdout.split().count(b"inside")
    assert second["inside_bound_percent"] == inside / 40


def test_regression_has_mse_and_scc(tmp_path: Path) -> None:
    exact, test = model("diabetes_eps_rbf"), data("diabetes.test")
    out = tmp_path / "out"
    assert svmfast("approximate", exact, "-o", out).returncode == 0
    found = compare(exact, out, "--data", test)
    said = svmfast("predict", test, exact, tmp_path / "predictions").stdout.decode().splitlines()
    line = found["models"][0]
    assert said[0] == f"Mean squared error = {line['mse']:g} (regression)"
    assert said[1] == f"Squared correlation coefficient = {line['scc']:g} (regression)"
    assert "accuracy" not in line
    assert line["labels_differing"] is None


def test_multiclass_errors_run_over_all_pairs() -> None:
    exact, other = model("iris_c_rbf_prob"), model("iris_nu_rbf_prob")
    line = compare(exact, other, "--data", data("iris.test"))["models"][1]
    _, a = decisions(exact, data("iris.test"))
    _, b = decisions(other, data("iris.test"))
    assert line["max_abs_error"] == pytest.approx(np.abs(a - b).max())
    assert line["mean_abs_error"] == pytest.approx(np.abs(a - b).mean())


def test_the_limit_is_the_exit_status(approximated: Path) -> None:
    args = (model("photos_c_rbf"), approximated, "--data", data("photos.test"))
    share = compare(*args)["models"][1]["labels_differing_percent"]
    compare(*args, "--max-diff", f"{share}%")
    compare(*args, "--max-diff", f"{share * 0.99}%", status=1)
    done = svmfast("compare", "--csv", "--repeats", "1", *args, "--max-diff", "0%")
    assert done.returncode == 1
    assert done.stderr.decode() == (
        f"svmfast: {approximated}: {share:.4g}% of the labels differ, more than 0%\n"
    )


def test_every_column_has_a_name_of_its_own(approximated: Path) -> None:
    args = ("--repeats", "1", model("photos_c_rbf"), approximated, "--data", data("photos.test"))
    done = svmfast("compare", "--markdown", *args)
    heads = [cell.strip() for cell in done.stdout.decode().splitlines()[0].split("|")[1:-1]]
    assert len(set(heads)) == len(heads)
    assert {"speed-up", "speed-up with fallback"} < set(heads)


def test_csv_and_markdown_and_text_hold_the_same(approximated: Path) -> None:
    args = ("--repeats", "1", model("photos_c_rbf"), approximated, "--data", data("photos.test"))
    rows = list(csv.DictReader(io.StringIO(svmfast("compare", "--csv", *args).stdout.decode())))
    differing = int(rows[1]["labels_differing"])
    assert [row["path"] for row in rows] == [str(model("photos_c_rbf")), str(approximated)]
    markdown = svmfast("compare", "--markdown", *args).stdout.decode().splitlines()
    assert len(markdown) == 4
    assert len({line.count("|") for line in markdown}) == 1
    assert set(markdown[1]) <= set("|-: ")
    text = svmfast("compare", *args).stdout.decode().splitlines()
    assert text[0].startswith(f"{data('photos.test')}: 4,000 rows, 15 features")
    for line in (markdown[3], text[3]):
        assert str(approximated) in line
        assert f" {differing} (" in line


def test_a_terminal_gets_a_table(approximated: Path) -> None:
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ["COLUMNS"] = "500"
        files = [str(model("photos_c_rbf")), str(approximated), "--data", str(data("photos.test"))]
        os.execv(PROGRAM, ["svmfast", "compare", "--repeats", "1", *files])
    shown = b""
    try:
        while piece := os.read(terminal, 65536):
            shown += piece
    except OSError:  # how Linux reports that the other side has closed
        pass
    os.close(terminal)
    assert os.waitpid(pid, 0)[1] == 0
    assert "│" in shown.decode()
    assert "labels differ" in shown.decode()


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((model("iris_c_linear"), model("breast_c_rbf")), "has the labels"),
        ((model("iris_c_linear"), model("diabetes_eps_rbf")), "is a regression model"),
        ((model("diabetes_eps_rbf"), model("diabetes_eps_rbf"), "--max-diff", "1%"), "counts labels"),
        ((model("iris_c_linear"), model("iris_c_linear"), "--max-diff", "1"), "'1' could mean 1% or 100%"),
        ((model("iris_c_linear"), "-"), "give files, not '-'"),
        ((model("iris_c_linear"), "missing"), "missing: "),
        ((model("iris_precomputed"), model("iris_precomputed")), "precomputed"),
        ((model("iris_c_linear"),), "Missing argument 'CANDIDATE...'"),
    ],
)
def test_misuse(args: tuple[Any, ...], message: str) -> None:
    done = svmfast("compare", *args, "--data", data("iris.test"))
    assert (done.returncode, done.stdout) == (2, b"")
    assert len(done.stderr.splitlines()) == 1
    assert message in done.stderr.decode()


def test_a_huge_index_costs_nothing(tmp_path: Path) -> None:
    """The linear model of the cost column has weights for the columns in use only."""
    (tmp_path / "wide").write_text("1 1:1 2147483647:2\n-1 1:3\n")
    done = svmfast(
        "compare", "--repeats", "1", model("photos_c_rbf"), model("photos_c_rbf"), "--data", tmp_path / "wide"
    )
    assert (done.returncode, done.stderr.count(b"\n")) == (0, 0)
