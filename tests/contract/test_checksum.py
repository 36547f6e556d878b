"""The checksum of a model file: a file that was changed is refused."""

from __future__ import annotations

import hashlib
import re
import struct
from pathlib import Path

import pytest
from meaning import DAMAGE, meaning
from program import data, model, svmfast
from sealing import resealed

import svmfast as package
from svmfast.errors import ModelChecksumError, ModelFormatError
from svmfast.formats.detect import load_model, model_bytes, open_model
from svmfast.models.cascade import CascadeModel

IRIS = model("iris_c_rbf_prob")


@pytest.fixture(scope="module")
def fast() -> bytes:
    return model_bytes(package.approximate(load_model(IRIS), order=2, embed_exact=True).model)


def edited(text: bytes) -> bytes:
    """Return `text` with another last digit of the first coefficient."""
    found = re.search(rb"(?m)^array coefficients .*\n\S*(\d)", text)
    assert found is not None
    digit = b"%d" % ((int(found[1]) + 1) % 10)
    return text[: found.start(1)] + digit + text[found.end(1) :]


def test_a_changed_coefficient_is_refused_by_every_command(fast: bytes, tmp_path: Path) -> None:
    path = tmp_path / "fast"
    path.write_bytes(edited(fast))
    line = fast.count(b"\n") - 1
    message = (
        f"{path}:{line}: the file was changed after svmfast wrote it: its content has a different checksum; "
        "make the model again with svmfast approximate\n"
    )
    for words in (
        ("predict", data("iris.test"), path),
        ("info", path),
        ("compare", IRIS, path, "--data", data("iris.test")),
        ("bound-check", data("iris.test"), "--model", path),
        ("cascade", path, IRIS, "--data", data("iris.train"), "-o", tmp_path / "both"),
    ):
        done = svmfast(*words)
        assert (done.returncode, done.stdout, done.stderr.decode()) == (2, b"", message)


def test_a_model_inside_another(fast: bytes) -> None:
    exact = load_model(IRIS)
    whole = model_bytes(CascadeModel(load_model(fast), exact, 0.25))  # type: ignore[arg-type]
    changed = edited(whole)
    with pytest.raises(ModelChecksumError) as caught:
        load_model(changed)
    assert caught.value.line is not None
    assert changed.split(b"\n")[caught.value.line - 1].startswith(b"checksum ")
    with pytest.raises(ModelChecksumError):
        load_model(whole.replace(b"\nerror 0.25\n", b"\nerror 0.125\n"))
    sealed = resealed(changed)
    assert sealed != changed
    load_model(sealed)


def test_another_spelling_keeps_the_checksum(fast: bytes) -> None:
    outside, inside = fast.split(b"embedded exact", 1)
    respelled = outside.replace(b"\n", b"\r\n").replace(
        b"array rho float64 3\r\n", b"array rho float64 3\n  "
    )
    respelled = respelled.replace(b"gamma 0.", b"gamma 0000.")
    assert respelled != outside
    loaded = open_model(respelled + b"embedded exact" + inside)
    assert model_bytes(loaded.model) == fast


def test_the_checksum_is_required(fast: bytes) -> None:
    with pytest.raises(ModelFormatError, match="no key 'checksum' before this line"):
        load_model(re.sub(rb"(?m)^checksum .*\n", b"", fast))


def test_the_provenance_is_part_of_the_content(fast: bytes) -> None:
    """Another source would let another exact model answer for this one."""
    with pytest.raises(ModelFormatError):
        load_model(re.sub(rb"(?m)^source sha256:.", b"source sha256:0", fast))
    with pytest.raises(ModelChecksumError):
        load_model(fast.replace(b"parameters order=2", b"parameters order=3"))


def test_the_checksum_by_the_description_of_the_format() -> None:
    """The checksum as docs/model-format.md defines it, computed here independently."""
    made, _ = package.approximate(
        load_model(model("normal_one_rbf")), order=1, certificate="none", force=True
    )
    text = model_bytes(made)
    lines = text.decode().split("\n")
    content = b""
    at = 1
    types = {"gamma": "float", "n_features": "int", "sv_squared_norm": "float"}
    while not lines[at].startswith("checksum"):
        words = lines[at].split()
        at += 1
        if words[0] == "kind":
            content += f"kind {words[1]}\n".encode()
        elif words[0] == "array":
            shape = [int(n) for n in words[3:]]
            count = 1
            for n in shape:
                count *= n
            numbers: list[str] = []
            while len(numbers) < count:
                numbers += lines[at].split()
                at += 1
            content += f"{words[2]} {words[1]} {' '.join(words[3:])}\n".encode()
            code = {"float64": "<d", "int64": "<q", "int32": "<i"}[words[2]]
            for number in numbers:
                content += struct.pack(code, float(number) if code == "<d" else int(number))
        elif words[0] in types:
            kind = types[words[0]]
            content += f"{kind} {words[0]}\n".encode()
            content += (
                struct.pack("<d", float(words[1])) if kind == "float" else struct.pack("<q", int(words[1]))
            )
        else:
            value = lines[at - 1].split(" ", 1)[1].encode()
            content += f"text {words[0]} {len(value)}\n".encode() + value + b"\n"
    assert lines[at] == f"checksum sha256:{hashlib.sha256(content).hexdigest()}"


def test_no_damaged_byte_goes_unnoticed() -> None:
    """An accepted file has its original content."""
    made, _ = package.approximate(load_model(model("normal_one_rbf")), order=1, force=True)
    text = model_bytes(made)
    content = meaning(text)
    for at in range(len(text)):
        for piece in (DAMAGE[at % len(DAMAGE)], bytes([text[at] ^ (1 << at % 8)])):
            damaged = text[:at] + piece + text[at + 1 :]
            try:
                open_model(damaged)
            except ModelFormatError:
                continue
            assert meaning(damaged) == content
