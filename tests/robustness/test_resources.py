"""Memory and time grow with the input: a ladder of hostile inputs for each command, and doubled sizes.

In one file: the ladder is one table of inputs, and both halves measure in the same way.
"""

from __future__ import annotations

import gzip
import os
import re
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import fields
from itertools import combinations
from pathlib import Path
from subprocess import CompletedProcess
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
import pytest
from estimators import SVM
from every_command import COMMAND_OF, RUNS, words
from nightly import nightly_but
from program import data, metered, model

from svmfast.commands import command, many
from svmfast.commands.many import planned
from svmfast.commands.predictor import Predictor
from svmfast.commands.scale import scale
from svmfast.errors import InputError, MemoryLimitError, SvmfastError
from svmfast.formats.answers import OutputColumns
from svmfast.formats.classes import TrainingClasses
from svmfast.formats.data import read_data, stream_data
from svmfast.formats.model_files import load_model, model_bytes, save_model
from svmfast.methods.linear import LinearOptions, fit
from svmfast.models import scaling as scalings
from svmfast.models.answer import Answer
from svmfast.models.head import Head
from svmfast.models.requirements import Columns
from svmfast.models.scaled import ScaledModel
from svmfast.models.scaling import Scaling
from svmfast.options import Reading
from svmfast.rows import Rows

MB = 1 << 20
EXACT = model("iris_c_rbf_prob")


def scaled_model(width: int) -> ScaledModel:
    """Return a model whose scaling makes a value of each zero, as that of StandardScaler does."""
    return ScaledModel(load_model(EXACT), Scaling(np.full(width, 0.5), np.full(width, 2.0)))


# --- memory


def short_rows(folder: Path) -> list[object]:
    save_model(scaled_model(784), folder / "model")
    (folder / "input").write_bytes(b"1\n" * 100_000)
    return ["predict", "-q", "input", "model", "out"]


def a_long_row(folder: Path) -> list[object]:
    row = b" ".join(b"%d:1" % column for column in range(1, 3001))
    (folder / "input").write_bytes(b"1 " + row + b"\n" + b"1\n" * 30_000)
    return ["scale", "input", "-o", "out"]


def many_labels(folder: Path) -> list[object]:
    (folder / "input").write_bytes(b"".join(b"%d 1:%d\n" % (i, i % 7) for i in range(2000)))
    return ["linear", "-q", "-c", "1e-6", "input", "-o", "out"]


def packed_names(folder: Path) -> list[object]:
    (folder / "input").write_bytes(gzip.compress(b"a" * (300 * MB), 1))
    return ["predict", "--out-dir", "out", EXACT, "--files-from", "input"]


def packed_line(folder: Path) -> list[object]:
    (folder / "input").write_bytes(gzip.compress(b"1 1:" + b"1" * (300 * MB), 1))
    return ["predict", "input", EXACT, "out"]


def packed_schema(folder: Path) -> list[object]:
    with ZipFile(SVM) as whole, ZipFile(folder / "input", "w", ZIP_DEFLATED) as bomb:
        for name in whole.namelist():
            text = whole.read(name)
            bomb.writestr(name, b"[" + b"[]," * (8 * MB) + b"[]]" if name == "schema.json" else text)
    return ["import", "input", "-o", "out"]


def long_word(folder: Path, name: str = "label") -> list[object]:
    pa, n = pytest.importorskip("pyarrow"), 1 << 16
    words = pa.DictionaryArray.from_arrays(pa.array(np.zeros(n, np.int32)), pa.array(["x" * (1 << 14)]))
    table = pa.table({name: words, "a": pa.array(np.zeros(n))})
    from pyarrow import parquet

    parquet.write_table(table, folder / "input", store_schema=False, compression="zstd")
    return ["linear", "-q", "input", "-o", "out"]


def packed_batch(folder: Path) -> list[object]:
    pa, n = pytest.importorskip("pyarrow"), 12_000_000
    from pyarrow import ipc

    table = pa.table({name: pa.array(np.zeros(n)) for name in ("label", "a")})
    with ipc.new_file(
        folder / "input", table.schema, options=ipc.IpcWriteOptions(compression="zstd")
    ) as file:
        file.write_table(table)
    return ["linear", "-q", "input", "-o", "out"]


