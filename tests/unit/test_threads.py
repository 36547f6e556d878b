"""Threads: any number gives the same bytes; blocks are read ahead in order."""

import os
import resource
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import scipy.linalg  # noqa: F401 (brings a BLAS of its own)
from program import PROGRAM, data, model
from threadpoolctl import threadpool_info, threadpool_limits

import svmfast as package
from svmfast import threads
from svmfast.threads import map_in_threads, one_blas_thread, prefetch, thread_count

ROWS, STACK = data("photos.test"), 64 << 30
FORKED = "svmfast: the system cannot start another thread\n"


@pytest.mark.skipif("SVMFAST_SANITIZED" in os.environ, reason="sanitizers take memory too")
@pytest.mark.parametrize(
    ("line", "message"), [("predict ROWS MODEL out -j 4", ""), ("train TRAIN out", FORKED)]
)
def test_threads_that_cannot_start(line, message, tmp_path):
    """Native ones are done without; a stack that is larger than the memory allowed starts none."""
    places, found = {"ROWS": ROWS, "MODEL": model("photos_c_rbf"), "TRAIN": data("photos.train")}, []

    def limit():
        resource.setrlimit(resource.RLIMIT_STACK, (STACK, resource.getrlimit(resource.RLIMIT_STACK)[1]))
        resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))

    words = [PROGRAM, *(places.get(word, word) for word in line.split())]
    known = {"cwd": tmp_path, "env": {**os.environ, "OMP_NUM_THREADS": "4"}, "capture_output": True}
    for before in (limit, *[None] * (not message)):
        done = subprocess.run(words, preexec_fn=before, timeout=60, text=True, **known)
        assert (done.returncode, done.stderr) == (2 * bool(message), message)
        found += [path.read_bytes() for path in tmp_path.iterdir()]
    assert found == ([] if message else [found[0]] * 2)


def test_python_takes_any_positive_number_of_threads_and_the_native_core_every_integer():
    exact = package.load_model(model("iris_c_rbf_prob"))
    rows = package.read_svmlight(data("iris.test")).rows
    expected = exact.decision_values(rows)
    for count in (2, 2**31 - 1, 2**31, 2**63, 2**64):
        assert np.array_equal(package.predict(exact, rows, threads=count).decisions, expected)
    for count in (-(2**70), -(2**31), -1, 0, 1, 2**30, 2**31, 2**63, 2**70):
        assert np.array_equal(exact.decision_values(rows, threads=count), expected)


@pytest.mark.parametrize(("openmp", "most"), [
    ("1", 1), ("3", 3), (" 2,4 ", 2), ("99", 8), ("", 8), ("0", 8), ("-1", 8), ("many", 8), ("٣", 8),
    (None, 8),
])  # fmt: skip
def test_openmp_limits_the_default_and_not_what_is_asked_for(openmp, most, monkeypatch):
    assert threads.usable_cores() == len(os.sched_getaffinity(0))
    monkeypatch.setattr(threads, "usable_cores", lambda: 8)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    if openmp is not None:
        monkeypatch.setenv("OMP_NUM_THREADS", openmp)
    assert [thread_count(n) for n in (None, 1, 5, 64, 65, 2**40)] == [most, 1, 5, 64, 64, 64]
    monkeypatch.setattr(threads, "usable_cores", lambda: 20)
    assert [thread_count(n) for n in (79, 80, 81)] == [79, 80, 80]
    with pytest.raises(TypeError):
        thread_count(2.5)


def test_results_keep_their_order_and_the_first_item_that_fails_names_the_error():
    def work(item):
        time.sleep(0.001 * (item % 3))
        return item * item

    assert map_in_threads(work, range(40), 4) == [item * item for item in range(40)]
    assert map_in_threads(work, [], 4) == []

    def fail(item):
        begun.append(item)
        if item >= 3:
            time.sleep(0.05 if item == 3 else 0.01)
            raise ValueError(f"item {item}")

    for count in (1, 2, 8):
        begun = []
        before = threading.enumerate()
        with pytest.raises(ValueError, match="item 3"):
            map_in_threads(fail, range(1000), count)
        for thread in set(threading.enumerate()).difference(before):
            thread.join()
        assert len(begun) < 500  # no others are started


def test_an_interrupt_waits_for_no_item_on_another_thread():
    over, start, main = threading.Event(), time.monotonic(), threading.main_thread().ident

    def work(item):
        if item == 0:
            signal.pthread_kill(main, signal.SIGINT)
        return over.wait(60)

    with pytest.raises(KeyboardInterrupt):
        map_in_threads(work, range(4), 2)
    assert time.monotonic() - start < 20
    over.set()


def blas():
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def test_blas_has_one_thread_in_every_thread_and_gets_them_back_when_the_last_one_leaves():
    def inside(_):
        with one_blas_thread():
            return blas()

    with threadpool_limits(2):
        assert blas() == {2}
        with one_blas_thread():  # from here on the main thread would be the only one that may limit it
            assert blas() == {1}
            inner = [one_blas_thread() for _ in range(3)]
            map_in_threads(lambda one: one.__enter__(), inner, 3)
            map_in_threads(lambda one: one.__exit__(None, None, None), inner, 3)
            assert blas() == {1}
        assert blas() == {2}
        assert map_in_threads(inside, range(4), 2) == [{1}] * 4
        assert blas() == {2}


@pytest.mark.parametrize("good", [0, 1, 2, 3, 5, 100])
def test_items_come_in_order_and_an_error_in_its_place(good):
    def items():
        yield from range(good)
        raise ValueError("here")

    assert list(prefetch(iter(range(good)))) == list(range(good))
    given = prefetch(items())
    assert [next(given) for _ in range(good)] == list(range(good))
    with pytest.raises(ValueError, match="here"):
        next(given)


def test_items_are_yielded_at_once_and_prefetching_is_bounded():
    taken, third = [], threading.Event()

    def items():
        for i in range(100):
            taken.append(i)
            if i == 2:
                third.set()
            yield i

    given = prefetch(items())
    assert next(given) == 0
    assert taken == [0]
    assert next(given) == 1
    assert third.wait(10)  # fetched before being requested
    assert taken == [0, 1, 2]
    assert list(given) == list(range(2, 100))


ENDLESS = """
import os
from svmfast.threads import prefetch
def items():
    yield from range(3)
    os.read(os.pipe()[0], 1)
for item in prefetch(items()):
    if item == 2:
        break
"""


def test_the_end_of_a_program_does_not_wait_for_input():
    done = subprocess.run([sys.executable, "-c", ENDLESS], capture_output=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
