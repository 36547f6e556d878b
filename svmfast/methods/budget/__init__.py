"""Training on a budget of support vectors."""

from __future__ import annotations

from svmfast.methods.budget.options import BudgetTrainOptions
from svmfast.methods.method import Input, Method

METHOD = Method(
    name="budget-train",
    summary="Train an SVM of a fixed size in a few passes.",
    description="""
        Train an RBF SVM with a fixed limit on its size on DATA, and write a LIBSVM model.

        Stochastic gradient descent visits the rows one by one; whenever a decision function has more
        support vectors than `budget`, two are merged. Several classes are trained one against one. The
        arguments are svm-train's: MODEL is the same as `output`; '-' is standard output. The report goes to
        stderr.
        """,
    group="train",
    inputs=(
        Input(name="data", content="rows", spooled=True, help="Rows to train on."),
        Input(
            name="validate",
            content="rows",
            flag="--validate",
            required=False,
            copies=5,  # twice what they take: half of the memory is for the rows to train on
            help="Held-out rows that select the iterate to return; their score is printed after every pass.",
        ),
    ),
    options=BudgetTrainOptions,
    run="svmfast.methods.budget.run:run",
    candidates="svmfast.methods.budget.run:candidates",
    reports=(
        "svmfast.methods.budget.report:BudgetTrainReport",
        "svmfast.methods.common.scores:FoldScore",
    ),
    color="#009E73",
    scores_instead="folds",
    svm_train_output=True,
    checkpoints="Save the state of the run to this file, regularly and when the run is interrupted.",
    shows_status="Print a line on stderr for every pass.",
)
