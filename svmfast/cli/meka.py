"""``svmfast meka``: ridge regression, SVM and kernel error on a block-wise low-rank kernel matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from svmfast.cli import options
from svmfast.cli.files import Input, Output
from svmfast.cli.inputs import check_width, naming_lines, open_model, warn_of_scale
from svmfast.cli.meka_report import show_error, show_fit, show_scores
from svmfast.cli.messages import remark, remarks
from svmfast.cli.options import DataFormat
from svmfast.cli.units import Bytes, Grid, Real, Whole
from svmfast.errors import OptionError

if TYPE_CHECKING:
    from svmfast.methods.meka.fit import MekaSettings
    from svmfast.models.base import Model
    from svmfast.rows import Rows


@click.command("meka", context_settings={"show_default": True})
@click.argument("data", type=Input("data"))
@click.argument("model", type=Output("model"), required=False)
@click.option(
    "--task",
    type=click.Choice(["ridge", "svc", "error"]),
    help="ridge: kernel ridge regression; svc: support vector classification; error: how far the "
    "approximated kernel matrix is from the exact one. Needed unless --from is given.",
)
@click.option(
    "--from",
    "source",
    type=Input("model", role="exact"),
    metavar="EXACT",
    help="Fit the decision values of this model (any svm_type) on DATA, whose labels do not count.",
)
@click.option(
    "--kernel", type=click.Choice(["gaussian", "laplacian"]), default="gaussian", help="The kernel."
)
@click.option(
    "-g",
    "--gamma",
    "gammas",
    type=Grid(),
    metavar="G[,G...]",
    show_default="1/number of features; with --from that of EXACT",
    help="Width of the kernel exp(-gamma |u-v|^2), laplacian exp(-gamma |u-v|_1).",
)
@click.option(
    "--lambda",
    "lambdas",
    type=Grid(),
    metavar="L[,L...]",
    show_default="0.1; with --from chosen on held-out rows",
    help="Regularisation of ridge.",
)
@click.option("-c", "costs", type=Grid(), metavar="C[,C...]", show_default="1", help="Cost C of svc.")
@click.option(
    "-v",
    "folds",
    type=Whole(2),
    metavar="N",
    help="Choose among several gammas, lambdas or Cs by N-fold cross validation; without MODEL, scores only.",
)
@click.option("--clusters", type=Whole(1), default=10, metavar="N", help="Clusters of the rows.")
@click.option(
    "--rank",
    type=Whole(1),
    metavar="K",
    show_default="128; with --from 256",
    help="Rank of each cluster's block.",
)
@click.option(
    "--landmarks",
    type=Whole(1),
    metavar="M",
    show_default="twice the rank; with --from and equal ranks the rank",
    help="Sampled columns of each cluster's block; the cost of a prediction.",
)
@click.option(
    "--rho",
    type=Real(0),
    default=4.0,
    metavar="R",
    help="(1 + R) K rows of each cluster are sampled for the links between clusters.",
)
@click.option(
    "--eps",
    type=Real(0, 1, below=True),
    default=0.0,
    metavar="E",
    help="No link between clusters whose centres have a kernel value of at most E.",
)
@click.option(
    "--strategy",
    type=click.Choice(["equal", "size", "eigen"]),
    default="equal",
    help="Spread ranks over clusters equally, by size, or by eigenvalues.",
)
@click.option(
    "--psd",
    type=click.Choice(["clip", "shift", "none"]),
    default="clip",
    help="Make the approximation positive semidefinite: clip negative eigenvalues, shift all, or leave it.",
)
@click.option(
    "--block-only",
    is_flag=True,
    help="Exact blocks within clusters and nothing between them (BKA); svc: one LIBSVM model per cluster.",
)
@click.option("--compare", is_flag=True, help="error: other approximations beside it, at equal memory.")
@click.option(
    "--sample",
    type=Whole(2),
    default=20_000,
    metavar="N",
    help="error: rows on which the matrices are compared.",
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
    kernel: str,
    gammas: tuple[float, ...] | None,
    lambdas: tuple[float, ...] | None,
    costs: tuple[float, ...] | None,
    folds: int | None,
    compare: bool,
    sample: int,
    as_json: bool,
    quiet: bool,
    how: DataFormat,
    jobs: int,
    **sizes: Any,
) -> None:
    """Approximate the kernel matrix of DATA by low-rank blocks, and train on it or tell its error.

    Rows are clustered; blocks within clusters are approximated by the Nystrom method, those between them by
    small links in the same bases. The trained MODEL predicts by the nearest centre and that cluster's
    landmarks; predict, compare and info take it like any other. Several values of -g, --lambda or -c
    (0.1,1,10 or 2^-4,2^-2) make a grid for -v.
    """
    if how.unlabelled and source is None and task != "error":
        raise OptionError(
            "labels are needed to train; rows without them (--unlabelled) go with --from or --task error"
        )
    _check(model, task, source, lambdas, costs, folds, compare)
    from svmfast.cli.progress import progress_bar
    from svmfast.formats.detect import model_bytes
    from svmfast.formats.svmlight import read_svmlight
    from svmfast.formats.target import write_atomic

    exact = None if source is None else open_model(source, sizes["memory"], quiet)
    with progress_bar(quiet) as progress:
        progress(0, None, "read")
        dataset = read_svmlight(data, threads=jobs, **how.reading())
    remarks((f"{dataset.path}: {note}" for note in dataset.notes.messages()), quiet)
    if exact is not None:
        check_width(how, dataset.path, exact.model, dataset.rows)
        warn_of_scale(dataset.path, exact.model, dataset.rows)
    job = "exact" if exact is not None else str(task)
    original = None if exact is None else exact.model
    settings = _settings(job, kernel, gammas, lambdas, costs, folds, dataset.rows, original, sizes)
    from svmfast.methods.meka import fit as method

    functions = 1 if exact is None else exact.model.head.n_functions
    planned = method.plan_bytes(
        dataset.rows, settings, job, functions, threads=jobs, sample=sample, compare=compare
    )
    remark(f"memory: at most {planned / 2**20:,.0f} MiB; limit {settings.memory / 2**20:,.0f} MiB", quiet)
    if job == "error":
        with progress_bar(quiet) as progress:
            error = method.kernel_error(
                dataset.rows, settings, sample=sample, compare=compare, threads=jobs, progress=progress
            )
        show_error(error, as_json)
    elif model is None:
        with naming_lines(dataset.path, dataset.notes, dataset.first_line), progress_bar(quiet) as progress:
            scores = method.cross_validate_meka(
                job, dataset.rows, dataset.labels, settings, threads=jobs, progress=progress
            )
        show_scores(job, scores, int(folds or 0), as_json)
    else:
        # Opened first: a place that cannot be written must not cost a training run.
        with (
            write_atomic(model) as out,
            naming_lines(dataset.path, dataset.notes, dataset.first_line),
            progress_bar(quiet) as progress,
        ):
            extra: dict[str, Any] = {"threads": jobs, "progress": progress}
            if exact is not None:
                told = {"source": exact.identity}
                made, report = method.fit_exact(dataset.rows, exact.model, settings, provenance=told, **extra)
            else:
                fit = method.fit_ridge if job == "ridge" else method.fit_svc
                made, report = fit(dataset.rows, dataset.labels, settings, **extra)
            out.write(model_bytes(made))
        if as_json or not quiet:
            show_fit(report, made, dataset.rows, model, out.stored, as_json=as_json, quiet=quiet, jobs=jobs)


def _check(
    model: str | None,
    task: str | None,
    source: str | None,
    lambdas: tuple[float, ...] | None,
    costs: tuple[float, ...] | None,
    folds: int | None,
    compare: bool,
) -> None:
    """Refuse options that do not fit together, before anything is read."""
    if source is None and task is None:
        raise OptionError("say what to do: --task ridge, svc or error, or --from EXACT")
    if source is not None and task not in (None, "ridge"):
        raise OptionError(f"--from fits decision values by ridge regression; leave out --task {task}")
    if source is not None and folds:
        raise OptionError("--from chooses its lambda on held-out rows; leave out -v")
    if task == "error":
        if model is not None:
            raise OptionError(f"--task error makes no model; leave out '{model}'")
        if folds:
            raise OptionError("--task error has nothing to cross-validate; leave out -v")
    elif model is None and not (folds and source is None):
        raise OptionError("give MODEL, where to write; without it only -v has something to do")
    if costs is not None and task != "svc":
        raise OptionError("-c is the cost of --task svc; ridge has --lambda")
    if lambdas is not None and task in ("svc", "error"):
        raise OptionError(f"--lambda belongs to ridge; --task {task} does not use it")
    if compare and task != "error":
        raise OptionError("--compare belongs to --task error")


def _settings(
    job: str,
    kernel: str,
    gammas: tuple[float, ...] | None,
    lambdas: tuple[float, ...] | None,
    costs: tuple[float, ...] | None,
    folds: int | None,
    rows: Rows,
    exact: Model | None,
    sizes: dict[str, Any],
) -> MekaSettings:
    from svmfast.methods.meka.approximation import MekaOptions
    from svmfast.methods.meka.fit import MekaSettings
    from svmfast.models.expansion import KernelExpansion

    kind = "rbf" if kernel == "gaussian" else kernel
    if gammas is None:
        gammas = (1.0 / max(1, rows.n_columns),)
        if isinstance(exact, KernelExpansion):
            if exact.kernel.kind != kind:
                found = exact.kernel.kind
                raise OptionError(f"the exact model's kernel is {found}; give the width of ours with -g")
            gammas = (exact.kernel.gamma,)
    strengths = {"svc": costs or (1.0,), "exact": lambdas or ()}.get(job, lambdas or (0.1,))
    # A prediction costs landmarks, not rank. Decision values have no noise, so their fit takes the full rank.
    rank = sizes["rank"] or (256 if job == "exact" else 128)
    landmarks = rank if job == "exact" and sizes["strategy"] == "equal" else 0
    return MekaSettings(
        gammas=gammas,
        strengths=strengths,
        kernel=kind,
        clusters=sizes["clusters"],
        approximation=MekaOptions(
            rank=rank,
            landmarks=sizes["landmarks"] or landmarks,
            rho=sizes["rho"],
            eps=sizes["eps"],
            strategy=sizes["strategy"],
            seed=sizes["seed"],
        ),
        psd=sizes["psd"],
        block_only=sizes["block_only"],
        folds=folds,
        memory=sizes["memory"],
    )
