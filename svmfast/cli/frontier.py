"""``svmfast frontier``: every method on one model, side by side, and which to take."""

from __future__ import annotations

import importlib.util
import os
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from svmfast.cli import options
from svmfast.cli.files import Input, Output
from svmfast.cli.frontier_folder import Folder, file_hash
from svmfast.cli.frontier_plan import METHODS, chosen_methods
from svmfast.cli.json_report import document, show
from svmfast.cli.messages import line, lines, remark, warning
from svmfast.cli.options import DataFormat
from svmfast.cli.units import Bytes, Duration, Multiple, Share
from svmfast.errors import OptionError, UnsupportedError

if TYPE_CHECKING:
    from svmfast.cli.frontier_rows import RowSets
    from svmfast.cli.frontier_work import Work
    from svmfast.evaluation.frontier_measure import Measuring
    from svmfast.evaluation.frontier_report import Frontier, Origin
    from svmfast.evaluation.pareto import Limits
    from svmfast.formats.detect import LoadedModel
    from svmfast.models.expansion import KernelExpansion

NOTHING_MEETS = 1
#: Share of the time limit in which no model is made any more, and the most seconds that it is.
KEPT_FOR_TIMING, MOST_KEPT = 0.1, 30.0
#: Percent of the labels that may differ where no limit of any kind is asked for, and by which the error of a
#: regression may grow.
DEFAULT_DIFFERENCE, DEFAULT_LOSS = 0.5, 1.0
#: A warning is due where EXACT's skill on unseen rows is less than this share of that on its training rows.
SUSPICIOUS = 0.5


def _folder_after(exact: str) -> str:
    return f"{os.path.basename(exact).removesuffix('.model')}.frontier"


