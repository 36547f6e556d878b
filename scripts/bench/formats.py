"""predict for many rows by file format: docs/batch.md.

    python scripts/bench/formats.py [--copies 5]                                               # on fixtures/
    python scripts/bench/formats.py --data DIR --models DIR [--copies 110] [--page docs/batch.md]

The rows are those of ijcnn1.t, many times over, as LIBSVM's text, gzip, CSV and Parquet; the model is a
quadratic expansion of ijcnn1_c1, and the exact model for a comparison. Fails if an output of the expansion
differs. Start-up is included.
"""

import gzip
import shutil
import statistics

import numpy as np
import pyarrow as pa
from harness import Table, measure
from pyarrow import csv, parquet

from svmfast.formats.svmlight import read_svmlight

FORMS = {
    "LIBSVM's text": "rows.svm",
    "Parquet (snappy)": "rows.parquet",
    "Parquet (plain)": "plain.parquet",
    "LIBSVM's text, gzip": "rows.svm.gz",
    "CSV": "rows.csv",
}
CORES = 100


def write_formats(text, folder, copies):
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


def formats(bench, name):
    """Predict every format in turn, then the text with the exact model."""
    exact, model, out = bench.model(name), bench.folder / "fast", bench.folder / "out"
    bench.svmfast("approximate", exact, "-o", model, "--force")
    text = bench.test(name).read_bytes()
    write_formats(text, bench.folder, bench.options.copies)
    rows, runs, outputs = text.count(b"\n") * bench.options.copies, {form: [] for form in FORMS}, set()
    for _ in range(bench.repeats):
        for form, file in FORMS.items():
            runs[form].append(bench.svmfast("predict", "--no-fallback", bench.folder / file, model, out))
            outputs.add(out.read_bytes())
    if len(outputs) != 1:
        raise SystemExit("formats: outputs differ")
    sizes = {form: (bench.folder / file).stat().st_size / rows for form, file in FORMS.items()}
    runs["exact model"] = [bench.svmfast("predict", bench.folder / "rows.svm", exact, out)]
    for form, done in runs.items():
        wall, cpu = (statistics.median(getattr(one, key) for one in done) for key in ("wall", "cpu"))
        peak = max(one.peak for one in done) / 1e6
        speeds = f"{rows / wall / 1e6:.1f}", f"{cpu:.1f}", f"{rows / cpu / 1e6:.2f}", f"{peak:.0f}"
        size = f"{sizes[form]:.0f}" if form in sizes else ""
        yield form, f"{rows:,}", size, *speeds, f"{1e12 / (rows / cpu) / CORES / 3600:.1f}"


TABLES = [
    Table(
        "formats",
        "input | rows | bytes per row | million rows per second | core seconds | million per core second "
        f"| peak MB | 10^12 rows on {CORES} cores, hours",
        ["ijcnn1_c1"], formats, ["photos_c_rbf"], marks="bench",
    ),
]  # fmt: skip

if __name__ == "__main__":
    measure(__doc__, TABLES, arguments={"--copies": {"type": int, "default": 110}}, versions=("numpy",))
