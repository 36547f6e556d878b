"""What a budgeted training run is asked for, and what it reports."""

from __future__ import annotations

import math
from dataclasses import dataclass

from svmfast.errors import OptionError
from svmfast.methods.budget.sgd import MAINTENANCE

SVM_TYPES = ("c_svc", "epsilon_svr")
#: refit: coefficients fitted anew for the last iterate's vectors, or the last iterate where that is better;
#: best: the end-of-pass iterate that does best on the selection rows; last: the last iterate.
KEEP = ("refit", "best", "last")


@dataclass(frozen=True)
class BudgetTrainOptions:
    """Options of :func:`svmfast.methods.budget.training.budget_train`.

    Attributes
    ----------
    svm_type : str
        ``c_svc`` or ``epsilon_svr``.
    C : float
        Cost; lambda = 1 / (n C) with n the training rows of the decision function.
    lambda_ : float or None
        The regularisation itself, instead of C.
    gamma : float
        Of the RBF kernel; 0 stands for 1/(number of features).
    budget : int
        Most support vectors of a decision function.
    passes : int
        Times every row is visited.
    seed : int
    maintenance : str
        How the budget is kept, a key of :data:`svmfast.methods.budget.sgd.MAINTENANCE`.
    p : float
        Half the width of the insensitive tube (regression).
    weights : tuple of (label, weight)
        C of that class is multiplied by the weight (classification).
    bias : bool or None
        True: every step carries a bias (the weight of a constant feature). None: only the refit fits one.
        False: there is none.
    keep : str
        One of :data:`KEEP`.
    probability : bool
        Hold rows out and fit what probability estimates need on them.
    """

    svm_type: str = "c_svc"
    C: float = 1.0
    lambda_: float | None = None
    gamma: float = 0.0
    budget: int = 100
    passes: int = 10
    seed: int = 0
    maintenance: str = "lookup-wd"
    p: float = 0.1
    weights: tuple[tuple[int, float], ...] = ()
    bias: bool | None = None
    keep: str = "refit"
    probability: bool = False

    def __post_init__(self) -> None:
        for name, value, known in (
            ("svm_type (-s)", self.svm_type, SVM_TYPES),
            ("budget maintenance (--merge)", self.maintenance, tuple(MAINTENANCE)),
            ("model to keep (--keep)", self.keep, KEEP),
        ):
            if value not in known:
                raise OptionError(f"{name} is '{value}'; expected one of {', '.join(known)}")
        lambda_ = 1.0 if self.lambda_ is None else self.lambda_
        bounds = (
            ("C (-c)", self.C, self.C > 0, "positive"),
            ("lambda (--lambda)", lambda_, lambda_ > 0, "positive"),
            ("gamma (-g)", self.gamma, self.gamma >= 0, "positive, or 0 for 1/(number of features)"),
            ("budget (-B)", self.budget, self.budget >= 1, "at least 1"),
            ("passes (--passes)", self.passes, self.passes >= 1, "at least 1"),
            ("seed (--seed)", self.seed, 0 <= self.seed < 2**63, "from 0 to 2^63 - 1"),
            ("p (-p)", self.p, self.p >= 0, "at least 0"),
            *((f"the weight of label {i} (-w{i})", w, w > 0, "positive") for i, w in self.weights),
        )
        for name, number, holds, expected in bounds:
            if not (math.isfinite(number) and holds):
                raise OptionError(f"{name} is {number:g}; it must be {expected}")
        if self.weights and not self.is_classifier:
            raise OptionError("class weights (-wi) have no effect on regression (-s 3)")

    @property
    def is_classifier(self) -> bool:
        """Whether classes are trained, not values."""
        return self.svm_type == "c_svc"


@dataclass(frozen=True)
class PassStatus:
    """Where a run stands at the end of a pass.

    Attributes
    ----------
    epoch, passes : int
        Passes done, and to do.
    steps_per_second : float
        Over all decision functions, by the clock, since the run (or its continuation) began.
    support_vectors, budget : int
        Of all decision functions together.
    merge_frequency : float
        Share of all steps so far that met a full budget.
    accuracy, mean_squared_error : float or None
        Of the present iterate on the validation rows; the accuracy in percent.
    """

    epoch: int
    passes: int
    steps_per_second: float
    support_vectors: int
    budget: int
    merge_frequency: float
    accuracy: float | None
    mean_squared_error: float | None


@dataclass(frozen=True)
class BudgetTrainReport:
    """How a run went; numbers are sums over the decision functions unless said otherwise.

    Attributes
    ----------
    rows, held_out, features, classes, functions : int
        Rows trained on and held out; features that occur; classes (0 for regression).
    budget, passes, steps, violations, maintained, merged : int
        A violation adds a support vector; maintained steps met a full budget, merged ones merged for it.
    gamma, lambda_min, lambda_max : float
    degradation : float
        Sum of the squared weight degradations ||w' - w||^2.
    step_seconds, maintenance_seconds : float
        Time in steps, added up over threads, and the part of it spent on maintenance.
    train_seconds, total_seconds : float
        Time by the clock for the passes, and for everything.
    steps_per_second : float
        Steps over step_seconds: of one core.
    support_vectors : int
        Of the model.
    selection : str
        What candidates were compared on.
    selection_rows : int
    loss_iterate, loss_returned : float or None
        Mean over the functions of the share of wrong labels (classification) or the mean squared error on
        those rows, of the iterate and of what was returned.
    refitted : int
        Functions whose refit was returned; the others returned the iterate.
    refit_iterations : int
        Most Newton steps of a function.
    refit_seconds : float
    objective_before, objective : float or None
        Of the refit's smooth problem.
    validation_accuracy, validation_mse : float or None
        Of the returned model on the validation rows; the accuracy in percent.
    """

    rows: int
    held_out: int
    features: int
    classes: int
    functions: int
    budget: int
    passes: int
    steps: int
    violations: int
    maintained: int
    merged: int
    gamma: float
    lambda_min: float
    lambda_max: float
    degradation: float
    step_seconds: float
    maintenance_seconds: float
    train_seconds: float
    total_seconds: float
    steps_per_second: float
    support_vectors: int
    selection: str
    selection_rows: int
    loss_iterate: float | None
    loss_returned: float | None
    refitted: int
    refit_iterations: int
    refit_seconds: float
    objective_before: float | None
    objective: float | None
    validation_accuracy: float | None
    validation_mse: float | None

    @property
    def merge_frequency(self) -> float:
        """Share of the steps that met a full budget."""
        return self.maintained / self.steps if self.steps else 0.0
