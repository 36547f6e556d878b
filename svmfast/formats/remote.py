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

#: Maximum number of characters that are shown of a store's message.
_MOST = 200


def open_remote(uri: str) -> Any:
    """Open the file at a URI, as pyarrow's file that is read at any place."""
    with _reported(uri):
        store, place = _located(*_parts(uri))
        return store.open_input_file(place)


def files_at(uri: str) -> list[str]:
    """The URIs of the files in a folder, or of those that match a pattern, sorted, without hidden ones.

    That of a file is itself. There are none for a name without a file.
    """
    start, inside, query = _parts(uri)
    with _reported(uri):
        store, place = _located(start, inside, query)
        from pyarrow import fs

        kind, parts = store.get_file_info(place).type, inside.split("/")
        if kind == fs.FileType.File:
            return [uri]
        if kind == fs.FileType.Directory:
            parts.append("*")
        first = next((n for n, part in enumerate(parts) if glob.has_magic(part)), None)
        if first is None:
            return []
        base = _located(start, "/".join(parts[:first]), query)[1]
        below = len(parts) > first + 1 or parts[-1] == "**"
        chosen = fs.FileSelector(base, recursive=below, allow_not_found=True)
        found = [one.path for one in store.get_file_info(chosen) if one.type == fs.FileType.File]
    names = [path.removeprefix(base).strip("/").split("/") for path in found]
    names = [one for one in names if not any(part.startswith(".") for part in one)]
    return sorted(
        start + "/".join(parts[:first] + one) + query for one in names if _matches(one, parts[first:])
    )


def _matches(names: list[str], parts: list[str]) -> bool:
    """Whether the names of folders and of a file match the parts of a pattern; ``**`` is any folders."""
    if not parts or not names:
        return not parts and not names
    if parts[0] == "**" and (_matches(names, parts[1:]) or _matches(names[1:], parts)):
        return True
    return fnmatchcase(names[0], parts[0]) and _matches(names[1:], parts[1:])


def _parts(uri: str) -> tuple[str, str, str]:
    """``s3://bucket/``, the path below it, and the query with its question mark."""
    check_address(uri)
    start, inside, query = URI.findall(uri)[0]
    return f"{start}/", inside.strip("/"), query


def _located(start: str, inside: str, query: str) -> tuple[Any, str]:
    """A store, and a path in it; names are taken as they are, not percent-encoded."""
    store, base = _store(start + query)
    return store, f"{base.rstrip('/')}/{inside}" if base else inside


@lru_cache(maxsize=16)
def _store(uri: str) -> tuple[Any, str]:
    """The store itself and the path of its root; to find it may take seconds."""
    pyarrow("files at URIs are read")
    from pyarrow import fs

    found: tuple[Any, str] = fs.FileSystem.from_uri(uri)
    return found


@contextlib.contextmanager
def _reported(uri: str) -> Iterator[None]:
    """Turn a store's errors, of which pyarrow has several classes, into one line."""
    try:
        yield
    except SvmfastError:
        raise
    except Exception as error:
        number, text = getattr(error, "errno", None), str(error).partition("\n")[0]
        text = shown(text, _MOST) if number is None else os.strerror(number)
        raise FileAccessError(uri, None, f"cannot be read: {text}") from error
