"""Options are declared once: the Python functions and the commands have those of the declaration."""

from __future__ import annotations

import inspect
from typing import Any

import click
import pytest

import svmfast as package
from svmfast.cli.main import program
from svmfast.commands import bound_check, compare, export, frontier, import_, predict, scale
from svmfast.errors import OptionError
from svmfast.options import MemoryOfModels, options_of

VERBS = [
    (package.predict, predict.AnswerOptions, "predict"),
    (package.Predictor, predict.PredictionOptions, "predict"),
    (package.predict_files, predict.ManyOptions, "predict"),
    (package.compare, compare.CompareOptions, "compare"),
    (package.bound_check, bound_check.BoundCheckOptions, "bound-check"),
    (package.export, export.ExportOptions, "export"),
    (package.frontier, frontier.FrontierOptions, "frontier"),
    (package.info, MemoryOfModels, "info"),
    (package.scale, scale.ScaleOptions, "scale"),
    (package.from_sklearn, import_.ImportOptions, "import"),
]


@pytest.mark.parametrize(("function", "options", "verb"), VERBS)
def test_a_function_and_its_command_have_the_declared_options(
    function: Any, options: type, verb: str
) -> None:
    known = inspect.signature(function).parameters
    described = inspect.getdoc(function) or ""
    command = program.get_command(click.Context(program), verb)
    assert command is not None
    params = {one.name: one for one in command.params}
    for one in options_of(options):
        assert known[one.name].default == one.default
        assert known[one.name].kind == inspect.Parameter.KEYWORD_ONLY
        assert f"\n{one.name} : {one.value.expected()}" in described
        assert set(params[one.name].opts + params[one.name].secondary_opts) == {
            flag for flags in one.flags for flag in flags.split("/")
        }


@pytest.mark.parametrize(("function", "options", "verb"), VERBS)
def test_python_values_are_checked_as_on_the_command_line(function: Any, options: type, verb: str) -> None:
    needed = [one for one in inspect.signature(function).parameters.values() if one.default is one.empty]
    given = ["one"] * len(needed)
    if options is predict.ManyOptions:  # the others are those of a Predictor
        with pytest.raises(OptionError, match="`overwrite` is an int; expected True or False"):
            function(*given, overwrite=1)
        return
    with pytest.raises(OptionError, match="`memory` is 0; expected a size such as 32k"):
        function(*given, memory=0)
    with pytest.raises(TypeError, match="there is no option 'nothing'"):
        function(*given, nothing=1)
