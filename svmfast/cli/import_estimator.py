"""``svmfast import``: a fitted scikit-learn estimator as a model."""

from __future__ import annotations

import click

from svmfast.cli import options
from svmfast.cli.files import Input, Output, in_this_folder
from svmfast.cli.json_report import show
from svmfast.cli.messages import line, lines, remark


@click.command("import")
@click.argument("estimator", type=Input(repeated=True))
@click.option(
    "-o",
    "--output",
    type=Output("model", role="model", after="estimator", named=in_this_folder("model")),
    metavar="MODEL",
    help="The model to write (default: ESTIMATOR's name and .model, in the current folder).",
)
@click.option(
    "--trust-pickle",
    is_flag=True,
    help="Also load ESTIMATOR if it is a pickle or joblib file. Loading runs any code in such a file: use "
    "this only for files that you made yourself.",
)
@options.as_json
@options.quiet
@options.model_memory
def command(estimator: str, output: str, trust_pickle: bool, as_json: bool, quiet: bool, memory: int) -> None:
    """Convert a fitted scikit-learn ESTIMATOR, a file written by skops.io.dump, to a model.

    ESTIMATOR is an SVC, NuSVC, SVR, NuSVR or OneClassSVM, or an estimator of svmfast.sklearn, alone or after
    a StandardScaler, MinMaxScaler, MaxAbsScaler or RobustScaler in a Pipeline. MODEL gives the same labels,
    values and probabilities. A scikit-learn estimator without scalers whose classes are integers becomes a
    LIBSVM model; otherwise MODEL is an svmfast model that accepts the same rows as the pipeline.
    """
    from svmfast.api.estimators import from_sklearn
    from svmfast.api.info import info
    from svmfast.api.listener import Listener
    from svmfast.formats.detect import save_model

    listener = Listener(on_note=lambda text: remark(text, quiet))
    model = from_sklearn(estimator, trust_pickle=trust_pickle, memory=memory, listener=listener)
    size = save_model(model, output)
    found = info(model)
    if as_json:
        show({**found.to_dict(), "bytes": size})
    elif not quiet:
        lines(found.lines(), err=True)
        line(f"written      {output}, {size:,} bytes", err=True)
