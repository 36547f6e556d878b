"""`svmfast dcpred`: near-exact accuracy at ten to twenty times the cost of a linear model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from svmfast.cli import options
from svmfast.cli.files import Input, Output
from svmfast.cli.inputs import check_width, naming_lines, open_model, warn_of_scale
from svmfast.cli.messages import remarks
from svmfast.cli.options import DataFormat
from svmfast.cli.units import Bytes, Grid, Multiple, Whole
from svmfast.errors import OptionError

if TYPE_CHECKING:
    from svmfast.methods.dcpred.fit import DcpredSettings
    from svmfast.models.base import Model
    from svmfast.rows import Rows


@click.command(
    short_help="Train or convert to a tree of small expansions.", context_settings={"show_default": True}
)
@click.argument("data", type=Input("data"))
@click.argument("model", type=Output("model"), required=False)
@click.option(
    "--task", type=click.Choice(["svc", "ridge"]), help="Needed unless --from is given; ridge is regression."
)
@click.option(
    "--from",
    "source",
    type=Input("model", role="exact"),
    metavar="EXACT",
    help="Convert this model (any svm_type) on the rows of DATA, whose labels do not count.",
)
@click.option(
    "--fit",
    type=click.Choice(["auto", "values", "labels", "pairs"]),
    default="auto",
    help="--from: fit EXACT's decision values, or its labels, which drops probabilities (predict -b 1); "
    "auto: labels for three or more classes. "
    "pairs, also for --task svc: train LIBSVM on all rows (or take EXACT) and fit the values of its pairs of "
    "classes, every landmark in those of its class; one cluster, closest to the exact model.",
)
@click.option(
    "-g",
    "--gamma",
    "gammas",
    type=Grid(),
    metavar="G[,G...]",
    show_default="1/number of features; with --from that of EXACT",
    help="Width of the kernel exp(-gamma |u-v|^2) to begin with; tuning moves each leaf's.",
)
@click.option("-c", "costs", type=Grid(), metavar="C[,C...]", show_default="10", help="Cost C of svc.")
@click.option(
    "--lambda",
    "lambdas",
    type=Grid(),
    metavar="L[,L...]",
    show_default="0.1; with --from 0.001",
    help="Regularisation of ridge, and of fitting decision values.",
)
@click.option(
    "-v",
    "folds",
    type=Whole(2),
    metavar="N",
    help="Choose among several gammas, Cs or lambdas by N-fold cross validation; without MODEL, scores only.",
)
@click.option(
    "--cost",
    "budget",
    type=Multiple(),
    metavar="12x",
    help="Choose clusters, landmarks and pseudo landmarks so that a prediction takes at most so many times "
    "the multiply-adds of a linear model.",
)
@click.option(
    "--clusters",
    type=Whole(1),
    show_default="16; --fit pairs 1",
    metavar="N",
    help="Leaves of the tree.",
)
@click.option(
    "--levels",
    type=Whole(1, 2),
    show_default="2 above 64 clusters",
    help="Levels of the tree: one compares a row with every leaf, two with about twice their root.",
)
@click.option("--landmarks", type=Whole(1), show_default="32", metavar="M", help="Landmarks of each leaf.")
@click.option(
    "--pseudo",
    type=click.Choice(["none", "poly", "triangle"]),
    show_default="none",
    help="Pseudo landmarks: products of two kernel values, or kernels of bounds by the triangle inequality.",
)
@click.option(
    "--pseudo-landmarks",
    type=Whole(1),
    show_default="as many as landmarks",
    metavar="P",
    help="Pseudo landmarks of each leaf.",
)
@click.option(
    "--kmeans",
    type=click.Choice(["weighted", "plain"]),
    default="weighted",
    help="Landmarks by k-means, weighted with the squared coefficients of local models (or of EXACT) or not.",
)
@click.option(
    "--tune",
    type=Whole(0),
    show_default="150; --fit pairs 300",
    metavar="N",
    help="Iterations of moving landmarks by gradient; 0 leaves them where k-means puts them (the paper).",
)
@click.option("--memory", type=Bytes(), default=2 * 2**30, show_default="2GiB", help="Memory not to exceed.")
@options.seed
@options.as_json
@options.quiet
@options.rows_format
@options.jobs
def command(
    data: str,
    model: str | None,
    task: str | None,
    source: str | None,
    fit: str,
    as_json: bool,
    quiet: bool,
    how: DataFormat,
    jobs: int,
    **given: Any,
) -> None:
    """Train on DATA, or convert EXACT with its rows: a tree of clusters with a few landmarks each.

    This is DC-Pred++ with landmarks moved by gradient. A row goes to its nearest leaf and meets that leaf's
    landmarks alone; predict, compare and info take MODEL like any other. Several values of -g, -c or --lambda
    (0.1,1,10 or 2^-4,2^-2) make a grid for -v. There is no certificate; --from tells the error on rows held
    out.
    """
    if how.unlabelled and source is None:
        raise OptionError("labels are needed for --task; rows without them (--unlabelled) go with --from")
    _check(model, task, source, fit, given)
    from svmfast.cli.dcpred_report import show_fit, show_scores
    from svmfast.cli.progress import progress_bar
    from svmfast.formats.detect import model_bytes
    from svmfast.formats.svmlight import read_svmlight
    from svmfast.formats.target import write_atomic

    exact = None if source is None else open_model(source, given["memory"], quiet)
    if exact is not None and source is not None:
        from svmfast.cli.probabilities import warn_of_labels
        from svmfast.methods.dcpred.fit import what_is_fitted

        warn_of_labels(source, exact.model, what_is_fitted(exact.model.head, fit))
    with progress_bar(quiet) as progress:
        progress(0, None, "read")
        dataset = read_svmlight(data, threads=jobs, **how.reading())
    remarks((f"{dataset.path}: {note}" for note in dataset.notes.messages()), quiet)
    if exact is not None:
        check_width(how, dataset.path, exact.model, dataset.rows)
        warn_of_scale(dataset.path, exact.model, dataset.rows)
    settings = _settings(task, fit, dataset.rows, None if exact is None else exact.model, given)
    from svmfast.methods.dcpred import fit as method

    if model is None:
        with naming_lines(dataset.path, dataset.notes, dataset.first_line), progress_bar(quiet) as progress:
            scores = method.cross_validate_dcpred(
                str(task), dataset.rows, dataset.labels, settings, threads=jobs, progress=progress
            )
        show_scores(str(task), scores, int(given["folds"]), as_json)
        return
    # Opened first: a place that cannot be written must not cost a training run.
    with (
        write_atomic(model) as out,
        naming_lines(dataset.path, dataset.notes, dataset.first_line),
        progress_bar(quiet) as progress,
    ):
        extra: dict[str, Any] = {"threads": jobs, "progress": progress}
        if exact is not None:
            extra |= {"fit": fit, "provenance": {"source": exact.identity}}
            if given["costs"]:
                extra["cost"] = given["costs"][0]
            made, report = method.fit_exact(dataset.rows, exact.model, settings, **extra)
        else:
            train = method.fit_ridge if task == "ridge" else method.fit_svc
            if task == "svc":
                extra["fit"] = fit
            made, report = train(dataset.rows, dataset.labels, settings, **extra)
        out.write(model_bytes(made))
    if as_json or not quiet:
        how_told: dict[str, Any] = {"as_json": as_json, "quiet": quiet, "jobs": jobs}
        show_fit(report, made, dataset.rows, model, out.stored, source=source, **how_told)


def _check(
    model: str | None,
    task: str | None,
    source: str | None,
    fit: str,
    given: dict[str, Any],
) -> None:
    """Refuse options that do not fit together, before anything is read."""
    folds, costs, lambdas = given["folds"], given["costs"], given["lambdas"]
    if (source is None) == (task is None):
        raise OptionError("say what to do: --task svc or ridge, or --from EXACT, and not both")
    if source is None and (fit == "values" or (fit != "auto" and task != "svc")):
        raise OptionError(f"--fit {fit} belongs to --from")
    if source is not None and folds:
        raise OptionError("--from tells its error on held-out rows; leave out -v")
    if model is None and not folds:
        raise OptionError("give MODEL, where to write; without it only -v has something to do")
    if costs and (task == "ridge" or fit == "values" or (source and fit == "pairs")):
        raise OptionError("-c is the cost of classes; ridge and --fit values have --lambda")
    if lambdas and (task == "svc" or fit in ("labels", "pairs")):
        raise OptionError("--lambda belongs to ridge and to --fit values; classes have -c")
    if given["budget"] is not None:
        for name in ("clusters", "levels", "landmarks", "pseudo", "pseudo_landmarks"):
            if given[name] is not None:
                raise OptionError(f"--cost chooses this itself; leave out --{name.replace('_', '-')}")
        if model is None:
            raise OptionError("--cost chooses for a model; give MODEL")
    if given["pseudo_landmarks"] and given["pseudo"] in (None, "none"):
        raise OptionError("--pseudo-landmarks needs --pseudo poly or triangle")


def _settings(
    task: str | None, fit: str, rows: Rows, exact: Model | None, given: dict[str, Any]
) -> DcpredSettings:
    from svmfast.methods.dcpred.fit import DEFAULT_ITERATIONS, PAIRS_ITERATIONS, DcpredSettings
    from svmfast.models.expansion import KernelExpansion

    gammas = given["gammas"]
    if gammas is None:
        gammas = (1.0 / max(1, rows.n_columns),)
        if isinstance(exact, KernelExpansion):
            if exact.kernel.kind != "rbf":
                raise OptionError(f"the exact model's kernel is {exact.kernel.kind}; give a width with -g")
            gammas = (exact.kernel.gamma,)
    usual = PAIRS_ITERATIONS if fit == "pairs" else DEFAULT_ITERATIONS
    strengths = given["costs"] or (10.0,)
    if task != "svc":
        strengths = given["lambdas"] or ((0.1,) if exact is None else (0.001,))
    return DcpredSettings(
        gammas=gammas,
        strengths=strengths,
        clusters=given["clusters"] or (1 if fit == "pairs" else 16),
        levels=given["levels"] or 0,
        landmarks=given["landmarks"] or 32,
        pseudo=given["pseudo"] or "none",
        pseudo_landmarks=given["pseudo_landmarks"] or 0,
        kmeans=given["kmeans"],
        iterations=usual if given["tune"] is None else given["tune"],
        cost=given["budget"],
        folds=given["folds"],
        seed=given["seed"],
        memory=given["memory"],
    )
