"""The target `containers` of scripts/fuzz/inputs: damaged files of other libraries' formats.

Estimators of skops and tables (Parquet, Arrow, CSV), small, with changed bytes. Most
changed archives have correct checksums, so that the change reaches the code that reads the member. Each is
read, and its content is used: a model predicts, the kept columns of a table become Python objects. The first
byte of an input is its kind. The input that is being read is in build/fuzz/containers-reading; a crash leaves
it there.
"""

from __future__ import annotations

import io
import random
import struct
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import ipc, parquet

from svmfast.errors import SvmfastError
from svmfast.formats.data import stream_data
from svmfast.importers.files import model_of_file
from svmfast.models.scaling import Scaling
from svmfast.options import Reading
from svmfast.rows import Rows

SKOPS, TABLE = b"s", b"t"
EDGES = (0, 1, -1, 2, 127, 2**31 - 1, -(2**31), 2**40, 2**63 - 1, -(2**63))
NAMES = ("setosa", "versicolor", "virginica")
SCALING = Scaling(np.zeros(4), np.ones(4), None, tuple("abcd"), NAMES, class_labels=(0, 1, 2))
ROWS = Rows.from_dense([[0.5, -1.0, 0.0, 2.0], [0.0] * 4])


def seeds() -> list[bytes]:
    """Return a small input of each form."""
    import skops.io
    from scipy import sparse
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MinMaxScaler
    from sklearn.svm import SVC

    chance = np.random.default_rng(0)
    x, y = chance.normal(size=(12, 4)), np.array(list("abc") * 4)
    csc = SVC(gamma=0.5).fit(sparse.csr_matrix(x), y)
    csc.support_vectors_ = csc.support_vectors_.tocsc()
    machines = [SVC().fit(x, y), csc, make_pipeline(MinMaxScaler(), SVC()).fit(x, y)]
    found = [SKOPS + skops.io.dumps(machine) for machine in machines]

    words = pa.array([*NAMES, "setosa"])
    numbers = pa.array([0.5, 1.5, -2.0, 0.0])
    table = pa.table(
        {
            **{"label": words, "a": numbers, "b": pa.array([1, 2, 3, 4], pa.int32())},
            **{"c": numbers.dictionary_encode(), "d": pa.array([True, False, True, True])},
            **{"word": words, "coded": words.dictionary_encode(), "list": pa.array([[1], [], [3], None])},
        }
    )
    for new in (ipc.new_file, ipc.new_stream):
        out = io.BytesIO()
        with new(out, table.schema) as writer:
            writer.write_table(table)
        found.append(TABLE + out.getvalue())
    out = io.BytesIO()
    parquet.write_table(table, out, compression="none")
    found.append(TABLE + out.getvalue())
    found.append(TABLE + b"label,a,b,c,d,word,coded,list\nsetosa,1,2,3,4,x,y,z\nversicolor,1,2,3,4,x,y,z\n")
    return found


def change(text: bytes, whole: list[bytes], chance: random.Random) -> bytes:
    """Return an input with a few changes, mostly one of the whole files; its kind stays the same."""
    text = text if chance.random() < 0.2 else chance.choice(whole)
    return text[:1] + _changed(text[1:], chance)


def _changed(text: bytes, chance: random.Random) -> bytes:
    if text.startswith(b"PK") and chance.random() < 0.7:
        try:
            with zipfile.ZipFile(io.BytesIO(text)) as archive:
                members = {name: archive.read(name) for name in archive.namelist()}
        except Exception:
            members = {}
        if members:
            name = chance.choice([*members])
            members[name] = _changed(members[name], chance)
            out = io.BytesIO()
            with zipfile.ZipFile(out, "w") as archive:
                for one, content in members.items():
                    archive.writestr(one, content)
            return out.getvalue()
    changed = bytearray(text)
    # Most members of an archive are short arrays of NumPy: mostly change their numbers.
    first = 128 if text.startswith(b"\x93NUMPY") and chance.random() < 0.9 else 0
    for _ in range(chance.choice((1, 1, 2, 3))):
        at, how = chance.randint(min(first, len(changed)), len(changed)), chance.randrange(6)
        if how < 2:
            wide = chance.choice(("<i", "<q"))
            value = chance.choice([v for v in EDGES if wide == "<q" or -(2**31) <= v < 2**31])
            at -= at % 4  # integers of Arrow and NumPy are aligned
            changed[at : at + struct.calcsize(wide)] = struct.pack(wide, value)
        elif how == 2 and at < len(changed):
            changed[at] = chance.randrange(256)
        elif how == 3:
            del changed[at : at + chance.choice((1, 8, 64))]
        elif how == 4:
            changed[at:at] = changed[: chance.choice((1, 8, 64))]
        elif at < len(changed):
            changed[at] ^= 1 << chance.randrange(8)
    return bytes(changed)


def reader(folder: Path) -> Callable[[bytes], str]:
    """Return a function that reads an input and returns the kind of answer."""
    folder.mkdir(parents=True, exist_ok=True)
    place = folder / "containers-reading"

    def read(text: bytes) -> str:
        place.write_bytes(text[1:])
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                _use(text[:1], text[1:], place)
        except SvmfastError as error:
            if error.exit_code != 2 or "\n" in str(error):
                raise AssertionError(f"not one line with status 2: {error}") from error
            return type(error).__name__ + str(error).removeprefix(str(place))[:60]
        return "read"

    return read


def _use(kind: bytes, text: bytes, place: Path) -> None:
    if kind == SKOPS:
        model, _ = model_of_file(place, memory=200_000_000)
        model.decision_values(ROWS)
    else:
        with stream_data(text, Reading(scale=SCALING), keep=("word", "coded", "list")) as stream:
            for block in stream:
                block.kept.to_pylist()
