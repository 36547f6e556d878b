"""``svmfast predict``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from svmfast.command import Verb
from svmfast.commands import listed
from svmfast.options import MemoryOfModels, argument, option
from svmfast.values import InputFile, ModelFile, Names, OnOff, OutputFile, Real, Switch, Text

if TYPE_CHECKING:
    from svmfast.models.requirements import Columns

#: Appended to an input's name.
SUFFIX = ".out"


@dataclass(frozen=True, kw_only=True)
class AnswerOptions(MemoryOfModels):
    """Options of a prediction of rows in memory."""

    probability: bool = option(
        False,
        OnOff(),
        "1: compute probabilities, if the model has them; the label is then the most probable one.",
        "-b",
    )
    bound: bool = option(False, Switch(), "Add a column: 'inside' or 'outside' the model's validity bound.")
    certify: bool = option(
        False,
        Switch(),
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
    fallback: bool | None = option(
        None,
        Switch(),
        "Use the exact model embedded in MODEL in the same way (default: if there is one).",
        "--fallback/--no-fallback",
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

    decision_values: bool = option(
        False,
        Switch(),
        "Add the decision values, in LIBSVM's pair order. An Answer in Python always has them.",
    )
    names: bool | None = option(
        None,
        Switch(),
        "Write the names of the classes in place of their labels, or never (default: in tables, if the model "
        "has names).",
        "--names/--no-names",
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
    """The arguments of the other form, for many files."""

    model: str = argument(InputFile("model"))
    data: tuple[str, ...] = argument(InputFile("data"), many=True, required=False)


@dataclass(frozen=True, kw_only=True)
class Places:
    """What is kept, and what is read and written in the other form."""

    keep: tuple[str, ...] | None = option(
        None,
        Names(),
        "Copy these columns of DATA to OUTPUT; both must be tables.",
        metavar="A,B,...",
    )
    out_dir: str | None = option(
        None,
        OutputFile(role="folder", folder=True, shared=True),
        "Predict many files, each to a file in the folder OUT; the arguments are then MODEL DATA...",
        metavar="OUT",
    )
    files_from: str | None = option(
        None,
        InputFile(),
        "Read more names of DATA from LIST, one per line or each followed by a NUL byte; '-' is standard "
        "input.",
        metavar="LIST",
        only_with="out_dir",
    )


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
    dask: str | None = option(
        None,
        Text(),
        "Predict on the workers of this Dask scheduler, or on N local ones (local:N).",
        metavar="ADDRESS",
        only_with="out_dir",
    )
    overwrite: bool = option(
        False,
        Switch(),
        "Also predict the files that an earlier run has finished.",
        only_with="out_dir",
    )


_SHARED = (PredictionOptions, Places, ManyOptions)
COMMAND = Verb(
    **listed("predict"),
    description="""
        Predict the rows of DATA with a MODEL of any kind and write OUTPUT (default: '-', standard output).

        Arguments, options, output and messages are those of svm-predict. The accuracy is printed on stdout
        if the predictions go to a file, else on stderr; `unlabelled` prints none, and `as_json` prints a
        report instead. Rows are predicted while the input is being read, in bounded memory. An output file
        appears complete or not at all.

        With `decision_values`, `bound` or `certify` the first line names the columns: 'label', then for each
        pair of labels, in the order of the model's labels (1,2), (1,3), .., (2,3), .., a name like '1/-1': a
        positive value votes for the label before the slash. One-vs-rest models have a column for each label,
        '1/rest'; regression and one-class models have one, 'decision'. The bound's column is 'bound'. With
        `probability` they follow the probabilities. `certify` adds 'certified' (yes, no; for regression
        without `tolerance` '-') and 'error_bound', the largest over the row's decision values. With a LIBSVM
        model every label is certified, and the values are LIBSVM's own, with a bound of 0.

        With `exact` (or an embedded exact model) every label is the exact model's: proven by the
        certificate, or computed by the exact model. Values of a certified row are the approximation's, those
        of the other rows the exact model's. With `probability` the exact model answers every row. A model
        made by cascade has its own fallback for rows close to a boundary: a statistical guarantee, not a
        proof.

        DATA may be a table: Parquet, Arrow or CSV (docs/tables.md). An OUTPUT that ends in .parquet, .arrow,
        .feather, .csv or .tsv is a table too: 'label', then the columns above, then those of `keep`.

        A model imported from scikit-learn may have names of its classes: `names` writes them in place of
        LIBSVM's integer labels, in names of columns too. A table has them unless `no_names` is given.

        With `out_dir` the model is read once for all files. Each output, OUT/NAME.out, is complete or
        absent. Run again, even after it was killed, the command writes only outputs that are missing, or
        whose input (by size and modification time), model or options have changed. If files fail, they are
        named, the others are finished, and the exit status is 2.
        """,
    takes=(Files, *_SHARED),
)
#: The form of the command with the option `out_dir`.
MANY = replace(COMMAND, takes=(ManyFiles, *_SHARED))
