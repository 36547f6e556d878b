"""Routed models with random numbers."""

import numpy as np

from svmfast.models.head import Head
from svmfast.models.routed import PseudoLandmarks, RoutedModel
from svmfast.routing import flat_tree
from svmfast.rows import Rows

# Two levels: the root has 3 children; the first has 2 leaves, the second is a leaf, the third has 3 leaves.
TREE = np.array([3, 2, 0, 3, 0, 0, 0, 0, 0])


def routed(seed=0, kernel="rbf", head=None, tree=True, pseudo=None):
    rng = np.random.default_rng(seed)
    head = head or Head("epsilon_svr")
    children = TREE if tree else flat_tree(4)
    sizes = np.array([3, 0, 7, 26, 1, 40]) if tree else np.array([5, 2, 0, 30])
    landmarks = np.where(rng.random((sizes.sum(), 9)) < 0.7, rng.normal(size=(sizes.sum(), 9)), 0)
    return RoutedModel(
        head=head,
        kernel=kernel,
        gamma=rng.uniform(0.05, 0.3, len(sizes)),
        children=children,
        centers=rng.normal(size=(len(children) - 1, 8)),
        landmarks=Rows.from_dense(landmarks),
        sizes=sizes,
        coef=rng.normal(size=(head.n_functions, sizes.sum())),
        rho=rng.normal(size=(len(sizes), head.n_functions)),
        pseudo=None if pseudo is None else some_pseudo(pseudo, sizes, head.n_functions),
    )


def some_pseudo(kind, sizes, functions):
    rng = np.random.default_rng(5)
    own = np.where(sizes > 0, rng.integers(0, 9, len(sizes)), 0)
    pairs = np.zeros((0, 2), np.int64)
    distances = np.zeros(0)
    if kind == "poly":
        pairs = rng.integers(0, np.repeat(sizes, own)[:, None], (own.sum(), 2))
    else:
        distances = rng.uniform(0, 4, int((own * sizes).sum()))
    return PseudoLandmarks(kind, own, rng.normal(size=(functions, own.sum())), pairs, distances)
