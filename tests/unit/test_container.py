"""svmfast's model files: round trips, refusal of broken files, and identical bytes for equal content."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from meaning import FROZEN, meaning
from sealing import START, packed, resealed, unpacked

from svmfast import errors
from svmfast.formats.container import MAJOR, MINOR, container_bytes, parse_model
from svmfast.formats.model_files import load_model, model_bytes, open_model, save_model
from svmfast.models.base import KINDS, PROVENANCE

TEXT = (FROZEN / "1.0" / "polynomial_one_class.model").read_bytes()
OWN = [p for p in sorted(FROZEN.glob("*/*.model")) if p.read_bytes().startswith(START)]


@pytest.mark.parametrize("path", OWN, ids=lambda p: p.stem)
def test_a_file_round_trips_byte_for_byte(path: Path) -> None:
    text = path.read_bytes()
    assert model_bytes(load_model(text)) == text
    assert packed(unpacked(text)) == text


def test_a_model_through_a_file(tmp_path: Path) -> None:
    size = save_model(load_model(TEXT), tmp_path / "m")
    loaded = open_model(tmp_path / "m")
    assert (len(loaded.text), loaded.format, loaded.text) == (size, "svmfast-model", TEXT)


def test_a_newer_minor_version_is_a_warning() -> None:
    newer = f"{MAJOR}.{MINOR + 1}"
    model, warnings = parse_model(TEXT.replace(b"1.0", newer.encode(), 1), "m")
    message = f"m:1: format version {newer} is newer than {MAJOR}.{MINOR}, which this svmfast supports"
    assert warnings == [message]
    assert container_bytes(model) == TEXT


SIZE = len(TEXT) - TEXT.index(b"\n") - 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            TEXT.replace(b"1.0", b"2.0", 1),
            ":1: format version 2.0; this svmfast reads version 1.x; expected a newer svmfast",
        ),
        (
            b"svmfast-model 0.9\n",
            ":1: format version 0.9; this svmfast reads version 1.x; expected a model converted again",
        ),
        (
            b"svmfast-model one\n",
            ":1: not the first line of an svmfast model ('svmfast-model one'); expected 'svmfast-model 1.0'",
        ),
        (
            b"svmfast-model 1.0\nkind polynomial\n",
            ":1: no size and hash of the content (''); expected 'BYTES sha256:...'",
        ),
        (TEXT[:-1], f": the file ends after {SIZE - 1:,} bytes; expected {SIZE:,} after the first line"),
        (TEXT + b"\n", f": text after the {SIZE:,} bytes of the model; expected the end of the file"),
        (
            TEXT.replace(b"gamma", b"gamna", 1),
            ": the file was changed after svmfast wrote it: its hash differs; expected the model made again",
        ),
    ],
)
def test_a_broken_file_is_refused_with_its_own_message(text: bytes, message: str) -> None:
    with pytest.raises(errors.ModelFormatError) as caught:
        open_model(text)
    assert str(caught.value) == f"<bytes>{message}"


def changed(**parts: Any) -> bytes:
    """Return the file with these parts, None: without."""
    tree = {**unpacked(TEXT), **parts}
    return packed({name: one for name, one in tree.items() if one is not None})


KIND = f"model: unknown kind of model ('cubic'); expected {' or '.join(KINDS)}"


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"kind": "cubic"}, KIND),
        ({"kind": None}, "KeyError: 'kind'"),
        (
            {"gamma": None},
            "TypeError: PolynomialModel.__init__() missing 1 required positional argument: 'gamma'",
        ),
        ({"gamma": "1"}, "gamma: not a finite number; expected one"),
        ({"gamma": float("nan")}, "gamma: not a finite number; expected one"),
        ({"gamma": True}, "gamma: not a finite number; expected one"),
        ({"n_features": 4.0}, "n_features: not of the type int ('4.0'); expected one"),
        ({"about": 1}, "about: not of the type str ('1'); expected one"),
        ({"colour": 1}, "model: an unknown part ('colour'); expected none"),
        ({"rho": [0.5]}, "TypeError"),
        ({"rho": np.zeros(1, np.float32)}, "rho: an array of another type ('float32'); expected float64"),
        ({"rho": np.array([np.inf])}, "rho: nan or inf among the numbers; expected finite numbers"),
        ({"rho": {"dtype": "float64", "shape": [-1]}}, "rho: not a shape ('[-1]'); expected whole numbers"),
        ({"rho": {"dtype": "float64", "shape": [2**31]}}, "rho: not a shape"),
        ({"rho": {"dtype": "float64", "shape": [1] * 4}}, "rho: not a shape ('[1, 1, 1, 1]')"),
        ({"head": [["long"]]}, "head: not an object ('list'); expected one"),
        (
            {"embedded_exact": {"kind": "libsvm", "bytes": True}},
            "embedded_exact: not of the type int ('True')",
        ),
        (
            {"coefficients": {"dtype": "float64", "shape": [2**30]}},
            "coefficients: 8,589,934,592 bytes, but only",
        ),
        (
            {"provenance": {"time": "12:00"}},
            f"provenance: unknown name ('time'); expected {' '.join(PROVENANCE)}",
        ),
        (
            {"provenance": {"seed": "\x07"}},
            "seed: not storable ('\\x07'); expected one line of printable text",
        ),
        ({"embedded_exact": b"svm_type One_class\n"}, "<bytes>:1: unknown svm_type ('One_class')"),
        ({"embedded_exact": {"kind": "libsvm", "bytes": -1}}, "embedded_exact: -1 bytes, but only 0 follow"),
        ({"embedded_exact": {"kind": "libsvm"}}, "TypeError"),
        (
            {"embedded_exact": unpacked(TEXT)},
            "embedded_exact: a model of kind polynomial; expected KernelExpansion",
        ),
    ],
    ids=str,
)
def test_parts_that_are_no_model(parts: dict[str, Any], message: str) -> None:
    with pytest.raises(errors.ModelFormatError) as caught:
        open_model(changed(**parts))
    told = str(caught.value)
    assert told.startswith(f"<bytes>: not a valid model ({message}")
    assert told.endswith("); expected it as svmfast writes it")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{}",
        b"{}\n",
        b"[]\n",
        b'{"kind":"polynomial","kind":"polynomial"}\n',
        b'{"kind":["polynomial"]}\n',
        b"\xff\n",
        b'{"kind":"cascade","fast":' * 2000 + b"}" * 2000 + b"\n",
    ],
)
def test_headers_that_are_no_model(content: bytes) -> None:
    with pytest.raises(errors.ModelFormatError, match="not a valid model"):
        open_model(resealed(START + b"\n" + content))


def test_more_bytes_than_the_arrays_need() -> None:
    with pytest.raises(errors.ModelFormatError, match="bytes after the last array"):
        open_model(resealed(TEXT + b"\0"))


def test_numbers_that_no_file_can_hold() -> None:
    model: Any = load_model(TEXT)
    object.__setattr__(model, "rho", np.array([np.nan]))
    with pytest.raises(errors.ModelContentError, match="rho: nan or inf among the numbers"):
        model_bytes(model)
    object.__setattr__(model, "rho", np.zeros(1, np.float32))
    with pytest.raises(errors.ModelContentError, match="rho: an array of float32; expected float64"):
        model_bytes(model)
    object.__setattr__(model, "gamma", np.inf)
    with pytest.raises(errors.ModelContentError, match="gamma: not storable"):
        model_bytes(model)


PIECES = [b"", b" ", b"\n", b"0", b"-", b"9999999999", b"\0", b"\xff", b"NaN", b"{", b"]", b",1"]


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_no_damage_crashes_or_passes_for_something_else(data: st.DataObject) -> None:
    text = bytearray(TEXT)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(text)))
        piece = data.draw(st.sampled_from(PIECES))
        text[at : at + data.draw(st.sampled_from([0, 0, 1, 5]))] = piece
    again = resealed(bytes(text))
    try:
        written = model_bytes(parse_model(again, "m")[0])
    except errors.ModelFormatError:
        return
    assert meaning(written) == meaning(again)
