"""`svmfast scale` and `--scale`: rows are scaled as they are read, and models contain the scaling."""

import os
import re
import shlex
import shutil
import subprocess
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from command import ran, report, svmfast
from every_command import RUNS, outputs
from golden import manifest
from program import FIXTURES, PROGRAM, data, lines_of, model, started

import svmfast as package
from svmfast.errors import FileAccessError, MemoryLimitError
from svmfast.evaluation.scale_check import ScaleCheck
from svmfast.formats.model_files import load_model, model_bytes
from svmfast.formats.ranges import ranges_bytes, read_ranges
from svmfast.formats.svmlight import read_svmlight, write_svmlight
from svmfast.methods.registry import methods
from svmfast.models.scaled import ScaledModel
from svmfast.models.scaling import Scaling, TargetRange
from svmfast.progress import Listener
from svmfast.rows import Rows

GOLDEN, RANGES = FIXTURES / "golden", data("iris.ranges")
RAW = {"TRAIN": data("iris.train"), "TEST": data("iris.test")}
SCALED = {"TRAIN": GOLDEN / "iris_train.scaled", "TEST": GOLDEN / "iris_test_restored.scaled"}


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """A model of scaled rows, the same with the scaling, and approximations that take raw and scaled rows."""
    place = tmp_path_factory.mktemp("scaled")
    exact, carrying, fast, inner = (place / name for name in ("exact", "carrying", "fast", "inner"))
    ran("train", "-q", "-b", "1", "-c", "4", SCALED["TRAIN"], exact)
    package.save_model(ScaledModel(load_model(exact), read_ranges(RANGES)), carrying)
    ran("approximate", exact, "--scale", RANGES, "--data", RAW["TRAIN"], "--order", "4", "-o", fast)
    inner.write_bytes(model_bytes(load_model(fast).unscaled))
    return exact, carrying, fast, inner


METHODS = {one.name for one in methods()}


@pytest.mark.parametrize("name", [name for name, run in RUNS.items() if run[0] in METHODS and "OUT" in run])
def test_every_method_makes_the_model_of_scaled_rows(name, models, tmp_path):
    exact, near, made = models[0], tmp_path / "near", []
    # Few of its labels differ, so its cascade is written.
    ran("approximate", exact, "--order", "2", "-o", near)
    run = [word for word in RUNS[name] if word not in ("--scale", "RANGES")]
    for kind, rows, more in (("raw", RAW, ["--scale", RANGES]), ("scaled", SCALED, [])):
        paths = {**rows, "EXACT": exact, "FAST": near}
        paths |= {word: tmp_path / f"{kind}.{word}" for word in outputs(name)}
        ran(*(paths.get(word, word) for word in run), *more, "-j", "1")
        made.append(load_model(paths["OUT"]))
    assert made[0].scaling.same_map(read_ranges(RANGES))
    # All but the lines that mention files.
    lines = [model_bytes(one.unscaled).splitlines() for one in (made[0], made[1])]
    kept = [[line for line in one if not line.startswith((b"data ", b"checksum "))] for one in lines]
    assert kept[0] == kept[1]
    assert made[1].scaling is None


def test_the_exact_model_may_have_the_scaling_or_not(models, tmp_path):
    exact, carrying, fast, _ = models
    expected = ran("predict", SCALED["TEST"], exact).stdout
    for behind in (exact, carrying):
        done = ran("predict", RAW["TEST"], fast, "--exact", behind)
        assert done.stdout == expected
        assert b"answered by the exact model" in done.stderr
        compared = report("compare", behind, fast, "--data", RAW["TEST"], "--repeats", "1")
        assert compared["models"][1]["labels_differing"] == 0
    assert ran("predict", RAW["TEST"], carrying).stdout == expected
    # Converted from it, a model names the LIBSVM model inside.
    again = tmp_path / "again"
    ran("approximate", carrying, "--data", RAW["TRAIN"], "--order", "4", "-o", again)
    assert again.read_bytes() == fast.read_bytes()


def test_bound_check_sees_scaled_rows(models):
    *_, fast, inner = models
    for ours, theirs, keys in (
        (("--model", fast), ("--model", inner), ("certified", "inside", "own", "rows")),
        (("--gamma", "0.5", "--scale", RANGES), ("--gamma", "0.5"), ("centered", "inside", "rows")),
    ):
        ours = report("bound-check", RAW["TEST"], *ours, status=1)
        theirs = report("bound-check", SCALED["TEST"], *theirs, status=1)
        assert [ours[key] for key in keys] == [theirs[key] for key in keys]
    assert ours["inputs"]["ranges"] == os.fspath(RANGES)
    shown = "\nscaling\n  columns                   4\n  lower                     -1\n"
    assert shown in ran("info", fast).stdout.decode()


