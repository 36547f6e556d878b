"""The contract of every kind of model (model_examples has examples), also as pickles, copies, in threads."""

import copy
import inspect
import multiprocessing
import os
import pickle
import signal
import threading
from functools import cache

import joblib
import numpy as np
import pytest
from model_examples import EXAMPLES, NAMES, rows_for
from nightly import nightly_but
from program import data, model

import svmfast
from svmfast import errors
from svmfast.errors import SvmfastError
from svmfast.formats.model_files import model_bytes, open_model
from svmfast.models.base import KINDS, model_class


@cache
def pickled(name):
    return pickle.dumps(EXAMPLES[name]())


def fresh(name):
    """Return a copy of a model that has not predicted yet; some take long to make from scratch."""
    return pickle.loads(pickled(name))


def answered(model, rows):
    """All results of svmfast.predict, as bytes; an embedded exact model is used."""
    answer = svmfast.predict(model, rows, probability=model.head.has_probability and model.kind != "cascade")
    return [answer.predicted.tobytes(), answer.decisions.tobytes(), repr(answer.probabilities).encode()]


@pytest.mark.parametrize("name", NAMES)
def test_pickles_and_copies_answer_alike(name, tmp_path):
    """Made before and after the first prediction, of which a pickle has no trace."""
    model, protocols = fresh(name), range(2, pickle.HIGHEST_PROTOCOL + 1)
    before = [pickle.dumps(model, protocol) for protocol in protocols]
    others = [copy.deepcopy(model), copy.copy(model)]
    expected = answered(model, rows_for(model))
    after = [pickle.dumps(model, protocol) for protocol in protocols]
    assert [len(one) for one in after] == [len(one) for one in before]
    joblib.dump(model, tmp_path / "model")
    others += [joblib.load(tmp_path / "model"), joblib.load(tmp_path / "model", mmap_mode="r")]
    for other in (*map(pickle.loads, (*before, *after)), *others, copy.deepcopy(model), copy.copy(model)):
        assert type(other) is type(model)
        assert model_bytes(other) == model_bytes(model)
        assert answered(other, rows_for(model)) == expected


def test_a_pool_of_spawned_processes_gives_the_same_bytes_as_one():
    models = [fresh(name) for name in NAMES]
    rows = [rows_for(model) for model in models]
    expected = list(map(answered, models, rows))  # the models have predicted by now
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        assert pool.starmap(answered, zip(models, rows, strict=True)) == expected


@pytest.mark.parametrize("name", NAMES)
def test_threads_that_predict_first_at_the_same_time_agree(name):
    expected = answered(fresh(name), rows_for(fresh(name)))
    model, together = fresh(name), threading.Barrier(8)
    rows, found = rows_for(model), []

    def work():
        together.wait(30)
        found.append(answered(model, rows))

    workers = [threading.Thread(target=work) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert found == [expected] * 8


def answer_in_child(model, rows):
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
        found = pickle.loads(pipe.read())
    assert os.waitpid(child, 0)[1] == 0
    return found


@pytest.mark.skipif("SVMFAST_SANITIZED" in os.environ, reason="a fork keeps the sanitizer's locks")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("name", nightly_but(["libsvm", "scaled polynomial", "routed triangle"], NAMES))
def test_a_child_forked_while_another_thread_predicts_answers_alike(name):
    rows = rows_for(fresh(name))
    expected = answered(fresh(name), rows)
    for _ in range(5):
        model = fresh(name)
        other = threading.Thread(target=answered, args=(model, rows))
        other.start()
        assert answer_in_child(model, rows) == expected
        other.join()
        assert answer_in_child(model, rows) == expected


def test_answers_and_results_pickle():
    exact, rows = svmfast.load_model(model("iris_c_rbf_prob")), svmfast.read_svmlight(data("iris.test"))
    answer = svmfast.predict(exact, rows)
    again = pickle.loads(pickle.dumps(answer))
    assert np.array_equal(again.predicted, answer.predicted)
    assert np.array_equal(again.decisions, answer.decisions)
    result = svmfast.approximate(exact, rows, order=2, force=True)
    same = pickle.loads(pickle.dumps(result))
    assert same.to_dict() == result.to_dict()
    assert model_bytes(same.model) == model_bytes(result.model)
    compared = svmfast.compare({"exact": exact, "fast": result.model}, rows, repeats=1)
    for report in (compared, svmfast.bound_check(rows, model=result.model)):
        assert pickle.loads(pickle.dumps(report)).to_dict() == report.to_dict()


ERRORS = [one for one in vars(errors).values() if inspect.isclass(one) and issubclass(one, SvmfastError)]
NUMBERS = {**dict.fromkeys(("line", "needed", "limit", "row", "column", "errno", "label"), 3), "result": None}


@pytest.mark.parametrize("kind", ERRORS, ids=lambda kind: kind.__name__)
def test_errors_are_passed_between_processes(kind):
    wanted = inspect.signature(kind).parameters.values()
    positional = [one.name for one in wanted if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    error = kind(*(NUMBERS.get(name, name) for name in positional))
    for again in (pickle.loads(pickle.dumps(error)), copy.deepcopy(error)):
        assert type(again) is kind
        assert str(again) == str(error)
        assert vars(again) == vars(error)


def test_every_kind_has_an_example():
    assert {fresh(name).kind for name in NAMES} == {"libsvm", *KINDS}
    assert all(model_class(kind).kind == kind for kind in KINDS)


@pytest.mark.parametrize("name", NAMES)
def test_an_answer_depends_on_the_row_alone_and_not_on_threads(name):
    model = fresh(name)
    rows, loaded = rows_for(model), open_model(model_bytes(model)).model
    assert (type(loaded), model_bytes(loaded)) == (type(model), model_bytes(model))
    values = loaded.decision_values(rows)
    assert values.shape == (len(rows), model.head.n_functions)
    assert values.dtype == np.float64
    np.testing.assert_array_equal(values, model.decision_values(rows, threads=3))
    alone = [model.decision_values(rows[i : i + 1]) for i in range(len(rows))]
    np.testing.assert_array_equal(values, np.concatenate(alone))
    assert model.decision_values(rows[:0]).shape == (0, model.head.n_functions)
    assert model.head.predict(values).shape == (len(rows),)
