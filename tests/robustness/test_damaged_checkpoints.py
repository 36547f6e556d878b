"""Checkpoints damaged everywhere, or with content that no run saves: a one-line error, or a continued run.

All of it runs in one child process, so that a write to invalid memory ends the test, not pytest.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from program import PATIENCE, data, svmfast

CHILD = """
import io, json, random, sys, zipfile
import numpy as np
from svmfast.cli.main import run

train = sys.argv[1]
words = ["budget-train", train, "out", "-B", "5", "--passes", "3", "--keep", "best", "--checkpoint", "c"]
raw = open("state", "rb").read()
with np.load("state") as content:
    known = dict(content)
meta = json.loads(known["svmfast_checkpoint"].tobytes())
counts = {0: 0, 2: 0}

def packed(arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()

def go(text, accepted=None):
    open("c", "wb").write(text)
    status = run([*words, "--resume", "-q"])
    assert status in counts and (accepted is None or accepted == (status == 0)), status
    counts[status] += 1

def stated(other):
    return packed({**known, "svmfast_checkpoint": np.frombuffer(json.dumps(other).encode(), np.uint8)})

go(raw, True)
for name, array in known.items():
    if name.startswith(("pair0", "pair1")):
        continue
    others = [array[:0], np.array(["a"]), np.zeros((3, 3)), np.array([{}], dtype=object), array.astype("f4")]
    if array.dtype.kind == "f":
        others += [array * np.nan, array * 0 + 1e300, -5 - array, array * 0, array + 0.5]
        others += [np.where(np.arange(array.size).reshape(array.shape) == i, value, array)
                   for i in range(min(array.size, 16)) for value in (3.5, 1e18, np.nan)]
    for other in others:
        go(packed({**known, name: other}))
    go(packed({key: value for key, value in known.items() if key != name}),
       None if "best" in name else False)
for key, value in meta.items():
    for other in (None, -1, 1 << 70, 1 << 40, "x", [], {}, True, 1.5):
        go(stated({**meta, key: other}))
    go(stated({k: v for k, v in meta.items() if k != key}), False)
for text in (b"[" * 200000, b"[]", b"{", bytes([255])):
    go(packed({**known, "svmfast_checkpoint": np.frombuffer(text, np.uint8)}), False)
for packing in (zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA):  # a small file that would unpack to a large one
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", packing) as out:
        out.writestr("seconds.npy", bytes(1 << 24))
    go(file.getvalue(), False)
names = [name for name in known if name.endswith("_best_coef")]
assert names
best = known[names[0]]
for other in (best[:, None], np.array(1.0), np.full_like(best, np.inf), best[:1]):
    go(packed({**known, names[0]: other}), False)
go(packed({**known, "seconds": known["seconds"] * np.nan}), False)
many = io.BytesIO()  # entries that point to the same bytes unpack to many times the file
with zipfile.ZipFile(many, "w") as out:
    out.writestr("seconds.npy", bytes(1 << 20))
    first = out.filelist[0]
    for i in range(200):
        again = zipfile.ZipInfo(f"seconds{i}.npy")
        for field in ("header_offset", "CRC", "compress_size", "file_size", "compress_type", "flag_bits"):
            setattr(again, field, getattr(first, field))
        out.filelist.append(again)
go(many.getvalue(), False)
file, header = io.BytesIO(), io.BytesIO()
np.lib.format.write_array_header_1_0(header, dict(descr="<f8", fortran_order=False, shape=(10**12,)))
with zipfile.ZipFile(file, "w") as out:
    out.writestr("seconds.npy", header.getvalue() + bytes(80))
go(file.getvalue(), False)
chance = random.Random(1)
for _ in range(60):
    at = chance.randrange(len(raw))
    go(raw[:at] + bytes([raw[at] ^ 1 << chance.randrange(8)]) + raw[at + 1:])
for _ in range(15):
    go(raw[:chance.randrange(len(raw))], False)
print(counts[0], counts[2])
"""


def test_a_damaged_checkpoint_is_refused_in_one_line(tmp_path: Path) -> None:
    iris = data("iris.train")
    words = ("budget-train", "-q", iris, tmp_path / "first", "-B", "5", "--passes", "2", "--keep", "best")
    assert svmfast(*words, "--checkpoint", tmp_path / "state").returncode == 0
    child = [sys.executable, "-c", CHILD, iris]
    done = subprocess.run(child, cwd=tmp_path, capture_output=True, text=True, timeout=120 * PATIENCE)
    assert done.returncode == 0, done.stderr[-2000:]
    went_on, refused = map(int, done.stdout.split())
    assert went_on > 5
    assert refused > 100
    lines = done.stderr.splitlines()
    assert len(lines) == refused
    assert all(line.startswith(("c: ", "svmfast: ")) and "internal" not in line for line in lines), set(lines)
