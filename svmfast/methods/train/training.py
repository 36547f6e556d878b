"""Training by LIBSVM's own solver: takes arrays, checks them, and returns a KernelExpansion."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from svmfast.display import count
from svmfast.errors import OptionError, TrainingRowError
from svmfast.figures import Figures, figure
from svmfast.libsvm_names import KERNELS, SVM_TYPES
from svmfast.methods.common.cross_validation import FoldScore
from svmfast.methods.common.problem import absent_weights, remark_on_classes, warn_of_absent
from svmfast.methods.method import Inputs, Outcome, Setting
from svmfast.methods.train import TrainOptions as TrainOptions
from svmfast.methods.train.libsvm import Problem, Solution
from svmfast.models.expansion import Kernel, KernelExpansion
from svmfast.models.head import Head
from svmfast.models.scaling import Scaling
from svmfast.rows import FloatArray, IntArray, Rows, as_rows, with_zeros
from svmfast.score import quality
from svmfast.solvers.arithmetic import eight_digits
from svmfast.solvers.training_data import check_class_labels
from svmfast.threads import map_in_threads


def train(
    data: Any,
    labels: ArrayLike,
    options: TrainOptions | None = None,
    *,
    threads: int = 1,
    log: Callable[[str], None] | None = None,
) -> KernelExpansion:
    """Train a model with LIBSVM's solver.

    It is the model that svm-train of the installed LIBSVM version would write, byte for byte. `data` are
    rows, an array or a SciPy sparse matrix; for the precomputed kernel, the row's serial number (from 1),
    then a kernel value for each row. One-class training ignores the labels. With several `threads`, the pairs
    of three or more classes are solved in parallel, each with its own cache (for C-SVC without class weights,
    probabilities and log). `log` is called from another thread with pieces of the solver's messages.

    Raises
    ------
    OptionError
        svm-train would refuse the options.
    TrainingRowError
        svm-train would misread labels or precomputed rows.
    """
    options = options or TrainOptions()
    rows, y, parameters, problem = _checked(data, labels, options)
    simple = options.svm_type == "c_svc" and not (options.probability or options.weights)
    if threads > 1 and log is None and simple and len(set(np.trunc(y).tolist())) > 2:
        solution = solve_pairs(
            rows, y, parameters, first_index=0 if options.precomputed else 1, threads=threads
        )
    else:
        solution = problem.train(log)
    classifier = options.is_classifier
    n = len(solution.sv_indices)
    if options.precomputed:
        serial = rows.values[rows.indptr[solution.sv_indices]]
        sv = Rows(np.arange(n + 1, dtype=np.int64), np.zeros(n, np.int32), serial, 1)
    else:
        sv = rows.take(solution.sv_indices)
    return KernelExpansion(
        head=Head(
            svm_type=options.svm_type,
            labels=solution.label if classifier else None,
            prob_a=solution.prob_a,
            prob_b=solution.prob_b if classifier else None,
            density_marks=solution.density_marks,
        ),
        kernel=_kernel(options, parameters["gamma"]),
        sv=sv,
        # For a single class there are no coefficients, but the model needs one row of them.
        sv_coef=solution.sv_coef if len(solution.sv_coef) else np.zeros((1, n)),
        rho=solution.rho,
        nr_sv=solution.nr_sv if classifier else None,
    )


def cross_validate(
    data: Any,
    labels: ArrayLike,
    folds: int,
    options: TrainOptions | None = None,
    *,
    log: Callable[[str], None] | None = None,
) -> FloatArray:
    """Predict each row by a model trained without its fold, with LIBSVM's folds (svm-train ``-v``)."""
    if folds < 2:
        raise OptionError(f"`folds` is {folds}; cross validation needs at least 2")
    options = options or TrainOptions()
    return _checked(data, labels, options)[-1].cross_validate(folds, log)


