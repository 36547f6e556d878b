"""predict for many rows by file format, for many small files, and with two workers: docs/batch.md.

    python scripts/bench/formats.py [--copies 5]                                               # on fixtures/
    python scripts/bench/formats.py --data DIR --models DIR [--copies 110] [--page docs/batch.md]

The rows are those of ijcnn1.t, many times over, as LIBSVM's text, gzip, CSV and Parquet; the model is a
quadratic expansion of ijcnn1_c1. Table formats: `svmfast predict` of each, and its rate for 10^12 rows. Table
other: the exact model, 2,000 small files in one run and one by one, one worker and two. Fails if an output
differs from the others.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import shutil
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from harness import Bench, Table, measure
from pyarrow import csv, parquet

from svmfast.formats.svmlight import read_svmlight

FORMS = {
    "LIBSVM's text": "rows.svm",
    "Parquet (snappy)": "rows.parquet",
    "Parquet (plain)": "plain.parquet",
    "LIBSVM's text, gzip": "rows.svm.gz",
    "CSV": "rows.csv",
}
SMALL_FILES, SMALL_ROWS, CORES = 2000, 1000, 100


def write_formats(text: bytes, folder: Path, copies: int) -> None:
    """Write the rows `copies` times in every format; integers become int8 columns of Parquet."""
    one = folder / "one.svm"
    one.write_bytes(text)
    data = read_svmlight(one)
    columns = {"label": pa.array(data.labels)}
    for j, column in enumerate(data.rows.to_dense().T):
        whole = bool((column == np.round(column)).all() and np.abs(column).max() < 100)
        columns[f"f{j + 1}"] = pa.array(column.astype(np.int8) if whole else column)
    table = pa.table(columns)
    plain = {"compression": "none", "use_dictionary": False}
    for name, how in (("rows.parquet", {}), ("plain.parquet", plain)):
        with parquet.ParquetWriter(folder / name, table.schema, **how) as writer:
            for first in range(0, copies, 10):
                many = pa.concat_tables([table] * min(10, copies - first))
                writer.write_table(many, row_group_size=1 << 20)
    with (folder / "rows.svm").open("wb") as out, (folder / "rows.csv").open("wb") as other:
        for copy in range(copies):
            out.write(text)
            csv.write_csv(table, other, csv.WriteOptions(include_header=copy == 0))
    with (folder / "rows.svm").open("rb") as source, gzip.open(folder / "rows.svm.gz", "wb", 6) as packed:
        shutil.copyfileobj(source, packed, 1 << 20)


def prepared(bench: Bench, name: str) -> tuple[bytes, Path, Path]:
    """Return the text of the rows, the exact model, and its expansion."""
    exact, fast = bench.model(name), bench.folder / "fast"
    bench.svmfast("approximate", exact, "-o", fast, "--force")
    return bench.test(name).read_bytes(), exact, fast


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def expect(equal: bool, what: str) -> None:
    if not equal:
        raise SystemExit(f"formats: {what}")


def formats(bench: Bench, name: str) -> Iterator[Sequence[str]]:
    """Predict every format in turn; outputs must be equal."""
    text, _, model = prepared(bench, name)
    write_formats(text, bench.folder, bench.options.copies)
    rows, out = text.count(b"\n") * bench.options.copies, bench.folder / "out"
    runs, outputs = {form: [] for form in FORMS}, set()
    for _ in range(bench.repeats):
        for form, file in FORMS.items():
            done = bench.svmfast("predict", "--no-fallback", bench.folder / file, model, out)
            runs[form].append(done)
            outputs.add(digest(out))
    for form, done in runs.items():
        path = bench.folder / FORMS[form]
        wall, cpu = (statistics.median(getattr(one, key) for one in done) for key in ("wall", "cpu"))
        size, peak = path.stat().st_size / rows, max(one.peak for one in done) / 1e6
        speeds = f"{size:.0f}", f"{rows / wall / 1e6:.1f}", f"{cpu:.1f}", f"{rows / cpu / 1e6:.2f}"
        yield form, f"{rows:,}", *speeds, f"{peak:.0f}", f"{1e12 / (rows / cpu) / CORES / 3600:.1f}"
    expect(len(outputs) == 1, "outputs differ")


def other(bench: Bench, name: str) -> Iterator[Sequence[str]]:
    """The exact model; many small files; workers."""
    text, exact, model = prepared(bench, name)
    few, out, inputs = bench.folder / "few.svm", bench.folder / "out", bench.folder / "small"
    few.write_bytes(text * max(1, bench.options.copies // 14))
    rate = few.read_bytes().count(b"\n") / bench.svmfast("predict", few, exact, out).cpu
    yield "exact model, million rows per core second", f"{rate / 1e6:.2f}"
    lines = text.splitlines(keepends=True)
    inputs.mkdir()
    for number in range(SMALL_FILES):
        begin = number * 37 % (len(lines) - SMALL_ROWS)
        (inputs / f"{number:04}.svm").write_bytes(b"".join(lines[begin : begin + SMALL_ROWS]))
    scored, files = bench.folder / "scored", sorted(inputs.iterdir())
    together = bench.svmfast("predict", "--no-fallback", "--out-dir", scored, model, *files).cpu
    apart = []
    for path in files[:: SMALL_FILES // 20]:
        apart.append(bench.svmfast("predict", "--no-fallback", path, model, out).cpu)
        expect(digest(out) == digest(scored / f"{path.name}.out"), f"{path}: another output")
    yield f"{SMALL_FILES:,} files of {SMALL_ROWS:,} rows with `--out-dir`, core seconds", f"{together:.1f}"
    yield "separate processes, core seconds", f"{statistics.median(apart) * SMALL_FILES:.0f}"
    bench.svmfast("predict", few, exact, out)
    for number in (1, 2):
        folder = bench.folder / f"dask{number}"
        words = ("--dask", f"local:{number}", "--out-dir", folder, exact, few)
        taken = bench.svmfast("predict", *words).wall
        expect(digest(folder / f"{few.name}.out") == digest(out), "outputs of workers differ")
        yield f"exact model, `--dask local:{number}`, seconds with the cluster's start", f"{taken:.1f}"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--copies", type=int, default=110)


CASE = ["ijcnn1_c1"]
TABLES = [
    Table(
        "formats",
        "input | rows | bytes per row | million rows per second | core seconds | million per core second "
        f"| peak MB | 10^12 rows on {CORES} cores, hours",
        CASE, formats, ["photos_c_rbf"], marks="bench",
    ),
    Table("other", "what | figure", CASE, other, ["photos_c_rbf"], marks="bench"),
]  # fmt: skip

if __name__ == "__main__":
    measure(__doc__, TABLES, arguments=arguments, versions=("numpy",))
