"""Which label is certified, with and without ``-b 1``: the table of docs/certificate.md, against LIBSVM."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from libsvm import svmutil
from program import data, model
from program import svmfast as program

import svmfast as package
from svmfast.errors import UnsupportedError
from svmfast.models.cascade import CascadeModel
from svmfast.models.expansion import KernelExpansion
from svmfast.models.scaled import ScaledModel
from svmfast.models.scaling import Scaling
from svmfast.rows import FloatArray, Rows

NAMES = {"breast_c_rbf_prob": "breast", "iris_c_rbf_prob": "iris", "normal_one_rbf_prob": "normal"}


@pytest.fixture(scope="module", params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def exact(name: str) -> KernelExpansion:
    found = package.load_model(model(name))
    assert isinstance(found, KernelExpansion)
    return found


@pytest.fixture(scope="module")
def rows(name: str) -> Rows:
    """Test rows, and rows between two of them, many of which are near a boundary."""
    dense = package.read_svmlight(data(f"{NAMES[name]}.test")).rows.to_dense()
    rng = np.random.default_rng(5)
    one, other = dense[rng.integers(len(dense), size=(2, 400))]
    between = one + rng.random((400, 1)) * (other - one)
    return package.as_rows(np.vstack([dense, between]))


def libsvm_labels(name: str, rows: Rows, probability: bool) -> FloatArray:
    """Return the labels of svm-predict with and without ``-b 1``."""
    known = svmutil.svm_load_model(str(model(name)))
    points = [{j + 1: float(v) for j, v in enumerate(row) if v} for row in rows.to_dense()]
    labels, _, _ = svmutil.svm_predict([], points, known, f"-q -b {int(probability)}")
    return np.array(labels)


@pytest.fixture(scope="module")
def theirs(name: str, rows: Rows) -> dict[bool, FloatArray]:
    return {probability: libsvm_labels(name, rows, probability) for probability in (False, True)}


def test_the_two_labels_differ_near_a_boundary(name: str, theirs: dict[bool, FloatArray]) -> None:
    """Otherwise the tests below would not tell them apart; a one-class label has no other form."""
    differing = int(np.count_nonzero(theirs[False] != theirs[True]))
    assert differing == 0 if name.startswith("normal") else differing >= 3


@pytest.mark.parametrize("probability", [False, True])
def test_an_approximation_alone(
    exact: KernelExpansion, rows: Rows, theirs: dict[bool, FloatArray], probability: bool
) -> None:
    fast = package.approximate(exact, order=1, force=True).model
    answer = package.predict(fast, rows, probability=probability, certify=True)
    assert answer.certified is not None
    assert 0 < answer.certified.mean() < 1
    assert np.array_equal(answer.predicted[answer.certified], theirs[probability][answer.certified])
    plain = package.predict(fast, rows, probability=probability)
    assert np.array_equal(answer.predicted, plain.predicted)


@pytest.mark.parametrize("probability", [False, True])
@pytest.mark.parametrize("embedded", [False, True])
def test_an_approximation_with_an_exact_model(
    exact: KernelExpansion, rows: Rows, theirs: dict[bool, FloatArray], probability: bool, embedded: bool
) -> None:
    fast = package.approximate(exact, order=1, force=True, embed_exact=embedded).model
    answer = package.predict(
        fast, rows, probability=probability, certify=True, exact=None if embedded else exact
    )
    assert np.array_equal(answer.predicted, theirs[probability])
    if not probability:
        return
    assert answer.certified is not None
    alone = package.predict(fast, rows, probability=True, fallback=False)
    known = package.predict(exact, rows, probability=True)
    assert answer.probabilities is not None
    assert alone.probabilities is not None
    assert known.probabilities is not None
    mixed = np.where(answer.certified[:, None], alone.probabilities, known.probabilities)
    assert np.array_equal(answer.probabilities, mixed)


@pytest.mark.parametrize("probability", [False, True])
def test_a_cascade(
    exact: KernelExpansion, rows: Rows, theirs: dict[bool, FloatArray], probability: bool
) -> None:
    fast = package.approximate(exact, order=1, force=True, certificate="none").model
    joined = CascadeModel(fast, exact, 0.05)
    with pytest.raises(UnsupportedError, match="assumed, not proven"):
        package.predict(joined, rows, probability=probability, certify=True)
    answer = package.predict(joined, rows, probability=probability)
    assumed = package.predict(fast, rows, probability=probability, exact=exact, assume_error=0.05)
    assert np.array_equal(answer.predicted, assumed.predicted)
    assert answer.certified is not None
    open_rows = ~answer.certified
    assert 0 < open_rows.mean() < 1
    assert np.array_equal(answer.predicted[open_rows], theirs[probability][open_rows])
    alone = package.predict(fast, rows, probability=probability)
    assert np.array_equal(answer.predicted[~open_rows], alone.predicted[~open_rows])
    if probability:
        known = package.predict(exact, rows, probability=True)
        assert answer.probabilities is not None
        assert known.probabilities is not None
        assert alone.probabilities is not None
        mixed = np.where(open_rows[:, None], known.probabilities, alone.probabilities)
        assert np.array_equal(answer.probabilities, mixed)


def test_a_libsvm_model(exact: KernelExpansion, rows: Rows, theirs: dict[bool, FloatArray]) -> None:
    answer = package.predict(exact, rows, certify=True)
    assert answer.certified is not None
    assert answer.certified.all()
    assert np.array_equal(answer.predicted, theirs[False])
    both = package.predict(exact, rows, probability=True)
    assert np.array_equal(both.predicted, theirs[True])
    assert np.array_equal(both.voted, theirs[False])
    assert answer.voted is None
    with pytest.raises(UnsupportedError, match="they have no certificate; request either"):
        package.predict(exact, rows, probability=True, certify=True)


def test_python_says_which_label_and_has_both(
    exact: KernelExpansion, rows: Rows, theirs: dict[bool, FloatArray]
) -> None:
    """The program's remark is in `notes`, also of a single row, and the names of both labels are known."""
    differing = np.flatnonzero(theirs[False] != theirs[True])
    tail = "the most probable label (`probability`) is not the label of the vote"
    wanted = (f"{len(differing)} of {len(rows)} rows: {tail}",) if len(differing) else ()
    labels = exact.head.labels
    names = None if labels is None else tuple(f"class {one}" for one in labels)
    zeros, ones = np.zeros(rows.n_columns), np.ones(rows.n_columns)
    named = ScaledModel(exact, Scaling(zeros, ones, class_names=names))
    assert package.predict(named, rows, probability=True).notes == wanted
    predictor = package.Predictor(named, probability=True)
    found = predictor.answer(rows)
    assert found.notes == wanted
    if names is None:
        assert (found.names, found.voted_names) == (None, None)
    else:
        assert found.names is not None
        assert found.voted_names is not None
        assert found.names.tolist() == [f"class {one:g}" for one in theirs[True]]
        assert found.voted_names.tolist() == [f"class {one:g}" for one in theirs[False]]
    for row in (0, *differing[:3]):
        alone = predictor.answer(rows.to_dense()[row], threads=1)
        differs = row in differing
        assert alone.notes == ((f"1 of 1 row: {tail}",) if differs else ())
        assert alone.voted == theirs[False][row]


