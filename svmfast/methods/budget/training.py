"""A budgeted training run, which continues bit for bit where it was interrupted, and its checkpoints."""

from __future__ import annotations

import contextlib
import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from svmfast.display import count
from svmfast.errors import CheckpointError, MemoryLimitError, OptionError
from svmfast.kernels import DecisionEngine, Kernel
from svmfast.methods.budget import BudgetTrainOptions
from svmfast.methods.budget.rows import Prepared, RunRows
from svmfast.methods.budget.sgd import STATE, BudgetedSgd, BudgetExpansion, StepOptions, step_rounding
from svmfast.methods.method import GivenRows, GivenStream, Setting
from svmfast.options import options_of
from svmfast.rows import FloatArray, Rows
from svmfast.solvers.training_data import TrainingSource, expand
from svmfast.threads import map_in_threads
from svmfast.values import Weights

T = TypeVar("T")
Arrays = dict[str, NDArray[Any]]

#: Limits on the rows visited and the multiply-adds (a second or two) between two checks whether a checkpoint
#: is due or a stop is requested.
SEGMENT, SEGMENT_WORK = 1 << 16, 1 << 32

_MOST = 1 << 53  # the largest count in a checkpoint


@dataclass(eq=False)
class Pair:
    """One decision function: class `first` against `second`, or the regression function (0, 0)."""

    #: Names of the arrays that :meth:`save` returns; the best iterate's are missing if there is none.
    STATE: ClassVar = (*STATE, "best_vectors", "best_coef")

    first: int
    second: int
    #: Number of training rows.
    count: int
    machine: BudgetedSgd
    #: The iterate with the smallest loss so far at the end of a pass, if that is to be returned.
    best: BudgetExpansion | None = None
    best_loss: float = np.inf

    def save(self) -> Arrays:
        """The state of the machine, and the best iterate, as arrays."""
        arrays: Arrays = dict(self.machine.save())
        if self.best is not None:
            arrays["best_vectors"] = self.best.vectors
            arrays["best_coef"] = np.append(self.best.coef, [self.best.bias, self.best_loss])
        return arrays

    def restore(self, arrays: Mapping[str, NDArray[Any]], columns: int) -> None:
        """Restore what :meth:`save` returned; arrays that are no such state raise an error of Python's."""
        self.machine.restore({name: arrays[name] for name in STATE})
        if "best_coef" not in arrays:
            return
        stored = arrays["best_coef"]
        if stored.ndim != 1 or not np.isfinite(stored).all():
            raise ValueError("coefficients that are not a row of finite numbers")
        *coef, bias, loss = stored.tolist()
        vectors = np.ascontiguousarray(arrays["best_vectors"])
        shape = len(coef), columns
        if not np.isfinite(vectors).all() or vectors.dtype != np.float64 or vectors.shape != shape:
            raise ValueError("vectors and coefficients are inconsistent")
        self.best, self.best_loss = BudgetExpansion(vectors, np.array(coef, float), bias), loss


