"""The Python function of each method, made from its declaration: signature, docstring and call."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from svmfast.api.declared import option_lines, option_parameters, wrapped
from svmfast.methods.given import Input
from svmfast.methods.method import Method
from svmfast.options import Reading, options_of

if TYPE_CHECKING:
    from svmfast.api.result import Result

_INDENT = 4
_DATA = "(n, d) array_like, SciPy sparse matrix, Rows, Dataset or path"


def function_of(method: Method) -> Callable[..., Result]:
    """Return ``svmfast.NAME``."""
    signature = _signature(method)
    input_names = {one.name for one in method.inputs}
    option_names = {one.name for one in options_of(method.options)}
    reading_names = {one.name for one in options_of(Reading)}

    def function(*args: Any, **kwargs: Any) -> Result:
        from svmfast.api.run import run_method
        from svmfast.errors import NegativeAnswerError

        given = signature.bind(*args, **kwargs).arguments
        result = run_method(
            method,
            {name: value for name, value in given.items() if name in input_names},
            {name: value for name, value in given.items() if name in option_names},
            labels=given.get("labels"),
            reading={name: value for name, value in given.items() if name in reading_names},
            threads=given.get("threads"),
            writes=False if given.get("scores_only") else None,
            checkpoint=given.get("checkpoint"),
        )
        if result.refusal is not None:
            advice = "" if result.advice is None else f"; {result.advice}"
            raise NegativeAnswerError(f"{result.refusal}{advice}", result)
        return result

    function.__name__ = function.__qualname__ = method.function_name
    function.__module__ = "svmfast"
    function.__doc__ = _docstring(method)
    function.__signature__ = signature  # type: ignore[attr-defined]
    return function


def _takes_labels(method: Method) -> bool:
    return any(one.content == "rows" and one.labels != "ignored" for one in method.inputs)


def _signature(method: Method) -> inspect.Signature:
    # The first rows are positional in Python, even where the command line has a flag for them.
    rows = [one for one in method.inputs if one.content == "rows"]
    positional = [one for one in method.inputs if one.flag is None or one in rows[:1]]

    def taken(name: str, default: Any = None, hint: str = "Any", *, named: bool = True) -> inspect.Parameter:
        kind = inspect.Parameter.KEYWORD_ONLY if named else inspect.Parameter.POSITIONAL_OR_KEYWORD
        return inspect.Parameter(name, kind, default=default, annotation=hint)

    found = [
        taken(one.name, inspect.Parameter.empty if one.required else None, named=False) for one in positional
    ]
    if _takes_labels(method):
        found.append(taken("labels", named=False))
    found += [taken(one.name) for one in method.inputs if one not in positional]
    found += option_parameters(method.options, Reading)
    if method.scores_alone:
        found.append(taken("scores_only", False, "bool"))
    if method.checkpoints:
        found.append(taken("checkpoint", hint="str | os.PathLike[str] | None"))
    found.append(taken("threads", hint="int | None"))
    return inspect.Signature(found, return_annotation="Result")


def _docstring(method: Method) -> str:
    parts = [method.summary, "", *wrapped(method.description, 0), "", "Parameters", "----------"]
    for given in method.inputs:
        parts += _input(given)
    if _takes_labels(method):
        parts.append("labels : (n,) array_like, optional")
        parts += wrapped("Labels for rows without labels.", _INDENT)
    for one in (*options_of(method.options), *options_of(Reading)):
        parts += option_lines(one)
    if method.scores_alone:
        parts.append("scores_only : bool (default: False)")
        parts += wrapped("Only report the scores, without making a model.", _INDENT)
    if method.checkpoints:
        parts += ["checkpoint : path, optional", *wrapped(method.checkpoints, _INDENT)]
    parts += ["threads : int, optional"]
    parts += wrapped(
        "Default: the cores this process may use, at most ``OMP_NUM_THREADS``. "
        "The result does not depend on it.",
        _INDENT,
    )
    parts += ["", "Returns", "-------", "svmfast.Result", *wrapped("The model and its report.", _INDENT)]
    parts += [
        "",
        "Raises",
        "------",
        "OptionError, UnsupportedError, MemoryLimitError",
        "NegativeAnswerError",
    ]
    parts += wrapped("No model meets the request.", _INDENT)
    return "\n".join(parts)


def _input(given: Input) -> list[str]:
    kind = {"model": "Model or path", "exact model": "KernelExpansion or path"}.get(given.content, _DATA)
    if given.many:
        kind += ", or a sequence of paths"
    elif given.content == "rows" and given.flag is not None and given.labels != "ignored":
        kind += ", or a pair of rows and labels"
    head = f"{given.name} : {kind}{'' if given.required else ', optional'}"
    return [head, *wrapped(given.help, _INDENT)] if given.help else [head]
