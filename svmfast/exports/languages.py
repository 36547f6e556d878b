"""The registry of export languages; a new language is a module and an entry here."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any


@dataclass(frozen=True)
class Language:
    """A language of exported files."""

    name: str
    #: One line.
    summary: str
    #: The file extensions.
    endings: tuple[str, ...]

    def module(self) -> Any:
        """The module, with ``write(computation, settings)`` and ``evaluate(computation, rows, dtype)``.

        LIBSVM's text, which is the model itself, has none.
        """
        return import_module(f"svmfast.exports.{self.name}")


LANGUAGES: dict[str, Language] = {
    one.name: one
    for one in (
        Language(
            "c",
            "one C99 header, which also compiles as C++: tables and loops, no libraries",
            (".h", ".hpp", ".c", ".cpp"),
        ),
        Language("onnx", "plain operators in double precision, for any ONNX runtime", (".onnx",)),
        Language("libsvm", "LIBSVM's text, for LIBSVM models with a scaling or names", (".model",)),
    )
}
