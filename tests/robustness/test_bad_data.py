"""One small file for every kind of fault in LIBSVM's data and model files, with the exact message.

Most of them crash or mislead one of LIBSVM, scikit-learn, LIBSVM's Python reader, checkdata.py or approxsvm:
the names describe the fault.
"""

import math
import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from program import cells_of
from reading import arguments

from svmfast import errors as e
from svmfast.formats._svmlight_errors import _RULES
from svmfast.formats.model_files import load_model
from svmfast.formats.svmlight import Notes, read_svmlight, stream_svmlight
from svmfast.options import Reading

BAD = Path(__file__).parent / "bad"
DATA = BAD / "data"
DENSE, SQUARE, BARE = {"dense": True}, {"precomputed": True}, {"labelled": False}

# Errors of a class of its own; all others are DataFormatErrors.
KINDS = {
    **dict.fromkeys(("gzip_damaged", "gzip_short", "gzip_trailing", "zip", "zstd"), e.InputError),
    **dict.fromkeys(("empty", "only_comments"), e.EmptyDataError),
}


#: Files, with options and the message after the path.
REFUSED = [
    (name, {word.removeprefix("un"): not word.startswith("un") for word in words.split()}, message)
    for name, words, message in cells_of(BAD / "data.tsv")[1:]
]
TWO = [1.0, -1.0], [{1: 0.5, 2: 1.0}, {2: 1.0}]
#: file: options, labels, rows as {index: value}, notes
ACCEPTED = {
    **{name: ({}, *TWO, Notes()) for name in ("bzip2", "gzip", "xz", "no_last_newline")},
    "bom": ({}, *TWO, Notes(byte_order_mark=1)),
    "comment_colon": ({}, *TWO, Notes(line_comments=1)),
    "comment_end": ({}, *TWO, Notes(line_comments=1)),
    "comment_line": ({}, *TWO, Notes(comment_lines=1)),
    "qid": ({}, *TWO, Notes(qid_tokens=2)),
    "blanks": ({}, [1.0, -1.0, 1.0], [{1: 0.5, 2: 1.0}, {2: 1.0, 3: 2.0}, {1: 1.0}], Notes()),
    "blank_unlabelled": (BARE, [math.nan] * 4, [{1: 0.5, 2: 1.0}, {}, {2: 1.0}, {}], Notes(blank_rows=2)),
    "crlf": ({}, [1.0, 1.0, -1.0], [{1: 0.5, 2: 1.0}, {}, {2: 1.0}], Notes()),
    "denormal": ({}, [1.0, -1.0], [{1: 0.5, 2: 1.0}, {2: 1e-320}], Notes()),
    "dense": (DENSE, [1.0, -1.0], [{1: 0.5, 3: 2.0}, {2: 0.25, 3: 1.0}], Notes()),
    "dense_label_shift": (DENSE, [1.0, -1.0], [{1: 0.5, 2: 0.25}, {1: 1.0}], Notes()),
    "double_labels": ({}, [1.5, 3000000000.0, -0.001], [{1: 1.0}, {1: 2.0}, {}], Notes()),
    "index_int32": ({}, [1.0, -1.0], [{1: 0.5, 2: 1.0}, {2147483647: 0.5}], Notes()),
    "label_only": ({}, [1.0, -1.0], [{}, {}], Notes()),
    "precomputed": (SQUARE, [1.0, -1.0], [{0: 1.0, 1: 2.0, 2: 3.0}, {0: 2.0, 1: 3.0, 2: 4.0}], Notes()),
    "serial_unknown": (SQUARE, [1, -1], [{0: 0, 1: 2, 2: 3}, {0: 0, 1: 4, 2: 5}], Notes(unknown_serials=2)),
}
LENIENT = {
    "unsorted": ([{1: 0.5, 2: 1.0}, {2: 0.5, 3: 1.0}], Notes(sorted_rows=1)),
    "blank_line": ([{1: 0.5, 2: 1.0}, {2: 1.0}], Notes(blank_lines=1)),
}


def entries(data, first=1):
    rows = data.rows
    return [
        dict(zip((rows.indices[a:b] + first).tolist(), rows.values[a:b].tolist(), strict=True))
        for a, b in pairwise(rows.indptr)
    ]


@pytest.mark.parametrize(("name", "options", "message"), REFUSED, ids=[row[0] for row in REFUSED])
def test_refused(name, options, message, monkeypatch):
    monkeypatch.chdir(DATA)
    kind = KINDS.get(name, e.DataFormatError)
    with pytest.raises(kind) as whole:
        read_svmlight(name, **arguments(**options))
    assert (type(whole.value), str(whole.value)) == (kind, name + message)
    # The same in pieces, and through a file object.
    with pytest.raises(kind) as streamed, open(name, "rb") as file:
        list(stream_svmlight(file, chunk_bytes=7, **arguments(**options)))
    assert str(streamed.value) == name + message


@pytest.mark.parametrize("name", ACCEPTED)
def test_accepted(name):
    options, labels, rows, notes = ACCEPTED[name]
    data = read_svmlight(DATA / name, **arguments(**options))
    np.testing.assert_array_equal(data.labels, labels)
    assert entries(data, 0 if "precomputed" in options else 1) == rows
    assert data.notes == notes
    assert data.rows.indptr[-1] == len(data.rows.indices) == len(data.rows.values)


@pytest.mark.parametrize("name", LENIENT)
def test_lenient(name):
    data = read_svmlight(DATA / name, Reading(lenient=True))
    assert (entries(data), data.notes) == LENIENT[name]


@pytest.mark.parametrize("name", ["duplicate", "duplicate_apart"])
def test_lenient_does_not_choose_between_duplicates(name):
    with pytest.raises(e.DataFormatError, match=r":2: index 2 twice in the row; expected every index once$"):
        read_svmlight(DATA / name, Reading(lenient=True))


def test_zero_based_takes_index_zero():
    data = read_svmlight(DATA / "index_zero", Reading(zero_based=True))
    assert entries(data, 0) == [{1: 0.5, 2: 1.0}, {0: 1.0, 2: 0.5}]
    assert data.rows.n_columns == 3


def test_precomputed_is_only_read_as_such():
    for name, token in (("precomputed", "'0:1'"), ("serial_unknown", "'0:?'")):
        with pytest.raises(e.DataFormatError, match=re.escape(f":1: index 0 ({token})")):
            read_svmlight(DATA / name)


MODELS = cells_of(BAD / "models" / "EXPECTED.tsv")[1:]


@pytest.mark.parametrize(("name", "message"), MODELS, ids=lambda cell: cell.split(".")[0])
def test_a_broken_model_is_refused_with_its_own_message(name, message):
    with pytest.raises(e.ModelFormatError) as caught:
        load_model(BAD / "models" / name)
    assert str(caught.value) == f"{BAD}/models/{message}"
    assert caught.value.exit_code == 2


def test_every_file_is_in_a_table_and_every_rule_has_a_file():
    assert sorted(row[0] for row in MODELS) == sorted(p.name for p in BAD.glob("models/*.model"))
    assert sorted(p.name for p in DATA.iterdir()) == sorted([*(row[0] for row in REFUSED), *ACCEPTED])
    unseen = {what for what, _ in _RULES.values() if not any(f": {what}" in row[2] for row in REFUSED)}
    assert unseen == {"no index before ':'"}  # tested in tests/unit/test_svmlight.py
