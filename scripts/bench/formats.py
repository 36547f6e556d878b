"""Measure predict for many rows by file format, for many small files, and with two workers.

    python scripts/bench/formats.py --data DIR --models DIR [--copies 110] [--page docs/batch.md]

The rows are the test rows of ijcnn1, many times over, as LIBSVM's text, gzip, CSV and Parquet. For each
format: rows per second, core seconds and peak memory of `svmfast predict` with a quadratic expansion, and a
run with --out-dir that is killed half way, then run again. The exact model, 2,000 small files and Dask
workers follow. The script fails if an output differs from the others.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import os
import shutil
import signal
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from measuring import PROGRAM, Finished, machine, place, plain_file, run
from pages import put_into
from pyarrow import csv, parquet

from svmfast.formats.svmlight import read_svmlight

NAMES = {
    "LIBSVM's text": "rows.svm",
    "Parquet (snappy)": "rows.parquet",
    "Parquet (plain)": "plain.parquet",
    "LIBSVM's text, gzip": "rows.svm.gz",
    "CSV": "rows.csv",
}
SMALL_FILES, SMALL_ROWS = 2000, 1000
#: Sizes of the second table, in rows, and the number of cores of its last column.
SIZES, CORES = (10**9, 10**12), 100


def write_formats(text: bytes, folder: Path, copies: int) -> None:
    """Write the rows `copies` times in every format; integers become int8 columns of Parquet."""
    one = folder / "one.svm"
    one.write_bytes(text)
    data = read_svmlight(one)
    dense = data.rows.to_dense()
    columns = {"label": pa.array(data.labels)}
    for j, column in enumerate(dense.T):
        whole = bool((column == np.round(column)).all() and np.abs(column).max() < 100)
        columns[f"f{j + 1}"] = pa.array(column.astype(np.int8) if whole else column)
    table = pa.table(columns)
    for name, how in (
        ("rows.parquet", {}),
        ("plain.parquet", {"compression": "none", "use_dictionary": False}),
    ):
        with parquet.ParquetWriter(folder / name, table.schema, **how) as writer:
            for first in range(0, copies, 10):
                many = [table] * min(10, copies - first)
                writer.write_table(pa.concat_tables(many), row_group_size=1 << 20)
    with (folder / "rows.svm").open("wb") as out:
        for _ in range(copies):
            out.write(text)
    with (folder / "rows.svm").open("rb") as source, gzip.open(folder / "rows.svm.gz", "wb", 6) as packed:
        shutil.copyfileobj(source, packed, 1 << 20)
    with (folder / "rows.csv").open("wb") as out:
        for copy in range(copies):
            csv.write_csv(table, out, csv.WriteOptions(include_header=copy == 0))


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def predict(data: Path, model: Path, out: Path, *options: str) -> Finished:
    return run([PROGRAM, "predict", "-q", "--no-fallback", *options, data, model, out])


def interrupted(data: Path, model: Path, folder: Path, seconds: float) -> Path:
    """Kill a run with --out-dir after some seconds, run it again, and return the output."""
    shutil.rmtree(folder, ignore_errors=True)
    words = [PROGRAM, "predict", "-q", "--no-fallback", "--out-dir", folder, model, data]
    victim = subprocess.Popen([str(word) for word in words], stdout=subprocess.DEVNULL)
    time.sleep(seconds)
    victim.send_signal(signal.SIGKILL)
    if victim.wait() != -signal.SIGKILL:
        raise RuntimeError("the run ended before it was killed")
    output = folder / f"{data.name}.out"
    if output.exists():
        raise RuntimeError(f"{output}: an output of a killed run")
    run(words)
    return output


def small_files(text: bytes, model: Path, folder: Path) -> tuple[float, float]:
    """Return core seconds of --out-dir and of separate processes, for all small files."""
    lines = text.splitlines(keepends=True)
    inputs = folder / "small"
    inputs.mkdir()
    for number in range(SMALL_FILES):
        begin = number * 37 % (len(lines) - SMALL_ROWS)
        (inputs / f"{number:04}.svm").write_bytes(b"".join(lines[begin : begin + SMALL_ROWS]))
    files = sorted(inputs.iterdir())
    together = run([PROGRAM, "predict", "-q", "--no-fallback", "--out-dir", folder / "scored", model, *files])
    some = files[:: SMALL_FILES // 20]
    apart = statistics.median(predict(path, model, folder / "one.out").cpu for path in some)
    for path in some:
        predict(path, model, folder / "one.out")
        if digest(folder / "one.out") != digest(folder / "scored" / f"{path.name}.out"):
            raise RuntimeError(f"{path}: another output")
    return together.cpu, apart * SMALL_FILES


def workers(data: Path, model: Path, folder: Path, number: int) -> tuple[float, str]:
    """Return the wall-clock seconds of a run on Dask workers, and the digest of its output."""
    out = folder / f"dask{number}"
    shutil.rmtree(out, ignore_errors=True)
    options = ("--dask", f"local:{number}", "--out-dir", out)
    done = run([PROGRAM, "predict", "-q", *options, model, data])
    return done.wall, digest(out / f"{data.name}.out")


def by_format(folder: Path, model: Path, repeats: int) -> dict[str, list[Finished]]:
    """Return all runs with each format; RuntimeError if an output differs."""
    found: dict[str, list[Finished]] = {name: [] for name in NAMES}
    outputs = set()
    for _ in range(repeats):
        for name, file in NAMES.items():
            found[name].append(predict(folder / file, model, folder / "out"))
            outputs.add(digest(folder / "out"))
    for name, file in NAMES.items():
        half = statistics.median(one.wall for one in found[name]) / 2
        outputs.add(digest(interrupted(folder / file, model, folder / "again", half)))
    if len(outputs) != 1:
        raise RuntimeError("outputs differ")
    return found


def by_workers(data: Path, model: Path, folder: Path) -> tuple[float, float]:
    """Return the seconds of one worker and of two."""
    run([PROGRAM, "predict", "-q", data, model, folder / "out"])
    one, first = workers(data, model, folder, 1)
    two, second = workers(data, model, folder, 2)
    if not first == second == digest(folder / "out"):
        raise RuntimeError("outputs of workers differ")
    return one, two


def measure(options: argparse.Namespace, folder: Path) -> list[str]:
    """Measure everything; return the page's tables."""
    text = plain_file(options.data, "ijcnn1.t", folder).read_bytes()
    exact = plain_file(options.models, "ijcnn1_c1.model", folder)
    model, less = folder / "fast", folder / "less.svm"
    run([PROGRAM, "approximate", "-q", exact, "-o", model])
    write_formats(text, folder, options.copies)
    rows = text.count(b"\n") * options.copies
    found = by_format(folder, model, options.repeats)
    lines = [
        f"{rows:,} rows (ijcnn1.t {options.copies} times; 22 features, 13 of them nonzero), a quadratic "
        "expansion of ijcnn1's model (`-c 1 -g 0.05`, 8,878 support vectors; 276 multiply-adds per row). In "
        "Parquet 10 columns are int8 and 12 float64; plain means without compression and dictionaries. "
        f"Start-up is included. Medians of {options.repeats}, formats in turn.",
        "",
        "| input | bytes per row | million rows per second | core seconds | million per core second "
        "| peak MB |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    rates: dict[str, float] = {}
    for name, runs in found.items():
        wall, cpu = (statistics.median(getattr(one, key) for one in runs) for key in ("wall", "cpu"))
        rates[f"fast model, {name}"] = rows / cpu
        size = (folder / NAMES[name]).stat().st_size / rows
        figures = f"{size:.0f} | {rows / wall / 1e6:.1f} | {cpu:.1f} | {rows / cpu / 1e6:.2f}"
        lines.append(f"| {name} | {figures} | {max(one.peak for one in runs) / 1e6:.0f} |")
    parts = max(1, options.copies // 14)
    less.write_bytes(text * parts)
    few = text.count(b"\n") * parts
    exactly = few / run([PROGRAM, "predict", "-q", less, exact, folder / "out"]).cpu
    rates["exact model, LIBSVM's text"] = exactly
    together, apart = small_files(text, model, folder)
    one, two = by_workers(folder / "rows.svm", exact, folder)
    lines += [
        "",
        "All outputs have the same bytes, also after a run with `--out-dir` was killed (SIGKILL) half way, "
        "which left no output, and was run again.",
        "",
        f"- The exact model predicts {exactly / 1e6:.2f} million rows per core second.",
        f"- `--out-dir` takes {together:.1f} core seconds for {SMALL_FILES:,} files of {SMALL_ROWS:,} rows; "
        f"separate processes take {apart:.0f}, {apart / together:.0f} times as long.",
        "- With the exact model in double precision two single-threaded workers (`--dask local:2`) predict "
        f"the text in {two:.1f} s, one does in {one:.1f} s, with the cluster's start: "
        f"{one / two:.2f} times as fast.",
        "",
        "Dividing the number of rows by these rates gives:",
        "",
        f"| | 10^9 rows, core hours | 10^12 rows, core days | 10^12 rows on {CORES} cores, hours |",
        "|---|---:|---:|---:|",
    ]
    for name, rate in rates.items():
        days = SIZES[1] / rate / 86400
        lines.append(f"| {name} | {SIZES[0] / rate / 3600:.2f} | {days:.1f} | {days * 24 / CORES:.1f} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of ijcnn1.t, plain or .xz")
    parser.add_argument("--models", type=Path, required=True, help="folder of ijcnn1_c1.model, plain or .xz")
    parser.add_argument("--copies", type=int, default=110)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--page", type=Path, help="put the tables between this file's markers")
    options = parser.parse_args()
    where: dict[str, Any] = machine(len(os.sched_getaffinity(0)))
    where["command"] = "python scripts/bench/formats.py --data DIR --models DIR"
    with tempfile.TemporaryDirectory(prefix="svmfast-formats-") as folder:
        lines = measure(options, Path(folder))
    page = [f"Measured on {place(where, 'numpy')}.", "", f"    {where['command']}", "", *lines]
    print("\n".join(page))
    if options.page:
        put_into(options.page, page)


if __name__ == "__main__":
    main()
