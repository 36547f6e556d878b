"""What a file is, by its content, and models of any kind from and to files."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, cast

from svmfast.errors import EmptyModelError, NotAModelError
from svmfast.formats._whole import read_up_to, read_whole
from svmfast.formats.container import MAGIC, container_bytes, parse_model
from svmfast.formats.libsvm_model import is_model_key, libsvm_model_bytes, parse_libsvm_model
from svmfast.formats.source import SourceLike, open_source
from svmfast.formats.target import write_atomic
from svmfast.models.base import Model, RecordModel
from svmfast.models.expansion import KernelExpansion

FileKind = Literal["libsvm-model", "svmfast-model", "data", "empty"]

_LOOK = 4096


@dataclass(frozen=True, eq=False)
class LoadedModel:
    """A model and what its file tells beside it.

    Attributes
    ----------
    model : Model
    path : str
        The file as named by the user.
    format : {"libsvm-model", "svmfast-model"}
    text : bytes
        The whole file, decompressed.
    n_bytes : int
        Size of the file as it is stored.
    provenance : dict of str to str
        Empty for LIBSVM models.
    warnings : tuple of str
        Whole messages.
    """

    model: Model
    path: str
    format: FileKind
    text: bytes = field(repr=False)
    n_bytes: int
    provenance: dict[str, str]
    warnings: tuple[str, ...]

    @cached_property
    def sha256(self) -> str:
        """Hex digest of the text."""
        import hashlib  # not worth its import where nobody asks

        return hashlib.sha256(self.text).hexdigest()


def file_kind(start: bytes) -> FileKind:
    """Say what a file is from its first bytes (decompressed; a few hundred are enough)."""
    words = start.removeprefix(b"\xef\xbb\xbf").split(None, 1)
    if not words:
        return "empty"
    word = words[0].decode("utf-8", "replace")
    if word == MAGIC:
        return "svmfast-model"
    return "libsvm-model" if is_model_key(word) else "data"


def detect(source: SourceLike) -> FileKind:
    """Say what a file is, by its content.

    Parameters
    ----------
    source : path, bytes or seekable binary file object
        A file object is left where it stood.
    """
    start = source.tell() if hasattr(source, "tell") and hasattr(source, "seek") else None
    with open_source(source) as opened:
        kind = file_kind(read_up_to(opened, _LOOK))
    if start is not None:
        source.seek(start)
    return kind


def open_model(source: SourceLike) -> LoadedModel:
    """Read a model of any kind and keep what its file tells beside it.

    Parameters
    ----------
    source : path, ``-``, bytes or binary file object
        Plain or compressed text.

    Raises
    ------
    ModelFormatError, FileAccessError, CompressedDataError
        One subclass for each way to fail, with line and token.
    """
    data, name, stored = read_whole(source)
    kind = file_kind(data[:_LOOK])
    if kind == "empty":
        raise EmptyModelError(name, None, "the file is empty", None, "expected a model")
    if kind == "data":
        token = data[:_LOOK].split(None, 1)[0].decode("utf-8", "backslashreplace")
        raise NotAModelError(name, 1, "not a model", token, f"expected 'svm_type' or '{MAGIC}' to begin with")
    provenance: dict[str, str] = {}
    model: Model
    if kind == "libsvm-model":
        model, warnings = parse_libsvm_model(data, name)
    else:
        model, container = parse_model(data, name)
        provenance, warnings = dict(container.record.provenance), container.warnings
    return LoadedModel(model, name, kind, data, stored, provenance, tuple(warnings))


def load_model(source: SourceLike) -> Model:
    """Read a model of any kind; see :func:`open_model`."""
    return open_model(source).model


def model_bytes(model: Model, provenance: dict[str, str] | None = None) -> bytes:
    """Return a model's file: LIBSVM's text for a :class:`KernelExpansion`, else ours.

    Parameters
    ----------
    model : Model
    provenance : dict, optional
        Written into our text over what the model itself tells; LIBSVM's has no place for it.
    """
    if isinstance(model, KernelExpansion):
        return libsvm_model_bytes(model)
    record = cast(RecordModel, model).to_record()
    if provenance:
        record = replace(record, provenance={**record.provenance, **provenance})
    return container_bytes(record)


def save_model(
    model: Model, path: str | os.PathLike[str], *, provenance: dict[str, str] | None = None
) -> int:
    """Write a model's file, whole or not at all; return its size in bytes.

    Parameters
    ----------
    model : Model
    path : str or path
        ``-`` is standard output. A name that ends in ``.gz``, ``.bz2``, ``.xz`` or ``.zst`` gets a packed
        file.
    provenance : dict, optional
        As in :func:`model_bytes`.

    Raises
    ------
    WriteError, UnsupportedError, ModelContentError
    """
    text = model_bytes(model, provenance)
    with write_atomic(path) as file:
        file.write(text)
    return file.stored
