"""The commands that are not methods: a module for each, whose docstring is its help, and what they share.

The module of a command has its options, its Python function and what the program prints; it is imported for
help and completion, so that it imports neither NumPy nor click.
"""

from __future__ import annotations

from importlib import import_module
from keyword import iskeyword
from typing import Any

from svmfast.command import SECTIONS, Command, Verb

#: Section and summary of each; they are here so that the program's help need not import the modules.
_VERBS = {
    "frontier": ("start", "Try every method on a model and recommend one."),
    "info": ("start", "Describe a model or data file."),
    "import": ("convert", "Convert a fitted scikit-learn estimator to a model."),
    "scale": ("use", "Scale the features of DATA, as svm-scale does."),
    "predict": ("use", "Predict the rows of DATA with any MODEL."),
    "compare": ("use", "Compare models with the exact one on the same rows."),
    "bound-check": ("use", "Check whether the validity bound holds on DATA."),
    "export": ("use", "Write MODEL as C or ONNX, for other programs."),
}


def listed(name: str) -> dict[str, Any]:
    """The fields of a declaration that are in the table above."""
    group, summary = _VERBS[name]
    return {"name": name, "group": group, "summary": summary}


def command(name: str) -> Command | None:
    """The command of this name; None if there is none."""
    if name in _VERBS:
        module = f"{name}_" if iskeyword(name) else name.replace("-", "_")
        verb: Verb = import_module(f"svmfast.commands.{module}").COMMAND
        return verb
    from svmfast.methods.registry import method

    try:
        found = method(name)
    except KeyError:
        return None
    return found if found.name == name else None


def commands() -> dict[str, tuple[str, str]]:
    """The section and summary of every command, in the order of the help."""
    from svmfast.methods.registry import methods

    found = {**_VERBS, **{one.name: (one.group, one.summary) for one in methods()}}
    places = list(SECTIONS)
    return dict(sorted(found.items(), key=lambda item: places.index(item[1][0])))
