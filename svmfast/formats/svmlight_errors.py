"""What the tokenizer finds wrong, said to people: the rule, the line, the token, and what to do about it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Protocol

from svmfast import errors as e
from svmfast.errors import DataFormatError

#: rule, status of the number, line, text of the line, token, found, wanted (``_core/svmlight.hpp``: Fault)
Fault = tuple[str, str, int, bytes, bytes | None, int, int]

_MAX_INDEX = (1 << 31) - 1


@dataclass(frozen=True, slots=True)
class Dialect:
    """The options of the reader."""

    zero_based: bool = False
    precomputed: bool = False
    dense: bool = False
    lenient: bool = False
    labelled: bool = True


_NUMBER_RULES: dict[str, tuple[type[DataFormatError], str, str]] = {
    "overflow": (e.NumberOverflowError, "{what} is beyond the range of float64", "magnitudes below 1.8e308"),
    "not_finite": (e.NonFiniteError, "{what} is not finite", "a finite number"),
    "hexadecimal": (e.HexadecimalError, "{what} is hexadecimal", "a decimal number"),
    "comma": (e.DecimalCommaError, "{what} has a decimal comma", "a point: 0.7, not 0,7"),
}

# rule: class, what is wrong, what is expected
_RULES: dict[str, tuple[type[DataFormatError], str, str]] = {
    "blank": (e.BlankLineError, "blank line", "a label on every line; --lenient skips blank lines"),
    "carriage_return": (
        e.CarriageReturnError,
        "carriage return inside a line",
        r"lines must end in \n or \r\n; for old Mac files: tr '\r' '\n'",
    ),
    "nul": (e.NulByteError, "NUL byte", "text; this is a binary file, or a damaged one"),
    "no_index": (e.MissingIndexError, "no index before ':'", "index:value without blanks"),
    "no_value": (e.MissingValueError, "no value after ':'", "index:value without blanks"),
    "negative_index": (e.NegativeIndexError, "negative index", "indices from 1"),
    "large_index": (e.IndexTooLargeError, "index too large", f"at most {_MAX_INDEX}"),
    "duplicate": (e.DuplicateIndexError, "index stands twice in the row", "each index once"),
    "qid_place": (e.QidError, "qid: after an entry", "qid: right after the label"),
    "no_serial": (
        e.PrecomputedRowError,
        "the row does not start with 0:serial",
        "0:serial 1:value 2:value ...",
    ),
    "no_values": (e.EmptyFieldError, "no values after the label", "label value value ..."),
    "empty_field": (
        e.EmptyFieldError,
        "empty field",
        "a number between any two separators; write 0 for zero",
    ),
    "mixed_separators": (
        e.MixedSeparatorsError,
        "commas and blanks both separate fields",
        "one of them in a line, and a point in decimals: 0.7, not 0,7",
    ),
}


def explain(path: str, fault: Fault, dialect: Dialect) -> DataFormatError:
    """Return the error for what the tokenizer found."""
    rule, why, line, text, raw_token, found, wanted = fault
    token = None if raw_token is None else _printable(raw_token)

    def error(kind: type[DataFormatError], what: str, expected: str) -> DataFormatError:
        return kind(path, line, what, token, expected)

    if rule == "label":
        return _label_error(error, why, raw_token or b"", text, dialect)
    if rule in ("value", "field"):
        if rule == "field" and b":" in (raw_token or b""):
            return error(
                e.SparseLookingError, "index:value in a dense row", "label value value ...; drop --dense"
            )
        what = "the value"
        if why in _NUMBER_RULES:
            kind, form, expected = _NUMBER_RULES[why]
            return error(kind, form.format(what=what), expected)
        if rule == "field" and b";" in (raw_token or b""):
            return error(e.CommaSeparatedError, "fields separated by ';'", "blanks or commas between fields")
        return error(e.BadValueError, "the value is not a number", "a decimal number")
    if rule == "no_colon":
        return _colon_error(error, text, dialect)
    if rule == "index":
        kind_name = "hexadecimal" if why == "hexadecimal" else "not an integer"
        kind = e.HexadecimalError if why == "hexadecimal" else e.BadIndexError
        return error(kind, f"the index is {kind_name}", "index:value with an integer from 1")
    if rule == "qid":
        return error(e.QidError, "the qid is not an integer", "qid:number")
    if rule == "zero_index":
        return error(e.ZeroIndexError, "index 0", "indices from 1; if yours count from 0 use --zero-based")
    if rule == "unsorted":
        return error(
            e.UnsortedIndexError, f"index not above {wanted} before it", "ascending indices; --lenient sorts"
        )
    if rule == "gap":
        return error(
            e.PrecomputedRowError,
            f"index {found} where {wanted} should stand",
            "0:serial 1:value 2:value ...",
        )
    if rule == "row_width":
        kind = e.PrecomputedRowError if dialect.precomputed else e.RowWidthError
        return error(kind, f"{_count(found)} in the row", f"{wanted} as in the first row")
    kind, what, expected = _RULES[rule]
    return error(kind, what, expected)


class _Raise(Protocol):
    def __call__(self, kind: type[DataFormatError], what: str, expected: str) -> DataFormatError: ...


def _label_error(error: _Raise, why: str, token: bytes, text: bytes, dialect: Dialect) -> DataFormatError:
    sparse_row = re.search(rb"[ \t][^ \t#]+:", text) is not None
    if token == b"":
        kind, what, expected = _RULES["empty_field"]
        return error(kind, what, expected)
    if why in ("overflow", "not_finite", "hexadecimal"):
        kind, form, expected = _NUMBER_RULES[why]
        return error(kind, form.format(what="the label"), expected)
    if b":" in token:
        return error(e.MissingLabelError, "no label before the first entry", "label index:value ...")
    if why == "comma" and sparse_row:
        return error(e.DecimalCommaError, "the label has a comma", "one number, decimals with a point")
    if b"," in token and not dialect.dense:
        return error(
            e.CommaSeparatedError,
            "fields separated by ','",
            "label index:value ...; for dense rows use --dense",
        )
    if b";" in token:
        return error(e.CommaSeparatedError, "fields separated by ';'", "label index:value ...")
    if token == b"?":
        return error(
            e.BadLabelError, "the label is unknown", "a number; any will do if the row is only predicted"
        )
    return error(e.BadLabelError, "the label is not a number", "a number; map text labels to numbers first")


def _colon_error(error: _Raise, text: bytes, dialect: Dialect) -> DataFormatError:
    tokens = text.split(b"#")[0].split()[1 if dialect.labelled else 0 :]
    if not any(b":" in token for token in tokens):
        return error(
            e.DenseLookingError, "no ':' in the row", "index:value; the row looks dense, use --dense"
        )
    return error(e.EntryColonError, "no ':' in the entry", "index:value")


def _count(values: int) -> str:
    return f"{values} value" if values == 1 else f"{values} values"


def _printable(token: bytes) -> str:
    text = token.decode("utf-8", "backslashreplace")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
