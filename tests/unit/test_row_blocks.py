"""Sums over fixed blocks of rows: the same bits for any division, number of threads and limit on memory."""

import numpy as np

from svmfast.formats.spool import Spool
from svmfast.rows import Rows
from svmfast.solvers.row_blocks import TreeSum
from svmfast.solvers.training_data import WorkingSet

RNG = np.random.default_rng(0)


def test_a_tree_of_sums_is_cut_anywhere() -> None:
    blocks = [[RNG.normal(size=3)] for _ in range(13)]
    whole = TreeSum.of(0, blocks).value()[0]
    level = [block[0] for block in blocks]  # the same tree, level by level
    while len(level) > 1:
        level = [sum(level[k + 1 : k + 2], level[k]) for k in range(0, len(level), 2)]
    np.testing.assert_array_equal(whole, level[0])
    for cut in range(1, 13):
        tree = TreeSum.of(0, blocks[:cut])
        tree.extend(TreeSum.of(cut, blocks[cut:]))
        np.testing.assert_array_equal(tree.value()[0], whole)


def _sums(block: WorkingSet, _: None) -> list[np.ndarray]:
    return [block.numbers * block.labels @ block.rows.to_dense()]


def test_blocks_in_memory_and_in_a_file_are_the_same() -> None:
    x, y = RNG.normal(size=(30_001, 5)), RNG.integers(0, 3, 30_001).astype(float)
    found = []
    for memory in (1 << 20, 1 << 30):
        with Spool(memory) as spool:
            for k in range(0, len(x), 977):
                spool.add(Rows.from_dense(x[k : k + 977]), y[k : k + 977])
            spool.finish()
            for threads in (1, 2):
                found.append(spool.total(_sums, None, threads)[0])
            numbers = list(spool.each(lambda block, _: block.numbers, None))
            np.testing.assert_array_equal(np.concatenate(numbers), np.arange(len(x)))
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])
    np.testing.assert_allclose(found[0], np.arange(len(x)) * y @ x, rtol=1e-9)
