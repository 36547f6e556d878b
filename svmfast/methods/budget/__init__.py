"""Training on a budget of support vectors."""

from __future__ import annotations

from svmfast.methods.budget.options import BudgetTrainOptions
from svmfast.methods.method import Input, Method, Style

METHOD = Method(
    name="budget-train",
    summary="Train an SVM of a fixed size in a few passes.",
    description="""
        Train an RBF SVM on DATA whose size is known beforehand, and write a LIBSVM model.

        Stochastic gradient descent visits the rows one by one; whenever a decision function holds more
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
            help="Held-out rows: choose what to return on them, and print their score after every pass.",
        ),
    ),
    options=BudgetTrainOptions,
    run="svmfast.methods.budget.run:run",
    candidates="svmfast.methods.budget.run:candidates",
    style=Style("#009E73", "^"),
    scores_instead="folds",
    svm_train_output=True,
    checkpoints="Save the run's state here, and when it is interrupted.",
    shows_status="Print a line on stderr for every pass.",
)
