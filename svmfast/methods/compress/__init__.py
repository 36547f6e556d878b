"""compress: a few vectors with optimized positions in place of thousands of support vectors."""

from __future__ import annotations

from svmfast.methods.compress.options import MOST_ROWS, CompressOptions
from svmfast.methods.method import Input, Method

METHOD = Method(
    name="compress",
    summary="Replace many support vectors by a few optimized ones.",
    description="""
        Replace the support vectors of MODEL by a few vectors whose positions are optimized.

        The result is a LIBSVM model. The report, on stderr, shows how much it differs from MODEL on held-out
        rows. Exit status 1: no model smaller than MODEL meets the limits; nothing was written.
        """,
    group="convert",
    inputs=(
        Input(name="model", content="exact model", role="exact"),
        Input(
            name="data",
            content="rows",
            flag="--data",
            help="Rows on which to stay close to MODEL. Labels are used only for probabilities; rows without "
            "labels need `unlabelled`.",
            required=False,
            many=True,
            labels="used",
            most=MOST_ROWS,
            copies=3,
        ),
    ),
    options=CompressOptions,
    run="svmfast.methods.compress.run:run",
    candidates="svmfast.methods.compress.run:candidates",
    color="#D55E00",
    reports=(
        "svmfast.methods.compress.report:CompressReport",
        "svmfast.methods.compress.report:Nothing",
    ),
)
