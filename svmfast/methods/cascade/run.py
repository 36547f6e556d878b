"""cascade on what the front end has read."""

from __future__ import annotations

from svmfast.errors import OptionError
from svmfast.methods.cascade.join import join
from svmfast.methods.cascade.options import CascadeOptions
from svmfast.methods.common.head_score import remark_on_classes
from svmfast.methods.given import GivenModel, Inputs, Outcome, Setting
from svmfast.models.expansion import KernelExpansion
from svmfast.models.requirements import missing_probability

#: Advice if a class is lost.
KEEP = "`per_class` holds the limit within every class; `force` writes it anyway"


def run(inputs: Inputs, options: CascadeOptions, setting: Setting) -> Outcome:
    """Join `fast` and `exact`; there is no model where the exact one costs no more or a class is lost.

    If the fast one keeps the limit alone, it is the result.
    """
    fast, exact, data = inputs.model("fast"), inputs.model("exact"), inputs.rows("data")
    assert isinstance(exact.model, KernelExpansion), "the declaration says so"
    if fast.identity == exact.identity:
        raise OptionError("`fast` is `exact` itself; expected a faster model")
    _warn_of_probabilities(fast, exact, exact.model, setting)
    model, report = join(
        fast.model,
        exact.model,
        data.rows,
        options,
        scaling=inputs.scaling,
        targets=data.labels,
        source=exact.identity,
        race=None if options.force else setting.race,
        threads=setting.threads,
        progress=setting.progress,
    )
    remark_on_classes(report.quality, setting)
    if not report.cheaper and not options.force:
        how = "counted" if setting.race is None else "timed on this machine"
        return Outcome(None, report, f"the exact model alone costs no more ({how}), by {report.deciding}")
    if not options.force and (lost := report.kept.lost()):
        return Outcome(None, report, f"a class is lost: {lost}", advice=KEEP)
    if not report.error and report.answered == report.rows:
        setting.note(f"{fast.name} alone keeps the limit: it is written as it is, without the exact model")
        return Outcome(fast.model, report)
    speed, needed = report.speedup_with_fallback, "with the error that the guarantee needs the two together"
    if speed is not None:
        if speed <= 1:
            return Outcome(None, report, f"{needed} are {speed:.2f} times as fast as the exact model alone")
    elif report.operations is not None and report.operations >= report.operations_exact:
        setting.warn(
            f"{needed} cost {report.operations:,.0f} multiply-adds per row, the exact model alone "
            f"{report.operations_exact:,.0f}; by {report.deciding} they cost less"
        )
    return Outcome(model, report)


def _warn_of_probabilities(
    fast: GivenModel, exact: GivenModel, exact_model: KernelExpansion, setting: Setting
) -> None:
    """Warn that the result will have no probabilities, though the exact model has."""
    if exact_model.head.has_probability:
        missing = missing_probability(fast.model, exact_model)
        if missing is not None:
            setting.warn(
                f"the result will have no probabilities, though {exact.name} has: {fast.name}: {missing.what}"
            )
