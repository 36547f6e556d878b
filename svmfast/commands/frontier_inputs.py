"""Checks the arguments of ``frontier``, reads its inputs and measures the exact model: a RunRequest."""

from __future__ import annotations

import os
import shutil
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from svmfast import __version__
from svmfast.commands.data_check import DataCheck
from svmfast.commands.frontier import DEFAULT_DIFFERENCE, DEFAULT_LOSS, FrontierOptions
from svmfast.commands.given import open_noted_model, with_scaling_of
from svmfast.commands.given_files import data_file, model_file
from svmfast.errors import OptionError, UnsupportedError
from svmfast.formats.model_files import identity_of
from svmfast.formats.target import check_folder
from svmfast.frontiers.choice import Limits
from svmfast.frontiers.comparing import Comparing
from svmfast.frontiers.folder import RunFolder, file_hash
from svmfast.frontiers.plan import chosen_methods
from svmfast.frontiers.request import RunRequest
from svmfast.frontiers.row_sets import LabelledRows, Origin, RowSets, read_sets
from svmfast.models.expansion import KernelExpansion
from svmfast.models.scaling import Scaling
from svmfast.options import Reading
from svmfast.progress import Listener
from svmfast.values import is_path, percentage

#: Share of the time limit that is reserved for timing at the end, at most so many seconds.
KEPT_FOR_TIMING, MOST_KEPT = 0.15, 60.0
#: The folder, in that of the run, of models and rows that were given as objects.
GIVEN = "given"


@dataclass(frozen=True, kw_only=True)
class FrontierArguments:
    """The arguments of a call of ``frontier``; objects become paths (:func:`_in_files`)."""

    exact_path: Any
    train: Any
    #: None: parts of `train`.
    test: Any
    folder: Path
    options: FrontierOptions
    reading: Reading
    threads: int
    listener: Listener


def run_request(given: FrontierArguments) -> RunRequest:
    """Check and read everything that a run needs, and measure the exact model.

    What is refused leaves no folder behind.
    """
    new = [one for one in (given.folder, given.folder / GIVEN) if not one.exists()]
    try:
        return _request(given)
    except BaseException:
        for one in new[:1]:
            shutil.rmtree(one, ignore_errors=True)
        raise


def _request(given: FrontierArguments) -> RunRequest:
    begin, chosen, listener = time.monotonic(), given.options, given.listener
    _check_labels(given)
    methods = chosen_methods(chosen.methods)
    _refuse_another_folder(given.folder)
    given = _in_files(given)
    opened = _open_exact(given)
    # From here on rows are read unscaled: `opened` has the scaling, which may also be the model's.
    given = replace(given, reading=replace(given.reading, scale=None))
    limits = _limits(given, regression=opened.exact.head.is_regression)
    folder = RunFolder(given.folder, _identity(given, opened), chosen.overwrite)
    folder.check()
    sets = _row_sets(given, opened)
    origin = Origin(given.train, given.test, sets.trained_rows, len(sets.choosing), len(sets.confirming))
    listener.progress(0, None, "measuring exact")
    comparing = _exact_measured(given, opened, sets, origin.source)
    if given.reading.unlabelled:
        # LIBSVM's text, in which these sets are written, needs labels.
        sides = (LabelledRows(one.rows, one.exact_answers.predicted) for one in comparing.sides)
        sets = replace(sets, choosing=next(sides), confirming=next(sides))
    elif not comparing.scored and (limits.max_loss_percent is not None or limits.balanced):
        raise OptionError("a one-class model is scored only by labels 1 and -1; give `max_diff`")
    end = begin + chosen.time_limit
    return RunRequest(
        exact_path=given.exact_path,
        exact=opened.exact,
        exact_identity=opened.identity,
        exact_bytes=opened.n_bytes,
        folder=folder,
        sets=sets,
        comparing=comparing,
        origin=origin,
        methods=methods,
        limits=limits,
        deadline=end - min(MOST_KEPT, KEPT_FOR_TIMING * chosen.time_limit),
        end=end,
        seed=chosen.seed,
        threads=given.threads,
        memory=chosen.memory,
        scaling=opened.scaling,
        unlabelled=given.reading.unlabelled,
    )


def _in_files(given: FrontierArguments) -> FrontierArguments:
    """The arguments as paths, since commands read them: of files in the run's folder for objects."""
    folder, memory, note = given.folder / GIVEN, given.options.memory, given.listener.note
    exact = model_file(given.exact_path, folder, "exact", note, memory)
    if is_path(given.train) and (given.test is None or is_path(given.test)):
        test = None if given.test is None else os.fspath(given.test)
        return replace(given, exact_path=exact, train=os.fspath(given.train), test=test)
    carriers = [(exact, open_noted_model(exact, note, memory=memory).model)]
    reading = with_scaling_of(given.reading, carriers, memory=memory)
    train = data_file(given.train, folder, "data", reading)
    test = None if given.test is None else data_file(given.test, folder, "test", reading)
    return replace(given, exact_path=exact, train=train, test=test)


