"""Many files in one process, or by workers of Dask: the outputs of single runs, complete or absent."""

import gzip
import os
import shutil
import signal
import subprocess
import time

import numpy as np
import pyarrow as pa
import pytest
from command import ran, report
from json_schema import faults
from program import PROGRAM, data, model
from table_files import columns_of, read, write

import svmfast as package
from svmfast.cli.report_schema import schema
from svmfast.dask import predict as predict_collection
from svmfast.errors import OptionError, WriteError

EXACT = model("photos_c_rbf")


@pytest.fixture
def parts(tmp_path):
    """Five files with different rows."""
    (tmp_path / "in").mkdir()
    lines = data("photos.test").read_bytes().splitlines(keepends=True)
    paths = [tmp_path / "in" / f"part-{number}" for number in range(5)]
    for number, path in enumerate(paths):
        path.write_bytes(b"".join(lines[number * 300 : (number + 1) * 300]))
    return paths


def expected(parts, *options):
    return {f"{one.name}.out": ran("predict", "-q", *options, one, EXACT, "-").stdout for one in parts}


def outputs(folder):
    found = (path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


@pytest.mark.parametrize("options", [(), ("--decision-values",), ("-j", "1")])
def test_each_output_is_that_of_a_separate_run(parts, tmp_path, options):
    done = ran("predict", *options, "--out-dir", tmp_path / "out", EXACT, *parts)
    assert done.stderr == b"svmfast: 5 of 5 files predicted\n"
    assert outputs(tmp_path / "out") == expected(parts, *options)
    (tmp_path / "whole").write_bytes(b"".join(part.read_bytes() for part in parts))
    assert done.stdout == ran("predict", tmp_path / "whole", EXACT, tmp_path / "one").stdout


def test_outputs_that_exist_are_left_out_on_request(parts, tmp_path):
    out = tmp_path / "out"

    def statuses(*options):
        found = report("predict", *options, "--out-dir", out, EXACT, *parts)
        assert faults(schema(), found) == []
        predicted = [one for one in found["files"] if one["status"] == "predicted"]
        assert found["rows"] == sum(one["rows"] for one in predicted) == 300 * len(predicted)
        assert found["correct"] == sum(one["correct"] for one in predicted)
        return "".join(one["status"][0] for one in found["files"])

    assert statuses("--skip-existing") == "ppppp"
    (out / "part-2.out").unlink()
    (out / "part-3.out").write_bytes(b"another's\n")
    assert statuses("--skip-existing") == "sspss"
    assert (out / "part-3.out").read_bytes() == b"another's\n"
    assert statuses() == "ppppp"
    assert outputs(out) == expected(parts)


def test_a_bad_input_is_named_and_the_others_are_finished(parts, tmp_path):
    parts[2].write_text("1 1:0.5\n1 x:1\n")
    (tmp_path / "empty").mkdir()
    words = ["predict", "--out-dir", tmp_path / "out", EXACT, *parts, tmp_path / "none", tmp_path / "empty"]
    done = ran(*words, status=2)
    assert done.stderr.decode().splitlines() == [
        f"{tmp_path / 'empty'}: the folder has no files",
        f"{parts[2]}:2: the index is not an integer ('x:1'); expected index:value with an integer from 1",
        f"{tmp_path / 'none'}: cannot be read: No such file or directory",
        "svmfast: 4 of 7 files predicted, 3 failed",
    ]
    assert sorted(outputs(tmp_path / "out")) == ["part-0.out", "part-1.out", "part-3.out", "part-4.out"]
    found = report(*words, "-q", "--skip-existing", status=2)
    assert [found[f"files_{what}"] for what in ("predicted", "skipped", "failed")] == [0, 4, 3]
    assert found["files"][2]["error"] == done.stderr.decode().splitlines()[1]


@pytest.mark.parametrize("pattern", ["", "/", "/*", "/p*[0-9]", "/**/part-*"])
def test_folders_and_patterns_stand_for_their_files(pattern, parts):
    """The outputs are put among the inputs, and are not read by the next run; other names are in a list."""
    folder, none = parts[0].parent, f"{parts[0].parent}/*.none"
    (folder / "sub").mkdir()
    (folder / ".hidden").write_text("no rows")
    for end in "\n\0":
        words = ("--out-dir", folder, "--files-from", "-", EXACT, f"{folder}{pattern}")
        done = ran("predict", *words, stdin=f"{none}{end}{parts[1]}{end}".encode(), status=2)
        assert f"{none}: no file has such a name" in done.stderr.decode().splitlines()
        assert done.stderr.endswith(b"\nsvmfast: 5 of 6 files predicted, 1 failed\n")
        assert outputs(folder) == {**expected(parts), **{part.name: part.read_bytes() for part in parts}}


def test_a_night_with_empty_tables_and_nulls(tmp_path):
    """Of many tables three are without rows and one has nulls: status 0, and equally many rows."""
    columns, nights, gap = columns_of("iris.test"), tmp_path / "in", np.arange(50) % 9 == 4
    nights.mkdir()
    for night in range(50):
        table = pa.table({**columns, "id": range(night, night + 50)})
        if night == 17:
            table = table.set_column(2, "x2", pa.array(columns["x2"], mask=gap))
        write(nights / f"night-{night:02}.parquet", table[:0] if night in (3, 4) else table)
    write(nights / "night-44.parquet", {name: pa.nulls(0) for name in (*columns, "id")})
    words = ("--on-null", "keep", "--keep", "id", "--suffix", ".parquet", "--out-dir", tmp_path / "out")
    found = report("predict", *words, model("iris_c_rbf_prob"), f"{nights}/*.parquet")
    assert (found["files_predicted"], found["files_failed"]) == (50, 0)
    assert (found["rows"], found["rows_with_missing_features"]) == (47 * 50 - sum(gap), sum(gap))
    for path in sorted(nights.iterdir()):
        rows, made = read(path), read(tmp_path / "out" / path.name)
        assert made["id"].equals(rows["id"])
        assert made["label"].null_count == rows["x2"].null_count


def test_relative_paths_are_kept(tmp_path):
    source = tmp_path / "in"
    for folder in ("a", "b"):
        (source / folder).mkdir(parents=True)
        shutil.copy(data("photos.test"), source / folder / "rows.out.gz")
    words = ("predict", "-q", "--out-dir", tmp_path / "out", "--suffix", ".out.gz", EXACT)
    words = (*words, *sorted(source.rglob("*.gz")))
    done = ran(*words, status=2)
    assert b"would both be written to" in done.stderr
    assert b"give --relative-to, a folder that contains both" in done.stderr
    ran(*words, "--relative-to", source)
    found = outputs(tmp_path / "out")
    assert sorted(found) == ["a/rows.out.gz", "b/rows.out.gz"]
    assert found["a/rows.out.gz"].startswith(b"\x1f\x8b")
    done = ran(*words, "--relative-to", source / "a", status=2)
    assert done.stderr.decode().endswith(f"is not in '{source / 'a'}' (--relative-to)\n")


def test_an_unwritable_output_ends_the_run(parts, tmp_path):
    (tmp_path / "out" / "part-0.out").mkdir(parents=True)
    with pytest.raises(WriteError, match=r"part-0\.out: cannot be written: Is a directory"):
        package.predict_files(EXACT, parts, tmp_path / "out")
    os.mkfifo(tmp_path / "part-0.out")
    with pytest.raises(OptionError, match=r"part-0\.out' is not a regular file; remove it"):
        package.predict_files(EXACT, parts, tmp_path)


# --- by workers of Dask

# Of Dask's own threads and sockets, at their end.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def cluster():
    """Take back what Dask sets for its workers, so that later tests can run the program in forks."""
    pytest.importorskip("distributed")
    before = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """Text, Parquet with nulls, compressed text, a small and an empty file, and two that cannot be read."""
    folder, text = tmp_path_factory.mktemp("inputs"), data("photos.test").read_bytes()
    (folder / "a.bad").write_bytes(text[: text.rindex(b"\n", 0, 90_000) + 1] + b"1 1:x\n")
    (folder / "a.zip").write_bytes(b"PK\x03\x04" + bytes(60_000))
    (folder / "large").write_bytes(text)
    (folder / "packed.gz").write_bytes(gzip.compress(text[: text.rindex(b"\n", 0, 90_000) + 1]))
    (folder / "small").write_bytes(text[: text.rindex(b"\n", 0, 9_000) + 1])
    columns = columns_of("photos.test")
    columns["x1"] = pa.array(columns["x1"], mask=np.arange(4000) % 7 == 0)
    write(folder / "table.parquet", columns, row_group_size=300)
    (folder / "void").touch()
    return sorted(folder.iterdir())


@pytest.mark.parametrize("suffix", [".out.gz", ".parquet"])
def test_outputs_and_errors_are_those_of_one_process(cluster, inputs, tmp_path, suffix):
    options = {"suffix": suffix, "decision_values": True, "on_null": "skip"}
    alone = package.predict_files(EXACT, inputs, tmp_path / "alone", **options)
    shared = package.predict_files(EXACT, inputs, tmp_path / "shared", dask="local:2", **options)
    assert shared.files_failed == len(inputs) - shared.files_predicted == 2
    assert outputs(tmp_path / "shared") == outputs(tmp_path / "alone")
    expected = alone.to_dict()
    for one in expected["files"]:
        one["output"] = one["output"].replace("/alone/", "/shared/")
    assert shared.to_dict() == expected
    options |= {"skip_existing": True, "dask": "nobody:1"}
    assert package.predict_files(EXACT, inputs[2:], tmp_path / "shared", **options).files_skipped == 5


@pytest.mark.nightly
@pytest.mark.parametrize("killed", [1, 2])
def test_killed_workers_are_replaced(killed, cluster, tmp_path):
    import distributed

    lines = data("photos.test").read_bytes().splitlines(keepends=True)
    files = [tmp_path / f"rows-{number:03}" for number in range(40)]
    for number, file in enumerate(files):
        file.write_bytes(b"".join(lines[number * 20 : number * 20 + 2000]))
    words, out = [PROGRAM, "predict", "-q", "--decision-values", "--out-dir"], tmp_path / "out"
    subprocess.run([*words, tmp_path / "whole", EXACT, *files], check=True)
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as local:
        words = [*words, out, "--dask", local.scheduler_address, EXACT, *files]
        run = subprocess.Popen(words, stderr=subprocess.PIPE)
        until = time.monotonic() + 60
        while len(outputs(out)) < 8 and time.monotonic() < until and run.poll() is None:
            time.sleep(0.01)
        for worker in list(local.workers.values())[:killed]:
            os.kill(worker.pid, signal.SIGKILL)
        message = run.communicate(timeout=120)[1].decode()
    assert run.returncode == 0, message
    assert outputs(out) == outputs(tmp_path / "whole")


def test_collections_of_dask(cluster):
    import dask
    import dask.array
    import dask.dataframe
    import pandas

    dense = package.read_svmlight(data("photos.test")).rows.to_dense()
    expected = package.predict(EXACT, dense).predicted
    with dask.config.set(scheduler="processes", num_workers=2):
        array = predict_collection(EXACT, dask.array.from_array(dense, chunks=(1500, 2)))
        assert array.chunks == ((1500, 1500, 1000),)
        assert np.array_equal(array.compute(), expected)
        frame = pandas.DataFrame(dense, columns=[f"x{j}" for j in range(dense.shape[1])])
        frame.index += 7
        labels = predict_collection(EXACT, dask.dataframe.from_pandas(frame, npartitions=3)).compute()
        assert labels.index.equals(frame.index)
        assert np.array_equal(labels, expected)


@pytest.mark.parametrize(("returns", "head"), [("decisions", ""), ("probabilities", "probability ")])
def test_values_and_probabilities_of_collections(returns, head, tmp_path):
    import dask.array
    import dask.dataframe
    import pandas

    exact, names = model("iris_c_rbf_prob"), [*"wxyz"]
    dense = package.read_svmlight(data("iris.test")).rows.to_dense(4)
    wanted = getattr(package.predict(exact, dense, probability=True), returns)
    made = predict_collection(exact, dask.array.from_array(dense, chunks=(7, 2)), returns=returns)
    assert (made.ndim, made.shape) == (2, wanted.shape)
    assert np.array_equal(made.compute(scheduler="sync"), wanted)
    assert np.array_equal(made[:, 1].compute(scheduler="sync"), wanted[:, 1])
    frame = pandas.DataFrame(dense, columns=names).assign(label="?", day=1)
    lazy = dask.dataframe.from_pandas(frame, npartitions=3)
    reading = package.Reading(exclude=("day",))
    found = predict_collection(exact, lazy, returns=returns, reading=reading)
    assert list(found.columns) == list(found.compute(scheduler="sync").columns)
    assert np.array_equal(found.compute(scheduler="sync"), wanted)
    options = ["--decision-values"] if returns == "decisions" else ["-b", "1"]
    ran("predict", *options, data("iris.test"), exact, tmp_path / "out.csv")
    heads = (tmp_path / "out.csv").read_text().splitlines()[0].replace('"', "").split(",")
    assert list(found.columns) == [one for one in heads if one.startswith(head) and one != "label"]
    with pytest.raises(OptionError, match=r"^`returns` is"):
        predict_collection(exact, lazy, returns="values")
