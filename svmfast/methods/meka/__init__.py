"""meka: block-wise low-rank approximation of kernel matrices (MEKA)."""

from __future__ import annotations

from svmfast.methods.meka.options import MekaOptions
from svmfast.methods.method import Input, Method

METHOD = Method(
    name="meka",
    summary="Train on a block-wise low-rank kernel, or measure its error.",
    description="""
        Approximate the kernel matrix of DATA by low-rank blocks, and train with it or report its error.

        Rows are clustered; blocks within clusters are approximated by the Nystrom method, those between
        clusters by small link matrices in the same bases. A prediction uses the landmarks of the nearest
        cluster; predict, compare and info accept the model like any other. Several values of `gamma`,
        `lambda_` or `C` (0.1,1,10 or 2^-4,2^-2) form a grid for `folds`.
        """,
    group="train",
    inputs=(
        Input(
            name="data",
            content="rows",
            labels="used",
            copies=4.5,
            help="Rows for training or conversion, or whose kernel matrix is approximated.",
        ),
        Input(
            name="exact",
            content="model",
            flag="--from",
            required=False,
            help="Fit the decision values of this model (any svm_type) on DATA, whose labels are ignored.",
        ),
    ),
    options=MekaOptions,
    run="svmfast.methods.meka.run:run",
    candidates="svmfast.methods.meka.run:candidates",
    reports=(
        "svmfast.methods.meka.report:MekaReport",
        "svmfast.methods.meka.report:ErrorReport",
        "svmfast.methods.common.cross_validation:ScoresReport",
    ),
    color="#CC79A7",
    scores_alone=("folds",),
    scores_instead="task=error",
)
