"""Train a model on DATA, exactly as svm-train of the installed LIBSVM does.

The arguments and the output are svm-train's. MODEL, the same as `output`, defaults to DATA's file name with
.model added, in the current folder; '-' is standard output.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from svmfast.errors import OptionError
from svmfast.libsvm_names import KERNELS, SVM_TYPES
from svmfast.methods.method import Input, Method
from svmfast.options import Bounded, class_weights, option, switch
from svmfast.values import Numbered, OneOrGrid, OnOff, Pair, Real, Whole


@dataclass(frozen=True, kw_only=True)
class TrainOptions(Bounded):
    """Options of ``train``, with the letters and defaults of svm-train."""

    svm_type: str = option(
        "c_svc",
        Numbered(SVM_TYPES),
        "0 C-SVC, 1 nu-SVC, 2 one-class, 3 epsilon-SVR, 4 nu-SVR.",
        "-s",
        metavar="TYPE",
    )
    kernel: str = option(
        "rbf",
        Numbered(KERNELS),
        "0 linear u'v, 1 polynomial (gamma u'v + coef0)^degree, 2 RBF exp(-gamma |u-v|^2), 3 sigmoid "
        "tanh(gamma u'v + coef0), 4 precomputed (the data hold kernel values; index 0 is the serial number).",
        "-t",
        metavar="KERNEL",
    )
    degree: int = option(3, Whole(0), "Degree (polynomial kernel).", "-d")
    gamma: float | tuple[float, ...] = option(
        0.0,
        OneOrGrid(0),
        "Gamma; 0 means the default. Several values (0.5,2 or 2^-5,2^-3) form a grid for `folds`.",
        "-g",
        shown="1/number of features",
    )
    coef0: float = option(0.0, Real(), "Coef0 (polynomial and sigmoid kernels).", "-r")
    C: float | tuple[float, ...] = option(
        1.0, OneOrGrid(0, above=True), "Cost C (C-SVC, epsilon-SVR, nu-SVR), or several values.", "-c"
    )
    nu: float = option(0.5, Real(0, 1, above=True), "Nu (nu-SVC, one-class, nu-SVR).", "-n")
    p: float = option(0.1, Real(0), "Epsilon of the loss (epsilon-SVR).", "-p")
    cache_size: float = option(100.0, Real(0, above=True), "Kernel cache in megabytes.", "-m")
    eps: float = option(0.001, Real(0, above=True), "Tolerance of the termination criterion.", "-e")
    shrinking: bool = option(
        True, OnOff(), "Use shrinking heuristics; as the last word, show this help.", "-h"
    )
    probability: bool = option(False, OnOff(), "Also fit the parameters of probability estimates.", "-b")
    weights: tuple[tuple[int, float], ...] = class_weights("the class labelled I (C-SVC)")
    folds: int | None = option(
        None,
        Whole(2),
        "Cross-validate with N folds: print the score and write no model. Of a grid, all scores; with an "
        "output, train with the best pair.",
        "-v",
    )
    scale_to: tuple[float, float] | None = option(
        None,
        Pair(),
        "Scale every feature to this interval, as svm-scale does with the range of the training rows; in "
        "cross-validation with that of the rows outside the fold. The model contains the scaling and accepts "
        "raw rows.",
    )
    truncate_labels: bool = switch(
        "Truncate class labels such as 1.5 to integers, as svm-train does.", "--compat"
    )

    @property
    def precomputed(self) -> bool:
        """Whether rows hold kernel values, after a serial number in column 0."""
        return self.kernel == "precomputed"

    @property
    def is_classifier(self) -> bool:
        return self.svm_type in ("c_svc", "nu_svc")

    @property
    def costs(self) -> tuple[float, ...]:
        return self.C if isinstance(self.C, tuple) else (self.C,)

    @property
    def gammas(self) -> tuple[float, ...]:
        return self.gamma if isinstance(self.gamma, tuple) else (self.gamma,)

    @property
    def is_grid(self) -> bool:
        """Whether there are several pairs of C and gamma."""
        return len(self.costs) * len(self.gammas) > 1

    def check(self, given: Collection[str]) -> None:
        if self.is_grid and self.folds is None:
            raise OptionError("several values of `gamma` or `C` need `folds` for the choice")
        if self.scale_to is not None and not self.scale_to[0] < self.scale_to[1]:
            raise OptionError("`scale_to` needs two numbers, the lower one first")
        if self.scale_to is not None and self.precomputed:
            raise OptionError("`scale_to` is for features; a precomputed kernel has none")
        if self.folds is not None and "output" in given and not self.is_grid:
            raise OptionError("cross validation (`folds`) writes no model; name no output")
        if self.weights and self.svm_type != "c_svc":
            raise OptionError(f"`weights` is for c_svc; the model is {self.svm_type}")
        if "unlabelled" not in given:
            return
        if self.svm_type != "one_class":
            raise OptionError("labels are needed: `unlabelled` is for one-class training (`svm_type`)")
        if self.folds is not None:
            raise OptionError("cross validation (`folds`) needs labels for its score; leave out `unlabelled`")


METHOD = Method(
    name="train",
    summary="Train a model with LIBSVM's solver.",
    description=__doc__,
    group="train",
    inputs=(Input(name="data", content="rows", labels="used", copies=2.5, help="Rows to train on."),),
    options=TrainOptions,
    run="svmfast.methods.train.training:run",
    reports=(
        "svmfast.methods.train.training:TrainReport",
        "svmfast.methods.common.cross_validation:FoldScore",
        "svmfast.methods.common.cross_validation:GridScores",
    ),
    color="#999999",
    scores_instead="folds",
    svm_train_output=True,
    stands_in_for_svm_train=True,
)
