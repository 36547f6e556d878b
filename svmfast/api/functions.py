"""Python functions from declarations: signatures and docstrings of verbs, and whole functions of methods."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from svmfast.options import Option, Reading, options_of

if TYPE_CHECKING:
    from svmfast.api.result import Result
    from svmfast.methods.method import Input, Method

T = TypeVar("T")

#: The line of a docstring that is replaced by the options.
_LINE = "    {options}\n"
_INDENT = 4
_KEYWORD = inspect.Parameter.KEYWORD_ONLY
_WIDTH = 110
_DATA = "(n, d) array_like, SciPy sparse matrix, Rows, Dataset or path"
#: Parameters of several functions: type, and what they mean.
_USUAL = {
    "reading": ("Reading, optional", "The format of the rows, for data given by a path."),
    "threads": (
        "int, optional",
        "Default: the cores this process may use, at most ``OMP_NUM_THREADS``. "
        "The result does not depend on it.",
    ),
    "listener": ("Listener, optional", "Receives progress, remarks and warnings."),
}


def takes(*declared: type) -> Callable[[T], T]:
    """A decorator for a function or class that takes the options of these classes as ``**options``.

    The function calls :func:`svmfast.options.made` with them, which checks them as on the command line. Here
    its signature and its docstring, in place of the line ``{options}``, get every one of them; the docstring
    also gets the usual parameters that the function has.
    """

    def decorated(target: T) -> T:
        signature = inspect.signature(target)  # type: ignore[arg-type]
        own = [one for one in signature.parameters.values() if one.kind is not one.VAR_KEYWORD]
        first = [one for one in own if one.kind is not one.KEYWORD_ONLY]
        parameters = [*first, *option_parameters(*declared), *own[len(first) :]]
        target.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        if target.__doc__ is not None:  # python -OO has none
            entries = [line for one in options_of(*declared) for line in option_lines(one)]
            entries += [
                line for one in own if one.name in _USUAL for line in entry(one.name, *_USUAL[one.name])
            ]
            text = "".join(f"{' ' * _INDENT}{line}\n" for line in entries)
            target.__doc__ = target.__doc__.replace(_LINE, text)
        return target

    return decorated


def option_parameters(*declared: type) -> list[inspect.Parameter]:
    """The keyword-only parameters for the options of these classes."""
    bases = [base for cls in declared for base in cls.__mro__[:-1]]
    hints = {name: hint for base in bases for name, hint in base.__annotations__.items()}
    found = []
    for one in options_of(*declared):
        hint = hints[one.name]
        if one.default is None and "None" not in hint and hint != "Any":
            hint += " | None"  # the run sets it
        found.append(inspect.Parameter(one.name, _KEYWORD, default=one.default, annotation=hint))
    return found


def option_lines(one: Option) -> list[str]:
    """The entry of an option in a numpydoc docstring."""
    default = one.shown or ("" if one.default is None else repr(one.default))
    kind = one.value.expected() + (f" (default: {default})" if default else ", optional")
    return entry(one.name, kind, one.help)


def entry(name: str, kind: str, text: str = "") -> list[str]:
    """The entry of a parameter in a numpydoc docstring."""
    return [f"{name} : {kind}", *wrapped(text, _INDENT)]


def wrapped(text: str, indent: int) -> list[str]:
    """Paragraphs as lines of a docstring."""
    lines: list[str] = []
    for paragraph in text.split("\n\n") if text else ():
        if lines:
            lines.append("")
        body = " ".join(paragraph.split())
        lines += textwrap.wrap(body, _WIDTH, initial_indent=" " * indent, subsequent_indent=" " * indent)
    return lines


def function_of(method: Method) -> Callable[..., Result]:
    """Return ``svmfast.NAME``."""
    signature = signature_of(method)
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


def signature_of(method: Method) -> inspect.Signature:
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
        parts += entry(given.name, _kind(given), given.help)
    if _takes_labels(method):
        parts += entry("labels", "(n,) array_like, optional", "Labels for rows without labels.")
    for one in options_of(method.options, Reading):
        parts += option_lines(one)
    if method.scores_alone:
        parts += entry(
            "scores_only", "bool (default: False)", "Only report the scores, without making a model."
        )
    if method.checkpoints:
        parts += entry("checkpoint", "path, optional", method.checkpoints)
    parts += entry("threads", *_USUAL["threads"])
    parts += ["", "Returns", "-------", "svmfast.Result", *wrapped("The model and its report.", _INDENT)]
    parts += ["", "Raises", "------", "OptionError, UnsupportedError, MemoryLimitError"]
    return "\n".join([*parts, "NegativeAnswerError", *wrapped("No model meets the request.", _INDENT)])


def _kind(given: Input) -> str:
    kind = {"model": "Model or path", "exact model": "KernelExpansion or path"}.get(given.content, _DATA)
    if given.many:
        kind += ", or a sequence of paths"
    elif given.content == "rows" and given.flag is not None and given.labels != "ignored":
        kind += ", or a pair of rows and labels"
    return kind if given.required else f"{kind}, optional"
