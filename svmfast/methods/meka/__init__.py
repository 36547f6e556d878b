"""Approximate the kernel matrix of DATA by low-rank blocks, and train with it or report its error.

Rows are clustered; blocks within clusters are approximated by the Nystrom method, those between clusters by
small link matrices in the same bases. A prediction uses the landmarks of the nearest cluster; predict,
compare and info accept the model like any other. Several values of `gamma`, `lambda_` or `C` (0.1,1,10 or
2^-4,2^-2) form a grid for `folds`. With `block_only`, clusters have models of their own, and the rows may
exceed memory.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from svmfast.errors import OptionError
from svmfast.methods.method import Input, Method
from svmfast.options import (
    Bounded,
    Seeded,
    Tasked,
    class_weights,
    kept_in,
    on_workers,
    option,
    switch,
    with_defaults,
)
from svmfast.values import Choice, Grid, Real, Whole

#: Default rank and number of clusters.
RANK, CLUSTERS = 128, 10


@dataclass(frozen=True, kw_only=True)
class MekaOptions(Seeded, Bounded, Tasked):
    """Options of ``meka``; None until :meth:`resolved` if a default depends on others."""

    task: str | None = option(
        None,
        Choice("ridge", "svc", "error"),
        "ridge: kernel ridge regression; svc: support vector classification; error: only measure the error "
        "of the approximated kernel matrix.",
    )
    gamma: tuple[float, ...] = option(
        None,
        Grid(),
        "Width of the kernel exp(-gamma |u-v|^2).",
        "-g",
        shown="1/number of features",
    )
    laplacian: bool = switch("Use the Laplacian kernel exp(-gamma |u-v|_1) instead of the Gaussian one.")
    C: tuple[float, ...] = option(None, Grid(), "Cost C (svc).", "-c", metavar="C[,C...]", shown="1")
    weights: tuple[tuple[int, float], ...] = class_weights("the rows of the class labelled I (svc)")
    lambda_: tuple[float, ...] = option(
        None,
        Grid(),
        "Regularization of ridge.",
        metavar="L[,L...]",
        shown="0.1",
    )
    folds: int | None = option(
        None,
        Whole(2),
        "Choose among several `gamma`, `C` or `lambda_` by cross-validation; without `output`, scores only.",
        "-v",
    )
    clusters: int = option(
        None,
        Whole(1),
        "Number of clusters.",
        shown="10; with `block_only` by `cluster_rows`",
    )
    rank: int = option(
        None,
        Whole(1),
        "Rank of each cluster's block (the mean over the clusters unless `strategy` is equal).",
        metavar="K",
        shown=str(RANK),
    )
    landmarks: int = option(
        None,
        Whole(1),
        "Sampled columns of each cluster's block, at least `rank`; a prediction computes this many "
        "kernel values.",
        metavar="M",
        shown="twice the rank",
    )
    oversampling: float = option(
        4.0,
        Real(0),
        "Sample (1 + R) K rows of each cluster for the links between clusters.",
        metavar="R",
    )
    link_threshold: float = option(
        0.0,
        Real(0, 1, below=True),
        "No link between clusters whose centers have a kernel value of at most E.",
        metavar="E",
    )
    strategy: str = option(
        "equal",
        Choice("equal", "size", "eigen"),
        "Distribute ranks over clusters equally, by size, or by the eigenvalues of the blocks.",
    )
    psd: str = option(
        "clip",
        Choice("clip", "shift", "none"),
        "Make the approximation positive semidefinite: clip negative eigenvalues, shift all, or neither.",
    )
    block_only: bool = switch(
        "Use exact blocks within clusters and zero between them (BKA); svc: one LIBSVM model per cluster. "
        "Rows beyond half of `memory` go to a temporary file. With `landmarks`, or if the model would "
        "exceed `memory`, blocks are of low rank (svc: squared hinge).",
    )
    cluster_rows: int = option(
        None,
        Whole(1),
        "With `block_only`: make clusters of about this many rows, instead of a number of `clusters`.",
        metavar="N",
        shown="2000",
    )
    overlap: float = option(
        None,
        Real(0),
        "With `block_only`: train each cluster also on the nearest rows of others, S times as many as its "
        "own.",
        metavar="S",
        shown="0.5",
    )
    dask: str | None = on_workers("With `block_only`: read the rows and train")
    checkpoint: str | None = kept_in()
    sample: int = option(20_000, Whole(2), "error: number of rows on which the matrices are compared.")

    @property
    def ignores_labels(self) -> bool:
        return self.task == "error"

    def check(self, given: Collection[str]) -> None:
        if "unlabelled" in given and self.task != "error":
            raise OptionError(
                "labels are needed to train; only `task` error takes rows without (`unlabelled`)"
            )
        if self.task is None:
            raise OptionError("give `task` (ridge, svc or error)")
        if self.task == "error":
            if "output" in given:
                raise OptionError("`task` error makes no model; leave out `output`")
            if self.folds:
                raise OptionError("`task` error has nothing to cross-validate; leave out `folds`")
        elif "output" not in given and not self.folds:
            raise OptionError("give `output`; only `folds` and `task` error can be used without it")
        if self.C is not None and self.task != "svc":
            raise OptionError("`C` is for `task` svc; ridge has `lambda_`")
        if self.weights and self.task != "svc":
            raise OptionError("`weights` is for classification, `task` svc")
        if self.lambda_ is not None and self.task in ("svc", "error"):
            raise OptionError(f"`lambda_` is for ridge; `task` {self.task} does not use it")
        for name in ("dask", "checkpoint"):
            if vars(self)[name] is not None and self.folds is not None:
                raise OptionError(f"`{name}` does not cross-validate; leave out `folds`")
        for name in ("cluster_rows", "overlap", "dask", "checkpoint"):
            if vars(self)[name] is not None and not (self.block_only and self.task != "error"):
                raise OptionError(f"`{name}` is for training with `block_only`")
        if self.cluster_rows is not None and self.clusters is not None:
            raise OptionError(
                "`clusters` and `cluster_rows` both set the number of clusters; give one of them"
            )
        rank = self.rank or (1 if self.block_only else RANK)
        if self.landmarks is not None and self.landmarks < rank:
            raise OptionError(f"`landmarks` is {self.landmarks}; expected at least `rank`, {rank}")

    def resolved(self, columns: int) -> MekaOptions:
        """Fill in all defaults, for rows of `columns`."""
        usual: dict[str, Any] = {
            "gamma": (1.0 / max(1, columns),),
            "C": (1.0,),
            "lambda_": (0.1,),
            "rank": self.landmarks if self.block_only and self.landmarks else RANK,
            "overlap": 0.5,
        }
        if self.block_only and self.task != "error" and self.clusters is None:
            usual["cluster_rows"] = 2000
        else:
            usual["clusters"] = CLUSTERS
        return with_defaults(self, usual)

    @property
    def in_memory(self) -> bool:
        """Whether all rows are needed at the same time."""
        return not self.block_only or self.task == "error" or self.folds is not None

    @property
    def kernel_kind(self) -> str:
        return "laplacian" if self.laplacian else "rbf"

    @property
    def columns(self) -> int:
        """Number of sampled columns of each cluster."""
        return self.landmarks or 2 * self.rank


METHOD = Method(
    name="meka",
    summary="Train on a block-wise low-rank kernel, or measure its error.",
    description=__doc__,
    group="train",
    inputs=(
        Input(
            name="data",
            content="rows",
            labels="used",
            spooled=True,
            files=True,
            copies=4.5,
            help="Rows for training, or whose kernel matrix is approximated.",
        ),
    ),
    options=MekaOptions,
    run="svmfast.methods.meka.fit:run",
    candidates="svmfast.methods.meka.fit:candidates",
    reports=(
        "svmfast.methods.meka.fit:MekaReport",
        "svmfast.methods.meka.error:ErrorReport",
        "svmfast.methods.common.cross_validation:GridScores",
    ),
    color="#CC79A7",
    scores_alone=("folds",),
    scores_instead="task=error",
)
