"""Block-wise low-rank approximation of kernel matrices (MEKA)."""

from __future__ import annotations

from svmfast.methods.meka.options import MekaOptions
from svmfast.methods.method import Input, Method, Style

METHOD = Method(
    name="meka",
    summary="Train on a block-wise low-rank kernel; kernel error.",
    description="""
        Approximate the kernel matrix of DATA by low-rank blocks, and train on it or report its error.

        Rows are clustered; blocks within clusters are approximated by the Nystrom method, those between them
        by small links in the same bases. The model predicts by the nearest centre and that cluster's
        landmarks; predict, compare and info take it like any other. Several values of `gamma`, `lambda_` or
        `C` (0.1,1,10 or 2^-4,2^-2) make a grid for `folds`.
        """,
    group="train",
    inputs=(
        Input(
            name="data",
            content="rows",
            labels="used",
            help="Rows to train on, to convert with, or whose kernel matrix is approximated.",
        ),
        Input(
            name="exact",
            content="model",
            flag="--from",
            required=False,
            help="Fit the decision values of this model (any svm_type) on DATA, whose labels do not count.",
        ),
    ),
    options=MekaOptions,
    run="svmfast.methods.meka.run:run",
    candidates="svmfast.methods.meka.run:candidates",
    style=Style("#CC79A7", "D"),
    scores_alone=("folds",),
    scores_instead="task=error",
)
