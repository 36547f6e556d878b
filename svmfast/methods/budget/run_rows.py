"""The rows of a budgeted training run: training rows by class, held-out rows, and rows for comparisons.

The rows of a working set are visited in one seeded order, and a pair trains on those of its two classes.
Pairs are therefore independent of each other and of the number of threads.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmfast.errors import OptionError, SingleClassError
from svmfast.methods.budget.options import BudgetTrainOptions
from svmfast.methods.budget.pairs import Pair, Prepared, Selection
from svmfast.methods.budget.sgd import TrainingBlock
from svmfast.rows import FloatArray, Rows
from svmfast.solvers.training_data import (
    TrainingSource,
    WorkingSet,
    chosen,
    class_labels,
    expand,
    random_order,
)

#: A fifth of the rows is held out for probabilities, but no more than about this many.
MOST_HELD_OUT = 20_000
#: If no rows are held out, candidate models are compared on about this many training rows.
SAMPLE = 10_000

_ORDER, _HOLD_OUT, _PICK = 1, 2, 3  # each purpose has its own seed
_UNUSED = -1  # code of rows that are not trained on


class RunRows:
    """The rows of a run, divided by purpose.

    Parameters
    ----------
    source : TrainingSource
    options : BudgetTrainOptions
    validate : (Rows, (m,) float64) or None
        Rows to compare candidates on.

    Attributes
    ----------
    classes : (k,) float64
        Labels in LIBSVM's order; empty for regression.
    counts : (max(k, 1),) int64
        Training rows of each class.
    selection : Selection
        Rows on which candidates are compared.
    held_out : Selection
        Rows on which the probabilities are fitted.
    """

    def __init__(
        self,
        source: TrainingSource,
        options: BudgetTrainOptions,
        validate: tuple[Rows, FloatArray] | None,
    ) -> None:
        if source.n_rows == 0:
            raise OptionError("no rows to train on")
        self.source, self.options = source, options
        self.classes = class_labels(source.labels) if options.is_classifier else np.zeros(0)
        if options.is_classifier and len(self.classes) == 1:
            raise SingleClassError(self.classes[0])
        # The current working set and its order of visits, each with its pass and number.
        self._prepared: tuple[tuple[int, int], Prepared] | None = None
        self._order: tuple[tuple[int, int], NDArray[np.int64]] | None = None
        self.counts, self.selection, self.held_out = self._scan(validate)

    def prepared(self, epoch: int, number: int) -> Prepared:
        """Return a working set with norms and class codes."""
        key = (0, 0) if self.source.n_sets == 1 else (epoch, number)
        if self._prepared is None or self._prepared[0] != key:
            self._prepared = None  # memory holds one working set
            working = self.source.working_set(self.options.seed, epoch, number)
            self._prepared = key, self._prepare(working)
        return self._prepared[1]

    def visits(self, epoch: int, number: int, count: int) -> NDArray[np.int64]:
        """Return the order in which a pass visits the `count` rows of a working set."""
        key = (epoch, number)
        if self._order is None or self._order[0] != key:
            self._order = key, random_order(count, self.options.seed, *key, _ORDER)
        return self._order[1]

    def _prepare(self, working: WorkingSet) -> Prepared:
        codes = self.codes(working.labels)
        codes[self._is_held_out(working.numbers)] = _UNUSED
        return Prepared(working.rows, working.rows.squared_norms(), working.labels, codes)

    def codes(self, labels: FloatArray) -> NDArray[np.int32]:
        """Return the class number of each label, -1 for an unknown one; regression has only class 0."""
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
        """Return the share that about `most` rows are, at most half a working set: memory has no more."""
        share = most / self.source.n_rows
        return share if self.source.n_sets == 1 else min(share, 0.5 / self.source.n_sets)

    def _is_held_out(self, numbers: NDArray[np.int64]) -> NDArray[np.bool_]:
        share = min(0.2, self._share(MOST_HELD_OUT)) if self.options.probability else 0.0
        held = chosen(numbers, self.options.seed + _HOLD_OUT, share)
        if self.options.is_classifier:  # every class keeps a training row
            held &= ~np.isin(numbers, self.source.labels.first)
        return held

    def _scan(
        self, validate: tuple[Rows, FloatArray] | None
    ) -> tuple[NDArray[np.int64], Selection, Selection]:
        """Count the training rows of each class, and collect the held-out rows and the selection rows."""
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
                pick = chosen(working.numbers, options.seed + _PICK, self._share(SAMPLE))
                sample.append((working.rows.take(pick), working.labels[pick]))
            del working  # memory holds one working set
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

    def of_pair(
        self, pair: Pair, working: Prepared, order: NDArray[np.int64]
    ) -> tuple[TrainingBlock, NDArray[np.int64]]:
        """Return a working set with `pair`'s targets, and those of the rows ``order`` that it trains on."""
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
