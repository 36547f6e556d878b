"""Files at URIs such as ``s3://bucket/rows.csv``, read and listed by pyarrow: the only use of a network."""

from __future__ import annotations

import contextlib
import glob
import os
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any

from svmfast.display import shown
from svmfast.errors import FileAccessError, SvmfastError
from svmfast.formats._arrow import pyarrow
from svmfast.values import URI, check_address


def open_remote(uri: str) -> Any:
    """Open the file at a URI, as pyarrow's file that is read at any place."""
    with _located(uri) as (store, place):
        return store.open_input_file(place)


def files_at(uri: str) -> list[str]:
    """The URIs of the files in a folder, or of those that match a pattern, sorted, without hidden ones.

    That of a file is itself. There are none for a name without a file.
    """
    start, inside, query = URI.findall(uri)[0]
    with _located(uri) as (store, place):
        from pyarrow import fs

        kind = store.get_file_info(place).type
        if kind == fs.FileType.File:
            return [uri]
        parts = place.split("/")
        first = next((n for n, part in enumerate(parts) if glob.has_magic(part)), len(parts))
        base, parts = "/".join(parts[:first]), parts[first:]
        if kind == fs.FileType.Directory:
            base, parts = place, ["*"]
        below = len(parts) > 1 or parts == ["**"]
        chosen = fs.FileSelector(base or "/", recursive=below, allow_not_found=True)
        found = store.get_file_info(chosen) if parts else []
    root = place.removesuffix(inside.strip("/"))
    files = [one.path for one in found if one.type == fs.FileType.File]
    files = [one for one in files if _matches(one.removeprefix(base).strip("/").split("/"), parts)]
    return sorted(f"{start}/{one.removeprefix(root).lstrip('/')}{query}" for one in files)


def _matches(names: list[str], parts: list[str]) -> bool:
    """Whether the names of folders and of a file match the parts of a pattern; ``**`` is any folders."""
    if not parts or not names:
        return not parts and not names
    if parts[0] == "**" and (_matches(names, parts[1:]) or _matches(names[1:], parts)):
        return not names[0].startswith(".")
    return fnmatchcase(names[0], parts[0]) and names[0][0] != "." and _matches(names[1:], parts[1:])


@lru_cache(maxsize=16)
def _store(uri: str) -> Any:
    """The store and the path of its root; to find it may take seconds."""
    pyarrow("files at URIs are read")
    from pyarrow import fs

    return fs.FileSystem.from_uri(uri)


@contextlib.contextmanager
def _located(uri: str) -> Iterator[tuple[Any, str]]:
    """Yield a store and a path in it; turn its errors, of which pyarrow has several classes, into one line.

    Names are taken as they are, not percent-encoded.
    """
    check_address(uri)
    start, inside, query = URI.findall(uri)[0]
    try:
        store, root = _store(f"{start}/{query}")
        yield store, f"{root.rstrip('/')}/{inside.strip('/')}" if root else inside.strip("/")
    except SvmfastError:
        raise
    except Exception as error:
        number, text = getattr(error, "errno", None), str(error).partition("\n")[0]
        text = shown(text, 200) if number is None else os.strerror(number)
        raise FileAccessError(uri, None, f"cannot be read: {text}") from error