def test_many_files_are_scaled_too(models, tmp_path):
    exact, _, fast, _ = models
    expected = ran("predict", "-q", SCALED["TEST"], exact).stdout
    for words in ((fast,), ("--scale", RANGES, exact)):
        ran("predict", "--out-dir", tmp_path, *words, RAW["TEST"])
        assert (tmp_path / "iris.test.out").read_bytes() == expected


def test_labels_are_scaled_where_the_range_file_has_limits_for_them(tmp_path):
    words = ("train", "-q", "-s", "3", "-c", "10")
    ran(*words, GOLDEN / "diabetes_train.scaled", tmp_path / "plain")
    ran(*words, data("diabetes.train"), tmp_path / "carrying", "--scale", data("diabetes.ranges"))
    scaled = GOLDEN / "diabetes_test_restored.scaled"
    expected = ran("predict", scaled, tmp_path / "plain", tmp_path / "a")
    found = ran("predict", data("diabetes.test"), tmp_path / "carrying", tmp_path / "b")
    assert (found.stdout, found.stderr) == (expected.stdout, expected.stderr)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    errors = []
    for name, rows in (("plain", scaled), ("carrying", data("diabetes.test"))):
        found = report("compare", tmp_path / name, tmp_path / name, "--data", rows, "--repeats", "1")
        errors.append(found["models"][0]["mse"])
    assert errors[0] == errors[1]


# --- rows on another scale than the model's vectors

BREAST = model("breast_c_rbf")
#: Models of the repository and their own rows.
OWN = [
    (path.stem, name)
    for path in sorted((FIXTURES / "models").glob("*.model"))
    for name in (f"{path.stem.split('_')[0]}.test", f"{path.stem.split('_')[0]}.train")
    if data(name).exists() and "precomputed" not in path.read_text()[:200]
]


def multiplied(rows, factor):
    return Rows(rows.indptr, rows.indices, rows.values * factor, rows.n_columns)


def verdict(exact, rows, size=1000):
    check = ScaleCheck(load_model(exact))
    for start in range(0, len(rows), size):
        check.add(rows[start : start + size])
    return check.verdict()


def test_no_warning_on_the_fixtures_few_rows_and_zeros():
    assert len(OWN) > 20
    for name, rows in OWN:
        assert verdict(model(name), read_svmlight(data(rows)).rows) is None, (name, rows)
    few = read_svmlight(data("breast.test")).rows[:9]
    for factor in (100.0, 0.0):
        assert verdict(BREAST, multiplied(few, factor)) is None


def test_the_answer_does_not_depend_on_the_blocks():
    rows = Rows.from_dense(np.random.default_rng(0).normal(size=(3000, 9)) * 100)
    (message,) = {verdict(BREAST, rows, size) for size in (1, 7, 1000, 3000)}
    assert re.search(r"of the first 1,000 rows is \S+, the largest of the model's vectors", message)


def test_the_warning_for_scaled_rows_does_not_suggest_a_range_file(tmp_path):
    ran("scale", "-l", "90", "-u", "100", "-s", tmp_path / "ranges", data("breast.test"))
    words = ("--scale", tmp_path / "ranges", data("breast.test"), BREAST, os.devnull)
    (line,) = ran("predict", "-q", *words).stderr.decode().splitlines()
    assert "the rows and the model are on different scales" in line
    assert "--scale" not in line


#: Commands that read rows; {o} is an output. Those that frontier runs would warn, too.
WARNING = [*lines_of("warning")]


@pytest.mark.parametrize("line", WARNING)
def test_every_command_warns_once_and_answers_the_same(line, tmp_path):
    places = {"m": BREAST, "f": tmp_path / "fast", "o": tmp_path / "out"}
    for name, rows in (("raw", "breast.test"), ("other", "breast.train")):
        given, places[name] = read_svmlight(data(rows)), tmp_path / name
        write_svmlight(places[name], multiplied(given.rows, 50.0), given.labels)
    ran("approximate", BREAST, "--order", "2", "-o", places["f"], "-q")
    done = svmfast(*line.format(**places).split(), "-q")
    (warned,) = [one for one in done.stderr.decode().splitlines() if "on different scales" in one]
    assert warned.startswith("svmfast: warning: ")
    assert warned.endswith("; raw rows need the range file of the training data (--scale)")
    assert b"on different scales" not in done.stdout
    if line == WARNING[0]:
        assert places["o"].read_bytes() == ran("predict", "-q", places["raw"], BREAST).stdout


# --- svmfast scale; what it refuses: tests/refusals.tsv