def test_the_program_says_which_label_and_whose_probabilities(tmp_path: Path) -> None:
    fast, joined = tmp_path / "fast", tmp_path / "joined"
    name, test = "iris_c_rbf_prob", data("iris.test")
    made = program("approximate", model(name), "-q", "--order", "2", "--embed-exact", "-o", fast)
    assert made.returncode == 0
    done = program("predict", "-b", "1", test, fast, tmp_path / "out")
    found = done.stderr.decode().splitlines()
    certified = int(found[-2].split()[1])
    rows = len(test.read_text().splitlines())
    assert found[-2].startswith(
        f"svmfast: {certified} of {rows} rows: the most probable label (-b 1) is certified ("
    )
    assert found[-2].endswith(f"%); {rows - certified} answered by the exact model")
    assert found[-1] == (
        f"svmfast: the probabilities are a mixture: the approximation's in {certified} rows, "
        f"the exact model's in {rows - certified}"
    )
    package.save_model(
        CascadeModel(package.approximate(model(name), order=2).model, package.load_model(model(name)), 0.05),
        joined,
    )
    found = program("predict", "-b", "1", test, joined, tmp_path / "out").stderr.decode().splitlines()
    assert found[-1].startswith("svmfast: the probabilities are a mixture: the fast model's in ")
    for more in ([], ["-b", "1", "--no-fallback"]):
        assert b"mixture" not in program("predict", *more, test, fast, tmp_path / "out").stderr
