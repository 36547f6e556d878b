"""Reads svmfast's model text and checks every size, key and number: docs/model-format.md.

Slightly over 400 lines, because all steps of this single pass share the position and the line number.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from svmfast.errors import ModelChecksumError, ModelContentError, ModelFormatError
from svmfast.formats._model_numbers import line_of, number_fault, read_numbers, token_at
from svmfast.formats.libsvm_model import parse_libsvm_model
from svmfast.models.base import (
    KINDS,
    PROVENANCE,
    Array,
    ArrayField,
    Model,
    Record,
    Scalar,
    ScalarField,
    Schema,
    model_class,
)
from svmfast.models.memory import MEMORY, Allowance

MAGIC = "svmfast-model"
MAJOR, MINOR = 1, 0

_VERSION = re.compile(r"(\d{1,6})\.(\d{1,6})", re.ASCII)
_MAX_WORDS = 8
_SIZE = re.compile(r"\d{1,18}", re.ASCII)


@dataclass
class Container:
    """A container file: its record, the line of each part, and warnings as complete messages."""

    record: Record
    lines: dict[str, int]
    warnings: list[str] = field(default_factory=list)


def parse_container(data: bytes, path: str, allowance: Allowance | None = None) -> Container:
    """Read a container file, given whole and decompressed; messages call it `path`.

    The arrays are counted in `allowance`, in which `data` is already. Faults are ModelFormatErrors with line
    and token.
    """
    reader = _ContainerReader(data, path, allowance)
    container = reader.read()
    reader.check_content()
    return container


def parse_model(data: bytes, path: str, allowance: Allowance | None = None) -> tuple[Model, Container]:
    """Read a container file and build its model; parameters and errors as for :func:`parse_container`."""
    return _model_of(_ContainerReader(data, path, allowance), path)


def _model_of(reader: _ContainerReader, path: str) -> tuple[Model, Container]:
    container = reader.read()
    kind = model_class(container.record.kind)
    reader.check_source(kind.schema.source)
    try:
        model = kind.from_record(container.record)
    except ModelContentError as error:
        at = container.lines.get(error.field)
        raise ModelFormatError(path, at, error.what, error.token, f"expected {error.expected}") from error
    # The checksum comes last, so that inconsistent content is reported with its own line.
    reader.check_content()
    return model, container


class _ContainerReader:
    def __init__(
        self,
        data: bytes,
        path: str,
        allowance: Allowance | None = None,
        *,
        inside: Schema | None = None,
    ) -> None:
        self.data, self.path, self.pos, self.inside = data, path, 0, inside
        self.computed = ""
        self.embedded_texts: dict[str, bytes] = {}
        self.allowance = allowance or Allowance(MEMORY, path)
        self.lines: dict[str, int] = {}
        self.warnings: list[str] = []
        self.values: dict[str, Any] = {}

    def read(self) -> Container:
        self._read_version()
        kind = self._read_kind()
        schema = model_class(kind).schema
        scalars = {f.name: f for f in schema.scalars}
        arrays = {f.name: f for f in schema.arrays}
        # (section, name, required), in their only valid order
        order = [
            *(("", name, False) for name in PROVENANCE),
            *(("", f.name, not f.optional) for f in schema.scalars),
            *(("array", f.name, not f.optional) for f in schema.arrays),
            *(("embedded", name, False) for name in schema.embedded),
            ("", "checksum", True),
            ("end", "end", True),
        ]
        at = -1
        while True:
            words, line = self._next_line()
            section = words[0] if words[0] in ("array", "embedded", "end") else ""
            name = words[0] if section in ("", "end") else words[1] if len(words) > 1 else ""
            at = self._place(order, at, section, name, line, kind)
            self.lines[name] = line
            if section == "end":
                self._check_end(words, line)
                break
            if section == "array":
                self.values[name] = self._read_array(arrays[name], words, line)
            elif section == "embedded":
                begin = self.pos
                self.values[name] = self._read_embedded(words, line, schema)
                self.embedded_texts[name] = self.data[begin : self.pos]
            elif name in scalars:
                self.values[name] = self._read_scalar(scalars[name], words, line)
            else:
                self.values[name] = self._read_text(words, line)
        record = Record(
            kind, self._part(PROVENANCE), self._part(scalars), self._part(arrays), self._part(schema.embedded)
        )
        self.computed = content_checksum(record, self.embedded_texts)
        return Container(record, self.lines, self.warnings)

    def _place(
        self, order: list[tuple[str, str, bool]], at: int, section: str, name: str, line: int, kind: str
    ) -> int:
        """Return the place in `order` of a line that follows the one at `at`; refuse it elsewhere."""
        found = next((i for i, (s, n, _) in enumerate(order) if (s, n) == (section, name)), None)
        if found is None:
            what = f"unknown {section or 'key'}" if name else f"no name after '{section}'"
            raise self._fault(line, what, f"one of the kind '{kind}'", name or None)
        if name in self.lines:
            what = f"was already given on line {self.lines[name]}"
            raise self._fault(line, what, "every name once", name)
        if found < at:
            raise self._fault(
                line, f"comes after '{order[at][1]}'", "the order of docs/model-format.md", name
            )
        for skipped_section, skipped, needed in order[at + 1 : found]:
            if needed:
                what = f"no {skipped_section or 'key'} '{skipped}' before this line"
                raise self._fault(line, what, f"it in a model of kind '{kind}'")
        return found

    def check_content(self) -> None:
        """Refuse content that does not match its checksum."""
        if self.values["checksum"] != self.computed:
            method = self.values.get("method")
            what = "the file was changed after svmfast wrote it: its content has a different checksum"
            advice = "make the model again" + ("" if method is None else f" with svmfast {method}")
            fault = ModelChecksumError(self.path, self.lines["checksum"], what, None, advice)
            fault.computed = self.computed
            raise fault

    def check_source(self, name: str | None) -> None:
        """Refuse an embedded model of this name that is not the one of the provenance's `source`."""
        source = self.values.get("source")
        if source is None or name is None or name not in self.embedded_texts:
            return
        import hashlib  # imported only if a model is embedded, to save start-up time

        if source != f"sha256:{hashlib.sha256(self.embedded_texts[name]).hexdigest()}":
            what = "the embedded model is not the one that 'source' names: their hashes differ"
            raise self._fault(self.lines[name], what, "the model that was converted")

    def _part(self, names: Any) -> dict[str, Any]:
        return {name: self.values[name] for name in names if name in self.values}

    def _fault(self, line: int, what: str, expected: str, token: str | None = None) -> ModelFormatError:
        return ModelFormatError(self.path, line, what, token, f"expected {expected}")

    def _next_line(self) -> tuple[list[str], int]:
        """Return the words of the next line and the line's number."""
        line = line_of(self.data, self.pos)
        stop = self.data.find(b"\n", self.pos)
        if stop < 0:
            stop = len(self.data)
        text = self.data[self.pos : stop].removesuffix(b"\r")
        if self.pos >= len(self.data):
            raise self._fault(line, "the file ends early", "more lines, the last one 'end'")
        self.pos = min(stop + 1, len(self.data))
        try:
            # No valid line has more words; a limit prevents a list as long as the file.
            words = text.decode("utf-8").split(None, _MAX_WORDS)
        except UnicodeDecodeError:
            shown = text.decode("utf-8", "backslashreplace")
            raise self._fault(line, "not UTF-8 text", "text", shown) from None
        if not words:
            raise self._fault(line, "an empty line", "a key, an array or 'end'")
        return words, line

    def _read_version(self) -> None:
        words, line = self._next_line() if self.data else ([""], 1)
        version = _VERSION.fullmatch(words[1]) if len(words) == 2 and words[0] == MAGIC else None
        if version is None:
            shown = " ".join(words) or None
            raise self._fault(
                line, "not the first line of an svmfast model", f"'{MAGIC} {MAJOR}.{MINOR}'", shown
            )
        major, minor = int(version[1]), int(version[2])
        if major != MAJOR:
            what = f"format version {major}.{minor}; this svmfast reads version {MAJOR}.x"
            advice = "a newer svmfast" if major > MAJOR else "a model converted again"
            raise self._fault(line, what, advice)
        if minor > MINOR:
            what = (
                f"format version {major}.{minor} is newer than {MAJOR}.{MINOR}, which this svmfast supports"
            )
            self.warnings.append(f"{self.path}:{line}: {what}")

    def _read_kind(self) -> str:
        words, line = self._next_line()
        if words[0] != "kind" or len(words) != 2:
            raise self._fault(line, "no kind", "'kind NAME' on line 2", " ".join(words))
        if words[1] not in KINDS:
            known = " ".join(KINDS)
            raise self._fault(line, "unknown model kind", f"one of {known}", words[1])
        schema = model_class(words[1]).schema
        if self.inside is not None and schema.own and (schema.outermost or not self.inside.outermost):
            raise self._fault(
                line, "a model with embedded models inside another model", "one model", words[1]
            )
        return words[1]

    def _read_text(self, words: list[str], line: int) -> str:
        if len(words) < 2:
            raise self._fault(line, f"'{words[0]}' has no value", "one")
        # The value is everything after the key and one blank, unchanged.
        start = self.data.rfind(b"\n", 0, self.pos - 1) + 1
        text = self.data[start : self.pos].decode("utf-8").rstrip("\r\n")
        value = text[len(words[0]) + 1 :]
        if not text.startswith(words[0]) or value != value.strip() or not value.isprintable():
            raise self._fault(line, "not plain text", "printable text after one blank", text)
        return value

    def _read_scalar(self, declared: ScalarField, words: list[str], line: int) -> Scalar:
        if declared.type == "text":
            return self._read_text(words, line)
        if len(words) != 2:
            raise self._fault(line, f"'{words[0]}' has {len(words) - 1} values", "one")
        dtype = "int64" if declared.type == "int" else "float64"
        numbers, n, stop = read_numbers(words[1].encode(), 0, 1, dtype)
        if n == 0 or stop != len(words[1].encode()):
            raise number_fault(self.path, line, words[1], words[0], dtype)
        value: Scalar = numbers[0].item()
        return value

    def _read_array(self, declared: ArrayField, words: list[str], line: int) -> Array:
        name, sizes = declared.name, words[3:]
        if len(words) < 3 or words[2] != declared.dtype:
            shown = words[2] if len(words) > 2 else None
            raise self._fault(line, f"wrong type of array '{name}'", declared.dtype, shown)
        if len(sizes) != declared.ndim or not all(_SIZE.fullmatch(size) for size in sizes):
            shown = " ".join(sizes) or None
            raise self._fault(line, f"wrong shape of array '{name}'", f"{declared.ndim} size(s)", shown)
        shape = tuple(map(int, sizes))
        count = math.prod(shape)
        left = len(self.data) - self.pos
        if count > (left + 1) // 2 or max(shape) >= 2**31:
            what = f"the shape of array '{name}' is impossible: only {left} bytes follow"
            raise self._fault(line, what, "a smaller shape, unless the file was cut short", " ".join(sizes))
        self.allowance.take(count * np.dtype(declared.dtype).itemsize)
        numbers, n, stop = read_numbers(self.data, self.pos, count, declared.dtype)
        token, start, _ = token_at(self.data, stop)
        at = line_of(self.data, start)
        if n < count:
            if not token:
                what = f"the file ends after {n} numbers of array '{name}'"
                raise self._fault(at, what, f"{count}")
            if token in ("array", "embedded", "end"):
                what = f"array '{name}' has {n} numbers"
                raise self._fault(at, what, f"{count} as its shape says")
            raise number_fault(self.path, at, token, f"number {n + 1} of array '{name}'", declared.dtype)
        if count:
            self.pos = stop
            newline = self.data.find(b"\n", stop)
            self.pos = len(self.data) if newline < 0 else newline + 1
        more = bool(token) and read_numbers(self.data, start, 1, "float64")[1] == 1
        if more or (count and start < self.pos and token):
            what = f"more than {count} numbers in array '{name}'"
            raise self._fault(at, what, "as many as its shape says", token)
        return numbers.reshape(shape)

    def _read_embedded(self, words: list[str], line: int, schema: Schema) -> Model:
        name = words[1]
        if len(words) != 4 or words[2] != "bytes" or not _SIZE.fullmatch(words[3]):
            shown = " ".join(words)
            raise self._fault(line, "wrong heading", f"'embedded {name} bytes N'", shown)
        size = int(words[3])
        self.allowance.take(min(size, len(self.data) - self.pos))
        text = self.data[self.pos : self.pos + size]
        if len(text) < size:
            what = f"the file ends after {len(text)} bytes of '{name}'"
            raise self._fault(line, what, f"{size} bytes")
        if not text.endswith(b"\n"):
            what = f"the {size} bytes of '{name}' do not end with a line end"
            raise self._fault(line, what, "the exact number of bytes")
        self.pos += size
        model: Model
        try:
            if name in schema.own and text.startswith(MAGIC.encode()):
                model, container = _model_of(
                    _ContainerReader(text, self.path, self.allowance, inside=schema), self.path
                )
                warnings = container.warnings
            else:
                model, warnings = parse_libsvm_model(text, self.path, self.allowance)
        except ModelFormatError as error:
            raise error.moved(line) from None
        self.warnings += warnings
        return model

    def _check_end(self, words: list[str], line: int) -> None:
        token = words[1] if len(words) > 1 else token_at(self.data, self.pos)[0]
        if token or self.pos < len(self.data):
            at = line if len(words) > 1 else line + 1
            raise self._fault(at, "text after 'end'", "the end of the file", token or None)


