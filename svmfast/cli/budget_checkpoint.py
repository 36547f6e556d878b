"""Checkpoints of ``svmfast budget-train``: when they are written, and whose they are."""

from __future__ import annotations

import contextlib
import json
import os
import signal
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from svmfast.cli.messages import count, remark
from svmfast.cli.signals import signals_to_end
from svmfast.errors import CheckpointError, OptionError

if TYPE_CHECKING:
    from svmfast.formats.spool import Spool
    from svmfast.formats.svmlight import Dataset
    from svmfast.methods.budget.options import BudgetTrainOptions
    from svmfast.methods.budget.training import Checkpointing

_VERSION = 1
#: svm-train's numbers of the types that can be trained on a budget.
SVM_TYPES = {0: "c_svc", 3: "epsilon_svr"}


@contextlib.contextmanager
def checkpointing(
    path: str | None,
    every: int,
    resume: bool,
    given: BudgetTrainOptions,
    spool: Spool,
    held: Dataset | None,
    quiet: bool,
) -> Iterator[Checkpointing | None]:
    """Checkpoints for the training inside.

    The first Ctrl-C (or SIGTERM) there asks for one and ends the work, the second ends it at once.
    """
    if path is None:
        yield None
        return
    from svmfast.formats.checkpoint import read_checkpoint, write_checkpoint
    from svmfast.methods.budget.training import Checkpointing

    run = _fingerprint(given, spool, held)
    state = None
    if resume and os.path.exists(path):
        meta, arrays = read_checkpoint(path)
        _check_same_run(path, run, meta.pop("run", None))
        state = meta, arrays
        visited = meta.get("visited")
        if not quiet and isinstance(visited, int):
            remark(f"{path}: going on after {count(visited, 'row')}")
    asked: list[int] = []

    def stop(number: int, _frame: object) -> None:
        if asked:
            raise KeyboardInterrupt
        asked.append(number)

    before = {number: signal.signal(number, stop) for number in signals_to_end()}
    try:
        yield Checkpointing(
            lambda meta, arrays: write_checkpoint(path, {**meta, "run": run}, arrays),
            every,
            state,
            lambda: bool(asked),
        )
    except KeyboardInterrupt:
        if asked:
            remark(f"interrupted; the state is in {path}, go on with --resume")
            usual = before[signal.Signals(asked[0])]
            if callable(usual):
                usual(asked[0], None)  # the exit status is that of the signal
        raise
    except OptionError as error:
        if state is None:
            raise
        raise CheckpointError(path, None, str(error)) from error
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _fingerprint(given: BudgetTrainOptions, spool: Spool, held: Dataset | None) -> dict[str, Any]:
    """What must be equal for a run to go on; more passes may be asked for."""
    import hashlib

    from svmfast.methods.budget.sgd import step_rounding

    run: dict[str, Any] = json.loads(json.dumps(asdict(given)))
    del run["passes"]
    run["version"] = _VERSION
    run["data"] = f"{spool.n_rows} rows, {spool.digest}, {spool.n_sets} working sets"
    run["arithmetic"] = step_rounding()
    run["validation data"] = "none"
    if held is not None:
        digest = hashlib.blake2b(digest_size=16)
        for array in (held.labels, held.rows.indptr, held.rows.indices, held.rows.values):
            digest.update(array.tobytes())
        run["validation data"] = f"{len(held)} rows, {digest.hexdigest()}"
    return run


def _check_same_run(path: str, run: dict[str, Any], saved: Any) -> None:
    if not isinstance(saved, dict):
        raise CheckpointError(
            path, None, "this is not a whole checkpoint", None, "a file that --checkpoint wrote"
        )
    for name, value in run.items():
        if saved.get(name) != value:
            raise CheckpointError(
                path,
                None,
                f"the checkpoint was written with {_other(name, saved.get(name), value)}",
                None,
                "without --resume it starts anew",
            )


def _other(name: str, saved: object, value: object) -> str:
    """Say in words what differs: data have no values that tell anybody anything, options have."""
    if name == "version":
        return "another version of svmfast"
    if name == "arithmetic":
        return "another instruction set"
    if name == "validation data":
        return (
            "other rows for --validate"
            if "none" not in (saved, value)
            else ("no --validate" if saved == "none" else "--validate")
        )
    if name == "data":
        rows, sets = (str(text).rpartition(", ") for text in (saved, value))
        if rows[0] != sets[0]:
            return "other training data"
        return f"another --memory: {rows[2]}, this run has {sets[2]}"
    known = {param.name: param for param in click.get_current_context().command.params}
    param = known[{"C": "cost"}.get(name, name)]
    assert isinstance(param, click.Option)
    return f"{_spelled(param, saved)}, this run has {_spelled(param, value)}"


def _spelled(param: click.Option, value: Any) -> str:
    """Return an option as it is typed."""
    if param.secondary_opts and isinstance(value, bool):
        return (param.opts if value else param.secondary_opts)[0]
    if param.multiple:
        return (
            " ".join(f"{param.opts[0]}{label} {weight:g}" for label, weight in value) or f"no {param.opts[0]}"
        )
    if value is None:
        return f"no {max(param.opts, key=len)}"
    if param.name == "svm_type":
        value = {kind: number for number, kind in SVM_TYPES.items()}.get(value, value)
    elif isinstance(value, bool):
        value = int(value)
    return f"{param.opts[0]} {value:g}" if isinstance(value, float) else f"{param.opts[0]} {value}"
