"""``svmfast budget-train``: an SVM of a fixed size, trained in a few passes, in a file svm-predict loads."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from svmfast.cli import options
from svmfast.cli.budget_checkpoint import SVM_TYPES, checkpointing
from svmfast.cli.budget_report import report_lines, status_line
from svmfast.cli.files import Input, Output, in_this_folder
from svmfast.cli.inputs import naming_lines
from svmfast.cli.json_report import show
from svmfast.cli.messages import lines, remarks, warning
from svmfast.cli.options import DataFormat, data_format
from svmfast.cli.svm_train import ClassWeight, SvmTrainCommand
from svmfast.cli.units import MOST_64, Bytes, Real, Whole
from svmfast.errors import OptionError, UnsupportedError

if TYPE_CHECKING:
    from svmfast.cli.progress import ProgressBar
    from svmfast.formats.spool import Spool
    from svmfast.formats.svmlight import Notes
    from svmfast.methods.budget.options import BudgetTrainOptions, PassStatus
    from svmfast.methods.common.fold_score import FoldScore
    from svmfast.progress import Progress

_PARSED_AT_ONCE = 4 << 20


def _number(letter: str, name: str, default: float | None, text: str, **more: Any) -> Callable[..., Any]:
    return click.option(letter, name, type=Real(), default=default, metavar="NUMBER", help=text, **more)


@click.command(
    "budget-train",
    cls=SvmTrainCommand,
    short_help="Train an SVM of at most B support vectors in a few passes.",
    context_settings={"show_default": True},
)
@click.option(
    "-s", "svm_type", type=click.Choice(["0", "3"]), default="0", metavar="TYPE",
    help="0 C-SVC, 3 epsilon-SVR.",
)  # fmt: skip
@_number("-c", "cost", 1.0, "Cost C; lambda = 1/(n C) with n the rows of the decision function.")
@_number("--lambda", "lambda_", None, "The regularisation itself, instead of C.", show_default=False)
@_number("-g", "gamma", 0.0, "Gamma of the RBF kernel.", show_default="1/number of features")
@_number("-p", "p", 0.1, "Epsilon of the loss (epsilon-SVR).")
@click.option(
    "-B", "--budget", type=Whole(1), default=100, metavar="N",
    help="Most support vectors of a decision function.",
)  # fmt: skip
@click.option("--passes", type=Whole(1), default=10, metavar="N", help="Times every row is visited.")
@click.option(
    "--merge", "maintenance", default="lookup-wd",
    type=click.Choice(["lookup-wd", "lookup-h", "gss", "gss-precise", "remove", "project"]),
    help="How the budget is kept: merging decided by table (wd, or h), by golden section search (to 0.01, to "
    "1e-10), or the baselines that remove or project the smallest support vector.",
)  # fmt: skip
@click.option(
    "--keep", type=click.Choice(["refit", "best", "last"]), default="refit",
    help="What to return: coefficients refitted for the last iterate's vectors (or that iterate, where it "
    "does better), the best end-of-pass iterate, or the last iterate.",
)  # fmt: skip
@click.option(
    "--bias/--no-bias", default=None, show_default="the refit only",
    help="Carry a bias in every step, or have none at all.",
)  # fmt: skip
@click.option(
    "-w", "weights", cls=ClassWeight, type=(Whole(-(2**31)), Real()), multiple=True,
    help="Multiply C by NUMBER for the class labelled I, as in -w1 5 -w-1 2 (C-SVC).",
)  # fmt: skip
@click.option(
    "-b", "probability", type=Whole(0, 1), default=0, metavar="0|1",
    help="Hold out every fifth row (20,000 at most) and fit what probability estimates need on them.",
)  # fmt: skip
@click.option(
    "-v", "folds", type=Whole(2), metavar="N",
    help="Cross-validate with N folds; prints the score and writes no model.",
)  # fmt: skip
@click.option(
    "--validate", type=Input("data"), metavar="FILE",
    help="Held-out rows: choose what to return on them, and print their score after every pass.",
)  # fmt: skip
@click.option(
    "--checkpoint", type=Output(packed=False), metavar="FILE",
    help="Save the run's state here, and when it is interrupted.",
)  # fmt: skip
@click.option(
    "--checkpoint-every", type=Whole(1, MOST_64), default=1_000_000, metavar="N", help="In rows visited."
)
@click.option("--resume", is_flag=True, help="Go on from the checkpoint, if there is one yet.")
@click.option(
    "--memory", type=Bytes(), default="2G", metavar="SIZE",
    help="Memory to use. Rows beyond half of it go to a temporary file and come back in shuffled pieces.",
)  # fmt: skip
@click.option("--verbose", is_flag=True, help="Print a line on stderr for every pass.")
@options.seed
@options.as_json
@options.quiet
@data_format
@options.jobs
@click.argument("data", type=Input("data"))
@click.argument(
    "model", type=Output("model", after="data", named=in_this_folder("model"), unless="folds"), required=False
)
def command(
    svm_type: str,
    cost: float,
    probability: int,
    folds: int | None,
    validate: str | None,
    checkpoint: str | None,
    checkpoint_every: int,
    resume: bool,
    memory: int,
    verbose: bool,
    as_json: bool,
    quiet: bool,
    how: DataFormat,
    jobs: int,
    data: str,
    model: str | None,
    **parameters: Any,
) -> None:
    """Train an RBF SVM on DATA whose size is known beforehand, and write it to MODEL, a LIBSVM model.

    Stochastic gradient descent visits the rows one by one; whenever a decision function holds more than B
    support vectors, two are merged. Several classes are trained one against one. MODEL defaults to DATA's
    file name with .model added, in the current folder; '-' is standard output. The report goes to stderr.
    """
    _check_files(model, validate, folds, checkpoint, resume)

    from svmfast.cli.progress import progress_bar
    from svmfast.formats.libsvm_model import libsvm_model_bytes
    from svmfast.formats.svmlight import read_svmlight
    from svmfast.formats.target import write_atomic
    from svmfast.methods.budget.options import BudgetTrainOptions
    from svmfast.methods.budget.training import budget_train
    from svmfast.methods.common.class_weights import absent_weights

    source = click.get_current_context().get_parameter_source("cost")
    if parameters["lambda_"] is not None and source is not ParameterSource.DEFAULT:
        raise OptionError("-c and --lambda both set the regularisation; give one of them")
    given = BudgetTrainOptions(
        svm_type=SVM_TYPES[int(svm_type)], C=cost, probability=bool(probability), **parameters
    )
    with (
        progress_bar(quiet) as progress,
        _read(data, how, memory, jobs, bool(checkpoint), progress) as (spool, notes, first_line),
    ):
        remarks((f"{data}: {note}" for note in notes.messages()), quiet)
        for label in absent_weights(given.weights, spool.labels.values):
            warning(f"{data}: no row has label {label}, which has a weight")
        with naming_lines(data, notes, first_line):
            if model is None:
                assert folds is not None, "without it the model has a name"
                score = _cross_validate(spool, folds, given, jobs, progress)
                if as_json:
                    show(score.to_dict())
                else:
                    lines(score.lines())
                return
            held = None if validate is None else read_svmlight(validate, threads=jobs, **how.reading())
            validation = None if held is None else (held.rows, held.labels)
            # Opened first: a place that cannot be written must not cost a training run.
            with (
                write_atomic(model) as out,
                checkpointing(checkpoint, checkpoint_every, resume, given, spool, held, quiet) as checkpoints,
            ):
                trained, report = budget_train(
                    spool,
                    given,
                    validate=validation,
                    threads=jobs,
                    memory=memory,
                    progress=progress,
                    observe=_observer(progress, verbose),
                    checkpoints=checkpoints,
                )
                out.write(libsvm_model_bytes(trained))
        streamed = 0 if spool.in_memory else spool.n_sets
    if as_json:
        values = {"bytes": out.stored, "working_sets": streamed, **asdict(report)}
        del values["total_seconds"]  # of the head
        values["n_classes"] = values.pop("classes")
        values["rows_held_out"] = values.pop("held_out")
        values["merge_frequency"] = report.merge_frequency
        show(values)
    if not quiet:
        lines(report_lines(report, given, model, out.stored, streamed), err=True)


def _check_files(
    model: str | None,
    validate: str | None,
    folds: int | None,
    checkpoint: str | None,
    resume: bool,
) -> None:
    """Refuse combinations that would lose something or cannot work."""
    if folds and model:
        raise OptionError(f"cross validation (-v) writes no model; leave out '{model}'")
    if folds and (validate or checkpoint):
        raise OptionError("cross validation (-v) prints its score; --validate and --checkpoint do nothing")
    if checkpoint == "-":
        raise OptionError("--checkpoint needs a file: it is replaced as a whole again and again")
    if resume and not checkpoint:
        raise OptionError("--resume needs --checkpoint FILE: the file to go on from")


@contextlib.contextmanager
def _read(
    data: str, how: DataFormat, memory: int, jobs: int, digest: bool, progress: Progress
) -> Iterator[tuple[Spool, Notes, int]]:
    """Parse DATA once, into memory or a temporary file."""
    from svmfast.formats.spool import PARTS_PER_SET, Spool
    from svmfast.formats.svmlight import stream_svmlight

    # Parts of a fraction of a working set; a row's text is about as long as its numbers.
    piece = max(1 << 16, min(_PARSED_AT_ONCE, memory // 2 // PARTS_PER_SET))
    first_line = 0
    with Spool(memory, digest=digest) as spool:
        with stream_svmlight(data, chunk_bytes=piece, threads=jobs, **how.reading()) as stream:
            for block in stream:
                first_line = first_line or block.first_line
                spool.add(block.rows, block.labels)
                progress(stream.bytes_read, stream.bytes_total, "read")
            notes = stream.notes
        yield spool.finish(), notes, first_line


def _cross_validate(
    spool: Spool, folds: int, given: BudgetTrainOptions, jobs: int, progress: Progress
) -> FoldScore:
    from svmfast.methods.budget.training import cross_validate
    from svmfast.methods.common.fold_score import FoldScore
    from svmfast.solvers.training_data import expand

    if not spool.in_memory:
        raise UnsupportedError("cross validation needs all rows in memory", "allow more with --memory")
    whole = spool.working_set(0, 0, 0)
    rows = expand(whole.rows, spool.columns, spool.n_features)
    if not given.gamma:  # of the whole data, whatever features a fold lacks
        given = replace(given, gamma=1.0 / spool.n_features if spool.n_features else 1.0)
    predictions = cross_validate(rows, whole.labels, folds, given, threads=jobs, progress=progress)
    return FoldScore.of(predictions, whole.labels, folds, regression=not given.is_classifier)


def _observer(bar: ProgressBar, verbose: bool) -> Callable[[PassStatus], None] | None:
    """Return what shows the end of a pass; None where nobody looks, since a status has to be computed."""
    if not bar.shown and not verbose:
        return None

    def observe(status: PassStatus) -> None:
        bar.note("train", status_line(status))
        if verbose:
            bar.line(status_line(status))

    return observe