def kept_word(folder: Path) -> list[object]:
    long_word(folder, "word")
    save_model(
        ScaledModel(load_model(EXACT), Scaling(np.zeros(1), np.ones(1), None, ("a",))), folder / "model"
    )
    return ["predict", "-q", "--unlabelled", "--keep", "word", "input", "model", "out.parquet"]


def packed_rows(folder: Path) -> list[object]:
    (folder / "input").write_bytes(gzip.compress(b"1 1:1\n2 1:2\n" * 5_000_000, 9))
    return ["linear", "-q", "--memory", "100M", "input", "-o", "out"]


def repeated_rows(folder: Path) -> list[object]:
    pa, n = pytest.importorskip("pyarrow"), 10_000_000
    from pyarrow import parquet

    parquet.write_table(pa.table({name: pa.array(np.zeros(n)) for name in ("label", "a")}), folder / "input")
    return ["linear", "-q", "--memory", "100M", "input", "-o", "out"]


def packed_model(folder: Path) -> list[object]:
    """A model of equal vectors, whose text and arrays take a thousand times the file."""
    head = b"svm_type c_svc\nkernel_type rbf\ngamma 1\nnr_class 2\n"
    head += b"total_sv %d\nrho 0\nlabel 1 2\nnr_sv %d %d\nSV\n"
    n = 10_000_000
    text = head % (n, n // 2, n // 2) + b"1 1:1\n" * (n // 2) + b"-1 1:1\n" * (n // 2)
    (folder / "input").write_bytes(gzip.compress(text, 6))
    return ["info", "input"]


def packed_model_to_export(folder: Path) -> list[object]:
    packed_model(folder)
    return ["export", "-q", "input", "--to", "c", "-o", "out"]


def packed_model_to_compare(folder: Path) -> list[object]:
    packed_model(folder)
    return ["compare", EXACT, "input", "--data", data("iris.test")]


def packed_rows_to_check(folder: Path) -> list[object]:
    packed_rows(folder)
    return ["bound-check", "input", "--model", EXACT]


#: The input that expands, and the peak in MB without it.
LADDER: dict[Callable[[Path], list[object]], int] = {
    short_rows: 160,
    a_long_row: 160,
    many_labels: 190,
    packed_names: 160,
    packed_line: 160,
    packed_schema: 320,
    long_word: 220,
    packed_batch: 160,
    kept_word: 550,
    packed_model: 200,
    packed_model_to_export: 200,
    packed_model_to_compare: 200,
    packed_rows: 350,
    packed_rows_to_check: 200,
    repeated_rows: 350,
}
#: Guards of the others are tested within the process: below, in test_memory.py, test_foreign_containers.py.
ALWAYS = (short_rows, packed_line, packed_schema, long_word, packed_rows)


@pytest.mark.skipif("SVMFAST_SANITIZED" in os.environ, reason="sanitizers take memory of their own")
@pytest.mark.parametrize("hostile", nightly_but(ALWAYS, LADDER), ids=lambda hostile: hostile.__name__)
def test_the_peak_is_in_proportion_to_the_input(
    hostile: Callable[[Path], list[object]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    given = hostile(tmp_path)
    done, peak = metered(tmp_path, *map(str, given))
    assert done.returncode in (0, 1, 2), done.stderr
    assert peak < LADDER[hostile] + 100 * (tmp_path / "input").stat().st_size / MB, done.stderr


#: Runs that read rows, what makes them quick, and the peak in MB without the rows.
READ = [name for name in RUNS if {"TRAIN", "TEST"} & set(RUNS[name])]
QUICK = {"train": ["-e", "100"]}
START = 200


def filling(name: str, folder: Path, memory: int, count: int) -> tuple[CompletedProcess[bytes], float]:
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


@pytest.mark.skipif("SVMFAST_SANITIZED" in os.environ, reason="sanitizers take memory of their own")
@pytest.mark.parametrize(
    "name", nightly_but(["predict, scaled", "approximate, scaled", "budget-train, named"], READ)
)
def test_no_command_fills_memory_with_scaled_zeros(name: str, tmp_path: Path) -> None:
    done, peak = filling(name, tmp_path, 50, 20_000)
    assert done.returncode in (0, 1, 2), done.stderr
    assert peak < START + 50 + 100 * (tmp_path / "TRAIN").stat().st_size / MB, done.stderr


@pytest.mark.skipif("SVMFAST_SANITIZED" in os.environ, reason="sanitizers take memory of their own")
@pytest.mark.parametrize(
    ("name", "count"),
    nightly_but(
        [("linear", 8000)],
        [
            ("compress", 3000),
            ("linear", 8000),
            ("approximate", 6000),
            ("dcpred from a model", 6000),
            ("meka", 8000),
        ],
    ),
)
def test_an_accepted_run_keeps_to_its_memory(name: str, count: int, tmp_path: Path) -> None:
    """The least memory that a run accepts is enough for what it makes of the scaled rows."""
    memory = 1
    done, peak = filling(name, tmp_path, memory, count)
    assert b"working on them needs" in done.stderr
    while done.returncode == 2:
        needed = re.search(rb"needs ([0-9,]+) bytes, the limit is", done.stderr)
        assert needed is not None, done.stderr
        memory = max(memory + 1, -(-int(needed[1].replace(b",", b"")) // MB))
        done, peak = filling(name, tmp_path, memory, count)
    assert done.returncode in (0, 1), done.stderr
    assert peak < START + 50 + memory


def test_two_inputs_share_one_allowance() -> None:
    """Each of two inputs fits by itself, but the second not beside the first."""
    rows, scaling = Rows.empty(784), scaled_model(784).scaling
    many_rows = Rows.trusted(np.zeros(10_001, np.int64), rows.indices, rows.values, 784)
    needed = scaling.zero_bytes(many_rows, 2)
    scaling.apply(many_rows, memory=300_000_000, copies=2)
    with pytest.raises(MemoryLimitError, match=r"working on them needs .* bytes, the limit is 300,"):
        scaling.apply(many_rows, memory=300_000_000, copies=2, held=needed)


def test_a_step_that_cannot_be_cut_is_refused() -> None:
    rows, scaling = Rows.empty(784), scaled_model(784).scaling
    many_rows = Rows.trusted(np.zeros(100_001, np.int64), rows.indices, rows.values, 784)
    with pytest.raises(MemoryLimitError, match=r"^scaling 100,000 rows, since 0 moves in 784 columns, needs"):
        scaling.apply(many_rows, memory=1 << 20)
    with pytest.raises(MemoryLimitError, match=r"784 columns, and working on them needs 2,822,400,000 bytes"):
        scaling.apply(many_rows, copies=3)
    wide = Rows.from_dense(np.eye(50))
    with pytest.raises(MemoryLimitError, match=r"^50 weight vectors of 50 weights needs"):
        fit.linear(wide, np.arange(50.0), LinearOptions(memory=1000))


def test_a_list_states_the_memory_of_its_names(tmp_path: Path) -> None:
    place = tmp_path / "list"
    place.write_bytes(b"a\r\nb\n\n c\n")
    assert many.listed(place) == ["a", "b", " c"]
    place.write_bytes(b"a\nb\0c\0")
    assert many.listed(place) == ["a\nb", "c"]
    place.write_bytes(b"a\n" * 1000)
    with pytest.raises(MemoryLimitError, match=f"^the list {place} needs"):
        many.listed(place, memory=100_000)
    place.write_bytes(gzip.compress(b"a\n" * (600_000)))
    with pytest.raises(InputError, match="unpacks to more than 100 times its size"):
        many.listed(place)


# --- blocks


def test_the_answers_do_not_depend_on_the_blocks_of_scaled_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_model(scaled_model(4), tmp_path / "model")
    lines = data("iris.test").read_text().splitlines(keepends=True)
    (tmp_path / "rows").write_text("# first\n" + "".join(lines[:20]) + "# more\n" + "".join(lines[20:]))
    found = []
    for entries in (1 << 20, 50, 1):
        monkeypatch.setattr(scalings, "_BLOCK_ENTRIES", entries)
        predictor = Predictor(tmp_path / "model", probability=True)
        rows = read_data(tmp_path / "rows", Reading()).rows
        answers = [predictor.answer(rows), predictor.answer_file(tmp_path / "rows")]
        report = predictor.predict_file(tmp_path / "rows", tmp_path / "out")
        scale(tmp_path / "rows", tmp_path / "scaled", lower=1, upper=3)
        found.append(
            [
                (tmp_path / "out").read_bytes(),
                (tmp_path / "scaled").read_bytes(),
                report.lines(),
                report.notes,
                predictor.model.decision_values(rows).tobytes(),
                load_model(tmp_path / "model").decision_values(rows).tobytes(),
                *map(content, answers),
            ]
        )
        blocks = list(stream_data(tmp_path / "rows", Reading(scale=predictor.scaling)))
        assert len(blocks) == -(-len(lines) // max(1, entries // 4))
        assert [block.first_line for block in blocks] == [2] + [0] * (len(blocks) - 1)
    assert found[0] == found[1] == found[2]


def content(found: Answer) -> list[object]:
    """Return all that an answer holds."""
    arrays = [getattr(found, one.name) for one in fields(Answer) if one.name not in ("decide", "class_names")]
    return [one.tolist() if isinstance(one, np.ndarray) else one for one in (*arrays, found.decisions)]


def test_blocks_of_classes_have_the_weights_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    rows, labels = Rows.from_dense(rng.normal(size=(90, 4))), rng.integers(0, 7, 90).astype(float)
    whole, report = fit.linear(rows, labels, LinearOptions())
    monkeypatch.setattr(fit, "_CELLS", 200)  # two classes at a time
    cut, again = fit.linear(rows, labels, LinearOptions())
    assert report.training == again.training
    np.testing.assert_allclose(whole.coefficients, cut.coefficients, rtol=1e-9)
    np.testing.assert_allclose(whole.rho, cut.rho, rtol=1e-9)


# --- time


def wide_table(n: int) -> Callable[[], object]:
    pytest.importorskip("pyarrow")
    text = ",".join(["label", *(f"f{i}" for i in range(n))]) + "\n" + ",".join(["1"] * (n + 1)) + "\n"
    return lambda: list(stream_data(text.encode(), Reading()))


def endless_line(n: int) -> Callable[[], object]:
    def read() -> None:
        with suppress(SvmfastError):
            list(stream_data(b"a" * n, Reading()))

    return read


def pairs_of_classes(n: int) -> Callable[[], object]:
    k = next(k for k in range(n) if k * k > 2 * n)
    head = Head("c_svc", np.arange(k))
    names = {float(i): f"c{i}" for i in range(k)}
    columns = OutputColumns(head, names, columns=Columns(decision_values=True))
    keep = [f"{a} or {b}" for a, b in combinations("abcd", 2)]

    return lambda: columns.check("out.csv", keep)


def labels_of_classes(n: int) -> Callable[[], object]:
    words = [f"word {i}" for i in range(n)]
    return lambda: TrainingClasses().of_objects(words)


def files(n: int) -> Callable[[], object]:
    paths = [f"/folder/{i}/rows" for i in range(n)]
    return lambda: planned(paths, "/out", "", "/folder")


def labels_in_a_header(n: int) -> Callable[[], object]:
    """A LIBSVM model of many classes has a header as long as its pairs."""
    k = next(k for k in range(n) if k * k > 2 * n)
    lines = ["svm_type c_svc", "kernel_type rbf", "gamma 1", f"nr_class {k}", f"total_sv {k}"]
    lines += [f"rho {' '.join(['0'] * (k * (k - 1) // 2))}", f"label {' '.join(map(str, range(k)))}"]
    lines += [f"nr_sv {' '.join(['1'] * k)}", "SV", *[" ".join(["1"] * (k - 1)) + " 1:1"] * k, ""]
    text = "\n".join(lines).encode()
    return lambda: load_model(text)


def text_in_a_header(n: int) -> Callable[[], object]:
    """svmfast's own models have texts of any length: here the names of features."""
    names = tuple(f"f{i}" for i in range(n))
    scaling = Scaling(np.zeros(n), np.ones(n), None, names)
    text = model_bytes(ScaledModel(load_model(EXACT), scaling))
    return lambda: load_model(text)


@pytest.mark.parametrize(
    ("work", "size"),
    [
        (labels_in_a_header, 40_000),
        (text_in_a_header, 20_000),
        (wide_table, 4000),
        (endless_line, 200_000),
        (pairs_of_classes, 20_000),
        (labels_of_classes, 4000),
        (files, 3000),
    ],
)
def test_twice_the_size_takes_less_than_three_times_the_time(
    work: Callable[[int], Callable[[], object]], size: int
) -> None:
    runs, best = [work(size), work(2 * size)], [float("inf")] * 2
    for _ in range(5):
        for number, run in enumerate(runs):
            begin = time.process_time()
            run()
            best[number] = min(best[number], time.process_time() - begin)
    assert best[1] < 3 * best[0] + 0.005, best
