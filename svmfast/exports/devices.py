"""Microcontrollers, and the size of the code of an exported C file on each of them, without its tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from svmfast.exports.computation import Computation


@dataclass(frozen=True)
class Device:
    """Upper bounds on the bytes of code that gcc -Os generates, including its routines for floating point.

    Attributes
    ----------
    summary : str
    predict : int
        The code of NAME_predict.
    roots : int
        Additional code if NAME_predict uses square roots or hyperbolic tangents.
    certain : int
        Additional code for NAME_certain.
    class_name : int
        Additional code for each class that NAME_class_name names; three times as much for labels beyond 16
        bits.
    """

    summary: str
    predict: int
    roots: int
    certain: int
    class_name: int = 18


#: tests/scripts/test_embedded.py checks these by compiling files of every form.
DEVICES = {
    "cortex-m4": Device("Cortex-M4 with a single-precision unit", 800, 0, 700),
    "cortex-m0": Device("Cortex-M0, without a floating-point unit", 3700, 1000, 1500),
    "avr": Device("AVR, such as ATmega1284P", 2700, 200, 2800),
}


def code_bytes(computation: Computation, device: str) -> int:
    """Return an upper bound on the bytes of a computation's code on a device, in single precision."""
    from svmfast.exports import c_arithmetic
    from svmfast.exports.certain import has_certificate
    from svmfast.exports.computation import KernelSums

    about, values = DEVICES[device], computation.values
    total = about.predict
    if isinstance(values, KernelSums):
        pseudo = values.pseudo
        if values.kernel == "sigmoid" or (pseudo is not None and pseudo.kind == "triangle"):
            total += about.roots
    if computation.class_names is not None:
        wide = c_arithmetic.label_type(computation.head) != "int"
        total += about.class_name * len(computation.class_names) * (3 if wide else 1)
    return total + (about.certain if has_certificate(computation) else 0)
