"""svmfast's model files: round trips, refusal of broken files and sizes; which file is which."""

import gzip
import hashlib
import itertools
import json
import re
from pathlib import Path

import numpy as np
import pytest
from meaning import FROZEN
from program import cells_of, model
from sealing import START, packed, resealed, unpacked

from svmfast.errors import FileAccessError, ModelContentError, ModelFormatError
from svmfast.formats.container import MAJOR, MINOR, container_bytes, parse_model
from svmfast.formats.detect import detect, file_kind
from svmfast.formats.model_files import load_model, model_bytes, open_model
from svmfast.models.sizes import check_sizes, check_tree, check_width, total_of

TEXT = (FROZEN / "1.0" / "polynomial_one_class.model").read_bytes()
OWN = [p for p in sorted(FROZEN.glob("*/*.model")) if p.read_bytes().startswith(START)]


@pytest.mark.parametrize("path", OWN, ids=lambda p: p.stem)
def test_a_file_round_trips_byte_for_byte(path):
    text = path.read_bytes()
    assert model_bytes(load_model(text)) == text
    assert packed(unpacked(text)) == text


def test_a_newer_minor_version_is_a_warning():
    newer = f"{MAJOR}.{MINOR + 1}"
    model, warnings = parse_model(TEXT.replace(b"1.0", newer.encode(), 1), "m")
    message = f"m:1: format version {newer} is newer than {MAJOR}.{MINOR}, which this svmfast supports"
    assert warnings == [message]
    assert container_bytes(model) == TEXT


SIZE = len(TEXT) - TEXT.index(b"\n") - 1
HEADERS = [
    *(b"", b"{}", b"{}\n", b"[]\n", b'{"kind":["polynomial"]}\n', b"\xff\n"),
    b'{"kind":"polynomial","kind":"polynomial"}\n',
    b'{"kind":"cascade","fast":' * 2000 + b"}" * 2000 + b"\n",
]
CHANGED = ": the file was changed after svmfast wrote it: its hash differs; expected the model made again"
BROKEN = [
    (TEXT.replace(b"1.0", b"2.0", 1), ":1: format version 2.0; this svmfast reads version 1.x; "),
    (b"svmfast-model 0.9\n", ":1: format version 0.9; this svmfast reads version 1.x; "),
    (b"svmfast-model one\n", ":1: not the first line of an svmfast model ('svmfast-model one')"),
    (b"svmfast-model 1.0\nkind polynomial\n", ":1: no size and hash of the content (''); expected "),
    (TEXT[:-1], f": the file ends after {SIZE - 1:,} bytes; expected {SIZE:,} after the first line"),
    (TEXT + b"\n", f": text after the {SIZE:,} bytes of the model; expected the end of the file"),
    (TEXT.replace(b"gamma", b"gamna", 1), CHANGED),
    (resealed(TEXT + b"\0"), ": not a valid model (model: bytes after the last array"),
    (b"\n", ": the file is empty"),
    (b"2 1:3\n", ":1: not a model ('2'); expected it to begin with 'svm_type' or 'svmfast-model'"),
    *((resealed(START + b"\n" + content), ": not a valid model") for content in HEADERS),
]


@pytest.mark.parametrize(("text", "message"), BROKEN)
def test_a_broken_file_is_refused_with_its_own_message(text, message):
    with pytest.raises(ModelFormatError) as caught:
        open_model(text)
    assert str(caught.value).startswith(f"<bytes>{message}")


#: Models, a part with its place, what it becomes (nothing: it is left out), and how the message begins.
CONTRADICTIONS = cells_of(Path(__file__).with_name("contradictions.tsv"))


@pytest.mark.parametrize(CONTRADICTIONS[0], CONTRADICTIONS[1:])
def test_parts_that_are_no_model(model, part, value, message):
    tree = at = unpacked((FROZEN / "1.0" / f"{model}.model").read_bytes())
    *places, name = part.split(".")
    for place in places:
        at = at[place]
    old = at.pop(name, None)
    if value:
        new = json.loads(value)
        at[name] = np.array(new, old.dtype) if isinstance(old, np.ndarray) and isinstance(new, list) else new
    with pytest.raises(ModelFormatError) as caught:
        open_model(packed(tree))
    told = str(caught.value)
    assert told.startswith(f"<bytes>: not a valid model ({message}")
    assert told.endswith("); expected it as svmfast writes it")


