"""A budgeted training run: one machine for each pair of classes, passes over working sets, checkpoints.

A run that is interrupted at any point continues bit for bit. A checkpoint holds exactly the state of the run,
so both are in this module.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmfast.errors import OptionError
from svmfast.methods.budget.comparison import Comparison
from svmfast.methods.budget.options import BudgetTrainOptions
from svmfast.methods.budget.pairs import Arrays, Pair, Prepared, make_pairs, whole_number
from svmfast.methods.budget.run_rows import RunRows
from svmfast.rows import FloatArray, Rows
from svmfast.solvers.training_data import TrainingSource
from svmfast.threads import map_in_threads

#: Limits on the rows visited and the multiply-adds (a second or two) between two checks whether a checkpoint
#: is due or a stop is requested.
SEGMENT, SEGMENT_WORK = 1 << 16, 1 << 32

_MOST = 1 << 53  # the largest count in a checkpoint


class BudgetRun:
    """The state of a training run.

    Parameters
    ----------
    source : TrainingSource
    options : BudgetTrainOptions
    validate : (Rows, (m,) float64) or None
        Rows on which candidates are compared.
    threads : int
    memory : int
        Limit on the memory for the machines, in bytes.

    Attributes
    ----------
    rows : RunRows
    comparison : Comparison
    pairs : list of Pair
    epoch, number, offset : int
        The next pass, working set, and position within its order.
    visited : int
        Rows visited so far.
    seconds : float
        Training time so far, including the runs that this one continues.
    """

    def __init__(
        self,
        source: TrainingSource,
        options: BudgetTrainOptions,
        validate: tuple[Rows, FloatArray] | None,
        threads: int,
        memory: int,
    ) -> None:
        self.source, self.options, self.threads, self.memory = source, options, threads, memory
        self.rows = RunRows(source, options, validate)
        self.gamma = options.gamma or (1.0 / source.n_features if source.n_features else 1.0)
        self.comparison = Comparison(self.rows, self.gamma)
        self.pairs = make_pairs(
            options, self.gamma, self.rows.classes, self.rows.counts, len(source.columns), memory
        )
        self.epoch = self.number = self.offset = 0
        self.visited = 0
        self.seconds = 0.0
        self._carried = np.zeros((len(self.pairs), 2))

    def for_pairs(self, work: Callable[[Pair], None], pairs: Sequence[Pair] | None = None) -> None:
        """Call `work` for each of `pairs` (default: all), in several threads."""
        pairs = self.pairs if pairs is None else pairs
        map_in_threads(work, pairs, self.threads)

    @property
    def total(self) -> int:
        """Total number of rows to visit."""
        return self.options.passes * self.source.n_rows

    @property
    def ended(self) -> bool:
        """Whether all passes are done."""
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

        def steps(pair: Pair) -> None:
            pair.machine.steps(*self.rows.of_pair(pair, working, segment))

        self.for_pairs(steps)
        self.visited += len(segment)
        self.offset = stop
        if self.offset == count:
            self.offset, self.number = 0, self.number + 1
            if self.number == self.source.n_sets:
                self.number, self.epoch = 0, self.epoch + 1
                self._end_pass()
        self.seconds += time.perf_counter() - begin
        return due

    def _segment(self, working: Prepared) -> int:
        """Return how many rows to visit at once; the result does not depend on it."""
        each = (working.rows.nnz / max(1, len(working.labels)) + 16) * self.options.budget
        functions = max(1, len(self.rows.classes) - 1)  # for which a row is used
        return max(256, min(SEGMENT, int(SEGMENT_WORK / (each * functions))))

    def _end_pass(self) -> None:
        if self.options.keep != "best":
            return

        def compare(pair: Pair) -> None:
            candidate = pair.machine.expansion()
            loss = self.comparison.loss(pair, candidate)
            if loss < pair.best_loss:
                pair.best, pair.best_loss = candidate, loss

        self.for_pairs(compare)

    def spent(self) -> tuple[float, float]:
        """Return the time that all machines spent on steps, and the part spent on maintenance, in seconds."""
        steps = maintenance = 0.0
        for pair, (before, maintained) in zip(self.pairs, self._carried, strict=True):
            found = pair.machine.statistics()
            steps += found.seconds + float(before)
            maintenance += found.maintenance_seconds + float(maintained)
        return steps, maintenance

    def save(self) -> tuple[dict[str, Any], Arrays]:
        """Return the whole state as numbers and arrays."""
        arrays: Arrays = {}
        seconds = []
        for number, pair in enumerate(self.pairs):
            arrays |= {f"pair{number}_{name}": array for name, array in pair.save().items()}
            found = pair.machine.statistics()
            seconds.append((found.seconds, found.maintenance_seconds))
        arrays["seconds"] = np.array(seconds).reshape(len(self.pairs), 2) + self._carried
        meta = {
            "epoch": self.epoch,
            "number": self.number,
            "offset": self.offset,
            "visited": self.visited,
            "seconds": self.seconds,
        }
        return meta, arrays

    def restore(self, meta: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        """Restore the state that :meth:`save` returned.

        Raises
        ------
        OptionError
            The state was saved by a run with other options or data.
        """
        try:
            for number, pair in enumerate(self.pairs):
                stored = {name: arrays.get(f"pair{number}_{name}") for name in Pair.STATE}
                own = {name: array for name, array in stored.items() if array is not None}
                pair.restore(own, len(self.source.columns))
            self._carried = np.asarray(arrays["seconds"], dtype=np.float64).reshape(len(self.pairs), 2)
            self.epoch = whole_number(meta["epoch"], _MOST)
            self.number = whole_number(meta["number"], self.source.n_sets - 1)
            self.offset, self.visited = (
                whole_number(meta["offset"], _MOST),
                whole_number(meta["visited"], _MOST),
            )
            self.seconds = float(meta["seconds"])
            if not (np.isfinite(self._carried).all() and np.isfinite(self.seconds)):
                raise ValueError("times that are not finite")
        except (KeyError, TypeError, ValueError, IndexError, OverflowError) as error:
            raise OptionError("the saved state does not fit these options and data") from error
