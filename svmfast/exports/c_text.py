"""Pieces of C text: numbers, tables and how they are read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

_WIDTH = 110


def filled(template: str, prefix: str) -> str:
    """Return C text with the prefix in its place: ``$n`` as it is, ``$N`` in capitals."""
    return template.replace("$n", prefix).replace("$N", prefix.upper())


def quoted(text: str) -> str:
    """Return a text as a C string, in UTF-8, with all but plain characters as octal escapes."""
    plain = {byte for byte in range(32, 127) if byte not in b'"\\?$'}
    return '"' + "".join(chr(byte) if byte in plain else f"\\{byte:03o}" for byte in text.encode()) + '"'


def declared_first(lines: list[str]) -> list[str]:
    """Move a function's declarations before its statements, behind its first two lines."""
    declared, others = list[str](), list[str]()
    for line in lines[2:]:
        begins = line.startswith(("    const ", "    $n_real ", "    int "))
        (declared if begins else others).append(line)
    return [*lines[:2], *declared, *others]


@dataclass
class Tables:
    """The constant tables of a C file, and their bytes.

    Parameters
    ----------
    prefix : str
    dtype : float32 or float64
        Of the file's arithmetic.
    """

    prefix: str
    dtype: np.dtype[Any]
    texts: list[str] = field(default_factory=list)
    n_bytes: int = 0
    sizes: dict[str, int] = field(default_factory=dict)

    def real(self, value: float) -> str:
        """Return a constant: the shortest decimal that is this number in the file's precision."""
        number = self.dtype.type(value)
        if not np.isfinite(number):
            raise OverflowError(f"{value} has no place in {self.dtype}")
        if number != 0 and abs(number) < np.finfo(self.dtype).tiny:
            number = self.dtype.type(0)  # some machines flush denormals to 0
        text = str(number)
        if "e" not in text and "." not in text:
            text += ".0"
        return text + ("f" if self.dtype == np.float32 else "")

    def reals(self, name: str, values: NDArray[Any]) -> str:
        """Add a table of numbers; return what a pointer to its first one is called."""
        words = [self.real(value) for value in values.ravel().tolist()]
        return self._add(name, f"{self.prefix}_real", words, self.dtype.itemsize)

    def minus(self, name: str, values: NDArray[Any]) -> str:
        """Add a table of numbers with their signs reversed, for code that subtracts them.

        Adding gives the same bits, and a processor without floating point then needs no routine that
        subtracts: 800 bytes on Cortex-M0.
        """
        return self.reals(f"minus_{name}", 0.0 - values)

    def whole(self, name: str, values: NDArray[Any]) -> Whole:
        """Add a table of whole numbers of at least 0, of the smallest type that holds them."""
        most = int(values.max(initial=0))
        bits = 8 if most < 256 else 16 if most < 65536 else 32
        words = [str(int(value)) for value in values.ravel()]
        return Whole(self._add(name, f"uint{bits}_t", words, bits // 8), bits, self.prefix.upper())

    def signed(self, name: str, values: NDArray[Any], bits: int) -> None:
        """Add a table of ``int16_t`` or ``int32_t``, that is read as it is."""
        self._add(name, f"int{bits}_t", [str(int(value)) for value in values.ravel()], bits // 8)

    def _add(self, name: str, type_: str, words: list[str], size: int) -> str:
        full = f"{self.prefix}_{name}"
        lines, line = [], "   "
        for word in words:
            if len(line) + len(word) + 2 > _WIDTH:
                lines.append(line)
                line = "   "
            line += f" {word},"
        lines.append(line.rstrip(","))
        body = "\n".join(lines)
        self.texts.append(
            f"static const {type_} {full}[{len(words)}] {self.prefix.upper()}_TABLE = {{\n{body}\n}};\n"
        )
        self._count(name, size * len(words))
        return full

    def string(self, name: str, text: str) -> str:
        """Return a text as a C string, whose bytes count as part of a table of this name."""
        self._count(name, len(text.encode()) + 1)
        return quoted(text)

    def _count(self, name: str, size: int) -> None:
        self.n_bytes += size
        self.sizes[name] = self.sizes.get(name, 0) + size


@dataclass(frozen=True)
class Whole:
    """A table of whole numbers."""

    name: str
    bits: int
    macros: str

    def read(self, index: str) -> str:
        """Return the expression for one of its numbers, of the table's own type."""
        return f"{self.macros}_READ_{self.bits}({self.name} + {index})"

    def at(self, index: str) -> str:
        """Return the expression for one of its numbers, an int."""
        return f"(int){self.read(index)}"

    def wide(self, index: str) -> str:
        """Return the expression for one of its numbers, an offset into a large table."""
        return f"(size_t){self.read(index)}"
