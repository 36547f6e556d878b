"""Workers of a Dask cluster write the same bytes as one process, whatever fails on the way."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from command import svmfast
from program import PROGRAM, data, model
from pyarrow import parquet

import svmfast as package
from svmfast.dask import predict as predict_collection
from svmfast.errors import MissingPackageError, OptionError, SvmfastError, WrongTypeError

EXACT = model("photos_c_rbf")
# Of Dask's own threads and sockets, at their end.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module", autouse=True)
def _a_cluster() -> None:
    """Import Dask, which takes a second, only if these tests run."""
    pytest.importorskip("distributed")


@pytest.fixture(autouse=True)
def _environment() -> Iterator[None]:
    """Take back what Dask sets for its workers, so that later tests can run the program in forks."""
    before = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(before)


def outputs(folder: Path) -> dict[str, bytes]:
    found = (path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Text, Parquet with several row groups, compressed text, and a small file."""
    folder = tmp_path_factory.mktemp("inputs")
    rows = package.read_svmlight(data("photos.test"))
    text = data("photos.test").read_bytes()
    (folder / "large").write_bytes(text)
    import gzip

    (folder / "packed.gz").write_bytes(gzip.compress(text[: text.rindex(b"\n", 0, 90_000) + 1]))
    (folder / "small").write_bytes(text[: text.rindex(b"\n", 0, 9_000) + 1])
    names = {f"x{j + 1}": values for j, values in enumerate(rows.rows.to_dense().T)}
    parquet.write_table(
        pa.table({"label": rows.labels, **names}), folder / "table.parquet", row_group_size=300
    )
    return sorted(folder.iterdir())


@pytest.mark.parametrize("suffix", [".out.gz", ".parquet"])
def test_the_outputs_are_those_of_one_process(inputs: list[Path], tmp_path: Path, suffix: str) -> None:
    options: dict[str, Any] = {"suffix": suffix, "decision_values": True}
    alone = package.predict_files(EXACT, inputs, tmp_path / "alone", **options)
    shared = package.predict_files(EXACT, inputs, tmp_path / "shared", dask="local:2", **options)
    assert shared.files_predicted == len(inputs)
    assert outputs(tmp_path / "shared") == outputs(tmp_path / "alone")
    assert shared.to_dict() == {
        **alone.to_dict(),
        "files": [
            {**one, "output": one["output"].replace("/alone/", "/shared/")}
            for one in alone.to_dict()["files"]
        ],
    }
    options["skip_existing"] = True
    again = package.predict_files(EXACT, inputs, tmp_path / "shared", dask="nobody:1", **options)
    assert again.files_skipped == len(inputs)


def test_a_file_that_fails(tmp_path: Path) -> None:
    """Its error is that of one process, and the others are predicted."""
    lines = data("photos.test").read_bytes().splitlines(keepends=True)
    (tmp_path / "good").write_bytes(b"".join(lines[:100]))
    (tmp_path / "zip").write_bytes(b"PK\x03\x04" + bytes(60_000))
    lines[3000] = b"1 1:x\n"
    (tmp_path / "bad").write_bytes(b"".join(lines))
    (tmp_path / "far" / "away").mkdir(parents=True)
    (tmp_path / "good").rename(tmp_path / "far" / "good")
    (tmp_path / "link").symlink_to("far/away")
    files = [tmp_path / name for name in ("bad", "zip", "link/../good")]
    alone = package.predict_files(EXACT, files, tmp_path / "alone")
    report = package.predict_files(EXACT, files, tmp_path / "out", dask="local:1")
    assert [one.status for one in report.files] == ["failed", "failed", "predicted"]
    assert [one.error for one in report.files] == [one.error for one in alone.files]
    assert str(report.files[0].error).startswith(f"{files[0]}:3001: the value is not a number ('1:x')")
    assert sorted(os.listdir(tmp_path / "out")) == ["good.out"]


@pytest.mark.nightly
def test_a_connection_that_closes(
    inputs: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import distributed

    def closed(futures: Any) -> Any:
        raise distributed.comm.CommClosedError("in <TCP>")

    monkeypatch.setattr(distributed, "as_completed", closed)
    with pytest.raises(SvmfastError, match=r"^the scheduler 'local:1' was lost; run again"):
        package.predict_files(EXACT, inputs, tmp_path / "out", dask="local:1")


def test_addresses(inputs: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OptionError, match="`dask` is 'local:x'; expected a scheduler's address, or local:N"):
        package.predict_files(EXACT, inputs, tmp_path / "out", dask="local:x")
    monkeypatch.setattr("svmfast.commands.cluster.PATIENCE", 1)
    with pytest.raises(SvmfastError, match="no scheduler with workers at '127"):
        package.predict_files(EXACT, inputs, tmp_path / "out", dask="127.0.0.1:9")
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingPackageError, match=r"pip install 'svmfast\[dask\]'"):
        package.predict_files(EXACT, inputs, tmp_path / "out", dask="local:1")


# --- a scheduler and two workers, each in its own process


@contextmanager
def process(*words: str) -> Iterator[subprocess.Popen[bytes]]:
    started = subprocess.Popen(
        [sys.executable, "-m", *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    try:
        yield started
    finally:
        started.kill()
        started.wait()
        assert started.stderr is not None
        started.stderr.close()


def address_of(scheduler: subprocess.Popen[bytes]) -> str:
    assert scheduler.stderr is not None
    for line in scheduler.stderr:
        found = re.search(rb"Scheduler at:\s+(tcp://\S+)", line)
        if found:
            return found[1].decode()
    raise AssertionError("no scheduler")


SCHEDULER = ("distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
WORKER = ("distributed.cli.dask_worker", "--nthreads", "1", "--no-nanny", "--no-dashboard")


@pytest.mark.nightly
@pytest.mark.parametrize("killed", ["a worker", "every worker", "the scheduler"])
def test_a_run_that_is_killed_half_way_can_be_repeated(killed: str, tmp_path: Path) -> None:
    lines = data("photos.test").read_bytes().splitlines(keepends=True)
    files = [tmp_path / f"rows-{number:03}" for number in range(40)]
    for number, file in enumerate(files):
        file.write_bytes(b"".join(lines[number * 20 : number * 20 + 2000]))
    words = [os.fspath(PROGRAM), "predict", "-q", "--decision-values", "--out-dir"]
    assert subprocess.run([*words, tmp_path / "whole", EXACT, *files]).returncode == 0
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
    found = {name: text for name, text in outputs(out).items() if not name.startswith(".")}
    assert found.items() <= whole.items()
    if killed != "the scheduler":
        assert (run.returncode, found) == (0, whole), message
    else:
        assert run.returncode == 2
        assert f"svmfast: the scheduler '{address}' was lost; run again" in message
        assert len(found) < len(whole)
        done = svmfast("predict", "--json", "--skip-existing", *words[3:], out, EXACT, *files)
        assert json.loads(done.stdout)["files_skipped"] > 0
        assert outputs(out) == whole


# --- collections


def test_collections_of_dask(inputs: list[Path]) -> None:
    import dask
    import dask.array
    import dask.dataframe
    import pandas

    rows = package.read_svmlight(data("photos.test"))
    dense = rows.rows.to_dense()
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
