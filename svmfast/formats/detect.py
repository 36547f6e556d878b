"""Recognizes the kind of a file by its first bytes: a model, and in which format, or data."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from typing import Literal

from svmfast.formats.container import MAGIC
from svmfast.formats.libsvm_model import is_model_key
from svmfast.formats.packing import FOREIGN_MAGIC
from svmfast.formats.source import KILOBYTE, Source, SourceLike, open_source

FileKind = Literal["libsvm-model", "svmfast-model", "skops", "pickle", "data", "empty"]
#: The start of a pickle, which may be packed by zlib, lzma or lz4.
_PICKLE = re.compile(rb"\x80[\2-\5]|x[\x01\x5e\x9c\xda]|\x5d\0\0|\x04\x22\x4d\x18")


def file_kind(start: bytes) -> FileKind:
    """The kind of a file, given its start (decompressed): a kilobyte, or at least the first word."""
    if _PICKLE.match(start):
        return "pickle"
    words = start.removeprefix(b"\xef\xbb\xbf").split(None, 1)
    if not words:
        return "empty" if len(start) < KILOBYTE else "data"
    word = words[0].decode("utf-8", "replace")
    if word == MAGIC:
        return "svmfast-model"
    return "libsvm-model" if is_model_key(word) else "data"


def detect(source: SourceLike) -> FileKind:
    """The kind of a file, by its content."""
    if is_skops(source):
        return "skops"
    if isinstance(source, Source):
        return file_kind(source.first_words())
    with open_source(source) as opened:
        return file_kind(opened.first_words())


def is_skops(source: SourceLike) -> bool:
    """Whether a file is an estimator that skops wrote: a zip archive."""
    path = getattr(source, "path", source)
    if isinstance(path, str | os.PathLike) and os.path.isfile(path):
        with suppress(OSError), open(path, "rb") as file:
            return file.read(4) == FOREIGN_MAGIC["zip"]
    return False
