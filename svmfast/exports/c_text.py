"""Pieces of C text: numbers, tables, and the expressions that read tables."""

from __future__ import annotations

import re
import string
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

_WIDTH = 110
#: The characters of a comment: no star, which could end it, no backslash or question mark (trigraphs), which
#: could join lines, no dollar, which :func:`filled` replaces.
_SAFE = frozenset(string.ascii_letters + string.digits + " .,:;()[]{}<>=+-_%#&'\"!|^~@/")
#: Text from models and file names may only become one of these, as a whole.
_TOKENS = {
    "comment": re.compile(rf"/\*(?:[{re.escape(''.join(sorted(_SAFE)))}]|\n \*(?=[ \n]))*\n \*/\n"),
    "string": re.compile(r'"(?:[^"\\?$\n]|\\[0-7]{3})*"', re.ASCII),
    "name": re.compile(r"\w+", re.ASCII),
}


def token(kind: str, text: str) -> str:
    """Return C text that is a single comment, string literal or part of a name; anything else is an error."""
    if not _TOKENS[kind].fullmatch(text) or not text.isascii():
        raise AssertionError(f"not a {kind} of C: {text!r}")
    return text


def commented(paragraphs: Iterable[str]) -> str:
    """Return paragraphs as a comment; other characters than those of plain English become ``_``."""
    lines: list[str] = []
    for text in paragraphs:
        safe = "".join(c if c in _SAFE else "_" for c in text)
        lines += textwrap.wrap(safe, 106, subsequent_indent="  ") or [""]
    return token("comment", "/*" + "\n".join(f" * {line}".rstrip() for line in lines)[2:] + "\n */\n")


def filled(template: str, prefix: str) -> str:
    """Return C text with ``$n`` replaced by the prefix and ``$N`` by the prefix in capitals."""
    return template.replace("$n", prefix).replace("$N", prefix.upper())


def quoted(text: str) -> str:
    """Return text as a C string literal in UTF-8, with octal escapes for all but plain characters."""
    plain = {byte for byte in range(32, 127) if byte not in b'"\\?$'}
    escaped = "".join(chr(byte) if byte in plain else f"\\{byte:03o}" for byte in text.encode())
    return token("string", f'"{escaped}"')


def declared_first(lines: list[str]) -> list[str]:
    """Move a function's declarations before its statements; its first two lines stay first."""
    declared, others = list[str](), list[str]()
    for line in lines[2:]:
        begins = line.startswith(("    const ", "    $n_real ", "    int "))
        (declared if begins else others).append(line)
    return [*lines[:2], *declared, *others]


@dataclass
class Tables:
    """The constant tables of a C file, and their sizes in bytes.

    Parameters
    ----------
    prefix : str
        The start of every name.
    dtype : float32 or float64
        The precision of the file's arithmetic.
    """

    prefix: str
    dtype: np.dtype[Any]
    texts: list[str] = field(default_factory=list)
    n_bytes: int = 0
    sizes: dict[str, int] = field(default_factory=dict)

    def real(self, value: float) -> str:
        """Return a constant: the shortest decimal that reads back as this number in the file's precision."""
        number = self.dtype.type(value)
        if not np.isfinite(number):
            raise OverflowError(f"{value} is out of the range of {self.dtype}")
        if number != 0 and abs(number) < np.finfo(self.dtype).tiny:
            number = self.dtype.type(0)  # some machines flush denormals to 0
        text = str(number)
        if "e" not in text and "." not in text:
            text += ".0"
        return text + ("f" if self.dtype == np.float32 else "")

    def reals(self, name: str, values: NDArray[Any]) -> str:
        """Add a table of numbers; return its name."""
        words = [self.real(value) for value in values.ravel().tolist()]
        return self._add(name, f"{self.prefix}_real", words, self.dtype.itemsize)

    def negated(self, name: str, values: NDArray[Any]) -> str:
        """Add a table of numbers with reversed signs; return its name.

        Adding -x gives the same bits as subtracting x, and a processor without a floating-point unit then
        needs no subtraction routine, which takes 800 bytes on a Cortex-M0.
        """
        return self.reals(f"minus_{name}", 0.0 - values)

    def integers(self, name: str, values: NDArray[Any]) -> IntegerTable:
        """Add a table of nonnegative integers, in the smallest type that holds them."""
        most = int(values.max(initial=0))
        bits = 8 if most < 256 else 16 if most < 65536 else 32
        words = [str(int(value)) for value in values.ravel()]
        return IntegerTable(self._add(name, f"uint{bits}_t", words, bits // 8), bits, self.prefix.upper())

    def signed(self, name: str, values: NDArray[Any], bits: int) -> None:
        """Add a table of ``int16_t`` or ``int32_t``, which is read without a macro."""
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
        """Return text as a C string literal; its bytes are counted under the table name `name`."""
        self._count(name, len(text.encode()) + 1)
        return quoted(text)

    def _count(self, name: str, size: int) -> None:
        self.n_bytes += size
        self.sizes[name] = self.sizes.get(name, 0) + size


@dataclass(frozen=True)
class IntegerTable:
    """A table of nonnegative integers."""

    name: str
    bits: int
    macros: str

    def read(self, index: str) -> str:
        """Return the expression for an element, in the table's own type."""
        return f"{self.macros}_READ_{self.bits}({self.name} + {index})"

    def as_int(self, index: str) -> str:
        """Return the expression for an element, as an int."""
        return f"(int){self.read(index)}"

    def as_offset(self, index: str) -> str:
        """Return the expression for an element, as an offset into a large table (``size_t``)."""
        return f"(size_t){self.read(index)}"
