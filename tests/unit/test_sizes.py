"""The one check of sizes and starts, at every edge at which a sum of 64-bit integers wraps around."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from svmfast.errors import ModelContentError
from svmfast.models.sizes import check_sizes, check_tree, check_width, total_of

EDGES = [s * v for v in (0, 1, 2, 5, 2**31, 2**32, 2**62, 2**63 - 1) for s in (1, -1)] + [-(2**63)]


def is_refused(check: object, *arguments: object) -> bool:
    try:
        check(*arguments)  # type: ignore[operator]
    except ModelContentError:
        return True
    return False


def test_sums_do_not_wrap() -> None:
    for values in itertools.product(EDGES, repeat=3):
        assert total_of(np.array(values, dtype=np.int64)) == sum(values)
    assert total_of(np.zeros(0, np.int64)) == 0


def test_sizes_are_taken_only_where_exact_sums_agree() -> None:
    taken = 0
    for values in itertools.product(EDGES, repeat=3):
        for total in (0, 2, 5, 7, 2**31):
            fits = min(values) >= 0 and sum(values) == total
            array = np.array(values, dtype=np.int64)
            assert is_refused(check_sizes, "sizes", array, 3, total, "cells") == (not fits)
            taken += fits
    assert taken > 10
    assert is_refused(check_sizes, "sizes", np.array([1, 1]), 3, 2, "cells")
    assert is_refused(check_sizes, "sizes", np.array([[1, 1]]), 2, 2, "cells")


def test_a_tree_is_taken_only_where_every_node_has_a_parent() -> None:
    assert not is_refused(check_tree, "children", np.array([0]))
    assert not is_refused(check_tree, "children", np.array([2, 1, 0, 0]))
    for wrong in ([], [1], [0, 0], [0, 2, 0], [3, 0, 0], [2**63 - 1, 2**63 - 1, 4, 0], [-1, 2, 1, 1]):
        assert is_refused(check_tree, "children", np.array(wrong, dtype=np.int64))


@pytest.mark.parametrize("width", [-1, 2**31, 2**32, 2**63, -(2**31)])
def test_a_width_fits_the_columns(width: int) -> None:
    assert is_refused(check_width, "n_features", width)
    assert not is_refused(check_width, "n_features", 2**31 - 1)
