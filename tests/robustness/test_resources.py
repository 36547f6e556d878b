"""Memory and time grow with the input: a ladder of hostile inputs for each command, and doubled sizes."""

import gzip
import io
import os
import re
import time
from contextlib import suppress
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from estimators import SVM, members, pack
from every_command import COMMAND_OF, RUNS, words
from nightly import nightly_but
from program import data, metered, model

from svmfast.commands import command, file_names
from svmfast.commands.predictor import Predictor
from svmfast.commands.scale import scale
from svmfast.errors import InputError, MemoryLimitError, SvmfastError
from svmfast.formats.classes import TrainingClasses
from svmfast.formats.data import read_data, stream_data
from svmfast.formats.model_files import load_model, model_bytes, save_model
from svmfast.methods.linear import LinearOptions, fit
from svmfast.models import scaling as scalings
from svmfast.models.answer import Answer
from svmfast.models.scaled import ScaledModel
from svmfast.models.scaling import Scaling
from svmfast.options import Reading
from svmfast.rows import Rows

MB = 1 << 20
EXACT = model("iris_c_rbf_prob")
no_limits_here = pytest.mark.skipif("SVMFAST_SANITIZED" in os.environ, reason="sanitizers take memory too")


def scaled_model(width):
    """Return a model whose scaling makes a value of each zero, as that of StandardScaler does."""
    return ScaledModel(load_model(EXACT), Scaling(np.full(width, 0.5), np.full(width, 2.0)))


def packed(start):
    return gzip.compress(start + b"1" * (300 * MB), 1)


def packed_schema():
    return pack({**members(SVM.read_bytes()), "schema.json": b"[" + b"[]," * (8 * MB) + b"[]]"})


def long_word():
    pa, n, out = pytest.importorskip("pyarrow"), 1 << 16, io.BytesIO()
    from pyarrow import parquet

    words = pa.DictionaryArray.from_arrays(np.zeros(n, np.int32), pa.array(["x" * (1 << 14)]))
    table = pa.table({"label": words, "a": np.zeros(n)})
    parquet.write_table(table, out, store_schema=False, compression="zstd")
    return out.getvalue()


def packed_model():
    """A model of equal vectors, whose text and arrays take a thousand times the file."""
    n = 5_000_000
    head = b"svm_type c_svc\nkernel_type rbf\ngamma 1\nnr_class 2\n"
    head += b"total_sv %d\nrho 0\nlabel 1 2\nnr_sv %d %d\nSV\n"
    return gzip.compress(head % (2 * n, n, n) + b"1 1:1\n" * n + b"-1 1:1\n" * n, 6)


def packed_rows():
    return gzip.compress(b"1 1:1\n2 1:2\n" * 5_000_000, 9)


LONG_ROW = b"1 " + b" ".join(b"%d:1" % column for column in range(1, 3001))
MANY_LABELS = b"".join(b"%d 1:%d\n" % (i, i % 7) for i in range(2000))
#: The peak in MB without the input that expands, the command, and the file ``input``.
LADDER = {
    "short rows": (160, "predict -q input WIDE out", lambda: b"1\n" * 100_000),
    "a long row": (160, "scale input -o out", lambda: LONG_ROW + b"\n" + b"1\n" * 30_000),
    "many labels": (190, "linear -q -c 1e-6 input -o out", lambda: MANY_LABELS),
    "packed names": (160, "predict --out-dir out EXACT --files-from input", lambda: packed(b"a")),
    "packed line": (160, "predict input EXACT out", lambda: packed(b"1 1:")),
    "packed schema": (320, "import input -o out", packed_schema),
    "long word": (220, "linear -q input -o out", long_word),
    "packed model": (200, "info input", packed_model),
    "packed rows": (350, "linear -q --memory 100M input -o out", packed_rows),
}
#: Guards of the others are tested within the process: below, in test_memory.py, test_foreign_containers.py.
ALWAYS = ("short rows", "packed line", "packed schema", "long word", "packed rows")


