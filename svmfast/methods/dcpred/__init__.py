"""dcpred: divide and conquer with pseudo landmarks (DC-Pred++)."""

from __future__ import annotations

from svmfast.methods.dcpred.options import DcpredOptions
from svmfast.methods.method import Input, Method

METHOD = Method(
    name="dcpred",
    summary="Train a tree of small expansions, or convert a model to one.",
    description="""
        Train a tree of clusters with a few landmarks each on DATA, or convert EXACT to one with these rows.

        This is DC-Pred++ with landmarks that are optimized by gradient descent. A row is routed to its
        nearest leaf and compared with the landmarks of that leaf only. Several values of `gamma`, `C` or
        `lambda_` (0.1,1,10 or 2^-4,2^-2) form a grid for `folds`. There is no certificate; a conversion
        reports its error on held-out rows.
        """,
    group="train",
    inputs=(
        Input(
            name="data",
            content="rows",
            labels="used",
            copies=5,
            help="Rows for training or conversion.",
        ),
        Input(
            name="exact",
            content="model",
            flag="--from",
            required=False,
            help="Convert this model (any svm_type) on the rows of DATA, whose labels are ignored.",
        ),
    ),
    options=DcpredOptions,
    run="svmfast.methods.dcpred.run:run",
    candidates="svmfast.methods.dcpred.run:candidates",
    reports=(
        "svmfast.methods.dcpred.report:DcpredReport",
        "svmfast.methods.common.cross_validation:ScoresReport",
    ),
    color="#E69F00",
    scores_alone=("folds",),
)
