"""svmfast's own model files, for the kinds of models that LIBSVM's format cannot hold: docs/model-format.md.

A file is a line with the size and the hash of what follows, a line of JSON, and the numbers of its arrays.
The fields of a kind's class, with their types, are the schema of its files.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields
from functools import cache
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from svmfast.errors import ModelContentError, ModelFormatError, OptionError, UnsupportedError
from svmfast.foreign import foreign
from svmfast.formats.libsvm_model import libsvm_model_bytes, parse_libsvm_model
from svmfast.models.base import KINDS, PROVENANCE, Model, model_class
from svmfast.models.expansion import KernelExpansion
from svmfast.models.memory import MEMORY, Allowance
from svmfast.models.sizes import expect

MAGIC = "svmfast-model"
MAJOR, MINOR = 1, 0

_VERSION = re.compile(rb"svmfast-model (\d{1,6})\.(\d{1,6})(?: (.*))?")
_SIZE_AND_HASH = re.compile(rb"(\d{1,18}) (sha256:[0-9a-f]{64})")
#: Memory of a byte of JSON as Python's objects.
_JSON_BYTES = 32
#: The types of values in JSON.
_JSON_TYPES: dict[Any, str] = {int: "a whole number", str: "a string", bool: "true or false"}
_JSON_TYPES |= {list: "a list", dict: "an object"}
#: Errors about a model's parts; in a file they are errors of the file.
_OF_PARTS = (ModelContentError, ModelFormatError, OptionError, UnsupportedError)


def hash_of(pieces: Iterable[bytes | memoryview]) -> str:
    """The SHA-256 of a text, which may come in pieces, as ``sha256:...``."""
    import hashlib  # imported on use, to save start-up time

    found = hashlib.sha256()
    for piece in pieces:
        found.update(piece)
    return f"sha256:{found.hexdigest()}"


def container_bytes(model: Model) -> bytes:
    """The file that holds `model`; a ModelContentError if a part of it cannot be stored."""
    parts: list[bytes] = []
    import json  # here, as prediction by LIBSVM's models starts sooner without it

    header = json.dumps(_described("model", Model, model, parts), separators=(",", ":"))
    content = b"".join([header.encode(), b"\n", *parts])
    return f"{MAGIC} {MAJOR}.{MINOR} {len(content)} {hash_of([content])}\n".encode() + content


@cache
def _stored(kind: Any) -> dict[str, Any]:
    """The names and types of a class's fields that files store; the others follow from the model."""
    hints = get_type_hints(kind)
    kinds = {one.name: hints[one.name] for one in fields(kind) if one.compare}
    # Of ``X | None`` the X.
    return {name: get_args(one)[0] if NoneType in get_args(one) else one for name, one in kinds.items()}


def _of_dtype(kind: Any, dtype: Any) -> Any:
    """The kind of array with these numbers, of those that a field may have."""
    arrays = [one for one in get_args(kind) if _dtype(one)]
    return next((one for one in arrays if f"{_dtype(one)}" == f"{dtype}"), arrays[-1] if arrays else kind)


def _element_types(kind: Any, count: int) -> tuple[Any, ...]:
    types = get_args(kind)
    return types[:1] * count if types[-1] is Ellipsis else types


def _described(name: str, kind: Any, value: Any, parts: list[bytes]) -> Any:
    """A value as JSON; the numbers of arrays are added to `parts`."""
    if numbers := _dtype(_of_dtype(kind, getattr(value, "dtype", None))):
        expect(name, value.dtype == numbers, f"an array of {value.dtype}", f"{numbers}")
        expect(name, bool(np.isfinite(value).all()), "nan or inf among the numbers", "finite numbers")
        parts.append(value.astype(value.dtype.newbyteorder("<"), order="C", copy=False).tobytes())
        return {"dtype": value.dtype.name, "shape": list(value.shape)}
    if get_origin(kind) is Mapping:
        return _origin(value)
    if get_origin(kind) is tuple:
        types = _element_types(kind, len(value))
        return [_described(name, one, part, parts) for one, part in zip(types, value, strict=True)]
    if kind in (int, str, bool, float):
        expect(name, kind is not float or math.isfinite(value), "not storable", "a finite number", f"{value}")
        return kind(value)
    if isinstance(value, KernelExpansion):
        parts.append(libsvm_model_bytes(value))
        return {"kind": value.kind, "bytes": len(parts[-1])}
    found: dict[str, Any] = {"kind": value.kind} if isinstance(value, Model) else {}
    for part_name, its_kind in _stored(value.__class__).items():
        part = getattr(value, part_name)
        if part is not None and part is not False and not (isinstance(part, Mapping) and not part):
            found[part_name] = _described(part_name, its_kind, part, parts)
    return found