@click.command("frontier")
@click.argument("exact", type=Input("model", repeated=True))
@click.option(
    "--data",
    "train",
    type=Input("data", role="data", repeated=True),
    required=True,
    metavar="TRAIN",
    help="What EXACT was trained on.",
)
@click.option(
    "--test",
    type=Input("data", repeated=True),
    metavar="TEST",
    help="Rows that EXACT has not seen; half of them choose, half confirm (default: parts of TRAIN).",
)
@click.option(
    "--max-diff",
    type=Share(zero=True, whole=True, percent=True),
    metavar="SHARE%",
    help="Recommend only what differs from EXACT on at most this share of the rows (regression: root mean "
    f"square difference over the spread).  [default: {DEFAULT_DIFFERENCE}% of the labels, unless another "
    "limit is given]",
)
@click.option(
    "--max-loss",
    type=Share(zero=True, whole=True, percent=True),
    metavar="SHARE%",
    help="Recommend only what loses at most so many percentage points of accuracy (regression: whose mean "
    f"squared error is at most this share larger).  [default: {DEFAULT_LOSS:g}% for regression, unless "
    "another limit is given]",
)
@click.option(
    "--metric",
    type=click.Choice(["accuracy", "balanced-accuracy"]),
    default="accuracy",
    show_default=True,
    help="What --max-loss limits; balanced accuracy is the mean recall of the classes, and sees rare ones.",
)
@click.option("--max-bytes", type=Bytes(), metavar="32k", help="Recommend only files this small.")
@click.option(
    "--max-cost",
    type=Multiple(),
    metavar="20x",
    help="Recommend only what takes so many times a linear model's multiply-adds (counted).",
)
@click.option("--methods", metavar="A,B", help=f"Which methods to try.  [default: all: {', '.join(METHODS)}]")
@click.option(
    "--time-limit",
    type=Duration(),
    default="10m",
    show_default=True,
    metavar="10m",
    help="For all of it; the last part is kept for timing, when each model predicts several times.",
)
@click.option(
    "-o",
    "--output",
    type=Output(role="folder", after="exact", named=_folder_after, folder=True),
    metavar="DIR",
    help="Where models and reports go (default: name.frontier).",
)
@click.option(
    "--anew",
    is_flag=True,
    help="Where DIR holds a run on other inputs, or of another version, begin again instead of refusing.",
)
@options.seed
@options.as_json
@click.option("-q", "--quiet", is_flag=True, help="Print only the recommendation, or --json.")
@options.model_memory
@options.data_format
@options.jobs
def command(
    exact: str,
    train: str,
    test: str | None,
    max_diff: float | None,
    max_loss: float | None,
    metric: str,
    max_bytes: int | None,
    max_cost: float | None,
    methods: str | None,
    time_limit: float,
    output: str,
    anew: bool,
    seed: int,
    as_json: bool,
    quiet: bool,
    memory: int,
    how: DataFormat,
    jobs: int,
) -> int:
    """Try every method on EXACT, measure all on the same rows, and recommend one.

    Three sets of rows are kept apart: those that EXACT was trained on (TRAIN), those that choose a model, and
    those that confirm it, from which all printed figures come. With a limit on the answers (--max-diff,
    --max-loss) the fastest model within it is recommended, and of those within 10% of the fastest the closest
    to EXACT; under --max-bytes or --max-cost alone the closest that fits.

    Each candidate is an svmfast command of its own; the one recommended is printed and makes the same bytes
    again, on the same instruction set. DIR gets the models, a copy of the recommended one under the name
    recommended (with EXACT inside, where EXACT answers what is not certified), report.md, report.json and a
    figure. Cheap candidates come first and share the time limit; the same command run again goes on where it
    stopped. Exit status 1: nothing that is faster or smaller than EXACT keeps to the limits, or the
    confirming rows refute what was chosen.
    """
    begin = time.monotonic()
    names = chosen_methods(methods)
    folder = Folder(Path(output), {}, anew)
    _refuse_another_folder(folder.path)
    from svmfast.cli.frontier_rows import read_sets
    from svmfast.cli.frontier_work import Request, Work
    from svmfast.cli.inputs import check_width, open_model, warn_of_scale
    from svmfast.cli.progress import progress_bar

    opened = open_model(exact, memory, quiet)
    model = _convertible(opened, exact)
    regression = model.head.is_regression
    if metric != "accuracy" and (regression or max_loss is None):
        why = "EXACT is a regression" if regression else "give --max-loss, which it is about"
        raise OptionError(f"--metric {metric}: {why}")
    limits = _limits(
        max_diff, max_loss, max_bytes, max_cost, balanced=metric != "accuracy", regression=regression
    )
    folder.identity = _identity(opened.identity.removeprefix("sha256:"), train, test, seed, jobs, how)
    folder.check()
    kept = min(MOST_KEPT, KEPT_FOR_TIMING * time_limit)
    with progress_bar(quiet, single=True) as progress:
        sets = read_sets(
            train, test, folder.path, seed=seed, how=how, jobs=jobs, quiet=quiet, progress=progress
        )
        check_width(how, train, model, sets.sample.rows)
        check_width(how, test or train, model, sets.choosing.rows)
        if not warn_of_scale(train, model, sets.sample.rows) and test is not None:
            warn_of_scale(test, model, sets.choosing.rows)
        progress(0, None, "measuring exact")
        measuring, origin = _look_at(model, sets, train, test, jobs)
        request = Request(
            exact=exact,
            model=model,
            sha256=folder.identity["model"],
            methods=names,
            limits=limits,
            deadline=begin + time_limit - kept,
            end=begin + time_limit,
            seed=seed,
            jobs=jobs,
            memory=memory,
        )
        work = Work(request, folder, sets, measuring, origin, progress)
        found = work.go()
    return _show(found, work, as_json=as_json, quiet=quiet)


def _convertible(opened: LoadedModel, exact: str) -> KernelExpansion:
    from svmfast.models.expansion import KernelExpansion

    if not isinstance(opened.model, KernelExpansion):
        raise UnsupportedError(f"{exact} is a {opened.model.kind} model already", "give the LIBSVM model")
    if opened.model.kernel.kind == "precomputed":
        raise UnsupportedError("models with a precomputed kernel cannot be converted")
    return opened.model


def _limits(
    max_diff: float | None,
    max_loss: float | None,
    max_bytes: int | None,
    max_cost: float | None,
    *,
    balanced: bool,
    regression: bool,
) -> Limits:
    from svmfast.evaluation.pareto import Limits

    if (max_diff, max_loss, max_bytes, max_cost) == (None, None, None, None):
        max_diff, max_loss = (None, DEFAULT_LOSS) if regression else (DEFAULT_DIFFERENCE, None)
    return Limits(max_diff, max_loss, max_bytes, max_cost, balanced, regression)


