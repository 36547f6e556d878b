"""Workers of a Dask cluster write the same bytes as one process, whatever fails on the way."""

import gzip
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, nullcontext

import numpy as np
import pytest
from command import report
from program import PROGRAM, data, model
from table_files import columns_of, write

import svmfast as package
from svmfast.dask import predict as predict_collection
from svmfast.errors import MissingPackageError, OptionError, SvmfastError, WrongTypeError

EXACT = model("photos_c_rbf")
# Of Dask's own threads and sockets, at their end.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module", autouse=True)
def _a_cluster():
    """Import Dask, which takes a second, only if these tests run."""
    pytest.importorskip("distributed")


@pytest.fixture(autouse=True)
def _environment():
    """Take back what Dask sets for its workers, so that later tests can run the program in forks."""
    before = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(before)


def outputs(folder):
    found = (path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """Text, Parquet with several row groups, compressed text, and a small file."""
    folder = tmp_path_factory.mktemp("inputs")
    text = data("photos.test").read_bytes()
    (folder / "large").write_bytes(text)
    (folder / "packed.gz").write_bytes(gzip.compress(text[: text.rindex(b"\n", 0, 90_000) + 1]))
    (folder / "small").write_bytes(text[: text.rindex(b"\n", 0, 9_000) + 1])
    write(folder / "table.parquet", columns_of("photos.test"), row_group_size=300)
    return sorted(folder.iterdir())


@pytest.mark.parametrize("suffix", [".out.gz", ".parquet"])
def test_the_outputs_are_those_of_one_process(inputs, tmp_path, suffix):
    options = {"suffix": suffix, "decision_values": True}
    alone = package.predict_files(EXACT, inputs, tmp_path / "alone", **options)
    shared = package.predict_files(EXACT, inputs, tmp_path / "shared", dask="local:2", **options)
    assert shared.files_predicted == len(inputs)
    assert outputs(tmp_path / "shared") == outputs(tmp_path / "alone")
    expected = alone.to_dict()
    for one in expected["files"]:
        one["output"] = one["output"].replace("/alone/", "/shared/")
    assert shared.to_dict() == expected
    options |= {"skip_existing": True, "dask": "nobody:1"}
    assert package.predict_files(EXACT, inputs, tmp_path / "shared", **options).files_skipped == len(inputs)


def test_a_file_that_fails(tmp_path):
    """Its error is that of one process, and the others are predicted."""
    lines = data("photos.test").read_bytes().splitlines(keepends=True)
    (tmp_path / "zip").write_bytes(b"PK\x03\x04" + bytes(60_000))
    (tmp_path / "far" / "away").mkdir(parents=True)
    (tmp_path / "far" / "good").write_bytes(b"".join(lines[:100]))
    (tmp_path / "link").symlink_to("far/away")
    lines[3000] = b"1 1:x\n"
    (tmp_path / "bad").write_bytes(b"".join(lines))
    files = [tmp_path / name for name in ("bad", "zip", "link/../good")]
    alone = package.predict_files(EXACT, files, tmp_path / "alone")
    shared = package.predict_files(EXACT, files, tmp_path / "out", dask="local:1")
    assert [one.status for one in shared.files] == ["failed", "failed", "predicted"]
    assert [one.error for one in shared.files] == [one.error for one in alone.files]
    assert str(shared.files[0].error).startswith(f"{files[0]}:3001: the value is not a number ('1:x')")
    assert os.listdir(tmp_path / "out") == ["good.out"]


def test_addresses(inputs, tmp_path, monkeypatch):
    def refused(dask, error, message):
        with pytest.raises(error, match=message):
            package.predict_files(EXACT, inputs, tmp_path / "out", dask=dask)

    refused("local:x", OptionError, "`dask` is 'local:x'; expected a scheduler's address, or local:N")
    monkeypatch.setattr("svmfast.commands.cluster.PATIENCE", 1)
    refused("127.0.0.1:9", SvmfastError, "no scheduler with workers at '127")
    monkeypatch.setitem(sys.modules, "distributed", None)
    refused("local:1", MissingPackageError, r"pip install 'svmfast\[dask\]'")


@pytest.mark.nightly
def test_a_connection_that_closes(inputs, tmp_path, monkeypatch):
    import distributed

    def closed(futures):
        raise distributed.comm.CommClosedError("in <TCP>")

    monkeypatch.setattr(distributed, "as_completed", closed)
    with pytest.raises(SvmfastError, match=r"^the scheduler 'local:1' was lost; run again"):
        package.predict_files(EXACT, inputs, tmp_path / "out", dask="local:1")


# --- a scheduler and two workers, each in its own process

SCHEDULER = ("distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
WORKER = ("distributed.cli.dask_worker", "--nthreads", "1", "--no-nanny", "--no-dashboard")


@contextmanager
def process(*words):
    command = [sys.executable, "-m", *words]
    started = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        yield started
    finally:
        started.kill()
        started.wait()
        started.stderr.close()


def address_of(scheduler):
    found = (re.search(rb"Scheduler at:\s+(tcp://\S+)", line) for line in scheduler.stderr)
    return next(one for one in found if one)[1].decode()


@pytest.mark.nightly
@pytest.mark.parametrize("killed", ["a worker", "every worker", "the scheduler"])
def test_a_run_that_is_killed_half_way_can_be_repeated(killed, tmp_path):
    lines = data("photos.test").read_bytes().splitlines(keepends=True)
    files = [tmp_path / f"rows-{number:03}" for number in range(40)]
    for number, file in enumerate(files):
        file.write_bytes(b"".join(lines[number * 20 : number * 20 + 2000]))
    words = [PROGRAM, "predict", "-q", "--decision-values", "--out-dir"]
    subprocess.run([*words, tmp_path / "whole", EXACT, *files], check=True)
    whole, out = outputs(tmp_path / "whole"), tmp_path / "out"
    with process(*SCHEDULER) as scheduler:
        address = address_of(scheduler)
        with process(*WORKER, address) as first, process(*WORKER, address) as second:
            run = subprocess.Popen([*words, out, "--dask", address, EXACT, *files], stderr=subprocess.PIPE)
            until = time.monotonic() + 60
            while len(outputs(out)) < 8 and time.monotonic() < until and run.poll() is None:
                time.sleep(0.01)
            hit = {"a worker": [first], "every worker": [first, second], "the scheduler": [scheduler]}[killed]
            for one in hit:
                one.send_signal(signal.SIGKILL)
            with process(*WORKER, address) if second in hit else nullcontext():
                message = run.communicate(timeout=120)[1].decode()
    found = outputs(out)
    assert found.items() <= whole.items()
    if killed != "the scheduler":
        assert (run.returncode, found) == (0, whole), message
        return
    assert run.returncode == 2
    assert f"svmfast: the scheduler '{address}' was lost; run again" in message
    assert len(found) < len(whole)
    done = report("predict", "--skip-existing", *words[3:], out, EXACT, *files)
    assert done["files_skipped"] > 0
    assert outputs(out) == whole


# --- collections


def test_collections_of_dask():
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
    with pytest.raises(WrongTypeError):
        predict_collection(EXACT, dense)
    with pytest.raises(OptionError, match="2-dimensional"):
        predict_collection(EXACT, dask.array.zeros(3))