def content_checksum(record: Record, embedded: Mapping[str, bytes]) -> str:
    """Return the hash of a record, as ``sha256:...``; `embedded` has the text of each embedded model.

    Numbers are hashed in binary, so that neither their decimal form nor the line ends matter. Each part is
    hashed with its name and size, so that no part can be mistaken for another.
    """
    import hashlib

    schema = model_class(record.kind).schema
    digest = hashlib.sha256(f"kind {record.kind}\n".encode())

    def text(name: str, value: str) -> None:
        content = value.encode()
        digest.update(f"text {name} {len(content)}\n".encode() + content + b"\n")

    for key in PROVENANCE:
        if key in record.provenance:
            text(key, record.provenance[key])
    for scalar in schema.scalars:
        if scalar.name not in record.scalars:
            continue
        value = record.scalars[scalar.name]
        if scalar.type == "text":
            text(scalar.name, str(value))
        else:
            number = int(value) if scalar.type == "int" else float(value)
            digest.update(f"{scalar.type} {scalar.name}\n".encode())
            digest.update(np.array(number, dtype="<i8" if scalar.type == "int" else "<f8").tobytes())
    for declared in schema.arrays:
        if declared.name in record.arrays:
            array = record.arrays[declared.name]
            digest.update(f"{declared.dtype} {declared.name} {' '.join(map(str, array.shape))}\n".encode())
            little = np.ascontiguousarray(array, dtype=np.dtype(declared.dtype).newbyteorder("<"))
            digest.update(little.reshape(-1).view(np.uint8).data)
    for name in schema.embedded:
        if name in embedded:
            digest.update(f"embedded {name} {len(embedded[name])}\n".encode())
            digest.update(embedded[name])
    return f"sha256:{digest.hexdigest()}"