def _dtype(kind: Any) -> np.dtype[Any] | None:
    """The type of an array's numbers; None if `kind` is no array."""
    if get_origin(kind) not in (np.ndarray, NDArray):  # the latter is an alias before NumPy 2.5
        return None
    numbers = get_args(kind)[-1]
    found: np.dtype[Any] = np.dtype(get_args(numbers)[0] if get_origin(numbers) is np.dtype else numbers)
    return found


def _origin(given: Mapping[str, str]) -> dict[str, str]:
    """The origin of a model, checked and in the order of :data:`PROVENANCE`."""
    for name, text in given.items():
        expect("provenance", name in PROVENANCE, "unknown name", " ".join(PROVENANCE), name)
        holds = isinstance(text, str) and text.isprintable()
        expect(name, holds, "not storable", "one line of printable text", text)
    return {name: given[name] for name in PROVENANCE if name in given}


def parse_model(data: bytes, path: str, allowance: Allowance | None = None) -> tuple[Model, list[str]]:
    """Read a file, given whole and decompressed; return its model, and warnings.

    Messages call it `path`. The arrays are counted in `allowance`, in which `data` is already. Faults are
    ModelFormatErrors.
    """
    start = data.find(b"\n") + 1 or len(data)
    warnings = _check_whole(data[:start].rstrip(b"\n"), memoryview(data)[start:], path)
    allowance = allowance or Allowance(MEMORY, path)
    with foreign(
        path, "not a valid model", "expected it as svmfast writes it", ModelFormatError, also=_OF_PARTS
    ):
        return _Reader(data, start, path, allowance).model(), warnings


def _check_whole(first: bytes, content: memoryview, path: str) -> list[str]:
    """Refuse a file that is not what its first line says; return warnings."""

    def fault(line: int | None, what: str, expected: str, token: bytes | None = None) -> ModelFormatError:
        text = None if token is None else token.decode("utf-8", "backslashreplace")
        return ModelFormatError(path, line, what, text, f"expected {expected}")

    version = _VERSION.fullmatch(first)
    if version is None:
        raise fault(1, "not the first line of an svmfast model", f"'{MAGIC} {MAJOR}.{MINOR}'", first)
    major, minor = int(version[1]), int(version[2])
    if major != MAJOR:
        what = f"format version {major}.{minor}; this svmfast reads version {MAJOR}.x"
        raise fault(1, what, "a newer svmfast" if major > MAJOR else "a model converted again")
    found = _SIZE_AND_HASH.fullmatch(version[3] or b"")
    if found is None:
        raise fault(1, "no size and hash of the content", "'BYTES sha256:...'", version[3] or b"")
    size = int(found[1])
    if len(content) != size:
        ends = len(content) < size
        what = (
            f"the file ends after {len(content):,} bytes"
            if ends
            else f"text after the {size:,} bytes of the model"
        )
        raise fault(None, what, f"{size:,} after the first line" if ends else "the end of the file")
    if hash_of([content]).encode() != found[2]:
        raise fault(
            None, "the file was changed after svmfast wrote it: its hash differs", "the model made again"
        )
    if minor <= MINOR:
        return []
    what = f"{major}.{minor} is newer than {MAJOR}.{MINOR}, which this svmfast supports"
    return [f"{path}:1: format version {what}"]


