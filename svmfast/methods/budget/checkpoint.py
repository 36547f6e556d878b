"""Checkpoints of ``budget-train``: which run a checkpoint belongs to, and how that run continues."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from numpy.typing import NDArray

from svmfast.display import count
from svmfast.errors import CheckpointError, OptionError
from svmfast.methods.budget.options import BudgetTrainOptions
from svmfast.methods.budget.sgd import step_rounding
from svmfast.methods.method import GivenRows, GivenStream, Setting
from svmfast.options import options_of
from svmfast.values import Weights

State = tuple[Mapping[str, Any], Mapping[str, NDArray[Any]]]

_VERSION = 1
#: Options that may change when a run continues; `memory` is checked through the number of working sets.
_FREE = ("passes", "folds", "checkpoint_every", "resume", "memory")


@dataclass(frozen=True)
class Checkpointing:
    """How the state of a run is saved, and the state to continue from."""

    save: Callable[[Mapping[str, Any], Mapping[str, NDArray[Any]]], None]
    resume: State | None = None


@contextlib.contextmanager
def checkpointing(
    options: BudgetTrainOptions, data: GivenStream, held: GivenRows | None, setting: Setting
) -> Iterator[Checkpointing | None]:
    """Yield what a run needs to save and restore its state; None without checkpoints."""
    file = setting.checkpoint
    if file is None:
        yield None
        return
    run, state = fingerprint(options, data, held), None
    found = file.read() if options.resume else None
    if found is not None:
        meta, arrays = dict(found[0]), found[1]
        _check_same_run(file.path, run, meta.pop("run", None))
        state = meta, arrays
        visited = meta.get("visited")
        if isinstance(visited, int):
            setting.note(f"{file.path}: continuing after {count(visited, 'row')}")
    try:
        yield Checkpointing(lambda meta, arrays: file.write({**meta, "run": run}, arrays), state)
    except OptionError as error:
        if state is None:
            raise
        raise CheckpointError(file.path, None, str(error)) from error


def fingerprint(options: BudgetTrainOptions, data: GivenStream, held: GivenRows | None) -> dict[str, Any]:
    """Everything that must be unchanged for a run to continue; the number of passes may change."""
    run: dict[str, Any] = json.loads(json.dumps(asdict(options)))
    for name in _FREE:
        del run[name]
    run["C"] = options.cost
    run["version"] = _VERSION
    run["data"] = f"{data.source.n_rows} rows, {data.digest}, {data.source.n_sets} working sets"
    run["arithmetic"] = step_rounding()
    run["validation data"] = "none"
    if held is not None:
        assert held.labels is not None, "the declaration requires labels"
        digest = hashlib.blake2b(digest_size=16)
        for array in (held.labels, held.rows.indptr, held.rows.indices, held.rows.values):
            digest.update(array.tobytes())
        run["validation data"] = f"{len(held.rows)} rows, {digest.hexdigest()}"
    return run


def _check_same_run(path: str, run: dict[str, Any], saved: Any) -> None:
    if not isinstance(saved, dict):
        raise CheckpointError(
            path, None, "not a complete checkpoint", None, "expected a file that `checkpoint` wrote"
        )
    for name, value in run.items():
        if saved.get(name) != value:
            what = f"the checkpoint was written with {difference(name, saved.get(name), value)}"
            raise CheckpointError(path, None, what, None, "without `resume` the run starts over")


def difference(name: str, saved: object, value: object) -> str:
    """Describe a difference between two runs; options are named with their values, data without its hash."""
    if name == "version":
        return "another version of svmfast"
    if name == "arithmetic":
        return "another instruction set"
    if name == "validation data":
        if "none" not in (saved, value):
            return "other rows for `validate`"
        return "no `validate`" if saved == "none" else "`validate`"
    if name == "data":
        rows, sets = (str(text).rpartition(", ") for text in (saved, value))
        if rows[0] != sets[0]:
            return "other training data"
        return f"another `memory`: {rows[2]}, this run has {sets[2]}"
    return f"{_spelled(name, saved)}, this run has {_spelled(name, value)}"


def _spelled(name: str, value: Any) -> str:
    """An option and its value as text."""
    if value is True:
        return f"`{name}`"
    if value is None and name == "bias":
        return f"the default `{name}`"
    if value is None or value is False or value == []:
        return f"no `{name}`"
    (known,) = (one.value for one in options_of(BudgetTrainOptions) if one.name == name)
    if isinstance(known, Weights) and isinstance(value, list):
        return f"`{name}` " + ", ".join(f"{label}: {weight:g}" for label, weight in value)
    return f"`{name}` {value:g}" if isinstance(value, float) else f"`{name}` {value}"
