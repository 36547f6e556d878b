"""The rows of a budgeted training run: training rows by class, held-out rows, and rows for comparisons.

The rows of a working set are visited in one seeded order, and a pair trains on those of its two classes.
Pairs are therefore independent of each other and of the number of threads.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from svmfast.errors import OptionError, SingleClassError
from svmfast.methods.budget import BudgetTrainOptions
from svmfast.methods.budget.sgd import TrainingBlock
from svmfast.rows import BoolArray, FloatArray, IntArray, Rows
from svmfast.solvers.training_data import TrainingSource, chosen, class_labels, expand, random_order

#: A fifth of the rows is held out for probabilities, but no more than about this many.
MOST_HELD_OUT = 20_000
#: If no rows are held out, candidate models are compared on about this many training rows.
SAMPLE = 10_000

_ORDER, _HOLD_OUT, _PICK = 1, 2, 3  # each purpose has its own seed
_UNUSED = -1  # code of rows that are not trained on


@dataclass(eq=False)
class Prepared:
    """A working set, with the norms, class numbers and targets that the machines need."""

    rows: Rows
    norms: FloatArray
    labels: FloatArray
    codes: NDArray[np.int32]
    targets: dict[int, FloatArray] = field(default_factory=dict)


@dataclass(eq=False)
class Selection:
    """Rows in the input's own columns, for comparisons or probabilities; code -1 is an unknown class."""

    rows: Rows
    labels: FloatArray
    codes: NDArray[np.int32]

    def of_pair(self, first: int, second: int) -> tuple[Rows, BoolArray]:
        """Take the rows of two classes; mark those of the first."""
        mine = np.flatnonzero((self.codes == first) | (self.codes == second))
        return self.rows.take(mine), self.codes[mine] == first


class RunRows:
    """The rows of a run, divided by purpose; candidates are compared on the rows of `validate`, if given."""

    def __init__(
        self,
        source: TrainingSource,
        options: BudgetTrainOptions,
        validate: tuple[Rows, FloatArray] | None,
    ) -> None:
        if source.n_rows == 0:
            raise OptionError("no rows to train on")
        self.source, self.options = source, options
        #: (k,) labels in LIBSVM's order; empty for regression.
        self.classes = class_labels(source.labels) if options.is_classifier else np.zeros(0)
        if options.is_classifier and len(self.classes) == 1:
            raise SingleClassError(self.classes[0])
        # The current working set and its order of visits, each with its pass and number.
        self._prepared: tuple[tuple[int, int], Prepared] | None = None
        self._order: tuple[tuple[int, int], IntArray] | None = None
        #: (max(k, 1),) training rows of each class.
        self.counts: IntArray
        #: Rows on which candidates are compared, and on which the probabilities are fitted.
        self.selection: Selection
        self.held_out: Selection
        self._scan(validate)

    def prepared(self, epoch: int, number: int) -> Prepared:
        """Read a working set, with norms and class codes; the last one is kept."""
        key = (0, 0) if self.source.n_sets == 1 else (epoch, number)
        if self._prepared is None or self._prepared[0] != key:
            self._prepared = None  # memory holds one working set
            working = self.source.working_set(self.options.seed, epoch, number)
            codes = self.codes(working.labels)
            codes[self._is_held_out(working.numbers)] = _UNUSED
            found = Prepared(working.rows, working.rows.squared_norms(), working.labels, codes)
            self._prepared = key, found
        return self._prepared[1]

    def visits(self, epoch: int, number: int, count: int) -> IntArray:
        """Draw the order in which a pass visits the `count` rows of a working set."""
        key = (epoch, number)
        if self._order is None or self._order[0] != key:
            self._order = key, random_order(count, self.options.seed, *key, _ORDER)
        return self._order[1]

    def codes(self, labels: FloatArray) -> NDArray[np.int32]:
        """Number the class of each label, -1 for an unknown one; regression has only class 0."""
        if not self.options.is_classifier:
            return np.zeros(len(labels), dtype=np.int32)
        order = np.argsort(self.classes)
        place = np.searchsorted(self.classes[order], labels)
        place[place == len(order)] = 0
        found: NDArray[np.int32] = np.where(
            self.classes[order[place]] == labels, order[place], _UNUSED
        ).astype(np.int32)
        return found

    def _share(self, most: int) -> float:
        """The share that about `most` rows are, at most half a working set: memory has no more."""
        share = most / self.source.n_rows
        return share if self.source.n_sets == 1 else min(share, 0.5 / self.source.n_sets)

    def _is_held_out(self, numbers: IntArray) -> BoolArray:
        share = min(0.2, self._share(MOST_HELD_OUT)) if self.options.probability else 0.0
        held = chosen(numbers, self.options.seed + _HOLD_OUT, share)
        if self.options.is_classifier:  # every class keeps a training row
            held &= ~np.isin(numbers, self.source.labels.first)
        return held

    def _scan(self, validate: tuple[Rows, FloatArray] | None) -> None:
        """Count the training rows of each class, and collect the held-out rows and the selection rows."""
        options, source = self.options, self.source
        self.counts = np.zeros(max(1, len(self.classes)), dtype=np.int64)
        wanted = validate is None and options.keep != "last" and not options.probability
        held: list[tuple[Rows, FloatArray]] = []
        sample: list[tuple[Rows, FloatArray]] = []
        for number in range(source.n_sets):
            working = source.working_set(options.seed, 0, number)
            out = self._is_held_out(working.numbers)
            self.counts += np.bincount(self.codes(working.labels)[~out], minlength=len(self.counts))
            held.append((working.rows.take(out), working.labels[out]))
            if wanted:
                pick = chosen(working.numbers, options.seed + _PICK, self._share(SAMPLE))
                sample.append((working.rows.take(pick), working.labels[pick]))
            del working  # memory holds one working set
        self.held_out = self.selection = self._select(held)
        if validate is not None:
            rows, labels = validate
            self.selection = Selection(rows, labels, self.codes(labels))
        elif not options.probability:
            self.selection = self._select(sample)

    def _select(self, parts: list[tuple[Rows, FloatArray]]) -> Selection:
        rows = Rows.concatenate([rows for rows, _ in parts])
        labels = np.concatenate([np.zeros(0), *(labels for _, labels in parts)])
        own = expand(rows, self.source.columns, self.source.n_features)
        return Selection(own, labels, self.codes(labels))

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
