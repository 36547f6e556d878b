"""A prediction has the same options in their declaration, in both Python signatures and in the command."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import pytest

import svmfast as package
from svmfast.api.prediction_options import PredictionOptions
from svmfast.cli.predict import command
from svmfast.options import options_of

DECLARED = {one.name: one for one in options_of(PredictionOptions)}
#: They change what a file contains; an Answer has the decision values and the names anyway.
OF_FILES = {"decision_values", "names"}


def described(function: Callable[..., Any]) -> dict[str, str]:
    """Return the entries of a docstring's parameters, by name."""
    text = (inspect.getdoc(function) or "").split("Parameters\n----------\n")[1]
    body = re.split(r"\n\n\w+\n-+\n", text)[0]
    entries = re.split(r"\n(?=\w)", body)
    return {entry.split(" : ")[0]: entry for entry in entries}


@pytest.mark.parametrize(("function", "without"), [(package.Predictor, set()), (package.predict, OF_FILES)])
def test_a_signature_has_the_declared_options(function: Callable[..., Any], without: set[str]) -> None:
    signature = inspect.signature(function).parameters
    assert DECLARED.keys() - signature.keys() == without
    for name in DECLARED.keys() - without:
        assert signature[name].default == DECLARED[name].default, name
        assert signature[name].kind == inspect.Parameter.KEYWORD_ONLY


def test_both_signatures_describe_an_option_in_the_same_words() -> None:
    one, other = described(package.Predictor), described(package.predict)
    shared = one.keys() & other.keys()
    assert shared >= DECLARED.keys() - OF_FILES
    assert one.keys() >= DECLARED.keys()
    for name in shared - {"data"}:
        assert one[name] == other[name]
    hints = [inspect.signature(function).parameters for function in (package.Predictor, package.predict)]
    for name in shared:
        assert hints[0][name].annotation == hints[1][name].annotation, name


@pytest.mark.parametrize("form", [command, *command.forms])
def test_both_forms_of_the_command_have_the_declared_options(form: Any) -> None:
    known = {param.name: param for param in form.params}
    for name, one in DECLARED.items():
        assert set(known[name].opts + known[name].secondary_opts) == {
            flag for flags in one.flags for flag in flags.split("/")
        }
