"""`svmfast meka --task error`: the error of the approximation, against dense matrices."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from meka_problems import data, settings

from svmfast.kernels import Kernel
from svmfast.methods.meka.approximation import approximate_kernel, triangle_bytes
from svmfast.methods.meka.error import kernel_error, positive_repair
from svmfast.solvers.kernel_clusters import kmeans_centers, partition


def test_kernel_error_report() -> None:
    rows, _ = data("digits.train")
    found = kernel_error(rows, settings(gamma=(0.02,)))
    alone = kernel_error(rows, settings(gamma=(0.02,), link_threshold=1.0))
    assert found.relative_error < 0.5 * alone.relative_error
    assert (found.links, alone.links) == (found.clusters * (found.clusters - 1) // 2, 0)


def test_exact_blocks_leave_only_the_error_between_clusters() -> None:
    rows, _ = data("digits.train")
    found = kernel_error(rows, settings(block_only=True, gamma=(0.02,)))
    near = kernel_error(rows, settings(gamma=(0.02,), rank=300, link_threshold=1.0))
    assert found.relative_error == pytest.approx(near.relative_error, rel=1e-6)
    assert found.links == 0


@pytest.mark.parametrize("psd", ["clip", "shift", "none"])
def test_repairs_in_the_kernel_error(psd: str) -> None:
    rows, _ = data("digits.train")
    rough = settings(gamma=(0.1,), clusters=8, rank=6, oversampling=0.0, psd=psd)
    bare = kernel_error(rows, replace(rough, psd="none")).relative_error
    found = kernel_error(rows, rough)
    if psd == "none":
        assert found.smallest_eigenvalue is None
    else:
        assert found.smallest_eigenvalue is not None
        assert found.smallest_eigenvalue < 0
        assert found.relative_error < bare if psd == "clip" else found.relative_error > bare * 0.9


def test_a_repair_leaves_no_negative_eigenvalue() -> None:
    """``clip`` gives the nearest such matrix, ``shift`` moves every eigenvalue, ``none`` does nothing."""
    rows, _ = data("digits.train")
    rough = settings(gamma=(0.1,), clusters=8, rank=6, oversampling=0.0)
    parted = partition(rows, kmeans_centers(rows, 8, seed=0))
    made = approximate_kernel(Kernel("rbf", 0.1), parted, rough)
    values, vectors = np.linalg.eigh(made.link_matrix())
    assert values[0] < 0
    clip, shift, none = (positive_repair(made, psd) for psd in ("clip", "shift", "none"))
    assert clip[0] == pytest.approx(values[0])
    assert clip[2] == 0
    np.testing.assert_allclose(clip[1], vectors * np.maximum(values, 0) @ vectors.T, atol=1e-10)
    assert shift[2] == pytest.approx(-values[0])
    assert (none[0], none[2]) == (None, 0.0)
    for bare in (shift, none):
        np.testing.assert_array_equal(bare[1], made.link_matrix())


def test_the_two_forms_of_one_partition_against_dense_matrices() -> None:
    """The errors of exact and of low-rank blocks, recomputed from dense matrices."""
    rows, _ = data("iris.train")
    options = settings(gamma=(0.5,), rank=4, psd="shift")
    kernel = Kernel("rbf", 0.5)
    parted = partition(rows, kmeans_centers(rows, 3, seed=0))
    groups = [parted.cluster(s).to_dense(rows.n_columns) for s in range(3)]
    exact = kernel.matrix(np.vstack(groups), np.vstack(groups))
    cluster = np.repeat(np.arange(3), [len(g) for g in groups])
    missing = np.where(cluster[:, None] == cluster, 0.0, exact)
    blocks = kernel_error(rows, replace(options, block_only=True))
    assert blocks.relative_error == pytest.approx(np.linalg.norm(missing) / np.linalg.norm(exact))
    assert (blocks.links, sum(blocks.ranks)) == (0, len(rows))
    assert blocks.bytes == triangle_bytes(parted.sizes)
    found = kernel_error(rows, options)
    made = approximate_kernel(kernel, parted, options)
    basis = np.zeros((len(rows), int(made.ranks.sum())))
    for own, columns, part in zip(np.unique(cluster), made.slices(), made.bases, strict=True):
        basis[cluster == own, columns] = part
    whole = basis @ made.link_matrix() @ basis.T
    added = max(0.0, -np.linalg.eigvalsh(made.link_matrix())[0])
    difference = exact - whole - added * np.eye(len(rows))
    assert found.relative_error == pytest.approx(np.linalg.norm(difference) / np.linalg.norm(exact))
    assert found.ranks == (4, 4, 4)
