"""Tables in files, by the ending of their names."""

import json

import pyarrow as pa
from program import data
from pyarrow import csv, feather, parquet
from pyarrow import json as json_lines

import svmfast


def columns_of(name):
    """Return the rows of a file of the repository as columns: label, x1, x2, ..."""
    read = svmfast.read_svmlight(data(name))
    features = {f"x{j}": values for j, values in enumerate(read.rows.to_dense().T, 1)}
    return {"label": read.labels, **features}


def write(path, columns, **options):
    table = columns if isinstance(columns, pa.Table) else pa.table(columns)
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    else:
        (csv.write_csv if path.suffix == ".csv" else parquet.write_table)(table, path, **options)
    return path


def read(path):
    if path.suffix == ".parquet":
        return parquet.read_table(path)
    if path.suffix in (".arrow", ".feather"):
        return feather.read_table(path)
    if ".jsonl" in path.suffixes:
        return json_lines.read_json(path)
    tabs = ".tsv" in path.suffixes
    return csv.read_csv(path, parse_options=csv.ParseOptions(delimiter="\t" if tabs else ","))
