"""Files at URIs: the same rows as files of this machine; every fault of a store is one line."""

import gzip
import io
import shutil
from types import SimpleNamespace

import pyarrow as pa
import pytest
from command import ran
from program import data, model
from table_files import columns_of, write

from svmfast.errors import FileAccessError
from svmfast.formats import remote
from svmfast.formats.data import read_data
from svmfast.formats.source import open_source
from svmfast.options import Reading

EXACT = model("iris_c_linear")


@pytest.mark.parametrize("name", ["rows", "rows.gz", "a:b #?%20.txt", "t.csv", "t.jsonl", "t.parquet"])
def test_a_uri_gives_the_rows_of_the_file(name, tmp_path):
    path = tmp_path / name
    if name.startswith("t."):
        write(path, columns_of("iris.test"))
    else:
        text = data("iris.test").read_bytes()
        path.write_bytes(gzip.compress(text) if name == "rows.gz" else text)
    found, expected = (read_data(one, Reading()) for one in (f"file://{path}", path))
    assert (found.rows.to_dense() == expected.rows.to_dense()).all()
    assert found.labels.tolist() == expected.labels.tolist()
    assert found.columns == expected.columns


@pytest.mark.parametrize("pattern", ["", "/", "/*", "/p*[0-9]", "/**/p*", "/**", "/*/*", "/part-1", "/none*"])
def test_folders_and_patterns_at_uris_stand_for_the_files_of_paths(pattern, tmp_path, monkeypatch):
    for name in ("in/part-1", "in/part-2", "in/a b/part-3", "in/.hidden/x", "in/a b/.y", "in/x"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(data("iris.test"), tmp_path / name)
    monkeypatch.chdir(tmp_path)
    status, found = 2 * (pattern == "/none*"), []
    for start in (f"file://{tmp_path}", "."):
        words = ("--relative-to", f"{start}/in", "--out-dir", "out", EXACT, f"{start}/in{pattern}")
        ran("predict", *words, status=status)
        found.append(sorted(str(path) for path in tmp_path.joinpath("out").rglob("*.out")))
        shutil.rmtree("out", ignore_errors=True)
    assert found[0] == found[1]
    assert bool(found[0]) == (status == 0)


def test_every_fault_of_a_store_is_one_line(monkeypatch):
    def refuses(*_given):
        raise OSError("AWS Error ACCESS_DENIED during HeadObject operation: no\nmore")

    store = SimpleNamespace(open_input_file=refuses, get_file_info=refuses)
    monkeypatch.setattr(remote, "_store", lambda uri: (store, "bucket"))
    wanted = "cannot be read: AWS Error ACCESS_DENIED during HeadObject operation: no\n"
    for words in (["predict", "s3://b/x", EXACT], ["train", "s3://b/x"], ["info", "s3://b/x"]):
        assert ran(*words, status=2).stderr.decode() == f"s3://b/x: {wanted}"
    assert (
        ran("predict", "--out-dir", "o", EXACT, "s3://b/*", status=2).stderr.decode() == f"s3://b/*: {wanted}"
    )


class Failing(io.BytesIO):
    def read(self, size=-1):
        raise OSError("AWS Error NETWORK_CONNECTION")


@pytest.mark.parametrize("kind", [io.BytesIO, Failing])
def test_a_file_of_a_store_that_fails_while_it_is_read_is_an_error(kind, monkeypatch):
    stored = kind(b"1 1:0.5\n" * 100)
    store = SimpleNamespace(open_input_file=lambda place: pa.PythonFile(stored, mode="r"))
    monkeypatch.setattr(remote, "_store", lambda uri: (store, "bucket"))
    with open_source("s3://b/x") as opened:
        stored.truncate(80)
        with pytest.raises(FileAccessError, match=r"^s3://b/x: (became shorter|cannot be read: AWS Error)"):
            opened.peek(1000)


@pytest.mark.parametrize(
    "uri", ["s3://id:k/ey@b/x", "s3://b/x?region=a&secret_key=k/ey", "hdfs://u:k/ey@h:80/x"]
)
def test_a_secret_in_a_uri_is_never_printed(uri, tmp_path):
    (tmp_path / "list").write_text(uri)
    for words in (
        *(["predict", uri, EXACT], ["predict", "-", uri], ["train", uri, "m"], ["scale", "-r", uri, "x"]),
        *(["predict", "--out-dir", "o", EXACT, "--files-from", tmp_path / "list"], [uri], ["info", uri, uri]),
    ):
        done = ran(*words, status=2)
        assert b"k/ey" not in done.stderr + done.stdout
