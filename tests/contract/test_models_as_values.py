"""Models can be pickled, copied and sent to other processes and threads, before and after predicting."""

from __future__ import annotations

import copy
import inspect
import io
import multiprocessing
import os
import pickle
import signal
import threading
from collections.abc import Callable
from pathlib import Path

import joblib
import numpy as np
import pytest
from model_examples import EXAMPLES, NAMES, rows_for
from nightly import nightly_but

import svmfast
from svmfast import errors
from svmfast.errors import SvmfastError
from svmfast.formats.model_files import model_bytes
from svmfast.models.answer import Answer
from svmfast.models.base import Model
from svmfast.rows import Rows

FIXTURES = Path(__file__).parents[2] / "fixtures"


@pytest.fixture(scope="module")
def fresh() -> Callable[[str], Model]:
    """Return a copy of a model that has not predicted yet; some take long to make from scratch."""
    made: dict[str, bytes] = {}

    def give(name: str) -> Model:
        if name not in made:
            made[name] = pickle.dumps(EXAMPLES[name]())
        model: Model = pickle.loads(made[name])
        return model

    return give


def answered(model: Model, rows: Rows) -> list[bytes]:
    """All results of svmfast.predict, as bytes; an embedded exact model is used."""
    answer = svmfast.predict(model, rows, probability=model.head.has_probability and model.kind != "cascade")
    return [answer.predicted.tobytes(), answer.decisions.tobytes(), repr(answer.probabilities).encode()]


@pytest.mark.parametrize("name", NAMES)
def test_a_pickle_is_the_same_before_and_after_predictions(name: str, fresh: Callable[[str], Model]) -> None:
    model = fresh(name)
    rows = rows_for(model)
    before = [pickle.dumps(model, protocol) for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1)]
    expected = answered(model, rows)
    after = [pickle.dumps(model, protocol) for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1)]
    assert [len(one) for one in after] == [len(one) for one in before]
    for text in (*before, *after):
        loaded = pickle.loads(text)
        assert type(loaded) is type(model)
        assert model_bytes(loaded) == model_bytes(model)
        assert answered(loaded, rows) == expected


@pytest.mark.parametrize("name", NAMES)
def test_copies_answer_alike(name: str, fresh: Callable[[str], Model], tmp_path: Path) -> None:
    model = fresh(name)
    rows = rows_for(model)
    unused = copy.deepcopy(model), copy.copy(model)
    expected = answered(model, rows)
    joblib.dump(model, tmp_path / "model")
    loaded = joblib.load(tmp_path / "model"), joblib.load(tmp_path / "model", mmap_mode="r")
    for other in (*unused, *loaded, copy.deepcopy(model), copy.copy(model)):
        assert model_bytes(other) == model_bytes(model)
        assert answered(other, rows) == expected


def test_a_pool_of_spawned_processes_gives_the_same_bytes_as_one(fresh: Callable[[str], Model]) -> None:
    models = [fresh(name) for name in NAMES]
    rows = [rows_for(model) for model in models]
    expected = list(map(answered, models, rows))  # the models have predicted by now
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        assert pool.starmap(answered, zip(models, rows, strict=True)) == expected


def test_joblib_sends_models_and_rows_to_its_workers(fresh: Callable[[str], Model]) -> None:
    model = fresh("routed")
    rows = rows_for(model)
    tasks = [joblib.delayed(answered)(model, rows[i : i + 10]) for i in range(0, len(rows), 10)]
    assert joblib.Parallel(n_jobs=2)(tasks) == [
        answered(model, rows[i : i + 10]) for i in range(0, len(rows), 10)
    ]


