"""Training rows in several files: the model of one file with all rows, however they are divided."""

import gzip
from itertools import pairwise

import pytest
from command import ran
from program import data
from table_files import columns_of, write

import svmfast
from svmfast.errors import FileAccessError
from svmfast.formats.model_files import model_bytes

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


def test_a_folder_and_a_pattern_stand_for_their_files(tmp_path):
    lines = IRIS.read_bytes().splitlines(keepends=True)
    (folder := tmp_path / "in").mkdir()
    for name, part in (("b", lines[50:]), ("a", lines[:50]), (".hidden", [b"1 1:x\n"])):
        (folder / name).write_bytes(b"".join(part))
    (folder / "empty").mkdir()
    (tmp_path / "list").write_text(f"{folder}/[a-b]*\n")
    ran("budget-train", "-q", "-B", "5", "-o", tmp_path / "whole", IRIS)
    for words in (["-o", "m", "in/"], ["in/*", "m"], ["--files-from", "list", "-o", "m"]):
        ran("budget-train", "-q", "-B", "5", *words, cwd=tmp_path)
        assert (tmp_path / "m").read_bytes() == (tmp_path / "whole").read_bytes()
    made = [svmfast.budget_train(data, budget=5).model for data in (folder, [f"{folder}/*"], IRIS)]
    assert len({model_bytes(one) for one in made}) == 1
    with pytest.raises(FileAccessError, match=r"/empty: the folder has no files$"):
        svmfast.budget_train(folder / "empty")