def _checked(
    data: Any, labels: ArrayLike, options: TrainOptions
) -> tuple[Rows, FloatArray, dict[str, float], Problem]:
    """Check everything; return rows, labels, LIBSVM's parameters, and all as LIBSVM's problem."""
    if options.is_grid:
        raise OptionError("several values of `gamma` or `C`; expected one of each")
    precomputed, (gamma,), (cost,) = options.precomputed, options.gammas, options.costs
    rows = with_zeros(data) if precomputed else as_rows(data)
    y = np.ascontiguousarray(labels, dtype=np.float64)
    n = len(rows)
    if y.shape != (n,):
        raise OptionError(f"{n} rows and labels of shape {y.shape}; expected one label per row")
    if n == 0:
        raise OptionError("no rows to train on")
    if options.svm_type == "one_class" and np.isnan(y).all():
        y = np.zeros(n)  # rows without labels; one-class training uses none
    _check_finite("label", y, np.arange(n + 1))
    _check_finite("value", rows.values, rows.indptr)
    if options.is_classifier:
        check_class_labels(y, truncate=options.truncate_labels)
    if precomputed:
        _check_precomputed(rows)
    largest = rows.n_columns - precomputed  # LIBSVM's index of the last column
    names = ("degree", "coef0", "nu", "p", "eps", "cache_size", "shrinking", "probability")
    parameters = {"C": cost, **{name: getattr(options, name) for name in names}}
    parameters["svm_type"] = SVM_TYPES.index(options.svm_type)
    parameters["kernel_type"] = KERNELS.index(options.kernel)
    parameters["gamma"] = gamma or (1.0 / largest if largest > 0 else 0.0)
    # LIBSVM would print a line for each weight that applies to no row.
    absent = absent_weights(options.weights, y)
    weights = tuple((label, weight) for label, weight in options.weights if label not in absent)
    return rows, y, parameters, Problem(rows, y, parameters, weights, first_index=0 if precomputed else 1)


def _check_finite(what: str, values: FloatArray, indptr: IntArray) -> None:
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        row = int(np.searchsorted(indptr, bad[0], side="right"))
        raise TrainingRowError(row, f"the {what} is not finite", f"{values[bad[0]]}", "a finite number")


def _check_precomputed(rows: Rows) -> None:
    """Refuse rows that LIBSVM would misread: it uses the value at position j, whatever its index is."""
    n, width = len(rows), rows.n_columns
    lengths = np.diff(rows.indptr)
    short = np.flatnonzero(lengths != width)
    if len(short):
        raise TrainingRowError(
            int(short[0]) + 1,
            f"a precomputed row with {lengths[short[0]]} of {width} columns",
            None,
            "the serial number in column 0 and every kernel value, including zeros",
        )
    serial = rows.values.reshape(n, -1)[:, 0] if width else np.zeros(n)
    bad = np.flatnonzero((serial < 1) | (serial > width - 1) | (serial != np.trunc(serial)))
    if len(bad):
        raise TrainingRowError(
            int(bad[0]) + 1,
            "serial number out of range",
            f"{serial[bad[0]]:g}",
            f"an integer from 1 to {width - 1}",
        )


def _kernel(options: TrainOptions, gamma: float) -> Kernel:
    """The kernel, with only those parameters that its kind has."""
    if options.kernel == "polynomial":
        return Kernel("polynomial", gamma, options.coef0, options.degree)
    if options.kernel == "sigmoid":
        return Kernel("sigmoid", gamma, options.coef0)
    return Kernel("rbf", gamma) if options.kernel == "rbf" else Kernel(options.kernel)


def solve_pairs(
    rows: Rows, labels: FloatArray, parameters: Mapping[str, float], *, first_index: int = 1, threads: int = 1
) -> Solution:
    """Return the solution that svm_train finds for three or more classes, bit for bit.

    `parameters` are those of :class:`Problem`, for C-SVC without probabilities. The pairs share nothing but
    the rows, while svm_train's threads synchronize at every kernel column. Those solved together share the
    cache.
    """
    labels = np.trunc(labels)  # as in LIBSVM, if the caller permits such labels
    known, appears = np.unique(labels, return_index=True)
    known = known[np.argsort(appears)]  # in order of appearance, as in svm_group_classes
    k = len(known)
    members = [np.flatnonzero(labels == label) for label in known]
    pairs = [(i, j) for i in range(k) for j in range(i + 1, k)]
    # The size of the cache changes LIBSVM's time, but not its result.
    parameters = {**parameters, "cache_size": parameters["cache_size"] / max(1, min(threads, len(pairs)))}

    def solve(pair: tuple[int, int]) -> tuple[FloatArray, float]:
        """Return the coefficients of all rows of both classes, in that order, and rho."""
        i, j = pair
        chosen = np.concatenate([members[i], members[j]])
        signs = np.repeat([1.0, 2.0], [len(members[i]), len(members[j])])
        found = Problem(rows.take(chosen), signs, parameters, (), first_index).train()
        coef = np.where(signs == 1, 0.0, -0.0)  # alpha times +1 or -1; files show the sign
        coef[found.sv_indices] = found.sv_coef[0]
        return coef, float(found.rho[0])

    solved = map_in_threads(solve, pairs, threads)
    # Indexed by class, row of coefficients, and row of the class.
    dense = [np.zeros((k - 1, len(part))) for part in members]
    for (i, j), (coef, _) in zip(pairs, solved, strict=True):
        dense[i][j - 1], dense[j][i] = coef[: len(members[i])], coef[len(members[i]) :]
    used = [np.flatnonzero(part.any(axis=0)) for part in dense]
    return Solution(
        sv_indices=np.concatenate([m[u] for m, u in zip(members, used, strict=True)]),
        sv_coef=np.hstack([part[:, u] for part, u in zip(dense, used, strict=True)]),
        rho=np.array([rho for _, rho in solved]),
        label=known.astype(np.int64),
        nr_sv=np.array([len(u) for u in used], dtype=np.int64),
    )


