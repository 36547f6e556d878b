"""The registry of export languages, and the devices whose code a C file's size includes.

A new language is a module and an entry here.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from svmfast.exports.computation import Computation


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


@dataclass(frozen=True)
class Device:
    """Upper bounds on the bytes of code that gcc -Os generates, including its routines for floating point."""

    summary: str
    #: The code of NAME_predict.
    predict: int
    #: Additional code if NAME_predict uses square roots or hyperbolic tangents.
    roots: int
    #: Additional code for NAME_certain.
    certain: int
    #: Additional code for each class that NAME_class_name names; three times as much beyond 16 bits.
    class_name: int = 18


#: tests/scripts/test_embedded.py checks these by compiling files of every form.
DEVICES = {
    "cortex-m4": Device("Cortex-M4 with a single-precision unit", 800, 0, 700),
    "cortex-m0": Device("Cortex-M0, without a floating-point unit", 3700, 1000, 1500),
    "avr": Device("AVR, such as ATmega1284P", 2700, 200, 2800),
}


def code_bytes(computation: Computation, device: str) -> int:
    """Bound the bytes of a computation's code on a device from above, in single precision."""
    from svmfast.exports.c_answer import label_type
    from svmfast.exports.certain import has_certificate

    about, values = DEVICES[device], computation.values
    roots = values.kernel == "sigmoid" or (values.pseudo is not None and values.pseudo.kind == "triangle")
    named = len(computation.class_names or ()) * (1 if label_type(computation.head) == "int" else 3)
    total = about.predict + about.roots * roots + about.class_name * named
    return total + about.certain * has_certificate(computation)
