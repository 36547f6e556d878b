"""One small file for every kind of fault in LIBSVM data files, with the exact message.

Most of them crash or mislead one of LIBSVM, scikit-learn, LIBSVM's Python reader, checkdata.py or approxsvm:
the names describe the fault.
"""

from __future__ import annotations

import csv
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


def refused() -> list[tuple[str, dict[str, bool], str]]:
    """Return the files of bad/data.tsv, with options and the message after the path."""
    with DATA.with_suffix(".tsv").open(encoding="utf-8", newline="") as file:
        _, *rows = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
    return [
        (name, {word.removeprefix("un"): not word.startswith("un") for word in words.split()}, message)
        for name, words, message in rows
    ]


REFUSED = refused()

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