def test_only_a_model_of_libsvm_is_embedded():
    for exact, message in (
        (b"svm_type One_class\n", "<bytes>:1: unknown svm_type ('One_class')"),
        (unpacked(TEXT), "embedded_exact: a model of kind polynomial; expected libsvm"),
    ):
        with pytest.raises(ModelFormatError, match=re.escape(f"<bytes>: not a valid model ({message}")):
            open_model(packed({**unpacked(TEXT), "embedded_exact": exact}))


def test_numbers_that_no_file_can_hold():
    for name, value, message in (
        ("rho", np.array([np.nan]), "rho: nan or inf among the numbers"),
        ("rho", np.zeros(1, np.float32), "rho: an array of float32; expected float64"),
        ("gamma", np.inf, "gamma: not storable"),
    ):
        model = load_model(TEXT)
        object.__setattr__(model, name, value)
        with pytest.raises(ModelContentError, match=message):
            model_bytes(model)


EDGES = [s * v for v in (0, 1, 2, 5, 2**31, 2**32, 2**62, 2**63 - 1) for s in (1, -1)] + [-(2**63)]


def is_refused(check, *arguments):
    try:
        check(*arguments)
    except ModelContentError:
        return True
    return False


def test_sizes_trees_and_widths_are_taken_only_where_they_fit():
    taken = 0
    assert total_of(np.zeros(0, np.int64)) == 0
    for values in itertools.product(EDGES, repeat=3):
        array = np.array(values, dtype=np.int64)
        assert total_of(array) == sum(values)
        for total in (0, 2, 5, 7, 2**31):
            fits = min(values) >= 0 and sum(values) == total
            assert is_refused(check_sizes, "sizes", array, 3, total, "cells") == (not fits)
            taken += fits
    assert taken > 10
    for sizes, n in ((np.array([1, 1]), 3), (np.array([[1, 1]]), 2)):
        assert is_refused(check_sizes, "sizes", sizes, n, 2, "cells")
    # Every node of a tree has a parent; columns are 32-bit numbers.
    trees = [[], [1], [0, 0], [0, 2, 0], [3, 0, 0], [2**63 - 1, 2**63 - 1, 4, 0], [-1, 2, 1, 1]]
    trees += [[0], [2, 1, 0, 0]]
    arrays = [np.array(tree, dtype=np.int64) for tree in trees]
    assert [is_refused(check_tree, "children", one) for one in arrays] == [True] * 7 + [False] * 2
    widths = [-1, 2**31, 2**32, 2**63, -(2**31), 2**31 - 1]
    assert [is_refused(check_width, "n_features", one) for one in widths] == [True] * 5 + [False]


def test_the_kind_is_detected_by_the_first_word():
    for kind, starts in {
        "empty": (b"", b" \r\n\n"),
        "libsvm-model": (b"svm_type c_svc\n", b"\xef\xbb\xbfsvm_type c_svc\n", b"\n kernel_type rbf\n"),
        "svmfast-model": (b"svmfast-model 1.0\n", b"svmfast-model 9"),
        "data": (b"+1 1:0.5\n", b"SV\n1 1:0.5\n", b"\xff\xfe"),
    }.items():
        for start in starts:
            assert file_kind(start) == detect(start) == kind


def test_the_hash_is_that_of_the_unpacked_text(tmp_path):
    text = model("iris_c_linear").read_bytes()
    (tmp_path / "m").write_bytes(gzip.compress(text))
    assert open_model(tmp_path / "m").sha256 == open_model(text).sha256 == hashlib.sha256(text).hexdigest()
    with pytest.raises(FileAccessError):
        load_model(tmp_path / "none")
