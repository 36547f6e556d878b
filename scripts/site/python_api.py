"""The reference of the Python API, from the public names and their docstrings."""

from __future__ import annotations

import inspect
from collections.abc import Iterable

from markdown import code, contents, escaped, table

import svmfast
import svmfast.sklearn
from svmfast import errors
from svmfast.cli import main
from svmfast.methods.registry import methods

_ORIGIN = "<!-- Made by scripts/site/python_api.py. -->\n\n"


def pages() -> dict[str, str]:
    """Return the pages by their paths below the folder of the reference."""
    made = {one.function_name for one in methods()}
    names = [name for name in svmfast.__all__ if not name.startswith("__")]
    functions = [name for name in names if inspect.isfunction(getattr(svmfast, name))]
    classes = [name for name in names if inspect.isclass(getattr(svmfast, name)) and name != "SvmfastError"]
    left = set(names) - set(functions) - set(classes) - {"SvmfastError"}
    if left:
        raise SystemExit(f"public names of no known sort: {sorted(left)}")
    first = (
        "Data are paths, NumPy arrays, SciPy sparse matrices, DataFrames, {py:class}`svmfast.Rows` or "
        "{py:class}`svmfast.Dataset`; models are paths or models. A function has the same defaults as the "
        "command of its name.\n"
    )
    texts = {
        "methods": _page("Methods", "autofunction", "svmfast", sorted(made)),
        "functions": _page("Functions", "autofunction", "svmfast", functions),
        "classes": _page("Classes", "autoclass", "svmfast", classes, ":members:"),
        "sklearn": _sklearn(),
        "dask": _page("Dask", "autofunction", "svmfast.dask", ["predict"]),
        "errors": _errors(),
    }
    listed = contents(f"python/{name}" for name in texts)
    return {
        "python.md": f"{_ORIGIN}# Python\n\n{first}\n{listed}",
        **{f"python/{name}.md": text for name, text in texts.items()},
    }


def _page(title: str, directive: str, module: str, names: Iterable[str], option: str = "") -> str:
    return f"{_ORIGIN}# {title}\n\n" + "\n".join(_entry(directive, module, name, option) for name in names)


def _entry(directive: str, module: str, name: str, option: str = "") -> str:
    options = f"   {option}\n" if option else ""
    return f"## {name}\n\n```{{eval-rst}}\n.. {directive}:: {module}.{name}\n{options}```\n"


def _sklearn() -> str:
    public = svmfast.sklearn.__all__
    parts = [
        f"{_ORIGIN}# scikit-learn estimators\n\n{' '.join((inspect.getdoc(svmfast.sklearn) or '').split())}\n"
    ]
    for name in public:
        kind = "autoclass" if inspect.isclass(getattr(svmfast.sklearn, name)) else "autofunction"
        parts.append(_entry(kind, "svmfast.sklearn", name))
    return "\n".join(parts).replace(":func:`svmfast.", "{py:func}`svmfast.")


def _errors() -> str:
    found = [
        one
        for one in vars(errors).values()
        if inspect.isclass(one) and issubclass(one, errors.SvmfastError) and one.__module__ == errors.__name__
    ]
    rows = [
        (
            code(one.__name__),
            ", ".join(code(base.__name__) for base in one.__bases__),
            escaped((inspect.getdoc(one) or "").split("\n\n")[0].replace("``", "`")),
            str(one.exit_code),
        )
        for one in found
    ]
    statuses = [
        ("0", "done, or the answer is yes"),
        ("1", "the answer is no, and nothing was written"),
        (str(main.EXIT_BAD_INPUT), "bad usage or input"),
        (str(main.EXIT_INTERNAL), "an internal error: anything but the errors below"),
        (str(main.EXIT_INTERRUPTED), "interrupted; 128 + N for any signal N"),
    ]
    return (
        f"{_ORIGIN}# Errors and exit status\n\n"
        "Every function raises a subclass of `svmfast.SvmfastError` for what its user can fix; they are in "
        "`svmfast.errors`. The program prints the message as one line and ends with the exit status of the "
        "last column. [Command line](../../command-line.md#exit-status) lists outcomes by command.\n\n"
        f"{table(('exit status', 'meaning'), statuses)}\n"
        f"{table(('error', 'kind of', 'when', 'exit status'), rows)}"
    )
