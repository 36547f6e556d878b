"""``svmfast predict``: svm-predict's arguments, options, lines and bytes, for any model kind, streaming."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import click

from svmfast.cli import options
from svmfast.cli.files import Input, Output
from svmfast.cli.json_report import show
from svmfast.cli.messages import count, lines, remarks
from svmfast.cli.options import DataFormat
from svmfast.cli.units import Real
from svmfast.errors import OptionError

if TYPE_CHECKING:
    from svmfast.formats.detect import LoadedModel
    from svmfast.formats.svmlight import Dataset
    from svmfast.models.answer import Answer
    from svmfast.models.base import Model
    from svmfast.models.expansion import KernelExpansion
    from svmfast.rows import FloatArray, Rows

#: Numbers worked on at a time beside the data itself: memory stays bounded with many classes and short rows.
CELLS = 1 << 20


@click.command("predict")
@click.argument("data", type=Input("data"))
@click.argument("model", type=Input("model"))
@click.argument("output", type=Output(role="predictions"), default="-")
@click.option(
    "-b",
    "probability",
    type=click.Choice(["0", "1"]),
    default="0",
    help="1: probabilities, for models that have them; the label is then the most probable one.",
)
@options.quiet
@click.option("--decision-values", is_flag=True, help="Add the decision values, in LIBSVM's pair order.")
@click.option("--bound", is_flag=True, help="Add a column: inside or outside the model's validity bound.")
@click.option(
    "--certify",
    is_flag=True,
    help="Add two columns, and a first line that names them: is the label provably the exact model's, and "
    "the bound on the values' error.",
)
@click.option(
    "--exact",
    type=Input("model"),
    metavar="MODEL",
    help="Rows that are not certified are answered by this exact model, the one that was approximated.",
)
@click.option(
    "--fallback/--no-fallback",
    default=None,
    help="Do so with the exact model embedded in MODEL (default: if there is one).",
)
@click.option(
    "--tolerance",
    type=Real(0),
    metavar="ERROR",
    help="A row is certified only if its error bound is at most this; regression needs it for --exact.",
)
@click.option(
    "--assume-error",
    type=Real(0),
    metavar="ERROR",
    help="With --exact: take ERROR for the bound of MODEL's values, in place of a certificate if it has one. "
    "Statistical, not proven; compress and dcpred --from report such quantiles.",
)
@click.option(
    "--precision",
    type=click.Choice(["auto", "double"]),
    default="auto",
    show_default=True,
    help="auto: labels come from single precision where its error bound proves them. double: never. The "
    "output is the same.",
)
@options.model_memory
@options.allow_edited
@options.as_json
@options.rows_format
@options.jobs
def command(
    data: str,
    model: str,
    output: str,
    probability: str,
    quiet: bool,
    decision_values: bool,
    bound: bool,
    certify: bool,
    exact: str | None,
    fallback: bool | None,
    tolerance: float | None,
    assume_error: float | None,
    precision: str,
    memory: int,
    allow_edited: bool,
    as_json: bool,
    how: DataFormat,
    jobs: int,
) -> None:
    """Predict the rows of DATA with MODEL, of any kind, into OUTPUT (default: '-', standard output).

    Arguments, options, output and messages are those of svm-predict. The accuracy is printed on stdout when
    the predictions go to a file, else on stderr; with --unlabelled there is none, with --json a report takes
    its place. Rows are predicted while the input is still being read, in bounded memory. A file appears
    complete or not at all.

    With --decision-values, --bound or --certify the first line names the columns: 'label', then for each
    pair of labels, in the order of the model's labels (1,2), (1,3), .., (2,3), .., a name like '1/-1': a
    positive value votes for the label before the stroke. One-vs-rest models have a column for each label,
    '1/rest'; regression and one-class have one, 'decision'. The bound's column is 'bound'. With -b 1 they
    follow the probabilities. --certify adds 'certified' (yes, no; for regression without --tolerance '-')
    and 'error_bound', the largest over the row's decision values.

    With --exact (or an embedded exact model) every label is the exact model's: proven by the certificate, or
    its own answer. The values printed beside a certified label are the approximation's. A model made by
    cascade falls back by itself too, where its fast half is not sure: a statistical guarantee, no proof.
    """
    from svmfast.cli.inputs import open_model, say_scale
    from svmfast.formats.target import is_stdout
    from svmfast.models.answer import require

    opened = open_model(model, memory, quiet, allow_edited=allow_edited)
    loaded = opened.model
    wanted = _Wanted(probability == "1", decision_values, bound, certify, tolerance)
    wanted.single_precision = precision == "auto"
    wanted.exact = _exact_model(opened, exact, fallback, memory, quiet, proven=assume_error is None)
    if assume_error is not None:
        loaded = _assume(loaded, wanted, assume_error)
    if wanted.exact is not None and loaded.head.is_regression and tolerance is None:
        raise OptionError("regression has no label to certify; give --tolerance, the largest error to accept")
    other_values = wanted.exact is not None and not wanted.exact.head.same_functions(loaded.head)
    if decision_values and other_values:
        raise OptionError(
            "--decision-values: MODEL and --exact have values of other classes or pairs of classes; "
            "leave one of the options out"
        )
    if tolerance is not None and not certify and wanted.exact is None:
        raise OptionError("--tolerance goes with --certify or --exact")
    require(loaded, probability=wanted.probability, bound=bound, certify=certify, exact=wanted.exact)
    tally = _Tally(loaded, data, how)
    _run(loaded, wanted, tally, data, output, how, quiet, jobs, as_json)
    say_scale(data, tally.scale)
    if as_json:
        show(tally.values(wanted))
    elif not quiet:
        # On stdout only where it cannot get between the predictions.
        lines(tally.summary(), err=is_stdout(output))
    remarks(tally.remarks(wanted), quiet)


class _Wanted:
    """What was asked for: columns, and who answers."""

    def __init__(
        self, probability: bool, decision_values: bool, bound: bool, certify: bool, tolerance: float | None
    ) -> None:
        self.probability, self.decision_values, self.bound = probability, decision_values, bound
        self.certify, self.tolerance = certify, tolerance
        self.single_precision = True
        self.exact: KernelExpansion | None = None


def _exact_model(
    opened: LoadedModel, path: str | None, fallback: bool | None, memory: int, quiet: bool, *, proven: bool
) -> KernelExpansion | None:
    from svmfast.cli.inputs import open_model
    from svmfast.models.certified import bounds_its_error, check_exact, check_same_labels, check_source

    model = opened.model
    embedded = model.embedded_exact if bounds_its_error(model) else None
    if path is not None:
        if fallback is False:
            raise OptionError("--exact and --no-fallback exclude each other")
        exact = open_model(path, memory, quiet)
        given = (check_exact if proven else check_same_labels)(model, exact.model)
        # An assumed error is the user's word for any pair of models; a proof is of one file.
        if proven:
            check_source(model, opened.provenance.get("source"), exact.is_source)
        return given
    if fallback and embedded is None:
        if getattr(model, "embedded_exact", None) is not None:
            raise OptionError(
                "--fallback: MODEL has no certificate that tells which rows need its exact model"
            )
        raise OptionError("--fallback: MODEL has no exact model embedded; name one with --exact")
    return None if fallback is False else embedded


def _assume(model: Model, wanted: _Wanted, error: float) -> Model:
    from svmfast.models.cascade import CascadeModel

    if wanted.exact is None:
        raise OptionError("--assume-error decides which rows go to --exact MODEL; name that model")
    if wanted.certify:
        raise OptionError("--certify prints proofs; an assumed error (--assume-error) proves nothing")
    if isinstance(model, CascadeModel):
        model = model.fast
    return CascadeModel(model, wanted.exact, error)


def _run(
    model: Model,
    wanted: _Wanted,
    tally: _Tally,
    data: str,
    output: str,
    how: DataFormat,
    quiet: bool,
    jobs: int,
    as_json: bool,
) -> None:
    from svmfast.cli.prefetch import prefetch
    from svmfast.cli.progress import progress_bar
    from svmfast.formats import predictions
    from svmfast.formats.svmlight import stream_svmlight
    from svmfast.formats.target import is_stdout, write_atomic

    # A bar would get between predictions on the same terminal.
    no_bar = quiet or (is_stdout(output) and sys.stdout.isatty())
    with stream_svmlight(data, threads=jobs, **how.reading()) as stream, progress_bar(no_bar) as progress:
        texts = _texts(model, wanted, tally, prefetch(stream), jobs)
        # The first block is read and answered before the output is touched.
        first = next(texts, b"")
        if not quiet:
            lines(_preamble(model, wanted.probability), err=as_json or is_stdout(output))
        with write_atomic(output) as out:
            out.write(
                predictions.header(
                    model.head,
                    probability=wanted.probability,
                    decision_values=wanted.decision_values,
                    bound=wanted.bound,
                    certify=wanted.certify,
                )
            )
            out.write(first)
            out.flush()
            for block in texts:
                out.write(block)
                out.flush()
                progress(stream.bytes_read, stream.bytes_total, "predict")
    tally.notes = [f"{stream.path}: {note}" for note in stream.notes.messages()]


def _texts(
    model: Model, wanted: _Wanted, tally: _Tally, blocks: Iterable[Dataset], jobs: int
) -> Iterator[bytes]:
    from svmfast.formats import predictions
    from svmfast.models.answer import answer

    head = model.head
    # The few values a label can have; regression has no such list.
    labels = None if head.is_regression else (1.0, -1.0) if head.labels is None else head.labels.tolist()
    # Coupling probabilities takes a k x k matrix a row.
    cells_a_row = 1 + head.n_functions + (head.n_classes**2 if wanted.probability else 0)
    size = max(1, CELLS // cells_a_row)
    for block in blocks:
        tally.check(block.rows)
        for start in range(0, len(block), size):
            rows, targets = block.rows[start : start + size], block.labels[start : start + size]
            said = answer(
                model,
                rows,
                probability=wanted.probability,
                bound=wanted.bound,
                certify=wanted.certify,
                exact=wanted.exact,
                single_precision=wanted.single_precision,
                tolerance=wanted.tolerance,
                threads=jobs,
            )
            tally.add(rows, targets, said)
            yield predictions.lines(
                said.predicted,
                labels=labels,
                probabilities=said.probabilities,
                decisions=said.decisions if wanted.decision_values else None,
                inside=said.inside,
                certified=said.certified if wanted.certify else None,
                error_bounds=said.error_bounds if wanted.certify else None,
            )


def _preamble(model: Model, probability: bool) -> list[str]:
    """What svm-predict says before it predicts."""
    head = model.head
    if not probability:
        if head.has_probability:
            return ["Model supports probability estimates, but disabled in prediction."]
    elif head.is_regression and head.prob_a is not None:
        return [
            "Prob. model for test data: target value = predicted value + z,",
            f"z: Laplace distribution e^(-|z|/sigma)/(2sigma),sigma={head.prob_a[0]:g}",
        ]
    return []


class _Tally:
    """What is counted while blocks go by, and said of them at the end."""

    def __init__(self, model: Model, path: str, how: DataFormat) -> None:
        from svmfast.evaluation.scale import ScaleCheck
        from svmfast.score import Score

        self.model = model
        self.score = Score()
        self.scale = ScaleCheck(model)
        self.rows = 0
        self.path, self.how, self.unlabelled = path, how, how.unlabelled
        self.differing_from_vote = 0
        self.outside = 0
        self.certified: int | None = None
        self.rows_with_unknown = 0
        self.largest_column = -1
        self.notes: list[str] = []

    def check(self, rows: Rows) -> None:
        """Meet the first rows with the model's width; all rows of a table have the same."""
        from svmfast.cli.inputs import check_width

        if not self.rows:
            check_width(self.how, self.path, self.model, rows)
        self.scale.add(rows)

    def add(self, rows: Rows, targets: FloatArray, said: Answer) -> None:
        self.rows += len(rows)
        if not self.unlabelled:
            self.score.add(said.predicted, targets, regression=self.model.head.is_regression)
        self.differing_from_vote += said.differing_from_vote
        if said.inside is not None:
            self.outside += len(said) - int(said.inside.sum())
        if said.certified is not None:
            self.certified = (self.certified or 0) + int(said.certified.sum())
        self._count_unknown(rows)

    def _count_unknown(self, rows: Rows) -> None:
        known = self.model.n_features
        if rows.n_columns <= known or not rows.nnz:
            return
        import numpy as np

        # Columns ascend within a row, so its last one tells; rows without entries have none.
        filled = rows.indptr[1:] > rows.indptr[:-1]
        last = rows.indices[rows.indptr[1:][filled] - 1]
        self.rows_with_unknown += int(np.count_nonzero(last >= known))
        self.largest_column = max(self.largest_column, int(last.max()))

    def summary(self) -> list[str]:
        """svm-predict's last lines; none where there are no labels to judge by."""
        if self.unlabelled:
            return []
        score = self.score
        if self.model.head.is_regression:
            return [
                f"Mean squared error = {score.mean_squared_error:g} (regression)",
                f"Squared correlation coefficient = {score.squared_correlation:g} (regression)",
            ]
        return [f"Accuracy = {score.accuracy:g}% ({score.correct}/{score.total}) (classification)"]

    def values(self, wanted: _Wanted) -> dict[str, object]:
        """Return the figures of the JSON report."""
        from svmfast.score import percent

        score, model = self.score, self.model
        found: dict[str, object] = {"rows": self.rows, "kind": model.kind, "svm_type": model.head.svm_type}
        if self.unlabelled:
            pass  # no labels to judge by
        elif model.head.is_regression:
            found |= {"mse": score.mean_squared_error, "scc": score.squared_correlation}
        else:
            found |= {"correct": score.correct, "accuracy": score.accuracy}
        outside = self.outside if wanted.bound else None
        certified = self.certified
        share = None if certified is None or not self.rows else percent(certified, self.rows)
        return {
            **found,
            "certified": certified,
            "certified_percent": share,
            "outside_bound": outside,
            "rows_with_unknown_features": self.rows_with_unknown,
            "differing_from_vote": self.differing_from_vote,
        }

    def remarks(self, wanted: _Wanted) -> Iterator[str]:
        """What svm-predict does not say."""
        from svmfast.models.cascade import CascadeModel
        from svmfast.score import percent

        yield from self.notes
        rows = self.rows
        if self.unlabelled:
            yield f"{count(rows, 'row')} predicted; without labels there is no score"
        if self.rows_with_unknown:
            yield (
                f"{self.rows_with_unknown:,} of {count(rows, 'row')} have features the model does not know "
                f"(index up to {self.largest_column + 1}, the model knows {self.model.n_features}); "
                "as in LIBSVM they count in a row's norm and nowhere else"
            )
        if self.differing_from_vote:
            yield (
                f"{self.differing_from_vote:,} of {count(rows, 'row')}: the most probable label (-b 1) "
                "is not the label of the vote (-b 0)"
            )
        if wanted.bound:
            yield f"{self.outside:,} of {count(rows, 'row')} outside the validity bound"
        if self.certified is not None:
            rest = rows - self.certified
            tail = f"; {rest:,} answered by the exact model" if wanted.exact is not None else ""
            share = f"{percent(self.certified, rows):.4g}%" if rows else "-"
            if isinstance(self.model, CascadeModel):
                yield (
                    f"{self.certified:,} of {count(rows, 'row')} beyond an assumed error of "
                    f"{self.model.error:g} ({share}; statistical, not proven){tail}"
                )
            else:
                yield f"{self.certified:,} of {count(rows, 'row')} certified ({share}){tail}"
