"""A model that compare measures, for the figures of evaluation/result.py."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from svmfast.caches import cached
from svmfast.evaluation.timing import first_call
from svmfast.models.answer import Answer, answer
from svmfast.models.base import Model
from svmfast.models.certified import certified_rows
from svmfast.models.scaled import counted_work, with_scaling
from svmfast.models.scaling import Scaling
from svmfast.rows import FloatArray, Rows
from svmfast.score import Quality, percent, quality, values_differing_percent
from svmfast.solvers.intervals import upper_limit

#: A call that takes this many seconds needs no warm-up.
SLOW = 1.0


@dataclass(frozen=True)
class ComparedModel:
    """A model in a comparison, with its name in the report and the properties of its file."""

    path: str
    model: Model
    n_bytes: int | None = None
    #: Hash of the file, and the source recorded in it, ``sha256:...``.
    sha256: str | None = None
    source: str | None = None


@dataclass(frozen=True, eq=False)
class Given:
    """The rows of a comparison and their targets.

    The models take the rows `timed`, which are `rows` or, if there is a `scaling`, some of them, scaled; the
    time of the scaling is not counted.
    """

    rows: Rows
    timed: Rows
    targets: FloatArray
    scaling: Scaling | None
    threads: int


class Subject:
    """A model under measurement; `exact` is the subject of the exact model, None for that model itself."""

    def __init__(self, entrant: ComparedModel, given: Given, exact: Subject | None = None) -> None:
        self.entrant, self.given, self.model, self.head = entrant, given, entrant.model, entrant.model.head
        self.exact = exact or self
        # The exact model with which ``predict MODEL`` answers the rows that the model leaves open: none for
        # regression, where a tolerance that only the user knows decides which rows are open.
        leaves_open = self.model.has_error_bound and not self.head.is_regression
        self._inside = self.model.embedded_exact if leaves_open else None
        self._unscaled: Any = with_scaling(self.model, given.scaling)  # for rows as read
        self.answer, self.seconds = first_call(self.call, slow=SLOW)
        if len(given.timed) < len(given.rows):
            self.answer = answer(self._unscaled, given.rows, exact=self._inside, threads=given.threads)

    def call(self) -> Answer:
        """Answer the timed rows as predict does."""
        return answer(self.model, self.given.timed, exact=self._inside, threads=self.given.threads)

    @cached
    def quality(self) -> Quality:
        """Scores against the targets."""
        found = self.answer
        return quality(
            found.predicted,
            self.given.targets,
            regression=self.head.is_regression,
            decisions=found.decisions,
            sides=self.head.sides,
        )

    @cached
    def labels_differing(self) -> int | None:
        """Rows whose label is not the exact model's; None for regression."""
        if self.exact.head.is_regression:
            return None
        return int(np.count_nonzero(self.answer.predicted != self.exact.answer.predicted))

    @property
    def labels_differing_limit_percent(self) -> float | None:
        """The upper confidence bound of such rows, in percent; None for the exact model itself."""
        differing, rows = self.labels_differing, len(self.given.rows)
        if differing is None or self.exact is self:
            return None
        sha256 = self.exact.entrant.sha256
        proven = self._inside is not None and self.model.certifies
        if proven and not differing and sha256 is not None and self.entrant.source == f"sha256:{sha256}":
            return 0.0
        return 100 * upper_limit(differing, rows)

    @property
    def values_differing_percent(self) -> float | None:
        """How far values are from the exact model's; None for labels."""
        if not self.exact.head.is_regression:
            return None
        return values_differing_percent(self.answer.predicted, self.exact.answer.predicted)

    @cached
    def exact_share(self) -> float | None:
        """The share of the rows that the embedded exact model answers; None without one."""
        return None if self._inside is None else float(np.mean(~np.asarray(self.answer.certified)))

    @cached
    def errors(self) -> tuple[float, float] | None:
        """Mean and largest error of the values that predict prints: the exact model's for rows left to it."""
        if not self.head.same_functions(self.exact.head):
            return None
        values = self.answer.decisions
        if not values.size:
            return 0.0, 0.0
        difference = np.abs(values - self.exact.answer.decisions)
        return float(difference.mean()), float(difference.max())

    @cached
    def certificate(self) -> tuple[int | None, float | None]:
        """Rows that break the certificate, and percent of certified rows.

        None if the model has none, or is known to be made from another exact model.
        """
        model, head, sha256 = self.model, self.head, self.exact.entrant.sha256
        other = None not in (sha256, self.entrant.source) and self.entrant.source != f"sha256:{sha256}"
        if not model.certifies or other:
            return None, None
        decisions, bounds = self._unscaled.certified_values(self.given.rows, threads=self.given.threads)
        broken = (np.abs(decisions - self.exact.answer.decisions) > bounds).any(axis=1)
        violations = int(np.count_nonzero(broken))
        if head.is_regression:
            return violations, None
        return violations, percent(
            int(np.count_nonzero(certified_rows(head, decisions, bounds))), len(broken)
        )

    @cached
    def multiply_adds(self) -> float:
        """Multiply-adds per dense row, on average over the rows."""
        given = self.given
        return counted_work(self.model, given.rows, self._inside, self.exact_share, given.scaling)

    @property
    def linear_multiply_adds(self) -> int:
        """The multiply-adds of a linear model for the exact model's functions."""
        return self.exact.head.linear_functions * self.given.timed.n_columns
