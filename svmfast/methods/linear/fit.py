"""linear: a linear model of the data, the baseline of every kernel model.

Papers on fast kernel prediction give costs in units of it. It is the first thing to try: if it is as accurate
as the kernel model, no conversion is needed.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from svmfast.display import count
from svmfast.errors import MemoryLimitError, OptionError
from svmfast.figures import Figures, figure
from svmfast.methods.candidates import Candidate, CandidateRequest, NotTried
from svmfast.methods.common.problem import (
    MOST_SCORED,
    HeadScore,
    numbered_classes,
    remark_on_classes,
    row_weights,
    targets_of,
    warn_of_absent,
)
from svmfast.methods.linear import LinearOptions
from svmfast.methods.method import Inputs, Outcome, Setting
from svmfast.models.head import Head
from svmfast.models.polynomial import PolynomialModel
from svmfast.rows import FloatArray, IntArray, Rows
from svmfast.score import Quality
from svmfast.solvers.squared_hinge import solve_squared_hinge
from svmfast.solvers.training_data import compact

#: Values of a block of classes, for each of the solver's arrays; more if the rows themselves have more.
_CELLS = 1 << 20
#: The solver stops when the gradient, relative to that at w = 0, is at most this.
TOLERANCE = 1e-5


@dataclass(frozen=True, kw_only=True)
class LinearReport(Figures):
    rows: int = figure("Rows that were trained on.")
    features: int = figure("Features: the largest index.")
    functions: int = figure("Decision functions: one for two classes or for regression, else one a class.")
    cost: float = figure("C.")
    training: Quality = figure("Figures of the model on rows that it was trained on, 20,000 at most.")
    #: Of the training.
    seconds: float

    def lines(self) -> list[str]:
        return [
            f"{count(self.rows, 'row')}, {count(self.features, 'feature')}, "
            f"{count(self.functions, 'weight vector')}; {self.seconds:.2f} s",
            f"{self.training.line()} on the training rows",
        ]


def run(inputs: Inputs, options: LinearOptions, setting: Setting) -> Outcome:
    data = inputs.rows("data")
    assert data.labels is not None, "the declaration requires labels"
    setting.progress(0, None, "train")
    warn_of_absent(options.weights, data.labels, data.name, setting)
    model, report = linear(data.rows, data.labels, options)
    remark_on_classes(report.training, setting)
    return Outcome(model, report)


def candidates(request: CandidateRequest) -> tuple[list[Candidate], list[NotTried]]:
    if request.exact.head.svm_type == "one_class":
        return [], [NotTried("linear", "a one-class model has no labels to train on")]
    options = {"task": "ridge"} if request.exact.head.is_regression else {}
    return [Candidate("linear", 0, options, ("data",))], []


def linear(rows: Rows, labels: FloatArray, options: LinearOptions) -> tuple[PolynomialModel, LinearReport]:
    """Train a linear model, min 1/2 ||w||^2 + C sum loss(x_i.w + b): of order 1, without an exponential.

    The loss is the squared hinge, one-vs-rest, or for regression half the squared error. For classification
    the norm includes the bias, as in LIBLINEAR. C of a row is multiplied by the weight of its label, in the
    problem of each class. (For three or more classes, LIBLINEAR applies a class weight only in the problem of
    that class.)
    """
    begin = time.perf_counter()
    if not len(rows):
        raise OptionError("no rows to train on")
    width = rows.n_columns
    columns = np.unique(rows.indices)  # an index of 2^31 - 1 must not lead to 2^31 - 1 weights
    given, rows = rows, compact(rows, columns)
    if options.task == "ridge":
        head, found = Head("epsilon_svr"), _least_squares(rows, labels, options.C)
    else:
        head, which = numbered_classes(labels, pairs=False)
        needed = 4 * 8 * (rows.n_columns + 1) * head.n_functions  # they are copied into the model
        if needed > options.memory:
            what = f"{count(head.n_functions, 'weight vector')} of {count(rows.n_columns, 'weight')}"
            raise MemoryLimitError(what, needed, options.memory, "allow more memory")
        weights = row_weights(options.weights, labels)
        found = _squared_hinge(rows, which, head.n_functions, options.C, weights)
    functions, norm = found.shape[1], float(rows.squared_norms().max(initial=0.0))
    parameters = [f"C {options.C!r}", *(f"w{label} {weight!r}" for label, weight in options.weights)]
    model = PolynomialModel(
        head=head,
        gamma=0.0,
        n_features=width,
        features=columns.astype(np.int64),
        about="zero",
        centers=np.zeros((1, len(columns))),
        orders=np.ones((1, functions), dtype=np.int32),
        # For each function, a constant of 0 (the offset is in rho), then the weights.
        coefficients=np.vstack([np.zeros(functions), found[:-1]]).T.ravel().copy(),
        rho=-found[-1].copy(),
        sv_squared_norm=norm,
        sv_squared_norms=np.array([norm]),
        provenance={"method": "linear", "parameters": " ".join(parameters)},
    )
    seconds = time.perf_counter() - begin
    scored = min(len(rows), MOST_SCORED)
    score, size = HeadScore(head), max(1, _CELLS // functions)
    for at in range(0, scored, size):
        few = slice(at, min(at + size, scored))
        score.add(model.decision_values(given[few]), labels[few])
    return model, LinearReport(
        rows=len(rows),
        features=width,
        functions=functions,
        cost=options.C,
        training=score.quality,
        seconds=seconds,
    )


def _squared_hinge(
    rows: Rows, which: IntArray, functions: int, cost: float, weights: FloatArray | None
) -> FloatArray:
    """Return ``(d + 1, functions)`` weights, with the bias last, for the number of each row's class."""
    matrix = rows.to_scipy()
    turned = matrix.T.tocsr()
    each = np.ones(len(rows)) if weights is None else weights
    squares = np.asarray(matrix.multiply(matrix).T @ each, dtype=np.float64).ravel()
    curvature = np.append(squares, each.sum())
    found = np.empty((rows.n_columns + 1, functions))
    # A few classes at a time: the problems are independent, and arrays have a value for each row and class.
    size = max(1, max(_CELLS, rows.nnz) // max(len(rows), rows.n_columns + 1))
    for begin in range(0, functions, size):
        targets = targets_of(which, range(begin, min(begin + size, functions)))
        found[:, begin : begin + size] = solve_squared_hinge(
            lambda w: np.asarray(matrix @ w[:-1] + w[-1]),
            lambda v: np.vstack([turned @ v, v.sum(axis=0)]),
            *(targets, cost, curvature),
            tolerance=TOLERANCE,
            weights=weights,
        )
    return found


def _least_squares(rows: Rows, values: FloatArray, cost: float) -> FloatArray:
    """Return the ``(d + 1, 1)`` weights of ridge regression with an unpenalized bias, which is last."""
    from scipy.sparse.linalg import LinearOperator, lsqr

    matrix = rows.to_scipy()
    mean = np.asarray(matrix.mean(axis=0), dtype=np.float64).ravel()
    centered = LinearOperator(
        matrix.shape,
        matvec=lambda w: matrix @ w - mean @ w,
        rmatvec=lambda v: matrix.T @ v - mean * v.sum(),
        dtype=np.float64,
    )
    level = float(values.mean())
    # min ||A w - y||^2 + damp^2 ||w||^2 equals min 1/2 ||w||^2 + C/2 ||A w - y||^2 for damp^2 = 1/C.
    weights = lsqr(centered, values - level, damp=cost**-0.5, atol=1e-10, btol=1e-10, iter_lim=2000)[0]
    return np.append(weights, level - mean @ weights)[:, None]
