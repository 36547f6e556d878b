"""Methods from their declarations: a toy registered here is found everywhere; all meet one contract."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import numpy as np
import pytest
from every_command import RUNS, words
from program import data, model

import svmfast as package
from svmfast.cli import main
from svmfast.commands.run import run_method
from svmfast.errors import ModelFormatError, OptionError
from svmfast.formats.model_files import load_model, model_bytes
from svmfast.frontiers import run
from svmfast.frontiers.child import Failed
from svmfast.methods import registry
from svmfast.methods.candidates import Candidate, CandidateRequest, NotTried
from svmfast.methods.common.problem import numbered_classes
from svmfast.methods.method import Input, Inputs, Method, Outcome, Setting
from svmfast.methods.registry import methods
from svmfast.models.polynomial import PolynomialModel
from svmfast.options import Reading, option, options_of
from svmfast.values import Real

# --- the toy: the nearest centroid, a linear model ---


@dataclass(frozen=True, kw_only=True)
class ToyOptions:
    shrink: float = option(
        0.0, Real(0, 1, below=True), "Move centroids this far towards the mean of all rows."
    )


@dataclass(frozen=True)
class ToyReport:
    centroids: int

    def lines(self) -> list[str]:
        return [f"centroids    {self.centroids}"]

    def to_dict(self) -> dict[str, Any]:
        return {"centroids": self.centroids}


def run_toy(inputs: Inputs, options: ToyOptions, setting: Setting) -> Outcome:
    """Make a model that predicts the class of the nearest centroid: the largest of 2 c.x - |c|^2."""
    given = inputs.rows("data")
    assert given.labels is not None
    head, _ = numbered_classes(given.labels, pairs=False)
    x = given.rows.to_dense()
    classes = np.array([x[given.labels == label].mean(axis=0) for label in head.labels])
    classes += options.shrink * (x.mean(axis=0) - classes)
    weights, offsets = 2 * classes, -(classes**2).sum(axis=1)
    if len(classes) == 2:
        weights, offsets = weights[:1] - weights[1:], offsets[:1] - offsets[1:]
    functions, width = weights.shape
    made = PolynomialModel(
        head=head,
        gamma=0.0,
        n_features=width,
        features=np.arange(width, dtype=np.int64),
        about="zero",
        centers=np.zeros((1, width)),
        orders=np.ones((1, functions), dtype=np.int32),
        coefficients=np.hstack([np.zeros((functions, 1)), weights]).ravel(),
        rho=-offsets,
        sv_squared_norm=1.0,
        sv_squared_norms=np.ones(1),
        provenance={"method": "toy", "parameters": f"shrink {options.shrink!r}"},
    )
    return Outcome(made, ToyReport(len(classes)))


def toy_candidates(request: CandidateRequest) -> tuple[list[Candidate], list[NotTried]]:
    tried = [Candidate(f"toy-{k}", k, {"shrink": value}, ("data",)) for k, value in enumerate((0.0, 0.25))]
    return tried, [NotTried("toy-wide", "too wide")]


TOY = Method(
    name="toy",
    summary="Answer the class of the nearest centroid.",
    description="Train on DATA. `shrink` moves the centroids.",
    group="train",
    inputs=(Input(name="data", content="rows"),),
    options=ToyOptions,
    run=f"{__name__}:run_toy",
    candidates=f"{__name__}:toy_candidates",
    color="#12ab34",
)


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Method:
    monkeypatch.setitem(registry._PACKAGES, "toy", "toy")
    monkeypatch.setitem(sys.modules, "svmfast.methods.toy", SimpleNamespace(METHOD=TOY))
    return TOY


def test_a_registered_method_is_a_command(
    toy: Method, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(["--help"]) == 0
    assert "  toy           Answer the class of the nearest centroid.\n" in capsys.readouterr().out
    assert main.run(["toy", "-h"]) == 0
    shown = capsys.readouterr().out
    assert "--shrink NUMBER" in shown
    assert "--shrink moves the centroids." in shown
    out = tmp_path / "made"
    assert main.run(["toy", str(data("iris.train")), "--shrink", "0.25", "-o", str(out)]) == 0
    assert "centroids    3\n" in capsys.readouterr().err
    assert main.run(["toy", str(data("iris.train")), "--shrink", "1", "-o", str(out)]) == 2
    assert "'1' is not a finite decimal number of at least 0 and below 1" in capsys.readouterr().err
    assert out.read_bytes() == model_bytes(package.toy(data("iris.train"), shrink=0.25).model)


def test_a_registered_method_is_a_function(toy: Method, tmp_path: Path) -> None:
    assert "toy" in dir(package)
    signature = inspect.signature(package.toy)
    assert list(signature.parameters)[:3] == ["data", "labels", "shrink"]
    assert "shrink : a finite decimal number of at least 0 and below 1" in package.toy.__doc__
    rows = package.read_svmlight(data("iris.train"))
    result = package.toy(rows.rows.to_dense(), rows.labels, shrink=0.25)
    made, report = result
    assert report.centroids == 3
    assert result.to_dict()["centroids"] == 3
    assert "centroids    3" in repr(result)
    assert np.mean(package.predict(made, rows).predicted == rows.labels) > 0.8
    assert result.save(tmp_path / "made") == (tmp_path / "made").stat().st_size
    with pytest.raises(OptionError, match="`shrink` is 2; expected a finite decimal number"):
        package.toy(rows, shrink=2)
    with pytest.raises(TypeError):
        package.toy(rows, stretch=2)


def test_frontier_tries_a_registered_method(
    toy: Method, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Candidates run in this process, where the toy is registered."""

    def make(
        arguments: Sequence[str],
        seconds: float,
        tick: Callable[[float], None] = lambda share: None,
    ) -> float:
        if main.run(arguments):
            raise Failed("no")
        return 0.1

    monkeypatch.setattr(run, "make", make)
    found = package.frontier(
        model("breast_c_rbf"), data("breast.train"), data("breast.test"), output=tmp_path / "tried",
        methods="toy", max_diff=0.5, time_limit=20.0,
    )  # fmt: skip
    assert {"exact", "toy-0", "toy-1"} <= {point.name for point in found.report.points}
    assert ("toy-wide", "too wide") in {(one.name, one.reason) for one in found.report.missing}
    assert any("svmfast toy" in (point.command or "") for point in found.report.points)
    assert any("--shrink 0.25" in (point.command or "") for point in found.report.points)
    page = (tmp_path / "tried" / "report.html").read_text()
    assert "<td>toy-1<" in page
    assert TOY.color in page
    assert found.model().kind == "polynomial"


