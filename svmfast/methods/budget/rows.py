"""The rows of a budgeted training run: training rows by class, held-out rows, and rows for comparisons.

The rows of a working set are visited in one seeded order, and a pair trains on those of its two classes.
Pairs are therefore independent of each other and of the number of threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from svmfast.caches import cached
from svmfast.errors import OptionError, SingleClassError
from svmfast.methods.budget import BudgetTrainOptions
from svmfast.methods.budget.sgd import TrainingBlock
from svmfast.rows import BoolArray, FloatArray, IntArray, Rows
from svmfast.solvers.row_blocks import TrainingSource
from svmfast.solvers.training_data import WorkingSet, WorkingSets, chosen, class_labels, expand, random_order

#: A fifth of the rows is held out for probabilities, but no more than about this many.
MOST_HELD_OUT = 20_000
#: If no rows are held out, candidate models are compared on about this many training rows.
SAMPLE = 10_000

_ORDER, _HOLD_OUT, _PICK, _DRAW, _FIT = 1, 2, 3, 4, 5  # each purpose has its own seed
_UNUSED = -1  # code of rows that are not trained on

Codes = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Division:
    """The purpose of each row, by its number in the input, and the number of its class."""

    seed: int
    #: (k,) labels in LIBSVM's order; empty for regression.
    classes: FloatArray
    #: Numbers of the first rows of the classes, or of all rows: every class keeps a training row.
    first: IntArray
    #: The shares of the rows that are held out, used for comparisons, and visited.
    held: float
    picked: float
    drawn: float

    def codes(self, labels: FloatArray) -> Codes:
        """Number the class of each label; regression has only class 0."""
        if not len(self.classes):
            return np.zeros(len(labels), dtype=np.int32)
        order = np.argsort(self.classes)
        return order[np.searchsorted(self.classes[order], labels)].astype(np.int32)

    def training_codes(self, rows: WorkingSet) -> Codes:
        """The codes of rows, with -1 for those that are held out."""
        codes = self.codes(rows.labels)
        codes[self.is_held_out(rows.numbers)] = _UNUSED
        return codes

    def is_held_out(self, numbers: IntArray) -> BoolArray:
        held = chosen(numbers, self.seed + _HOLD_OUT, self.held)
        return held & ~np.isin(numbers, self.first) if self.held else held

    def is_picked(self, numbers: IntArray) -> BoolArray:
        return chosen(numbers, self.seed + _PICK, self.picked)


def _drawn(block: WorkingSet, division: Division) -> BoolArray:
    """Mark the rows to visit if they are not all rows."""
    numbers = block.numbers
    found = chosen(numbers, division.seed + _DRAW, division.drawn) | np.isin(numbers, division.first)
    return found & ~division.is_held_out(numbers)


def _divided(
    block: WorkingSet, division: Division
) -> tuple[IntArray, tuple[Rows, FloatArray], tuple[Rows, FloatArray]]:
    """Count the training rows of each class; take the held-out rows and those for comparisons."""
    codes = division.training_codes(block)
    counts = np.bincount(codes[codes != _UNUSED], minlength=max(1, len(division.classes)))
    out, picked = division.is_held_out(block.numbers), division.is_picked(block.numbers)
    return (
        counts,
        (block.rows.take(out), block.labels[out]),
        (block.rows.take(picked), block.labels[picked]),
    )


def _fitted(block: WorkingSet, asked: tuple[Division, float]) -> tuple[Rows, FloatArray, Codes]:
    """Some of the rows, with their labels and codes."""
    division, share = asked
    codes = division.training_codes(block)
    mask = chosen(block.numbers, division.seed + _FIT, share)
    return block.rows.take(mask), block.labels[mask], codes[mask]


@dataclass(eq=False)
class Prepared:
    """A working set, with the norms, class numbers and targets that the machines need."""

    rows: Rows
    norms: FloatArray
    labels: FloatArray
    codes: Codes
    targets: dict[int, FloatArray] = field(default_factory=dict)


@dataclass(eq=False)
class Selection:
    """Rows in the input's own columns, for comparisons or probabilities."""

    rows: Rows
    labels: FloatArray
    codes: Codes

    def of_pair(self, first: int, second: int) -> tuple[Rows, BoolArray]:
        """Take the rows of two classes; mark those of the first."""
        mine = np.flatnonzero((self.codes == first) | (self.codes == second))
        return self.rows.take(mine), self.codes[mine] == first


