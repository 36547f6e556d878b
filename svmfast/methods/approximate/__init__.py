"""approximate: polynomials, one or one per cell, in place of the support vectors."""

from __future__ import annotations

from svmfast.methods.approximate.options import MOST_ROWS, ApproximateOptions
from svmfast.methods.method import Input, Method

METHOD = Method(
    name="approximate",
    summary="Replace support vectors by a truncated expansion.",
    description="""
        Replace the support vectors of `model` by truncated expansions about one or more centers.

        A prediction then costs the same however many support vectors there were. Linear and polynomial
        kernels are polynomials already: they are converted without loss.

        The report begins with the number of labels that differ from those of `model` (regression: how much
        the values differ, root mean square, in percent of their standard deviation). It is measured on rows
        of `data` that were not used to choose anything, or without `data` on support vectors and points
        between them. Above 1% there is a warning.
        Above 10% nothing is written and the exit status is 1, unless `force` is given. The same applies with
        auto if the exact model is the better choice.
        """,
    group="convert",
    inputs=(
        Input(name="model", content="exact model", role="exact", help="The LIBSVM model."),
        Input(
            name="data",
            content="rows",
            flag="--data",
            help="Rows like those to predict: a quarter measures the result, the others choose cells and "
            "orders if these are to be chosen. Labels are ignored.",
            required=False,
            many=True,
            labels="ignored",
            most=MOST_ROWS,
            copies=3,
        ),
    ),
    options=ApproximateOptions,
    run="svmfast.methods.approximate.run:run",
    candidates="svmfast.methods.approximate.run:candidates",
    certifies=True,
    embeds="embed_exact",
    color="#0072B2",
    reports=("svmfast.methods.approximate.report:ApproximationReport",),
)
