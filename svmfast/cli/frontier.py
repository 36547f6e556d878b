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
from svmfast.cli.frontier_plan import METHODS, chosen_methods
from svmfast.cli.frontier_run import Folder, file_hash
from svmfast.cli.frontier_work import RACE_SECONDS, Work
from svmfast.cli.json_report import document, show
from svmfast.cli.messages import line, lines, remark
from svmfast.cli.options import DataFormat
from svmfast.cli.units import Bytes, Duration, Multiple, Share
from svmfast.errors import OptionError, UnsupportedError

if TYPE_CHECKING:
    from svmfast.evaluation.frontier_report import Frontier

NOTHING_MEETS = 1
#: Share of the time limit in which no model is made any more.
KEPT_FOR_TIMING = 0.05
#: Labels that may differ where no limit of any kind is asked for.
DEFAULT_DIFFERENCE = 0.5


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
    help="Rows to measure on (default: a part of TRAIN, held out).",
)
@click.option(
    "--max-diff",
    type=Share(zero=True, whole=True, percent=True),
    metavar="SHARE%",
    help="Recommend only what differs from EXACT on at most this share of the rows (regression: root mean "
    f"square difference over the spread).  [default: {DEFAULT_DIFFERENCE}%, unless another limit is given]",
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
    help="For all of it; the last part is kept for joining and timing, when each model predicts a few times.",
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
@options.quiet
@options.model_memory
@options.data_format
@options.jobs
def command(
    exact: str,
    train: str,
    test: str | None,
    max_diff: float | None,
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

    Each candidate is an svmfast command of its own; the one recommended is printed and makes the same bytes
    again. DIR gets the models, a copy of the recommended one under the name recommended (with EXACT inside,
    where EXACT answers what is not certified), report.md, report.json and a figure. Cheap candidates come
    first and share the time limit; the same command run again goes on where it stopped. Exit status 1:
    nothing that is faster or smaller than EXACT keeps to the limits.
    """
    deadline = time.monotonic() + time_limit - min(RACE_SECONDS, KEPT_FOR_TIMING * time_limit)
    names = chosen_methods(methods)
    folder = Folder(Path(output), {}, anew)
    _refuse_another_folder(folder.path)
    from svmfast.cli.inputs import open_model
    from svmfast.evaluation.pareto import Limits
    from svmfast.models.expansion import KernelExpansion

    if (max_diff, max_bytes, max_cost) == (None, None, None):
        max_diff = DEFAULT_DIFFERENCE
    limits = Limits(max_diff, max_bytes, max_cost)
    opened = open_model(exact, memory, quiet)
    if not isinstance(opened.model, KernelExpansion):
        raise UnsupportedError(f"{exact} is a {opened.model.kind} model already", "give the LIBSVM model")
    if opened.model.kernel.kind == "precomputed":
        raise UnsupportedError("models with a precomputed kernel cannot be converted")
    folder.identity = _identity(opened.identity.removeprefix("sha256:"), train, test, seed, jobs, how)
    work = Work(folder, exact, opened.model, train, test, seed, jobs, how, quiet, memory)
    found = work.go(names, limits, deadline)
    return _show(found, work, as_json=as_json, quiet=quiet)


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
    del values["version"]  # of the head
    values["test_held_out"] = values.pop("held_out")
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
        line(report.title(found))
        lines(report.as_text(found).splitlines())
        lines(report.verdict(found))
    if not quiet:
        line(f"svmfast: report, figure and models in {folder.path}", err=True)
    return 0 if found.recommended is not None else NOTHING_MEETS