class RunRows:
    """The rows of a run, divided by purpose."""

    def __init__(self, source: TrainingSource, options: BudgetTrainOptions, threads: int = 1) -> None:
        if source.n_rows == 0:
            raise OptionError("no rows to train on")
        self.source, self.options, self._threads = source, options, threads
        #: (k,) labels in LIBSVM's order; empty for regression.
        self.classes = class_labels(source.labels) if options.is_classifier else np.zeros(0)
        if options.is_classifier and len(self.classes) == 1:
            raise SingleClassError(self.classes[0])
        wanted = options.keep != "last" and not options.probability
        self.division = Division(
            options.seed,
            self.classes,
            np.array(source.labels.first if options.is_classifier else [0], dtype=np.int64),
            held=min(0.2, self._share(MOST_HELD_OUT)) if options.probability else 0.0,
            picked=self._share(SAMPLE) if wanted else 0.0,
            drawn=min(1.0, options.sample / source.n_rows),
        )
        # The current working set and its order of visits, each with its pass and number.
        self._prepared: tuple[tuple[int, int], Prepared] | None = None
        self._order: tuple[tuple[int, int], IntArray] | None = None
        #: (max(k, 1),) training rows of each class.
        self.counts: IntArray
        #: Rows on which candidates are compared, and on which the probabilities are fitted.
        self.selection: Selection
        self.held_out: Selection
        self._divide(threads)

    @cached
    def descent(self) -> WorkingSets:
        """The rows that are visited."""
        return self.source.working_sets(_drawn if self._samples else None, self.division, self._threads)

    @property
    def _samples(self) -> bool:
        return self.division.drawn < 1

    def prepared(self, epoch: int, number: int) -> Prepared:
        """Read a working set, with norms and class codes; the last one is kept."""
        key = (0, 0) if self.descent.n_sets == 1 else (epoch, number)
        if self._prepared is None or self._prepared[0] != key:
            self._prepared = None  # memory holds one working set
            working = self.descent.working_set(self.options.seed, epoch, number)
            # Rows that are drawn are numbered anew, and none of them is held out.
            division = self.division
            codes = division.codes(working.labels) if self._samples else division.training_codes(working)
            found = Prepared(working.rows, working.rows.squared_norms(), working.labels, codes)
            self._prepared = key, found
        return self._prepared[1]

    def forget(self) -> None:
        """Free the working set after the last visit."""
        self._prepared = self._order = None

    def visits(self, epoch: int, number: int, count: int) -> IntArray:
        """Draw the order in which a pass visits the `count` rows of a working set."""
        key = (epoch, number)
        if self._order is None or self._order[0] != key:
            self._order = key, random_order(count, self.options.seed, *key, _ORDER)
        return self._order[1]

    def fitted(self, most: int, pairs: Sequence[tuple[int, int]], threads: int) -> list[TrainingBlock]:
        """At most `most` training rows of each pair of classes, or for regression of all."""
        fewest = min(int(self.counts[sorted({*pair})].sum()) for pair in pairs)
        share = self._share(most * self.source.n_rows // max(1, fewest))
        parts = list(self.source.each(_fitted, (self.division, share), threads))
        rows = Rows.concatenate([part[0] for part in parts])
        labels, codes = (np.concatenate([part[k] for part in parts]) for k in (1, 2))
        norms, blocks = rows.squared_norms(), []
        for first, second in pairs:
            mine = np.flatnonzero((codes == first) | (codes == second))
            if len(mine) > most:
                mine = mine[np.arange(most) * len(mine) // most]
            targets = np.where(codes[mine] == first, 1.0, -1.0) if len(self.classes) else labels[mine]
            blocks.append(TrainingBlock(rows.take(mine), norms[mine], targets))
        return blocks

    def _share(self, most: int) -> float:
        """The share that about `most` rows are, in a quarter of the memory."""
        share, needed, memory = most / self.source.n_rows, self.source.n_bytes, self.options.memory
        return share if needed <= memory // 2 else min(share, memory / 4 / needed)

    def _divide(self, threads: int) -> None:
        counts = np.zeros(max(1, len(self.classes)), dtype=np.int64)
        held, picked = [], []
        for own, out, some in self.source.each(_divided, self.division, threads):
            counts += own
            held.append(out)
            picked.append(some)
        self.counts, self.held_out = counts, self._select(held)
        self.selection = self.held_out if self.options.probability else self._select(picked)

    def _select(self, parts: list[tuple[Rows, FloatArray]]) -> Selection:
        rows = Rows.concatenate([rows for rows, _ in parts])
        labels = np.concatenate([np.zeros(0), *(labels for _, labels in parts)])
        own = expand(rows, self.source.columns, self.source.n_features)
        return Selection(own, labels, self.division.codes(labels))

    def of_pair(
        self, first: int, second: int, working: Prepared, order: IntArray
    ) -> tuple[TrainingBlock, IntArray]:
        """A working set with the targets of two classes, and those of the rows ``order`` to train on."""
        if not self.options.is_classifier:
            block = TrainingBlock(working.rows, working.norms, working.labels)
            return block, order[working.codes[order] != _UNUSED]
        targets = working.targets.get(first)
        if targets is None:
            targets = np.where(working.codes == first, 1.0, -1.0)
            if len(self.classes) * len(targets) <= 1 << 24:
                working.targets[first] = targets
        block = TrainingBlock(working.rows, working.norms, targets)
        if self.counts[[first, second]].sum() == self.source.n_rows:  # two classes, no row held out
            return block, order
        codes = working.codes[order]
        return block, order[(codes == first) | (codes == second)]
