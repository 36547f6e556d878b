"""The model of one cluster: LIBSVM's C-SVC or kernel ridge regression, exact or on landmarks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from svmfast.errors import UnsupportedError
from svmfast.kernels import LAPLACIAN, Kernel
from svmfast.methods.common.problem import targets_of
from svmfast.methods.meka import MekaOptions
from svmfast.methods.meka.approximation import Meka, approximate_kernel
from svmfast.methods.meka.solve import meka_ridge, meka_svc
from svmfast.methods.train.training import TrainOptions, train
from svmfast.rows import FloatArray, IntArray, Rows
from svmfast.solvers.kernel_clusters import Partition
from svmfast.solvers.leaves import LeafRows
from svmfast.solvers.training_data import chosen

#: The most for LIBSVM's kernel cache.
CACHE_MEGABYTES = 100


@dataclass(frozen=True, eq=False)
class Local:
    """How local models are trained. It is pickled to workers."""

    #: With landmarks, the blocks are of low rank.
    options: MekaOptions
    kernel: Kernel
    #: C or lambda.
    regularization: float
    #: (k,) labels in the head's order, and the weight of each; for regression there are none.
    labels: FloatArray
    weights: FloatArray
    #: The mean of the values, for regression.
    mean: float
    #: Of more rows in a cluster about so many are chosen.
    most_rows: float
    #: Megabytes of LIBSVM's kernel cache, which do not change its result.
    cache: int
    #: The first leaf that is trained; those before it are known.
    first: int = 0

    def of_classes(self, which: IntArray) -> FloatArray | None:
        """The weight of each row of some classes."""
        return self.weights[which] if self.options.weights else None


@dataclass(frozen=True, eq=False)
class Cell:
    """A local model, in the form of a cell of a routed one."""

    vectors: Rows
    #: (functions, n), or (k - 1, n) in LIBSVM's layout.
    coef: FloatArray
    #: (functions,)
    rho: FloatArray
    #: (k,) in LIBSVM's layout.
    nr_sv: IntArray | None = None
    #: Rows of the cluster on which it was not trained.
    left_out: int = 0

    def arrays(self) -> dict[str, Any]:
        """The cell for a checkpoint."""
        own = self.vectors
        found = {"indptr": own.indptr, "indices": own.indices, "values": own.values, "width": own.n_columns}
        found |= {"coef": self.coef, "rho": self.rho, "left_out": self.left_out}
        return found if self.nr_sv is None else found | {"nr_sv": self.nr_sv}

    @classmethod
    def of(cls, arrays: Mapping[str, Any]) -> Cell:
        vectors = Rows(arrays["indptr"], arrays["indices"], arrays["values"], int(arrays["width"]))
        return cls(vectors, arrays["coef"], arrays["rho"], arrays.get("nr_sv"), int(arrays["left_out"]))


def local_model(leaf: LeafRows, local: Local) -> Cell | None:
    """Train on the rows of a leaf and those near it; only the classes of its own rows take part."""
    if leaf.leaf < local.first:
        return None
    own, used = leaf.weights > 0, np.ones(len(leaf.labels), dtype=bool)
    count = int(np.count_nonzero(own))
    if count > local.most_rows:
        used = chosen(leaf.numbers, local.options.seed, local.most_rows / count)
        used[np.argmax(own)] = True  # one at least
    left_out = count - int(np.count_nonzero(own & used))
    low_rank = local.options.landmarks is not None
    if not len(local.labels):
        ridge = _low_rank_ridge if low_rank else _ridge
        return replace(ridge(leaf.rows.take(used), leaf.labels[used], local), left_out=left_out)
    order = np.argsort(local.labels)
    which = order[np.searchsorted(local.labels[order], leaf.labels)]
    places = np.flatnonzero(used & np.isin(which, which[own & used]))
    # Sorted by class, so that LIBSVM finds the classes in the head's order. It would group them anyway.
    places = places[np.argsort(which[places], kind="stable")]
    svm = _low_rank_svm if low_rank else _svm
    return replace(svm(leaf.rows.take(places), which[places], local), left_out=left_out)


def _ridge(rows: Rows, values: FloatArray, local: Local) -> Cell:
    """Kernel ridge regression with every row as a landmark."""
    from scipy.linalg import cho_solve

    x, regularization = rows.to_dense(), local.regularization
    system = local.kernel.matrix(x, x)
    system[np.diag_indices(len(system))] += regularization
    try:
        lower = np.linalg.cholesky(system)
    except np.linalg.LinAlgError:
        raise UnsupportedError(
            f"a block's kernel matrix plus lambda {regularization:g} is numerically singular",
            "use a larger `lambda_`",
        ) from None
    coef = cho_solve((lower, True), values - local.mean)
    return Cell(rows, np.asarray(coef)[None, :], np.array([-local.mean]))


def _svm(rows: Rows, which: IntArray, local: Local) -> Cell:
    """LIBSVM's C-SVC for the classes `which`, ascending, in the layout of all k classes."""
    kernel, k, present = local.kernel, len(local.labels), np.unique(which)
    here = np.isin(np.arange(k), present).astype(np.float64)
    # Constant decision values, by which classes without rows lose to all others.
    rho = np.array([here[j] - here[i] for i in range(k) for j in range(i + 1, k)])
    nr_sv = np.zeros(k, dtype=np.int64)
    if len(present) < 2:
        return Cell(rows[:0], np.zeros((k - 1, 0)), rho, nr_sv)
    weights = tuple(zip(present.tolist(), local.weights[present].tolist(), strict=True))
    options = TrainOptions(
        gamma=kernel.gamma,
        C=local.regularization,
        cache_size=local.cache,
        weights=weights if local.options.weights else (),
    )
    if kernel.kind == LAPLACIAN:
        x = rows.to_dense()
        numbered = np.column_stack([np.arange(1.0, len(x) + 1), kernel.matrix(x, x)])
        model = train(numbered, which, replace(options, kernel="precomputed", gamma=0.0))
        sv = rows.take(model.sv.values.astype(np.int64) - 1)
    else:
        model = train(rows, which, options)
        sv = model.sv
    assert model.nr_sv is not None
    nr_sv[present] = model.nr_sv
    coef = np.zeros((k - 1, len(sv)))
    ends = np.cumsum(model.nr_sv)
    pair = 0
    for a in range(len(present)):
        for b in range(a + 1, len(present)):
            i, j = int(present[a]), int(present[b])
            first = slice(ends[a] - model.nr_sv[a], ends[a])
            second = slice(ends[b] - model.nr_sv[b], ends[b])
            coef[j - 1, first] = model.sv_coef[b - 1, first]
            coef[i, second] = model.sv_coef[a, second]
            # The position of the pair i < j in LIBSVM's order.
            rho[i * (2 * k - i - 1) // 2 + j - i - 1] = model.rho[pair]
            pair += 1
    return Cell(sv, coef, rho, nr_sv)


def _low_rank_ridge(rows: Rows, values: FloatArray, local: Local) -> Cell:
    meka = _one_block(rows, local)
    ((inner, rho),) = meka_ridge(meka, values[:, None], [local.regularization], "clip")
    return Cell(meka.landmarks[0], (meka.projections[0] @ inner).T, rho)


def _low_rank_svm(rows: Rows, which: IntArray, local: Local) -> Cell:
    """The squared hinge SVM on landmarks: one function for two classes, otherwise one against the rest."""
    k, present = len(local.labels), np.unique(which)
    functions = 1 if k == 2 else k
    if len(present) < 2:
        rho = np.where(np.isin(np.arange(functions), present), -1.0, 1.0)
        return Cell(rows[:0], np.zeros((functions, 0)), rho)
    meka, targets = _one_block(rows, local), targets_of(which, range(functions))
    fitted = present if functions > 1 else np.zeros(1, dtype=np.int64)
    ((inner, own),) = meka_svc(
        meka, targets[:, fitted], [local.regularization], "clip", local.of_classes(which)
    )
    found = (meka.projections[0] @ inner).T
    # Classes without rows must lose; kernel values are at most 1.
    most = 1 + float((np.abs(found).sum(axis=1) + np.abs(own)).max())
    coef, rho = np.zeros((functions, found.shape[1])), np.full(functions, most)
    coef[fitted], rho[fitted] = found, own
    return Cell(meka.landmarks[0], coef, rho)


def _one_block(rows: Rows, local: Local) -> Meka:
    """The low-rank approximation of the kernel matrix of some rows."""
    n = len(rows)
    whole = Partition(np.zeros((1, rows.n_columns)), np.arange(n), np.array([0, n]), rows)
    return approximate_kernel(local.kernel, whole, local.options)
