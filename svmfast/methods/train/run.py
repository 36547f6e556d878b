"""A run of ``train``."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from svmfast.display import count
from svmfast.errors import OptionError
from svmfast.figures import Figures, figure
from svmfast.methods.common.problem import FoldScore, remark_on_classes, warn_of_absent
from svmfast.methods.method import Inputs, Outcome, Setting
from svmfast.methods.train import TrainOptions
from svmfast.methods.train.training import cross_validate, train
from svmfast.rows import Rows
from svmfast.solvers.arithmetic import eight_digits


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
    if options.folds is not None:
        predicted = cross_validate(data.rows, labels, options.folds, options, log=setting.log)
        regression = options.svm_type in ("epsilon_svr", "nu_svr")
        score = FoldScore.of(predicted, labels, options.folds, regression=regression)
        if score.quality.classes:  # stdout is svm-train's
            setting.note(replace(score, names=setting.names_of_labels()).classes())
        remark_on_classes(score.quality, setting)
        return Outcome(None, score)
    model = train(data.rows, labels, options, threads=setting.threads, log=setting.log)
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
    return Outcome(model, report)