@no_limits_here
@pytest.mark.parametrize("name", nightly_but(ALWAYS, LADDER))
def test_the_peak_is_in_proportion_to_the_input(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    least, line, content = LADDER[name]
    save_model(scaled_model(784), "WIDE")
    Path("input").write_bytes(content())
    done, peak = metered(tmp_path, *line.replace("EXACT", str(EXACT)).split())
    assert done.returncode in (0, 1, 2), done.stderr
    assert peak < least + 100 * Path("input").stat().st_size / MB, done.stderr


#: Runs that read rows, what makes them quick, and the peak in MB without the rows.
READ = [name for name in RUNS if {"TRAIN", "TEST"} & set(RUNS[name])]
QUICK = {"train": ["-e", "100"]}
START = 200


def filling(name, folder, memory, count):
    """Run a command on `count` short distinct rows, with a scaling that makes a value of each zero.

    Returns what the command did within `memory` MB, and its peak in MB.
    """
    paths = {word: folder / word for word in ("TRAIN", "TEST", "NAMES", "RANGES", "OUT", "SAVED")}
    for word, more in (("TRAIN", 0), ("TEST", 0.5)):
        paths[word].write_text("".join(f"{1 + i % 3} 1:{i + more:g}\n" for i in range(count)))
    paths["NAMES"].write_text("".join(f"{column}\n" for column in range(784)))
    paths["RANGES"].write_text("x\n-1 1\n" + "".join(f"{column} 1 3\n" for column in range(1, 785)))
    known = {flag for param in command(COMMAND_OF[name]).params for flag in param.flags}
    given = [*words(name, paths), *QUICK.get(COMMAND_OF[name], [])]
    given += ["--memory", f"{memory}M"] if "--memory" in known else []
    given += ["--scale", str(paths["RANGES"])] if "--scale" in known - set(given) else []
    return metered(folder, *given)


@no_limits_here
@pytest.mark.parametrize(
    "name", nightly_but(["predict, scaled", "approximate, scaled", "budget-train, named"], READ)
)
def test_no_command_fills_memory_with_scaled_zeros(name, tmp_path):
    done, peak = filling(name, tmp_path, 50, 20_000)
    assert done.returncode in (0, 1, 2), done.stderr
    assert peak < START + 50 + 100 * (tmp_path / "TRAIN").stat().st_size / MB, done.stderr


@no_limits_here
@pytest.mark.parametrize("name", nightly_but(["linear"], ["compress", "linear", "approximate", "meka"]))
def test_an_accepted_run_keeps_to_its_memory(name, tmp_path):
    """The least memory that a run accepts is enough for what it makes of the scaled rows."""
    memory = 1
    done, peak = filling(name, tmp_path, memory, 8000 if name in ("linear", "meka") else 3000)
    assert b"working on them needs" in done.stderr
    while needed := re.search(rb"needs ([0-9,]+) bytes, the limit is", done.stderr):
        memory = max(memory + 1, -(-int(needed[1].replace(b",", b"")) // MB))
        done, peak = filling(name, tmp_path, memory, 8000 if name in ("linear", "meka") else 3000)
    assert done.returncode in (0, 1), done.stderr
    assert peak < START + 50 + memory


@no_limits_here
def test_memory_does_not_grow_with_the_rows_of_a_table(tmp_path):
    """400,000 rows more take 48 MB or more, if they are kept."""
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    peaks, path = [], tmp_path / "rows.parquet"
    for n in (200_000, 600_000):
        columns = {f"x{j}": np.linspace(0, j, n, dtype=np.float32) for j in range(1, 5)}
        parquet.write_table(pa.table({"label": np.ones(n), **columns}), path, row_group_size=50_000)
        done, peak = metered(tmp_path, "predict", "-q", path, EXACT, tmp_path / "out.parquet")
        assert done.returncode == 0, done.stderr
        peaks.append(peak)
    assert peaks[1] < peaks[0] + 40


def empty_rows(n):
    return Rows(np.zeros(n + 1, np.int64), np.zeros(0, np.int32), np.zeros(0), 784)


def test_scaling_states_its_memory():
    """Each of two inputs may fit by itself, but the second not beside the first."""
    scaling, rows = scaled_model(784).scaling, empty_rows(10_000)
    scaling.apply(rows, memory=300_000_000, copies=2)
    with pytest.raises(MemoryLimitError, match=r"working on them needs .* bytes, the limit is 300,"):
        scaling.apply(rows, memory=300_000_000, copies=2, held=scaling.zero_bytes(rows, 2))
    with pytest.raises(MemoryLimitError, match=r"^scaling 100,000 rows, since 0 moves in 784 columns, needs"):
        scaling.apply(empty_rows(100_000), memory=1 << 20)
    with pytest.raises(MemoryLimitError, match=r"784 columns, and working on them needs 2,822,400,000 bytes"):
        scaling.apply(empty_rows(100_000), copies=3)
    with pytest.raises(MemoryLimitError, match=r"^50 weight vectors of 50 weights needs"):
        fit.linear(Rows.from_dense(np.eye(50)), np.arange(50.0), LinearOptions(memory=1000))


def test_a_list_states_the_memory_of_its_names(tmp_path):
    place = tmp_path / "list"
    for text, names in ((b"a\r\nb\n\n c\n", ["a", "b", " c"]), (b"a\nb\0c\0", ["a\nb", "c"])):
        place.write_bytes(text)
        assert file_names.listed(place) == names
    place.write_bytes(b"a\n" * 1000)
    with pytest.raises(MemoryLimitError, match=f"^the list {place} needs"):
        file_names.listed(place, memory=100_000)
    place.write_bytes(gzip.compress(b"a\n" * (600_000)))
    with pytest.raises(InputError, match="unpacks to more than 100 times its size"):
        file_names.listed(place)


# --- blocks


def test_the_answers_do_not_depend_on_the_blocks_of_scaled_rows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save_model(scaled_model(4), "model")
    lines = data("iris.test").read_text().splitlines(keepends=True)
    Path("rows").write_text("# first\n" + "".join(lines[:20]) + "# more\n" + "".join(lines[20:]))
    found = []
    for entries in (1 << 20, 50, 1):
        monkeypatch.setattr(scalings, "_BLOCK_ENTRIES", entries)
        predictor = Predictor("model", probability=True)
        rows = read_data("rows", Reading()).rows
        answers = [predictor.answer(rows), predictor.answer_file("rows")]
        report = predictor.predict_file("rows", "out")
        scale("rows", "scaled", lower=1, upper=3)
        written = [*(Path(name).read_bytes() for name in ("out", "scaled")), report.to_dict(), report.notes]
        values = [one.decision_values(rows).tobytes() for one in (predictor.model, load_model("model"))]
        found.append([*written, *values, *map(content, answers)])
        blocks = list(stream_data("rows", Reading(scale=predictor.scaling)))
        assert len(blocks) == -(-len(lines) // max(1, entries // 4))
        assert [block.first_line for block in blocks] == [2] + [0] * (len(blocks) - 1)
    assert found[0] == found[1] == found[2]


def content(found):
    """Return all that an answer holds."""
    arrays = [getattr(found, one.name) for one in fields(Answer) if one.name not in ("decide", "class_names")]
    return [one.tolist() if isinstance(one, np.ndarray) else one for one in (*arrays, found.decisions)]


def test_blocks_of_classes_have_the_weights_of_all(monkeypatch):
    rng = np.random.default_rng(0)
    rows, labels = Rows.from_dense(rng.normal(size=(90, 4))), rng.integers(0, 7, 90).astype(float)
    whole, report = fit.linear(rows, labels, LinearOptions())
    monkeypatch.setattr(fit, "_CELLS", 200)  # two classes at a time
    cut, again = fit.linear(rows, labels, LinearOptions())
    assert report.training == again.training
    np.testing.assert_allclose(whole.coefficients, cut.coefficients, rtol=1e-9)
    np.testing.assert_allclose(whole.rho, cut.rho, rtol=1e-9)


# --- time


def wide_table(n):
    names, values = ",".join(f"f{i}" for i in range(n)), ",".join(["1"] * n)
    return f"label,{names}\n1,{values}\n".encode()


def read(text):
    with suppress(SvmfastError):
        list(stream_data(text, Reading()))


def model_of_classes(n):
    """A LIBSVM model of many classes has a header as long as its pairs."""
    k = int((2 * n) ** 0.5) + 1
    lines = ["svm_type c_svc", "kernel_type rbf", "gamma 1", f"nr_class {k}", f"total_sv {k}"]
    lines += [f"rho {' '.join(['0'] * (k * (k - 1) // 2))}", f"label {' '.join(map(str, range(k)))}"]
    lines += [f"nr_sv {' '.join(['1'] * k)}", "SV", *[" ".join(["1"] * (k - 1)) + " 1:1"] * k, ""]
    return "\n".join(lines).encode()


def model_of_names(n):
    scaling = Scaling(np.zeros(n), np.ones(n), None, tuple(f"f{i}" for i in range(n)))
    return model_bytes(ScaledModel(load_model(EXACT), scaling))


#: A size, the input of a size, and the work that must be linear in it.
WORK = {
    "pairs in a header": (20_000, model_of_classes, load_model),
    "names in a header": (10_000, model_of_names, load_model),
    "columns of a table": (2000, wide_table, read),
    "an endless line": (100_000, lambda n: b"a" * n, read),
    "classes": (1000, lambda n: [f"word {i}" for i in range(n)], lambda it: TrainingClasses().of_objects(it)),
}


@pytest.mark.parametrize("name", WORK)
def test_eight_times_the_size_takes_less_than_thirty_times_the_time(name):
    """Caches and garbage collection cost linear work up to three times more; quadratic takes 64 times."""
    if name == "columns of a table":
        pytest.importorskip("pyarrow")
    size, made, work = WORK[name]
    given, best = [made(size), made(8 * size)], [float("inf")] * 2
    for _ in range(3):
        for number, one in enumerate(given):
            begin = time.process_time()
            work(one)
            best[number] = min(best[number], time.process_time() - begin)
    assert best[1] < 30 * best[0] + 0.005, best
