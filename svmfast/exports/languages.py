"""The registry of export languages: a new language is a module and an entry here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal

#: Options of a language.
Ability = Literal[
    "prefix", "precision", "test", "max_flash", "device", "feature_names", "ranges", "probability"
]


@dataclass(frozen=True)
class Language:
    """A language of exported files.

    Attributes
    ----------
    name : str
    summary : str
        One line.
    endings : tuple of str
        The file extensions.
    precision : str
        The default precision, ``float`` or ``double``.
    printer : str
        ``module:function`` that maps a model's computation and settings to :class:`Printed`; empty if the
        model itself is saved.
    values : str
        ``module:function`` that maps a computation, rows and a dtype to the decision values and labels of the
        exported arithmetic; empty if the model's own arithmetic is used.
    abilities : tuple of str
        The options that the language supports.
    """

    name: str
    summary: str
    endings: tuple[str, ...]
    precision: Literal["float", "double"]
    printer: str
    values: str
    abilities: tuple[Ability, ...]

    def load(self, place: str) -> Callable[..., Any]:
        """Import and return the function that ``module:function`` names."""
        module, _, name = place.partition(":")
        found: Callable[..., Any] = getattr(import_module(module), name)
        return found


LANGUAGES: dict[str, Language] = {
    one.name: one
    for one in (
        Language(
            "c",
            "one C99 header, which also compiles as C++: tables and loops, no libraries",
            (".h", ".hpp", ".c", ".cpp"),
            "float",
            "svmfast.exports.c:print_c",
            "svmfast.exports.accuracy:twin_values",
            ("prefix", "precision", "test", "max_flash", "device", "feature_names"),
        ),
        Language(
            "onnx",
            "plain operators in double precision, for any ONNX runtime",
            (".onnx",),
            "double",
            "svmfast.exports.onnx:print_onnx",
            "svmfast.exports.onnx:onnx_values",
            ("precision", "feature_names", "probability"),
        ),
        Language(
            "json",
            "every number of the model under a documented name",
            (".json",),
            "double",
            "svmfast.exports.json:print_json",
            "svmfast.exports.json:own_values",
            ("feature_names",),
        ),
        Language(
            "libsvm",
            "LIBSVM's text, for LIBSVM models with feature names or a scaling",
            (".model",),
            "double",
            "",
            "",
            ("feature_names", "ranges"),
        ),
    )
}
