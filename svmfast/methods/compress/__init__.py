"""A few moved support vectors in place of thousands."""

from __future__ import annotations

from svmfast.methods.compress.options import MOST_ROWS, CompressOptions
from svmfast.methods.method import Input, Method, Style

METHOD = Method(
    name="compress",
    summary="Replace many support vectors by a few that are moved.",
    description="""
        Replace the support vectors of MODEL by a few that are moved to where they stand for all.

        The result is a LIBSVM model. The report, on stderr, says how far it is from MODEL on rows held out.
        Exit status 1: nothing smaller than MODEL is as close, or as small, as was asked for; nothing was
        written.
        """,
    group="convert",
    inputs=(
        Input(name="model", content="exact model", role="exact"),
        Input(
            name="data",
            content="rows",
            flag="--data",
            help="Rows to stay close on. Labels only serve probabilities: 0 will do where there are none.",
            required=False,
            many=True,
            labels="used",
            most=MOST_ROWS,
        ),
    ),
    options=CompressOptions,
    run="svmfast.methods.compress.run:run",
    candidates="svmfast.methods.compress.run:candidates",
    style=Style("#D55E00", "s"),
)
