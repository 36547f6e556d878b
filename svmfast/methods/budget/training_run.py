"""A budgeted training run: one machine for each pair of classes, passes over working sets, checkpoints.

Every row of a working set is visited in one seeded order; a pair takes those of its two classes. So pairs are
independent of each other and of the number of threads, and a run cut anywhere goes on to the same bits.
What a checkpoint holds is the state of this run and nothing else, so both stand in one file.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmfast.errors import MemoryLimitError, OptionError, SingleClassError
from svmfast.kernels import DecisionEngine, Kernel
from svmfast.methods.budget.options import BudgetTrainOptions
from svmfast.methods.budget.pairs import Pair, Prepared, Selection, whole_number
from svmfast.methods.budget.sgd import (
    BudgetedSgd,
    BudgetExpansion,
    StepOptions,
    TrainingBlock,
)
from svmfast.rows import FloatArray, Rows
from svmfast.solvers.training_data import (
    TrainingSource,
    WorkingSet,
    chosen,
    class_labels,
    expand,
    random_order,
)
from svmfast.threads import map_in_threads

#: Rows visited, and multiply-adds done (a second or two), between two looks at the clock, the checkpoint and
#: whether to stop.
SEGMENT, SEGMENT_WORK = 1 << 16, 1 << 32
#: Rows held out for probabilities: every fifth, but no more than this many (about).
MOST_HELD_OUT = 20_000
#: Training rows sampled (about) to compare candidate models on when nothing is held out.
SAMPLE = 10_000

_ORDER, _HOLD_OUT, _PICK = 1, 2, 3  # keep the seeds of different purposes apart
_MOST = 1 << 53  # of any count in a checkpoint
_UNUSED = -1  # code of rows that are not trained on

Arrays = dict[str, NDArray[Any]]


class BudgetRun:
    """The state of a training run.

    Parameters
    ----------
    source : TrainingSource
    options : BudgetTrainOptions
    validate : (Rows, (m,) float64) or None
        Rows to compare candidates on.
    threads : int
    memory : int
        Limit on the memory for the machines, in bytes.
    """

    def __init__(
        self,
        source: TrainingSource,
        options: BudgetTrainOptions,
        validate: tuple[Rows, FloatArray] | None,
        threads: int,
        memory: int,
    ) -> None:
        if source.n_rows == 0:
            raise OptionError("no rows to train on")
        self.source, self.options, self.threads, self.memory = source, options, threads, memory
        self.gamma = options.gamma or (1.0 / source.n_features if source.n_features else 1.0)
        self.classes = class_labels(source.labels) if options.is_classifier else np.zeros(0)
        if options.is_classifier and len(self.classes) == 1:
            raise SingleClassError(self.classes[0])
        # The working set at hand and its order of visits, with the pass and number they belong to.
        self._prepared: tuple[tuple[int, int], Prepared] | None = None
        self._order: tuple[tuple[int, int], NDArray[np.int64]] | None = None
        self.counts, self.selection, self.held_out = self._scan(validate)
        self.pairs = self._make_pairs(memory)
        self.epoch = self.number = self.offset = 0
        self.visited = 0
        self.seconds = 0.0
        self._carried = np.zeros((len(self.pairs), 2))

    # -- rows ----------------------------------------------------------------------------------------------

    def prepared(self, epoch: int, number: int) -> Prepared:
        """Return a working set with norms and class codes."""
        key = (0, 0) if self.source.n_sets == 1 else (epoch, number)
        if self._prepared is None or self._prepared[0] != key:
            self._prepared = None  # there is room for one
            working = self.source.working_set(self.options.seed, epoch, number)
            self._prepared = key, self._prepare(working)
        return self._prepared[1]

    def _visits(self, count: int) -> NDArray[np.int64]:
        """Return the order in which this pass visits the rows of the working set at hand."""
        key = (self.epoch, self.number)
        if self._order is None or self._order[0] != key:
            self._order = key, random_order(count, self.options.seed, *key, _ORDER)
        return self._order[1]

    def _prepare(self, working: WorkingSet) -> Prepared:
        codes = self.codes(working.labels)
        codes[self._is_held_out(working.numbers)] = _UNUSED
        return Prepared(working.rows, working.rows.squared_norms(), working.labels, codes)

    def codes(self, labels: FloatArray) -> NDArray[np.int32]:
        """Return every label's class number, -1 for none; regression has the one class 0."""
        if not self.options.is_classifier:
            return np.zeros(len(labels), dtype=np.int32)
        order = np.argsort(self.classes)
        place = np.searchsorted(self.classes[order], labels)
        place[place == len(order)] = 0
        found: NDArray[np.int32] = np.where(
            self.classes[order[place]] == labels, order[place], _UNUSED
        ).astype(np.int32)
        return found

    def _is_held_out(self, numbers: NDArray[np.int64]) -> NDArray[np.bool_]:
        share = min(0.2, MOST_HELD_OUT / self.source.n_rows) if self.options.probability else 0.0
        held = chosen(numbers, self.options.seed + _HOLD_OUT, share)
        if self.options.is_classifier:  # every class keeps a row to train on
            held &= ~np.isin(numbers, self.source.labels.first)
        return held

    def _scan(
        self, validate: tuple[Rows, FloatArray] | None
    ) -> tuple[NDArray[np.int64], Selection, Selection]:
        """Count the training rows of each class; collect held-out rows and those to compare candidates on."""
        options, source = self.options, self.source
        counts = np.zeros(max(1, len(self.classes)), dtype=np.int64)
        wanted = validate is None and options.keep != "last" and not options.probability
        held: list[tuple[Rows, FloatArray]] = []
        sample: list[tuple[Rows, FloatArray]] = []
        for number in range(source.n_sets):
            working = source.working_set(options.seed, 0, number)
            out = self._is_held_out(working.numbers)
            codes = self.codes(working.labels)
            counts += np.bincount(codes[~out], minlength=len(counts))
            held.append((working.rows.take(out), working.labels[out]))
            if wanted:
                pick = chosen(working.numbers, options.seed + _PICK, SAMPLE / source.n_rows)
                sample.append((working.rows.take(pick), working.labels[pick]))
            del working  # there is room for one
        held_out = self._select(held, "held-out rows")
        if validate is not None:
            rows, labels = validate
            return counts, Selection(rows, labels, self.codes(labels), "validation rows"), held_out
        if options.probability:
            return counts, held_out, held_out
        return counts, self._select(sample, "training rows"), held_out

    def _select(self, parts: list[tuple[Rows, FloatArray]], origin: str) -> Selection:
        rows = Rows.concatenate([rows for rows, _ in parts])
        labels = np.concatenate([np.zeros(0), *(labels for _, labels in parts)])
        own = expand(rows, self.source.columns, self.source.n_features)
        return Selection(own, labels, self.codes(labels), origin)

    # -- machines ------------------------------------------------------------------------------------------

    def _make_pairs(self, memory: int) -> list[Pair]:
        options, k = self.options, len(self.classes)
        places = [(i, j) for i in range(k) for j in range(i + 1, k)] if options.is_classifier else [(0, 0)]
        columns = len(self.source.columns)
        needed = len(places) * 8 * (options.budget + 8) * columns
        if needed > memory:
            raise MemoryLimitError(
                f"training {len(places)} times {options.budget:,} vectors with {columns:,} features",
                needed,
                memory,
                "choose a smaller budget or allow more memory",
            )
        made = []
        for first, second in places:
            count = int(self.counts[first] + (self.counts[second] if second != first else 0))
            made.append(
                Pair(first, second, count, BudgetedSgd(columns, self._step_options(first, second, count)))
            )
        return made

    def _step_options(self, first: int, second: int, count: int) -> StepOptions:
        options = self.options
        weights = dict(options.weights)
        return StepOptions(
            budget=options.budget,
            gamma=self.gamma,
            lambda_=options.lambda_ or 1.0 / (count * options.cost),
            maintenance=options.maintenance,
            loss="hinge" if options.is_classifier else "epsilon-insensitive",
            epsilon=options.p,
            weights=(
                weights.get(int(self.classes[second]), 1.0) if options.is_classifier else 1.0,
                weights.get(int(self.classes[first]), 1.0) if options.is_classifier else 1.0,
            ),
            bias=bool(options.bias),
        )

    def rows_of(
        self, pair: Pair, working: Prepared, order: NDArray[np.int64]
    ) -> tuple[TrainingBlock, NDArray[np.int64]]:
        """Return a working set as `pair` sees it, and those of the rows ``order`` it trains on."""
        codes = working.codes[order]
        if not self.options.is_classifier:
            block = TrainingBlock(working.rows, working.norms, working.labels)
            return block, order[codes != _UNUSED]
        targets = working.targets.get(pair.first)
        if targets is None:
            targets = np.where(working.codes == pair.first, 1.0, -1.0)
            if len(self.classes) * len(targets) <= 1 << 24:
                working.targets[pair.first] = targets
        mine = (codes == pair.first) | (codes == pair.second)
        return TrainingBlock(working.rows, working.norms, targets), order[mine]

    def for_pairs(self, work: Callable[[Pair], None], pairs: Sequence[Pair] | None = None) -> None:
        """Do something for every pair, or for those given, several at a time."""
        pairs = self.pairs if pairs is None else pairs
        map_in_threads(work, pairs, self.threads)

    # -- passes --------------------------------------------------------------------------------------------

    @property
    def total(self) -> int:
        """Rows to visit altogether."""
        return self.options.passes * self.source.n_rows

    @property
    def ended(self) -> bool:
        """Whether all passes are done."""
        return self.epoch >= self.options.passes

    def advance(self, checkpoint_every: int | None) -> bool:
        """Visit the next segment of rows; return whether a checkpoint is due."""
        begin = time.perf_counter()
        working = self.prepared(self.epoch, self.number)
        count = len(working.labels)
        order = self._visits(count)
        stop = min(self.offset + self._segment(working), count)
        due = False
        if checkpoint_every:
            boundary = (self.visited // checkpoint_every + 1) * checkpoint_every - self.visited
            due = self.offset + boundary <= stop
            stop = min(stop, self.offset + boundary)
        segment = order[self.offset : stop]

        def steps(pair: Pair) -> None:
            pair.machine.steps(*self.rows_of(pair, working, segment))

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
        """Return how many rows to visit at once; how they are cut changes no bit."""
        each = (working.rows.nnz / max(1, len(working.labels)) + 16) * self.options.budget
        functions = max(1, len(self.classes) - 1)  # that a row takes part in
        return max(256, min(SEGMENT, int(SEGMENT_WORK / (each * functions))))

    def _end_pass(self) -> None:
        if self.options.keep != "best":
            return

        def compare(pair: Pair) -> None:
            candidate = pair.machine.expansion()
            loss = self.loss(pair, candidate)
            if loss < pair.best_loss:
                pair.best, pair.best_loss = candidate, loss

        self.for_pairs(compare)

    def decisions(self, expansion: BudgetExpansion, rows: Rows) -> FloatArray:
        """Return an expansion's decision values of rows in the input's own columns, (n,)."""
        sv = expand(Rows.from_dense(expansion.vectors), self.source.columns, self.source.n_features)
        engine = DecisionEngine(
            Kernel("rbf", self.gamma), sv, expansion.coef[None, :], np.array([-expansion.bias]), None
        )
        return engine.decision_values(rows)[:, 0]

    def loss(self, pair: Pair, expansion: BudgetExpansion) -> float:
        """Return the share of wrong labels, or the mean squared error, on the selection rows of a pair."""
        chosen_rows = self.selection
        if not self.options.is_classifier:
            if not len(chosen_rows.labels):
                return 0.0
            residuals = self.decisions(expansion, chosen_rows.rows) - chosen_rows.labels
            return float(np.mean(residuals**2))
        mine = np.flatnonzero((chosen_rows.codes == pair.first) | (chosen_rows.codes == pair.second))
        if not len(mine):
            return 0.0
        values = self.decisions(expansion, chosen_rows.rows.take(mine))
        return float(np.mean((values > 0) != (chosen_rows.codes[mine] == pair.first)))

    def spent(self) -> tuple[float, float]:
        """Return the seconds all machines took for steps, and for maintenance within them."""
        steps = maintenance = 0.0
        for pair, (before, maintained) in zip(self.pairs, self._carried, strict=True):
            found = pair.machine.statistics()
            steps += found.seconds + float(before)
            maintenance += found.maintenance_seconds + float(maintained)
        return steps, maintenance

    # -- checkpoints ---------------------------------------------------------------------------------------

    def save(self) -> tuple[dict[str, Any], Arrays]:
        """Return all state as numbers and arrays."""
        arrays: Arrays = {}
        seconds = []
        for number, pair in enumerate(self.pairs):
            for name, array in pair.machine.save().items():
                arrays[f"pair{number}_{name}"] = array
            if pair.best is not None:
                arrays[f"pair{number}_best_vectors"] = pair.best.vectors
                arrays[f"pair{number}_best_coef"] = np.append(
                    pair.best.coef, [pair.best.bias, pair.best_loss]
                )
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
            It was saved by a run with other options or data.
        """
        try:
            for number, pair in enumerate(self.pairs):
                names = ("vectors", "slots", "inverse", "counters")
                pair.machine.restore({name: arrays[f"pair{number}_{name}"] for name in names})
                if f"pair{number}_best_coef" in arrays:
                    stored = arrays[f"pair{number}_best_coef"]
                    if stored.ndim != 1 or not np.isfinite(stored).all():
                        raise ValueError("coefficients that are no finite numbers in a row")
                    *coef, bias, loss = stored.tolist()
                    vectors = np.ascontiguousarray(arrays[f"pair{number}_best_vectors"])
                    if (
                        not np.isfinite(vectors).all()
                        or vectors.dtype != np.float64
                        or vectors.shape != (len(coef), len(self.source.columns))
                    ):
                        raise ValueError("vectors and coefficients do not fit together")
                    pair.best, pair.best_loss = BudgetExpansion(vectors, np.array(coef, float), bias), loss
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
