"""`svmfast budget-train`, `compress` and `meka` as programs: options, reports, limits, signals, threads."""

import os
import signal
import subprocess
from dataclasses import replace

import numpy as np
import pytest
from command import ran, report
from meka_problems import settings
from program import PATIENCE, PROGRAM, data, model

from svmfast.errors import MemoryLimitError
from svmfast.formats.model_files import load_model
from svmfast.formats.svmlight import read_svmlight
from svmfast.methods.meka.error import kernel_error
from svmfast.methods.meka.fit import fit
from svmfast.rows import Rows

BREAST, DIABETES = data("breast.train"), data("diabetes.train")


# --- budget-train


def trained(words, rows=BREAST):
    return ran("budget-train", "-B", "15", "-q", *words.split(), rows, "-").stdout


OPTIONS = ["-c 3", "--lambda 0.1", "--passes 4", "--bias", "--no-bias", "--keep last", "-w1 4", "-b 1"]


def test_options_reach_the_model():
    plain = trained("-g 0.05")
    assert plain == trained("-g 0.05 -j 1")
    assert len({plain, *(trained(f"-g 0.05 {one}") for one in (*OPTIONS, "--seed 1"))}) == 2 + len(OPTIONS)
    assert trained("-c 2 -g 0.05") == trained(f"--lambda {1 / (380 * 2.0)!r} -g 0.05")
    values = [trained(f"-s 3 -p {width} -b 1 -g 0", DIABETES) for width in (5, 1)]
    assert values[0].startswith(b"svm_type epsilon_svr\n")
    assert values[0] != values[1]
    assert b"probA" in values[0]
    assert b"probA" in trained("-b 1")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_a_signal_ignored_by_the_parent_is_ignored(number, tmp_path):
    """As for a background job of a script, or under nohup."""
    rows = tmp_path / "rows"
    os.mkfifo(rows)
    process = subprocess.Popen(
        [PROGRAM, "budget-train", "-q", "-B", "9", rows, "m"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(number, signal.SIG_IGN),
    )
    with rows.open("wb") as pipe:  # once the program has opened it
        process.send_signal(number)
        pipe.write(BREAST.read_bytes())
    assert process.communicate(timeout=60 * PATIENCE)[1] == b""
    assert process.returncode == 0
    assert (tmp_path / "m").exists()


def test_streamed_data_gives_the_same_bytes_for_any_pieces(tmp_path):
    (tmp_path / "large").write_bytes(BREAST.read_bytes() * 20)
    words = ("budget-train", "-c", "10", "-g", "0.1", "-B", "30", "--passes", "2", "--memory", "1M")
    done = ran(*words, tmp_path / "large", tmp_path / "m")
    assert b"working sets from a temporary file" in done.stderr
    piped = ran(*words, "-q", "-j", "1", "-", "-", stdin=(tmp_path / "large").read_bytes())
    assert piped.stdout == (tmp_path / "m").read_bytes()


# --- compress


def compressed(name, *words):
    return ("compress", model(f"{name}_c_rbf"), "--data", data(f"{name}.train"), "--iterations", *words, "-o")


def test_a_share_of_the_vectors_and_a_number_of_bytes(tmp_path):
    out = tmp_path / "small.model"
    found = report(*compressed("odd", "60", "--ratio", "10%"), out)
    assert (found["support_vectors"], found["support_vectors_exact"]) == (23, 234)
    assert found["bytes"] == out.stat().st_size
    assert 0 <= found["held_out"]["labels_differing_percent"] < 10
    done = ran(*compressed("odd", "30", "--max-bytes", "6k"), out)
    assert 0.7 * 6144 < out.stat().st_size <= 6144
    assert b"95% confidence" in done.stderr


def test_a_file_that_would_grow_is_refused(tmp_path):
    words = ("--sv", "60", "--iterations", "5", "--start", "kmeans", "-o", tmp_path / "out")
    done = ran("compress", model("onehot_c_rbf"), *words, status=1)
    assert b"the file would grow: 60 dense support vectors take" in done.stderr
    assert not list(tmp_path.iterdir())


# --- meka


@pytest.mark.parametrize("task", ["ridge", "error"])
def test_memory_is_checked_again_for_the_actual_cluster_sizes(task):
    """999 rows in one corner, one far away: the limit suffices for two equal clusters, but not for these."""
    x = np.random.default_rng(0).normal(size=(1000, 2))
    x[0] = 1e3
    wanted = settings(clusters=2, rank=100, strategy="size", sample=1000, task=task, memory=1000)
    work, given = (fit, (x[:, 0],)) if task == "ridge" else (kernel_error, ())
    for _ in range(2):
        with pytest.raises(MemoryLimitError, match="raise `memory`") as refused:
            work(Rows.from_dense(x), *given, wanted)
        assert refused.value.needed > wanted.memory
        wanted = replace(wanted, memory=refused.value.needed)


@pytest.mark.parametrize("text", ["1\n2\n1\n", "1 1:1\n2 1:1\n1 1:1\n2 1:1\n", "2 3:1\n1 1:2\n"])
def test_tiny_data(text, tmp_path):
    """No features, one point only, fewer rows than clusters."""
    rows, made = tmp_path / "d", tmp_path / "m"
    rows.write_text(text)
    for words in (["--task", "svc"], ["--task", "svc", "--block-only"], ["--task", "ridge"]):
        ran("meka", rows, "-o", made, *words, "-q")
        assert np.isfinite(load_model(made).decision_values(read_svmlight(rows).rows)).all()
    ran("meka", rows, "--task", "error", "-q")
