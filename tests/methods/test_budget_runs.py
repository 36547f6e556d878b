"""Budgeted training runs: threads, pieces of input, and memory do not change the bytes."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from budget_problems import fixture, source_of, spooled
from program import data
from two_moons import two_moons

from svmfast.formats.libsvm_model import libsvm_model_bytes
from svmfast.formats.svmlight import read_svmlight
from svmfast.methods.budget import BudgetTrainOptions
from svmfast.methods.budget import finish as budget_finish
from svmfast.methods.budget import rows as run_rows
from svmfast.methods.budget import training as budget_run
from svmfast.methods.budget.run import budget_train
from svmfast.methods.method import Setting
from svmfast.rows import Rows


@pytest.mark.parametrize("keep", ["refit", "last"])
def test_threads_and_pieces_change_no_byte(keep):
    source, _ = fixture("digits")
    options = BudgetTrainOptions(C=10, gamma=0.02, budget=9, passes=2, keep=keep, probability=True)
    one = libsvm_model_bytes(budget_train(source, options)[0])
    two = Setting(threads=2)
    assert one == libsvm_model_bytes(budget_train(source, options, two)[0])
    whole = read_svmlight(data("digits.train"))
    assert one == libsvm_model_bytes(budget_train(spooled(whole.rows, whole.labels), options)[0])
    other = libsvm_model_bytes(budget_train(source, replace(options, seed=1))[0])
    assert one != other


@pytest.mark.nightly
def test_rows_in_pieces_train_as_well_and_in_bounded_sets():
    x, y = two_moons(30_000, 5)
    order = np.argsort(y)  # the worst order: all rows of one class first
    rows, labels = Rows.from_dense(x[order]), y[order]
    options = BudgetTrainOptions(C=4, gamma=1, budget=20, passes=2)
    with spooled(rows, labels, memory=1 << 20) as source:
        assert source.n_sets > 2
        seen = np.concatenate([source.working_set(0, 1, k).numbers for k in range(source.n_sets)])
        assert (np.sort(seen) == np.arange(30_000)).all()
        working = source.working_set(0, 1, 1)
        np.testing.assert_array_equal(working.labels, labels[working.numbers])
        np.testing.assert_array_equal(
            working.rows.to_dense(), rows.take(working.numbers).to_dense()[:, source.columns]
        )
        assert working.rows.nnz * 12 + len(working.labels) * 24 < (1 << 19) * 1.2
        assert 0.2 < np.mean(working.labels > 0) < 0.8
        model, _ = budget_train(source, options)
    tx, ty = two_moons(3000, 6)
    test = Rows.from_dense(tx)
    wrong = np.mean(model.head.predict(model.decision_values(test)) != ty)
    whole, _ = budget_train(source_of(rows, labels), options)
    assert wrong < np.mean(whole.head.predict(whole.decision_values(test)) != ty) + 0.01


def test_a_working_set_is_read_and_shuffled_once(monkeypatch):
    # Reading it again for every segment of a run makes large data quadratic.
    x, y = two_moons(30_000, 5)
    read, shuffled = [], []
    order = run_rows.random_order
    monkeypatch.setattr(budget_run, "SEGMENT", 1000)
    monkeypatch.setattr(run_rows, "random_order", lambda n, *key: shuffled.append(key) or order(n, *key))
    with spooled(Rows.from_dense(x), y, memory=1 << 20) as source:
        get = source.working_set
        monkeypatch.setattr(source, "working_set", lambda *key: read.append(key) or get(*key))
        budget_train(source, BudgetTrainOptions(gamma=1, budget=9, passes=2, keep="last"))
        assert 2 < source.n_sets < 10
    once = [(0, epoch, number) for epoch in range(2) for number in range(source.n_sets)]
    assert read == [*once[: source.n_sets], *once]  # once to count the classes, then the passes
    assert [key[1:3] for key in shuffled] == [key[1:] for key in once]


def test_refits_in_groups_give_the_same_bytes(monkeypatch):
    source, _ = fixture("digits")
    options = BudgetTrainOptions(C=10, gamma=0.02, budget=9, passes=2)
    whole = libsvm_model_bytes(budget_train(source, options)[0])
    groups = []
    step = budget_finish._refit_in_step
    monkeypatch.setattr(
        budget_finish, "_refit_in_step", lambda *given: groups.append(len(given[1])) or step(*given)
    )
    monkeypatch.setattr(budget_finish, "REFIT_MATRICES", 10**5)
    assert libsvm_model_bytes(budget_train(source, replace(options, memory=1 << 28))[0]) == whole
    assert len(groups) > 5
    assert sum(groups) == 45


def test_one_working_set_is_in_memory_at_a_time():
    x, y = np.random.default_rng(1).normal(size=(40_000, 50)), np.tile([1.0, -1.0], 20_000)
    rows = Rows.from_dense(x)  # 24 MB
    tracemalloc.start()
    try:
        with spooled(rows, y, memory=8 << 20, pieces=100) as source:
            before = tracemalloc.get_traced_memory()[0]
            tracemalloc.reset_peak()
            budget_train(source, BudgetTrainOptions(gamma=0.01, budget=9, passes=1, keep="last"))
            peak = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    assert source.n_sets > 5
    assert 4 << 20 < peak < 7 << 20  # a set of 4 MiB, its norms and codes; two sets are 8


def test_columns_far_apart_take_no_extra_memory():
    x, y = two_moons(300, 8)
    rows = Rows.from_dense(x)
    far = Rows(rows.indptr, rows.indices * 400_000_000, rows.values, 2_000_000_001)
    near, _ = budget_train(source_of(rows, y), BudgetTrainOptions(gamma=1, budget=10))
    wide, _ = budget_train(source_of(far, y), BudgetTrainOptions(gamma=1, budget=10))
    np.testing.assert_array_equal(near.sv_coef, wide.sv_coef)
    np.testing.assert_array_equal(near.sv.indices.astype(np.int64) * 400_000_000, wide.sv.indices)