# --- the contract, for every method ---


def quick_run(method: Method) -> dict[str, Any]:
    """Return the arguments of `run_method` for the method's quick run on the command line."""
    if method.name not in RUNS:
        return {"inputs": {"data": data("iris.train")}, "options": {}}
    command = main.program.get_command(click.Context(main.program), method.name)
    assert command is not None
    context = command.make_context(method.name, words(method.name, {"OUT": "o", "SAVED": "c"})[1:])
    given = {name: value for name, value in context.params.items() if value not in (None, ())}
    return {
        "inputs": {one.name: given[one.name] for one in method.inputs if one.name in given},
        "options": {one.name: given[one.name] for one in options_of(method.options) if one.name in given},
        "reading": {one.name: given[one.name] for one in options_of(Reading) if one.name in given},
    }


@pytest.mark.parametrize("method", [*methods(), TOY], ids=lambda method: method.name)
def test_every_method_meets_the_contract(method: Method, tmp_path: Path) -> None:
    """Equal bytes for any number of threads, a round trip, detection of damage, an answer for every row."""
    results = [run_method(method, **quick_run(method), threads=threads) for threads in (1, 2)]
    contents = [model_bytes(result.model) for result in results]
    assert contents[0] == contents[1]
    assert results[0].report.lines()
    assert isinstance(results[0].to_dict(), dict)
    path = tmp_path / "made"
    results[0].save(path)
    again = load_model(path)
    assert model_bytes(again) == path.read_bytes() == contents[0]
    rows = package.read_svmlight(data("iris.test"))
    answers = [package.predict(one, rows).predicted for one in (results[0].model, again)]
    np.testing.assert_array_equal(*answers)
    assert np.isfinite(answers[0]).all()
    damaged = tmp_path / "damaged"
    damaged.write_bytes(contents[0][: len(contents[0]) // 2])
    with pytest.raises(ModelFormatError):
        load_model(damaged)


@pytest.mark.parametrize("method", methods(), ids=lambda method: method.name)
def test_a_declaration_is_complete(method: Method) -> None:
    assert method.summary.endswith(".")
    assert method.description
    for one in options_of(method.options):
        assert one.help.endswith((".", ")")), one.name
        if one.default is not None:
            assert one.check(one.default) == one.default, one.name
        assert "--" not in one.help, one.name


def test_one_name_has_one_meaning() -> None:
    """Options of the same name have the same flags in every method, and the same range but for its limits."""
    known: dict[str, tuple[str, tuple[str, ...], type]] = {}
    reading = {word for one in options_of(Reading) for word in (one.name, *one.flags)}
    for method in methods():
        for one in options_of(method.options):
            taken = reading & {one.name, *one.flags}
            assert not taken, f"{method.name}: {one.name}: every command that reads rows has {taken} already"
    for method in methods():
        for one in options_of(method.options):
            entry = (method.name, one.flags, type(one.value))
            first = known.setdefault(one.name, entry)
            assert first[1] == entry[1], (one.name, first, entry)
    letters: dict[str, str] = {}
    for method in methods():
        for one in options_of(method.options):
            for flag in one.flags:
                assert letters.setdefault(flag, one.name) == one.name, (flag, method.name)


@pytest.mark.parametrize("name", [one.name for one in methods()])
def test_a_command_imports_no_other_method(name: str) -> None:
    """The registry names the package of each command; only that one is imported for its help."""
    code = (
        "import sys\nfrom svmfast.methods.registry import method\n"
        "print(method(sys.argv[1]).name)\n"
        "found = [one.split('.') for one in sys.modules if one.startswith('svmfast.methods.')]\n"
        "print(*{one[2] for one in found} - {'registry', 'method', 'candidates'})"
    )
    shown = subprocess.run([sys.executable, "-c", code, name], capture_output=True, text=True, check=True)
    found, packages = shown.stdout.splitlines()
    assert found == name
    assert set(packages.split()) - {"common"} == {registry._PACKAGES[name]}
