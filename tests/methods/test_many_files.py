"""Training rows in several files: the model of one file with all rows, however they are divided."""

import gzip
from itertools import pairwise

import pytest
from command import ran
from program import data
from table_files import columns_of, write

IRIS = data("iris.train")
BLOCKS = "meka --task svc --block-only --cluster-rows 30 --overlap 0.2"


def divided(folder, places):
    """Text, compressed text, a file without rows, and a table with the same columns."""
    lines = IRIS.read_bytes().splitlines(keepends=True)
    files = [folder / f"part-{k}" for k in range(len(places) + 1)]
    for file, (first, last) in zip(files, pairwise([0, *places, len(lines)]), strict=True):
        file.write_bytes(b"".join(lines[first:last]) or b"# none\n")
    files[0].write_bytes(gzip.compress(files[0].read_bytes()))
    last = write(folder / "last.parquet", {k: v[places[-1] :] for k, v in columns_of("iris.train").items()})
    return [*files[:-1], last]


@pytest.mark.parametrize(
    "words",
    [
        "budget-train -g 0.5 -B 5 -b 1",
        "meka --task svc --clusters 2 --rank 4",
        BLOCKS,
        pytest.param(f"{BLOCKS} --dask local:2", marks=pytest.mark.nightly),
    ],
)
def test_files_are_one_input(words, tmp_path):
    ran(*words.partition(" --dask")[0].split(), "-q", "-o", tmp_path / "whole", IRIS)
    for number, places in enumerate([(50,), (1, 30, 30, 70)]):
        (folder := tmp_path / str(number)).mkdir()
        files = divided(folder, places)
        (folder / "list").write_text("\n".join(map(str, files[1:])))
        made = folder / "model"
        done = ran(*words.split(), "-q", "-o", made, files[0], "--files-from", folder / "list")
        assert made.read_bytes() == (tmp_path / "whole").read_bytes(), done.stderr