IRIS = data("iris.train")
SCALINGS = {
    Path(entry["file"]).stem: entry["command"].removeprefix("svm-scale ")
    for entry in manifest()
    if entry["command"].startswith("svm-scale ")
}
SVM_SCALE = shutil.which("svm-scale")


@pytest.mark.parametrize("name", [name for name in SCALINGS if (GOLDEN / f"{name}.scaled").exists()])
@pytest.mark.parametrize("threads", ["1", "3"])
def test_output_and_warnings_are_svm_scales(name, threads, tmp_path):
    words = shlex.split(SCALINGS[name])
    kept = words[words.index("-s") + 1] if "-s" in words else None
    words = [str(tmp_path / "ranges") if word == kept else word for word in words]
    done = ran("scale", *words, "-j", threads, cwd=FIXTURES)
    assert done.stdout == (GOLDEN / f"{name}.scaled").read_bytes()
    assert done.stderr == (GOLDEN / f"{name}.stderr").read_bytes()
    assert kept is None or (tmp_path / "ranges").read_bytes() == (FIXTURES / kept).read_bytes()


@pytest.mark.skipif(SVM_SCALE is None, reason="svm-scale is not installed")
@pytest.mark.parametrize("seed", range(2))
def test_random_rows_are_scaled_to_svm_scales_bytes(seed, tmp_path):
    rng = np.random.default_rng(seed)
    for name, width in (("rows", 12), ("others", 15)):
        x = rng.normal(0, 10 ** rng.uniform(-6, 7, (200, 1)), (200, width)) * (rng.random((200, width)) < 0.6)
        x[::3] = x[::3].round(1)
        package.write_svmlight(tmp_path / name, package.as_rows(x), rng.integers(-3, 4, 200) / 2)
    # Limits that are exact in single precision, in which Debian's build of svm-scale reads them.
    limits = ["-l", f"{rng.integers(-8, 0) / 4}", "-u", f"{rng.integers(1, 8) / 4}"]
    limits += ["-y", "-1", "2.5"] if seed % 2 else []
    for words in ([*limits, "-s", "ranges", "rows"], ["-r", "ranges", "others"]):
        found = []
        for program in ([PROGRAM, "scale"], [SVM_SCALE]):
            done = subprocess.run([*program, *words], cwd=tmp_path, capture_output=True, check=True)
            found.append((done.stdout, done.stderr, (tmp_path / "ranges").read_bytes()))
        assert found[0] == found[1]


def test_of_equal_zeros_the_range_file_has_the_later_one(tmp_path):
    (tmp_path / "rows").write_bytes(b"1 1:-1 2:1 3:-1 4:1\n1 1:0 2:0 3:-0 4:-0\n1 1:-0 2:-0 3:0 4:0\n")
    ran("scale", "-s", tmp_path / "ranges", tmp_path / "rows")
    assert (tmp_path / "ranges").read_bytes() == b"x\n-1 1\n1 -1 -0\n2 -0 1\n3 -1 0\n4 0 1\n"


def test_rows_from_a_pipe_are_scaled_as_they_arrive():
    with started("scale", "-q", "-r", RANGES, "-") as process:
        for _ in range(2):
            process.stdin.write(b"1 1:0.5\n")
            process.stdin.flush()
            assert process.stdout.readline().startswith(b"1 1:0.5 ")


def test_a_map_ignores_features_that_it_does_not_have(tmp_path):
    (tmp_path / "map").write_bytes(b"svmfast-map 1\ncoordinates 2\nfeatures 2\n1 1 2 0\n3 0.5 0 +.25\n")
    done = ran("scale", "-r", tmp_path / "map", "-", stdin=b"2 1:1.5 2:7 9:1\n3 3:0.5\n")
    assert done.stdout == b"2 1:1 2:-0.125 \n3 1:-2 \n"
    assert re.findall(rb"index (\d+) .* not seen in the map", done.stderr) == [b"2", b"9"]
    assert (
        ran("scale", "-q", "-r", tmp_path / "map", "--unlabelled", "-", stdin=b"1:1 3:.5\n").stdout == b"\n"
    )


def test_limits_of_labels_with_a_range_file_that_has_none():
    words = ("-y", "0", "1", "-l", "0", "-r", RANGES, IRIS)
    done = ran("scale", *words)
    assert f"--lower is not used: {RANGES} has the limits" in done.stderr.decode()
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


def test_a_file_that_changes_between_its_two_readings_is_refused(tmp_path):
    path, out = tmp_path / "rows", tmp_path / "out"
    path.write_bytes(b"1 1:1\n2 1:2\n")
    listener = Listener(progress=lambda *done: os.utime(path, (0, 0)))
    with pytest.raises(FileAccessError, match="rows: changed between two readings"):
        package.scale(path, out, listener=listener)
    assert not out.exists()