def _look_at(
    model: KernelExpansion, sets: RowSets, train: str, test: str | None, jobs: int
) -> tuple[Measuring, Origin]:
    """Measure the exact model, and refuse data on which nothing can be measured.

    Raises
    ------
    UnsupportedError
        EXACT is no better than chance.
    """
    from svmfast.evaluation.frontier_measure import Measuring
    from svmfast.evaluation.frontier_report import Origin
    from svmfast.evaluation.skill import skill
    from svmfast.models.answer import answer

    measuring = Measuring(model, sets.choosing, sets.confirming, threads=jobs)
    regression = model.head.is_regression
    said = answer(model, sets.sample.rows, threads=jobs).predicted
    trained, unseen = skill(said, sets.sample.labels, regression=regression), measuring.exact_skill
    if model.head.svm_type != "one_class":
        sign = "" if regression else "%"
        for path, known in ((train, trained), (test or train, unseen)):
            if known.some:
                continue
            rows = f"{known.rows:,} rows of {path}"
            if regression:
                how = f"has a mean squared error of {known.found:.4g} on {rows}, no better than their mean"
            else:
                how = f"labels {known.found:.3g}% of {rows} right, no better than chance"
            raise UnsupportedError(
                f"EXACT {how} ({known.chance:.4g}{sign}): nothing can be measured on them",
                "give rows of the problem that EXACT was trained for",
            )
        if test is not None and unseen.share < SUSPICIOUS * trained.share:
            name = "mean squared error" if regression else "accuracy"
            figures = f"{unseen.found:.4g}{sign} for {trained.found:.4g}{sign}"
            warning(f"EXACT does far worse on TEST than on TRAIN: {name} {figures}")
    n = len(sets.choosing), len(sets.confirming)
    return measuring, Origin(train, test, sets.trained_rows, trained, unseen, *n)


def _refuse_another_folder(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise OptionError(f"'{folder}' is a file; give a folder with -o")
    known = folder / "inputs.json"
    if folder.is_dir() and not known.exists() and any(folder.iterdir()):
        raise OptionError(f"'{folder}' is not empty and no earlier run's; give another folder with -o")


def _identity(
    sha256: str | None, train: str, test: str | None, seed: int, jobs: int, how: DataFormat
) -> dict[str, Any]:
    """What models and measurements depend on."""
    from svmfast import __version__

    found = {"model": sha256, "train": file_hash(train), "test": None if test is None else file_hash(test)}
    for name, path in (("train", train), ("test", test)):
        if path is not None and found[name] is None:
            raise OptionError(f"{path}: No such file or directory")
    if found["train"] == found["test"]:
        raise OptionError(
            "TEST holds the rows of TRAIN, which EXACT has seen; give others, or leave --test out"
        )
    return {**found, "seed": seed, "threads": jobs, "reading": asdict(how), "version": __version__}


def _copy_recommended(found: Frontier, work: Work) -> None:
    """Put the recommended model where scripts find it whatever its name is; an older one must not stay."""
    place = work.folder.path / "recommended"
    if found.recommended is None:
        place.unlink(missing_ok=True)
    else:
        work.folder.write_bytes(place.name, work.content(found.recommended))


def _show(found: Frontier, work: Work, *, as_json: bool, quiet: bool) -> int:
    """Write the reports, print the table and what to do; return the exit status."""
    from svmfast.evaluation import frontier_report as report

    folder = work.folder
    values = report.as_dict(found)
    folder.write("report.json", document(values))
    figure = importlib.util.find_spec("matplotlib") is not None
    if not figure:
        if not quiet:
            remark("no figure: matplotlib is not installed; pip install 'svmfast[figures]', then run again")
    else:
        from svmfast.evaluation.frontier_figure import draw

        for kind, content in draw(found).items():
            folder.write_bytes(f"figure.{kind}", content)
    _copy_recommended(found, work)
    folder.write_bytes("report.md", report.as_markdown(found, figure=figure).encode())
    if as_json:
        show(values)
    else:
        if not quiet:
            lines([report.title(found), *report.origins(found), *report.as_text(found).splitlines()])
        lines(report.verdict(found))
    _warn(found)
    if not quiet:
        line(f"svmfast: report, figure and models in {folder.path}", err=True)
    return 0 if found.recommended is not None else NOTHING_MEETS


def _warn(found: Frontier) -> None:
    """Say also with --json and -q that the confirming rows do not confirm."""
    best = found.recommended
    if best is not None and found.limits.of_quality and not found.limits.kept_by(best.confirming):
        warning(f"{best.name} goes beyond the limits on the confirming rows: {found.limits}")
