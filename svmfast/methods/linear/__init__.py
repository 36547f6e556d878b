"""linear: linear models, the baseline of every kernel model."""

from __future__ import annotations

from svmfast.methods.linear.options import LinearOptions
from svmfast.methods.method import Input, Method

METHOD = Method(
    name="linear",
    summary="Train a linear model, the baseline of every kernel model.",
    description="""
        Train a linear model on DATA.

        Try it first: if it is as accurate as the kernel model, you need nothing else. Classes are trained
        with the L2-regularized squared hinge loss, one class against the rest, as LIBLINEAR does by default.
        """,
    group="train",
    inputs=(Input(name="data", content="rows", copies=3, help="Rows to train on."),),
    options=LinearOptions,
    run="svmfast.methods.linear.fit:run",
    candidates="svmfast.methods.linear.fit:candidates",
    reports=("svmfast.methods.linear.fit:LinearReport",),
    color="#555555",
)
