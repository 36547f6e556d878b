"""Lists of names in a file, one per line."""

from __future__ import annotations

import os

from svmfast.display import fault_of_name
from svmfast.errors import DataFormatError
from svmfast.formats.source import open_source
from svmfast.models.memory import Allowance

#: Limit on the bytes of a file of names.
_MOST_BYTES = 1 << 26


def read_names(source: str | os.PathLike[str], *, distinct: bool = False) -> tuple[str, ...]:
    """The names in a file, stripped of surrounding blanks; they may have to be `distinct`."""
    path = os.fspath(source)
    with open_source(path) as opened:
        text = opened.read_whole(Allowance(_MOST_BYTES, path))
    try:
        lines = text.decode("utf-8-sig").removesuffix("\n").split("\n")
    except UnicodeDecodeError as error:
        raise DataFormatError(path, None, "not UTF-8 text", None, "expected one name per line") from error
    if lines == [""]:
        raise DataFormatError(path, None, "there are no names", None, "expected one name per line")
    names = tuple(line.strip(" \t\r") for line in lines)
    for number, name in enumerate(names, 1):
        fault = fault_of_name(name) if name else "no name"
        if fault is not None:
            raise DataFormatError(path, number, fault, name or None, "expected the name of a feature")
    first: dict[str, int] = {}
    for number, name in enumerate(names if distinct else (), 1):
        if first.setdefault(name, number) != number:
            what = f"repeats the name in line {first[name]}"
            raise DataFormatError(path, number, what, name, "expected distinct names")
    return names
