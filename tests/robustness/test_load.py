"""Extreme inputs for every command that takes them."""

import subprocess
from pathlib import Path

import pytest
from edges import DATA, GAMMAS, MODELS, convert, learn
from nightly import nightly_but
from program import model

from svmfast.cli.main import run


@pytest.fixture
def within(tmp_path, capfd, monkeypatch):
    """Commands run within this process, in a folder of their own, since a thousand of them are run."""
    monkeypatch.chdir(tmp_path)

    def within(words):
        capfd.readouterr()
        status = run(words)
        return subprocess.CompletedProcess(words, status, *capfd.readouterr())

    return within


def faults(outcomes):
    return {command: outcome.faults for command, outcome in outcomes.items() if outcome.faults}


@pytest.mark.parametrize("name", nightly_but(["values up to 1e300", "one vector"], MODELS))
def test_extreme_models_get_right_answers_or_one_line(within, name):
    assert not faults(convert(within, name))


@pytest.mark.parametrize("name", nightly_but(["constant features", "values up to 1e300"], DATA))
def test_extreme_data_get_an_answer_or_one_line(within, name):
    assert not faults(learn(within, name))


@pytest.mark.parametrize("gamma", nightly_but(GAMMAS[:1], GAMMAS))
def test_training_works_for_any_gamma(within, gamma):
    found = learn(within, "normal", gamma)
    assert not faults(found)
    assert all(outcome.message == "answer" for outcome in found.values())


def test_every_command_refuses_empty_data(within):
    expected = "data: there are no rows; expected 'label index:value ...' on each line"
    assert {outcome.message for outcome in learn(within, "no rows").values()} == {expected}


def test_regression_with_extreme_values_ends_as_in_svm_predict(within):
    """LIBSVM 3.37 writes the same predictions and the same error, except for the sign of its "-nan"."""
    Path("rows").write_text("1e200 1:0.5\n-1e200 1:1e200\n3 2:1e300 3:1e300\n")
    done = within(("predict", "rows", str(model("diabetes_eps_linear")), "out"))
    assert (done.returncode, done.stderr) == (0, "")
    errors = "Mean squared error = inf (regression)\nSquared correlation coefficient = nan (regression)\n"
    assert done.stdout == errors
    values = [float(line) for line in Path("out").read_text().split()]
    assert values == [161.90623925339543, -7.4362410411668565e200, 4.740680177162342e301]
