"""nystrom: a global low-rank approximation of the kernel, with landmarks by k-means."""

from __future__ import annotations

from svmfast.methods.method import Input, Method
from svmfast.methods.nystrom.options import NystromOptions

METHOD = Method(
    name="nystrom",
    summary="Train on landmarks from k-means (Nystrom), or convert a model.",
    description="""
        Train on DATA with the kernel approximated from a few landmarks, or fit the decision values of an
        exact model (`exact`).

        The landmarks are k-means centers of the rows, and the kernel matrix K is approximated by
        C W^-1 C', where C holds the kernel values between rows and landmarks, and W those between landmarks
        (Zhang and Kwok 2010). A linear model on these features is one small expansion: a prediction costs one
        kernel value per landmark. It is the usual baseline for meka and dcpred.
        """,
    group="train",
    inputs=(
        Input(name="data", content="rows", labels="used", copies=5),
        Input(
            name="exact",
            content="exact model",
            flag="--from",
            help="Fit the decision values of this model on the rows of DATA, whose labels are ignored.",
            required=False,
        ),
    ),
    options=NystromOptions,
    run="svmfast.methods.nystrom.fit:run",
    candidates="svmfast.methods.nystrom.fit:candidates",
    reports=("svmfast.methods.nystrom.report:NystromReport",),
    color="#56B4E9",
)
