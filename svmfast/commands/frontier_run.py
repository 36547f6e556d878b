"""A run of ``frontier``: check what is asked, read the inputs, try the methods, and write the reports."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from svmfast.commands.data_check import DataCheck
from svmfast.commands.frontier import DEFAULT_DIFFERENCE, DEFAULT_LOSS, FrontierOptions
from svmfast.commands.given import open_noted_model, with_scaling_of
from svmfast.errors import OptionError, UnsupportedError
from svmfast.frontiers.folder import RunFolder, file_hash
from svmfast.frontiers.plan import chosen_methods
from svmfast.options import Reading
from svmfast.progress import Listener
from svmfast.values import is_path, percentage

if TYPE_CHECKING:
    from svmfast.frontiers.choice import Limits
    from svmfast.frontiers.measuring import Measuring
    from svmfast.frontiers.report import Frontier
    from svmfast.frontiers.row_sets import Origin, RowSets
    from svmfast.frontiers.run import FrontierRun
    from svmfast.models.base import Model
    from svmfast.models.expansion import KernelExpansion
    from svmfast.models.scaling import Scaling

#: Share of the time limit that is reserved for measuring, and its limit in seconds.
KEPT_FOR_TIMING, MOST_KEPT = 0.15, 60.0


@dataclass(frozen=True, eq=False, repr=False)
class FrontierResult:
    """The result of ``frontier``."""

    #: Every measured model, the limits, and the recommendation.
    report: Frontier
    #: The folder of the models and reports.
    folder: str
    #: The recommended model's file; None if no model meets the limits.
    recommended: str | None

    def __repr__(self) -> str:
        return "\n".join([*self.table(), *self.lines()])

    def table(self) -> list[str]:
        """The table of the models as text."""
        from svmfast.frontiers import report

        found = self.report
        return [report.title(found), *report.origins(found), *report.table_lines(found)]

    def lines(self) -> list[str]:
        """The recommendation as text."""
        from svmfast.frontiers.words import verdict

        return verdict(self.report)

    def to_dict(self) -> dict[str, Any]:
        """The figures that docs/json.md describes."""
        return self.report.to_dict()

    def model(self) -> Model:
        """The recommended model; raises UnsupportedError if there is none."""
        from svmfast.formats.detect import load_model

        if self.recommended is None:
            raise UnsupportedError("no model meets the limits", "nothing is recommended")
        return load_model(self.recommended)


@dataclass(frozen=True, kw_only=True)
class FrontierArguments:
    """The arguments of a call of ``frontier``."""

    exact: str
    train: str
    #: None: parts of `train`.
    test: str | None
    folder: Path
    options: FrontierOptions
    reading: Reading
    threads: int
    listener: Listener


def tried(
    given: FrontierArguments, document: Callable[[Mapping[str, Any]], Mapping[str, Any]]
) -> FrontierResult:
    """Try every method, and write the reports; `document` makes the content of report.json from figures."""
    from svmfast.frontiers.request import RunRequest
    from svmfast.frontiers.run import FrontierRun

    begin, chosen, listener = time.monotonic(), given.options, given.listener
    _check_labels(given)
    methods = chosen_methods(chosen.methods)
    folder = RunFolder(given.folder, {}, chosen.overwrite)
    _refuse_another_folder(folder.path)
    exact = _exact(given)
    given = replace(given, reading=replace(given.reading, scale=None))
    limits = _limits(given, regression=exact.model.head.is_regression)
    folder.identity = _identity(given, exact)
    folder.check()
    sets = _row_sets(given, exact)
    listener.progress(0, None, "measuring exact")
    measuring, origin = _measured(given, exact, sets)
    if given.reading.unlabelled:
        sets = sets.with_labels(*(side.exact.predicted for side in measuring.sides))
    elif not measuring.scored and (limits.max_loss_percent is not None or limits.balanced):
        raise OptionError("a one-class model is scored only by labels 1 and -1; give `max_diff`")
    end = begin + chosen.time_limit
    request = RunRequest(
        exact=given.exact,
        model=exact.model,
        sha256=exact.sha256,
        folder=folder,
        sets=sets,
        measuring=measuring,
        origin=origin,
        methods=methods,
        limits=limits,
        deadline=end - min(MOST_KEPT, KEPT_FOR_TIMING * chosen.time_limit),
        end=end,
        seed=chosen.seed,
        threads=given.threads,
        memory=chosen.memory,
        scaling=exact.scaling,
        unlabelled=given.reading.unlabelled,
    )
    run = FrontierRun(request, listener.progress)
    return _written(run.run(), run, document)


class _Exact(NamedTuple):
    """The exact model without its scaling, and the hash of its file."""

    model: KernelExpansion
    sha256: str
    #: Of all rows, and the arguments that pass it to the commands that frontier runs.
    scaling: Scaling | None
    words: tuple[str, ...]


def _exact(given: FrontierArguments) -> _Exact:
    """Read the exact model, and the scaling of the rows."""
    from svmfast.formats.detect import identity_of

    exact, reading, memory = given.exact, given.reading, given.options.memory
    opened = open_noted_model(exact, given.listener.note, memory=memory)
    whole, model = opened.model, opened.model.unscaled.expansion
    if model is None:
        raise UnsupportedError(f"{exact} is a {whole.unscaled.kind} model already", "give the LIBSVM model")
    if model.kernel.kind == "precomputed":
        raise UnsupportedError("models with a precomputed kernel cannot be converted")
    if reading.scale is not None and not is_path(reading.scale):
        raise OptionError("`scale`: the commands that frontier runs need a path, of a range file or a model")
    scaling = with_scaling_of(reading, [(exact, whole)], memory=memory).scale
    # Commands that read only data, such as budget-train, need a file with the scaling.
    scaled = reading.scale is not None or whole.scaling is not None
    words = ("--scale", str(reading.scale or exact)) if scaled else ()
    identity = opened.identity if whole.scaling is None else identity_of(model)
    return _Exact(model, identity.removeprefix("sha256:"), scaling, words)


def _row_sets(given: FrontierArguments, exact: _Exact) -> RowSets:
    """Read and divide the rows; warn about those that do not look like the model's."""
    from svmfast.frontiers.row_sets import read_sets

    scaling, train = exact.scaling, given.train
    check = DataCheck(exact.model, given.reading, given.listener)
    sets = read_sets(
        train,
        given.test,
        given.folder,
        seed=given.options.seed,
        reading=given.reading,
        scaling=scaling,
        memory=given.options.memory,
        threads=given.threads,
        note=given.listener.note,
        columns=lambda path, names, how: replace(check, reading=how).columns(path, names),
        progress=given.listener.progress,
    )
    check = replace(check, reading=replace(given.reading, scale=scaling))
    check.width(train, sets.first)
    check.width(given.test or train, sets.choosing.rows)
    if not check.scale(train, sets.first) and given.test is not None:
        check.scale(given.test, sets.choosing.rows)
    # Commands scale by themselves.
    return sets if scaling is None else replace(sets, reading=(*sets.reading, *exact.words))


