"""svmfast's own model text, for the kinds of models that LIBSVM's format cannot hold: docs/model-format.md.

A file declares its content and contains nothing else; equal content gives identical bytes. Reading checks
every size, key and number.
"""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from svmfast._core import format_float64, format_int32, format_int64
from svmfast.errors import ModelChecksumError, ModelContentError, ModelFormatError
from svmfast.formats._model_text import ModelText
from svmfast.formats.libsvm_model import libsvm_model_bytes, parse_libsvm_model
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

_FORMATTERS: dict[str, Any] = {"float64": format_float64, "int64": format_int64, "int32": format_int32}
_INT64 = range(-(2**63), 2**63)
_VECTOR_LINE = 8
_VERSION = re.compile(r"(\d{1,6})\.(\d{1,6})", re.ASCII)
_MAX_WORDS = 8
_SIZE = re.compile(r"\d{1,18}", re.ASCII)


def _groups(schema: Schema) -> dict[str, tuple[Any, ...]]:
    """The fields of each part of a record, in the order of a file."""
    named = (PROVENANCE, schema.embedded)
    origin, inside = (tuple(ScalarField(one, "text", optional=True) for one in names) for names in named)
    return {"provenance": origin, "scalars": schema.scalars, "arrays": schema.arrays, "embedded": inside}


class _Checksum:
    """The hash of a record, part by part in the order of its file.

    Numbers are hashed in binary, so that neither their decimal form nor the line ends matter. Each part is
    hashed with its name and size, so that no part can be mistaken for another.
    """

    def __init__(self, kind: str) -> None:
        import hashlib  # imported on use, to save start-up time

        self._hash = hashlib.sha256(f"kind {kind}\n".encode())

    def __str__(self) -> str:
        return f"sha256:{self._hash.hexdigest()}"

    def add(self, group: str, declared: Any, value: Any) -> None:
        """Add one part; `value` of an embedded model is its text."""
        name, content = declared.name, value
        if group == "embedded":
            heading = f"embedded {name} {len(content)}"
        elif group == "arrays":
            little = np.ascontiguousarray(value, dtype=np.dtype(declared.dtype).newbyteorder("<"))
            heading = f"{declared.dtype} {name} {' '.join(map(str, value.shape))}"
            content = little.reshape(-1).view(np.uint8).data
        elif declared.type == "text":
            text = str(value).encode()
            heading, content = f"text {name} {len(text)}", text + b"\n"
        else:
            heading = f"{declared.type} {name}"
            content = np.array(value, dtype="<i8" if declared.type == "int" else "<f8").tobytes()
        self._hash.update(f"{heading}\n".encode())
        self._hash.update(content)


def container_bytes(record: Record) -> bytes:
    """The text of the file that holds `record`; a ModelContentError if it does not fit its kind's schema."""
    checksum = _Checksum(record.kind)
    parts = [f"{MAGIC} {MAJOR}.{MINOR}\nkind {record.kind}\n".encode()]
    for group, fields in _groups(model_class(record.kind).schema).items():
        given, known = getattr(record, group), [declared.name for declared in fields]
        for name in given:
            if name not in known:
                raise ModelContentError(name, f"not one of the kind's {group}", " ".join(known) or "none")
        for declared in fields:
            if declared.name in given:
                parts += _part_text(group, declared, given[declared.name], checksum)
            elif not declared.optional:
                raise ModelContentError(declared.name, "missing", "a value")
    return b"".join([*parts, f"checksum {checksum}\nend\n".encode()])


def _part_text(group: str, declared: Any, value: Any, checksum: _Checksum) -> list[bytes]:
    if group == "arrays":
        text = _array_text(declared, value)
    elif group == "embedded":
        is_libsvm = value.expansion is not None
        value = libsvm_model_bytes(value) if is_libsvm else container_bytes(value.to_record())
        text = [f"embedded {declared.name} bytes {len(value)}\n".encode(), value]
    else:
        text = [f"{declared.name} {_scalar_text(declared, value)}\n".encode()]
    checksum.add(group, declared, value)
    return text