@pytest.mark.parametrize("name", NAMES)
def test_threads_that_predict_first_at_the_same_time_agree(name: str, fresh: Callable[[str], Model]) -> None:
    expected = answered(fresh(name), rows_for(fresh(name)))
    model, together = fresh(name), threading.Barrier(8)
    rows, found = rows_for(model), list[list[bytes]]()

    def work() -> None:
        together.wait(30)
        found.append(answered(model, rows))

    workers = [threading.Thread(target=work) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert found == [expected] * 8


def answer_in_child(model: Model, rows: Rows) -> list[bytes]:
    """Fork, and return the child's answer; fail if the child hangs."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:  # pragma: no cover
        try:
            signal.alarm(30)
            os.write(write, pickle.dumps(answered(model, rows)))
        finally:
            os._exit(0)
    os.close(write)
    with open(read, "rb") as pipe:
        text = pipe.read()
    assert os.waitpid(child, 0)[1] == 0
    found: list[bytes] = pickle.loads(text)
    return found


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("name", nightly_but(["libsvm", "scaled polynomial", "routed triangle"], NAMES))
def test_a_child_forked_while_another_thread_predicts_answers_alike(
    name: str, fresh: Callable[[str], Model]
) -> None:
    rows = rows_for(fresh(name))
    expected = answered(fresh(name), rows)
    for _ in range(5):
        model = fresh(name)
        other = threading.Thread(target=answered, args=(model, rows))
        other.start()
        assert answer_in_child(model, rows) == expected
        other.join()
        assert answer_in_child(model, rows) == expected


def test_a_fork_waits_for_support_vectors_that_are_being_packed() -> None:
    """A lock held by another thread during the fork would stay locked in the child forever."""
    rng = np.random.default_rng(0)
    n, d = 6000, 300
    labels = np.array([0, 1])
    wide = svmfast.as_rows(rng.normal(size=(n, d)))
    model = pickle.loads(pickle.dumps(svmfast.load_model(FIXTURES / "models/iris_c_rbf_prob.model")))
    big = type(model)(
        head=type(model.head)("c_svc", labels),
        kernel=model.kernel,
        sv=wide,
        sv_coef=rng.normal(size=(1, n)),
        rho=np.zeros(1),
        nr_sv=np.array([n // 2, n - n // 2]),
    )
    rows = wide[:3]
    expected = answered(big, rows)
    for delay in (0.0, 0.002, 0.005, 0.01):
        again = copy.deepcopy(big)
        other = threading.Thread(target=answered, args=(again, rows))
        other.start()
        threading.Event().wait(delay)
        assert answer_in_child(again, rows) == expected
        other.join()


def test_answers_pickle_with_their_values(fresh: Callable[[str], Model]) -> None:
    model = fresh("cascade")
    rows = rows_for(model)
    answer = svmfast.predict(model, rows, certify=False)
    again: Answer = pickle.loads(pickle.dumps(answer))
    assert np.array_equal(again.predicted, answer.predicted)
    assert np.array_equal(again.decisions, answer.decisions)


def test_results_pickle() -> None:
    exact = svmfast.load_model(FIXTURES / "models/iris_c_rbf_prob.model")
    data = svmfast.read_svmlight(FIXTURES / "data/iris.test")
    result = svmfast.approximate(exact, data, order=2, force=True)
    again = pickle.loads(pickle.dumps(result))
    assert again.to_dict() == result.to_dict()
    assert model_bytes(again.model) == model_bytes(result.model)
    comparison = svmfast.compare({"exact": exact, "fast": result.model}, data, repeats=1)
    assert str(pickle.loads(pickle.dumps(comparison))) == str(comparison)
    report = svmfast.bound_check(data, model=result.model)
    assert pickle.loads(pickle.dumps(report)) == report


ERRORS = [
    error
    for _, error in inspect.getmembers(errors, inspect.isclass)
    if issubclass(error, SvmfastError) and error.__module__ == errors.__name__
]


@pytest.mark.parametrize("kind", ERRORS, ids=lambda kind: kind.__name__)
def test_errors_are_passed_between_processes(kind: type[SvmfastError]) -> None:
    wanted = [
        one
        for one in inspect.signature(kind).parameters.values()
        if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)
    ]
    values = {
        "line": 3,
        "needed": 100,
        "limit": 10,
        "row": 3,
        "column": 2,
        "errno": 2,
        "label": 1.0,
        "result": None,
    }
    error = kind(*(values.get(one.name, one.name) for one in wanted))
    for again in (pickle.loads(pickle.dumps(error)), copy.deepcopy(error)):
        assert type(again) is kind
        assert str(again) == str(error)
        assert vars(again) == vars(error)
    pickle.Pickler(io.BytesIO()).dump(error)
