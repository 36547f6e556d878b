"""``svmfast predict``: a streaming svm-predict, with its arguments, options and output, for any model."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import click

from svmfast.api.verb_options import PredictionOptions
from svmfast.cli import options
from svmfast.cli.files import Input, Output, is_stdout
from svmfast.cli.flags import with_flags
from svmfast.cli.json_report import show
from svmfast.cli.listening import listening
from svmfast.cli.messages import lines, remark, remarks
from svmfast.cli.units import Typed
from svmfast.errors import OptionError
from svmfast.options import Reading
from svmfast.values import Names

if TYPE_CHECKING:
    from svmfast.api.predictor import Predictor

F = TypeVar("F", bound=Callable[..., Any])

#: Maximum number of printed remarks on single files; the JSON report has all.
MOST_NOTES = 10
#: Options for predicting many files.
OF_MANY = ("files_from", "suffix", "relative_to", "dask", "overwrite")

_SHARED = (
    options.options_from(PredictionOptions),
    options.quiet,
    options.as_json,
    click.option(
        "--keep",
        type=Typed(Names()),
        metavar="A,B,...",
        help="Copy these columns of DATA to OUTPUT; both must be tables.",
    ),
    click.option(
        "--out-dir",
        type=Output(role="folder", folder=True, shared=True),
        metavar="OUT",
        help="Predict many files, each to a file in the folder OUT; the arguments are then MODEL DATA...",
    ),
    click.option(
        "--files-from",
        type=Input(),
        metavar="LIST",
        help="With --out-dir: read more names of DATA from LIST, one per line or each followed by a NUL "
        "byte; '-' is standard input.",
    ),
    click.option(
        "--suffix",
        metavar="END",
        help="With --out-dir: append this to a file's name, unless it already ends with it (default: .out). "
        "A suffix such as .out.gz compresses the outputs.",
    ),
    click.option(
        "--relative-to",
        metavar="FOLDER",
        help="With --out-dir: a folder that contains all DATA; outputs keep their relative paths.",
    ),
    click.option(
        "--dask",
        metavar="ADDRESS",
        help="With --out-dir: predict on the workers of this Dask scheduler, or on N local ones (local:N).",
    ),
    click.option(
        "--overwrite",
        is_flag=True,
        help="With --out-dir: also predict the files that an earlier run has finished.",
    ),
    options.rows_format,
    options.jobs,
)


def _shared(function: F) -> F:
    """Add the options that both forms of the command have."""
    for add in reversed(_SHARED):
        function = add(function)
    return function


class _Predict(click.Command):
    """The two forms of the command: for one file, or for many with --out-dir."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.forms: list[click.Command] = []

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Parse the arguments by the form that they select."""
        words = args[: args.index("--")] if "--" in args else args
        if any(word == "--out-dir" or word.startswith("--out-dir=") for word in words):
            return self.forms[0].make_context(info_name, args, parent, **extra)
        return super().make_context(info_name, args, parent, **extra)

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Show both forms."""
        super().format_usage(ctx, formatter)
        formatter.write_usage(ctx.command_path, "[OPTIONS] --out-dir OUT MODEL DATA...", prefix="       ")