class _OpenedExact(NamedTuple):
    """The exact model without its scaling, the hash of its text, and the size of its file."""

    exact: KernelExpansion
    identity: str
    n_bytes: int
    #: Of all rows, and the arguments that pass it to the commands that frontier runs.
    scaling: Scaling | None
    scale_words: tuple[str, ...]


def _open_exact(given: FrontierArguments) -> _OpenedExact:
    """Read the exact model, and the scaling of the rows."""
    path, reading, memory = given.exact_path, given.reading, given.options.memory
    opened = open_noted_model(path, given.listener.note, memory=memory)
    whole, exact = opened.model, opened.model.unscaled.expansion
    if exact is None:
        raise UnsupportedError(f"{path} is a {whole.unscaled.kind} model already", "give the LIBSVM model")
    if exact.kernel.kind == "precomputed":
        raise UnsupportedError("models with a precomputed kernel cannot be converted")
    if reading.scale is not None and not is_path(reading.scale):
        raise OptionError("`scale`: the commands that frontier runs need a path, of a range file or a model")
    scaling = with_scaling_of(reading, [(path, whole)], memory=memory).scale
    # Commands that read only data, such as budget-train, need a file with the scaling.
    scaled = reading.scale is not None or whole.scaling is not None
    words = ("--scale", str(reading.scale or path)) if scaled else ()
    identity = opened.identity if whole.scaling is None else identity_of(exact)
    return _OpenedExact(exact, identity, opened.n_bytes, scaling, words)


def _row_sets(given: FrontierArguments, opened: _OpenedExact) -> RowSets:
    """Read and divide the rows; warn about those that do not look like the model's."""
    scaling, train = opened.scaling, given.train
    check = DataCheck(opened.exact, given.reading, given.listener)
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
    return sets if scaling is None else replace(sets, reading=(*sets.reading, *opened.scale_words))


def _limits(given: FrontierArguments, *, regression: bool) -> Limits:
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


def _exact_measured(given: FrontierArguments, opened: _OpenedExact, sets: RowSets, source: str) -> Comparing:
    """Measure the exact model; refuse labelled rows on which it is no better than chance."""
    exact, scaling, tested = opened.exact, opened.scaling, [sets.choosing, sets.confirming]
    if scaling is not None:
        tested = [replace(one, labels=scaling.apply_labels(one.labels)) for one in tested]
    # Data for one-class models have labels because LIBSVM's format needs them; they mean something only if
    # they tell inliers, 1, from outliers, -1.
    one_class = exact.head.svm_type == "one_class"
    if one_class and set(np.unique(np.concatenate([one.labels for one in tested])).tolist()) != {-1.0, 1.0}:
        tested = [replace(one, labels=np.full(len(one), np.nan)) for one in tested]
    comparing = Comparing(exact, *tested, scaling=scaling, threads=given.threads)
    if not comparing.exact_skilled:
        raise UnsupportedError(
            f"EXACT is no better than chance on the rows of {source}: nothing can be measured on them",
            "give rows of the problem that EXACT was trained for",
        )
    return comparing


def _refuse_another_folder(folder: Path) -> None:
    check_folder(os.fspath(folder))
    known = folder / "inputs.json"
    others = (one.name for one in folder.iterdir() if one.name != GIVEN) if folder.is_dir() else iter(())
    if not known.exists() and any(others):
        raise OptionError(f"'{folder}' is not empty and not from an earlier run; give another `output`")


def _identity(given: FrontierArguments, opened: _OpenedExact) -> dict[str, Any]:
    """Everything that the models and measurements depend on: the identity of the run."""
    found: dict[str, Any] = {"model": opened.identity.removeprefix("sha256:")}
    for name, path in (("train", given.train), ("test", given.test)):
        found[name] = None if path is None else file_hash(path)
        if path is not None and found[name] is None:
            raise OptionError(f"{path}: No such file or directory")
    if found["train"] == found["test"]:
        raise OptionError(
            "TEST contains the rows of TRAIN, which EXACT has seen; give other rows, or leave `test` out"
        )
    scaling = None if opened.scaling is None else opened.scaling.digest()
    how = {**asdict(given.reading), "scale": scaling}
    return {
        **found,
        "seed": given.options.seed,
        "threads": given.threads,
        "reading": how,
        "version": __version__,
    }
