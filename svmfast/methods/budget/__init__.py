"""Train an RBF SVM with a fixed limit on its size on DATA, and write a LIBSVM model.

Stochastic gradient descent visits the rows one by one; whenever a decision function has more support vectors
than `budget`, two are merged. Several classes are trained one against one. The arguments are svm-train's:
MODEL is the same as `output`; '-' is standard output. The report goes to stderr. With `output` there may be
several DATA, whose rows follow one another: the model is that of one file with all rows.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from svmfast.errors import OptionError
from svmfast.libsvm_names import SVM_TYPES
from svmfast.methods.method import Input, Method
from svmfast.options import MEMORY, Seeded, class_weights, kept_in, on_workers, option
from svmfast.values import Bytes, Choice, Numbered, OnOff, Real, Switch, Whole


@dataclass(frozen=True, kw_only=True)
class BudgetTrainOptions(Seeded):
    """Options of ``budget-train``."""

    svm_type: str = option(
        "c_svc",
        Numbered(SVM_TYPES, ("c_svc", "epsilon_svr")),
        "0 C-SVC, 3 epsilon-SVR.",
        "-s",
        metavar="TYPE",
    )
    C: float | None = option(
        None,
        Real(0, above=True),
        "Cost C; lambda = 1/(n C), where n is the number of rows of the decision function.",
        "-c",
        shown="1.0",
    )
    lambda_: float | None = option(None, Real(0, above=True), "Regularization lambda, instead of C.")
    gamma: float = option(
        0.0,
        Real(0),
        "Gamma of the RBF kernel; 0 means the default.",
        "-g",
        shown="1/number of features",
    )
    p: float = option(0.1, Real(0), "Epsilon of the loss (epsilon-SVR).", "-p")
    budget: int = option(100, Whole(1), "Maximum number of support vectors per decision function.", "-B")
    passes: int = option(10, Whole(1), "Number of passes over the rows.")
    sample: int = option(
        1_000_000,
        Whole(1),
        "Most rows that the descent visits, drawn at random; the coefficients are refitted with all rows.",
        metavar="ROWS",
    )
    maintenance: str = option(
        "lookup-wd",
        Choice("lookup-wd", "lookup-h", "gss", "gss-precise", "remove", "project"),
        "How the budget is enforced: by merging, with a lookup table (of wd or of h) or golden section "
        "search (to 0.01, or precise, to 1e-10), or by a baseline that removes or projects the smallest "
        "support vector.",
        "--merge",
    )
    keep: str = option(
        "refit",
        Choice("refit", "last"),
        "What to return: the last iterate with refitted coefficients (or unchanged, if that is better), or "
        "the last iterate.",
    )
    move: int = option(
        0,
        Whole(0),
        "Steps of L-BFGS that move the vectors, together with their coefficients, before the refit. Each "
        "step visits all rows of a decision function, 100,000 at most.",
        metavar="STEPS",
    )
    bias: bool | None = option(
        None,
        Switch(),
        "Update a bias in every step, or use no bias at all.",
        "--bias/--no-bias",
        shown="only in the refit",
    )
    weights: tuple[tuple[int, float], ...] = class_weights("the class labelled I (C-SVC)")
    probability: bool = option(
        False,
        OnOff(),
        "Hold out every fifth row (20,000 at most) and fit the probability estimates on these rows.",
        "-b",
    )
    dask: str | None = on_workers("Read the rows and refit")
    checkpoint: str | None = kept_in()
    memory: int = option(
        MEMORY,
        Bytes(),
        "Limit on memory. Rows beyond half of it go to a temporary file and are read back in shuffled "
        "pieces.",
        shown="2G",
    )

    @property
    def is_classifier(self) -> bool:
        return self.svm_type == "c_svc"

    @property
    def cost(self) -> float:
        return 1.0 if self.C is None else self.C

    def check(self, given: Collection[str]) -> None:
        if self.C is not None and self.lambda_ is not None:
            raise OptionError("`C` and `lambda_` both set the regularization; give one of them")
        if self.move and self.keep == "last":
            raise OptionError("`move` has no effect with `keep` last")
        if self.weights and not self.is_classifier:
            raise OptionError("`weights` is for classes, which a regression does not have")


METHOD = Method(
    name="budget-train",
    summary="Train an SVM of a fixed size in a few passes.",
    description=__doc__,
    group="train",
    inputs=(
        Input(name="data", content="rows", spooled=True, files=True, help="Rows to train on."),
        Input(
            name="validate",
            content="rows",
            flag="--validate",
            required=False,
            copies=5,  # twice what they take: half of the memory is for the rows to train on
            help="Held-out rows on which the model's score is reported.",
        ),
    ),
    options=BudgetTrainOptions,
    run="svmfast.methods.budget.run:run",
    candidates="svmfast.methods.budget.run:candidates",
    reports=("svmfast.methods.budget.run:BudgetTrainReport",),
    color="#009E73",
    svm_train_output=True,
)
