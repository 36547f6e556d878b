"""Python functions from declarations: signatures and docstrings of verbs, and whole functions of methods."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from svmfast.options import Option, Reading, as_reading, options_of

if TYPE_CHECKING:
    from svmfast.commands.run import Result
    from svmfast.methods.method import Input, Method

T = TypeVar("T")

#: The line of a docstring that is replaced by the options.
_LINE = "    {options}\n"
_INDENT = 4
_KEYWORD = inspect.Parameter.KEYWORD_ONLY
_WIDTH = 110
_DATA = "(n, d) array_like, SciPy sparse matrix, Rows, Dataset, table in memory or path"
#: Parameters of several functions: type, and what they mean.
_USUAL = {
    "reading": ("Reading, optional", "The format of a file, and the columns of a table in memory."),
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
    """The Python function of a method, whose signature and docstring come from its declaration."""
    described = list(_parameters(method))
    signature = inspect.Signature([one for one, _ in described], return_annotation="Result")
    input_names = {one.name for one in method.inputs}
    option_names = {one.name for one in options_of(method.options)}
    reading_names = {one.name for one in options_of(Reading)}

    def function(*args: Any, **kwargs: Any) -> Result:
        from svmfast.commands.file_names import all_files
        from svmfast.commands.given import paths_of
        from svmfast.commands.run import run_method
        from svmfast.errors import NegativeAnswerError

        given = signature.bind(*args, **kwargs).arguments
        for name in (one.name for one in method.inputs if one.files):
            paths = paths_of(given.get(name), several=True)
            given[name] = given.get(name) if paths is None else all_files(paths)
        result = run_method(
            method,
            {name: value for name, value in given.items() if name in input_names},
            {name: value for name, value in given.items() if name in option_names},
            labels=given.get("labels"),
            reading=vars(as_reading(given.get("reading")))
            | {name: value for name, value in given.items() if name in reading_names},
            threads=given.get("threads"),
            writes=False if given.get("scores_only") else None,
        )
        if result.refusal is not None:
            advice = "" if result.advice is None else f"; {result.advice}"
            raise NegativeAnswerError(f"{result.refusal}{advice}", result)
        return result

    function.__name__ = function.__qualname__ = method.function_name
    function.__module__ = "svmfast"
    parts = [method.summary, "", *wrapped(method.description or "", 0), "", "Parameters", "----------"]
    parts += [line for _, lines in described for line in lines]
    parts += ["", "Returns", "-------", "svmfast.Result", *wrapped("The model and its report.", _INDENT)]
    parts += ["", "Raises", "------", "OptionError, UnsupportedError, MemoryLimitError"]
    parts += ["NegativeAnswerError", *wrapped("No model meets the request.", _INDENT)]
    function.__doc__ = "\n".join(parts)
    function.__signature__ = signature  # type: ignore[attr-defined]
    return function


def _parameters(method: Method) -> Iterator[tuple[inspect.Parameter, list[str]]]:
    """Every parameter of a method's function, with its entry in the docstring."""
    empty, positional = inspect.Parameter.empty, inspect.Parameter.POSITIONAL_OR_KEYWORD

    def taken(
        name: str, kind: str, text: str, default: Any = None, hint: str = "Any", how: Any = _KEYWORD
    ) -> tuple[inspect.Parameter, list[str]]:
        return inspect.Parameter(name, how, default=default, annotation=hint), entry(name, kind, text)

    # The first rows are positional in Python, even where the command line has a flag for them.
    rows = [one for one in method.inputs if one.content == "rows"]
    first = [one for one in method.inputs if one.flag is None or one in rows[:1]]
    for one in first:
        yield taken(one.name, _kind(one), one.help, empty if one.required else None, how=positional)
    if any(one.labels != "ignored" for one in rows):
        text = "Labels for rows without labels."
        yield taken("labels", "(n,) array_like, optional", text, how=positional)
    for one in method.inputs:
        if one not in first:
            yield taken(one.name, _kind(one), one.help)
    options = options_of(method.options, Reading)
    yield from zip(option_parameters(method.options, Reading), map(option_lines, options), strict=True)
    yield taken("reading", *_USUAL["reading"], hint="Reading | None")
    if method.scores_alone:
        text = "Only report the scores, without making a model."
        yield taken("scores_only", "bool (default: False)", text, False, "bool")
    yield taken("threads", *_USUAL["threads"], hint="int | None")


def _kind(given: Input) -> str:
    kind = {
        "model": "Model, fitted estimator or path",
        "exact model": "KernelExpansion, fitted estimator or path",
    }.get(given.content, _DATA)
    if given.many:
        kind += ", or a sequence of paths"
    elif given.content == "rows" and given.flag is not None and given.labels != "ignored":
        kind += ", or a pair of rows and labels"
    return kind if given.required else f"{kind}, optional"