@dataclass(frozen=True)
class TrainReport(Figures):
    rows: int = figure("Rows that were trained on.")
    features: int = figure("Features: the largest index.")
    svm_type: str = figure("LIBSVM's name of the type.")
    kernel: str = figure("The kernel's name.")
    gamma: float | None = figure("Gamma of the kernel; null where it has none.")
    labels: list[int] | None = figure("The model's labels, in its order; null except for classes.")
    functions: int = figure("Decision functions.")
    support_vectors: int = figure("Support vectors of the model.")

    def lines(self) -> list[str]:
        known = self.labels or []
        classes = f", {len(known)} class{'' if len(known) == 1 else 'es'}" if known else ""
        width = "" if self.gamma is None else f", gamma {self.gamma:.6g}"
        return [
            f"data         {count(self.rows, 'row')}, {count(self.features, 'feature')}{classes}",
            f"problem      {self.svm_type}, {self.kernel} kernel{width}",
            f"model        {count(self.support_vectors, 'support vector')}",
        ]


def run(inputs: Inputs, options: TrainOptions, setting: Setting) -> Outcome:
    data = inputs.rows("data")
    labels = data.labels
    if labels is None:
        if options.svm_type != "one_class":
            raise OptionError("`labels` are missing: pass them with the data, or pass a Dataset")
        labels = np.zeros(len(data.rows))
    warn_of_absent(options.weights, labels, data.name, setting)
    if options.folds is not None and (options.is_grid or options.scale_to):
        from svmfast.methods.train.grid import score_grid

        scores = score_grid(data.rows, labels, options, setting)
        best = scores.best
        remark_on_classes(best.quality, setting)
        if not setting.writes:
            return Outcome(None, scores)
        options = replace(options, gamma=best.gamma, C=best.regularization, folds=None)
        if setting.log is not None:
            setting.log("".join(f"{line}\n" for line in scores.lines()))
    if options.folds is not None:
        predicted = cross_validate(data.rows, labels, options.folds, options, log=setting.log)
        regression = options.svm_type in ("epsilon_svr", "nu_svr")
        folds = min(options.folds, len(labels))
        score = FoldScore(len(labels), folds, quality(predicted, labels, regression=regression))
        remark_on_classes(score.quality, setting)
        return Outcome(None, score)
    rows, learned = data.rows, None
    if options.scale_to is not None:
        learned = Scaling.learned(rows, options.scale_to, options.memory)
        rows = learned.apply(rows, memory=options.memory)
    model = train(rows, labels, options, threads=setting.threads, log=setting.log)
    # svm-train's file has eight digits, and the model in memory should equal the one in the file.
    sv = model.sv
    sv = Rows.trusted(sv.indptr, sv.indices, eight_digits(sv.values), sv.n_columns)
    model = replace(model, sv=sv)
    head, kernel = model.head, model.kernel
    if head.labels is not None and len(head.labels) == 1:
        only = f"all rows have label {head.labels[0]}: the model will always predict that"
        setting.note(f"{data.name}: {only}")
    report = TrainReport(
        rows=len(data.rows),
        features=data.rows.n_columns,
        svm_type=options.svm_type,
        kernel=kernel.kind,
        gamma=kernel.gamma if kernel.kind in ("rbf", "polynomial", "sigmoid") else None,
        labels=None if head.labels is None else [int(label) for label in head.labels],
        functions=head.n_functions,
        support_vectors=len(model.sv),
    )
    return Outcome(model, report, learned=learned)
