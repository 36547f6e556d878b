"""One small file for every kind of fault in LIBSVM's data and model files, with the exact message.

Most of them crash or mislead one of LIBSVM, scikit-learn, LIBSVM's Python reader, checkdata.py or approxsvm:
the names describe the fault.
"""

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

# Errors of a class of its own; all others are DataFormatErrors.
KINDS = {
    **dict.fromkeys(("gzip_damaged", "gzip_short", "gzip_trailing", "zip", "zstd"), e.InputError),
    **dict.fromkeys(("empty", "only_comments"), e.EmptyDataError),
}


#: Files, with options and the message after the path.
REFUSED = cells_of(BAD / "data.tsv")[1:]
#: Files, with options, labels, rows of index:value, and notes.
ACCEPTED = cells_of(BAD / "accepted.tsv")[1:]


def options_of(words):
    return {word.removeprefix("un"): not word.startswith("un") for word in words.split()}


def entries(data, first):
    rows = data.rows
    return [
        dict(zip((rows.indices[a:b] + first).tolist(), rows.values[a:b].tolist(), strict=True))
        for a, b in pairwise(rows.indptr)
    ]


@pytest.mark.parametrize(("name", "words", "message"), REFUSED, ids=[row[0] for row in REFUSED])
def test_refused(name, words, message, monkeypatch):
    monkeypatch.chdir(DATA)
    kind, options = KINDS.get(name, e.DataFormatError), options_of(words)
    with pytest.raises(kind) as whole:
        read_svmlight(name, **arguments(**options))
    assert (type(whole.value), str(whole.value)) == (kind, name + message)
    # The same in pieces, and through a file object.
    with pytest.raises(kind) as streamed, open(name, "rb") as file:
        list(stream_svmlight(file, chunk_bytes=7, **arguments(**options)))
    assert str(streamed.value) == name + message


@pytest.mark.parametrize(("name", "words", "labels", "rows", "notes"), ACCEPTED)
def test_accepted(name, words, labels, rows, notes):
    options = options_of(words)
    first = 0 if {"precomputed", "zero_based"} & options.keys() else 1
    data = read_svmlight(DATA / name, **arguments(**options))
    np.testing.assert_array_equal(data.labels, np.array(labels.split(), float))
    pairs = [[pair.split(":") for pair in row.split()] for row in rows.split(";")]
    expected = [{int(index): float(value) for index, value in row} for row in pairs]
    assert entries(data, first) == expected
    assert data.notes == Notes(**{name: int(n) for name, n in (note.split("=") for note in notes.split())})
    assert data.rows.indptr[-1] == len(data.rows.indices) == len(data.rows.values)
    assert data.rows.n_columns == max((index + 1 for row in expected for index in row), default=first) - first


@pytest.mark.parametrize("name", ["duplicate", "duplicate_apart"])
def test_lenient_does_not_choose_between_duplicates(name):
    with pytest.raises(e.DataFormatError, match=r":2: index 2 twice in the row; expected every index once$"):
        read_svmlight(DATA / name, Reading(lenient=True))


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
    assert {p.name for p in DATA.iterdir()} == {row[0] for row in (*REFUSED, *ACCEPTED)}
    unseen = {what for what, _ in _RULES.values() if not any(f": {what}" in row[2] for row in REFUSED)}
    assert unseen == {"no index before ':'"}  # tested in tests/unit/test_svmlight.py
