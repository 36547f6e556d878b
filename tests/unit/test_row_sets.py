"""The division of rows into choosing and confirming ones, and what each may decide."""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from program import data, model

from svmfast.errors import UnsupportedError
from svmfast.evaluation.timing import Speed
from svmfast.formats.model_files import load_model, model_bytes
from svmfast.formats.svmlight import read_svmlight
from svmfast.frontiers.choice import Limits
from svmfast.frontiers.comparing import Comparing
from svmfast.frontiers.folder import MadeRecord
from svmfast.frontiers.measured import MeasuredModels
from svmfast.frontiers.plan import CandidateCommand
from svmfast.frontiers.request import RunRequest
from svmfast.frontiers.row_sets import LabelledRows, RowSets, divided, read_sets
from svmfast.methods.approximate import ApproximateOptions
from svmfast.methods.approximate.run import approximate
from svmfast.methods.common.equal_rows import row_keys
from svmfast.options import Reading
from svmfast.rows import Rows


def sets(train: Path, test: Path | None, folder: Path) -> RowSets:
    return read_sets(
        str(train), test and str(test), folder, seed=0, reading=Reading(), threads=1, note=print,
        columns=lambda *given: None,
    )  # fmt: skip


@pytest.mark.parametrize("held_out", [False, True])
def test_copies_stay_in_one_set(tmp_path: Path, held_out: bool) -> None:
    """The second copies store zeros, and have their values in another text."""
    text = data("photos.test").read_text()
    (tmp_path / "twice").write_text(text + text.replace("\n", " 16:0\n"))
    given = (tmp_path / "twice", None) if held_out else (data("photos.train"), tmp_path / "twice")
    found = sets(*given, tmp_path)
    parts = [found.choosing, found.confirming, *([found.rest] if found.rest is not None else [])]
    keys = [set(row_keys(part.rows)) for part in parts]
    assert sum(map(len, keys)) == len(set().union(*keys))
    assert sum(map(len, parts)) == 8000
    wanted = 0.15 * 8000 if held_out else 4000
    assert all(abs(len(part) - wanted) <= 10 for part in parts[:2])


@given(st.lists(st.integers(0, 8), min_size=1, max_size=60), st.integers(0, 99), st.booleans())
def test_every_row_is_in_one_set(numbers: list[int], seed: int, everything: bool) -> None:
    _, group = np.unique(numbers, return_inverse=True)
    half = len(group) // 2 if everything else len(group) // 4
    parts = divided(group, half, np.random.default_rng(seed), everything=everything)
    assert sorted(np.concatenate(parts).tolist()) == [*range(len(group))]
    where = [{int(group[i]) for i in part} for part in parts]
    assert len(where[0] | where[1] | where[2]) == sum(map(len, where))
    assert not everything or not len(parts[2])
    assert len(parts[0])


def test_rows_that_are_all_equal_are_refused(tmp_path: Path) -> None:
    (tmp_path / "same").write_text("1 1:1\n" * 50)
    with pytest.raises(UnsupportedError, match="has 50 rows, too few different ones to divide"):
        sets(data("photos.train"), tmp_path / "same", tmp_path)
    # Two different ones leave none to train on.
    (tmp_path / "two").write_text("1 1:1\n-1 1:2\n" * 25)
    with pytest.raises(UnsupportedError, match="has 50 rows, too few different ones to divide"):
        sets(tmp_path / "two", None, tmp_path)


@pytest.mark.parametrize("backed", [True, False])
def test_the_confirming_rows_do_not_decide_on_the_fallback(tmp_path: Path, backed: bool) -> None:
    """The certified share of the choosing rows decides; the report states that of the confirming rows."""
    exact = load_model(model("breast_c_rbf"))
    fast, _ = approximate(exact, ApproximateOptions(order=2))
    (tmp_path / "fast").write_bytes(model_bytes(fast))
    near = read_svmlight(data("breast.test"))
    part = LabelledRows(near.rows, near.labels)
    far = LabelledRows(Rows.from_dense(50 * part.rows.to_dense()), part.labels)  # beyond the bound's validity
    comparing = Comparing(exact, *((part, far) if backed else (far, part)))
    nothing: Any = None
    folder: Any = SimpleNamespace(model=lambda candidate: str(tmp_path / "fast"))
    rows: Any = SimpleNamespace(train="t")
    end = time.monotonic() + 1
    request = RunRequest(
        exact_path=str(model("breast_c_rbf")), exact=exact, exact_identity="sha256:0", limits=Limits(0.5),
        methods=("approximate",), threads=1, seed=0, deadline=end, end=end, scaling=None, unlabelled=False,
        folder=folder, sets=rows, comparing=comparing, origin=nothing, memory=1 << 30,
    )  # fmt: skip
    measured = MeasuredModels(request)
    measured.measure(CandidateCommand("approximate-2", "approximate", 0, ()), MadeRecord("0" * 64, 1.0))
    names = ["exact", "approximate-2", "approximate-2 + exact"]
    points = measured.points(dict.fromkeys(names, Speed(1.0, 1.0, 1.0, 9)))
    assert [point.name for point in points] == names[: 2 + backed]
    first = points[1]
    assert first.certified_choosing is not None
    assert first.certified_confirming is not None
    assert (first.certified_choosing > 50, first.certified_confirming > 50) == (backed, not backed)


def test_copies_narrow_no_interval() -> None:
    exact = load_model(model("digits_c_rbf_prob"))
    fast, _ = approximate(exact, ApproximateOptions(order=1))
    rows = read_svmlight(data("digits.test"))
    once, three = (rows.rows.take(np.tile(np.arange(300), times)) for times in (1, 3))
    labels = rows.labels
    sides = LabelledRows(once, labels), LabelledRows(three, np.tile(labels, 3))
    found = Comparing(exact, *sides).compare(fast)
    assert found.loss_choosing.labels_differing
    assert found.loss_confirming.labels_differing == 3 * found.loss_choosing.labels_differing
    for end in ("value", "low", "high"):
        alone, copied = (getattr(one.differing, end) for one in (found.loss_choosing, found.loss_confirming))
        assert copied == pytest.approx(alone)
