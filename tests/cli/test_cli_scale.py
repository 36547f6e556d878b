"""`svmfast scale` against svm-scale: same bytes, range files and warnings; and what it refuses."""

from __future__ import annotations

import gzip
import shlex
import shutil
import subprocess
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from command import svmfast
from golden import ROOT, manifest
from program import PROGRAM, data

from svmfast.errors import MemoryLimitError
from svmfast.formats.ranges import ranges_bytes, read_ranges
from svmfast.models.scaling import Scaling, TargetRange

RUNS = {
    Path(entry["file"]).stem: entry["command"].removeprefix("svm-scale ")
    for entry in manifest()
    if entry["command"].startswith("svm-scale ")
}
SVM_SCALE = shutil.which("svm-scale")


@pytest.mark.parametrize("name", [name for name in RUNS if (ROOT / f"golden/{name}.scaled").exists()])
@pytest.mark.parametrize("threads", ["1", "3"])
def test_output_and_warnings_are_svm_scales(name: str, threads: str, tmp_path: Path) -> None:
    words = shlex.split(RUNS[name])
    kept = None
    if "-s" in words:
        at = words.index("-s") + 1
        kept, words[at] = ROOT / words[at], str(tmp_path / "ranges")
    done = svmfast("scale", *words, "-j", threads, cwd=ROOT)
    assert done.returncode == 0
    assert done.stdout == (ROOT / f"golden/{name}.scaled").read_bytes()
    assert done.stderr == (ROOT / f"golden/{name}.stderr").read_bytes()
    if kept is not None:
        assert (tmp_path / "ranges").read_bytes() == kept.read_bytes()


def random_rows(rng: np.random.Generator, n: int, width: int) -> str:
    lines = []
    for _ in range(n):
        values = np.where(rng.random(width) < 0.6, rng.normal(0, 10 ** rng.uniform(-6, 7), width), 0)
        if rng.random() < 0.3:
            values = values.round(1)
        stored = np.flatnonzero((values != 0) | (rng.random(width) < 0.1))
        label = f"{rng.integers(-3, 4) / 2:.17g}"
        lines.append(" ".join([label, *(f"{j + 1}:{values[j]:.9g}" for j in stored)]))
    return "\n".join(lines) + "\n"


