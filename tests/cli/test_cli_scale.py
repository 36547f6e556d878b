"""`svmfast scale` against svm-scale: same bytes, range files and warnings. Refusals: tests/refusals.tsv."""

import gzip
import shlex
import shutil
import subprocess
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from command import ran
from golden import ROOT, manifest
from program import PROGRAM, data, started

from svmfast.errors import MemoryLimitError
from svmfast.formats.ranges import ranges_bytes, read_ranges
from svmfast.models.scaling import Scaling, TargetRange

GOLDEN, IRIS, RANGES = ROOT / "golden", data("iris.train"), data("iris.ranges")
RUNS = {
    Path(entry["file"]).stem: entry["command"].removeprefix("svm-scale ")
    for entry in manifest()
    if entry["command"].startswith("svm-scale ")
}
SVM_SCALE = shutil.which("svm-scale")


@pytest.mark.parametrize("name", [name for name in RUNS if (GOLDEN / f"{name}.scaled").exists()])
@pytest.mark.parametrize("threads", ["1", "3"])
def test_output_and_warnings_are_svm_scales(name, threads, tmp_path):
    words = shlex.split(RUNS[name])
    kept = words[words.index("-s") + 1] if "-s" in words else None
    words = [str(tmp_path / "ranges") if word == kept else word for word in words]
    done = ran("scale", *words, "-j", threads, cwd=ROOT)
    assert done.stdout == (GOLDEN / f"{name}.scaled").read_bytes()
    assert done.stderr == (GOLDEN / f"{name}.stderr").read_bytes()
    assert kept is None or (tmp_path / "ranges").read_bytes() == (ROOT / kept).read_bytes()


def random_rows(rng, n, width):
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
def test_random_rows_are_scaled_to_svm_scales_bytes(seed, tmp_path):
    rng = np.random.default_rng(seed)
    (tmp_path / "rows").write_text(random_rows(rng, 60, 12))
    (tmp_path / "others").write_text(random_rows(rng, 60, 15))
    # Limits that are exact in single precision, in which Debian's build of svm-scale reads them.
    limits = ["-l", f"{rng.integers(-8, 0) / 4}", "-u", f"{rng.integers(1, 8) / 4}"]
    limits += ["-y", "-1", "2.5"] if seed % 2 else []
    for words in ([*limits, "-s", "ranges", "rows"], ["-r", "ranges", "others"]):
        found = []
        for program in ([PROGRAM, "scale"], [SVM_SCALE]):
            done = subprocess.run([*program, *words], cwd=tmp_path, capture_output=True, check=True)
            found.append((done.stdout, done.stderr, (tmp_path / "ranges").read_bytes()))
        assert found[0] == found[1]


def test_pipes_packed_files_and_named_outputs(tmp_path):
    expected, packed, out = (
        (GOLDEN / "iris_train.scaled").read_bytes(),
        tmp_path / "rows.gz",
        tmp_path / "out.gz",
    )
    packed.write_bytes(gzip.compress(IRIS.read_bytes()))
    assert ran("scale", packed, "-o", out).stdout == b""
    assert gzip.decompress(out.read_bytes()) == ran("scale", IRIS).stdout == expected
    done = ran("scale", "-r", RANGES, "-", stdin=data("iris.test").read_bytes())
    assert done.stdout == (GOLDEN / "iris_test_restored.scaled").read_bytes()


def test_rows_from_a_pipe_are_scaled_as_they_arrive():
    with started("scale", "-q", "-r", RANGES, "-") as process:
        for _ in range(2):
            process.stdin.write(b"1 1:0.5\n")
            process.stdin.flush()
            assert process.stdout.readline().startswith(b"1 1:0.5 ")


def test_limits_of_labels_with_a_range_file_that_has_none():
    words = ("-y", "0", "1", "-r", RANGES, IRIS)
    done = ran("scale", *words)
    assert {line.split(b" ")[0] for line in done.stdout.splitlines()} == {b"0", b"0.5", b"1"}
    if SVM_SCALE is not None:
        assert done.stdout == subprocess.run([SVM_SCALE, *words], capture_output=True, check=True).stdout


def test_tables_are_written_as_libsvm_rows(tmp_path):
    (tmp_path / "rows").write_bytes(b"1 0 5 2\n2 1 5 0\n3 4 5 1\n")
    assert ran("scale", "--dense", tmp_path / "rows").stdout == b"1 1:-1 3:1 \n2 1:-0.5 3:-1 \n3 1:1 \n"


def test_the_lines_of_a_range_file_count_against_memory():
    text = b"x\n-1 1\n" + b"".join(b"%d 0 1\n" % index for index in range(1, 100_001))
    with pytest.raises(MemoryLimitError, match="the range file"):
        read_ranges(text, memory=20 << 20)
    tracemalloc.start()
    assert len(read_ranges(text, memory=40 << 20)) == 100_000
    assert tracemalloc.get_traced_memory()[1] < 40 << 20
    tracemalloc.stop()


def test_range_files_round_trip_byte_for_byte():
    for name in ("iris.ranges", "diabetes.ranges"):
        found = read_ranges(data(name))
        assert ranges_bytes(found.ranges, found.target) == data(name).read_bytes()
    made = Scaling.from_ranges([0.1, 1], [0.3, 1], target=TargetRange(-1, 1, 2, 3))
    text = b"y\n-1 1\n2 3\nx\n-1 1\n1 0.10000000000000001 0.29999999999999999\n"
    assert ranges_bytes(made.ranges, made.target) == text