class _Reader:
    """Reads the content of a file: JSON, and behind it arrays and texts, in the order of the JSON."""

    def __init__(self, data: bytes, pos: int, path: str, allowance: Allowance) -> None:
        self.data, self.pos, self.path, self.allowance = data, pos, path, allowance
        self.hashes: dict[int, str] = {}

    def model(self) -> Model:
        end = self.data.find(b"\n", self.pos) + 1
        expect("model", end > 0, "no line of JSON", "one after the first line")
        header = bytes(self.take("model", end - self.pos, _JSON_BYTES))
        import json

        whole = lambda text: int(text) if len(text) < 20 else float(text)  # noqa: E731 (int() limits digits)
        tree = json.loads(header, object_pairs_hook=_every_name_once, parse_int=whole)
        found: Model = self.read("model", Model, tree)
        expect("model", self.pos == len(self.data), "bytes after the last array", "none")
        return found

    def take(self, name: str, size: int, memory: int = 1) -> memoryview:
        """The next bytes, which belong to the part `name`; each takes so much `memory`."""
        left = len(self.data) - self.pos
        expect(name, 0 <= size <= left, f"{size:,} bytes, but only {left:,} follow", "a smaller size")
        self.allowance.take(memory * size)
        self.pos += size
        return memoryview(self.data)[self.pos - size : self.pos]

    def read(self, name: str, kind: Any, tree: Any) -> Any:
        """The value that `tree` describes."""
        if kind is float:
            expect(name, type(tree) in (int, float) and math.isfinite(tree), "not a finite number", "one")
            return float(tree)
        wanted = list if get_origin(kind) is tuple else kind if kind in _JSON_TYPES else dict
        expect(name, type(tree) is wanted, "of another type", _JSON_TYPES[wanted], tree)
        if wanted is list:
            types = _element_types(kind, len(tree))
            expect(name, len(types) == len(tree), f"{len(tree)} elements", f"{len(types)}")
            return tuple(self.read(name, one, part) for one, part in zip(types, tree, strict=True))
        if wanted is not dict:
            return tree
        if numbers := _dtype(_of_dtype(kind, tree.get("dtype"))):
            _check_parts(name, tree, ("dtype", "shape"))
            return self._array(name, numbers, **tree)
        return _origin(tree) if get_origin(kind) is Mapping else self._object(name, kind, dict(tree))

    def _array(self, name: str, wanted: np.dtype[Any], dtype: Any, shape: list[int]) -> np.ndarray[Any, Any]:
        expect(name, dtype == wanted.name, "an array of another type", wanted.name, dtype)
        sizes = shape if type(shape) is list and len(shape) <= 3 else [None]
        whole = all(type(one) is int and 0 <= one < 2**31 for one in sizes)
        expect(name, whole, "not a shape", "whole numbers", shape)
        stored = self.take(name, math.prod(shape) * wanted.itemsize)
        numbers = np.frombuffer(stored, wanted.newbyteorder("<")).reshape(shape).astype(wanted)
        expect(name, bool(np.isfinite(numbers).all()), "nan or inf among the numbers", "finite numbers")
        return numbers

    def _object(self, name: str, kind: Any, tree: dict[str, Any]) -> Any:
        if issubclass(kind, Model):
            _check_parts(name, tree, ("kind",), tree)
            word = tree.pop("kind")
            known = [KernelExpansion.kind, *KINDS]
            expect(name, word in known, "unknown kind of model", " or ".join(known), word)
            base, kind = kind, KernelExpansion if word == known[0] else model_class(word)
            expect(name, issubclass(kind, base), f"a model of kind {word}", getattr(base, "kind", "another"))
            if kind is KernelExpansion:
                _check_parts(name, tree, ("bytes",))
                return self._expansion(name, tree["bytes"])
        kinds = _stored(kind)
        needed = (one.name for one in fields(kind) if one.default is MISSING is one.default_factory)
        _check_parts(name, tree, [one for one in needed if one in kinds], kinds)
        made = kind(**{one: self.read(one, kinds[one], part) for one, part in tree.items()})
        if isinstance(made, Model):
            exact, source = made.embedded_exact, made.provenance.get("source")
            what = "the exact model inside is not the one that 'source' names: their hashes differ"
            holds = None in (exact, source) or self.hashes[id(exact)] == source
            expect("source", holds, what, "the model that was converted")
        return made

    def _expansion(self, name: str, size: Any) -> KernelExpansion:
        text = self.take(name, self.read(name, int, size)).tobytes()
        model, _ = parse_libsvm_model(text, self.path, self.allowance)
        self.hashes[id(model)] = hash_of([text])
        return model


def _check_parts(
    name: str, tree: Mapping[str, Any], needed: Iterable[str], known: Iterable[str] = ()
) -> None:
    """Check the names in an object: all that are needed, and others only if they are known."""
    missing = next((one for one in needed if one not in tree), None)
    expect(name, missing is None, "a part is missing", f"'{missing}'")
    unknown = next((one for one in tree if one not in (*needed, *known)), None)
    expect(name, unknown is None, "an unknown part", "none", unknown)


def _every_name_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    expect("model", len(found) == len(pairs), "a name twice", "every name once")
    return found