class BudgetRun:
    """The state of a training run; `validate` are rows and labels on which candidates are compared."""

    def __init__(
        self,
        source: TrainingSource,
        options: BudgetTrainOptions,
        validate: tuple[Rows, FloatArray] | None = None,
        threads: int = 1,
    ) -> None:
        self.source, self.options, self.threads = source, options, threads
        self.rows = RunRows(source, options, validate)
        self.gamma = options.gamma or (1.0 / source.n_features if source.n_features else 1.0)
        self.pairs = self._new_pairs()
        #: The next pass, working set, and position within its order.
        self.epoch = self.number = self.offset = 0
        #: Rows visited so far, and training time so far, including the runs that this one continues.
        self.visited = 0
        self.seconds = 0.0
        self._carried = np.zeros((len(self.pairs), 2))

    def _new_pairs(self) -> list[Pair]:
        options, rows, columns = self.options, self.rows, len(self.source.columns)
        k = len(rows.classes)
        places = [(i, j) for i in range(k) for j in range(i + 1, k)] if options.is_classifier else [(0, 0)]
        needed = bytes_of_machines(options, len(places), columns)
        if needed > options.memory:
            what = f"training {len(places)} times {options.budget:,} vectors with {columns:,} features"
            advice = "choose a smaller budget or allow more memory"
            raise MemoryLimitError(what, needed, options.memory, advice)
        weights, made = dict(options.weights), []
        for first, second in places:
            count = int(rows.counts[first] + (rows.counts[second] if second != first else 0))
            negative, positive = 1.0, 1.0
            if k:
                negative, positive = (weights.get(int(y), 1.0) for y in rows.classes[[second, first]])
            steps = StepOptions(
                budget=options.budget,
                gamma=self.gamma,
                lambda_=options.lambda_ or 1.0 / (count * options.cost),
                maintenance=options.maintenance,
                loss="hinge" if options.is_classifier else "epsilon-insensitive",
                epsilon=options.p,
                weights=(negative, positive),
                bias=bool(options.bias),
            )
            made.append(Pair(first, second, count, BudgetedSgd(columns, steps)))
        return made

    def for_pairs(self, work: Callable[[Pair], T]) -> list[T]:
        return map_in_threads(work, self.pairs, self.threads)

    def decisions(self, expansion: BudgetExpansion, rows: Rows) -> FloatArray:
        sv = expand(Rows.from_dense(expansion.vectors), self.source.columns, self.source.n_features)
        engine = DecisionEngine(
            Kernel("rbf", self.gamma), sv, expansion.coef[None, :], np.array([-expansion.bias]), None
        )
        return engine.decision_values(rows)[:, 0]

    def loss(self, pair: Pair, expansion: BudgetExpansion) -> float:
        """The share of wrong labels, or the mean squared error, on the selection rows of a pair."""
        if not self.options.is_classifier:
            rows, labels = self.rows.selection.rows, self.rows.selection.labels
            if not len(labels):
                return 0.0
            return float(np.mean((self.decisions(expansion, rows) - labels) ** 2))
        rows, positive = self.rows.selection.of_pair(pair.first, pair.second)
        if not len(positive):
            return 0.0
        return float(np.mean((self.decisions(expansion, rows) > 0) != positive))

    @property
    def total(self) -> int:
        return self.options.passes * self.source.n_rows

    @property
    def ended(self) -> bool:
        return self.epoch >= self.options.passes

    def advance(self, checkpoint_every: int | None) -> bool:
        """Visit the next rows; return whether a checkpoint is due."""
        begin = time.perf_counter()
        working = self.rows.prepared(self.epoch, self.number)
        count = len(working.labels)
        order = self.rows.visits(self.epoch, self.number, count)
        stop = min(self.offset + self._segment(working), count)
        due = False
        if checkpoint_every:
            boundary = (self.visited // checkpoint_every + 1) * checkpoint_every - self.visited
            due = self.offset + boundary <= stop
            stop = min(stop, self.offset + boundary)
        segment = order[self.offset : stop]
        self.for_pairs(
            lambda pair: pair.machine.steps(*self.rows.of_pair(pair.first, pair.second, working, segment))
        )
        self.visited += len(segment)
        self.offset = stop
        if self.offset == count:
            self.offset, self.number = 0, self.number + 1
            if self.number == self.source.n_sets:
                self.number, self.epoch = 0, self.epoch + 1
                if self.options.keep == "best":
                    self.for_pairs(self._keep_best)
        self.seconds += time.perf_counter() - begin
        return due

    def _segment(self, working: Prepared) -> int:
        """How many rows to visit at once; the result does not depend on it."""
        each = (working.rows.nnz / max(1, len(working.labels)) + 16) * self.options.budget
        functions = max(1, len(self.rows.classes) - 1)  # for which a row is used
        return max(256, min(SEGMENT, int(SEGMENT_WORK / (each * functions))))

    def _keep_best(self, pair: Pair) -> None:
        candidate = pair.machine.expansion()
        loss = self.loss(pair, candidate)
        if loss < pair.best_loss:
            pair.best, pair.best_loss = candidate, loss

    def _times(self) -> FloatArray:
        found = [pair.machine.statistics() for pair in self.pairs]
        own = np.array([(one.seconds, one.maintenance_seconds) for one in found])
        return own.reshape(len(self.pairs), 2) + self._carried

    def spent(self) -> tuple[float, float]:
        steps, maintenance = self._times().sum(axis=0).tolist()
        return steps, maintenance

    def save(self) -> tuple[dict[str, Any], Arrays]:
        """The whole state as numbers and arrays."""
        arrays: Arrays = {}
        for number, pair in enumerate(self.pairs):
            arrays |= {f"pair{number}_{name}": array for name, array in pair.save().items()}
        arrays["seconds"] = self._times()
        names = ("epoch", "number", "offset", "visited", "seconds")
        return {name: getattr(self, name) for name in names}, arrays

    def restore(self, meta: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        """Restore what :meth:`save` returned; OptionError if a run with other options or data saved it."""
        try:
            for number, pair in enumerate(self.pairs):
                stored = {name: arrays.get(f"pair{number}_{name}") for name in Pair.STATE}
                own = {name: array for name, array in stored.items() if array is not None}
                pair.restore(own, len(self.source.columns))
            self._carried = np.asarray(arrays["seconds"], dtype=np.float64).reshape(len(self.pairs), 2)
            self.number = _count(meta["number"], self.source.n_sets - 1)
            self.epoch, self.offset, self.visited = (
                _count(meta[name], _MOST) for name in ("epoch", "offset", "visited")
            )
            self.seconds = float(meta["seconds"])
            if not (np.isfinite(self._carried).all() and np.isfinite(self.seconds)):
                raise ValueError("times that are not finite")
        except (KeyError, TypeError, ValueError, IndexError, OverflowError) as error:
            raise OptionError("the saved state does not fit these options and data") from error


def bytes_of_machines(options: BudgetTrainOptions, functions: int, columns: int) -> int:
    return functions * 8 * (options.budget + 8) * columns


def _count(value: Any, most: int) -> int:
    if type(value) is not int or not 0 <= value <= most:
        raise ValueError("not a count")
    return value


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
