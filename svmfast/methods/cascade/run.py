"""A run of ``cascade``, and what ``frontier`` joins: the models of other methods with the exact one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from svmfast.errors import OptionError
from svmfast.methods.cascade import MOST_ROWS, CascadeOptions
from svmfast.methods.cascade.join import join
from svmfast.methods.cascade.threshold import least_rows
from svmfast.methods.method import Inputs, Outcome, Setting
from svmfast.models.base import Model
from svmfast.models.cascade import CascadeModel
from svmfast.models.expansion import KernelExpansion
from svmfast.models.requirements import missing_probability
from svmfast.models.scaling import Scaling
from svmfast.rows import FloatArray, Rows
from svmfast.values import Share

#: Of these confidences that of the guarantee is the first for which there are enough rows.
CONFIDENCES = (0.999, 0.99, 0.975)


def run(inputs: Inputs, options: CascadeOptions, setting: Setting) -> Outcome:
    """Join `fast` and `exact`, unless the exact one costs no more or a class is lost."""
    fast, exact, data = inputs.model("fast"), inputs.model("exact"), inputs.rows("data")
    exact_model = exact.model.expansion
    assert exact_model is not None, "the declaration says so"
    if fast.identity == exact.identity:
        raise OptionError("`fast` is `exact` itself; expected a faster model")
    model, report = join(
        fast.model,
        exact_model,
        data.rows,
        options,
        replace(setting, race=None) if options.force else setting,
        scaling=inputs.scaling,
        source=exact.identity,
    )
    if not report.cheaper and not options.force:
        how = "counted" if setting.race is None else "timed on this machine"
        return Outcome(None, report, f"the exact model alone costs no more ({how}), by {report.deciding}")
    if not options.force and (lost := report.kept.lost()):
        return Outcome(None, report, f"a class is lost: {lost}", advice="`force` writes it anyway")
    if not report.error and report.answered == report.rows:
        setting.note(f"{fast.name} alone keeps the limit: it is written as it is, without the exact model")
        if exact_model.head.has_probability and (missing := missing_probability(fast.model)):
            setting.warn(f"the result has no probabilities, though {exact.name} has: {missing.what}")
        return Outcome(fast.model, report)
    speed, needed = report.speedup_with_fallback, "with the error that the guarantee needs the two together"
    if speed is not None:
        if speed <= 1:
            return Outcome(None, report, f"{needed} are {speed:.2f} times as fast as the exact model alone")
    elif report.operations >= report.operations_exact:
        setting.warn(
            f"{needed} cost {report.operations:,.0f} multiply-adds per row, the exact model alone "
            f"{report.operations_exact:,.0f}; by {report.deciding} they cost less"
        )
    return Outcome(model, report)


def join_candidate(
    fast: Model,
    exact: KernelExpansion,
    rows: Rows,
    labels: FloatArray,
    max_percent: float,
    *,
    source: str,
    seed: int,
    threads: int,
    scaling: Scaling | None,
) -> tuple[CascadeModel, dict[str, Any]] | None:
    """Join a candidate of ``frontier`` with the exact model.

    None if that takes no fewer multiply-adds, as counted, or if no row would be left to the exact model.
    With the model come the command's options. Their confidence is above the default, since other rows must
    keep the limit too. `labels` are the exact model's of the n `rows`, which still need the `scaling`.
    OptionError: too few rows to show that any model meets the limit. UnsupportedError: the models do not
    answer the same question.
    """
    # The limit is parsed as the command parses it.
    limit = Share().of_text(f"{max_percent:.15g}%")
    enough = (c for c in CONFIDENCES if least_rows(limit, c) <= len(rows))
    # frontier times the models itself; a race could make the command fail on a busy machine.
    options: dict[str, Any] = {"max_diff": limit, "confidence": next(enough, CONFIDENCES[-1]), "seed": seed}
    options["force"] = True
    if len(rows) > MOST_ROWS:
        options["rows"] = len(rows)
    model, report = join(
        fast,
        exact,
        rows,
        CascadeOptions(**options),
        Setting(threads),
        scaling=scaling,
        labels=labels,
        source=source,
    )
    return (model, options) if report.cheaper and report.error else None
