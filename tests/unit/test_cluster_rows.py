"""Rows that workers read: the blocks, sums and errors of one process, for any files and parts."""

import contextlib
import multiprocessing
import os
import signal
import subprocess
import threading
import time

import numpy as np
import pandas
import pyarrow as pa
import pytest
from command import ran
from program import PROGRAM
from table_files import write

import svmfast as package
from svmfast.commands import cluster, cluster_leaves, cluster_rows
from svmfast.commands.cluster import connected
from svmfast.commands.cluster_reading import ClusterReader
from svmfast.dask import budget_train, meka
from svmfast.errors import DataFormatError, SvmfastError
from svmfast.formats import parts
from svmfast.formats.classes import TrainingClasses
from svmfast.formats.data import stream_data
from svmfast.formats.files_read import FilesRead
from svmfast.formats.model_files import model_bytes
from svmfast.formats.spool import Spool
from svmfast.formats.svmlight import write_svmlight
from svmfast.options import Reading
from svmfast.rows import Rows
from svmfast.solvers.leaves import Copies
from svmfast.solvers.training_data import chosen
from svmfast.threads import one_blas_thread

# Of Dask's own threads and sockets, at their end.
pytestmark = pytest.mark.filterwarnings("ignore")
N = 30_000


@pytest.fixture(scope="module")
def workers():
    """Two workers in this process."""
    distributed = pytest.importorskip("distributed")
    before = dict(os.environ)
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None, "processes": False}
    options["protocol"] = "tcp://"
    config = pytest.importorskip("dask").config.set(cluster._HOLDING)  # no call is stolen
    with config, distributed.LocalCluster(**options) as local, connected(local.scheduler_address) as found:
        yield found
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(N, 5)) * (rng.random((N, 5)) < 0.6)
    x[N // 2 :, 2] = 0  # a column that only the first parts have
    return x, rng.integers(0, 3, N).astype(float)


def gram(block, _):
    x = block.rows.to_dense()
    return [x.T @ x, (block.numbers * block.labels) @ x]


def gathered(block, seed):
    which = chosen(block.numbers, seed, 0.1)
    return [block.numbers[which], block.labels[which], block.rows.take(which).to_dense()]


def leaf_of(block, n_leaves):
    """Each row goes to one leaf of a few, those of even numbers also to a small one."""
    leaf = block.numbers**2 % (n_leaves - 1)
    even = np.flatnonzero(block.numbers % 1000 == 0)
    row = np.concatenate([np.arange(len(leaf)), even])
    leaf = np.concatenate([leaf, np.full(len(even), n_leaves - 1)])
    return Copies(leaf, row, 1.0 / (1 + row))


def leaf_rows(leaf, _):
    return [leaf.numbers, leaf.labels, leaf.weights, leaf.rows.to_dense(), np.array([leaf.leaf])]


def found(rows):
    """All that a source of rows gives."""
    with one_blas_thread():
        sums, gathers = rows.total(gram, None), list(rows.each(gathered, 3))
    head = [rows.n_rows, rows.n_features, rows.n_bytes, rows.columns.tolist(), rows.labels]
    leaves = rows.sent(leaf_of, 6, 6)
    head.append(leaves.sizes.tolist())
    for _ in range(2):
        gathers += leaves.each(leaf_rows, None)
    drawn = rows.working_sets(lambda block, _: block.numbers % 7 == 0, None).working_set(0, 0, 0)
    gathers.append([drawn.labels, drawn.rows.to_dense(), drawn.numbers])
    return [repr(head), *(one.tobytes() for one in [*sums, *(one for some in gathers for one in some)])]


def alone(paths, reading, classes):
    """The rows as one process reads them."""
    spool = Spool(1 << 30)
    for path in paths:
        with stream_data(path, reading, classes=classes) as stream:
            for block in stream:
                spool.add(block.rows, block.labels)
    if classes is not None:
        spool.relabel(classes.final)
    return spool.finish()


def shared(workers, paths, reading, classes, monkeypatch, part_bytes=200_000):
    monkeypatch.setattr(parts, "PART_BYTES", part_bytes)
    monkeypatch.setattr(cluster_leaves, "_TAKEN", part_bytes)
    monkeypatch.setattr(cluster_rows, "GROUP", 2)
    monkeypatch.setattr(cluster_rows, "MOST_SUMS", 2)
    how = (reading, classes, lambda path, columns: None, FilesRead("data"), 1 << 30)
    reader = ClusterReader(workers, *how, lambda text: None, lambda *of: None)
    return reader.read_files(list(map(str, paths)))


def files_of(folder, table, places, kinds):
    """The table in several files, of formats by ending."""
    x, y = table
    made = []
    for number, (first, last) in enumerate(zip([0, *places], [*places, N], strict=True)):
        path = folder / f"{number}{kinds[number % len(kinds)]}"
        if path.suffix in (".parquet", ".csv"):
            columns = {"label": y[first:last], **{f"x{j}": x[first:last, j] for j in range(5)}}
            write(path, columns, **({"row_group_size": 1000} if path.suffix == ".parquet" else {}))
        else:
            write_svmlight(path, Rows.from_dense(x[first:last]), y[first:last])
        made.append(path)
    return made


@pytest.mark.parametrize(
    ("places", "kinds", "part_bytes"),
    [
        ((), ["", ".parquet"], 200_000),
        ((), [".parquet"], 50_000),
        ((), [""], 30_000),
        ((), [".gz"], 200_000),
        ((8192, 8193, 8193, 20_000), ["", ".gz", ".csv", ".parquet"], 100_000),
        ((1, 4000, 8000, 9000, 9001), [".parquet", ""], 1 << 30),
    ],
)
def test_blocks_and_sums_are_those_of_one_process(
    workers, table, places, kinds, part_bytes, tmp_path, monkeypatch
):
    x, y = table
    spool = Spool(1 << 30)
    spool.add(Rows.from_dense(x), y)
    files = files_of(tmp_path, table, places, kinds)
    files[::2] = [f"file://{path}" for path in files[::2]]
    rows = shared(workers, files, Reading(), TrainingClasses(), monkeypatch, part_bytes)
    assert found(rows) == found(spool.finish())


def test_names_of_classes_are_numbered_over_all_files(workers, table, tmp_path, monkeypatch):
    x, y = table
    names = np.array(["no", "yes", "maybe"])[y.astype(int)]
    names[:20_000][names[:20_000] == "maybe"] = "no"  # the last files have a name that the first ones lack
    files = [tmp_path / f"{k}{ending}" for k, ending in enumerate([".parquet", ".csv", ".parquet"])]
    for k, path in enumerate(files):
        part = slice(k * 10_000, (k + 1) * 10_000)
        write(path, {"label": names[part], "a": x[part, 0]})
    ours, theirs = TrainingClasses(), TrainingClasses()
    rows = shared(workers, files, Reading(), ours, monkeypatch)
    assert found(rows) == found(alone(files, Reading(), theirs))
    assert ours.names == theirs.names == ("maybe", "no", "yes")


LONG = "1 1:0.5 2:1\n-1 1:0.25 2:3\n" * 2000
NUMBERS, WORDS = [str(k % 3) for k in range(3000)], ["yes", "no"] * 1500
BAD = {
    "row": ({"a": LONG, "b": LONG + "1 2:x\n" + LONG}, Reading()),
    "label": ({"a": LONG + "# note\n" + LONG + "1.5.5 1:1\n"}, Reading()),
    "marked line": ({"a": LONG + "\ufeff1 1:1\n" * 3000}, Reading()),
    "binary": ({"a": LONG + "1 1:1\0\n" + LONG}, Reading()),
    "dense": ({"a": "1 2 3\n" * 9000 + "1 2\n" * 9000}, Reading(dense=True)),
    "value": ({"a.parquet": {"label": np.ones(3000), "a": [*range(2500), np.nan, *range(499)]}}, Reading()),
    "missing file": ({"a": LONG, "none": None}, Reading()),
    "damaged": ({"a": LONG, "b.parquet": "PAR1" + LONG}, Reading()),
    "names, then numbers": ({"a.csv": {"label": WORDS, "a": range(3000)}, "b": LONG}, Reading()),
    "numbers, then names": ({"a": LONG, "b.csv": {"label": WORDS, "a": range(3000)}}, Reading()),
    "words of two sorts": ({"a.parquet": {"label": NUMBERS + WORDS, "a": range(6000)}}, Reading()),
    "option": ({"a": LONG}, Reading(label="y")),
    "no rows": ({"a": "# none\n", "b": ""}, Reading()),
}


@pytest.mark.parametrize("what", BAD)
def test_errors_are_those_of_one_process(what, workers, tmp_path, monkeypatch):
    contents, reading = BAD[what]
    for name, content in contents.items():
        if isinstance(content, str):
            (tmp_path / name).write_text(content)
        elif content is not None:
            path = tmp_path / name
            write(path, pa.table(content), **({"row_group_size": 500} if path.suffix == ".parquet" else {}))
    files = [tmp_path / name for name in contents]
    with pytest.raises(SvmfastError) as ours:
        shared(workers, files, reading, TrainingClasses(), monkeypatch, 10_000)
    last = files[-1:] if what == "no rows" else files
    with pytest.raises(SvmfastError) as theirs:
        alone(last, reading, TrainingClasses())
    assert (type(ours.value), str(ours.value)) == (type(theirs.value), str(theirs.value))


@pytest.mark.parametrize("sizes", [(9000, 0, 12_000, 9000), (100, 29_900)])
def test_collections_of_dask_train_the_model_of_arrays(workers, table, sizes):
    dask = pytest.importorskip("dask.array")
    from dask.dataframe import concat, from_delayed
    from dask.delayed import delayed

    x, y = table
    options = {"budget": 5, "passes": 1, "sample": 2000, "gamma": 0.5}
    rows = dask.from_array(x, chunks=((*filter(None, sizes),), (2, 3)))
    labels = dask.from_array(y, chunks=rows.chunks[:1])
    expected = model_bytes(package.budget_train(x, y, **options).model)
    assert model_bytes(budget_train(rows, labels, **options).model) == expected
    local = {"task": "svc", "clusters": 4, "landmarks": 8, "gamma": 0.5}
    expected = model_bytes(package.meka(x, y, block_only=True, **local).model)
    assert model_bytes(meka(rows, labels, **local).model) == expected
    names = np.array(["no", "yes", "maybe"])[y.astype(int)]
    frame = pandas.DataFrame(x, columns=list("abcde")).assign(label=names)
    parts = [frame[end - size : end] for size, end in zip(sizes, np.cumsum(sizes), strict=True)]
    frames = from_delayed([delayed(part) for part in parts])
    made = budget_train(frames, **options)
    other = budget_train(frames[list("abcde")], frames["label"], **options)
    assert model_bytes(made.model) == model_bytes(other.model)
    alone = package.budget_train(frame[list("abcde")], names, **options)
    assert model_bytes(made.model) == model_bytes(alone.model)
    assert made.class_names == alone.class_names
    with pytest.raises(DataFormatError, match=r"^partition 0: row 1: class label is not an integer \('"):
        budget_train(rows, labels + 0.5, **options)
    last = frames.partitions[-1].assign(a=np.nan)
    with pytest.raises(SvmfastError, match=rf"^partition {len(parts)}: row 1, column 'a': there is no value"):
        budget_train(concat([frames, last]), **options)


def test_a_command_trains_the_same_model_on_workers(workers, table, tmp_path):
    files = files_of(tmp_path, table, (8192, 20_000), ["", ".gz", ".csv"])
    words = ("budget-train", "-q", "-B", "5", "--passes", "1", "--sample", "2000", "-b", "1", *files, "-o")
    ran(*words, tmp_path / "alone")
    ran(*words, tmp_path / "shared", "--dask", workers.client.scheduler.address)
    assert (tmp_path / "shared").read_bytes() == (tmp_path / "alone").read_bytes()


BUDGET = "budget-train -q -B 5 --passes 1 --sample 2000"
MEKA = "meka -q --task svc --block-only --clusters 200 --rank 4"


@pytest.mark.nightly
@pytest.mark.parametrize(("words", "call"), [(BUDGET, "hold"), (BUDGET, "total"), (MEKA, "worked")])
def test_a_worker_that_is_killed_while_it_works_is_replaced(words, call, table, tmp_path):
    distributed = pytest.importorskip("distributed")
    files = files_of(tmp_path, table, (10_000, 20_000), [".parquet", ""])
    ran(*words.split(), *files, "-o", tmp_path / "alone")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as local:
        command = [PROGRAM, *words.split(), *files, "-o", tmp_path / "shared"]
        run = subprocess.Popen([*command, "--dask", local.scheduler_address], stderr=subprocess.PIPE)
        busy = []
        while not busy and run.poll() is None:
            tasks = list(local.scheduler.tasks.values())
            busy = [one.processing_on for one in tasks if one.processing_on and one.key.startswith(call)]
        os.kill(next(one.pid for one in local.workers.values() if one.worker_address == busy[0].address), 9)
        message = run.communicate(timeout=60)[1].decode()
    assert (run.returncode, message) == (0, "")
    assert (tmp_path / "shared").read_bytes() == (tmp_path / "alone").read_bytes()


@pytest.mark.nightly
@pytest.mark.parametrize("seconds", [0.8, 1.5, 3, 5])
def test_an_interrupt_ends_local_workers_and_leaves_nothing(seconds, table, tmp_path):
    (files,) = files_of(tmp_path, table, (), [""])
    (folder := tmp_path / "temporary").mkdir()
    command = [PROGRAM, *MEKA.split(), "-c", "1e5", files, "-o", folder / "model", "--dask", "local:2"]
    how = {"env": {**os.environ, "TMPDIR": str(folder)}, "start_new_session": True, "stderr": subprocess.PIPE}
    run = subprocess.Popen(command, **how)
    time.sleep(seconds)
    os.killpg(run.pid, signal.SIGINT)
    assert (run.communicate(timeout=60)[1], run.returncode) == (b"", 130)
    assert not list(folder.iterdir())
    with contextlib.suppress(ProcessLookupError):  # raised when none of its processes is left
        for _ in range(1000):
            os.killpg(run.pid, 0)
            time.sleep(0.01)
        pytest.fail("a worker is left")


GATE = threading.Event()


def opened():
    return GATE.wait(60)


def now(*_):
    return time.monotonic()


def has(keys, dask_worker):
    return dask_worker.state.tasks.keys() >= {*keys}


def test_calls_are_run_in_order(workers):
    place = workers.threads()[:1]
    calls = [workers.submit(opened, at=place)]
    calls += [workers.submit(now, number, at=place, soon=number == 9) for number in range(10)]
    until = time.monotonic() + 30
    while not workers.client.run(has, [one.key for one in calls], workers=place)[place[0]]:
        assert time.monotonic() < until
        time.sleep(0.01)
    GATE.set()
    gate, *times = [workers.result(one) for one in calls]
    assert gate
    assert np.argsort(times).tolist() == [9, *range(9)]


def test_workers_without_svmfast_are_refused(workers, monkeypatch):
    versions = workers.client.get_versions(packages=["svmfast"])
    for found in versions["workers"].values():
        found["packages"]["svmfast"] = None
    monkeypatch.setattr("distributed.Client.get_versions", lambda *_, **__: versions)
    address = workers.client.scheduler.address
    with pytest.raises(SvmfastError, match=r"^the worker at tcp:\S+ has no svmfast"), connected(address):
        pass


def test_local_workers_that_cannot_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """One error, also in a worker, which runs a script without a guard once more."""

    def fails(**_: object) -> None:
        raise RuntimeError("Nanny failed to start.")

    monkeypatch.setattr("distributed.LocalCluster", fails)
    with pytest.raises(SvmfastError, match=r"cannot be started: Nanny failed"), connected("local:1"):
        pass
    monkeypatch.setattr(multiprocessing.current_process(), "_inheriting", True, raising=False)
    with pytest.raises(SvmfastError, match="runs the main script once more"), connected("local:1"):
        pass
