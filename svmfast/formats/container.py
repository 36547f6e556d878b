"""svmfast's own model text, for the kinds of models that LIBSVM's format cannot hold: docs/model-format.md.

A file declares its content and contains nothing else; equal content gives identical bytes.
"""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np

from svmfast import errors
from svmfast._core import format_float64, format_int32, format_int64
from svmfast.formats._container_reader import (
    MAGIC,
    MAJOR,
    MINOR,
    Container,
    content_checksum,
    parse_container,
    parse_model,
)
from svmfast.formats.libsvm_model import libsvm_model_bytes
from svmfast.models.base import (
    PROVENANCE,
    Array,
    ArrayField,
    Model,
    Record,
    RecordModel,
    Scalar,
    ScalarField,
    model_class,
)
from svmfast.models.expansion import KernelExpansion

__all__ = ["MAGIC", "Container", "container_bytes", "parse_container", "parse_model"]

_FORMATTERS: dict[str, Any] = {"float64": format_float64, "int64": format_int64, "int32": format_int32}
_INT64 = range(-(2**63), 2**63)
_VECTOR_LINE = 8


def container_bytes(record: Record) -> bytes:
    """Return the text of the file that holds `record`.

    Raises
    ------
    ModelContentError
        The record does not fit the schema of its kind, or holds nan or inf.
    """
    schema = model_class(record.kind).schema
    lines = [f"{MAGIC} {MAJOR}.{MINOR}", f"kind {record.kind}"]
    _only("provenance", record.provenance, PROVENANCE)
    lines += [f"{key} {_text(key, record.provenance[key])}" for key in PROVENANCE if key in record.provenance]
    _only("scalars", record.scalars, [f.name for f in schema.scalars])
    for scalar in schema.scalars:
        if _given(scalar.name, scalar.optional, record.scalars):
            lines.append(f"{scalar.name} {_scalar_text(scalar, record.scalars[scalar.name])}")
    parts = ["\n".join([*lines, ""]).encode()]
    _only("arrays", record.arrays, [f.name for f in schema.arrays])
    for declared in schema.arrays:
        if _given(declared.name, declared.optional, record.arrays):
            parts += _array_text(declared, record.arrays[declared.name])
    _only("embedded", record.embedded, schema.embedded)
    inside = {n: _embedded_text(record.embedded[n]) for n in schema.embedded if n in record.embedded}
    for name, text in inside.items():
        parts += [f"embedded {name} bytes {len(text)}\n".encode(), text]
    return b"".join([*parts, f"checksum {content_checksum(record, inside)}\nend\n".encode()])


def _embedded_text(model: Model) -> bytes:
    if isinstance(model, KernelExpansion):
        return libsvm_model_bytes(model)
    return container_bytes(cast(RecordModel, model).to_record())


def _only(what: str, given: Any, known: Any) -> None:
    for name in given:
        if name not in known:
            raise errors.ModelContentError(name, f"not one of the kind's {what}", " ".join(known) or "none")


def _given(name: str, optional: bool, values: Any) -> bool:
    if name in values:
        return True
    if optional:
        return False
    raise errors.ModelContentError(name, "missing", "a value")


def _text(name: str, value: str) -> str:
    if not value or value != value.strip() or not value.isprintable():
        raise errors.ModelContentError(
            name, "not storable", "one line of printable text, no blanks around it", value
        )
    return value


def _scalar_text(declared: ScalarField, value: Scalar) -> str:
    if declared.type == "text":
        return _text(declared.name, str(value))
    if declared.type == "int":
        if int(value) != value or int(value) not in _INT64:
            raise errors.ModelContentError(declared.name, "not storable", "a 64-bit integer", str(value))
        return str(int(value))
    if not math.isfinite(float(value)):
        raise errors.ModelContentError(declared.name, "not storable", "a finite number", str(value))
    return repr(float(value))


def _array_text(declared: ArrayField, array: Array) -> list[bytes]:
    if array.dtype != declared.dtype or array.ndim != declared.ndim:
        what = f"an array of {array.dtype} with {array.ndim} dimension(s)"
        raise errors.ModelContentError(declared.name, what, f"{declared.dtype} with {declared.ndim}")
    if declared.dtype == "float64" and not np.isfinite(array).all():
        raise errors.ModelContentError(declared.name, "nan or inf among the numbers", "finite numbers")
    shape = " ".join(map(str, array.shape))
    per_line = array.shape[-1] if array.ndim > 1 else _VECTOR_LINE
    numbers = np.ascontiguousarray(array).reshape(-1)
    heading = f"array {declared.name} {declared.dtype} {shape}\n".encode()
    return [heading, _FORMATTERS[declared.dtype](numbers, max(per_line, 1))]
