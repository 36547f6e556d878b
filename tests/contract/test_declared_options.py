"""Options are declared once: the Python functions and the commands have those of the declaration."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, replace
from typing import Any

import click
import pytest

import svmfast as package
from svmfast.cli.command import click_command
from svmfast.cli.main import program
from svmfast.commands import bound_check, compare, export, frontier, import_, predict, scale
from svmfast.commands.functions import takes
from svmfast.errors import OptionError
from svmfast.options import Bounded, made, option, options_of
from svmfast.values import Real

VERBS = [
    (package.predict, predict.AnswerOptions, "predict"),
    (package.Predictor, predict.PredictionOptions, "predict"),
    (package.predict_files, predict.ManyOptions, "predict"),
    (package.compare, compare.CompareOptions, "compare"),
    (package.bound_check, bound_check.BoundCheckOptions, "bound-check"),
    (package.export, export.ExportOptions, "export"),
    (package.frontier, frontier.FrontierOptions, "frontier"),
    (package.info, Bounded, "info"),
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


def test_an_option_is_added_in_one_place() -> None:
    """A field of an options class: flag, help and keyword with its default and check follow from it."""

    @dataclass(frozen=True, kw_only=True)
    class More(predict.PredictionOptions):
        doubt: float | None = option(None, Real(0), "Doubt every answer this much.", "-d")

    verb = replace(predict.COMMAND, name="doubt", takes=(predict.Files, More))
    command = click_command(verb)
    text = command.get_help(click.Context(command))
    assert "-d, --doubt NUMBER" in text
    assert "Doubt every answer this much." in text

    def function(**options: Any) -> More:
        return made(More, options)

    function.__doc__ = "Predict.\n\n    {options}\n"
    function = takes(More)(function)
    assert inspect.signature(function).parameters["doubt"].default is None
    assert "Doubt every answer this much." in str(function.__doc__)
    assert function(doubt=1).doubt == 1
    with pytest.raises(OptionError, match="`doubt` is -1; expected a finite decimal number of at least 0"):
        function(doubt=-1)


@pytest.mark.parametrize(("function", "options", "verb"), VERBS)
def test_python_values_are_checked_as_on_the_command_line(function: Any, options: type, verb: str) -> None:
    needed = [one for one in inspect.signature(function).parameters.values() if one.default is one.empty]
    given = ["one"] * len(needed)
    if options is predict.ManyOptions:  # the others are those of a Predictor
        with pytest.raises(OptionError, match="`skip_existing` is an int; expected True or False"):
            function(*given, skip_existing=1)
        return
    with pytest.raises(OptionError, match="`memory` is 0; expected a size such as 32k"):
        function(*given, memory=0)
    with pytest.raises(TypeError, match="there is no option 'nothing'"):
        function(*given, nothing=1)
