"""Methods from their declarations: a toy registered here is found everywhere; all meet one contract."""

import inspect
import subprocess
import sys
from dataclasses import dataclass, replace
from types import SimpleNamespace

import click
import numpy as np
import pytest
from every_command import RUNS, words
from program import data

import svmfast as package
from svmfast.cli import main
from svmfast.commands.run import run_method
from svmfast.errors import ModelFormatError, OptionError
from svmfast.formats.model_files import load_model, model_bytes
from svmfast.methods import registry
from svmfast.methods.linear import LinearOptions
from svmfast.methods.linear.fit import linear
from svmfast.methods.method import Input, Method, Outcome
from svmfast.methods.registry import methods
from svmfast.options import Reading, option, options_of
from svmfast.values import Real

# --- the toy: the nearest centroid, a linear model ---


@dataclass(frozen=True, kw_only=True)
class ToyOptions:
    shrink: float = option(0.0, Real(0, 1, below=True), "Move centroids this far towards the mean.")


@dataclass(frozen=True)
class ToyReport:
    centroids: int

    def lines(self):
        return [f"centroids    {self.centroids}"]

    def to_dict(self):
        return {"centroids": self.centroids}


def run_toy(inputs, options, setting):
    """Make a model that predicts the class of the nearest centroid: the largest of 2 c.x - |c|^2."""
    given = inputs.rows("data")
    x, (like, _) = given.rows.to_dense(), linear(given.rows, given.labels, LinearOptions())
    classes = np.array([x[given.labels == label].mean(axis=0) for label in like.head.labels])
    classes += options.shrink * (x.mean(axis=0) - classes)
    weights, offsets = 2 * classes, -(classes**2).sum(axis=1)
    if len(classes) == 2:
        weights, offsets = weights[:1] - weights[1:], offsets[:1] - offsets[1:]
    coefficients = np.hstack([np.zeros((len(weights), 1)), weights]).ravel()
    about = {"method": "toy", "parameters": f"shrink {options.shrink!r}"}
    made = replace(like, coefficients=coefficients, rho=-offsets, provenance=about)
    return Outcome(made, ToyReport(len(classes)))


TOY = Method(
    **{"name": "toy", "summary": "Answer the class of the nearest centroid.", "group": "train"},
    **{"description": "Train on DATA. `shrink` moves the centroids.", "color": "#12ab34"},
    **{"inputs": (Input(name="data", content="rows"),), "options": ToyOptions, "run": f"{__name__}:run_toy"},
)


@pytest.fixture
def _toy(monkeypatch):
    monkeypatch.setitem(registry._PACKAGES, "toy", "toy")
    monkeypatch.setitem(sys.modules, "svmfast.methods.toy", SimpleNamespace(METHOD=TOY))


@pytest.mark.usefixtures("_toy")
def test_a_registered_method_is_a_command(tmp_path, capsys):
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


@pytest.mark.usefixtures("_toy")
def test_a_registered_method_is_a_function(tmp_path):
    assert "toy" in dir(package)
    assert list(inspect.signature(package.toy).parameters)[:3] == ["data", "labels", "shrink"]
    rows = package.read_svmlight(data("iris.train"))
    result = package.toy(rows.rows.to_dense(), rows.labels, shrink=0.25)
    made, report = result
    assert report.centroids == result.to_dict()["centroids"] == 3
    assert np.mean(package.predict(made, rows).predicted == rows.labels) > 0.8
    assert result.save(tmp_path / "made") == (tmp_path / "made").stat().st_size
    with pytest.raises(OptionError, match="`shrink` is 2; expected a finite decimal number"):
        package.toy(rows, shrink=2)


# --- the contract, for every method ---


def quick_run(method):
    """Return the arguments of `run_method` for the method's quick run on the command line."""
    if method.name not in RUNS:
        return {"inputs": {"data": data("iris.train")}, "options": {}}
    command = main.program.get_command(click.Context(main.program), method.name)
    context = command.make_context(method.name, words(method.name, {"OUT": "o", "SAVED": "c"})[1:])
    given = {name: value for name, value in context.params.items() if value not in (None, ())}
    kinds = {"inputs": method.inputs, "options": options_of(method.options), "reading": options_of(Reading)}
    return {
        kind: {one.name: given[one.name] for one in of if one.name in given} for kind, of in kinds.items()
    }


@pytest.mark.parametrize("method", [*methods(), TOY], ids=lambda method: method.name)
def test_every_method_meets_the_contract(method, tmp_path):
    """Equal bytes for any number of threads, a round trip, detection of damage, an answer for every row."""
    results = [run_method(method, **quick_run(method), threads=threads) for threads in (1, 2)]
    contents = [model_bytes(result.model) for result in results]
    assert contents[0] == contents[1]
    path = tmp_path / "made"
    results[0].save(path)
    again = load_model(path)
    assert model_bytes(again) == path.read_bytes() == contents[0]
    rows = package.read_svmlight(data("iris.test"))
    answers = [package.predict(one, rows).predicted for one in (results[0].model, again)]
    np.testing.assert_array_equal(*answers)
    assert np.isfinite(answers[0]).all()
    with pytest.raises(ModelFormatError):
        load_model(contents[0][: len(contents[0]) // 2])


def test_one_name_has_one_meaning():
    """Options of the same name have the same flags in every method, and none has one of Reading's."""
    meanings = {}
    letters = {word: "" for one in options_of(Reading) for word in (one.name, *one.flags)}
    for method in methods():
        for one in options_of(method.options):
            assert meanings.setdefault(one.name, one.flags) == one.flags, (method.name, one.name)
            for word in (one.name, *one.flags):
                assert letters.setdefault(word, one.name) == one.name, (method.name, word)
            if one.default is not None:
                assert one.check(one.default) == one.default, (method.name, one.name)


@pytest.mark.parametrize("name", [one.name for one in methods()])
def test_a_command_imports_no_other_method(name):
    """The registry names the package of each command; only that one is imported for its help."""
    code = (
        "import sys\nfrom svmfast.methods.registry import method\n"
        "method(sys.argv[1])\n"
        "found = [one.split('.') for one in sys.modules if one.startswith('svmfast.methods.')]\n"
        "print(*{one[2] for one in found} - {'registry', 'method', 'candidates', 'common'})"
    )
    shown = subprocess.run([sys.executable, "-c", code, name], capture_output=True, text=True, check=True)
    assert shown.stdout.split() == [registry._PACKAGES[name]]