def _limits(given: FrontierArguments, *, regression: bool) -> Limits:
    from svmfast.frontiers.choice import Limits

    chosen = given.options
    balanced = chosen.metric != "accuracy"
    alone = chosen.max_diff is None and (chosen.max_bytes, chosen.max_operations) != (None, None)
    if balanced and (regression or (chosen.max_loss is None and not alone)):
        why = "give `max_loss`, which it is about, or only `max_bytes` or `max_operations`"
        why = "the exact model is a regression" if regression else why
        raise OptionError(f"`metric` {chosen.metric}: {why}")
    if regression and chosen.max_diff == 0:
        raise OptionError(
            "`max_diff` 0%: the values of another model are never exactly the same; give a share above 0%, "
            "such as 0.1%"
        )
    largest = (chosen.max_diff, chosen.max_loss, chosen.max_bytes, chosen.max_operations)
    if largest == (None, None, None, None):
        if regression and given.reading.unlabelled:
            raise OptionError("`unlabelled`: for a regression give `max_diff`, such as 3%")
        largest = (None, DEFAULT_LOSS, None, None) if regression else (DEFAULT_DIFFERENCE, None, None, None)
    differing, lost, n_bytes, operations = largest
    share, loss = (None if one is None else percentage(one) for one in (differing, lost))
    return Limits(share, loss, n_bytes, operations, balanced, regression, chosen.lose_classes)


