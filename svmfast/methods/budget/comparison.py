"""The comparison of a pair's iterates by their loss on selection rows."""

from __future__ import annotations

import numpy as np

from svmfast.kernels import DecisionEngine, Kernel
from svmfast.methods.budget.pairs import Pair
from svmfast.methods.budget.run_rows import RunRows
from svmfast.methods.budget.sgd import BudgetExpansion
from svmfast.rows import FloatArray, Rows
from svmfast.solvers.training_data import expand


class Comparison:
    """Measures expansions of one gamma on the selection rows of a run."""

    def __init__(self, rows: RunRows, gamma: float) -> None:
        self.rows, self.gamma = rows, gamma

    def decisions(self, expansion: BudgetExpansion, rows: Rows) -> FloatArray:
        """Return an expansion's decision values ``(n,)`` for rows in the input's own columns."""
        sv = expand(Rows.from_dense(expansion.vectors), self.rows.source.columns, self.rows.source.n_features)
        engine = DecisionEngine(
            Kernel("rbf", self.gamma), sv, expansion.coef[None, :], np.array([-expansion.bias]), None
        )
        return engine.decision_values(rows)[:, 0]

    def loss(self, pair: Pair, expansion: BudgetExpansion) -> float:
        """Return the share of wrong labels, or the mean squared error, on the selection rows of a pair."""
        chosen_rows = self.rows.selection
        if not self.rows.options.is_classifier:
            if not len(chosen_rows.labels):
                return 0.0
            residuals = self.decisions(expansion, chosen_rows.rows) - chosen_rows.labels
            return float(np.mean(residuals**2))
        mine = np.flatnonzero((chosen_rows.codes == pair.first) | (chosen_rows.codes == pair.second))
        if not len(mine):
            return 0.0
        values = self.decisions(expansion, chosen_rows.rows.take(mine))
        return float(np.mean((values > 0) != (chosen_rows.codes[mine] == pair.first)))
