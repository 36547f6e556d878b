"""One small file for every kind of fault in LIBSVM data files, with the exact message.

Most of them crash or mislead one of LIBSVM, scikit-learn, LIBSVM's Python reader, checkdata.py or approxsvm:
the names describe the fault. (Over 400 lines: a table with one file and its message per line.)
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from svmfast import errors as e
from svmfast.formats.svmlight import Notes, read_svmlight, stream_svmlight

DATA = Path(__file__).parent / "bad" / "data"
DENSE, PRECOMPUTED = {"dense": True}, {"precomputed": True}

# file, options, error, message after the path
REFUSED: list[tuple[str, dict[str, Any], type[e.InputError], str]] = [
    (
        "binary",
        {},
        e.NulByteError,
        ":1: NUL byte ('\\x00\\x01\\x02\\x03\\x04\\x05\\x06\\x07\\x08'); expected text, not a binary file",
    ),
    (
        "blank_after_colon",
        {},
        e.MissingValueError,
        ":2: no value after ':' ('1:'); expected index:value without blanks",
    ),
    ("blank_before_colon", {}, e.EntryColonError, ":2: no ':' in the entry ('1'); expected index:value"),
    (
        "blank_line",
        {},
        e.BlankLineError,
        ":2: blank line; expected a label on every line; `lenient` skips blank lines",
    ),
    (
        "blank_dense_unlabelled",
        {"dense": True, "labelled": False},
        e.BlankLineError,
        ":2: blank line; expected value value ... on every line; `lenient` skips blank lines",
    ),
    ("colon_missing_end", {}, e.EntryColonError, ":2: no ':' in the entry ('3'); expected index:value"),
    ("colon_missing_middle", {}, e.EntryColonError, ":2: no ':' in the entry ('2'); expected index:value"),
    (
        "cr_only",
        {},
        e.CarriageReturnError,
        ":1: carriage return inside a line; expected \\n or \\r\\n at line ends; fix with tr '\\r' '\\n'",
    ),
    (
        "csv",
        {},
        e.CommaSeparatedError,
        ":1: fields separated by ',' ('1,0.5,1'); expected label index:value ...; for dense rows use `dense`",
    ),
    (
        "csv_header",
        {},
        e.CommaSeparatedError,
        ":1: fields separated by ',' ('label,x'); expected label index:value ...; for dense rows use `dense`",
    ),
    ("decimal_comma", {}, e.DecimalCommaError, ":2: decimal comma ('1:0,7'); expected a point: 1:0.7"),
    (
        "decimal_comma_label",
        {},
        e.DecimalCommaError,
        ":2: comma in the label ('0,5'); expected one number, decimals with a point",
    ),
    (
        "dense_decimal_comma",
        DENSE,
        e.CommaSeparatedError,
        ":1: fields separated by ';' ('1;0'); expected label index:value ...; for dense rows use `dense`",
    ),
    (
        "dense_empty_field",
        DENSE,
        e.EmptyFieldError,
        ":2: empty field; expected a number between any two separators, 0 for zero",
    ),
    (
        "dense_header",
        DENSE,
        e.BadLabelError,
        ":1: the label is not a number ('label'); expected a number; map text labels to numbers first",
    ),
    (
        "dense_is_sparse",
        DENSE,
        e.SparseLookingError,
        ":1: index:value in a dense row ('1:0.5'); expected label value value ...; drop `dense`",
    ),
    (
        "dense_mixed",
        DENSE,
        e.MixedSeparatorsError,
        ":1: commas and blanks both separate fields (',5'); expected one of them, and a point in decimals",
    ),
    ("dense_nan", DENSE, e.NonFiniteError, ":1: the value is not finite ('nan'); expected a finite number"),
    (
        "dense_no_values",
        DENSE,
        e.EmptyFieldError,
        ":1: no values after the label; expected label value value ...",
    ),
    ("dense_ragged", DENSE, e.RowWidthError, ":2: 1 value in the row; expected 2 as in the first row"),
    (
        "dense_row",
        {},
        e.DenseLookingError,
        ":1: no ':' in the row ('0.7'); expected index:value; it looks dense: use `dense`",
    ),
    (
        "dense_trailing_comma",
        DENSE,
        e.EmptyFieldError,
        ":1: empty field; expected a number between any two separators, 0 for zero",
    ),
    (
        "duplicate",
        {},
        e.DuplicateIndexError,
        ":2: index twice in the row ('2:0.5'); expected every index once",
    ),
    (
        "duplicate_apart",
        {},
        e.DuplicateIndexError,
        ":2: index twice in the row ('2:0.5'); expected every index once",
    ),
    ("empty", {}, e.EmptyDataError, ": there are no rows; expected 'label index:value ...' on each line"),
    ("gzip_damaged", {}, e.CompressedDataError, ": the gzip data is damaged; expected a whole file"),
    ("gzip_short", {}, e.CompressedDataError, ": the gzip data ends early; expected a whole file"),
    (
        "gzip_trailing",
        {},
        e.CompressedDataError,
        ": other bytes after the gzip data; expected nothing there",
    ),
    ("hex", {}, e.HexadecimalError, ":2: the value is hexadecimal ('2:0x10'); expected a decimal number"),
    ("hex_label", {}, e.HexadecimalError, ":2: the label is hexadecimal ('0x1'); expected a decimal number"),
    (
        "index_1e20",
        {},
        e.IndexTooLargeError,
        ":2: index too large ('100000000000000000000:1'); expected at most 2147483647",
    ),
    (
        "index_2147483648",
        {},
        e.IndexTooLargeError,
        ":2: index too large ('2147483648:1'); expected at most 2147483647",
    ),
    (
        "index_2147483649",
        {},
        e.IndexTooLargeError,
        ":2: index too large ('2147483649:1'); expected at most 2147483647",
    ),
    (
        "index_4294967298",
        {},
        e.IndexTooLargeError,
        ":2: index too large ('4294967298:1'); expected at most 2147483647",
    ),
    (
        "index_exponent",
        {},
        e.BadIndexError,
        ":2: the index is not an integer ('1e20:1'); expected index:value with an integer from 1",
    ),
    (
        "index_fraction",
        {},
        e.BadIndexError,
        ":2: the index is not an integer ('1.5:1'); expected index:value with an integer from 1",
    ),
    (
        "index_hex",
        {},
        e.HexadecimalError,
        ":2: the index is hexadecimal ('0x2:1'); expected a decimal number",
    ),
    ("index_negative", {}, e.NegativeIndexError, ":2: negative index ('-2:1'); expected integers from 1"),
    (
        "index_text",
        {},
        e.BadIndexError,
        ":2: the index is not an integer ('age:41'); expected index:value with an integer from 1",
    ),
    (
        "index_zero",
        {},
        e.ZeroIndexError,
        ":2: index 0 ('0:1'); expected integers from 1; for indices from 0 use `zero_based`",
    ),
    ("inf_label", {}, e.NonFiniteError, ":2: the label is not finite ('Infinity'); expected a finite number"),
    ("inf_value", {}, e.NonFiniteError, ":2: the value is not finite ('2:-inf'); expected a finite number"),
    (
        "latin1",
        {},
        e.BadValueError,
        ":2: the value is not a number ('2:\\xe9t\\xe9'); expected a decimal number",
    ),
    (
        "long_token",
        {},
        e.BadValueError,
        ":2: the value is not a number ('2:" + "x" * 55 + "...'); expected a decimal number",
    ),
    (
        "multilabel",
        {},
        e.DecimalCommaError,
        ":2: comma in the label ('1,2'); expected one number, decimals with a point",
    ),
    ("nan_label", {}, e.NonFiniteError, ":2: the label is not finite ('nan'); expected a finite number"),
    ("nan_value", {}, e.NonFiniteError, ":2: the value is not finite ('2:nan'); expected a finite number"),
    (
        "labels_unlabelled",
        {"labelled": False},
        e.EntryColonError,
        ":2: no ':' in the row's first entry ('1'); expected index:value; rows with labels are read without "
        "`unlabelled`",
    ),
    (
        "model",
        {},
        e.ModelAsDataError,
        ":1: a model, not data ('svm_type'); expected label index:value ...",
    ),
    (
        "no_label",
        {},
        e.MissingLabelError,
        ":1: no label before the first entry ('1:0.5'); expected label index:value ...; rows without labels "
        "need `unlabelled`, if the command has it",
    ),
    ("nul", {}, e.NulByteError, ":2: NUL byte ('2:\\x001'); expected text, not a binary file"),
    (
        "only_comments",
        {},
        e.EmptyDataError,
        ": there are no rows; expected 'label index:value ...' on each line",
    ),
    (
        "overflow",
        {},
        e.NumberOverflowError,
        ":2: the value is out of the range of float64 ('2:1e999'); expected a magnitude below 1.8e308",
    ),
    (
        "overflow_label",
        {},
        e.NumberOverflowError,
        ":2: the label is out of the range of float64 ('-1e999'); expected a magnitude below 1.8e308",
    ),
    (
        "precomputed_gap",
        PRECOMPUTED,
        e.PrecomputedRowError,
        ":1: index 3 in the row; expected 2 there, without gaps",
    ),
    (
        "precomputed_no_serial",
        PRECOMPUTED,
        e.PrecomputedRowError,
        ":1: no 0:serial at the start of the row; expected 0:serial 1:value 2:value ...",
    ),
    (
        "precomputed_short",
        PRECOMPUTED,
        e.PrecomputedRowError,
        ":2: 1 value in the row; expected 2 as in the first row",
    ),
    ("qid_bad", {}, e.QidError, ":1: the qid is not an integer ('qid:seven'); expected qid:number"),
    ("qid_late", {}, e.QidError, ":1: qid: after an entry ('qid:7'); expected it directly after the label"),
    (
        "semicolons",
        {},
        e.CommaSeparatedError,
        ":1: fields separated by ';' ('1;0,5;1'); expected label index:value ...; for dense rows use `dense`",
    ),
    (
        "text_label",
        {},
        e.BadLabelError,
        ":2: the label is not a number ('cat'); expected a number; map text labels to numbers first",
    ),
    ("two_colons", {}, e.BadValueError, ":2: the value is not a number ('2:1:3'); expected a decimal number"),
    (
        "unknown_label",
        {},
        e.BadLabelError,
        ":2: unknown label ('?'); expected a number; any number will do for rows that are only predicted",
    ),
    (
        "unsorted",
        {},
        e.UnsortedIndexError,
        ":2: index 2 after 3 ('2:0.5'); expected ascending indices; `lenient` sorts",
    ),
    ("utf16", {}, e.EncodingError, ":1: UTF-16 text; expected ASCII or UTF-8"),
    (
        "value_text",
        {},
        e.BadValueError,
        ":2: the value is not a number ('2:high'); expected a decimal number",
    ),
    ("zip", {}, e.UnsupportedCompressionError, ": packed with zip; expected plain text, gzip, bzip2 or xz"),
    ("zstd", {}, e.CompressedDataError, ": the zstd data ends early; expected a whole file"),
]

# file, options, labels, rows as {index: value}, notes
ACCEPTED: list[tuple[str, dict[str, Any], list[float], list[dict[int, float]], Notes]] = [
    ("blanks", {}, [1.0, -1.0, 1.0], [{1: 0.5, 2: 1.0}, {2: 1.0, 3: 2.0}, {1: 1.0}], Notes()),
    ("bom", {}, [1.0, -1.0], [{1: 0.5, 2: 1.0}, {2: 1.0}], Notes(byte_order_mark=1)),
    (
        "blank_unlabelled",
        {"labelled": False},
        [math.nan] * 4,
        [{1: 0.5, 2: 1.0}, {}, {2: 1.0}, {}],
        Notes(blank_rows=2),
    ),
    ("bzip2", {}, [1.0, -1.0], [{1: 0.5, 2: 1.0}, {2: 1.0}], Notes()),
    ("comment_colon", {}, [1.0, -1.0], [{1: 0.5, 2: 1.0}, {2: 1.0}], Notes(line_comments=1)),
    ("comment_end", {}, [1.0, -1.0], [{1: 0.5, 2: 1.0}, {2: 1.0}], Notes(line_comments=1)),
    ("comment_line", {}, [1.0, -1.0], [{1: 0.5, 2: 1.0}, {2: 1.0}], Notes(comment_lines=1)),
    ("crlf", {}, [1.0, 1.0, -1.0], [{1: 0.5, 2: 1.0}, {}, {2: 1.0}], Notes()),
    ("denormal", {}, [1.0, -1.0], [{1: 0.5, 2: 1.0}, {2: 1e-320}], Notes()),
    ("dense", DENSE, [1.0, -1.0], [{1: 0.5, 3: 2.0}, {2: 0.25, 3: 1.0}], Notes()),
    ("dense_label_shift", DENSE, [1.0, -1.0], [{1: 0.5, 2: 0.25}, {1: 1.0}], Notes()),
    ("double_labels", {}, [1.5, 3000000000.0, -0.001], [{1: 1.0}, {1: 2.0}, {}], Notes()),
    ("gzip", {}, [1.0, -1.0], [{1: 0.5, 2: 1.0}, {2: 1.0}], Notes()),
    ("index_int32", {}, [1.0, -1.0], [{1: 0.5, 2: 1.0}, {2147483647: 0.5}], Notes()),
    ("label_only", {}, [1.0, -1.0], [{}, {}], Notes()),
    ("no_last_newline", {}, [1.0, -1.0], [{1: 0.5, 2: 1.0}, {2: 1.0}], Notes()),
    ("precomputed", PRECOMPUTED, [1.0, -1.0], [{0: 1.0, 1: 2.0, 2: 3.0}, {0: 2.0, 1: 3.0, 2: 4.0}], Notes()),
    ("qid", {}, [1.0, -1.0], [{1: 0.5, 2: 1.0}, {2: 1.0}], Notes(qid_tokens=2)),
    (
        "serial_unknown",
        PRECOMPUTED,
        [1.0, -1.0],
        [{0: 0.0, 1: 2.0, 2: 3.0}, {0: 0.0, 1: 4.0, 2: 5.0}],
        Notes(unknown_serials=2),
    ),
    ("xz", {}, [1.0, -1.0], [{1: 0.5, 2: 1.0}, {2: 1.0}], Notes()),
]

LENIENT = [
    ("unsorted", [1.0, -1.0], [{1: 0.5, 2: 1.0}, {2: 0.5, 3: 1.0}], Notes(sorted_rows=1)),
    ("blank_line", [1.0, -1.0], [{1: 0.5, 2: 1.0}, {2: 1.0}], Notes(blank_lines=1)),
]


def entries(data: Any, first: int) -> list[dict[int, float]]:
    rows = data.rows
    return [
        dict(zip((rows.indices[a:b] + first).tolist(), rows.values[a:b].tolist(), strict=True))
        for a, b in zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
    ]


@pytest.mark.parametrize(("name", "options", "kind", "message"), REFUSED, ids=[row[0] for row in REFUSED])
def test_refused(
    name: str,
    options: dict[str, Any],
    kind: type[e.InputError],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(DATA)
    with pytest.raises(kind) as whole:
        read_svmlight(name, **options)
    assert (type(whole.value), str(whole.value)) == (kind, name + message)
    # The same in pieces, and through a file object.
    with pytest.raises(kind) as streamed, open(name, "rb") as file:
        list(stream_svmlight(file, chunk_bytes=7, **options))
    assert str(streamed.value) == name + message


@pytest.mark.parametrize(
    ("name", "options", "labels", "rows", "notes"), ACCEPTED, ids=[row[0] for row in ACCEPTED]
)
def test_accepted(
    name: str, options: dict[str, Any], labels: list[float], rows: list[dict[int, float]], notes: Notes
) -> None:
    data = read_svmlight(DATA / name, **options)
    np.testing.assert_array_equal(data.labels, labels)
    assert entries(data, 0 if "precomputed" in options else 1) == rows
    assert data.notes == notes
    assert data.rows.indptr[-1] == len(data.rows.indices) == len(data.rows.values)


@pytest.mark.parametrize(("name", "labels", "rows", "notes"), LENIENT, ids=[row[0] for row in LENIENT])
def test_lenient(name: str, labels: list[float], rows: list[dict[int, float]], notes: Notes) -> None:
    data = read_svmlight(DATA / name, lenient=True)
    assert (data.labels.tolist(), entries(data, 1), data.notes) == (labels, rows, notes)


@pytest.mark.parametrize("name", ["duplicate", "duplicate_apart"])
def test_lenient_does_not_choose_between_duplicates(name: str) -> None:
    with pytest.raises(e.DuplicateIndexError) as caught:
        read_svmlight(DATA / name, lenient=True)
    assert str(caught.value).endswith(":2: index twice in the row ('2:0.5'); expected every index once")


def test_zero_based_takes_index_zero() -> None:
    data = read_svmlight(DATA / "index_zero", zero_based=True)
    assert entries(data, 0) == [{1: 0.5, 2: 1.0}, {0: 1.0, 2: 0.5}]
    assert data.rows.n_columns == 3


def test_precomputed_is_only_read_as_such() -> None:
    with pytest.raises(e.ZeroIndexError):
        read_svmlight(DATA / "precomputed")
    with pytest.raises(e.ZeroIndexError):
        read_svmlight(DATA / "serial_unknown")


def test_every_file_is_in_a_table() -> None:
    assert {p.name for p in DATA.iterdir()} == {row[0] for row in REFUSED} | {row[0] for row in ACCEPTED}
    assert len(REFUSED) + len(ACCEPTED) == len({row[0] for row in [*REFUSED, *ACCEPTED]})


def test_every_rule_has_a_file() -> None:
    rules = {
        kind for kind in vars(e).values() if isinstance(kind, type) and issubclass(kind, e.DataFormatError)
    }
    shown = {row[2] for row in REFUSED}
    # Files that would be too large, and rules that are tested elsewhere.
    assert rules - shown == {e.DataFormatError, e.LineTooLongError, e.MissingIndexError}
