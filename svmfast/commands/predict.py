"""Predict the rows of DATA with a MODEL of any kind and write OUTPUT (default: '-', standard output).

Arguments, options, output and messages are those of svm-predict. The accuracy is printed on stdout if the
predictions go to a file, else on stderr; `unlabelled` prints none, and `as_json` prints a report instead.
Rows are predicted while the input is being read, in bounded memory. An output file appears complete or not at
all.

With `decision_values`, `bound` or `certify` the first line names the columns: 'label', then for each pair of
labels, in the order of the model's labels (1,2), (1,3), .., (2,3), .., a name like '1/-1': a positive value
votes for the label before the slash. One-vs-rest models have a column for each label, '1/rest'; regression
and one-class models have one, 'decision'. The bound's column is 'bound'. With `probability` they follow the
probabilities. `certify` adds 'certified' (yes, no; for regression without `tolerance` '-') and 'error_bound',
the largest over the row's decision values. With a LIBSVM model every label is certified, and the values are
LIBSVM's own, with a bound of 0.

With `exact` (or an embedded exact model) every label is the exact model's: proven by the certificate, or
computed by the exact model. Values of a certified row are the approximation's, those of the other rows the
exact model's. With `probability` the exact model answers every row. A model made by cascade has its own
fallback for rows close to a boundary: a statistical guarantee, not a proof.

DATA may be a table: Parquet, Arrow, CSV or JSON Lines, and a URI such as s3://bucket/rows.csv. An OUTPUT
that ends in .parquet, .arrow, .feather, .csv, .tsv or .jsonl is a table too: 'label', then the columns above,
then those of `keep`.

A model imported from scikit-learn may have names of its classes: `names` writes them in place of LIBSVM's
integer labels, in names of columns too. A table has them unless `no_names` is given.

With `out_dir` the model is read once for all files. Each output, OUT/NAME.out, is complete or absent, however
the run ends, so that `skip_existing` continues it. If files fail, they are named, the others are finished,
and the exit status is 2.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from svmfast.command import Verb
from svmfast.commands import listed
from svmfast.commands.functions import takes
from svmfast.errors import OptionError
from svmfast.options import (
    Bounded,
    Reading,
    argument,
    list_of_files,
    made,
    on_workers,
    option,
    options_of,
    switch,
)
from svmfast.values import Choice, InputFile, ModelFile, Names, OnOff, OutputFile, Real, Switch, Text, is_path

if TYPE_CHECKING:
    from svmfast.commands.predictor import Predictor
    from svmfast.models.answer import Answer
    from svmfast.models.requirements import Columns

#: Appended to an input's name.
SUFFIX = ".out"
#: Maximum number of printed remarks on single files; the JSON report has all.
MOST_NOTES = 10


@dataclass(frozen=True, kw_only=True)
class AnswerOptions(Bounded):
    """Options of a prediction of rows in memory."""

    probability: bool = option(
        False,
        OnOff(),
        "1: compute probabilities, if the model has them; the label is then the most probable one.",
        "-b",
    )
    bound: bool = switch("Add a column: 'inside' or 'outside' the model's validity bound.")
    certify: bool = switch(
        "Add two columns, and a first line with their names: whether the label is provably the exact "
        "model's (regression: the value within `tolerance` of it), and a bound on the error of the decision "
        "values. Not with `probability`.",
    )
    exact: Any = option(
        None,
        ModelFile(),
        "The exact model that was approximated; it answers the rows that are not certified, and all rows "
        "with `probability`.",
    )
    no_fallback: bool = switch(
        "Do not use the exact model embedded in MODEL, which otherwise answers like `exact`."
    )
    tolerance: float | None = option(
        None,
        Real(0),
        "A row is certified only if its error bound is at most this; regression needs it for `exact`. Values "
        "of a LIBSVM regression model may have this error, which is faster (default: no error).",
        metavar="ERROR",
    )


@dataclass(frozen=True, kw_only=True)
class PredictionOptions(AnswerOptions):
    """Options of a prediction: also what a file contains; an Answer has it anyway."""

    decision_values: bool = switch(
        "Add the decision values, in LIBSVM's pair order. An Answer in Python always has them.",
    )
    names: bool | None = option(
        None,
        Switch(),
        "Write the names of the classes in place of their labels, or never (default: in tables, if the model "
        "has names).",
        "--names/--no-names",
    )

    on_null: str = option(
        "refuse",
        Choice("refuse", "skip", "keep"),
        "What to do with rows of a table that lack a feature (empty field, null, nan) for which neither "
        "`missing` nor the model has a value: refuse the file, leave the row out of the output, or write "
        "nulls for it (OUTPUT must be a table). The report counts these rows; the exit status is 0.",
    )

    @property
    def columns(self) -> Columns:
        """What is asked of every answer."""
        from svmfast.models.requirements import Columns

        return Columns(self.probability, self.decision_values, self.bound, self.certify)


@dataclass(frozen=True, kw_only=True)
class Files:
    """What is read and written."""

    data: str = argument(InputFile("data"))
    model: str = argument(InputFile("model"))
    output: str = argument(OutputFile(role="predictions"), default="-", required=False)


@dataclass(frozen=True, kw_only=True)
class ManyFiles:
    """The arguments of the form for many files."""

    model: str = argument(InputFile("model"))
    data: tuple[str, ...] = argument(InputFile("data"), many=True, required=False)


@dataclass(frozen=True, kw_only=True)
class Places:
    """Columns that are kept, and what is read and written in the form for many files."""

    keep: tuple[str, ...] | None = option(
        None,
        Names(),
        "Copy these columns of DATA to OUTPUT; both must be tables.",
        metavar="A,B,...",
    )
    out_dir: str | None = option(
        None,
        OutputFile(role="folder", folder=True, shared=True),
        "Predict many files, each to a file in the folder OUT; the arguments are then MODEL DATA... A folder "
        "stands for its files, a quoted pattern ('in/*.csv', 's3://in/**/*.csv') for those it matches.",
        metavar="OUT",
    )
    files_from: str | None = list_of_files(only_with="out_dir")


@dataclass(frozen=True, kw_only=True)
class ManyOptions:
    """Options of a prediction of many files."""

    suffix: str | None = option(
        None,
        Text(),
        f"Append this to a file's name, unless it already ends with it (default: {SUFFIX}). A suffix such as "
        f"{SUFFIX}.gz compresses the outputs.",
        metavar="END",
        only_with="out_dir",
    )
    relative_to: str | None = option(
        None,
        Text(path=True),
        "A folder that contains all DATA; outputs keep their relative paths.",
        metavar="FOLDER",
        only_with="out_dir",
    )
    dask: str | None = on_workers("Predict", only_with="out_dir")
    skip_existing: bool = switch("Leave out the files whose outputs exist.", only_with="out_dir")


@takes(AnswerOptions)
def predict(
    model: Any,
    data: Any,
    *,
    threads: int | None = None,
    scale: Any = None,
    reading: Reading | None = None,
    **options: Any,
) -> Answer:
    """Predict rows with a model, by LIBSVM's rules.

    Parameters
    ----------
    model : Model, fitted estimator or path
        A model of any kind.
    data : (n, d) array_like, SciPy sparse matrix, Rows, Dataset, table in memory or path
        Column 0 is LIBSVM's index 1. A table is any object with ``__arrow_c_stream__`` (pandas, polars,
        pyarrow, DuckDB), a LazyFrame of polars, or a Dataset of pyarrow. Its features are the columns that
        the model names, or else all columns but the label, in order.
        An array has a column for each of the model's features: other numbers raise ArrayWidthError, a
        ValueError. Where a model has neither names nor a scaling by offset and factor, further columns count
        as in LIBSVM and cause a warning. Sparse matrices and Rows may have any width, since values that they
        do not store are zeros.
    {options}
    scale : Scaling or path, optional
        Scale every row first. The path is that of svm-scale's range file or of a model with a scaling. The
        scaling of `model` or `exact` is applied automatically.

    Returns
    -------
    Answer
        ``predicted``, ``names`` (of the classes, if the model has them), ``decisions``; with `probability`
        ``probabilities``, ``voted``, ``voted_names``; ``inside``, ``certified``, ``error_bounds``; ``notes``:
        warnings and remarks, such as that the columns of a table were taken in their order.

    Raises
    ------
    UnsupportedError
        The model lacks probabilities, a bound or a certificate, or has a precomputed kernel; or `exact` is
        not the model that `model` was made from.
    OptionError
        Two options exclude each other, or one needs another, as `exact` needs `tolerance` for regression.
    MemoryLimitError
        A model would need more than `memory`.
    ArrayWidthError
        An array has fewer columns than the model has features.
    """
    from svmfast.commands.predictor import Predictor

    predictor = Predictor(model, scale=scale, **vars(made(AnswerOptions, options)))
    answer = predictor.answer_file if is_path(data) else predictor.answer
    found = answer(data, reading=reading, threads=threads)
    heard = predictor.listener
    if not heard.notes and not heard.warnings:
        return found
    return replace(found, notes=(*heard.warnings, *heard.notes, *found.notes))


def run(front: Any, data: str, model: str, output: str, keep: Any = None, **options: Any) -> int:
    """Predict the rows of a file."""
    from svmfast.commands.predictor import Predictor
    from svmfast.formats.target import is_stdout

    _keep_memory()
    to_stdout, reading = is_stdout(output), front.reading
    with front.listening(output=output) as listener:
        own = {name: value for name, value in options.items() if name not in _OF_MANY}
        predictor = Predictor(model, listener=listener, scale=reading.scale, **own)
        report = predictor.predict_file(
            data,
            output,
            reading=replace(reading, scale=None),
            threads=front.threads,
            keep=keep or (),
            on_start=lambda: front.lines(predictor.preamble(), err=front.as_json or to_stdout, summary=True),
        )
    if front.as_json:
        front.show(report.to_dict())
    else:
        # To stdout only if the predictions go elsewhere.
        front.lines(report.lines(), err=to_stdout, summary=True)
    front.remarks(predictor.output.meaning_of_labels(output))
    front.remarks(report.remarks())
    return 0


def run_many(
    front: Any,
    out_dir: str,
    model: str,
    data: tuple[str, ...],
    files_from: str | None,
    suffix: str | None,
    keep: Any,
    **options: Any,
) -> int:
    """Predict the rows of many files; status 2 if some failed."""
    from svmfast.commands.file_names import listed
    from svmfast.commands.many import predict_files

    _keep_memory()
    ending = SUFFIX if suffix is None else suffix
    files = [*data, *([] if files_from is None else listed(files_from, memory=options["memory"]))]
    if not files:
        raise OptionError("there is no DATA to predict; name files, or a list of them with `files_from`")

    def start(predictor: Predictor) -> None:
        front.lines(predictor.preamble(), err=True, summary=True)
        front.remarks(predictor.output.meaning_of_labels(files[0] + ending))

    options |= {"suffix": ending, "keep": keep or (), "on_start": start}
    options["on_failure"] = lambda one: front.failed(one.error or "")
    report = front.call(predict_files, model, files, out_dir, **options)
    if front.as_json:
        front.show(report.to_dict())
    else:
        front.lines(report.total.lines(), summary=True)
    notes = [note for one in report.files for note in one.notes or ()]
    left = len(notes) - MOST_NOTES
    front.remarks([*notes[:MOST_NOTES], *([f"and {left:,} more such remarks"] if left > 0 else [])])
    front.remarks(report.total.remarks())
    front.remarks(report.heading(), always=report.files_failed > 0)
    return 2 if report.files_failed else 0


def _keep_memory() -> None:
    """Keep freed memory: else every block's pages are cleared anew, a third of a fast model's time.

    The setting is the whole process's, so only the program makes it.
    """
    from svmfast._core import keep_freed_memory

    keep_freed_memory()


_SHARED = (PredictionOptions, Places, ManyOptions)
#: Options that `run` does not pass on: those of the form for many files, and `keep`.
_OF_MANY = {one.name for one in options_of(Places, ManyOptions)}
COMMAND = Verb(
    **listed("predict"),
    description=__doc__,
    takes=(Files, *_SHARED),
    run=run,
    reports=(
        "svmfast.evaluation.prediction_report:PredictionReport",
        "svmfast.commands.many:FilesReport",
    ),
)
#: The form of the command with the option `out_dir`.
MANY = replace(COMMAND, takes=(ManyFiles, *_SHARED), run=run_many)
