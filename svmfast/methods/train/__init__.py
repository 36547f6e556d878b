"""train: training by LIBSVM's own solver."""

from __future__ import annotations

from svmfast.methods.method import Input, Method
from svmfast.methods.train.options import TrainOptions

METHOD = Method(
    name="train",
    summary="Train a model with LIBSVM's solver.",
    description="""
        Train a model on DATA, exactly as svm-train of the installed LIBSVM does.

        The arguments and the output are svm-train's. MODEL, the same as `output`, defaults to DATA's file
        name with .model added, in the current folder; '-' is standard output.
        """,
    group="train",
    inputs=(Input(name="data", content="rows", labels="used", copies=2.5, help="Rows to train on."),),
    options=TrainOptions,
    run="svmfast.methods.train.run:run",
    reports=("svmfast.methods.train.run:TrainReport", "svmfast.methods.common.scores:FoldScore"),
    color="#999999",
    scores_instead="folds",
    svm_train_output=True,
    stands_in_for_svm_train=True,
)
