"""``svmfast info``: describe any model or data file."""

from __future__ import annotations

import click

from svmfast.cli import options
from svmfast.cli.files import Input
from svmfast.cli.json_report import show
from svmfast.cli.listening import listening
from svmfast.cli.messages import lines
from svmfast.options import Reading


@click.command("info")
@click.argument("file", type=Input())
@options.as_json
@options.quiet_but_report
@options.model_memory
@options.rows_format
@options.jobs
def command(file: str, as_json: bool, quiet: bool, memory: int, reading: Reading, jobs: int) -> None:
    """Describe FILE: a LIBSVM model, an svmfast model, or data.

    The kind is recognized by content. For a model, info prints the type, kernel and parameters, labels,
    names of classes and features, scaling, support vectors or arrays, provenance and size; a model inside
    another one, such as that of a cascade, follows indented. For data it prints rows, features, density,
    labels, ranges and the largest norm.
    """
    from svmfast.api.info import info
    from svmfast.cli.progress import progress_bar

    with progress_bar(quiet) as progress:
        found = info(
            file,
            memory=memory,
            threads=jobs,
            reading=reading,
            listener=listening(progress, quiet),
        )
    if as_json:
        show(found.to_dict())
    else:
        lines(found.lines())