@click.command("predict", cls=_Predict)
@click.argument("data", type=Input("data"))
@click.argument("model", type=Input("model"))
@click.argument("output", type=Output(role="predictions"), default="-")
@_shared
def command(
    *,
    data: str,
    model: str,
    output: str,
    keep: tuple[str, ...] | None,
    out_dir: str | None,
    quiet: bool,
    as_json: bool,
    reading: Reading,
    jobs: int,
    **asked: Any,
) -> None:
    """Predict the rows of DATA with a MODEL of any kind and write OUTPUT (default: '-', standard output).

    Arguments, options, output and messages are those of svm-predict. The accuracy is printed on stdout if
    the predictions go to a file, else on stderr; --unlabelled prints none, and --json prints a report
    instead. Rows are predicted while the input is being read, in bounded memory. An output file appears
    complete or not at all.

    With --decision-values, --bound or --certify the first line names the columns: 'label', then for each
    pair of labels, in the order of the model's labels (1,2), (1,3), .., (2,3), .., a name like '1/-1': a
    positive value votes for the label before the slash. One-vs-rest models have a column for each label,
    '1/rest'; regression and one-class models have one, 'decision'. The bound's column is 'bound'. With -b 1
    they follow the probabilities. --certify adds 'certified' (yes, no; for regression without --tolerance
    '-') and 'error_bound', the largest over the row's decision values. With a LIBSVM model every label is
    certified, and the bound is that of the arithmetic that proved it, 0 if LIBSVM's own operations did.

    With --exact (or an embedded exact model) every label is the exact model's: proven by the certificate, or
    computed by the exact model. Values and probabilities of a certified row are the approximation's, those of
    the other rows the exact model's. A model made by cascade has its own fallback for rows close to a
    boundary: a statistical guarantee, not a proof.

    The label that is certified is the one that is printed: with -b 1 the most probable one, otherwise the
    winner of the vote. Probabilities are never certified (docs/certificate.md).

    DATA may be a table: Parquet, Arrow or CSV (docs/tables.md). An OUTPUT that ends in .parquet, .arrow,
    .feather, .csv or .tsv is a table too: 'label', then the columns above, then those of --keep.

    A model imported from scikit-learn may have names of its classes: --names writes them in place of LIBSVM's
    integer labels, in names of columns too. A table has them unless --no-names is given.

    With --out-dir the model is read once for all files. Each output, OUT/NAME.out, is complete or absent. Run
    again, even after it was killed, the command writes only outputs that are missing, or whose input (by size
    and modification time), model or options have changed. If files fail, they are named, the others are
    finished, and the exit status is 2.
    """
    for name in OF_MANY:
        if asked.pop(name):
            raise OptionError(f"`{name}` is only used with `out_dir`")
    from svmfast.api.predictor import Predictor
    from svmfast.cli.progress import progress_bar
    from svmfast.heap import reuse_memory

    reuse_memory()
    to_stdout = is_stdout(output)
    # A progress bar would mix with predictions on the same terminal.
    with progress_bar(quiet or (to_stdout and sys.stdout.isatty())) as progress:
        heard = listening(progress, quiet)
        predictor = Predictor(model, listener=heard, scale=reading.scale, **asked)
        reading = replace(reading, scale=None)

        def preamble() -> None:
            if not quiet:
                lines(predictor.preamble(), err=as_json or to_stdout)

        report = predictor.predict_file(
            data, output, reading=reading, threads=jobs, keep=keep or (), auc=as_json, on_start=preamble
        )
    if as_json:
        show(report.to_dict())
    elif not quiet:
        # To stdout only if the predictions go elsewhere.
        lines(report.lines(), err=to_stdout)
    _remark_on_labels(predictor, output, quiet)
    remarks(map(with_flags, report.remarks()), quiet)


@click.command("predict", help=command.help)
@click.argument("model", type=Input("model"))
@click.argument("data", type=Input("data"), nargs=-1)
@_shared
def _many(
    *,
    model: str,
    data: Sequence[str],
    keep: tuple[str, ...] | None,
    out_dir: str,
    files_from: str | None,
    suffix: str | None,
    relative_to: str | None,
    dask: str | None,
    overwrite: bool,
    quiet: bool,
    as_json: bool,
    reading: Reading,
    jobs: int,
    **asked: Any,
) -> int:
    from svmfast.api.many import SUFFIX, listed, predict_files
    from svmfast.cli.progress import progress_bar
    from svmfast.heap import reuse_memory

    reuse_memory()
    files = [*data, *([] if files_from is None else listed(files_from, memory=asked["memory"]))]
    if not files:
        raise OptionError("there is no DATA to predict; name files, or a list of them with `files_from`")
    ending = SUFFIX if suffix is None else suffix

    def start(predictor: Predictor) -> None:
        if not quiet:
            lines(predictor.preamble(), err=True)
        _remark_on_labels(predictor, files[0] + ending, quiet)

    with progress_bar(quiet) as progress:
        heard = listening(progress, quiet)
        heard.on_status = progress.note
        report = predict_files(
            model,
            files,
            out_dir,
            suffix=ending,
            relative_to=relative_to,
            overwrite=overwrite,
            dask=dask,
            reading=reading,
            keep=keep or (),
            threads=jobs,
            listener=heard,
            on_failure=lambda result: progress.line(with_flags(result.error or "")),
            on_start=start,
            **asked,
        )
    if as_json:
        show(report.to_dict())
    elif not quiet:
        lines(report.total.lines())
    notes = [note for one in report.files if one.counted is not None for note in one.counted["notes"]]
    remarks(notes[:MOST_NOTES], quiet)
    if len(notes) > MOST_NOTES:
        remark(f"and {len(notes) - MOST_NOTES:,} more such remarks", quiet)
    remarks(map(with_flags, report.total.remarks()), quiet)
    failed = report.number("failed")
    remark(report.sentence(), quiet and not failed)
    return 2 if failed else 0


command.forms.append(_many)


def _remark_on_labels(predictor: Predictor, output: str, quiet: bool) -> None:
    meaning = predictor.output.meaning_of_labels(output)
    if meaning is not None:
        remark(with_flags(meaning), quiet)
