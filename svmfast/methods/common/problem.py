"""What a model of rows is fitted to: classes, real values, or the decision values of an exact model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from svmfast.methods.common.class_targets import svc_targets
from svmfast.methods.common.class_weights import row_weights
from svmfast.methods.common.head_score import head_quality, value_quality
from svmfast.models.head import Head
from svmfast.rows import FloatArray, Rows
from svmfast.score import Quality


@dataclass(frozen=True, eq=False)
class Problem:
    """n rows with the targets of p functions."""

    rows: Rows
    #: (n, p): +1 and -1, in one column for each class or a single one for two classes; or any values.
    targets: FloatArray
    #: The head of the model.
    head: Head
    #: ``squared_hinge``, for classes, or ``squares``.
    loss: str
    #: (n,) weights of the rows' classes, by which C is multiplied.
    weights: FloatArray | None = None
    #: Vectors of an exact model and their squared coefficients, the weights for k-means.
    vectors: tuple[Rows, FloatArray] | None = None

    @classmethod
    def of_classes(
        cls,
        rows: Rows,
        labels: FloatArray,
        weights: Sequence[tuple[int, float]] = (),
        *,
        pairs: bool = False,
    ) -> Problem:
        """Return the problem of integer labels; with `pairs`, the model votes as LIBSVM does."""
        head, targets = svc_targets(labels, pairs=pairs)
        return cls(rows, targets, head, "squared_hinge", row_weights(weights, labels))

    @classmethod
    def of_values(cls, rows: Rows, values: FloatArray) -> Problem:
        """Return the problem of regression."""
        return cls(rows, np.ascontiguousarray(values[:, None]), Head("epsilon_svr"), "squares")

    @property
    def hinge(self) -> bool:
        """Whether the targets are classes."""
        return self.loss == "squared_hinge"

    def only(self, chosen: NDArray[np.int64] | NDArray[np.bool_]) -> Problem:
        """Return the problem with only some of the rows."""
        weights = None if self.weights is None else self.weights[chosen]
        return replace(self, rows=self.rows.take(chosen), targets=self.targets[chosen], weights=weights)

    @property
    def truth(self) -> FloatArray:
        """The labels or the values of the data, ``(n,)``."""
        if not self.hinge:
            return self.targets[:, 0]
        assert self.head.labels is not None
        if self.targets.shape[1] == 1:
            which = (self.targets[:, 0] <= 0).astype(np.int64)
        else:
            which = np.argmax(self.targets, axis=1)
        labels: FloatArray = self.head.labels[which].astype(np.float64)
        return labels

    def quality(self, head: Head, decisions: FloatArray) -> Quality:
        """Compare a model's decision values of the first rows with the targets.

        `head` is the model's; its labels may have another order.
        """
        n = len(decisions)
        if self.hinge:
            return head_quality(head, decisions, self.truth[:n])
        return value_quality(decisions, self.targets[:n])
