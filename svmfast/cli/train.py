"""`svmfast train`: svm-train's options, LIBSVM's solver, our reader."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from svmfast.cli.files import Input, Output, in_this_folder
from svmfast.cli.inputs import naming_lines
from svmfast.cli.json_report import show
from svmfast.cli.messages import lines, raw, remarks, warning
from svmfast.cli.options import DataFormat, as_json, rows_format
from svmfast.cli.units import Real, Whole
from svmfast.errors import OptionError
from svmfast.threads import usable_cores

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from svmfast.evaluation.score import Score
    from svmfast.formats.svmlight import Dataset
    from svmfast.methods.train.training import TrainOptions
    from svmfast.models.expansion import KernelExpansion

F = TypeVar("F", bound=Callable[..., Any])


class ClassWeight(click.Option):
    """Shown the way it is typed: the label is part of the option's name."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        return "-wI NUMBER", self.help or ""


def warn_of_weights(weights: Sequence[tuple[int, float]], labels: ArrayLike, path: str) -> None:
    """Say which class weights have no row to act on, with -q too, as svm-train does."""
    from svmfast.methods.train.training import absent_weights

    for label in absent_weights(weights, labels):
        warning(f"-w{label}: no row of {path} has this label")


class SvmTrainCommand(click.Command):
    """Reads svm-train's command line, in which ``-w-1 2`` weighs the class labelled -1."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        takes_value = {
            name for p in self.params if isinstance(p, click.Option) and not p.is_flag for name in p.opts
        }
        flags = {name for p in self.params if isinstance(p, click.Option) and p.is_flag for name in p.opts}
        out: list[str] = []
        rest = list(args)
        if rest[-1:] == ["-h"] and "-h" in takes_value and "--" not in rest:
            # svm-train's option of that name needs a value behind it.
            rest[-1] = "--help"
        while rest:
            word = rest.pop(0)
            weight = re.fullmatch(r"-w([+-]?[0-9]+)", word)
            if weight:
                out += ["-w", weight[1], *rest[:1]]
                del rest[:1]
            elif word == "--":
                return super().parse_args(ctx, [*out, word, *rest])
            elif word in takes_value and word != "-w":
                out += [word, *rest[:1]]
                del rest[:1]
            elif word == "-w" or word.startswith("-w"):
                raise click.UsageError(f"'{word}': the label belongs to the name, as in -w1 5 -w-1 2", ctx)
            elif re.match("-[a-z].", word) and (word[:2] in takes_value or word[:2] in flags):
                # svm-train would drop what follows the letter and take the next word as the value.
                raise click.UsageError(
                    f"'{word}': write the value as a word of its own, {word[:2]} {word[2:]}", ctx
                )
            else:
                out.append(word)
        return super().parse_args(ctx, out)


def _number(letter: str, name: str, default: float, text: str) -> Callable[[F], F]:
    return click.option(f"-{letter}", name, type=Real(), default=default, metavar="NUMBER", help=text)


@click.command(
    cls=SvmTrainCommand,
    short_help="Train a model with LIBSVM's solver.",
    context_settings={"show_default": True},
)
@click.option(
    "-s", "svm_type", type=Whole(0, 4), default=0, metavar="TYPE",
    help="0 C-SVC, 1 nu-SVC, 2 one-class, 3 epsilon-SVR, 4 nu-SVR.",
)  # fmt: skip
@click.option(
    "-t", "kernel", type=Whole(0, 4), default=2, metavar="KERNEL",
    help="0 linear u'v, 1 polynomial (gamma u'v + coef0)^degree, 2 RBF exp(-gamma |u-v|^2), "
    "3 sigmoid tanh(gamma u'v + coef0), 4 precomputed (DATA holds kernel values, index 0 the serial number).",
)  # fmt: skip
@click.option("-d", "degree", type=Whole(0), default=3, metavar="N", help="Degree (polynomial kernel).")
@click.option(
    "-g",
    "gamma",
    type=Real(),
    default=0.0,
    metavar="NUMBER",
    show_default="1/number of features",
    help="Gamma.",
)
@_number("r", "coef0", 0.0, "Coef0 (polynomial and sigmoid kernels).")
@_number("c", "cost", 1.0, "Cost C (C-SVC, epsilon-SVR, nu-SVR).")
@_number("n", "nu", 0.5, "Nu (nu-SVC, one-class, nu-SVR).")
@_number("p", "p", 0.1, "Epsilon of the loss (epsilon-SVR).")
@_number("m", "cache_size", 100.0, "Kernel cache in megabytes.")
@_number("e", "eps", 0.001, "Tolerance of the termination criterion.")
@click.option(
    "-h",
    "shrinking",
    type=Whole(0, 1),
    default=1,
    metavar="0|1",
    help="Shrinking heuristics; as the last word -h is --help.",
)
@click.option(
    "-b", "probability", type=Whole(0, 1), default=0, metavar="0|1",
    help="Also fit what probability estimates need.",
)  # fmt: skip
@click.option(
    "-w", "weights", cls=ClassWeight, type=(Whole(-(2**31)), Real()), multiple=True,
    help="Multiply C by NUMBER for the class labelled I, as in -w1 5 -w-1 2 (C-SVC).",
)  # fmt: skip
@click.option(
    "-v", "folds", type=Whole(2), metavar="N",
    help="Cross-validate with N folds; prints the score and writes no model.",
)  # fmt: skip
@click.option("-q", "quiet", is_flag=True, help="Print nothing of the solver's work.")
@click.option("--compat", is_flag=True, help="Cut class labels such as 1.5 to integers, as svm-train does.")
@as_json
@rows_format
@click.argument("data", type=Input("data"))
@click.argument(
    "model", type=Output("model", after="data", named=in_this_folder("model"), unless="folds"), required=False
)
def command(
    svm_type: int,
    kernel: int,
    cost: float,
    folds: int | None,
    quiet: bool,
    compat: bool,
    as_json: bool,
    how: DataFormat,
    data: str,
    model: str | None,
    **parameters: Any,
) -> None:
    """Train a model on DATA and write it to MODEL, exactly as svm-train of the installed LIBSVM does.

    MODEL defaults to DATA's file name with .model added, in the current folder; '-' is standard output.
    """
    if folds and model:
        raise OptionError(f"cross validation (-v) writes no model; leave out '{model}'")
    if how.unlabelled and svm_type != 2:
        raise OptionError("labels are needed: --unlabelled is for one-class training (-s 2)")
    if how.unlabelled and folds:
        raise OptionError("cross validation (-v) needs labels to compare with; leave out --unlabelled")
    from svmfast.evaluation.score import Score
    from svmfast.formats.libsvm_model import libsvm_model_bytes
    from svmfast.formats.svmlight import read_svmlight
    from svmfast.formats.target import write_atomic
    from svmfast.methods.train.training import TrainOptions, cross_validate, train
    from svmfast.models.expansion import KERNELS
    from svmfast.models.head import SVM_TYPES

    for name in ("shrinking", "probability"):
        parameters[name] = bool(parameters[name])
    options = TrainOptions(svm_type=SVM_TYPES[svm_type], kernel=KERNELS[kernel], C=cost, **parameters)
    dataset = read_svmlight(
        data, precomputed=options.kernel == "precomputed", threads=usable_cores(), **how.reading()
    )
    remarks((f"{dataset.path}: {note}" for note in dataset.notes.messages()), quiet)
    warn_of_weights(options.weights, dataset.labels, dataset.path)

    def log(message: str) -> None:
        raw(message, err=as_json or model == "-")

    said = None if quiet else log
    with naming_lines(dataset.path, dataset.notes, dataset.first_line):
        if model is None:
            assert folds is not None, "without it the model has a name"
            targets = cross_validate(
                dataset.rows, dataset.labels, folds, options, truncate_labels=compat, log=said
            )
            score, regression = Score(), options.svm_type in ("epsilon_svr", "nu_svr")
            score.add(targets, dataset.labels, regression=regression)
            show_cross_validation(score, folds, regression=regression, as_json=as_json)
        else:
            # Opened first: a place that cannot be written must not cost a training run.
            with write_atomic(model) as out:
                trained = train(dataset.rows, dataset.labels, options, truncate_labels=compat, log=said)
                out.write(libsvm_model_bytes(trained))
            if trained.head.labels is not None and len(trained.head.labels) == 1:
                only = f"all rows have label {trained.head.labels[0]}: the model will always answer that"
                remarks([f"{dataset.path}: {only}"], quiet)
            if as_json:
                show(_values(trained, options, dataset, out.stored))


def _values(
    trained: KernelExpansion, options: TrainOptions, dataset: Dataset, n_bytes: int
) -> dict[str, object]:
    """Return the figures of the JSON report."""
    head, kernel = trained.head, trained.kernel
    return {
        "bytes": n_bytes,
        "rows": len(dataset.rows),
        "features": dataset.rows.n_columns,
        "svm_type": options.svm_type,
        "kernel": kernel.kind,
        "gamma": kernel.gamma if kernel.kind in ("rbf", "polynomial", "sigmoid") else None,
        "labels": None if head.labels is None else [int(label) for label in head.labels],
        "functions": head.n_functions,
        "support_vectors": len(trained.sv),
    }


def show_cross_validation(score: Score, folds: int, *, regression: bool, as_json: bool) -> None:
    """Print svm-train's last lines, which -q does not silence, or their figures as JSON."""
    if as_json:
        figures = (
            {"mse": score.mean_squared_error, "scc": score.squared_correlation}
            if regression
            else {"accuracy": score.accuracy}
        )
        show({"rows": score.total, "folds": folds, **figures})
    elif regression:
        lines(
            [
                f"Cross Validation Mean squared error = {score.mean_squared_error:g}",
                f"Cross Validation Squared correlation coefficient = {score.squared_correlation:g}",
            ]
        )
    else:
        # In svm-train's order of operations, which differs from svm-predict's.
        lines([f"Cross Validation Accuracy = {100.0 * score.correct / score.total:g}%"])