def _check_labels(given: FrontierArguments) -> None:
    """Refuse what cannot be done with rows that have no labels."""
    if not given.reading.unlabelled:
        return
    if given.test is None:
        raise OptionError("`unlabelled` needs `test`: without labels no rows of TRAIN are held out")
    chosen = given.options
    for name, asked in (("max_loss", chosen.max_loss is not None), ("metric", chosen.metric != "accuracy")):
        if asked:
            raise OptionError(f"`{name}` needs labels; without them (`unlabelled`) give `max_diff`")


def _measured(given: FrontierArguments, exact: _Exact, sets: RowSets) -> tuple[Measuring, Origin]:
    """Measure the exact model; refuse labelled rows on which it is no better than chance."""
    import numpy as np

    from svmfast.frontiers.measuring import Measuring
    from svmfast.frontiers.row_sets import Origin

    model, scaling, tested = exact.model, exact.scaling, [sets.choosing, sets.confirming]
    if scaling is not None:
        tested = [replace(one, labels=scaling.apply_labels(one.labels)) for one in tested]
    # Data for one-class models have labels because LIBSVM's format needs them; they mean something only if
    # they tell inliers, 1, from outliers, -1.
    one_class = model.head.svm_type == "one_class"
    if one_class and set(np.unique(np.concatenate([one.labels for one in tested])).tolist()) != {-1.0, 1.0}:
        tested = [replace(one, labels=np.full(len(one), np.nan)) for one in tested]
    measuring = Measuring(model, *tested, scaling=scaling, threads=given.threads)
    origin = Origin(given.train, given.test, sets.trained_rows, len(sets.choosing), len(sets.confirming))
    if not measuring.exact_skilled:
        raise UnsupportedError(
            f"EXACT is no better than chance on the rows of {origin.source}: nothing can be measured on them",
            "give rows of the problem that EXACT was trained for",
        )
    return measuring, origin


def _refuse_another_folder(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise OptionError(f"'{folder}' is a file; give a folder for `output`")
    known = folder / "inputs.json"
    if folder.is_dir() and not known.exists() and any(folder.iterdir()):
        raise OptionError(f"'{folder}' is not empty and not from an earlier run; give another `output`")


def _identity(given: FrontierArguments, exact: _Exact) -> dict[str, Any]:
    """Everything that the models and measurements depend on."""
    from svmfast import __version__

    found: dict[str, Any] = {"model": exact.sha256}
    for name, path in (("train", given.train), ("test", given.test)):
        found[name] = None if path is None else file_hash(path)
        if path is not None and found[name] is None:
            raise OptionError(f"{path}: No such file or directory")
    if found["train"] == found["test"]:
        raise OptionError(
            "TEST contains the rows of TRAIN, which EXACT has seen; give other rows, or leave `test` out"
        )
    scaling = None if exact.scaling is None else exact.scaling.digest()
    how = {**asdict(given.reading), "scale": scaling}
    return {
        **found,
        "seed": given.options.seed,
        "threads": given.threads,
        "reading": how,
        "version": __version__,
    }


def _written(
    found: Frontier,
    run: FrontierRun,
    document: Callable[[Mapping[str, Any]], Mapping[str, Any]],
) -> FrontierResult:
    """Write the reports and the recommended model."""
    from svmfast.frontiers.html import as_html

    folder, best = run.folder, found.recommended
    # Scripts rely on this name, whatever the model is; that of an earlier run is gone (RunFolder.open).
    place = folder.path / "recommended"
    if best is not None:
        folder.write_bytes(place.name, run.measured.content(best))
        found = replace(found, copy=os.fspath(place))
    folder.write_bytes("report.html", as_html(found))
    folder.write("report.json", document(found.to_dict()))
    return FrontierResult(found, os.fspath(folder.path), found.copy)
