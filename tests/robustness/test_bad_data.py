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
from reading import arguments

from svmfast import errors as e
from svmfast.formats._svmlight_errors import _RULES
from svmfast.formats.svmlight import Notes, read_svmlight, stream_svmlight
from svmfast.options import Reading

DATA = Path(__file__).parent / "bad" / "data"
DENSE, PRECOMPUTED = {"dense": True}, {"precomputed": True}

# Errors of a class of its own; all others are DataFormatErrors.
KINDS: dict[str, type[e.InputError]] = {
    **dict.fromkeys(("gzip_damaged", "gzip_short", "gzip_trailing", "zip", "zstd"), e.InputError),
    **dict.fromkeys(("empty", "only_comments"), e.EmptyDataError),
    "model": e.DataFormatError,
}

# file, options, message after the path
REFUSED: list[tuple[str, dict[str, Any], str]] = [
    (
        "binary",
        {},
        ":1: NUL byte ('\\x00\\x01\\x02\\x03\\x04\\x05\\x06\\x07\\x08'); expected text, not a binary file",
    ),
    (
        "blank_after_colon",
        {},
        ":2: no value after ':' ('1:'); expected index:value without blanks",
    ),
    ("blank_before_colon", {}, ":2: no ':' in the entry ('1'); expected index:value"),
    (
        "blank_line",
        {},
        ":2: blank line; expected a label on every line; `lenient` skips blank lines",
    ),
    (
        "blank_dense_unlabelled",
        {"dense": True, "labelled": False},
        ":2: blank line; expected value value ... on every line; `lenient` skips blank lines",
    ),
    ("colon_missing_end", {}, ":2: no ':' in the entry ('3'); expected index:value"),
    ("colon_missing_middle", {}, ":2: no ':' in the entry ('2'); expected index:value"),
    (
        "cr_only",
        {},
        ":1: carriage return inside a line; expected \\n or \\r\\n at line ends; fix with tr '\\r' '\\n'",
    ),
    (
        "csv",
        {},
        ":1: fields separated by ',' ('1,0.5,1'); expected label index:value ...; for dense rows use `dense`",
    ),
    (
        "csv_header",
        {},
        ":1: fields separated by ',' ('label,x'); expected label index:value ...; for dense rows use `dense`",
    ),
    ("decimal_comma", {}, ":2: decimal comma ('1:0,7'); expected a point: 1:0.7"),
    (
        "decimal_comma_label",
        {},
        ":2: comma in the label ('0,5'); expected one number, decimals with a point",
    ),
    (
        "dense_decimal_comma",
        DENSE,
        ":1: fields separated by ';' ('1;0'); expected label index:value ...; for dense rows use `dense`",
    ),
    (
        "dense_empty_field",
        DENSE,
        ":2: empty field; expected a number between any two separators, 0 for zero",
    ),
    (
        "dense_header",
        DENSE,
        ":1: the label is not a number ('label'); expected a number; map text labels to numbers first",
    ),
    (
        "dense_is_sparse",
        DENSE,
        ":1: index:value in a dense row ('1:0.5'); expected label value value ...; drop `dense`",
    ),
    (
        "dense_mixed",
        DENSE,
        ":1: commas and blanks both separate fields (',5'); expected one of them, and a point in decimals",
    ),
    ("dense_nan", DENSE, ":1: the value is not finite ('nan'); expected a finite number"),
    (
        "dense_no_values",
        DENSE,
        ":1: no values after the label; expected label value value ...",
    ),
    ("dense_ragged", DENSE, ":2: 1 value in the row; expected 2 as in the first row"),
    (
        "dense_row",
        {},
        ":1: no ':' in the row ('0.7'); expected index:value; it looks dense: use `dense`",
    ),
    (
        "dense_trailing_comma",
        DENSE,
        ":1: empty field; expected a number between any two separators, 0 for zero",
    ),
    (
        "duplicate",
        {},
        ":2: index twice in the row ('2:0.5'); expected every index once",
    ),
    (
        "duplicate_apart",
        {},
        ":2: index twice in the row ('2:0.5'); expected every index once",
    ),
    ("empty", {}, ": there are no rows; expected 'label index:value ...' on each line"),
    ("gzip_damaged", {}, ": the gzip data is damaged; expected a whole file"),
    ("gzip_short", {}, ": the gzip data ends early; expected a whole file"),
    (
        "gzip_trailing",
        {},
        ": other bytes after the gzip data; expected nothing there",
    ),
    ("hex", {}, ":2: the value is hexadecimal ('2:0x10'); expected a decimal number"),
    ("hex_label", {}, ":2: the label is hexadecimal ('0x1'); expected a decimal number"),
    (
        "index_1e20",
        {},
        ":2: index too large ('100000000000000000000:1'); expected at most 2147483647",
    ),
    (
        "index_2147483648",
        {},
        ":2: index too large ('2147483648:1'); expected at most 2147483647",
    ),
    (
        "index_2147483649",
        {},
        ":2: index too large ('2147483649:1'); expected at most 2147483647",
    ),
    (
        "index_4294967298",
        {},
        ":2: index too large ('4294967298:1'); expected at most 2147483647",
    ),
    (
        "index_exponent",
        {},
        ":2: the index is not an integer ('1e20:1'); expected index:value with an integer from 1",
    ),
    (
        "index_fraction",
        {},
        ":2: the index is not an integer ('1.5:1'); expected index:value with an integer from 1",
    ),
    (
        "index_hex",
        {},
        ":2: the index is hexadecimal ('0x2:1'); expected a decimal number",
    ),
    ("index_negative", {}, ":2: negative index ('-2:1'); expected integers from 1"),
    (
        "index_text",
        {},
        ":2: the index is not an integer ('age:41'); expected index:value with an integer from 1",
    ),
    (
        "index_zero",
        {},
        ":2: index 0 ('0:1'); expected integers from 1; for indices from 0 use `zero_based`",
    ),
    (
        "inf_label",
        {},
        ":2: the label is not finite ('Infinity'); expected a finite number",
    ),
    (
        "infected_label",
        {},
        ":2: the label is not a number ('infected'); expected a number; map text labels to numbers first",
    ),
    ("inf_value", {}, ":2: the value is not finite ('2:-inf'); expected a finite number"),
    (
        "latin1",
        {},
        ":2: the value is not a number ('2:\\xe9t\\xe9'); expected a decimal number",
    ),
    (
        "long_token",
        {},
        ":2: the value is not a number ('2:" + "x" * 55 + "...'); expected a decimal number",
    ),
    (
        "multilabel",
        {},
        ":2: comma in the label ('1,2'); expected one number, decimals with a point",
    ),
    ("nan_label", {}, ":2: the label is not finite ('nan'); expected a finite number"),
    ("nan_value", {}, ":2: the value is not finite ('2:nan'); expected a finite number"),
    (
        "labels_unlabelled",
        {"labelled": False},
        ":2: no ':' in the row's first entry ('1'); expected index:value; rows with labels are read without "
        "`unlabelled`",
    ),
    (
        "model",
        {},
        ":1: a model, not data ('svm_type'); expected label index:value ...",
    ),
    (
        "no_label",
        {},
        ":1: no label before the first entry ('1:0.5'); expected label index:value ...; rows without labels "
        "need `unlabelled`, if the command has it",
    ),
    ("nul", {}, ":2: NUL byte ('2:\\x001'); expected text, not a binary file"),
    (
        "only_comments",
        {},
        ": there are no rows; expected 'label index:value ...' on each line",
    ),
    (
        "overflow",
        {},
        ":2: the value is out of the range of float64 ('2:1e999'); expected a magnitude below 1.8e308",
    ),
    (
        "overflow_label",
        {},
        ":2: the label is out of the range of float64 ('-1e999'); expected a magnitude below 1.8e308",
    ),
    (
        "precomputed_gap",
        PRECOMPUTED,
        ":1: index 3 in the row; expected 2 there, without gaps",
    ),
    (
        "precomputed_no_serial",
        PRECOMPUTED,
        ":1: no 0:serial at the start of the row; expected 0:serial 1:value 2:value ...",
    ),
    (
        "precomputed_short",
        PRECOMPUTED,
        ":2: 1 value in the row; expected 2 as in the first row",
    ),
    ("qid_bad", {}, ":1: the qid is not an integer ('qid:seven'); expected qid:number"),
    (
        "qid_late",
        {},
        ":1: qid: after an entry ('qid:7'); expected it directly after the label",
    ),
    (
        "semicolons",
        {},
        ":1: fields separated by ';' ('1;0,5;1'); expected label index:value ...; for dense rows use `dense`",
    ),
    (
        "text_label",
        {},
        ":2: the label is not a number ('cat'); expected a number; map text labels to numbers first",
    ),
    (
        "two_colons",
        {},
        ":2: the value is not a number ('2:1:3'); expected a decimal number",
    ),
    (
        "unknown_label",
        {},
        ":2: unknown label ('?'); expected a number; any number will do for rows that are only predicted",
    ),
    (
        "unsorted",
        {},
        ":2: index 2 after 3 ('2:0.5'); expected ascending indices; `lenient` sorts",
    ),
    ("utf16", {}, ":1: UTF-16 text; expected ASCII or UTF-8"),
    (
        "value_text",
        {},
        ":2: the value is not a number ('2:high'); expected a decimal number",
    ),
    ("zip", {}, ": packed with zip; expected plain text, gzip, bzip2 or xz"),
    ("zstd", {}, ": the zstd data ends early; expected a whole file"),
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


@pytest.mark.parametrize(("name", "options", "message"), REFUSED, ids=[row[0] for row in REFUSED])
def test_refused(name: str, options: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(DATA)
    kind = KINDS.get(name, e.DataFormatError)
    with pytest.raises(kind) as whole:
        read_svmlight(name, **arguments(**options))
    assert (type(whole.value), str(whole.value)) == (kind, name + message)
    # The same in pieces, and through a file object.
    with pytest.raises(kind) as streamed, open(name, "rb") as file:
        list(stream_svmlight(file, chunk_bytes=7, **arguments(**options)))
    assert str(streamed.value) == name + message


@pytest.mark.parametrize(
    ("name", "options", "labels", "rows", "notes"), ACCEPTED, ids=[row[0] for row in ACCEPTED]
)
def test_accepted(
    name: str, options: dict[str, Any], labels: list[float], rows: list[dict[int, float]], notes: Notes
) -> None:
    data = read_svmlight(DATA / name, **arguments(**options))
    np.testing.assert_array_equal(data.labels, labels)
    assert entries(data, 0 if "precomputed" in options else 1) == rows
    assert data.notes == notes
    assert data.rows.indptr[-1] == len(data.rows.indices) == len(data.rows.values)


@pytest.mark.parametrize(("name", "labels", "rows", "notes"), LENIENT, ids=[row[0] for row in LENIENT])
def test_lenient(name: str, labels: list[float], rows: list[dict[int, float]], notes: Notes) -> None:
    data = read_svmlight(DATA / name, Reading(lenient=True))
    assert (data.labels.tolist(), entries(data, 1), data.notes) == (labels, rows, notes)


@pytest.mark.parametrize("name", ["duplicate", "duplicate_apart"])
def test_lenient_does_not_choose_between_duplicates(name: str) -> None:
    with pytest.raises(e.DataFormatError) as caught:
        read_svmlight(DATA / name, Reading(lenient=True))
    assert str(caught.value).endswith(":2: index 2 twice in the row; expected every index once")


def test_zero_based_takes_index_zero() -> None:
    data = read_svmlight(DATA / "index_zero", Reading(zero_based=True))
    assert entries(data, 0) == [{1: 0.5, 2: 1.0}, {0: 1.0, 2: 0.5}]
    assert data.rows.n_columns == 3


def test_precomputed_is_only_read_as_such() -> None:
    with pytest.raises(e.DataFormatError, match=r":1: index 0 \('0:1'\)"):
        read_svmlight(DATA / "precomputed")
    with pytest.raises(e.DataFormatError, match=r":1: index 0 \('0:\?'\)"):
        read_svmlight(DATA / "serial_unknown")


def test_every_file_is_in_a_table() -> None:
    assert {p.name for p in DATA.iterdir()} == {row[0] for row in REFUSED} | {row[0] for row in ACCEPTED}
    assert len(REFUSED) + len(ACCEPTED) == len({row[0] for row in [*REFUSED, *ACCEPTED]})


def test_every_rule_has_a_file() -> None:
    unseen = {what for what, _ in _RULES.values() if not any(f": {what}" in row[2] for row in REFUSED)}
    assert unseen == {"no index before ':'"}  # tested in tests/unit/test_svmlight.py
