"""Rows of table columns: memory is used again only when nobody has it, and sparse rows hold little of it."""

from __future__ import annotations

import numpy as np

from svmfast._core import table_rows


def block(seed: int, share: float, n: int = 4000, d: int = 9) -> tuple[list[np.ndarray], np.ndarray]:
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(n, d)) * (rng.random((n, d)) < share)
    return [np.ascontiguousarray(column) for column in table.T], table


def dense(found: tuple[np.ndarray, ...], d: int) -> np.ndarray:
    indptr, indices, values = found
    out = np.zeros((len(indptr) - 1, d))
    out[np.repeat(np.arange(len(out)), np.diff(indptr)), indices] = values
    return out


def test_arrays_that_are_held_are_not_written_over() -> None:
    held = []
    for seed in range(40):
        columns, table = block(seed, 0.9 if seed % 3 else 0.05)
        found = table_rows(columns, len(table))
        assert np.array_equal(dense(found, 9), table)
        if seed % 2:
            held.append((found, table))
    # Only a view of one of the arrays is left.
    view = held[0][0][2][5:9]
    kept = view.copy()
    del found
    held[0] = held[1]
    for seed in range(40, 60):
        columns, table = block(seed, 1.0)
        table_rows(columns, len(table))
    assert np.array_equal(view, kept)
    for arrays, table in held:
        assert np.array_equal(dense(arrays, 9), table)


def test_tables_of_any_size_follow_each_other() -> None:
    for n, d in ((0, 3), (1, 1), (70000, 3), (5, 400), (0, 1), (64, 64)):
        columns, table = block(n, 0.5, n, d)
        assert np.array_equal(dense(table_rows(columns, n), d), table)


def test_a_value_that_is_not_finite_is_found_in_used_memory() -> None:
    columns, _ = block(1, 1.0)
    table_rows(columns, 4000)
    columns[4][3999] = np.nan
    assert table_rows(columns, 4000) == (3999, 4)
