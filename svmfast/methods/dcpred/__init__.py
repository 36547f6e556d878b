"""Divide and conquer with pseudo landmarks (DC-Pred++)."""

from __future__ import annotations

from svmfast.methods.dcpred.options import DcpredOptions
from svmfast.methods.method import Input, Method, Style

METHOD = Method(
    name="dcpred",
    summary="Train or convert to a tree of small expansions.",
    description="""
        Train on DATA, or convert EXACT with its rows: a tree of clusters with a few landmarks each.

        This is DC-Pred++ with landmarks moved by gradient. A row goes to its nearest leaf and meets that
        leaf's landmarks alone. Several values of `gamma`, `C` or `lambda_` (0.1,1,10 or 2^-4,2^-2) make a
        grid for `folds`. There is no certificate; a conversion reports its error on rows held out.
        """,
    group="train",
    inputs=(
        Input(name="data", content="rows", labels="used", help="Rows to train on, or to convert with."),
        Input(
            name="exact",
            content="model",
            flag="--from",
            required=False,
            help="Convert this model (any svm_type) on the rows of DATA, whose labels do not count.",
        ),
    ),
    options=DcpredOptions,
    run="svmfast.methods.dcpred.run:run",
    candidates="svmfast.methods.dcpred.run:candidates",
    style=Style("#E69F00", "P"),
    scores_alone=("folds",),
)
