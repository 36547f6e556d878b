"""Names that stand for files: of folders, patterns and lists."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable

from svmfast.errors import FileAccessError, OptionError
from svmfast.formats.detect import detect
from svmfast.formats.source import open_source
from svmfast.models.memory import MEMORY, Allowance
from svmfast.values import is_uri

#: Bytes of a name in a list, besides its text: as bytes and as a string.
_NAME_BYTES = 128
#: A compressed list of this size may unpack to any multiple of its size.
_UNPACKED_BYTES = 1 << 20


def files_of(path: str) -> list[str]:
    """The files that a path stands for, sorted; none if it is the name of one, or of nothing."""
    if is_uri(path):
        from svmfast.formats.remote import files_at

        return files_at(path)
    inside = os.path.join(glob.escape(path), "*") if os.path.isdir(path) else path
    return sorted(filter(os.path.isfile, glob.glob(inside, recursive=True))) if is_many(path) else []


def is_many(path: str) -> bool:
    """Whether a path of this machine stands for many files: a folder, or a pattern that is no file's name."""
    if is_uri(path):
        return False
    return os.path.isdir(path) or (glob.has_magic(path) and not os.path.lexists(path))


def no_files(path: str) -> FileAccessError:
    """The error of a folder or a pattern without files."""
    what = "the folder has no files" if os.path.isdir(path) else "no file has such a name"
    return FileAccessError(path, None, what)


def all_files(paths: Iterable[str | os.PathLike[str]]) -> list[str]:
    """All files that paths stand for; FileAccessError: a folder or a pattern has none."""
    found = []
    for path in (os.fspath(one) for one in paths):
        files = files_of(path)
        if not files and is_many(path):
            raise no_files(path)
        found += files or [path]
    return found


def refuse_to_replace_data(path: str) -> None:
    """Refuse a MODEL that is named by no flag where data are that may be meant as DATA."""
    is_data = os.path.isfile(path) and os.access(path, os.R_OK) and detect(path) == "data"
    if is_data or (is_many(path) and files_of(path)):
        raise OptionError(
            f"MODEL would replace '{path}', which is no model; several DATA need a name for the model, "
            "`output`"
        )


def listed(source: str | os.PathLike[str], *, memory: int = MEMORY) -> list[str]:
    """The names in a list: one per line or, if it contains a NUL byte, each terminated by one.

    `memory` limits the bytes of the names.
    """
    with open_source(source) as opened:
        allowance = Allowance(memory, opened.name, "list")
        text = opened.read_whole(allowance, _UNPACKED_BYTES)
        needed = _NAME_BYTES * sum(map(text.count, (b"\n", b"\r", b"\0")))
        opened.check_unpacked(len(text) + needed, 64 * _UNPACKED_BYTES)
        allowance.check(len(text) + needed)
    names = text.split(b"\0") if b"\0" in text else text.splitlines()
    return [os.fsdecode(name) for name in names if name]
