"""Native computations of seconds or minutes can be interrupted promptly."""

import signal
import threading
import time
from contextlib import contextmanager

import numpy as np
import pytest
from program import PATIENCE

from svmfast import _core
from svmfast.kernels import DecisionEngine, Kernel
from svmfast.methods.budget.sgd import BudgetedSgd, StepOptions, TrainingBlock
from svmfast.rows import Rows
from svmfast.solvers.taylor import power_sum_coefficients
from svmfast.threads import interruptible

#: Seconds before the signal; limits after it in processor seconds and by the clock.
BEFORE, COMPUTING, WAITING = 0.15, 1.0 * PATIENCE, 20.0 * PATIENCE


class Stop(Exception):
    """The exception that the signal's handler raises."""


@contextmanager
def stopped_soon():
    """Send a signal after a moment; the block must end with it soon afterwards."""
    sent = []

    def stop(_signal, _frame):
        raise Stop

    def send():
        sent.append((time.process_time(), time.monotonic()))
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)

    usual, timer = signal.signal(signal.SIGUSR1, stop), threading.Timer(BEFORE, send)
    timer.start()
    try:
        with pytest.raises(Stop):
            yield
        assert time.process_time() - sent[0][0] < COMPUTING
        assert time.monotonic() - sent[0][1] < WAITING
    finally:
        timer.cancel()
        signal.signal(signal.SIGUSR1, usual)


RNG = np.random.default_rng(0)


def dense(n, d):
    return Rows.from_dense(RNG.normal(size=(n, d)))


def sparse(n, d, each):
    columns = np.tile(np.arange(0, d, d // each, dtype=np.int32)[:each], n)
    return Rows(np.arange(n + 1) * each, columns, np.linspace(1, 2, n * each), d)


def one_hot(n):
    columns = np.arange(0, 100, 10, dtype=np.int32) + np.arange(n, dtype=np.int32)[:, None] % 10
    return Rows(np.arange(n + 1) * 10, columns.ravel(), np.ones(10 * n), 100)


def expansion(kind, sv):
    return DecisionEngine(Kernel(kind, 0.01, 0.0, 3), sv, RNG.normal(size=(1, len(sv))), np.zeros(1), None)


def decisions(kind, sv, rows, **how):
    engine = expansion(kind, sv)
    return lambda threads: engine.decision_values(rows, threads=threads, **how)


def labels(sv, rows):
    engine = expansion("rbf", sv)
    return lambda threads: engine.labels(rows, threads=threads)


def laplacian_matrix():
    x = RNG.normal(size=(6000, 300))
    return lambda _: Kernel("laplacian", 0.1).matrix(x, x)


def budget_steps():
    rows, machine = dense(3000, 200), BudgetedSgd(200, StepOptions(2000, 0.01, 1e-9))
    block = TrainingBlock(rows, rows.squared_norms(), np.resize([1.0, -1.0], 3000))
    return lambda _: machine.steps(block, np.tile(np.arange(3000), 40))


VECTORS, COEF = RNG.normal(size=(1500, 200)), np.ones((1, 1500))
POINTS = RNG.normal(size=(40_000, 200)), np.ones(40_000)


def reduced_set():
    n, rows = 20_000, dense(20_000, 200)
    owners, targets = np.zeros(n, np.int64), (np.zeros((n, 1)), np.ones((n, 1)))
    objective = _core.ReducedSetObjective(2, 0.0, 3, False, rows, 200, owners, *targets)
    pairs, given = np.zeros((0, 2), np.int64), (VECTORS, COEF, np.zeros(1), np.array([1500]), 0.01)
    return lambda threads: objective.evaluate(*given, pairs, False, threads)


def power_sums():
    points, weights = RNG.normal(size=(40_000, 500)), np.ones((3, 40_000))
    return lambda threads: power_sum_coefficients(points, weights, threads=threads)


WORK = {
    "dense rows": lambda: decisions("rbf", dense(20_000, 200), dense(20_000, 200)),
    "sparse rows": lambda: decisions("rbf", dense(20_000, 400), sparse(60_000, 400, 40)),
    "wide rows": lambda: decisions("rbf", sparse(40_000, 40_000, 50), sparse(30_000, 40_000, 50)),
    "LIBSVM's order": lambda: decisions("sigmoid", dense(5000, 100), dense(20_000, 100), libsvm_order=True),
    "labels of dense rows": lambda: labels(dense(20_000, 200), dense(40_000, 200)),
    "labels of sparse rows": lambda: labels(dense(20_000, 400), sparse(100_000, 400, 40)),
    "one-hot rows": lambda: decisions("rbf", one_hot(60_000), one_hot(60_000)),
    "laplacian rows": lambda: decisions("laplacian", dense(10_000, 200), dense(20_000, 200)),
    **{"reduced set": reduced_set, "power sums": power_sums},
    **{"laplacian matrix": laplacian_matrix, "budgeted steps": budget_steps},
    "pairs of points": lambda: lambda threads: _core.sums_over_pairs(*POINTS, 3, 9, threads),
    "a library": lambda: lambda _: interruptible(lambda: np.linalg.eigvalsh(np.ones((3000, 3000)))),
}


# An interrupt may come while threadpoolctl has a file open.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("name", WORK)
def test_native_work_is_interrupted_promptly(name):
    work = WORK[name]()
    with stopped_soon():
        work(1)


@pytest.mark.parametrize("name", ["dense rows", "reduced set"])
def test_helper_threads_stop_with_the_interrupted_one(name):
    work, before = WORK[name](), threading.active_count()
    with stopped_soon():
        work(3)
    assert threading.active_count() == before


def test_another_thread_is_not_interrupted():
    engine, rows = expansion("rbf", dense(2000, 50)), dense(4000, 50)
    results = []
    other = threading.Thread(target=lambda: results.append(engine.decision_values(rows)))
    with stopped_soon():
        other.start()
        while True:
            time.sleep(0.01)
    other.join()
    assert np.array_equal(results[0], engine.decision_values(rows))
