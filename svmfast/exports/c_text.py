"""Pieces of C text: numbers, tables, and templates that are filled."""

from __future__ import annotations

import re
import string
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from svmfast.exports.computation import starts_of, stored

#: The words of a template: pieces of C text, or facts that decide which lines stay.
Words = dict[str, Any]

#: As many words as fit in a line of 110 characters.
_LINE = re.compile("(.{1,106})(?: |$)")
#: The characters of a comment: no star, which could end it, no backslash or question mark (trigraphs), which
#: could join lines, no dollar, which stands for the prefix.
_SAFE = frozenset(string.ascii_letters + string.digits + " .,:;()[]{}<>=+-_%#&'\"!|^~@/")


def commented(paragraphs: Iterable[str]) -> str:
    """Write paragraphs as a comment; other characters than those of plain English become ``_``."""
    lines: list[str] = []
    for text in paragraphs:
        safe = "".join(c if c in _SAFE else "_" for c in text)
        lines += textwrap.wrap(safe, 106, subsequent_indent="  ") or [""]
    return "/*" + "\n".join(f" * {line}".rstrip() for line in lines)[2:] + "\n */\n"


@dataclass
class Tables:
    """The constant tables of a C file in the precision `dtype`, and their size in bytes."""

    #: The start of every name.
    prefix: str
    dtype: np.dtype[Any]
    texts: list[str] = field(default_factory=list)
    n_bytes: int = 0

    def real(self, value: float) -> str:
        """Write a constant as the shortest decimal that reads back as this number in the file's precision."""
        return self._numbers(np.array([value]))[0]

    def floats(self, name: str, values: NDArray[Any]) -> str:
        """Add a table of single precision to a file of integers."""
        words = [text + "f" for text in stored(values, np.dtype(np.float32)).astype(str).tolist()]
        return self.add(name, "float", words, 4)

    def _numbers(self, values: NDArray[Any]) -> list[str]:
        if self.dtype.kind != "f":
            return [str(int(value)) for value in values.ravel().tolist()]
        found = stored(values.ravel(), self.dtype)
        # Some machines flush denormals to 0.
        found[(found != 0) & (np.abs(found) < np.finfo(self.dtype).tiny)] = 0
        suffix = "f" if self.dtype == np.float32 else ""
        return [text + suffix for text in found.astype(str).tolist()]

    def reals(self, name: str, values: NDArray[Any]) -> str:
        """Add a table of numbers; return its name."""
        return self.add(name, f"{self.prefix}_real", self._numbers(values), self.dtype.itemsize)

    def negated(self, name: str, values: NDArray[Any]) -> str:
        """Add a table of numbers with reversed signs; return its name.

        Adding -x gives the bits of subtracting x, whose routine takes 800 bytes on a Cortex-M0.
        """
        return self.reals(f"minus_{name}", 0.0 - values)

    def integers(self, name: str, values: NDArray[Any]) -> IntegerTable:
        """Add a table of nonnegative integers, in the smallest type that holds them."""
        kind = np.min_scalar_type(int(values.max(initial=0)))
        return self.whole(name, values, kind)._replace(type="int")

    def whole(self, name: str, values: NDArray[Any], kind: Any) -> IntegerTable:
        """Add a table of integers of a type of NumPy."""
        type_, size = f"{np.dtype(kind).name}_t", np.dtype(kind).itemsize
        words = [str(int(value)) for value in values.ravel().tolist()]
        return IntegerTable(self.add(name, type_, words, size), 8 * size, type_)

    def per_cell(self, name: str, values: NDArray[Any], cells: int) -> str:
        """The element of `cell` in a new table, or the number itself if there is a single cell."""
        if cells == 1:
            return str(int(values[0]))
        return self.integers(name, values).at("cell")

    def starts(self, name: str, sizes: NDArray[Any], cells: int) -> str:
        """What leads from a table to the part of `cell`, `` + offset``, where parts have `sizes`."""
        if cells == 1:
            return ""
        return f" + {self.integers(name, starts_of(sizes)).at('cell', 'size_t')}"

    def add(self, name: str, type_: str, words: list[str], size: int) -> str:
        """Add a table of elements of `size` bytes; one of size 0 is not read from flash, nor counted."""
        full = f"{self.prefix}_{name}"
        body = "\n    ".join(_LINE.findall(", ".join(words) + ",")).removesuffix(",")
        place = " $N_TABLE" if size else ""
        self.texts.append(f"static const {type_} {full}[{len(words)}]{place} = {{\n    {body}\n}};\n")
        self.n_bytes += size * len(words)
        return full

    def string(self, text: str) -> str:
        """Write text as a string literal in UTF-8, with octal escapes; its bytes count as a table's."""
        self.n_bytes += len(text.encode()) + 1
        plain = {byte for byte in range(32, 127) if byte not in b'"\\?$'}
        escaped = "".join(chr(byte) if byte in plain else f"\\{byte:03o}" for byte in text.encode())
        return f'"{escaped}"'

    def fill(self, template: str, words: Mapping[str, Any]) -> str:
        """Fill a template: ``@word@`` becomes the word's value, ``@0.5@`` the number in the file's precision.

        A line that begins with ``?word:`` is kept if the word is true, one with ``?!word:`` if it is not;
        there may be several words, of which all must hold.
        """
        kept = []
        for line in template.splitlines(keepends=True):
            marks: list[str] = []
            if line.startswith("?"):
                condition, line = line[1:].split(":", 1)
                marks = condition.split()
            if all(bool(words[one.lstrip("!")]) != (one[0] == "!") for one in marks):
                kept.append(line)

        def value(match: re.Match[str]) -> str:
            name = match[1]
            if name[0].isdigit() or name[0] == "-":
                return self.real(float(name))
            return str(words[name])

        return re.sub(r"@([\w.-]+)@", value, "".join(kept))


class Sizes(Tables):
    """Tables of which only the size matters: all numbers have the same text."""

    def _numbers(self, values: NDArray[Any]) -> list[str]:
        stored(values.ravel(), self.dtype)  # refuses what the precision does not hold
        return ["0"] * values.size


class IntegerTable(NamedTuple):
    """A table of integers, which are read as a type of C."""

    name: str
    bits: int
    type: str

    def at(self, index: str, cast: str = "") -> str:
        """The expression of an element."""
        return f"({cast or self.type})$N_READ_{self.bits}({self.name} + {index})"
