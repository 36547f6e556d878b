"""A budgeted training run: its decision functions, and its steps over the rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any, TypeVar

import numpy as np

from svmfast.errors import MemoryLimitError, NotFiniteError
from svmfast.kernels import DecisionEngine, Kernel
from svmfast.methods.budget import BudgetTrainOptions
from svmfast.methods.budget.rows import Prepared, RunRows
from svmfast.methods.budget.sgd import BudgetedSgd, BudgetExpansion, StepOptions
from svmfast.rows import BoolArray, FloatArray, Rows
from svmfast.solvers.row_blocks import TrainingSource
from svmfast.solvers.training_data import expand
from svmfast.threads import map_in_threads

T = TypeVar("T")

#: Limits on the rows visited and the multiply-adds (a second or two) between two reports of progress.
SEGMENT, SEGMENT_WORK = 1 << 16, 1 << 32
#: Names of what is kept for a pair.
_KEPT = ("vectors", "coef", "bias", "first", "counts")


@dataclass(eq=False)
class Pair:
    """One decision function: class `first` against `second`, or the regression function (0, 0)."""

    first: int
    second: int
    #: Number of training rows.
    count: int
    machine: BudgetedSgd = field(init=False)


@dataclass(eq=False)
class Descended:
    """What the descent of a run has found, for each pair."""

    expansions: list[BudgetExpansion]
    #: (m,) which vectors come from rows of the pair's first class; the sign of a refitted coefficient does
    #: not tell.
    first_class: list[BoolArray]
    #: Steps, and those with a full budget.
    counts: list[tuple[int, int]]

    def arrays(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for k, one in enumerate(self.expansions):
            values = (one.vectors, one.coef, one.bias, self.first_class[k], self.counts[k])
            found.update(zip((f"{name}{k}" for name in _KEPT), values, strict=True))
        return found

    @classmethod
    def of(cls, arrays: Mapping[str, Any]) -> Descended:
        found = cls([], [], [])
        for k in range(len(arrays) // len(_KEPT)):
            vectors, coef, bias, first, (steps, full) = (arrays[f"{name}{k}"] for name in _KEPT)
            found.expansions.append(BudgetExpansion(vectors, coef, float(bias)))
            found.first_class.append(first)
            found.counts.append((int(steps), int(full)))
        return found


class BudgetRun:
    """The state of a training run."""

    def __init__(self, source: TrainingSource, options: BudgetTrainOptions, threads: int = 1) -> None:
        self.source, self.options, self.threads = source, options, threads
        self.rows = RunRows(source, options, threads)
        self.gamma = options.gamma or (1.0 / source.n_features if source.n_features else 1.0)
        self.pairs = self._new_pairs()
        #: The next pass, working set, and position within its order.
        self.epoch = self.number = self.offset = 0
        #: Rows visited so far.
        self.visited = 0

    def _new_pairs(self) -> list[Pair]:
        options, rows, columns = self.options, self.rows, len(self.source.columns)
        k = len(rows.classes)
        places = [(i, j) for i in range(k) for j in range(i + 1, k)] if options.is_classifier else [(0, 0)]
        needed = len(places) * 8 * (options.budget + 8) * columns
        if needed > options.memory:
            what = f"training {len(places)} times {options.budget:,} vectors with {columns:,} features"
            advice = "choose a smaller budget or allow more memory"
            raise MemoryLimitError(what, needed, options.memory, advice)
        made = []
        for first, second in places:
            count = int(rows.counts[first] + (rows.counts[second] if second != first else 0))
            pair = Pair(first, second, count)
            # The descent visits a share of the rows, and its steps shrink with their number.
            visited = max(1, round(count * rows.division.drawn))
            pair.machine = BudgetedSgd(columns, self.step_options(pair, visited))
            made.append(pair)
        return made

    def step_options(self, pair: Pair, rows: int | None = None) -> StepOptions:
        """The problem of a pair with `rows` rows, by default with all training rows."""
        options, negative, positive = self.options, 1.0, 1.0
        if options.is_classifier:
            labels = self.rows.classes[[pair.second, pair.first]]
            negative, positive = (prod(w for own, w in options.weights if own == label) for label in labels)
        return StepOptions(
            budget=options.budget,
            gamma=self.gamma,
            lambda_=options.lambda_ or 1.0 / ((rows or pair.count) * options.cost),
            maintenance=options.maintenance,
            loss="hinge" if options.is_classifier else "epsilon-insensitive",
            epsilon=options.p,
            weights=(negative, positive),
            bias=bool(options.bias),
        )

    def for_pairs(self, work: Callable[[Pair], T]) -> list[T]:
        return map_in_threads(work, self.pairs, self.threads)

    def decisions(self, expansion: BudgetExpansion, rows: Rows) -> FloatArray:
        sv = expand(Rows.from_dense(expansion.vectors), self.source.columns, self.source.n_features)
        engine = DecisionEngine(
            Kernel("rbf", self.gamma), sv, expansion.coef[None, :], np.array([-expansion.bias]), None
        )
        return engine.decision_values(rows)[:, 0]

    def loss(self, pair: Pair, expansion: BudgetExpansion) -> float:
        """The share of wrong labels, weighted as in training, or the mean squared error, on selected rows."""
        if not self.options.is_classifier:
            rows, labels = self.rows.selection.rows, self.rows.selection.labels
            if not len(labels):
                return 0.0
            return float(np.mean((self.decisions(expansion, rows) - labels) ** 2))
        rows, positive = self.rows.selection.of_pair(pair.first, pair.second)
        if not len(positive):
            return 0.0
        wrong = (self.decisions(expansion, rows) > 0) != positive
        negative_weight, positive_weight = self.step_options(pair).weights
        return float(np.average(wrong, weights=np.where(positive, positive_weight, negative_weight)))

    @property
    def total(self) -> int:
        return self.options.passes * self.rows.descent.n_rows

    @property
    def ended(self) -> bool:
        return self.epoch >= self.options.passes

    def advance(self) -> None:
        """Visit the next rows."""
        working = self.rows.prepared(self.epoch, self.number)
        count = len(working.labels)
        order = self.rows.visits(self.epoch, self.number, count)
        stop = min(self.offset + self._segment(working), count)
        segment = order[self.offset : stop]
        self.for_pairs(
            lambda pair: pair.machine.steps(*self.rows.of_pair(pair.first, pair.second, working, segment))
        )
        self.visited += len(segment)
        self.offset = stop
        if self.offset == count:
            self.offset, self.number = 0, self.number + 1
            if self.number == self.rows.descent.n_sets:
                self.number, self.epoch = 0, self.epoch + 1

    def descended(self) -> Descended:
        """What the steps so far have found."""

        def last(pair: Pair) -> BudgetExpansion:
            taken = pair.machine.expansion()
            for what, values in (
                ("coefficients", taken.coef),
                ("a bias", np.array(taken.bias)),
                ("support vectors", taken.vectors),
            ):
                if not np.isfinite(values).all():
                    raise NotFiniteError(
                        f"training ended with {what} outside the range of floating point; "
                        f"lambda is {pair.machine.options.lambda_:g}, gamma {self.gamma:g}"
                    )
            return taken

        found = self.for_pairs(last)
        counts = [pair.machine.counts() for pair in self.pairs]
        return Descended(found, [one.coef > 0 for one in found], counts)

    def _segment(self, working: Prepared) -> int:
        """How many rows to visit at once; the result does not depend on it."""
        each = (working.rows.nnz / max(1, len(working.labels)) + 16) * self.options.budget
        functions = max(1, len(self.rows.classes) - 1)  # for which a row is used
        return max(256, min(SEGMENT, int(SEGMENT_WORK / (each * functions))))