def _scalar_text(declared: ScalarField, value: Any) -> str:
    if declared.type == "text":
        text, expected = str(value), "one line of printable text, no blanks around it"
        storable = bool(text) and text == text.strip() and text.isprintable()
    elif declared.type == "int":
        text, expected = str(int(value)), "a 64-bit integer"
        storable = int(value) == value and int(value) in _INT64
    else:
        text, expected = repr(float(value)), "a finite number"
        storable = math.isfinite(float(value))
    if not storable:
        raise ModelContentError(declared.name, "not storable", expected, str(value))
    return text


def _array_text(declared: ArrayField, array: Array) -> list[bytes]:
    if array.dtype != declared.dtype or array.ndim != declared.ndim:
        what = f"an array of {array.dtype} with {array.ndim} dimension(s)"
        raise ModelContentError(declared.name, what, f"{declared.dtype} with {declared.ndim}")
    if declared.dtype == "float64" and not np.isfinite(array).all():
        raise ModelContentError(declared.name, "nan or inf among the numbers", "finite numbers")
    shape = " ".join(map(str, array.shape))
    per_line = array.shape[-1] if array.ndim > 1 else _VECTOR_LINE
    numbers = np.ascontiguousarray(array).reshape(-1)
    heading = f"array {declared.name} {declared.dtype} {shape}\n".encode()
    return [heading, _FORMATTERS[declared.dtype](numbers, max(per_line, 1))]


def parse_container(data: bytes, path: str) -> tuple[Record, list[str]]:
    """Read a container file, given whole and decompressed; return its record and warnings."""
    reader = _Reader(data, path)
    record = reader.read()
    reader.check_content()
    return record, reader.warnings


def parse_model(
    data: bytes, path: str, allowance: Allowance | None = None, *, inside: Schema | None = None
) -> tuple[Model, Record, list[str]]:
    """Read a container file, given whole and decompressed; return its model, too, and warnings.

    Messages call it `path`. The arrays are counted in `allowance`, in which `data` is already; `inside` is
    the schema of the model that embeds this one. Faults are ModelFormatErrors with line and token.
    """
    reader = _Reader(data, path, allowance, inside=inside)
    record = reader.read()
    kind = model_class(record.kind)
    reader.check_source(kind.schema.source)
    try:
        model = kind.from_record(record)
    except ModelContentError as error:
        raise reader.fault(reader.lines.get(error.field), error.what, error.expected, error.token) from error
    # The checksum comes last, so that inconsistent content is reported with its own line.
    reader.check_content()
    return model, record, reader.warnings


