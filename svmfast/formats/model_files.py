"""Opens and saves the files of models of any kind, each in the format that its kind has."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field

from svmfast.caches import Cacheless, cached
from svmfast.errors import ModelFormatError, UnsupportedError, WrongTypeError
from svmfast.formats.container import MAGIC, container_bytes, hash_of, parse_model
from svmfast.formats.detect import FileKind, file_kind, is_skops
from svmfast.formats.libsvm_model import libsvm_model_pieces, parse_libsvm_model
from svmfast.formats.source import Source, SourceLike, open_source
from svmfast.formats.target import write_atomic
from svmfast.models.base import Model
from svmfast.models.memory import MEMORY, Allowance


@dataclass(frozen=True, eq=False)
class LoadedModel(Cacheless):
    """A model and the other content of its file.

    `text` is the whole file, decompressed; `n_bytes` its size as it is stored; `warnings` are complete
    messages.
    """

    model: Model
    path: str
    format: FileKind
    text: bytes = field(repr=False)
    n_bytes: int
    warnings: tuple[str, ...]

    @cached
    def sha256(self) -> str:
        """Hex digest of the text."""
        return hash_of([self.text]).removeprefix("sha256:")

    @cached
    def identity(self) -> str:
        """The identifier that a conversion of this model records as its source; see :func:`identity_of`."""
        return identity_of(self.model)


def identity_of(model: Model) -> str:
    """The hash of the text of a model, as ``sha256:...``.

    The text is that of a newly written file, so the hash depends neither on the file that the model came from
    (compressed, embedded in another model, ...), nor on how its numbers were printed or its keys ordered.
    """
    return hash_of(_model_pieces(model))


def open_model(source: SourceLike, *, memory: int = MEMORY) -> LoadedModel:
    """Read a model of any kind, plain or compressed, and the other content of its file.

    The file may be an estimator that skops wrote: the model is what ``svmfast import`` makes of it.
    If the first word is not that of a model, nothing more is read. `memory` is the maximum number of bytes
    that the model may take: its text while it is read, its arrays, and the working memory of a prediction;
    more is refused before it is allocated. A ModelFormatError has line and token.
    """
    if is_skops(source):
        from svmfast.importers.files import model_of_file

        path = str(getattr(source, "path", source))
        made, remarks = model_of_file(path, memory=memory)
        Allowance(memory, path).check(made.working_bytes)
        return LoadedModel(made, path, "skops", model_bytes(made), os.path.getsize(path), remarks)
    with open_source(source) as opened:
        name, kind = opened.name, _kind_of_model(opened)
        allowance = Allowance(memory, name)
        data = opened.read_whole(allowance)
        stored = opened.consumed
    model: Model
    if kind == "libsvm-model":
        model, warnings = parse_libsvm_model(data, name, allowance)
    else:
        model, warnings = parse_model(data, name, allowance)
    allowance.check(model.working_bytes)
    return LoadedModel(model, name, kind, data, stored, tuple(warnings))


def _kind_of_model(opened: Source) -> FileKind:
    start = opened.first_words()
    kind = file_kind(start)
    if kind == "empty":
        raise ModelFormatError(opened.name, None, "the file is empty", None, "expected a model")
    if kind == "pickle":
        instead = "convert one of your own by svmfast import with `trust_pickle`"
        raise UnsupportedError(f"{opened.name}: a pickle, which can run any code when it is loaded", instead)
    if kind == "data":
        words = start.split(None, 1)
        token = words[0].decode("utf-8", "backslashreplace") if words else None
        expected = f"expected it to begin with 'svm_type' or '{MAGIC}'"
        raise ModelFormatError(opened.name, 1, "not a model", token, expected)
    return kind


def load_model(source: SourceLike, *, memory: int = MEMORY) -> Model:
    """Read a model of any kind; see :func:`open_model`."""
    return open_model(source, memory=memory).model


def model_bytes(model: Model) -> bytes:
    """The text of a model's file: LIBSVM's format for a :class:`KernelExpansion`, else svmfast's."""
    return b"".join(_model_pieces(model))


def _model_pieces(model: Model) -> Iterable[bytes]:
    if hasattr(model, "get_params"):
        from svmfast.importers.estimators import model_of

        model = model_of(model)
    if not isinstance(model, Model):
        raise WrongTypeError("the model", model, "a model")
    return [container_bytes(model)] if model.expansion is None else libsvm_model_pieces(model.expansion)


def save_model(model: Model, path: str | os.PathLike[str]) -> int:
    """Write a model's file atomically; return its size in bytes.

    Parameters
    ----------
    model : Model or fitted estimator
    path : str or path
        ``-`` is standard output. A file whose name ends in ``.gz``, ``.bz2``, ``.xz`` or ``.zst`` is
        compressed.

    Raises
    ------
    WriteError, UnsupportedError, ModelContentError
    """
    text = model_bytes(model)
    with write_atomic(path) as file:
        file.write(text)
    return file.stored