@pytest.mark.skipif(SVM_SCALE is None, reason="svm-scale is not installed")
@pytest.mark.parametrize("seed", range(8))
def test_random_rows_are_scaled_to_svm_scales_bytes(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    (tmp_path / "rows").write_text(random_rows(rng, 60, 12))
    (tmp_path / "others").write_text(random_rows(rng, 60, 15))
    # Limits that are exact in single precision, in which Debian's build of svm-scale reads them.
    limits = ["-l", f"{rng.integers(-8, 0) / 4}", "-u", f"{rng.integers(1, 8) / 4}"]
    labels = ["-y", "-1", "2.5"] if seed % 2 else []
    for words in ([*limits, *labels, "-s", "ranges", "rows"], ["-r", "ranges", "others"]):
        ours, theirs = (
            subprocess.run([*program, *words], cwd=tmp_path, capture_output=True, check=True)
            for program in ([PROGRAM, "scale"], [SVM_SCALE])
        )
        assert ours.stdout == theirs.stdout
        assert ours.stderr == theirs.stderr
    # The file saved last is svm-scale's; ours is equal.
    kept = (tmp_path / "ranges").read_bytes()
    svmfast("scale", *limits, *labels, "-s", "ranges", "rows", cwd=tmp_path)
    assert (tmp_path / "ranges").read_bytes() == kept


def test_pipes_packed_files_and_named_outputs(tmp_path: Path) -> None:
    expected = (ROOT / "golden/iris_train.scaled").read_bytes()
    rows = data("iris.train").read_bytes()
    for name, text in (("rows", rows), ("rows.gz", gzip.compress(rows))):
        (tmp_path / name).write_bytes(text)
        assert svmfast("scale", tmp_path / name).stdout == expected
    for name in ("-", "/dev/stdin"):
        done = subprocess.run([PROGRAM, "scale", name], input=rows, capture_output=True)
        assert (done.returncode, done.stdout) == (2, b"")
        assert done.stderr.decode() == f"{name}: is read twice and cannot be a pipe; give a file\n"
    assert svmfast("scale", data("iris.train"), "-o", tmp_path / "out.gz").stdout == b""
    assert gzip.decompress((tmp_path / "out.gz").read_bytes()) == expected
    done = svmfast("scale", "-r", data("iris.ranges"), "-", stdin=data("iris.test").read_bytes())
    assert done.stdout == (ROOT / "golden/iris_test_restored.scaled").read_bytes()


def test_rows_from_a_pipe_are_scaled_as_they_arrive() -> None:
    words = [PROGRAM, "scale", "-q", "-r", data("iris.ranges"), "-"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for _ in range(2):
            process.stdin.write(b"1 1:0.5\n")
            process.stdin.flush()
            assert process.stdout.readline().startswith(b"1 1:0.5 ")
        process.stdin.close()


def test_limits_of_labels_with_a_range_file_that_has_none(tmp_path: Path) -> None:
    done = svmfast("scale", "-y", "0", "1", "-r", data("iris.ranges"), data("iris.train"))
    labels = {line.split(b" ")[0] for line in done.stdout.splitlines()}
    assert labels == {b"0", b"0.5", b"1"}
    if SVM_SCALE is not None:
        words = [SVM_SCALE, "-y", "0", "1", "-r", data("iris.ranges"), data("iris.train")]
        assert done.stdout == subprocess.run(words, capture_output=True, check=True).stdout


def test_tables_are_written_as_libsvm_rows(tmp_path: Path) -> None:
    (tmp_path / "rows").write_bytes(b"1 0 5 2\n2 1 5 0\n3 4 5 1\n")
    done = svmfast("scale", "--dense", tmp_path / "rows")
    assert done.stdout == b"1 1:-1 3:1 \n2 1:-0.5 3:-1 \n3 1:1 \n"


NOT_A_LINE = "not a line of svm-scale's range file"
LIMITS = "expected a lower limit and an upper one above it"
COLUMN = "expected an index from {} to 2147483647, a minimum and a maximum"
BAD_RANGES = {
    "": "1: a line is missing; expected 'x' or 'y'",
    "z\n": f"1: {NOT_A_LINE} ('z'); expected 'x' or 'y'",
    "x\n": f"2: a line is missing; {LIMITS}",
    "x\n-1\n": f"2: {NOT_A_LINE} ('-1'); {LIMITS}",
    "x\n1 -1\n": f"2: {NOT_A_LINE} ('1 -1'); {LIMITS}",
    "x\n-1 one\n": f"2: {NOT_A_LINE} ('-1 one'); {LIMITS}",
    "x\n-1 1e999\n": f"2: {NOT_A_LINE} ('-1 1e999'); {LIMITS}",
    "y\n1 0\n0 1\nx\n-1 1\n": f"2: {NOT_A_LINE} ('1 0'); {LIMITS}",
    "y\n0 1\n0 1\ny\n": f"4: {NOT_A_LINE} ('y'); expected 'x'",
    "x\n-1 1\n1 2\n": f"3: {NOT_A_LINE} ('1 2'); {COLUMN.format(1)}",
    "x\n-1 1\n0 1 2\n": f"3: {NOT_A_LINE} ('0 1 2'); {COLUMN.format(1)}",
    "x\n-1 1\n1 2 1\n": f"3: {NOT_A_LINE} ('1 2 1'); {COLUMN.format(1)}",
    "x\n-1 1\n2 1 2\n2 1 2\n": f"4: {NOT_A_LINE} ('2 1 2'); {COLUMN.format(3)}",
}


@pytest.mark.parametrize("text", BAD_RANGES)
def test_an_invalid_range_file_is_one_line(text: str, tmp_path: Path) -> None:
    place = tmp_path / "ranges"
    place.write_text(text)
    done = svmfast("scale", "-r", place, data("iris.test"))
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode() == f"{place}:{BAD_RANGES[text]}\n"


def test_the_lines_of_a_range_file_count_against_memory(tmp_path: Path) -> None:
    text = b"x\n-1 1\n" + b"".join(b"%d 0 1\n" % index for index in range(1, 100_001))
    with pytest.raises(MemoryLimitError, match="the range file"):
        read_ranges(text, memory=20 << 20)
    tracemalloc.start()
    assert len(read_ranges(text, memory=40 << 20)) == 100_000
    assert tracemalloc.get_traced_memory()[1] < 40 << 20
    tracemalloc.stop()


def test_range_files_round_trip_byte_for_byte() -> None:
    for name in ("iris.ranges", "diabetes.ranges"):
        read = read_ranges(data(name))
        assert read.ranges is not None
        assert ranges_bytes(read.ranges, read.target) == data(name).read_bytes()
    made = Scaling.from_ranges([0.1, 1], [0.3, 1], target=TargetRange(-1, 1, 2, 3))
    assert made.ranges is not None
    text = ranges_bytes(made.ranges, made.target)
    assert text == (b"y\n-1 1\n2 3\nx\n-1 1\n1 0.10000000000000001 0.29999999999999999\n")