class _Reader(ModelText):
    def __init__(
        self, data: bytes, path: str, allowance: Allowance | None = None, *, inside: Schema | None = None
    ) -> None:
        super().__init__(data, path)
        self.inside, self.allowance = inside, allowance or Allowance(MEMORY, path)
        self.embedded_texts: dict[str, bytes] = {}
        self.lines: dict[str, int] = {}
        self.warnings: list[str] = []
        self.values: dict[str, Any] = {}

    def read(self) -> Record:
        self._read_version()
        kind = self._read_kind()
        schema = model_class(kind).schema
        groups = _groups(schema)
        sections = {"arrays": "array", "embedded": "embedded"}
        declared = {one.name: (group, one) for group, fields in groups.items() for one in fields}
        # section, name, whether it is required; in their only valid order
        order = [
            *((sections.get(group, ""), name, not one.optional) for name, (group, one) in declared.items()),
            ("", "checksum", True),
            ("end", "end", True),
        ]
        checksum = _Checksum(kind)
        at, section = -1, ""
        while section != "end":
            words, line = self._next_line()
            section = words[0] if words[0] in ("array", "embedded", "end") else ""
            name = words[0] if section in ("", "end") else words[1] if len(words) > 1 else ""
            at = self._place(order, at, section, name, line, kind)
            self.lines[name] = line
            if name == "checksum":
                self.values[name] = self._read_text(words, line)
            elif name in declared:
                group, one = declared[name]
                if section == "array":
                    self.values[name] = self._read_array(one, words, line)
                elif section == "embedded":
                    self.values[name] = self._read_embedded(words, line, schema)
                else:
                    self.values[name] = self._read_scalar(one, words, line)
                checksum.add(group, one, self.embedded_texts.get(name, self.values[name]))
        token = words[1] if len(words) > 1 else self.token_at(self.pos)[0]
        if token or self.pos < len(self.data):
            raise self.fault(
                line + (len(words) == 1), "text after 'end'", "the end of the file", token or None
            )
        self.computed = str(checksum)
        found = self.values
        return Record(kind, *({f.name: found[f.name] for f in g if f.name in found} for g in groups.values()))

    def _place(
        self, order: list[tuple[str, str, bool]], at: int, section: str, name: str, line: int, kind: str
    ) -> int:
        """The place in `order` of a line that follows the one at `at`; refuse it elsewhere."""
        found = next((i for i, (s, n, _) in enumerate(order) if (s, n) == (section, name)), None)
        if found is None:
            what = f"unknown {section or 'key'}" if name else f"no name after '{section}'"
            raise self.fault(line, what, f"one of the kind '{kind}'", name or None)
        if name in self.lines:
            what = f"was already given on line {self.lines[name]}"
            raise self.fault(line, what, "every name once", name)
        if found < at:
            raise self.fault(line, f"comes after '{order[at][1]}'", "the order of docs/model-format.md", name)
        for skipped_section, skipped, needed in order[at + 1 : found]:
            if needed:
                what = f"no {skipped_section or 'key'} '{skipped}' before this line"
                raise self.fault(line, what, f"it in a model of kind '{kind}'")
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
        import hashlib

        if source != f"sha256:{hashlib.sha256(self.embedded_texts[name]).hexdigest()}":
            what = "the embedded model is not the one that 'source' names: their hashes differ"
            raise self.fault(self.lines[name], what, "the model that was converted")

    def _next_line(self) -> tuple[list[str], int]:
        """The words of the next line, and its number."""
        line = self.line_at(self.pos)
        if self.pos >= len(self.data):
            raise self.fault(line, "the file ends early", "more lines, the last one 'end'")
        text = self.data[self.pos : self._skip_line(self.pos)].removesuffix(b"\n").removesuffix(b"\r")
        try:
            # No valid line has more words; a limit prevents a list as long as the file.
            words = text.decode("utf-8").split(None, _MAX_WORDS)
        except UnicodeDecodeError:
            shown = text.decode("utf-8", "backslashreplace")
            raise self.fault(line, "not UTF-8 text", "text", shown) from None
        if not words:
            raise self.fault(line, "an empty line", "a key, an array or 'end'")
        return words, line

    def _skip_line(self, pos: int) -> int:
        """Move behind the line that holds `pos`."""
        self.pos = self.data.find(b"\n", pos) + 1 or len(self.data)
        return self.pos

    def _read_version(self) -> None:
        words, line = self._next_line() if self.data else ([""], 1)
        version = _VERSION.fullmatch(words[1]) if len(words) == 2 and words[0] == MAGIC else None
        if version is None:
            what = "not the first line of an svmfast model"
            raise self.fault(line, what, f"'{MAGIC} {MAJOR}.{MINOR}'", " ".join(words) or None)
        major, minor = int(version[1]), int(version[2])
        if major != MAJOR:
            what = f"format version {major}.{minor}; this svmfast reads version {MAJOR}.x"
            raise self.fault(line, what, "a newer svmfast" if major > MAJOR else "a model converted again")
        if minor > MINOR:
            what = f"{major}.{minor} is newer than {MAJOR}.{MINOR}, which this svmfast supports"
            self.warnings.append(f"{self.path}:{line}: format version {what}")

    def _read_kind(self) -> str:
        words, line = self._next_line()
        if words[0] != "kind" or len(words) != 2:
            raise self.fault(line, "no kind", "'kind NAME' on line 2", " ".join(words))
        if words[1] not in KINDS:
            raise self.fault(line, "unknown model kind", f"one of {' '.join(KINDS)}", words[1])
        schema = model_class(words[1]).schema
        if self.inside is not None and schema.own and (schema.outermost or not self.inside.outermost):
            what = "a model with embedded models inside another model"
            raise self.fault(line, what, "one model", words[1])
        return words[1]

    def _read_text(self, words: list[str], line: int) -> str:
        if len(words) < 2:
            raise self.fault(line, f"'{words[0]}' has no value", "one")
        # The value is everything after the key and one blank, unchanged.
        start = self.data.rfind(b"\n", 0, self.pos - 1) + 1
        text = self.data[start : self.pos].decode("utf-8").rstrip("\r\n")
        value = text[len(words[0]) + 1 :]
        if not text.startswith(words[0]) or value != value.strip() or not value.isprintable():
            raise self.fault(line, "not plain text", "printable text after one blank", text)
        return value

    def _read_scalar(self, declared: ScalarField, words: list[str], line: int) -> Scalar:
        if declared.type == "text":
            return self._read_text(words, line)
        if len(words) != 2:
            raise self.fault(line, f"'{words[0]}' has {len(words) - 1} values", "one")
        dtype, word = "int64" if declared.type == "int" else "float64", words[1].encode()
        numbers, n, stop = ModelText(word, self.path).numbers_at(0, 1, dtype)
        if n == 0 or stop != len(word):
            raise self.not_a_number(line, words[1], words[0], dtype)
        value: Scalar = numbers[0].item()
        return value

    def _read_array(self, declared: ArrayField, words: list[str], line: int) -> Array:
        name, dtype, sizes = declared.name, declared.dtype, words[3:]
        if len(words) < 3 or words[2] != dtype:
            raise self.fault(
                line, f"wrong type of array '{name}'", dtype, words[2] if len(words) > 2 else None
            )
        if len(sizes) != declared.ndim or not all(_SIZE.fullmatch(size) for size in sizes):
            what, expected = f"wrong shape of array '{name}'", f"{declared.ndim} size(s)"
            raise self.fault(line, what, expected, " ".join(sizes) or None)
        shape = tuple(map(int, sizes))
        count = math.prod(shape)
        left = len(self.data) - self.pos
        if count > (left + 1) // 2 or max(shape) >= 2**31:
            what = f"the shape of array '{name}' is impossible: only {left} bytes follow"
            raise self.fault(line, what, "a smaller shape, unless the file was cut short", " ".join(sizes))
        self.allowance.take(count * np.dtype(dtype).itemsize)
        numbers, n, stop = self.numbers_at(self.pos, count, dtype)
        token, start, _ = self.token_at(stop)
        at = self.line_at(start)
        if n < count:
            if not token:
                what = f"the file ends after {n} numbers of array '{name}'"
                raise self.fault(at, what, f"{count}")
            if token in ("array", "embedded", "end"):
                raise self.fault(at, f"array '{name}' has {n} numbers", f"{count} as its shape says")
            raise self.not_a_number(at, token, f"number {n + 1} of array '{name}'", dtype)
        if count:
            self._skip_line(stop)
        more = bool(token) and self.numbers_at(start, 1, "float64")[1] == 1
        if more or (count and start < self.pos and token):
            what = f"more than {count} numbers in array '{name}'"
            raise self.fault(at, what, "as many as its shape says", token)
        return numbers.reshape(shape)

    def _read_embedded(self, words: list[str], line: int, schema: Schema) -> Model:
        name = words[1]
        if len(words) != 4 or words[2] != "bytes" or not _SIZE.fullmatch(words[3]):
            raise self.fault(line, "wrong heading", f"'embedded {name} bytes N'", " ".join(words))
        size = int(words[3])
        self.allowance.take(min(size, len(self.data) - self.pos))
        text = self.data[self.pos : self.pos + size]
        if len(text) < size:
            what = f"the file ends after {len(text)} bytes of '{name}'"
            raise self.fault(line, what, f"{size} bytes")
        if not text.endswith(b"\n"):
            what = f"the {size} bytes of '{name}' do not end with a line end"
            raise self.fault(line, what, "the exact number of bytes")
        self.pos += size
        self.embedded_texts[name] = text
        model: Model
        try:
            if name in schema.own and text.startswith(MAGIC.encode()):
                model, _, warnings = parse_model(text, self.path, self.allowance, inside=schema)
            else:
                model, warnings = parse_libsvm_model(text, self.path, self.allowance)
        except ModelFormatError as error:
            raise error.moved(line) from None
        self.warnings += warnings
        return model
