"""Train a tree of clusters with a few landmarks each on DATA, or convert EXACT to one with these rows.

This is DC-Pred++ with landmarks that are optimized by gradient descent. A row is routed to its nearest leaf
and compared with the landmarks of that leaf only. Several values of `gamma`, `C` or `lambda_` (0.1,1,10 or
2^-4,2^-2) form a grid for `folds`. There is no certificate; a conversion reports its error on held-out rows.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from svmfast.errors import OptionError
from svmfast.methods.method import Input, Method
from svmfast.options import Bounded, Seeded, Tasked, class_weights, option, with_defaults
from svmfast.values import Choice, Grid, Real, Whole

if TYPE_CHECKING:
    from svmfast.models.base import Model
    from svmfast.rows import Rows

#: By default there are no more leaves than one for each of this many rows: smaller leaves tend to hold rows
#: of one class only, and then ignore the weights of classes.
LEAF_ROWS = 16


@dataclass(frozen=True, kw_only=True)
class DcpredOptions(Seeded, Bounded, Tasked):
    """Options of ``dcpred``; None until :meth:`resolved` if a default depends on others."""

    task: str | None = option(
        None, Choice("svc", "ridge"), "Needed unless `exact` is given; ridge is regression."
    )
    fit: str = option(
        "auto",
        Choice("auto", "values", "labels"),
        "With `exact`: fit its decision values, or its labels, which drops probabilities; auto: labels for "
        "three or more classes.",
    )
    gamma: tuple[float, ...] = option(
        None,
        Grid(),
        "Initial width of the kernel exp(-gamma |u-v|^2); `iterations` optimize it for each leaf.",
        "-g",
        shown="1/number of features; in a conversion that of the model",
    )
    C: tuple[float, ...] = option(None, Grid(), "Cost C (svc).", "-c", metavar="C[,C...]", shown="10")
    weights: tuple[tuple[int, float], ...] = class_weights("the rows of the class labelled I (svc)")
    lambda_: tuple[float, ...] = option(
        None,
        Grid(),
        "Regularization of ridge, and of fitting decision values.",
        metavar="L[,L...]",
        shown="0.1; for decision values 0.001",
    )
    folds: int | None = option(
        None,
        Whole(2),
        "Choose among several `gamma`, `C` or `lambda_` by cross-validation; without `output`, scores only.",
        "-v",
    )
    max_operations: float | None = option(
        None,
        Real(0, above=True),
        "Take as many landmarks as possible so that a prediction takes at most this multiple of a linear "
        "model's multiply-adds.",
    )
    clusters: int = option(
        None,
        Whole(1),
        "Number of leaves of the tree.",
        shown="16, but at most one for each 16 rows",
    )
    levels: int = option(
        None,
        Whole(1, 2),
        "Levels of the tree. With one, a row is compared with every leaf; with two, with about twice the "
        "square root of their number.",
        shown="2 above 64 clusters",
    )
    landmarks: int = option(None, Whole(1), "Number of landmarks per leaf.", metavar="M", shown="32")
    pseudo: str = option(
        None,
        Choice("none", "poly", "triangle"),
        "Pseudo landmarks: products of two kernel values, or kernel values of distance bounds from the "
        "triangle inequality.",
        shown="none",
    )
    pseudo_landmarks: int = option(
        None, Whole(1), "Number of pseudo landmarks per leaf.", metavar="P", shown="as many as landmarks"
    )
    kmeans: str = option(
        "weighted",
        Choice("weighted", "plain"),
        "k-means for the landmarks: weighted by the squared coefficients of local models (or of `exact`), or "
        "plain.",
    )
    iterations: int = option(
        None,
        Whole(0),
        "Gradient steps that move the landmarks; 0 keeps the k-means centers (as in the paper).",
        shown="150",
    )

    def check(self, given: Collection[str]) -> None:
        converts = "exact" in given
        if converts == (self.task is not None):
            raise OptionError("give either `task` or `exact`")
        if "unlabelled" in given and not converts:
            raise OptionError("labels are needed for `task`; rows without them (`unlabelled`) need `exact`")
        if not converts and (self.fit == "values" or (self.fit != "auto" and self.task != "svc")):
            raise OptionError(f"`fit` {self.fit} needs `exact`")
        if converts and self.folds:
            raise OptionError("`exact` reports the error on held-out rows; leave out `folds`")
        if "output" not in given and not self.folds:
            raise OptionError("give `output`; only `folds` can be used without it")
        if self.C is not None and (self.task == "ridge" or self.fit == "values"):
            raise OptionError("`C` is for classification; ridge and `fit` values have `lambda_`")
        if self.weights and self.task != "svc":
            raise OptionError("`weights` is for classification, `task` svc")
        if self.lambda_ is not None and (self.task == "svc" or self.fit == "labels"):
            raise OptionError("`lambda_` is for ridge and `fit` values; classification has `C`")
        if self.max_operations is not None:
            if self.landmarks is not None:
                raise OptionError("`max_operations` chooses `landmarks`; leave it out")
            if self.pseudo not in (None, "none"):
                raise OptionError("`max_operations` is for landmarks alone; leave out `pseudo`")
            if "output" not in given:
                raise OptionError("`max_operations` needs `output`")
        if self.pseudo_landmarks is not None and self.pseudo in (None, "none"):
            raise OptionError("`pseudo_landmarks` needs `pseudo` poly or triangle")

    def resolved(self, rows: Rows, exact: Model | None = None) -> DcpredOptions:
        """Fill in all defaults, for the rows to train on and the model to convert."""
        usual: dict[str, Any] = {
            "gamma": self.gamma or (_usual_gamma(rows.n_columns, exact),),
            "C": (10.0,),
            "lambda_": (0.1 if exact is None else 0.001,),
            "clusters": max(1, min(16, len(rows) // LEAF_ROWS)),
            "landmarks": 32,
            "pseudo": "none",
            "iterations": 150,
        }
        return with_defaults(self, usual)

    @property
    def pseudo_count(self) -> int:
        """Number of pseudo landmarks of each leaf."""
        return 0 if self.pseudo == "none" else self.pseudo_landmarks or self.landmarks


def _usual_gamma(columns: int, exact: Model | None) -> float:
    expansion = None if exact is None else exact.expansion
    if expansion is None:
        return 1.0 / max(1, columns)
    kernel = expansion.kernel
    if kernel.kind != "rbf":
        raise OptionError(f"the exact model's kernel is {kernel.kind}; give the new kernel's width, `gamma`")
    return kernel.gamma


METHOD = Method(
    name="dcpred",
    summary="Train a tree of small expansions, or convert a model to one.",
    description=__doc__,
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
    run="svmfast.methods.dcpred.fit:run",
    candidates="svmfast.methods.dcpred.fit:candidates",
    reports=(
        "svmfast.methods.dcpred.fit:DcpredReport",
        "svmfast.methods.common.cross_validation:GridScores",
    ),
    color="#E69F00",
    scores_alone=("folds",),
)
