"""Broken LIBSVM models: each file of bad/models is refused with its own message, word for word."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from svmfast import errors
from svmfast.formats.libsvm_model import libsvm_model_bytes, parse_libsvm_model
from svmfast.formats.model_files import load_model

BAD = Path(__file__).parent / "bad" / "models"
MODELS = Path(__file__).parents[2] / "fixtures" / "models"


def table() -> list[list[str]]:
    with (BAD / "EXPECTED.tsv").open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))[1:]


@pytest.mark.parametrize(("name", "message"), table(), ids=lambda cell: cell.split(".")[0])
def test_a_broken_model_is_refused_with_its_own_message(name: str, message: str) -> None:
    with pytest.raises(errors.ModelFormatError) as caught:
        load_model(BAD / name)
    assert str(caught.value) == f"{BAD}/{message}"
    assert caught.value.exit_code == 2


def test_the_table_lists_every_file() -> None:
    assert sorted(row[0] for row in table()) == sorted(p.name for p in BAD.glob("*.model"))


NAMES = ["iris_c_rbf_prob", "tie_one_class", "iris_precomputed", "diabetes_eps_rbf_prob", "single_class"]
TEXTS = [b"".join((MODELS / f"{name}.model").read_bytes().splitlines(keepends=True)[:18]) for name in NAMES]
PIECES = [b"", b" ", b"\n", b"\r", b":", b"-", b"0", b"9", b"e", b".", b"nan", b"SV", b"nr_class 2\n", b"\0", b"\xff", b"1e999"]  # fmt: skip # noqa: E501


@settings(max_examples=8 * settings.default.max_examples)
@given(st.data())
def test_no_damage_crashes_or_passes_for_something_else(data: st.DataObject) -> None:
    text = bytearray(data.draw(st.sampled_from(TEXTS)))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text)))
        text[at : at + data.draw(st.sampled_from([0, 0, 1, 2, 40]))] = data.draw(st.sampled_from(PIECES))
    try:
        model, _ = parse_libsvm_model(bytes(text), "m")
    except errors.ModelFormatError:
        return
    once = libsvm_model_bytes(model)
    assert libsvm_model_bytes(parse_libsvm_model(once, "m")[0]) == once


@settings(max_examples=8 * settings.default.max_examples)
@given(st.sampled_from(TEXTS), st.data())
def test_truncation_is_noticed_at_every_byte(text: bytes, data: st.DataObject) -> None:
    """A file cut anywhere before its last line end: an error, or at least a warning."""
    full = (MODELS / "iris_c_rbf_prob.model").read_bytes()
    cut = data.draw(st.integers(0, len(full) - 1))
    try:
        model, warnings = parse_libsvm_model(full[:cut], "m")
    except errors.ModelFormatError:
        return
    assert warnings
    assert libsvm_model_bytes(model).startswith(full[: full.rindex(b"\n", 0, -1)])
