"""Joining a fast model and the exact one, with a statistical guarantee of how many labels differ.

The fast model answers a row only if an error of `error` in every decision value could not change its label.
On n rows like those to come, both labels are known. The smallest error is chosen for which few enough of the
answered rows differ: their share among all rows is below the limit with the requested confidence (Clopper and
Pearson's binomial limit). Choosing the smallest costs no confidence: a larger error answers fewer rows, so
the true share falls as the error grows, and only an error whose own count was too small by chance can be
chosen wrongly (the nested case of Geifman and El-Yaniv, "Selective Classification for Deep Neural Networks",
NIPS 2017).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from svmfast.class_scores import KeptLabels, class_scores
from svmfast.display import count
from svmfast.errors import OptionError, UnsupportedError
from svmfast.figures import Figures, computed, figure
from svmfast.methods.cascade import CascadeOptions
from svmfast.methods.cascade.threshold import Chosen, Evaluated, choose, least_rows
from svmfast.methods.common.equal_rows import copied, groups_of, row_keys
from svmfast.methods.common.error_statement import labels_differing, labels_text
from svmfast.methods.method import ALONE, Race, Setting
from svmfast.models.answer import answer
from svmfast.models.base import Model
from svmfast.models.cascade import CascadeModel
from svmfast.models.certified import label_margins
from svmfast.models.expansion import KernelExpansion
from svmfast.models.scaled import mean_work
from svmfast.models.scaling import Scaling
from svmfast.rows import FloatArray, IntArray, Rows
from svmfast.solvers.arithmetic import provenance
from svmfast.solvers.intervals import clopper_pearson


@dataclass(frozen=True)
class CascadeReport(Figures):
    """The figures of two joined models.

    What the two together do is measured on the deciding rows, which took no part in choosing the error; on
    all rows only if all of them were needed to choose it.
    """

    rows: int = figure("Rows read.")
    different_rows: int = figure("Rows without repetitions.")
    rows_choosing: int = figure("Rows that chose the error.")
    rows_deciding: int = figure("The others, which decided whether to join.")
    max_diff: float = figure("The share of rows that may differ.")
    confidence: float = figure("The requested confidence.")
    error: float = figure(
        "The fast model answers a row if an error of this size in every value cannot change its label."
    )
    labels_differing_without_fallback: int = figure(
        "Rows for which the label of the fast model alone differs from the exact model's."
    )
    answered: int = figure("Rows that the fast model answers.")
    labels_differing: int = figure("Those of them whose label differs from the exact model's.")
    labels_differing_choosing: int = figure("Those among the rows that chose the error.")
    measured_rows: int = figure("Rows that the figures are measured on: the deciding ones, if there are any.")
    measured_answered: int = figure("Those of the measured rows that the fast model answers.")
    measured_labels_differing: int = figure(
        "Those of the measured rows whose label differs from the exact model's."
    )
    labels_differing_limit_percent: float = figure(
        "Upper limit on the percentage that differs, at the requested confidence."
    )
    #: On the measured rows, of both together.
    kept: KeptLabels = figure("", spread=True)
    operations_fast: float = figure(
        "Counted multiply-adds of the fast model for a row.", key="multiply_adds_fast"
    )
    operations_exact: float = figure("The same for the exact model.", key="multiply_adds_exact")
    operations: float = figure("The same for both together, on average.", key="multiply_adds")
    cheaper: bool = figure(
        "Whether both together cost less than the exact model, measured on the deciding rows."
    )
    speedup_with_fallback: float | None = figure(
        "How many times as fast both together are as the exact model; null unless they were raced.",
        default=None,
    )

    @computed.figure("measured_labels_differing in percent of the measured rows.")
    def labels_differing_percent(self) -> float:
        return 100 * self.measured_labels_differing / self.measured_rows

    @property
    def deciding(self) -> str:
        if not self.rows_deciding:
            return "the models' sizes (all rows are needed to choose the error)"
        return f"the {self.rows_deciding:,} rows that decide"

    def lines(self) -> list[str]:
        ratio, fewer = self.operations_exact / (self.operations or math.inf), ""
        if ratio:
            fewer = f"{ratio:.1f}x fewer; " if ratio >= 1 else f"{1 / ratio:.1f}x MORE; "
        lines = [
            *self._lines_of_rows(),
            *self.kept.lines(),
            f"operations   {self.operations_exact:,.0f} -> {self.operations:,.0f} multiply-adds per row "
            f"({fewer}counted)",
        ]
        if self.speedup_with_fallback is not None:
            lines.append(f"raced        {self.speedup_with_fallback:.2f} times as fast as the exact model")
        return lines

    def _lines_of_rows(self) -> list[str]:
        """Describe the rows, the error bound that they chose, and what they show."""
        n, alone, measured = self.rows, self.labels_differing_without_fallback, self.measured_rows
        given = f"rows         {n:,} given, {self.different_rows:,} of them distinct"
        which = "rows, which also chose the error bound"
        if self.rows_deciding:
            given += f"; {self.rows_choosing:,} choose the error bound, {self.rows_deciding:,} decide "
            given += "whether to join and are measured"
            which = "measured rows, which did not choose the error bound"
        else:
            given += "; all are needed to choose the error bound, so none decides whether to join"
        bound = "0: the fast model may answer every row, because few enough of its labels differ"
        if self.error:
            bound = f"{self.error:.6g}: the fast model answers the rows whose label stays the same if every "
            bound += "decision value is wrong by this much"
        differing = self.measured_labels_differing
        share = labels_differing((differing / measured, *clopper_pearson(differing, measured)))
        limit = f"{self.labels_differing_limit_percent:.3g}%"
        claim = f"at most {limit} of the labels differ on rows like these"
        return [
            given,
            f"fast alone   {100 * alone / n:.3g}% of the labels differ: {alone:,} of the {n:,} rows",
            f"error bound  {bound}",
            f"answered     {self.measured_answered:,} of the {count(measured, 'measured row')} by the fast "
            f"model ({self.measured_answered / measured:.2%}), the others by the exact model",
            f"labels       {labels_text(*share.values())}: {differing:,} of the {measured:,} {which}",
            f"guarantee    with {self.confidence:.4g} confidence {claim}, shown by the "
            f"{self.rows_choosing:,} rows that chose the error bound, of which "
            f"{self.labels_differing_choosing:,} differ",
        ]


#: Maximum number of decision values in memory.
_CELLS = 1 << 22
#: The fewest rows on which models are timed.
RACED_ROWS = 4000


def join(
    fast: Model,
    exact: KernelExpansion,
    rows: Rows,
    options: CascadeOptions | None = None,
    setting: Setting = ALONE,
    *,
    scaling: Scaling | None = None,
    labels: FloatArray | None = None,
    source: str | None = None,
) -> tuple[CascadeModel, CascadeReport]:
    """Join `fast` and `exact` in one model that differs from `exact` on few rows, and report.

    The guarantee holds for the model returned, and for the models returned with ``report.cheaper`` taken by
    themselves: that is decided on rows that take no part in choosing the error. Of a cascade, its fast model
    is used.

    All rows are used. They are drawn like those to be predicted, and neither model should have been trained
    on them; `scaling` is what they still need. `labels` are the exact model's, where they are known. `source`
    is the hash of the exact model's file.

    With a `race` in `setting` the seconds of either model decide whether joining is cheaper, without it their
    counted multiply-adds; and the result is raced against the exact model. The model that is returned is the
    same.

    OptionError: the rows are copies of each other, or too few to show as much. UnsupportedError: regression,
    or models that do not answer the same question.
    """
    options, race, threads = options or CascadeOptions(), setting.race, setting.threads
    fast = fast.fast_part
    CascadeModel(fast, exact, 0.0)  # refuses models that do not match
    group, different = _groups(rows, scaling, options)
    found, of_fast, of_exact = _evaluate(fast, exact, rows, scaling, group, labels, setting)
    work = mean_work(fast, rows, scaling)
    work_exact = mean_work(exact, rows, scaling)
    # They answer support vectors: timing the deciding rows would bias the choice.
    speed = None if race is None else _speed(fast, exact, exact.sv, race, threads)
    chosen = choose(
        found,
        options.max_diff,
        options.confidence,
        seed=options.seed,
        cost_fast=work if speed is None else 1 / speed,
        cost_exact=work_exact if speed is None else 1.0,
    )
    if chosen.error == math.inf:
        raise UnsupportedError("the fast model differs where its values are infinite", "join another one")
    made, joined = CascadeModel(fast, exact, chosen.error), None
    if race is not None and chosen.cheaper:
        timed = rows.take(np.flatnonzero(chosen.measured))
        if scaling is not None:
            timed = scaling.apply(timed[: scaling.timed_rows])
        joined = _speed(made, exact, timed, race, threads, fallback=exact)
    labels_of, operations = (of_fast, of_exact), (work, work_exact)
    report = _report(options, found, chosen, labels_of, different, operations, joined)
    origin = provenance("cascade", _parameters(report), options.seed, source)
    return replace(made, provenance=origin), report


def _report(
    options: CascadeOptions,
    found: Evaluated,
    chosen: Chosen,
    labels_of: tuple[FloatArray, FloatArray],
    different: int,
    operations: tuple[float, float],
    joined: float | None,
) -> CascadeReport:
    """The figures of a cascade; labels and multiply-adds are those of the fast and of the exact model."""
    (of_fast, of_exact), (work, work_exact) = labels_of, operations
    answered, measured, deciding = found.margin > chosen.error, chosen.measured, chosen.deciding
    wrong, of_both = answered & found.differing, np.where(answered, of_fast, of_exact)
    share = float(np.mean(answered[measured]))
    return CascadeReport(
        rows=len(answered),
        different_rows=different,
        rows_choosing=int(np.count_nonzero(~deciding)),
        rows_deciding=int(np.count_nonzero(deciding)),
        max_diff=options.max_diff,
        confidence=options.confidence,
        error=chosen.error,
        labels_differing_without_fallback=int(np.count_nonzero(found.differing)),
        answered=int(np.count_nonzero(answered)),
        labels_differing=int(np.count_nonzero(wrong)),
        labels_differing_choosing=int(np.count_nonzero(wrong & ~deciding)),
        measured_rows=int(np.count_nonzero(measured)),
        measured_answered=int(np.count_nonzero(answered & measured)),
        measured_labels_differing=int(np.count_nonzero(wrong & measured)),
        labels_differing_limit_percent=100 * chosen.limit,
        kept=KeptLabels(class_scores(of_both[measured], of_exact[measured])),
        cheaper=chosen.cheaper,
        operations_fast=work,
        operations_exact=work_exact,
        operations=work + (1 - share) * work_exact,
        speedup_with_fallback=joined,
    )


def _parameters(report: CascadeReport) -> str:
    # Plain floats: NumPy's name their type, and equal calls give equal files.
    limit, confidence = float(report.max_diff), float(report.confidence)
    return (
        f"max-diff {limit!r}, confidence {confidence!r}, "
        f"rows {report.rows_choosing} of {report.rows}, measured {report.measured_rows}, "
        f"answered {report.measured_answered}, differing {report.measured_labels_differing}"
    )


def _speed(
    model: Model,
    exact: KernelExpansion,
    rows: Rows,
    race: Race,
    threads: int,
    fallback: KernelExpansion | None = None,
) -> float:
    """How many times as fast as the exact model `model` answers `rows`, repeated if they are few."""
    rows = rows.take(np.resize(np.arange(len(rows)), max(RACED_ROWS, len(rows))))
    return race(
        lambda: answer(exact, rows, threads=threads),
        lambda: answer(model, rows, exact=fallback, threads=threads),
    )


def _groups(rows: Rows, scaling: Scaling | None, options: CascadeOptions) -> tuple[IntArray, int]:
    """The group of equal rows of each row, and the number of groups; copies and too few are refused."""
    parts = [rows] if scaling is None else scaling.parts(rows)
    group, first = groups_of([key for few in parts for key in row_keys(few)])
    different = len(first)
    times = copied(group)
    if times is not None:
        often = {2: "twice", 3: "three times"}.get(times, f"{times} times")
        raise OptionError(
            f"the rows are copies of each other: more of them occur {often} than independent rows do; copies "
            "say nothing new about rows to come, so give every row once"
        )
    least = least_rows(options.max_diff, options.confidence)
    if different < least:
        n = len(group)
        counted = f"{n:,} rows" if different == n else f"{n:,} rows, {different:,} of them distinct,"
        raise OptionError(
            f"{counted} cannot show with {options.confidence:.4g} confidence that at most "
            f"{options.max_diff:.4%} differ; give at least {least:,} distinct rows, or ask for less"
        )
    return group, different


def _evaluate(
    fast: Model,
    exact: KernelExpansion,
    rows: Rows,
    scaling: Scaling | None,
    group: IntArray,
    labels: FloatArray | None,
    setting: Setting,
) -> tuple[Evaluated, FloatArray, FloatArray]:
    """Evaluate both models: what is known of the rows, and the labels of either model."""
    n, threads = len(rows), setting.threads
    margin, of_fast, of_exact = np.empty(n), np.empty(n), np.empty(n)
    largest = 0.0
    size = max(1, _CELLS // max(1, fast.head.n_functions, exact.head.n_functions))
    size = size if scaling is None else min(size, scaling.most_rows)
    for start in range(0, n, size):
        part = slice(start, min(start + size, n))
        few = rows.take(np.arange(part.start, part.stop))
        if scaling is not None:
            few = scaling.apply(few, first=start + 1)
        decisions = fast.decision_values(few, threads=threads)
        if labels is None:
            of_exact[part] = exact.head.predict(exact.decision_values(few, threads=threads))
        else:
            of_exact[part] = labels[part]
        of_fast[part] = fast.head.predict(decisions)
        margin[part] = label_margins(fast.head, decisions)
        if fast.head.one_vs_rest:
            largest = max(largest, float(np.abs(decisions[np.isfinite(decisions)]).max(initial=0.0)))
        setting.progress(part.stop, n, "rows")
    return Evaluated(margin, of_fast != of_exact, group, largest), of_fast, of_exact
